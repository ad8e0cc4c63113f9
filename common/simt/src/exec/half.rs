//! Half precision, IEEE and brain float, from and to double precision.

use crate::lower::inst::Rounding;

/// Half precision to double, exactly.
pub(crate) fn from_half(bits: u16, brain: bool) -> f64 {
    if brain {
        return f64::from(f32::from_bits(u32::from(bits) << 16));
    }
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let value = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if sign == 1 { -value } else { value }
}

/// Double to half precision, rounded once.
pub(crate) fn to_half(value: f64, brain: bool, rounding: Rounding) -> u16 {
    if value.is_nan() {
        return 0x7fff;
    }
    let (fraction_bits, smallest, largest) = if brain { (7, -126, 127) } else { (10, -14, 15) };
    let sign = u16::from(value.is_sign_negative()) << 15;
    let magnitude = value.abs();
    let infinity = if brain { 0x7f80 } else { 0x7c00 };
    if magnitude == 0.0 {
        return sign;
    }
    if magnitude.is_infinite() {
        return sign | infinity;
    }
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(smallest);
    // In units of the last place this is exact: only the exponent changes.
    let scaled = magnitude * 2f64.powi(fraction_bits - exponent);
    let whole = match rounding {
        Rounding::Zero => scaled.floor(),
        Rounding::Down if sign == 0 => scaled.floor(),
        Rounding::Up if sign != 0 => scaled.floor(),
        Rounding::Down | Rounding::Up => scaled.ceil(),
        _ => scaled.round_ties_even(),
    };
    // Adding lets a carry run into the exponent, which is what rounding up to the next power of two means.
    let base = ((exponent - smallest) as i64) << fraction_bits;
    let bits = base + whole as i64;
    let limit = i64::from(infinity);
    if bits >= limit || exponent > largest {
        let stay = rounding == Rounding::Zero
            || rounding == Rounding::Down && sign == 0
            || rounding == Rounding::Up && sign != 0;
        return sign | if stay { infinity - 1 } else { infinity };
    }
    sign | bits as u16
}
