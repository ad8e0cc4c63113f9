//! Freivalds' check in the ring of 64-bit integers: C·x against A·(B·x) for random x.
//!
//! Sums of the right product are below 2²⁴ or wrap around at 2³², so that a wrong element differs from the right one by
//! at most 2³². A wrong row passes one vector with a probability of at most 2⁻³² (by the power of two in the
//! difference), both vectors with 2⁻⁶⁴; a product modulo 2³² is looked at modulo 2³², where a difference of 2³¹ passes a
//! vector with 1/2: such problems get more vectors.

use anyhow::Result;
use rayon::prelude::*;

use super::rows::{Rows, panel_rows};
use super::spread::spread;
use crate::matrix::Operands;
use crate::mix::mix;
use crate::problem::{Dtype, Problem};
use crate::progress::Progress;

/// Random vectors for a product that does not wrap around.
const VECTORS: usize = 2;
/// Random vectors for a product modulo 2³²: a difference of exactly 2³¹ passes them all with 2⁻¹⁶, a random one with 2⁻⁵⁰⁰.
const WRAPPING_VECTORS: usize = 16;
/// Wrong rows that are returned at most.
const WRONG_ROWS: usize = 64;

/// Rows of C that are not rows of the product: the first ones and others spread over C.
pub fn wrong_rows(problem: &Problem, operands: &Operands, c: &mut dyn Rows) -> Result<Vec<u64>> {
    let (n, k) = (problem.n as usize, problem.k as usize);
    let wrapping = problem.dtype == Dtype::I32;
    let mask = if wrapping { u64::from(u32::MAX) } else { u64::MAX };
    let vectors = if wrapping { WRAPPING_VECTORS } else { VECTORS };
    let panel = panel_rows(problem);
    let mut wrong = vec![false; problem.m as usize];
    let mut words = vec![0_u32; (panel * problem.n) as usize];
    let mut x: Vec<Vec<u64>> = Vec::new();
    let mut z: Vec<Vec<u64>> = Vec::new();
    for vector in 0..vectors as u64 {
        // Drawn from the clock as well as the seed: a kernel cannot be right for one vector only.
        let column = column(mix(problem.seed ^ vector ^ clock()), problem.n);
        let y = match operands {
            Operands::F32 { b, .. } => times(b, &column, n, |x| x as i32),
            Operands::I32 { b, .. } => times(b, &column, n, |x| x.0),
        };
        z.push(match operands {
            Operands::F32 { a, .. } => times(a, &y, k, |x| x as i32),
            Operands::I32 { a, .. } => times(a, &y, k, |x| x.0),
        });
        x.push(column);
    }
    let progress = Progress::new("verifying, rows of C", problem.m);
    for first in (0..problem.m).step_by(panel as usize) {
        let rows = (problem.m - first).min(panel) as usize;
        let words = &mut words[..rows * n];
        c.read(first, words)?;
        let wrong = &mut wrong[first as usize..first as usize + rows];
        wrong.par_iter_mut().zip(words.par_chunks(n)).enumerate().for_each(|(row, (wrong, words))| {
            let integral = wrapping || words.iter().all(|&word| is_small_integer(f32::from_bits(word)));
            let as_integer = |word: u32| if wrapping { word as i32 } else { f32::from_bits(word) as i32 };
            *wrong = !integral
                || x.iter().zip(&z).any(|(x, z)| (dot(words, x, as_integer) ^ z[first as usize + row]) & mask != 0);
        });
        progress.add(rows as u64);
    }
    let rows: Vec<u64> = (0..problem.m).filter(|&row| wrong[row as usize]).collect();
    Ok(spread(&rows, WRONG_ROWS))
}

/// A random vector: one number for each column of C.
fn column(seed: u64, n: u64) -> Vec<u64> {
    (0..n).into_par_iter().map(|j| mix(seed ^ j)).collect()
}

fn clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// Whether an element is an integer that a sum of the problem can reach; NaN is not.
fn is_small_integer(x: f32) -> bool {
    x.abs() <= (1 << 24) as f32 && x.fract() == 0.0
}

/// A row-major matrix of rows of `n` times a vector, modulo 2⁶⁴.
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
    use crate::problem::Fill;
    use crate::verify::reference::Reference;
    use crate::verify::rows::HostRows;

    fn product(problem: &Problem) -> (Operands, Vec<u32>) {
        let operands = Operands::new(problem).unwrap();
        let rows: Vec<u64> = (0..problem.m).collect();
        let expected = Reference::new(problem, &operands, problem.m).unwrap().panel(&rows).unwrap().expected;
        let bits = |x: &f64| if problem.dtype == Dtype::F32 { (*x as f32).to_bits() } else { *x as i32 as u32 };
        (operands, expected.iter().map(bits).collect())
    }

    #[test]
    fn the_product_passes_and_any_single_wrong_element_does_not() {
        for (dtype, fill) in [(Dtype::F32, Fill::Integers), (Dtype::I32, Fill::Uniform), (Dtype::I32, Fill::Integers)] {
            let problem = Problem { m: 40, n: 30, k: 50, dtype, fill, seed: 1 };
            let (operands, words) = product(&problem);
            let check = |words: &[u32]| wrong_rows(&problem, &operands, &mut HostRows { words, n: 30 }).unwrap();
            assert_eq!(check(&words), [0_u64; 0]);
            for element in [0, 29, 31, 599, 1199] {
                let mut wrong = words.clone();
                // The least and, for integers, the most treacherous difference.
                for bits in [
                    wrong[element] ^ 0x8000_0000,
                    if dtype == Dtype::F32 {
                        (f32::from_bits(wrong[element]) + 1.0).to_bits()
                    } else {
                        wrong[element] + 1
                    },
                ] {
                    if f32::from_bits(words[element]) == 0.0
                        && dtype == Dtype::F32
                        && bits == wrong[element] ^ 0x8000_0000
                    {
                        continue; // minus zero is zero
                    }
                    wrong[element] = bits;
                    assert_eq!(check(&wrong), [element as u64 / 30]);
                }
            }
        }
    }

    #[test]
    fn nan_and_fractions_fail() {
        let problem = Problem { m: 4, n: 5, k: 6, dtype: Dtype::F32, fill: Fill::Integers, seed: 1 };
        let (operands, mut words) = product(&problem);
        words[7] = f32::NAN.to_bits();
        words[19] = (f32::from_bits(words[19]) + 0.25).to_bits();
        assert_eq!(wrong_rows(&problem, &operands, &mut HostRows { words: &words, n: 5 }).unwrap(), [1, 3]);
    }

    #[test]
    fn only_integers_that_a_sum_can_reach_are_let_through() {
        const MOST: f32 = (1 << 24) as f32;
        for right in [0.0, -3.0, MOST, -MOST] {
            assert!(is_small_integer(right), "{right}");
        }
        for wrong in [0.5, MOST + 2.0, f32::NAN, f32::INFINITY] {
            assert!(!is_small_integer(wrong), "{wrong}");
        }
    }

    #[test]
    fn no_two_numbers_of_a_vector_are_the_same_and_the_clock_runs() {
        let numbers = column(12_345, 1000);
        let distinct: std::collections::HashSet<&u64> = numbers.iter().collect();
        assert_eq!((numbers.len(), distinct.len()), (1000, 1000));
        assert_ne!(column(12_346, 1000), numbers);
        assert!(clock() > 1);
    }

    #[test]
    fn a_wrong_row_is_found_in_whichever_panel_it_lies() {
        // Two rows a panel, and one in the last.
        let n = 3 << 20;
        let problem = Problem { m: 5, n, k: 1, dtype: Dtype::I32, fill: Fill::Integers, seed: 2 };
        let operands = Operands::new(&problem).unwrap();
        let Operands::I32 { a, b } = &operands else { unreachable!() };
        let mut words: Vec<u32> = a.iter().flat_map(|a| b.iter().map(move |b| (a * b).0 as u32)).collect();
        let check = |words: &[u32]| wrong_rows(&problem, &operands, &mut HostRows { words, n }).unwrap();
        assert_eq!(check(&words), [0_u64; 0]);
        words[3 * n as usize + 7] ^= 1;
        words[4 * n as usize] ^= 1;
        assert_eq!(check(&words), [3, 4]);
    }
}
