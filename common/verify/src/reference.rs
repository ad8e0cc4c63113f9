//! The right product of some rows, and how far a kernel may be from it.

use anyhow::Result;
use rayon::prelude::*;

use crate::gemm::product;
use crate::matrix::{Operands, vec_of};
use plan::{Fill, Problem};

/// Unit roundoff of `f32`.
const UNIT: f64 = 1.0 / (1_u64 << 24) as f64;

/// The bound of the relative error of a sum of `k` rounded products, in any order, with or without fused
/// multiply-adds: γ(k) = k·u / (1 − k·u); where k·u is not small, k·u itself, which holds as well (C.-P. Jeannerod and
/// S. Rump, "Improved error bounds for inner products in floating-point arithmetic", 2013).
pub fn gamma(k: u64) -> f64 {
    let ku = k as f64 * UNIT;
    if ku < 0.5 { ku / (1.0 - ku) } else { ku }
}

/// Expected rows of C.
pub struct Panel {
    /// Expected elements, row after row; every `i32` is exact in `f64`.
    pub expected: Vec<f64>,
    /// Largest difference allowed for each element; `None` where the product must be exact.
    pub bound: Option<Vec<f32>>,
}

/// Computes rows of the product, at the least cost for many rows or for few.
pub struct Reference<'a> {
    problem: Problem,
    operands: &'a Operands,
    /// B in `f64` and |B|, where many rows are asked for.
    wide: Option<(Vec<f64>, Vec<f32>)>,
}

impl<'a> Reference<'a> {
    /// A reference for `rows` rows of C in all.
    pub fn new(problem: &Problem, operands: &'a Operands, rows: u64) -> Result<Self> {
        // Below this a matrix product gains nothing on a loop over B, and costs 12 bytes an element of B.
        const MANY_ROWS: u64 = 64;
        let wide = match operands {
            Operands::F32 { b, .. } if rows >= MANY_ROWS => {
                let mut doubles = vec_of::<f64>(b.len())?;
                doubles.par_iter_mut().zip(b).for_each(|(double, &element)| *double = f64::from(element));
                let mut absolute = Vec::new();
                if problem.fill == Fill::Uniform {
                    absolute = vec_of::<f32>(b.len())?;
                    absolute.par_iter_mut().zip(b).for_each(|(absolute, element)| *absolute = element.abs());
                }
                Some((doubles, absolute))
            }
            _ => None,
        };
        Ok(Self { problem: *problem, operands, wide })
    }

    /// The product's rows of these numbers.
    pub fn panel(&self, rows: &[u64]) -> Result<Panel> {
        match (self.operands, &self.wide) {
            (Operands::F32 { a, .. }, Some((doubles, absolute))) => self.wide_panel(a, doubles, absolute, rows),
            (Operands::F32 { a, b }, None) => self.narrow_panel(a, b, rows),
            (Operands::I32 { a, b }, _) => {
                let (n, k) = (self.problem.n as usize, self.problem.k as usize);
                let mut expected = vec_of::<f64>(rows.len() * n)?;
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
                Ok(Panel { expected, bound: None })
            }
        }
    }

    /// Many rows: two matrix products, of the elements in `f64` and of their absolute values in `f32`.
    fn wide_panel(&self, a: &[f32], doubles: &[f64], absolute: &[f32], rows: &[u64]) -> Result<Panel> {
        let (n, k) = (self.problem.n as usize, self.problem.k as usize);
        let mut a_rows = vec_of::<f64>(rows.len() * k)?;
        a_rows.par_chunks_mut(k).zip(rows).for_each(|(to, &row)| {
            let row = row as usize * k;
            to.iter_mut().zip(&a[row..row + k]).for_each(|(to, &from)| *to = f64::from(from));
        });
        let mut expected = vec_of::<f64>(rows.len() * n)?;
        product(&mut expected, &a_rows, doubles, [n, k]);
        if absolute.is_empty() {
            return Ok(Panel { expected, bound: None });
        }
        let a_absolute: Vec<f32> = a_rows.par_iter().map(|&element| element.abs() as f32).collect();
        let mut bound = vec_of::<f32>(rows.len() * n)?;
        product(&mut bound, &a_absolute, absolute, [n, k]);
        let gamma = gamma(self.problem.k);
        // The sum of absolute values is itself rounded, by less than the same γ.
        let factor = (gamma * (1.0 + 2.0 * gamma)) as f32;
        bound.par_iter_mut().for_each(|bound| *bound *= factor);
        Ok(Panel { expected, bound: Some(bound) })
    }

    /// Few rows: one pass over B for each.
    fn narrow_panel(&self, a: &[f32], b: &[f32], rows: &[u64]) -> Result<Panel> {
        let (n, k) = (self.problem.n as usize, self.problem.k as usize);
        let mut expected = vec_of::<f64>(rows.len() * n)?;
        let mut bound = vec_of::<f32>(rows.len() * n)?;
        let gamma = gamma(self.problem.k);
        // Bands of columns: a single long row is shared among the cores, too.
        let band = n.div_ceil(rayon::current_num_threads()).max(256);
        let tasks = expected.chunks_mut(n).zip(bound.chunks_mut(n)).zip(rows).flat_map(|((expected, bound), &row)| {
            expected
                .chunks_mut(band)
                .zip(bound.chunks_mut(band))
                .enumerate()
                .map(move |(i, (e, b))| (row, i * band, e, b))
        });
        tasks.collect::<Vec<_>>().into_par_iter().for_each(|(row, first, expected, bound)| {
            let width = expected.len();
            let mut absolute = vec![0.0_f64; width];
            let row = row as usize * k;
            for (&factor, b_row) in a[row..row + k].iter().zip(b.chunks_exact(n)) {
                let factor = f64::from(factor);
                let band = &b_row[first..first + width];
                for ((expected, absolute), &element) in expected.iter_mut().zip(&mut absolute).zip(band) {
                    let term = factor * f64::from(element);
                    *expected += term;
                    *absolute += term.abs();
                }
            }
            bound.iter_mut().zip(absolute).for_each(|(bound, absolute)| *bound = (gamma * absolute) as f32);
        });
        let bound = (self.problem.fill == Fill::Uniform).then_some(bound);
        Ok(Panel { expected, bound })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Dtype;

    #[test]
    fn many_rows_and_few_rows_agree_and_so_does_a_loop_in_order() {
        // The second is long enough to be shared among bands of columns.
        for (m, n, k, rows) in [(100, 37, 53, &[0, 41, 99][..]), (3, 700, 5, &[2, 1])] {
            let problem = Problem { m, n, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: 3 };
            let operands = Operands::new(&problem).unwrap();
            let Operands::F32 { a, b } = &operands else { unreachable!() };
            let (n, k) = (n as usize, k as usize);
            for most in [100, 3, 1] {
                let panel = Reference::new(&problem, &operands, most).unwrap().panel(rows).unwrap();
                let bounds = panel.bound.unwrap();
                for (place, (expected, bound)) in panel.expected.iter().zip(bounds).enumerate() {
                    let (row, col) = (rows[place / n] as usize, place % n);
                    let terms = (0..k).map(|i| f64::from(a[row * k + i]) * f64::from(b[i * n + col]));
                    approx::assert_abs_diff_eq!(*expected, terms.clone().sum(), epsilon = 1e-12);
                    let absolute: f64 = terms.map(f64::abs).sum();
                    let wanted = absolute * gamma(k as u64);
                    let max_relative = if most == 100 { 1e-4 } else { 1e-6 };
                    approx::assert_relative_eq!(f64::from(bound), wanted, max_relative = max_relative);
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
    fn all_rows_of_several_bands_are_those_of_the_loop() {
        for (dtype, fill) in [(Dtype::F32, Fill::Integers), (Dtype::I32, Fill::Uniform)] {
            let (m, n, k) = (200, 37, 19);
            let problem = Problem { m, n, k, dtype, fill, seed: 3 };
            let operands = Operands::new(&problem).unwrap();
            let (a, b): (Vec<i32>, Vec<i32>) = match &operands {
                Operands::F32 { a, b } => {
                    (a.iter().map(|&x| x as i32).collect(), b.iter().map(|&x| x as i32).collect())
                }
                Operands::I32 { a, b } => (a.iter().map(|x| x.0).collect(), b.iter().map(|x| x.0).collect()),
            };
            let [n, k] = [n as usize, k as usize];
            let element = |row: usize, col: usize| {
                (0..k).fold(0_i32, |sum, i| sum.wrapping_add(a[row * k + i].wrapping_mul(b[i * n + col])))
            };
            let rows: Vec<u64> = (0..m).collect();
            let expected: Vec<f64> =
                (0..m as usize * n).map(|place| f64::from(element(place / n, place % n))).collect();
            for most in [m, 1] {
                let panel = Reference::new(&problem, &operands, most).unwrap().panel(&rows).unwrap();
                assert!(panel.expected == expected && panel.bound.is_none(), "{dtype}, as of {most} rows");
            }
        }
    }

    #[test]
    fn the_bound_of_a_long_sum_allows_for_its_own_rounding() {
        let k = 1 << 20;
        let problem = Problem { m: 1, n: 1, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: 3 };
        let operands = Operands::new(&problem).unwrap();
        let Operands::F32 { a, b } = &operands else { unreachable!() };
        let absolute: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a * b).abs()).sum();
        let panel = Reference::new(&problem, &operands, 64).unwrap().panel(&[0]).unwrap();
        let bound = f64::from(panel.bound.unwrap()[0]);
        approx::assert_relative_eq!(bound, absolute * gamma(k) * (1.0 + 2.0 * gamma(k)), max_relative = 1e-3);
    }
}
