//! The elements of A and B: random, distinct, and the same on every machine for the same seed.

use std::num::Wrapping;

use anyhow::Result;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use plan::{Dtype, Fill, Problem};

/// A and B on the host, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum Operands {
    /// Single precision.
    F32 {
        /// M×K.
        a: Vec<f32>,
        /// K×N.
        b: Vec<f32>,
    },
    /// Integers that wrap around.
    I32 {
        /// M×K.
        a: Vec<Wrapping<i32>>,
        /// K×N.
        b: Vec<Wrapping<i32>>,
    },
}

/// Elements drawn from one stream of the generator. With a stream for each chunk, all cores can draw at once.
const CHUNK: usize = 1 << 16;

/// Largest absolute value of [`Fill::Integers`] so that a sum of `k` products is exact in `f32`: k·r² ≤ 2²⁴.
///
/// Beyond k = 2²⁴ it is still 1, because the sum of k random signs stays far below 2²⁴.
pub fn integer_range(k: u64) -> i32 {
    (((1_u64 << 24) as f64 / k as f64).sqrt().floor() as i32).clamp(1, 100)
}

impl Operands {
    /// Draws A and B of a problem. Fails if the host has no memory for them.
    pub fn new(problem: &Problem) -> Result<Self> {
        let range = integer_range(problem.k);
        let float = |word| float(problem.fill, word, range);
        let wrapping = |word| Wrapping(if problem.fill == Fill::Uniform { word as i32 } else { integer(word, range) });
        Ok(match problem.dtype {
            Dtype::F32 => Self::F32 { a: draw(Side::A, problem, float)?, b: draw(Side::B, problem, float)? },
            Dtype::I32 => Self::I32 { a: draw(Side::A, problem, wrapping)?, b: draw(Side::B, problem, wrapping)? },
        })
    }

    /// The bytes of A and of B, as they are copied to a device.
    pub fn bytes(&self) -> [&[u8]; 2] {
        match self {
            Self::F32 { a, b } => [bytemuck::cast_slice(a), bytemuck::cast_slice(b)],
            Self::I32 { a, b } => [bytemuck::cast_slice(a), bytemuck::cast_slice(b)],
        }
    }
}

/// One of the two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// M×K.
    A,
    /// K×N.
    B,
}

impl Side {
    /// Both of them.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The other operand.
    #[must_use]
    pub fn other(self) -> Self {
        if self == Self::A { Self::B } else { Self::A }
    }

    /// What an index along M of A, or along N of B, counts: rows or columns.
    pub fn line(self) -> &'static str {
        ["row", "column"][self as usize]
    }

    /// The seed of its generator.
    fn seed(self, problem: &Problem) -> u64 {
        problem.seed.wrapping_mul(2).wrapping_add(u64::from(self == Self::B))
    }

    /// The key of its generator, eight words, with which a device without room for the whole operand can draw a part.
    pub fn key(self, problem: &Problem) -> [u32; 8] {
        let seed = ChaCha8Rng::seed_from_u64(self.seed(problem)).get_seed();
        std::array::from_fn(|i| u32::from_le_bytes(seed.as_chunks().0[i]))
    }

    /// `len` elements of an `f32` operand from element `first` on, the same that [`Operands::new`] draws.
    pub fn part(self, problem: &Problem, first: u64, len: usize) -> Vec<f32> {
        let range = integer_range(problem.k);
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed(problem));
        let mut stream = None;
        (first..first + len as u64)
            .map(|i| {
                let chunk = i / CHUNK as u64;
                if stream != Some(chunk) {
                    stream = Some(chunk);
                    rng.set_stream(chunk);
                    rng.set_word_pos(u128::from(i % CHUNK as u64));
                }
                float(problem.fill, rng.next_u32(), range)
            })
            .collect()
    }
}

/// Allocates `len` elements. Fails, instead of aborting the process, if memory is short.
pub fn vec_of<T: Clone + Default>(len: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len).map_err(|_| {
        anyhow::anyhow!(
            "the host does not have the {} bytes that a matrix needs; choose a smaller --size",
            len * size_of::<T>()
        )
    })?;
    vec.resize(len, T::default());
    Ok(vec)
}

fn draw<T: Clone + Default + Send>(side: Side, problem: &Problem, value: impl Fn(u32) -> T + Sync) -> Result<Vec<T>> {
    let len = if side == Side::A { problem.a_elements() } else { problem.b_elements() };
    let mut elements = vec_of(len as usize)?;
    elements.par_chunks_mut(CHUNK).enumerate().for_each(|(stream, chunk)| {
        let mut rng = ChaCha8Rng::seed_from_u64(side.seed(problem));
        rng.set_stream(stream as u64);
        for element in chunk {
            *element = value(rng.next_u32());
        }
    });
    Ok(elements)
}

/// Uniform in [-1, 1) in steps of 2⁻²³, or an integer in the range.
fn float(fill: Fill, word: u32, range: i32) -> f32 {
    match fill {
        Fill::Uniform => (word >> 8) as f32 * (1.0 / (1 << 23) as f32) - 1.0,
        Fill::Integers => integer(word, range) as f32,
    }
}

/// Uniform in [-range, range]. If the range is 1, 0 is left out, so that every term changes the sum.
fn integer(word: u32, range: i32) -> i32 {
    if range == 1 {
        return if word & 1 == 0 { -1 } else { 1 };
    }
    let values = (2 * range + 1) as u64;
    ((u64::from(word) * values) >> 32) as i32 - range
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_integers_within_the_range_whose_sums_are_exact() {
        let problem = Problem { fill: Fill::Integers, ..Problem::uniform([70; 3]) };
        let Operands::F32 { a, b } = Operands::new(&problem).unwrap() else { unreachable!() };
        let range = integer_range(70);
        assert!(a.iter().chain(&b).all(|x| x.fract() == 0.0 && x.abs() <= range as f32));
        for k in [1, 70, 16_384, 1 << 24, 1 << 30] {
            let range = u64::from(integer_range(k).unsigned_abs());
            assert!(range == 1 || k * range * range <= 1 << 24);
        }
    }

    #[test]
    fn a_part_is_drawn_as_the_whole_is() {
        for fill in [Fill::Uniform, Fill::Integers] {
            // More than one stream of the generator.
            let problem = Problem { m: 300, n: 2, k: 500, dtype: Dtype::F32, fill, seed: 5 };
            let Operands::F32 { a, b } = Operands::new(&problem).unwrap() else { unreachable!() };
            for (first, len) in [(0, 70), (65_530, 20), (131_072, 3), (149_999, 1)] {
                assert_eq!(Side::A.part(&problem, first as u64, len), a[first..first + len], "from {first}");
            }
            assert_eq!(Side::B.part(&problem, 3, 900), b[3..903]);
            assert_ne!(Side::A.key(&problem), Side::B.key(&problem));
        }
    }
}
