//! Integers of any width, as bit patterns in 64 bits and as numbers in 128, and instructions on bits that take more than an
//! expression.

use crate::ast::Type;

/// The lowest bits set, as many as are asked for.
pub(crate) fn ones(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Two words in one, the first one low.
pub(crate) fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Position of the highest bit that differs from the sign.
pub(crate) fn highest(value: i128) -> Option<u32> {
    (if value < 0 { !value } else { value }).checked_ilog2()
}

/// `lop3`: for each bit the entry of the table that the three operands' bits number.
pub(crate) fn lookup(table: u8, a: u32, b: u32, c: u32) -> u32 {
    (0..8u32).filter(|index| table >> index & 1 == 1).fold(0, |sum, index| {
        let term = |bits: u32, bit: u32| if index >> bit & 1 == 1 { bits } else { !bits };
        sum | term(a, 2) & term(b, 1) & term(c, 0)
    })
}

/// A field's start or length: of 32 bits only the lowest 8 bits of the number count, of 64 bits the whole number does.
fn place(width: u32, number: u32) -> u32 {
    if width == 64 { number } else { number & 255 }
}

/// `bfe`: a field of bits, which repeats its highest bit if the type has a sign.
pub(crate) fn extract(kind: Type, bits: u64, start: u32, length: u32) -> u64 {
    let width = kind.bytes() * 8;
    let (start, length) = (place(width, start), place(width, length));
    if length == 0 {
        return 0;
    }
    let sign_at = start.saturating_add(length - 1).min(width - 1);
    let sign = kind.is_signed() && bits >> sign_at & 1 == 1;
    let field = if start >= width { 0 } else { bits >> start };
    let low = ones(length.min(width.saturating_sub(start)));
    field & low | if sign { !low } else { 0 }
}

/// `bfi`: the lowest bits of `from` in place of a field of `into`.
pub(crate) fn insert(kind: Type, from: u64, into: u64, start: u32, length: u32) -> u64 {
    let width = kind.bytes() * 8;
    let (start, length) = (place(width, start), place(width, length));
    if start >= width || length == 0 {
        return into;
    }
    let field = ones(length.min(width - start)) << start;
    into & !field | from << start & field
}

/// `szext`: the lowest bits, extended as the type says.
pub(crate) fn resize(kind: Type, bits: u32, width: u32) -> u32 {
    if width == 0 {
        return 0;
    }
    let shift = 32 - width;
    if kind.is_signed() { ((bits << shift) as i32 >> shift) as u32 } else { bits << shift >> shift }
}

/// `fns`: position of the n-th set bit from a start; all ones if there is none. The
/// offset without a positive counterpart gives zero, whatever the rest.
pub(crate) fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    if offset == i32::MIN {
        return 0;
    }
    let step = if offset >= 0 { 1i64 } else { -1 };
    let mut wanted = if offset == 0 { 1 } else { offset.unsigned_abs() };
    let mut at = i64::from(base);
    while (0..32).contains(&at) {
        if mask >> at & 1 == 1 {
            wanted -= 1;
            if wanted == 0 {
                return at as u32;
            }
        } else if offset == 0 {
            break;
        }
        at += step;
    }
    u32::MAX
}

/// Byte `index` of two words.
fn byte(a: u32, b: u32, index: u32) -> u32 {
    (pair(a, b) >> (8 * (index & 7))) as u32 & 255
}

/// `prmt` with a mode: `index` says which byte of the two words goes to each place.
pub(crate) fn permute(a: u32, b: u32, index: impl Fn(u32) -> u32) -> u32 {
    (0..4).fold(0, |sum, at| sum | byte(a, b, index(at)) << (8 * at))
}

/// `prmt` without a mode: four bits of `selector` for each place.
pub(crate) fn select_bytes(a: u32, b: u32, selector: u32) -> u32 {
    (0..4).fold(0, |sum, at| {
        let nibble = selector >> (4 * at) & 15;
        let byte = byte(a, b, nibble);
        // The top bit asks for the byte's sign instead of the byte.
        let byte = if nibble & 8 == 0 { byte } else { (byte >> 7) * 255 };
        sum | byte << (8 * at)
    })
}

/// Types of the first and the second operand of a product.
#[derive(Clone, Copy)]
pub(crate) struct Types(pub Type, pub Type);

/// Part number `at` of a word that is cut into parts of a width in bits.
fn part(kind: Type, word: u32, at: u32, bits: u32) -> i64 {
    let part = word >> (bits * at) << (32 - bits);
    if kind.is_signed() { i64::from(part as i32 >> (32 - bits)) } else { i64::from(part >> (32 - bits)) }
}

/// `dp4a`: four products of bytes, added up.
pub(crate) fn dot4(types: Types, a: u32, b: u32) -> u32 {
    (0..4).map(|at| part(types.0, a, at, 8) * part(types.1, b, at, 8)).sum::<i64>() as u32
}

/// `dp2a`: two products of half words of `a` with the two lowest bytes of `b`, added up.
pub(crate) fn dot2(types: Types, a: u32, b: u32) -> u32 {
    (0..2).map(|at| part(types.0, a, at, 16) * part(types.1, b, at, 8)).sum::<i64>() as u32
}

/// `vabsdiff4`: how far four bytes are apart.
pub(crate) fn distances(a: u32, b: u32) -> [u32; 4] {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    std::array::from_fn(|at| u32::from(a[at].abs_diff(b[at])))
}

/// Bits of the type, sign-extended when it is signed.
pub(crate) fn extend(value: u64, kind: Type) -> i128 {
    let bits = kind.bytes() * 8;
    if bits == 0 || bits > 64 {
        return i128::from(value);
    }
    let shift = 64 - bits;
    if kind.is_signed() { i128::from((value << shift) as i64 >> shift) } else { i128::from(value << shift >> shift) }
}

/// Cuts a result to the type's bits.
pub(crate) fn cut(value: i128, kind: Type) -> u64 {
    let bits = kind.bytes() * 8;
    let value = value as u64;
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// The smallest and the largest number of the type.
pub(crate) fn range(kind: Type) -> (i128, i128) {
    let bits = kind.bytes() * 8;
    if kind.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}
