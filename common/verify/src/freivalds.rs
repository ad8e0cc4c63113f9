//! Freivalds' check in the ring of 64-bit integers: compares C·x with A·(B·x) for random x.
//!
//! Sums of the right product are below 2²⁴ or wrap around at 2³², so a wrong element differs from the right one by at most 2³². A
//! wrong row passes one vector with a probability of at most 2⁻³² (it depends on the power of two in the difference), and both
//! vectors with 2⁻⁶⁴. A product modulo 2³² is compared modulo 2³², where a difference of 2³¹ passes a vector with a probability of
//! 1/2, so such problems get more vectors.

use anyhow::Result;
use rayon::prelude::*;

use super::rows::{Rows, each_panel, spread};
use crate::matrix::Operands;
use crate::mix::mix;
use plan::{Dtype, Problem};

/// Random vectors for a product that does not wrap around.
const VECTORS: u64 = 2;
/// Random vectors for a product modulo 2³². A difference of exactly 2³¹ passes all with 2⁻¹⁶, a random one with 2⁻⁵⁰⁰.
const WRAPPING_VECTORS: u64 = 16;
/// The most wrong rows that are returned.
const WRONG_ROWS: usize = 64;

/// Rows of C that differ from the product: the first ones, and others spread over C.
pub fn wrong_rows(problem: &Problem, operands: &Operands, c: &mut Rows) -> Result<Vec<u64>> {
    let (n, k) = (problem.n as usize, problem.k as usize);
    let wrapping = problem.dtype == Dtype::I32;
    let (vectors, mask) = if wrapping { (WRAPPING_VECTORS, u32::MAX.into()) } else { (VECTORS, u64::MAX) };
    let mut wrong = vec![false; problem.m as usize];
    // Each x, and A·(B·x).
    let with_product = |vector| {
        let x = random_vector(vector, problem.n);
        let z = match operands {
            Operands::F32 { a, b } => times(a, &times(b, &x, n, |x| x as i32), k, |x| x as i32),
            Operands::I32 { a, b } => times(a, &times(b, &x, n, |x| x.0), k, |x| x.0),
        };
        (x, z)
    };
    let vectors: Vec<(Vec<u64>, Vec<u64>)> = (0..vectors).map(with_product).collect();
    each_panel("verifying, rows of C", problem, c, |first, words| {
        let wrong = &mut wrong[first as usize..];
        wrong.par_iter_mut().zip(words.par_chunks(n)).enumerate().for_each(|(row, (wrong, words))| {
            let integral = wrapping || words.iter().all(|&word| is_small_integer(f32::from_bits(word)));
            let as_integer = |word: u32| if wrapping { word as i32 } else { f32::from_bits(word) as i32 };
            *wrong = !integral
                || vectors.iter().any(|(x, z)| (dot(words, x, as_integer) ^ z[first as usize + row]) & mask != 0);
        });
    })?;
    let rows: Vec<u64> = (0..problem.m).filter(|&row| wrong[row as usize]).collect();
    Ok(spread(&rows, WRONG_ROWS))
}

/// Random vector number `vector`, with `n` numbers, one for each column of C. Its seed comes from the clock, so that no kernel can
/// be made right for these vectors only.
pub fn random_vector(vector: u64, n: u64) -> Vec<u64> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let clock = now.map_or(0, |now| now.as_nanos() as u64);
    let seed = mix(mix(clock) ^ vector);
    (0..n).into_par_iter().map(|j| mix(seed ^ j)).collect()
}

/// Whether an element is an integer that a sum of the problem can reach. NaN is not.
fn is_small_integer(x: f32) -> bool {
    x.abs() <= (1 << 24) as f32 && x.fract() == 0.0
}

/// A row-major matrix with rows of `n` elements times a vector, modulo 2⁶⁴.
fn times<T: Copy + Sync>(matrix: &[T], x: &[u64], n: usize, integer: impl Fn(T) -> i32 + Sync) -> Vec<u64> {
    matrix.par_chunks(n).map(|row| dot(row, x, &integer)).collect()
}

fn dot<T: Copy>(row: &[T], x: &[u64], integer: impl Fn(T) -> i32) -> u64 {
    row.iter()
        .zip(x)
        .fold(0_u64, |sum, (&element, &x)| sum.wrapping_add((i64::from(integer(element)) as u64).wrapping_mul(x)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::right_product;
    use crate::rows::host_rows;
    use plan::Fill;

    fn check(problem: &Problem, operands: &Operands, words: &[u32]) -> Vec<u64> {
        wrong_rows(problem, operands, &mut host_rows(words, problem.n)).unwrap()
    }

    #[test]
    fn the_product_passes_and_any_single_wrong_element_does_not() {
        for (dtype, fill) in [(Dtype::F32, Fill::Integers), (Dtype::I32, Fill::Uniform), (Dtype::I32, Fill::Integers)] {
            let problem = Problem { dtype, fill, ..Problem::uniform([40, 30, 50]) };
            let operands = Operands::new(&problem).unwrap();
            let words = right_product(&problem, &operands).unwrap();
            assert_eq!(check(&problem, &operands, &words), [0_u64; 0]);
            for element in [0, 29, 31, 599, 1199] {
                let right = words[element];
                let float = dtype == Dtype::F32;
                let more = if float { (f32::from_bits(right) + 1.0).to_bits() } else { right + 1 };
                // The smallest difference and, for integers, the one that is hardest to find, 2³¹. Minus zero is not wrong.
                let sign = Some(right ^ 0x8000_0000).filter(|_| !float || f32::from_bits(right) != 0.0);
                for bits in sign.into_iter().chain([more]) {
                    let mut wrong = words.clone();
                    wrong[element] = bits;
                    assert_eq!(check(&problem, &operands, &wrong), [element as u64 / 30]);
                }
            }
        }
    }

    #[test]
    fn only_integers_that_a_sum_can_reach_are_let_through() {
        const MOST: f32 = (1 << 24) as f32;
        assert_eq!([0.0, -3.0, MOST, -MOST].map(is_small_integer), [true; 4]);
        assert_eq!([0.5, MOST + 2.0, f32::NAN, f32::INFINITY].map(is_small_integer), [false; 4]);
        let problem = Problem { fill: Fill::Integers, ..Problem::uniform([4, 5, 6]) };
        let operands = Operands::new(&problem).unwrap();
        let mut words = right_product(&problem, &operands).unwrap();
        words[7] = f32::NAN.to_bits();
        words[19] = (f32::from_bits(words[19]) + 0.25).to_bits();
        assert_eq!(check(&problem, &operands, &words), [1, 3]);
    }

    #[test]
    fn no_two_numbers_of_a_vector_are_the_same_and_no_two_vectors() {
        let numbers = random_vector(0, 1000);
        let distinct: std::collections::HashSet<&u64> = numbers.iter().collect();
        assert_eq!((numbers.len(), distinct.len()), (1000, 1000));
        assert_ne!(random_vector(1, 1000), numbers);
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert_ne!(random_vector(0, 1000), numbers);
    }
}
