//! Floating-point numbers of every format: computed exactly, and rounded once. The host's own arithmetic does that faster for
//! single and double precision rounded to nearest, so this file computes everything else. To match the GPU, the functions at its
//! end give the host's single precision one NaN, and make one of two zeros the smaller.

use ptx::ast::Type;
use ptx::lower::inst::Rounding;
use std::cmp::Ordering;

/// A number format: how many bits its fraction and its exponent have.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    fraction: u32,
    exponent: u32,
}

impl Format {
    /// Returns the format of a type, or of each half of a packed one. A type without floating point counts as `f64`.
    #[inline(always)]
    pub const fn of(kind: Type) -> Self {
        match kind {
            Type::F16 | Type::F16x2 => Self { fraction: 10, exponent: 5 },
            Type::Bf16 | Type::Bf16x2 => Self { fraction: 7, exponent: 8 },
            Type::E4m3x2 => Self { fraction: 3, exponent: 4 },
            Type::E5m2x2 => Self { fraction: 2, exponent: 5 },
            Type::Tf32 => Self { fraction: 10, exponent: 8 },
            Type::F32 => Self { fraction: 23, exponent: 8 },
            _ => Self { fraction: 52, exponent: 11 },
        }
    }

    /// Returns the number of bits of the fraction: the places behind the first digit.
    pub const fn places(self) -> i32 {
        self.fraction as i32
    }

    /// Returns the exponent of the largest number.
    pub const fn largest(self) -> i32 {
        1 - self.least()
    }

    /// Returns a mask of all bits but the sign.
    pub const fn magnitude(self) -> u64 {
        self.sign() - 1
    }

    /// Returns the exponent of the smallest normal number.
    const fn least(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    /// Returns the bits of infinity. No number has a larger exponent.
    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    const fn sign(self) -> u64 {
        1 << (self.fraction + self.exponent)
    }

    /// Returns the only NaN that arithmetic produces: all ones behind the sign, except in double precision, where it is the NaN
    /// that the host's processors produce for ∞ − ∞, too.
    pub const fn nan(self) -> u64 {
        if self.fraction == 52 { 0xfff8 << 48 } else { self.magnitude() }
    }

    /// Returns the bits of one.
    const fn one(self) -> u64 {
        ((1 << (self.exponent - 1)) - 1) << self.fraction
    }

    /// Turns a subnormal number into zero of the same sign.
    pub const fn flush(self, bits: u64) -> u64 {
        if bits & self.infinity() == 0 { bits & self.sign() } else { bits }
    }

    /// `.sat`: clamps a number to between 0 and 1, and turns a NaN into 0.
    pub const fn saturate(self, bits: u64) -> u64 {
        match bits {
            _ if bits & self.sign() != 0 || bits > self.infinity() => 0,
            _ if bits > self.one() => self.one(),
            _ => bits,
        }
    }

    /// `.relu`: turns a negative number into 0. A NaN stays a NaN.
    pub const fn rectify(self, bits: u64) -> u64 {
        if bits & self.sign() != 0 && bits & !self.sign() <= self.infinity() { 0 } else { bits }
    }
}

/// An exact number. If `bits` cannot hold all of it, its lowest bit is set in place of what is lost. This is far below what any
/// format keeps, so it is all that rounding needs to know.
#[derive(Clone, Copy)]
pub(crate) enum Real {
    /// Not a number.
    Nan,
    /// ±∞
    Infinite { negative: bool },
    /// ± `bits` · 2^`exponent`
    Finite { negative: bool, bits: u128, exponent: i32 },
}

use Real::{Finite, Infinite, Nan};

/// Shifts to the right. If any ones are lost, the lowest bit is set.
const fn shift_right(bits: u128, by: u32) -> u128 {
    match by {
        0 => bits,
        1..=127 => bits >> by | (bits << (128 - by) != 0) as u128,
        _ => (bits != 0) as u128,
    }
}

impl Real {
    /// Returns the number that the bits of a format stand for.
    #[inline]
    pub const fn read(bits: u64, format: Format, flush: bool) -> Self {
        let bits = bits & (format.sign() | format.magnitude());
        let bits = if flush { format.flush(bits) } else { bits };
        let negative = bits & format.sign() != 0;
        let fraction = bits & ((1 << format.fraction) - 1);
        let exponent = (bits & format.infinity()) >> format.fraction;
        if bits & format.infinity() == format.infinity() {
            return if fraction == 0 { Infinite { negative } } else { Nan };
        }
        let (bits, exponent) = match exponent {
            0 => (fraction, 0),
            _ => (fraction | 1 << format.fraction, exponent as i32 - 1),
        };
        Finite { negative, bits: bits as u128, exponent: exponent + format.least() - format.fraction as i32 }
    }

    pub const fn integer(value: i128) -> Self {
        Finite { negative: value < 0, bits: value.unsigned_abs(), exponent: 0 }
    }

    /// Returns the bits of the nearest number of the format in the direction of rounding.
    #[inline]
    pub const fn round(self, format: Format, rounding: Rounding) -> u64 {
        let sign = if self.negative() { format.sign() } else { 0 };
        let (negative, bits, exponent) = match self {
            Nan => return format.nan(),
            Infinite { .. } => return sign | format.infinity(),
            Finite { bits: 0, .. } => return sign,
            Finite { negative, bits, exponent } => (negative, bits, exponent),
        };
        let size = exponent + bits.ilog2() as i32;
        let size = if size < format.least() { format.least() } else { size };
        let whole = whole(negative, bits, size - format.fraction as i32 - exponent, rounding);
        // A carry runs into the exponent, which is right: the number was rounded up to the next power of two.
        let above = (size - format.least()) as u64;
        let infinity = format.infinity();
        let encoded =
            if above << format.fraction >= infinity { infinity } else { (above << format.fraction) + whole as u64 };
        if encoded < infinity {
            return sign | encoded;
        }
        let away = match rounding {
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
            _ => true,
        };
        sign | if away { infinity } else { infinity - 1 }
    }

    /// `.ftz`: turns a subnormal number into zero of the same sign. It is subnormal if it lies below the smallest normal number
    /// after rounding to as many digits as a normal number has. NVIDIA's assembler converts a double with `.ftz` in this way. The
    /// products and quotients of an H200 agree with this, but they would also agree with a test before rounding.
    pub const fn flushed(self, format: Format, rounding: Rounding) -> Self {
        let Finite { negative, bits: bits @ 1.., exponent } = self else { return self };
        let size = exponent + bits.ilog2() as i32;
        let digits = whole(negative, bits, size - format.fraction as i32 - exponent, rounding);
        let carry = (digits >> (format.fraction + 1)) as i32;
        if size + carry < format.least() { Self::zero(negative) } else { self }
    }

    /// Returns the nearest whole number in the direction of rounding.
    pub const fn integral(self, rounding: Rounding) -> Self {
        match self {
            Finite { negative, bits, exponent } if exponent < 0 => {
                Finite { negative, bits: whole(negative, bits, -exponent, rounding), exponent: 0 }
            }
            other => other,
        }
    }

    /// Returns a whole number, clamped to the range from `low` to `high`, which are whole, or `None` for a NaN.
    pub fn clamp(self, low: i128, high: i128) -> Option<i128> {
        match self {
            Nan => None,
            Infinite { negative } => Some(if negative { low } else { high }),
            Finite { negative, bits, exponent } => {
                let large = bits != 0 && bits.ilog2() as i32 + exponent > 100;
                let size = if large { i128::MAX } else { (bits << exponent.max(0)) as i128 };
                Some((if negative { -size } else { size }).clamp(low, high))
            }
        }
    }

    pub const fn negated(self) -> Self {
        match self {
            Nan => Nan,
            Infinite { negative } => Infinite { negative: !negative },
            Finite { negative, bits, exponent } => Finite { negative: !negative, bits, exponent },
        }
    }

    pub const fn abs(self) -> Self {
        if self.negative() { self.negated() } else { self }
    }

    const fn negative(self) -> bool {
        match self {
            Nan => false,
            Infinite { negative } | Finite { negative, .. } => negative,
        }
    }

    const fn zero(negative: bool) -> Self {
        Finite { negative, bits: 0, exponent: 0 }
    }

    /// Moves a number's highest bit to place 125, where a sum still fits.
    const fn spread(bits: u128, exponent: i32) -> (u128, i32) {
        let by = bits.leading_zeros() as i32 - 2;
        if by < 0 { (shift_right(bits, by.unsigned_abs()), exponent - by) } else { (bits << by, exponent - by) }
    }

    /// Returns the sum. The direction of rounding decides the sign of a zero that is the difference of equal numbers.
    pub const fn plus(self, other: Self, rounding: Rounding) -> Self {
        let (x, y) = (self.negative(), other.negative());
        let down = matches!(rounding, Rounding::Down);
        let ((mut a, mut e), (mut b, f)) = match (self, other) {
            (Nan, _) | (_, Nan) => return Nan,
            (Infinite { .. }, Infinite { .. }) => return if x == y { self } else { Nan },
            (Infinite { .. }, _) => return self,
            (Finite { bits: 0, .. }, Finite { bits: 0, .. }) => return Self::zero(if x == y { x } else { down }),
            (_, Infinite { .. }) | (Finite { bits: 0, .. }, _) => return other,
            (_, Finite { bits: 0, .. }) => return self,
            (Finite { bits, exponent, .. }, Finite { bits: b, exponent: f, .. }) => {
                (Self::spread(bits, exponent), Self::spread(b, f))
            }
        };
        if e >= f {
            b = shift_right(b, (e - f) as u32);
        } else {
            a = shift_right(a, (f - e) as u32);
            e = f;
        }
        if x == y {
            return Finite { negative: x, bits: a + b, exponent: e };
        }
        if a == b {
            return Self::zero(down);
        }
        let negative = if a > b { x } else { y };
        Finite { negative, bits: a.abs_diff(b), exponent: e }
    }

    pub const fn minus(self, other: Self, rounding: Rounding) -> Self {
        self.plus(other.negated(), rounding)
    }

    /// Returns the product of two numbers from [`Self::read`], so that their bits fit.
    pub const fn times(self, other: Self) -> Self {
        let negative = self.negative() != other.negative();
        match (self, other) {
            (Nan, _)
            | (_, Nan)
            | (Infinite { .. }, Finite { bits: 0, .. })
            | (Finite { bits: 0, .. }, Infinite { .. }) => Nan,
            (Infinite { .. }, _) | (_, Infinite { .. }) => Infinite { negative },
            (Finite { bits, exponent, .. }, Finite { bits: b, exponent: e, .. }) => {
                Finite { negative, bits: bits * b, exponent: exponent + e }
            }
        }
    }

    /// Returns the quotient of two numbers from [`Self::read`].
    pub const fn over(self, other: Self) -> Self {
        let negative = self.negative() != other.negative();
        match (self, other) {
            (Nan, _) | (_, Nan) | (Infinite { .. }, Infinite { .. }) => Nan,
            (Infinite { .. }, _) => Infinite { negative },
            (_, Infinite { .. }) => Self::zero(negative),
            (Finite { bits, exponent, .. }, Finite { bits: divisor, exponent: e, .. }) => {
                if divisor == 0 {
                    return if bits == 0 { Nan } else { Infinite { negative } };
                }
                let (large, exponent) = Self::spread(bits, exponent);
                let rest = large % divisor != 0;
                Finite { negative, bits: (large / divisor) | rest as u128, exponent: exponent - e }
            }
        }
    }

    pub const fn root(self) -> Self {
        match self {
            Finite { bits: 0, .. } | Nan | Infinite { negative: false } => self,
            Finite { negative: true, .. } | Infinite { negative: true } => Nan,
            Finite { bits, exponent, .. } => {
                let (mut large, mut exponent) = Self::spread(bits, exponent);
                if exponent % 2 != 0 {
                    (large, exponent) = (large << 1, exponent - 1);
                }
                let root = large.isqrt();
                let rest = root * root != large;
                Finite { negative: false, bits: root | rest as u128, exponent: exponent / 2 }
            }
        }
    }

    /// Compares two numbers. Returns `None` if one is a NaN.
    pub fn order(self, other: Self) -> Option<Ordering> {
        match self.minus(other, Rounding::Nearest) {
            Nan => match (self, other) {
                (Nan, _) | (_, Nan) => None,
                // Both are infinities of one sign.
                _ => Some(Ordering::Equal),
            },
            Finite { bits: 0, .. } => Some(Ordering::Equal),
            difference => Some(if difference.negative() { Ordering::Less } else { Ordering::Greater }),
        }
    }

    /// Returns the smaller number, with −0 below +0. If one is a NaN, returns the other one.
    pub fn minimum(self, other: Self) -> Self {
        match self.order(other) {
            None if matches!(self, Nan) => other,
            None | Some(Ordering::Less) => self,
            Some(Ordering::Equal) if self.negative() => self,
            Some(_) => other,
        }
    }

    /// Returns the larger number, with +0 above −0. If one is a NaN, returns the other one.
    pub fn maximum(self, other: Self) -> Self {
        self.negated().minimum(other.negated()).negated()
    }

    /// Returns the number, or a NaN if the other one is a NaN.
    pub const fn unless_nan(self, other: Self) -> Self {
        if matches!(other, Nan) { Nan } else { self }
    }

    /// Applies a function in double precision. The result is rounded once more than an exact one.
    pub fn approximately(self, function: impl Fn(f64) -> f64) -> Self {
        let format = Format::of(Type::F64);
        let value = function(f64::from_bits(self.round(format, Rounding::Nearest)));
        Self::read(value.to_bits(), format, false)
    }
}

/// Returns `bits` without the `cut` lowest ones, rounded. If `cut` is negative, zeros are added.
const fn whole(negative: bool, bits: u128, cut: i32, rounding: Rounding) -> u128 {
    if cut <= 0 {
        return bits << cut.unsigned_abs();
    }
    let (whole, rest, half) = match cut {
        1..=127 => (bits >> cut, bits << (128 - cut), 1 << 127),
        // Numbers have at most 127 bits, so this is less than a half.
        _ => (0, (bits != 0) as u128, 2),
    };
    let up = match rounding {
        Rounding::Nearest | Rounding::IntNearest => rest > half || rest == half && whole & 1 == 1,
        Rounding::Away => rest >= half,
        Rounding::Zero | Rounding::IntZero => false,
        Rounding::Down | Rounding::IntDown => negative && rest != 0,
        Rounding::Up | Rounding::IntUp => !negative && rest != 0,
    };
    whole + up as u128
}

/// The only NaN that single-precision arithmetic of a GPU produces.
pub(crate) const NAN: u32 = 0x7fff_ffff;

/// Returns the bits of a single-precision result.
#[inline(always)]
pub(crate) fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// Returns the bits of a double-precision result, with one NaN whatever the host makes of the operands' NaNs.
#[inline(always)]
pub(crate) fn canonical64(value: f64) -> u64 {
    if value.is_nan() { 0xfff8 << 48 } else { value.to_bits() }
}

/// Turns a subnormal number into zero of the same sign, if asked to.
pub(crate) fn flush(value: f32, ftz: bool) -> f32 {
    if ftz && value.is_subnormal() { 0.0f32.copysign(value) } else { value }
}

/// Returns minNum of IEEE 754-2008, with −0 below +0.
pub(crate) fn minimum(x: f32, y: f32) -> f32 {
    match (x.is_nan(), y.is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ if x.total_cmp(&y).is_lt() => x,
        _ => y,
    }
}

/// Returns maxNum of IEEE 754-2008, with +0 above −0.
pub(crate) fn maximum(x: f32, y: f32) -> f32 {
    -minimum(-x, -y)
}

/// Returns a magnitude with the sign that the product of two numbers has.
pub(crate) fn signed(magnitude: f32, x: f32, y: f32) -> f32 {
    magnitude.copysign(x) * 1.0f32.copysign(y)
}
