//! Integers of any width, as bit patterns in 64 bits and as numbers in 128; instructions on bits that take more than an expression;
//! conversions between types; comparisons of numbers of any type.

use super::real::{Format, Real};
use ptx::ast::Type;
use ptx::lower::inst::{Compare, Detail, Rounding};
use std::cmp::Ordering::{Equal, Greater, Less};

/// Whether the type's numbers have a fraction.
const fn is_real(kind: Type) -> bool {
    kind.is_float() || kind.is_half() || matches!(kind, Type::Tf32)
}

/// `cvt`.
pub(crate) fn convert(detail: &Detail, a: u64) -> u64 {
    let (to, from) = (detail.kind, detail.source);
    let whole =
        matches!(detail.rounding, Rounding::IntNearest | Rounding::IntZero | Rounding::IntDown | Rounding::IntUp);
    // There is nothing to compute: the bits move, and even a NaN keeps its bits.
    if to == Type::F32 && matches!(from, Type::F32 | Type::Bf16) && !(whole || detail.ftz || detail.sat) {
        return if from == Type::Bf16 { (a & 0xffff) << 16 } else { a & 0xffff_ffff };
    }
    let value = if is_real(from) {
        // Only single precision is flushed, and not on its way to `f16`.
        Real::read(a, Format::of(from), detail.ftz && from == Type::F32 && to != Type::F16)
    } else {
        let value = extend(a, from);
        if !is_real(to) {
            let value = if detail.sat { value.clamp(range(to).0, range(to).1) } else { value };
            // A wider register takes the value extended as its type says.
            return if to.is_signed() { extend(value as u64, to) as u64 } else { cut(value, to) };
        }
        Real::integer(value)
    };
    let value = if whole { value.integral(detail.rounding) } else { value };
    if is_real(to) {
        return number(detail, value, a);
    }
    let (low, high) = range(to);
    // The manual says what a NaN becomes.
    let wide = from == Type::F64 || to.bytes() == 8;
    let of_nan = if wide { extend(1 << (8 * to.bytes() - 1), to) } else { 0 };
    value.clamp(low, high).unwrap_or(of_nan) as u64
}

/// Returns what a NaN becomes, before `.sat` and `.relu`, as on an H200: a double's NaN keeps as much of its fraction as there is
/// room for. Whether a negative NaN stays negative as `tf32` was not measured. Here it does only with `.rna`.
const fn nan(detail: &Detail, a: u64) -> u64 {
    match (detail.kind, detail.source, detail.rounding) {
        (Type::F32, Type::F64, _) => (a >> 63) << 31 | 0x7fc0_0000 | (a >> 29) & 0x3f_ffff,
        // The last bits are cut off.
        (Type::Tf32, _, Rounding::Away) => a >> 13,
        (kind, ..) => Format::of(kind).nan(),
    }
}

/// Returns the bits of a result that has a fraction. The operand has the bits `a`.
fn number(detail: &Detail, value: Real, a: u64) -> u64 {
    let format = Format::of(detail.kind);
    let value = if detail.ftz && detail.kind == Type::F32 { value.flushed(format, detail.rounding) } else { value };
    let bits = if matches!(value, Real::Nan) { nan(detail, a) } else { value.round(format, detail.rounding) };
    let bits = if detail.relu { format.rectify(bits) } else { bits };
    let bits = if detail.sat { format.saturate(bits) } else { bits };
    // In a register, `tf32` is a `float` whose last bits are zero.
    if detail.kind == Type::Tf32 { bits << 13 } else { bits }
}

/// Two: instead of infinity, `e4m3` has one more binade, with twice the numbers of the one below. Its only NaN is all ones.
const TOP: Real = Real::Finite { negative: false, bits: 2, exponent: 0 };

/// Returns the bits of an eight-bit number. A number that is too large becomes the largest one.
fn brief(detail: &Detail, value: Real) -> u64 {
    let format = Format::of(detail.kind);
    let half = Real::Finite { negative: false, bits: 1, exponent: -1 };
    let bits = match (detail.kind, value) {
        (_, Real::Nan) => format.magnitude(),
        (Type::E4m3x2, value) => {
            let bits = value.round(format, Rounding::Nearest);
            let above = value.times(half).round(format, Rounding::Nearest) + (1 << format.places());
            let top = bits & format.magnitude() >= format.infinity();
            let sign = bits & !format.magnitude();
            if top { sign | (above & !sign).min(format.magnitude() - 1) } else { bits }
        }
        (_, value) => {
            let bits = value.round(format, Rounding::Nearest);
            if bits & format.magnitude() == format.infinity() { bits - 1 } else { bits }
        }
    };
    if detail.relu && bits > format.magnitude() && !matches!(value, Real::Nan) { 0 } else { bits }
}

/// Returns the number that bits in the source's format stand for.
fn read(detail: &Detail, bits: u64) -> Real {
    let format = Format::of(detail.source);
    let magnitude = bits & format.magnitude();
    if detail.source == Type::E4m3x2 && magnitude >= format.infinity() && magnitude != format.magnitude() {
        return Real::read(bits - (1 << format.places()), format, false).times(TOP);
    }
    Real::read(bits, format, detail.ftz)
}

/// Converts two numbers and puts `a` above `b`. This is `cvt.rn.f16x2.f32`, and `cvt.pack`, which puts `c` above both.
pub(crate) fn convert_pair(detail: &Detail, [a, b, c, _]: [u64; 4]) -> u64 {
    let Detail { kind, source, .. } = *detail;
    if !is_real(source) && !source.is_brief() {
        let bits = 8 * kind.bytes();
        return c << (2 * bits) | cut(convert(detail, a) as i128, kind) << bits | cut(convert(detail, b) as i128, kind);
    }
    let one = |bits| match kind {
        Type::E4m3x2 | Type::E5m2x2 => brief(detail, read(detail, bits)),
        _ => number(detail, read(detail, bits), bits),
    };
    let together = source.is_packed() || source.is_brief();
    let a = if together { a >> (4 * source.bytes()) } else { a };
    one(a) << (4 * kind.bytes()) | one(b)
}

pub(crate) fn holds(detail: &Detail, kind: Type, a: u64, b: u64) -> bool {
    let float = is_real(kind);
    let order = if float {
        let format = Format::of(kind);
        let [a, b] = [a, b].map(|bits| Real::read(bits, format, detail.ftz));
        a.order(b)
    } else {
        Some(extend(a, kind).cmp(&extend(b, kind)))
    };
    let Some(order) = order else { return detail.compare >= Compare::Equ && detail.compare != Compare::Num };
    match detail.compare {
        Compare::Eq | Compare::Equ => order == Equal,
        Compare::Ne | Compare::Neu => order != Equal,
        Compare::Lt | Compare::Ltu => order == Less,
        Compare::Le | Compare::Leu => order != Greater,
        Compare::Gt | Compare::Gtu => order == Greater,
        Compare::Ge | Compare::Geu => order != Less,
        Compare::Num => float,
        Compare::Nan => false,
    }
}

/// Returns a number whose `count` lowest bits are set.
pub(crate) fn ones(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Returns two words in one, the first one low.
pub(crate) fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Returns the position of the highest bit that differs from the sign.
pub(crate) fn highest(value: i128) -> Option<u32> {
    (if value < 0 { !value } else { value }).checked_ilog2()
}

/// `lop3`: for each bit, the bits of the three operands are the number of an entry of the table.
pub(crate) fn lookup(table: u8, a: u32, b: u32, c: u32) -> u32 {
    (0..8u32).filter(|index| table >> index & 1 == 1).fold(0, |sum, index| {
        let term = |bits: u32, bit: u32| if index >> bit & 1 == 1 { bits } else { !bits };
        sum | term(a, 2) & term(b, 1) & term(c, 0)
    })
}

/// Returns a field's start or length. In 32 bits, only the lowest 8 bits of the number count; in 64 bits, all do.
fn place(width: u32, number: u32) -> u32 {
    if width == 64 { number } else { number & 255 }
}

/// `bfe`: returns a field of bits. If the type has a sign, the field's highest bit is repeated.
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

/// `bfi`: replaces a field of `into` by the lowest bits of `from`.
pub(crate) fn insert(kind: Type, from: u64, into: u64, start: u32, length: u32) -> u64 {
    let width = kind.bytes() * 8;
    let (start, length) = (place(width, start), place(width, length));
    if start >= width || length == 0 {
        return into;
    }
    let field = ones(length.min(width - start)) << start;
    into & !field | from << start & field
}

/// `szext`: returns the lowest bits, extended as the type says.
pub(crate) fn resize(kind: Type, bits: u32, width: u32) -> u32 {
    if width == 0 {
        return 0;
    }
    let shift = 32 - width;
    if kind.is_signed() { ((bits << shift) as i32 >> shift) as u32 } else { bits << shift >> shift }
}

/// `fns`: returns the position of the n-th set bit from a start, or all ones if there is none. The offset `i32::MIN` gives zero.
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

/// The types of the first and the second operand of a product.
pub(crate) type Types = (Type, Type);

/// Returns part `at` of a word that is divided into parts of `bits` bits.
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

/// `vabsdiff4`: returns the distances of four pairs of bytes.
pub(crate) fn distances(a: u32, b: u32) -> [u32; 4] {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    std::array::from_fn(|at| u32::from(a[at].abs_diff(b[at])))
}

/// Extends a value from the type's bits, with its sign if the type has one.
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
    value as u64 & ones(kind.bytes() * 8)
}

/// Returns the smallest and the largest number of the type.
pub(crate) fn range(kind: Type) -> (i128, i128) {
    let bits = kind.bytes() * 8;
    if kind.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}
