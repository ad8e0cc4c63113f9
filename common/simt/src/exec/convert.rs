//! Conversions between types, and comparisons of numbers of any type.

use super::bits::{cut, extend, range};
use super::float::{canonical, direct32, direct64, flush, from_half, narrow, saturate, to_half};
use crate::ast::Type;
use crate::lower::inst::{Compare, Detail, Rounding};

/// The number that bits of a type stand for, as near as double precision comes.
pub(crate) fn to_double(bits: u64, kind: Type, ftz: bool) -> f64 {
    match kind {
        Type::F32 => f64::from(flush(f32::from_bits(bits as u32), ftz)),
        Type::F64 => f64::from_bits(bits),
        Type::F16 => from_half(bits as u16, false),
        Type::Bf16 => from_half(bits as u16, true),
        _ => extend(bits, kind) as f64,
    }
}

fn from_double(value: f64, kind: Type, rounding: Rounding) -> u64 {
    match kind {
        Type::F32 => u64::from(canonical(narrow(value, 0.0, rounding))),
        Type::F64 => value.to_bits(),
        Type::F16 => u64::from(to_half(value, false, rounding)),
        _ => u64::from(to_half(value, true, rounding)),
    }
}

/// `cvt`.
pub(crate) fn convert(detail: &Detail, a: u64) -> u64 {
    let (to, from) = (detail.kind, detail.source);
    let to_float = to.is_float() || to.is_half();
    let from_float = from.is_float() || from.is_half();
    match (from_float, to_float) {
        (false, false) => {
            let value = extend(a, from);
            let value = if detail.sat { value.clamp(range(to).0, range(to).1) } else { value };
            // A wider register takes the value extended as its type says.
            if to.is_signed() { extend(value as u64, to) as u64 } else { cut(value, to) }
        }
        (true, false) => {
            let value = to_double(a, from, detail.ftz);
            let value = match detail.rounding {
                Rounding::IntNearest | Rounding::Nearest => value.round_ties_even(),
                Rounding::IntDown | Rounding::Down => value.floor(),
                Rounding::IntUp | Rounding::Up => value.ceil(),
                _ => value.trunc(),
            };
            if value.is_nan() {
                // What the hardware gives: zero for narrow results, the top bit for 64-bit ones.
                return if to.bytes() == 8 { 1 << 63 } else { 0 };
            }
            let (low, high) = range(to);
            let value = (value as i128).clamp(low, high);
            value as u64
        }
        (false, true) => {
            let value = extend(a, from);
            if to == Type::F32 {
                let near = value as f32;
                return u64::from(canonical(direct32(near, (value - near as i128) as f64, detail.rounding)));
            }
            if to == Type::F64 {
                let near = value as f64;
                return direct64(near, (value - near as i128) as f64, detail.rounding).to_bits();
            }
            from_double(value as f64, to, detail.rounding)
        }
        (true, true) => {
            let mut value = to_double(a, from, detail.ftz);
            value = match detail.rounding {
                Rounding::IntNearest => value.round_ties_even(),
                Rounding::IntZero => value.trunc(),
                Rounding::IntDown => value.floor(),
                Rounding::IntUp => value.ceil(),
                _ => value,
            };
            if detail.sat {
                value = saturate(value);
            }
            if detail.relu && value < 0.0 {
                value = 0.0;
            }
            if to == Type::F32 && from == Type::F64 && detail.ftz {
                let narrow = narrow(value, 0.0, detail.rounding);
                return u64::from(canonical(flush(narrow, true)));
            }
            from_double(value, to, detail.rounding)
        }
    }
}

/// `cvt.rn.f16x2.f32 d, a, b`: `a` in the upper half.
pub(crate) fn convert_pair(detail: &Detail, a: u64, b: u64) -> u64 {
    let one = |bits| {
        let value = to_double(bits, detail.source, detail.ftz);
        let value = if detail.relu && value < 0.0 { 0.0 } else { value };
        u64::from(to_half(value, detail.kind == Type::Bf16x2, detail.rounding))
    };
    one(a) << 16 | one(b)
}

/// Whether a comparison holds.
pub(crate) fn holds(detail: &Detail, kind: Type, a: u64, b: u64) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = if kind.is_float() || kind.is_half() {
        to_double(a, kind, detail.ftz).partial_cmp(&to_double(b, kind, detail.ftz))
    } else {
        Some(extend(a, kind).cmp(&extend(b, kind)))
    };
    let float = kind.is_float() || kind.is_half();
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
