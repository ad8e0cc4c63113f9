//! Integers of any width, as bit patterns in 64 bits and as numbers in 128.

use crate::ast::Type;

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
