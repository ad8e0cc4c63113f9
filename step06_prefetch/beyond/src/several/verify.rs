//! Is C the product, when no machine holds all of it? Each GPU checks its part where it lies, and the ranks add up small
//! vectors.
//!
//! Freivalds' check compares C·x with A·(B·x) for random x, modulo 2⁶⁴: exact for an integer twin of the problem, and a wrong
//! row passes both vectors with a probability of at most 2⁻⁶⁴. For the problem itself, whole rows are computed in double
//! precision, and every element is looked at for NaN.

use std::time::Instant;

use anyhow::Result;
use bytemuck::{cast_slice, cast_slice_mut};
use common::basics::matrix::Side;
use common::basics::mix::mix;
use common::device::{Buffer, Device};
use common::verify::gamma;
use serde::{Deserialize, Serialize};

use super::grid::Line;
use super::kernels::Kernels;
use super::multiply::{Memory, Share};
use super::post::Member;

/// Random vectors of Freivalds' check.
const VECTORS: u64 = 2;
/// Rows of C that are computed in double precision.
const SAMPLES: u64 = 8;
/// Flags of `check.cu`: an element that is no integer of a sum, and one that is NaN.
const NO_INTEGER: i32 = 1;
const NAN: i32 = 2;

/// What a check has found; the same on every rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What is wrong, in a sentence; none if nothing is.
    pub wrong: Option<String>,
    /// Largest difference of the sampled rows as a share of its bound.
    pub worst_bound_share: f64,
    /// Rows of the twin that Freivalds' check has looked at: all.
    pub rows: u64,
    /// Rows that were compared with double precision.
    pub sampled_rows: u64,
    /// Seconds that it took.
    pub seconds: f64,
}

/// Memory for one vector of words and what comes out, freed when the check ends.
struct Scratch<'a> {
    device: &'a mut dyn Device,
    kernels: &'a Kernels,
}

impl Scratch<'_> {
    fn with<T>(&mut self, bytes: u64, use_it: impl FnOnce(&mut Self, Buffer) -> Result<T>) -> Result<T> {
        let buffer = self.device.alloc("scratch", bytes.max(8))?;
        let result = use_it(self, buffer)?;
        self.device.free(buffer)?;
        Ok(result)
    }

    /// A matrix of this device times x, and the flags of all its rows together.
    fn times(&mut self, matrix: (Buffer, u64), [rows, cols]: [u64; 2], x: &[u64]) -> Result<(Vec<u64>, Vec<i32>)> {
        let [x_bytes, sums_bytes] = [cols * 8, rows * 8];
        self.with(x_bytes + sums_bytes + rows * 4, |this, buffer| {
            this.device.write(buffer, 0, cast_slice(x))?;
            let [sums_at, odd_at] = [x_bytes, x_bytes + sums_bytes];
            let places = [0, sums_at, odd_at].map(|at| (buffer, at));
            this.kernels.rows_times(this.device, matrix, [rows, cols], places)?;
            let mut sums = vec![0_u64; rows as usize];
            let mut odd = vec![0_i32; rows as usize];
            this.device.read(buffer, sums_at, cast_slice_mut(&mut sums))?;
            this.device.read(buffer, odd_at, cast_slice_mut(&mut odd))?;
            Ok((sums, odd))
        })
    }
}

/// Adds up, element by element and modulo 2⁶⁴, what all ranks have.
fn sum_of_all(member: &mut Member, own: &[u64]) -> Result<Vec<u64>> {
    let mut total = vec![0_u64; own.len()];
    for one in member.exchange(own)? {
        total.iter_mut().zip(one).for_each(|(total, one)| *total = total.wrapping_add(one));
    }
    Ok(total)
}

/// Freivalds' check of a problem filled with integers, whose product lies in the shares.
pub fn freivalds(
    device: &mut dyn Device,
    member: &mut Member,
    kernels: &Kernels,
    share: &Share,
    memory: &Memory,
) -> Result<Verdict> {
    let begin = Instant::now();
    let problem = &share.problem;
    let mut scratch = Scratch { device, kernels };
    // The clock of rank 0 gives the vectors, so that no kernel can be right for these only.
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = mix(member.exchange(&[clock.map_or(0, |now| now.as_nanos() as u64)])?[0][0]);
    let mut wrong_rows = vec![false; problem.m as usize];
    for vector in 0..VECTORS {
        let seed = mix(seed ^ vector);
        let x: Vec<u64> = share.cols.clone().map(|col| mix(seed ^ col)).collect();
        // y = B·x: each rank has some panels of some columns.
        let mut y = vec![0_u64; problem.k as usize];
        for panel in share.panels.own(Line::Column, share.rank) {
            let k = share.panels.panels[panel].k.clone();
            let matrix = memory.panel(share, Line::Column, panel);
            let (sums, _) = scratch.times(matrix, [k.end - k.start, share.n()], &x)?;
            y[k.start as usize..k.end as usize].copy_from_slice(&sums);
        }
        let y = sum_of_all(member, &y)?;
        // A·y − C·x must be 0 in every row; each rank has some panels of A, and a block of C.
        let mut rest = vec![0_u64; problem.m as usize];
        let own = &mut rest[share.rows.start as usize..share.rows.end as usize];
        for panel in share.panels.own(Line::Row, share.rank) {
            let k = share.panels.panels[panel].k.clone();
            let matrix = memory.panel(share, Line::Row, panel);
            let y = &y[k.start as usize..k.end as usize];
            let (sums, _) = scratch.times(matrix, [share.m(), k.end - k.start], y)?;
            own.iter_mut().zip(sums).for_each(|(rest, sum)| *rest = rest.wrapping_add(sum));
        }
        let (sums, odd) = scratch.times((memory.c(), 0), [share.m(), share.n()], &x)?;
        own.iter_mut().zip(&sums).for_each(|(rest, sum)| *rest = rest.wrapping_sub(*sum));
        let mut flags = vec![0_u64; problem.m as usize];
        for (row, flag) in (share.rows.start..).zip(odd) {
            flags[row as usize] = u64::from(flag & NO_INTEGER != 0);
        }
        let (rest, flags) = (sum_of_all(member, &rest)?, sum_of_all(member, &flags)?);
        for (wrong, (rest, flags)) in wrong_rows.iter_mut().zip(rest.into_iter().zip(flags)) {
            *wrong |= rest != 0 || flags != 0;
        }
    }
    let count = wrong_rows.iter().filter(|&&wrong| wrong).count();
    let wrong = wrong_rows.iter().position(|&wrong| wrong).map(|first| {
        format!(
            "Freivalds' check of the integer twin finds {count} of {} rows of C wrong, the first is {first}",
            problem.m
        )
    });
    Ok(Verdict { wrong, rows: problem.m, seconds: begin.elapsed().as_secs_f64(), ..Verdict::default() })
}

/// Rows spread over C: the first, the last, and others between.
fn sample(m: u64) -> Vec<u64> {
    let samples = SAMPLES.min(m);
    let mut rows: Vec<u64> = (0..samples).map(|i| i * (m - 1) / samples.saturating_sub(1).max(1)).collect();
    rows.dedup();
    rows
}

/// Compares sampled rows of a uniform problem with double precision, looks for NaN everywhere, and at the drawn operands.
pub fn sampled(
    device: &mut dyn Device,
    member: &mut Member,
    kernels: &Kernels,
    share: &Share,
    memory: &Memory,
) -> Result<Verdict> {
    let begin = Instant::now();
    let problem = &share.problem;
    let (m, n) = (share.m(), share.n());
    let rows = sample(problem.m);
    let count = rows.len() as u64;
    let mut scratch = Scratch { device, kernels };
    let zeros = vec![0_u64; n as usize];
    let (_, odd) = scratch.times((memory.c(), 0), [m, n], &zeros)?;
    let nan_rows = odd.iter().filter(|&&flag| flag & NAN != 0).count() as u64;
    // This rank's panels of B, times the rows of A, which the host draws.
    let mut parts = vec![0.0_f64; 2 * (count * n) as usize];
    let mut strange = 0_u64;
    for panel in share.panels.own(Line::Column, share.rank) {
        let k = share.panels.panels[panel].k.clone();
        let depth = k.end - k.start;
        let a: Vec<f32> =
            rows.iter().flat_map(|row| Side::A.part(problem, row * problem.k + k.start, depth as usize)).collect();
        let b = memory.panel(share, Line::Column, panel);
        let sums_at = (count * depth * 4).next_multiple_of(16);
        let absolutes_at = sums_at + count * n * 8;
        let mut found = vec![0.0_f64; 2 * (count * n) as usize];
        scratch.with(absolutes_at + count * n * 8, |this, buffer| {
            this.device.fill(buffer, 0)?;
            this.device.write(buffer, 0, cast_slice(&a))?;
            let places = [(buffer, 0), b, (buffer, sums_at), (buffer, absolutes_at)];
            this.kernels.sampled_rows(this.device, places, [count, n, depth])?;
            this.device.read(buffer, sums_at, cast_slice_mut(&mut found))
        })?;
        parts.iter_mut().zip(found).for_each(|(part, found)| *part += found);
        // The first and the last row of the panel are those that the host draws.
        for row in [0, depth - 1] {
            let mut drawn = vec![0.0_f32; n as usize];
            scratch.device.read(b.0, b.1 + row * n * 4, cast_slice_mut(&mut drawn))?;
            let expected = Side::B.part(problem, (k.start + row) * problem.n + share.cols.start, n as usize);
            strange += u64::from(drawn != expected);
        }
    }
    // The sampled rows of C that lie in this rank's block.
    let mut c = vec![0.0_f32; (count * n) as usize];
    for (row, to) in rows.iter().zip(c.chunks_exact_mut(n as usize)) {
        if share.rows.contains(row) {
            scratch.device.read(memory.c(), (row - share.rows.start) * n * 4, cast_slice_mut(to))?;
        }
    }
    let found = Found {
        counts: sum_of_all(member, &[nan_rows, strange])?,
        parts: member.exchange(&parts)?,
        c: member.exchange(&c)?,
    };
    let mut verdict = Verdict { sampled_rows: count, ..judge(share, &rows, &found)? };
    verdict.seconds = begin.elapsed().as_secs_f64();
    Ok(verdict)
}

/// What all ranks have found.
struct Found {
    /// Rows of blocks with NaN, and rows of B that are not those of the host.
    counts: Vec<u64>,
    /// For each rank the sums of its panels, element by element of the sampled rows, and those of their absolute values.
    parts: Vec<Vec<f64>>,
    /// For each rank its elements of the sampled rows of C.
    c: Vec<Vec<f32>>,
}

/// Compares what all ranks have found; every rank does the same.
fn judge(share: &Share, rows: &[u64], all: &Found) -> Result<Verdict> {
    let grid = share.panels.grid;
    let problem = &share.problem;
    let count = rows.len();
    let gamma = gamma(problem.k);
    let mut verdict = Verdict::default();
    let [nan, strange] = [all.counts[0], all.counts[1]];
    let mut wrong = 0_u64;
    for (rank, c) in all.c.iter().enumerate() {
        let (own_rows, cols) = grid.block(rank, problem.m, problem.n)?;
        let n = (cols.end - cols.start) as usize;
        for (s, _) in rows.iter().enumerate().filter(|(_, row)| own_rows.contains(row)) {
            for col in 0..n {
                let (mut expected, mut absolute) = (0.0, 0.0);
                for other in grid.line(Line::Column, rank) {
                    expected += all.parts[other][s * n + col];
                    absolute += all.parts[other][(count + s) * n + col];
                }
                let share_of_bound =
                    (f64::from(c[s * n + col]) - expected).abs() / (gamma * absolute).max(f64::MIN_POSITIVE);
                // NaN is not inside.
                let inside = share_of_bound <= 1.0;
                wrong += u64::from(!inside);
                verdict.worst_bound_share = verdict.worst_bound_share.max(share_of_bound);
            }
        }
    }
    verdict.wrong = if strange > 0 {
        Some(format!("{strange} rows of B were drawn on the GPUs with other elements than the host draws"))
    } else if nan > 0 {
        Some(format!("C has NaN, or was never written, in {nan} rows of blocks"))
    } else {
        (wrong > 0).then(|| format!("{wrong} elements of {count} sampled rows are outside the error bound"))
    };
    Ok(verdict)
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
