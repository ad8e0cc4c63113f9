//! What A and B are filled with, to see how accurate a product is.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use clap::ValueEnum;
use common::basics::matrix::integer_range;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Kinds of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Values {
    /// Uniform in [-1, 1).
    Both,
    /// Uniform in [0, 1), so sums grow with K and truncation errors add up.
    Positive,
    /// Both signs, with exponents spread evenly over 2⁻⁴⁰ to 2⁴⁰.
    Spread,
    /// A up to 0.995 of the largest number, B so small that no sum overflows.
    Large,
    /// A subnormal, B about 2²⁰.
    Subnormal,
    /// Integers so small that every sum is exact, up to 2²⁴.
    Integers,
    /// Both signs, but at every 16th step of k the elements of A are 2³⁰ times as large and those of B are zero.
    Zeros,
    /// 1 + 4093·2⁻²³ everywhere: splitting loses as much as it can, always with the same sign.
    Ties,
    /// Both signs. Each step of k has its exponent, 2⁻¹²⁶ to 2¹²⁷ in A and the opposite in B, so all products are near 1.
    Wide,
}

impl Values {
    /// The name that pages use.
    pub fn words(self) -> &'static str {
        match self {
            Self::Both => "both signs",
            Self::Positive => "positive",
            Self::Spread => "spread over 2⁻⁴⁰ to 2⁴⁰",
            Self::Wide => "exponents over 2⁻¹²⁶ to 2¹²⁷",
            Self::Large => "near overflow",
            Self::Subnormal => "subnormal",
            Self::Integers => "integers",
            Self::Zeros => "large ones that meet zeros",
            Self::Ties => "all 1 + 4093·2⁻²³",
        }
    }

    /// An element of A (or of B) at step `at` of k, made from 64 random bits.
    fn element(self, of_a: bool, k: u64, at: u64, bits: u64) -> f32 {
        let scale = (at * 17 % 254) as i32 - 126;
        let fraction = (bits >> 40) as f32 / (1 << 24) as f32; // 24 bits, in [0, 1)
        let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
        let exponent = (bits >> 8 & 0xffff) as i32;
        match self {
            Self::Zeros if at.is_multiple_of(16) && of_a => sign * (1.0 + fraction) * 2_f32.powi(30),
            Self::Zeros if at.is_multiple_of(16) => 0.0,
            Self::Both | Self::Zeros => 2.0 * fraction - 1.0,
            Self::Ties => 1.0 + 4093.0 * f32::EPSILON,
            Self::Positive => fraction,
            Self::Spread => sign * (1.0 + fraction) * 2_f32.powi(exponent % 81 - 40),
            Self::Wide => sign * (1.0 + fraction) * 2_f32.powi(if of_a { scale } else { -scale }),
            Self::Large if of_a => sign * (1.0 + 0.99 * fraction) * 2_f32.powi(127),
            Self::Large => sign * (1.0 + fraction) * 2_f32.powi(-20),
            Self::Subnormal if of_a => f32::from_bits((bits >> 40) as u32 & 0x7f_ffff | (bits as u32) << 31),
            Self::Subnormal => sign * (1.0 + fraction) * 2_f32.powi(20),
            Self::Integers => {
                let range = integer_range(k);
                (((bits >> 40) as i64 * i64::from(2 * range + 1)) >> 24) as f32 - range as f32
            }
        }
    }

    /// All elements of A (or of B) for a product with sums of length `k`.
    pub fn draw(self, of_a: bool, elements: u64, k: u64) -> Vec<f32> {
        const CHUNK: usize = 1 << 16;
        let mut all = vec![0.0; elements as usize];
        all.par_chunks_mut(CHUNK).enumerate().for_each(|(stream, chunk)| {
            let mut random = ChaCha8Rng::seed_from_u64(u64::from(of_a) << 32 | self as u64);
            random.set_stream(stream as u64);
            for (element, at) in chunk.iter_mut().zip((stream * CHUNK) as u64..) {
                let step = if of_a { at % k } else { at / (elements / k) };
                *element = self.element(of_a, k, step, random.next_u64());
            }
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_are_what_they_say() {
        for values in Values::value_variants() {
            let [a, b] = [true, false].map(|of_a| values.draw(of_a, 70_000, 1000));
            assert!((a != b || *values == Values::Ties) && a.iter().chain(&b).all(|x| x.is_finite()), "{values:?}");
            let size = |x: &f32| x.abs().log2();
            let largest = a.iter().map(size).fold(f32::MIN, f32::max);
            let (least, most) = match values {
                Values::Both | Values::Positive => (-0.1, 0.0),
                Values::Zeros => (30.5, 31.0),
                Values::Ties => (0.0, 0.1),
                Values::Spread => (40.5, 41.0),
                Values::Large | Values::Wide => (127.9, 128.0),
                Values::Subnormal => (-126.1, -126.0),
                Values::Integers => (6.0, 7.0),
            };
            assert!(least < largest && largest <= most, "{values:?}: {largest}");
            let signed = !matches!(values, Values::Positive | Values::Ties);
            assert_eq!(a.iter().any(|x| *x < 0.0), signed, "{values:?}");
            assert_eq!(a.iter().all(|x| x.fract() == 0.0), matches!(values, Values::Integers | Values::Large));
        }
    }
}
