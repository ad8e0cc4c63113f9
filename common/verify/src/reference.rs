//! The right product of some rows, and how far a kernel may be from it.

use anyhow::Result;
use rayon::prelude::*;

use crate::gemm::add_product;
use crate::matrix::{Operands, vec_of};
use plan::{Fill, Problem};

/// Unit roundoff of `f32`.
const UNIT: f64 = 1.0 / (1_u64 << 24) as f64;

/// The bound of the relative error of a sum of `k` rounded products, in any order, with or without fused multiply-adds. It is γ(k)
/// = k·u / (1 − k·u) or, if k·u is not small, k·u itself, which holds as well (C.-P. Jeannerod and S. Rump, "Improved error bounds
/// for inner products in floating-point arithmetic", 2013).
pub fn gamma(k: u64) -> f64 {
    let ku = k as f64 * UNIT;
    if ku < 0.5 { ku / (1.0 - ku) } else { ku }
}

/// Elements of B that are converted to `f64` at a time.
const WIDENED: usize = 4 << 20;

/// Rows of B that are converted to `f64` at a time.
pub fn widened_rows(problem: &Problem) -> u64 {
    (WIDENED as u64 / problem.n).clamp(1, problem.k)
}

/// These rows of the right product, one after another, and the largest difference allowed for each element; `None` if they must be
/// exact. Every `i32` is exact in `f64`.
pub fn panel(problem: &Problem, operands: &Operands, rows: &[u64]) -> Result<(Vec<f64>, Option<Vec<f32>>)> {
    let (n, k) = (problem.n as usize, problem.k as usize);
    let mut expected = vec_of::<f64>(rows.len() * n)?;
    match operands {
        Operands::F32 { a, b } => {
            let rounded = problem.fill == Fill::Uniform;
            let mut bound = vec_of::<f32>(if rounded { rows.len() * n } else { 0 })?;
            let depth = widened_rows(problem) as usize;
            for (band, b) in b.chunks(depth * n).enumerate() {
                let (first, depth) = (band * depth, b.len() / n);
                let a: Vec<&[f32]> = rows.iter().map(|&row| &a[row as usize * k + first..][..depth]).collect();
                add_product(&mut expected, &widened(&a, f64::from)?, &widened(&[b], f64::from)?, [n, depth]);
                if rounded {
                    add_product(&mut bound, &widened(&a, f32::abs)?, &widened(&[b], f32::abs)?, [n, depth]);
                }
            }
            let gamma = gamma(problem.k);
            // The sum of absolute values is rounded too, by less than the same γ.
            let factor = (gamma * (1.0 + 2.0 * gamma)) as f32;
            bound.par_iter_mut().for_each(|bound| *bound *= factor);
            Ok((expected, rounded.then_some(bound)))
        }
        Operands::I32 { a, b } => {
            expected.par_chunks_mut(n).zip(rows).for_each(|(expected, &row)| {
                let mut sums = vec![std::num::Wrapping(0_i32); n];
                let row = row as usize * k;
                for (factor, b_row) in a[row..row + k].iter().zip(b.chunks_exact(n)) {
                    for (sum, element) in sums.iter_mut().zip(b_row) {
                        *sum += factor * element;
                    }
                }
                for (expected, sum) in expected.iter_mut().zip(sums) {
                    *expected = f64::from(sum.0);
                }
            });
            Ok((expected, None))
        }
    }
}

/// Parts of equal length, one after another, converted to another type.
fn widened<T: Clone + Default + Send>(parts: &[&[f32]], wide: impl Fn(f32) -> T + Sync) -> Result<Vec<T>> {
    let length = parts[0].len();
    let mut all = vec_of(parts.len() * length)?;
    all.par_chunks_mut(length).zip(parts).for_each(|(to, from)| {
        to.par_iter_mut().zip(*from).for_each(|(to, &from)| *to = wide(from));
    });
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Dtype;

    #[test]
    fn rows_are_those_of_a_loop() {
        let all: Vec<u64> = (0..200).collect();
        // The B of the second problem is converted in several bands.
        for (dtype, fill, [m, n, k], rows) in [
            (Dtype::F32, Fill::Uniform, [100, 37, 53], &[0, 41, 99][..]),
            (Dtype::F32, Fill::Uniform, [3, 1 << 20, 9], &[2, 1]),
            (Dtype::F32, Fill::Integers, [200, 37, 19], &all),
            (Dtype::I32, Fill::Uniform, [200, 37, 19], &all),
        ] {
            let problem = Problem { m, n, k, dtype, fill, seed: 3 };
            let operands = Operands::new(&problem).unwrap();
            let (n, k) = (n as usize, k as usize);
            let (expected, bound) = panel(&problem, &operands, rows).unwrap();
            assert_eq!(expected.len(), rows.len() * n);
            assert_eq!(bound.is_some(), fill == Fill::Uniform && dtype == Dtype::F32);
            for (place, &found) in expected.iter().enumerate().step_by(n / 37) {
                let (row, col) = (rows[place / n] as usize, place % n);
                let terms = (0..k).map(|i| (row * k + i, i * n + col));
                match &operands {
                    Operands::F32 { a, b } => {
                        let terms = terms.map(|(of_a, of_b)| f64::from(a[of_a]) * f64::from(b[of_b]));
                        approx::assert_abs_diff_eq!(found, terms.clone().sum(), epsilon = 1e-12);
                        let absolute: f64 = terms.map(f64::abs).sum();
                        if let Some(bound) = &bound {
                            let bound = f64::from(bound[place]);
                            approx::assert_relative_eq!(bound, absolute * gamma(k as u64), max_relative = 1e-4);
                        }
                    }
                    Operands::I32 { a, b } => {
                        let sum: std::num::Wrapping<i32> = terms.map(|(of_a, of_b)| a[of_a] * b[of_b]).sum();
                        approx::assert_abs_diff_eq!(found, f64::from(sum.0), epsilon = 0.0);
                    }
                }
            }
        }
    }

    #[test]
    #[allow(clippy::float_cmp)] // these values are exact
    fn gamma_is_highams_and_from_one_half_on_that_of_jeannerod_and_rump() {
        assert_eq!(UNIT, 2.0_f64.powi(-24));
        assert_eq!(gamma(1), UNIT / (1.0 - UNIT));
        assert_eq!([gamma(1 << 22), gamma(1 << 23), gamma(1 << 24), gamma(1 << 30)], [0.25 / 0.75, 0.5, 1.0, 64.0]);
    }

    #[test]
    fn the_bound_of_a_long_sum_allows_for_its_own_rounding() {
        let k = 1 << 20;
        let problem = Problem { m: 1, n: 1, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: 3 };
        let operands = Operands::new(&problem).unwrap();
        let Operands::F32 { a, b } = &operands else { unreachable!() };
        let absolute: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a * b).abs()).sum();
        let bound = f64::from(panel(&problem, &operands, &[0]).unwrap().1.unwrap()[0]);
        approx::assert_relative_eq!(bound, absolute * gamma(k) * (1.0 + 2.0 * gamma(k)), max_relative = 1e-3);
    }
}
