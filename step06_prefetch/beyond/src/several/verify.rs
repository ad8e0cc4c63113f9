//! Is C the product, when no machine holds all of it? Each GPU checks its part in its own memory, and the host adds up small
//! vectors.
//!
//! Freivalds' check compares C·x with A·(B·x) for random x, modulo 2⁶⁴. For an integer twin of the problem it is exact, and a wrong
//! row passes both vectors with a probability of at most 2⁻⁶⁴. For the problem itself, whole rows are computed in double precision,
//! and every element is checked for NaN.

use std::ops::Range;
use std::time::Instant;

use anyhow::Result;
use bytemuck::{Pod, cast_slice, cast_slice_mut, zeroed_vec};
use common::basics::Side;
use common::device::Buffer;
use common::verify::{gamma, random_vector};
use serde::{Deserialize, Serialize};

use super::{At, Product, Share, THREADS, launch, length};

/// Random vectors of Freivalds' check.
const VECTORS: u64 = 2;
/// Rows of C that are computed in double precision.
const SAMPLES: u64 = 8;
/// Flags of `check.cu` for an element that is not an integer that a sum can reach, and for one that is NaN.
const NO_INTEGER: i32 = 1;
const NAN: i32 = 2;

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What is wrong, in a sentence; `None` if nothing is.
    pub wrong: Option<String>,
    /// Largest difference in the sampled rows, as a share of its bound.
    pub worst_bound_share: f64,
    /// Rows of the twin that Freivalds' check compared, which are all.
    pub rows: u64,
    /// Rows that were compared with sums in double precision.
    pub sampled_rows: u64,
    /// Seconds that it took.
    pub seconds: f64,
}

impl Share<'_> {
    fn read<T: Pod>(&mut self, (buffer, at): At, count: u64) -> Result<Vec<T>> {
        let mut all = zeroed_vec(count as usize);
        self.gpu.device()?.read(buffer, at, cast_slice_mut(&mut all))?;
        Ok(all)
    }

    /// A matrix of this GPU times x, and the flags of its rows.
    fn times(&mut self, matrix: Buffer, [rows, cols]: [u64; 2], x: &[u64]) -> Result<(Vec<u64>, Vec<i32>)> {
        let device = self.gpu.device()?;
        let buffer = device.alloc("scratch", cols * 8 + rows * 12)?;
        device.write(buffer, 0, cast_slice(x))?;
        let [x, sums, odd] = [0, cols * 8, cols * 8 + rows * 8].map(|at| (buffer, at));
        launch(device, self.kernels.rows_times, [rows, 1], &[(matrix, 0), x, sums, odd], &[rows, cols])?;
        let found = (self.read(sums, rows)?, self.read(odd, rows)?);
        self.gpu.device()?.free(buffer)?;
        Ok(found)
    }

    /// Rows of A times a panel of B in double precision: first the elements of the product, then those of |A|·|B|.
    fn in_double(&mut self, a: &[f32], panel: Buffer, [samples, n, k]: [u64; 3]) -> Result<Vec<f64>> {
        let device = self.gpu.device()?;
        let sums = (samples * k * 4).next_multiple_of(16);
        let buffer = device.alloc("scratch", sums + samples * n * 16)?;
        device.fill(buffer, 0)?;
        device.write(buffer, 0, cast_slice(a))?;
        let [a, sums, absolutes] = [0, sums, sums + samples * n * 8].map(|at| (buffer, at));
        let grid = [n.div_ceil(THREADS.into()), samples];
        launch(device, self.kernels.sampled_rows, grid, &[a, (panel, 0), sums, absolutes], &[n, k])?;
        let found = self.read(sums, 2 * samples * n)?;
        self.gpu.device()?.free(buffer)?;
        Ok(found)
    }
}

/// The elements of a vector at these places.
fn part<'a, T>(vector: &'a mut [T], range: &Range<u64>) -> &'a mut [T] {
    &mut vector[range.start as usize..range.end as usize]
}

fn add<'a>(to: impl IntoIterator<Item = &'a mut u64>, more: Vec<u64>) {
    to.into_iter().zip(more).for_each(|(to, more)| *to = to.wrapping_add(more));
}

/// A, or B, times x: each GPU has some panels, each of them of some rows and columns.
fn times_panels(product: &mut Product, side: Side, x: &mut [u64], rows: u64) -> Result<Vec<u64>> {
    let mut all = vec![0; rows as usize];
    for share in &mut product.shares {
        for panel in product.plan.own(side, share.rank) {
            let [rows, cols] = product.plan.part(side, panel, share.rank);
            let size = [length(&rows), length(&cols)];
            let (sums, _) = share.times(share.panel(side, panel), size, part(x, &cols))?;
            add(part(&mut all, &rows), sums);
        }
    }
    Ok(all)
}

/// Freivalds' check of a problem filled with integers, whose product is in the shares.
pub fn freivalds(product: &mut Product) -> Result<Verdict> {
    let begin = Instant::now();
    let problem = product.problem;
    let mut wrong_rows = vec![false; problem.m as usize];
    for vector in 0..VECTORS {
        let mut x = random_vector(vector, problem.n);
        // A·(B·x) − C·x must be 0 in every row: each GPU has some panels of A and of B, and a block of C.
        let mut y = times_panels(product, Side::B, &mut x, problem.k)?;
        let mut rest = times_panels(product, Side::A, &mut y, problem.m)?;
        for share in &mut product.shares {
            let [rows, cols] = share.block.clone();
            let (sums, odd) = share.times(share.c, [length(&rows), length(&cols)], part(&mut x, &cols))?;
            add(part(&mut rest, &rows), sums.into_iter().map(u64::wrapping_neg).collect());
            let wrong = part(&mut wrong_rows, &rows).iter_mut().zip(odd);
            wrong.for_each(|(wrong, flag)| *wrong |= flag & NO_INTEGER != 0);
        }
        wrong_rows.iter_mut().zip(rest).for_each(|(wrong, rest)| *wrong |= rest != 0);
    }
    let count = wrong_rows.iter().filter(|&&wrong| wrong).count();
    let wrong = wrong_rows.iter().position(|&wrong| wrong).map(|first| {
        let m = problem.m;
        format!("Freivalds' check of the integer twin finds {count} of {m} rows of C wrong, the first is {first}")
    });
    Ok(Verdict { wrong, rows: problem.m, seconds: begin.elapsed().as_secs_f64(), ..Verdict::default() })
}

/// Rows spread over C, with the first and the last among them.
fn sample(m: u64) -> Vec<u64> {
    let samples = SAMPLES.min(m);
    (0..samples).map(|i| i * (m - 1) / (samples - 1).max(1)).collect()
}

/// Compares sampled rows of a uniform problem with double precision, looks for NaN everywhere, and checks some drawn rows of B.
pub fn sampled(product: &mut Product) -> Result<Verdict> {
    let begin = Instant::now();
    let (problem, plan) = (product.problem, &product.plan);
    let rows = sample(problem.m);
    let count = rows.len();
    // Elements of the sampled rows, and of |A|·|B|.
    let mut expected = vec![vec![[0.0_f64; 2]; problem.n as usize]; count];
    let (mut strange, mut nan, mut wrong, mut worst) = (0_u64, 0, 0_u64, 0.0_f64);
    for share in &mut product.shares {
        let ([_, cols], n) = (share.block.clone(), length(&share.block[1]));
        for panel in plan.own(Side::B, share.rank) {
            let (k, matrix) = (&plan.panels[panel], share.panel(Side::B, panel));
            // The host draws the rows of A.
            let of_a = |row: &u64| Side::A.part(&problem, row * problem.k + k.start, length(k) as usize);
            let a: Vec<f32> = rows.iter().flat_map(of_a).collect();
            let found = share.in_double(&a, matrix, [count as u64, n, length(k)])?;
            let (sums, absolutes) = found.split_at(count * n as usize);
            for (at, (sum, absolute)) in sums.iter().zip(absolutes).enumerate() {
                let element = &mut expected[at / n as usize][at % n as usize + cols.start as usize];
                *element = [element[0] + sum, element[1] + absolute];
            }
            // The first and the last row of the panel must be as the host draws them.
            for row in [k.start, k.end - 1] {
                let drawn: Vec<f32> = share.read((matrix, (row - k.start) * n * 4), n)?;
                strange += u64::from(drawn != Side::B.part(&problem, row * problem.n + cols.start, n as usize));
            }
        }
    }
    for share in &mut product.shares {
        let ([own, cols], n) = (share.block.clone(), length(&share.block[1]));
        let (_, odd) = share.times(share.c, [length(&own), n], &vec![0; n as usize])?;
        nan += odd.iter().filter(|&&flag| flag & NAN != 0).count();
        for (row, expected) in rows.iter().zip(&mut expected).filter(|(row, _)| own.contains(row)) {
            let found: Vec<f32> = share.read((share.c, (row - own.start) * n * 4), n)?;
            for (found, [sum, absolute]) in found.into_iter().zip(part(expected, &cols)) {
                let of_bound = (f64::from(found) - *sum).abs() / (gamma(problem.k) * *absolute).max(f64::MIN_POSITIVE);
                // Written so that NaN is outside.
                let inside = of_bound <= 1.0;
                wrong += u64::from(!inside);
                worst = worst.max(of_bound);
            }
        }
    }
    let wrong = match () {
        () if strange > 0 => {
            Some(format!("{strange} rows of B were drawn on the GPUs with other elements than the host draws"))
        }
        () if nan > 0 => Some(format!("C has NaN, or was never written, in {nan} rows of blocks")),
        () => (wrong > 0).then(|| format!("{wrong} elements of {count} sampled rows are outside the error bound")),
    };
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Verdict { wrong, worst_bound_share: worst, rows: 0, sampled_rows: count as u64, seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_row_are_sampled() {
        assert_eq!((sample(1), sample(2), sample(3)), (vec![0], vec![0, 1], vec![0, 1, 2]));
        let rows = sample(32_768);
        assert_eq!((rows.len(), rows[0], rows[7]), (8, 0, 32_767));
    }
}
