//! Floating-point arithmetic as a GPU does it: directed rounding, one NaN, subnormals flushed, which of two zeros is
//! the smaller.

use crate::lower::inst::Rounding;

/// The only NaN a GPU's single-precision arithmetic produces.
pub(crate) const NAN: u32 = 0x7fff_ffff;

/// Bits of a single-precision result.
#[inline(always)]
pub(crate) fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// Turns a subnormal number into zero of the same sign, if asked to.
pub(crate) fn flush(value: f32, ftz: bool) -> f32 {
    if ftz && value.is_subnormal() { 0.0f32.copysign(value) } else { value }
}

/// `.sat`: to between 0 and 1. A NaN becomes zero.
pub(crate) fn saturate(value: f64) -> f64 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

/// Moves a correctly rounded (to nearest) result to the neighbour that directed rounding asks for. `error` is the sign
/// of exact − rounded.
macro_rules! direct {
    ($name:ident, $float:ty) => {
        pub(crate) fn $name(value: $float, error: f64, rounding: Rounding) -> $float {
            if error == 0.0 || error.is_nan() || value.is_nan() {
                return value;
            }
            match rounding {
                Rounding::Zero if (error < 0.0) == (value > 0.0) && value != 0.0 => {
                    if value > 0.0 {
                        value.next_down()
                    } else {
                        value.next_up()
                    }
                }
                Rounding::Down if error < 0.0 => value.next_down(),
                Rounding::Up if error > 0.0 => value.next_up(),
                _ => value,
            }
        }
    };
}
direct!(direct32, f32);
direct!(direct64, f64);

/// Rounds a double, whose own error has sign `tail`, to single.
pub(crate) fn narrow(exact: f64, tail: f64, rounding: Rounding) -> f32 {
    let near = exact as f32;
    if rounding == Rounding::Nearest {
        return near;
    }
    let error = exact - f64::from(near);
    // An overflow to infinity is undone by rounding towards zero.
    if near.is_infinite() && exact.is_finite() {
        return match rounding {
            Rounding::Zero => f32::MAX.copysign(near),
            Rounding::Down if near > 0.0 => f32::MAX,
            Rounding::Up if near < 0.0 => f32::MIN,
            _ => near,
        };
    }
    direct32(near, if error == 0.0 { tail } else { error }, rounding)
}

/// Exact sum of two numbers: the rounded sum, and what rounding lost.
fn two_sum(x: f64, y: f64) -> (f64, f64) {
    let sum = x + y;
    let part = sum - x;
    (sum, (x - (sum - part)) + (y - part))
}

pub(crate) fn sum32(x: f32, y: f32, rounding: Rounding) -> f32 {
    // 53 bits may not be enough for the sum of two singles; then what the double sum lost decides.
    let (sum, error) = two_sum(x.into(), y.into());
    narrow(sum, error, rounding)
}

pub(crate) fn product32(x: f32, y: f32, rounding: Rounding) -> f32 {
    // Exact in double precision.
    narrow(f64::from(x) * f64::from(y), 0.0, rounding)
}

pub(crate) fn fused32(x: f32, y: f32, z: f32, rounding: Rounding) -> f32 {
    if rounding == Rounding::Nearest {
        return x.mul_add(y, z);
    }
    let (sum, error) = two_sum(f64::from(x) * f64::from(y), z.into());
    narrow(sum, error, rounding)
}

pub(crate) fn quotient32(x: f32, y: f32, rounding: Rounding) -> f32 {
    let (near, divisor) = (x / y, f64::from(y));
    direct32(near, (-f64::from(near)).mul_add(divisor, x.into()) * divisor.signum(), rounding)
}

pub(crate) fn root32(x: f32, rounding: Rounding) -> f32 {
    let near = x.sqrt();
    direct32(near, (-f64::from(near)).mul_add(near.into(), x.into()), rounding)
}

pub(crate) fn sum64(x: f64, y: f64, rounding: Rounding) -> f64 {
    let (sum, error) = two_sum(x, y);
    direct64(sum, error, rounding)
}

pub(crate) fn product64(x: f64, y: f64, rounding: Rounding) -> f64 {
    direct64(x * y, x.mul_add(y, -(x * y)), rounding)
}

pub(crate) fn quotient64(x: f64, y: f64, rounding: Rounding) -> f64 {
    direct64(x / y, (-(x / y)).mul_add(y, x) * y.signum(), rounding)
}

pub(crate) fn root64(x: f64, rounding: Rounding) -> f64 {
    direct64(x.sqrt(), (-x.sqrt()).mul_add(x.sqrt(), x), rounding)
}

/// IEEE 754-2008 minNum, with −0 below +0.
pub(crate) fn minimum(x: f32, y: f32) -> f32 {
    if x.is_nan() {
        y
    } else if y.is_nan() {
        x
    } else if x == y {
        f32::from_bits(x.to_bits() | y.to_bits())
    } else if x < y {
        x
    } else {
        y
    }
}

/// IEEE 754-2008 maxNum, with +0 above −0.
pub(crate) fn maximum(x: f32, y: f32) -> f32 {
    if x.is_nan() {
        y
    } else if y.is_nan() {
        x
    } else if x == y {
        f32::from_bits(x.to_bits() & y.to_bits())
    } else if x > y {
        x
    } else {
        y
    }
}

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
