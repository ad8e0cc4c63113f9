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

/// The binade above those of other formats, which `e4m3` has instead of infinity: its only NaN is all ones.
const TOP: Real = Real::Finite { negative: false, bits: 2, exponent: 0 };

/// A number of eight bits, made of an exact one: too large ones become the largest.
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

/// What a number of the source's format stands for.
fn read(detail: &Detail, bits: u64) -> Real {
    let format = Format::of(detail.source);
    let magnitude = bits & format.magnitude();
    if detail.source == Type::E4m3x2 && magnitude >= format.infinity() && magnitude != format.magnitude() {
        return Real::read(bits - (1 << format.places()), format, false).times(TOP);
    }
    Real::read(bits, format, detail.ftz)
}

/// Two numbers converted and put side by side, `a` above `b`: `cvt.rn.f16x2.f32`, and `cvt.pack`, which puts them below `c`.
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
