//! Conversions between types, and comparisons of numbers of any type.

use super::bits::{cut, extend, range};
use super::real::{Format, Real};
use crate::ast::Type;
use crate::lower::inst::{Compare, Detail, Rounding};
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
    // Nothing to compute: the bits move, and even a NaN keeps its own.
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
    // What a NaN becomes is said in the manual.
    let wide = from == Type::F64 || to.bytes() == 8;
    let of_nan = if wide { extend(1 << (8 * to.bytes() - 1), to) } else { 0 };
    value.clamp(low, high).unwrap_or(of_nan) as u64
}

/// What a NaN becomes, before `.sat` and `.relu`, as an H200 says: a double's hands on what of its fraction there is room for.
/// Whether a negative one stays negative as `tf32` was not seen; here it does not.
const fn nan(detail: &Detail, a: u64) -> u64 {
    match (detail.kind, detail.source, detail.rounding) {
        (Type::F32, Type::F64, _) => (a >> 63) << 31 | 0x7fc0_0000 | (a >> 29) & 0x3f_ffff,
        // The last bits are cut off.
        (Type::Tf32, _, Rounding::Away) => a >> 13,
        (kind, ..) => Format::of(kind).nan(),
    }
}

/// A result that is a number with a fraction, made of the bits `a`.
fn number(detail: &Detail, value: Real, a: u64) -> u64 {
    let format = Format::of(detail.kind);
    let value = if detail.ftz && detail.kind == Type::F32 { value.flushed(format, detail.rounding) } else { value };
    let bits = if matches!(value, Real::Nan) { nan(detail, a) } else { value.round(format, detail.rounding) };
    let bits = if detail.relu { format.rectify(bits) } else { bits };
    let bits = if detail.sat { format.saturate(bits) } else { bits };
    match detail.kind {
        // A single whose last bits are zero.
        Type::Tf32 => bits << 13,
        _ => bits,
    }
}

/// `cvt.rn.f16x2.f32 d, a, b`: `a` in the upper half.
pub(crate) fn convert_pair(detail: &Detail, a: u64, b: u64) -> u64 {
    let one = |bits| number(detail, Real::read(bits, Format::of(detail.source), detail.ftz), bits);
    one(a) << 16 | one(b)
}

/// Whether a comparison holds.
pub(crate) fn holds(detail: &Detail, kind: Type, a: u64, b: u64) -> bool {
    let float = is_real(kind);
    let order = if float {
        let format = Format::of(kind);
        let [a, b] = [a, b].map(|bits| Real::read(bits, format, detail.ftz));
        a.order(b)
    } else {
        Some(extend(a, kind).cmp(&extend(b, kind)))
    };
    let Some(order) = order else {
        return matches!(
            detail.compare,
            Compare::Equ | Compare::Neu | Compare::Ltu | Compare::Leu | Compare::Gtu | Compare::Geu | Compare::Nan
        );
    };
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
