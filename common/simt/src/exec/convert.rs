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
    let value = if is_real(from) {
        // Only single precision is flushed.
        Real::read(a, Format::of(from), detail.ftz && from == Type::F32)
    } else {
        let value = extend(a, from);
        if !is_real(to) {
            let value = if detail.sat { value.clamp(range(to).0, range(to).1) } else { value };
            // A wider register takes the value extended as its type says.
            return if to.is_signed() { extend(value as u64, to) as u64 } else { cut(value, to) };
        }
        Real::integer(value)
    };
    let whole =
        matches!(detail.rounding, Rounding::IntNearest | Rounding::IntZero | Rounding::IntDown | Rounding::IntUp);
    let value = if whole { value.integral(detail.rounding) } else { value };
    if is_real(to) {
        return number(detail, value);
    }
    let (low, high) = range(to);
    // What a NaN becomes is said in the manual.
    let wide = from == Type::F64 || to.bytes() == 8;
    let of_nan = if wide { 1 << (8 * to.bytes() - 1) } else { 0 };
    value.clamp(low, high).map_or(of_nan, |value| value as u64)
}

/// A result that is a number with a fraction.
fn number(detail: &Detail, value: Real) -> u64 {
    let format = Format::of(detail.kind);
    let bits = value.round(format, detail.rounding);
    let bits = if detail.ftz && detail.kind == Type::F32 { format.flush(bits) } else { bits };
    let bits = if detail.relu { format.rectify(bits) } else { bits };
    let bits = if detail.sat { format.saturate(bits) } else { bits };
    match detail.kind {
        Type::Tf32 if matches!(value, Real::Nan) => Format::of(Type::F32).nan(),
        // A single whose last bits are zero.
        Type::Tf32 => bits << 13,
        _ => bits,
    }
}

/// `cvt.rn.f16x2.f32 d, a, b`: `a` in the upper half.
pub(crate) fn convert_pair(detail: &Detail, a: u64, b: u64) -> u64 {
    let one = |bits| number(detail, Real::read(bits, Format::of(detail.source), detail.ftz));
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
