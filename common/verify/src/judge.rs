//! Compares C element by element with the right product.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::reference::panel;
use super::rows::{Rows, each_panel, panel_rows, spread};
use crate::matrix::Operands;
use crate::mix::mix;
use crate::progress::Progress;
use plan::{Problem, Shape};

/// A wrong element of C.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mismatch {
    /// Row of C.
    pub row: u64,
    /// Column of C.
    pub col: u64,
    /// The value that the kernel left there; `null` for NaN or infinity.
    pub got: Option<f64>,
    /// The right value.
    pub expected: f64,
    /// Whether the memory was never written.
    pub unwritten: bool,
}

impl Mismatch {
    /// A sentence about the element, which is called `name`.
    pub fn words(&self, name: &str) -> String {
        match (self.unwritten, self.got) {
            (true, _) => format!("{name} was never written"),
            (false, Some(got)) => format!("{name} is {got}"),
            (false, None) => format!("{name} is NaN or infinite"),
        }
    }
}

/// Wrong elements shown to people.
const SHOWN: usize = 10;
/// Wrong elements kept for the diagnosis.
const SAMPLES: usize = 256;
/// Rows that are sampled if there is no time to check all.
const SAMPLED_ROWS: u64 = 16;
/// Suspect rows that are compared element by element.
const SUSPECTS: usize = 64;

/// Counts of the elements of one tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TileCount {
    pub compared: u64,
    pub wrong: u64,
    /// Elements with the bits of memory that was never written, among the wrong ones.
    pub unwritten: u64,
}

/// What was found in C, or in a row of it.
#[derive(Debug, Default)]
pub struct Found {
    /// Largest difference; infinite if one is NaN.
    pub max_error: f64,
    /// Largest difference as a share of its bound; infinite if one is NaN or should have been exact.
    pub worst_share: f64,
    pub compared: u64,
    pub wrong_elements: u64,
    /// Elements with the bits of memory that was never written, among the wrong ones.
    pub unwritten: u64,
    /// NaN among the wrong elements, not counting unwritten ones.
    pub nan: u64,
    pub first: Vec<Mismatch>,
    /// Wrong elements spread over C.
    pub samples: Vec<Mismatch>,
    /// Tiles with a wrong element, by column and row of tiles. Only rows with a wrong element are counted.
    pub tiles: BTreeMap<(u64, u64), TileCount>,
}

/// Compares these rows of C with the right product.
pub fn rows(
    problem: &Problem,
    operands: &Operands,
    shape: Shape,
    c: &mut Rows,
    mut rows: impl Iterator<Item = u64>,
) -> Result<Found> {
    let mut found = Found::default();
    let n = problem.n as usize;
    let progress = Progress::new("verifying, rows of C", rows.size_hint().0 as u64);
    loop {
        let chunk: Vec<u64> = rows.by_ref().take(panel_rows(problem) as usize).collect();
        let (Some(&first), Some(&last)) = (chunk.first(), chunk.last()) else { return Ok(found) };
        let mut words = vec![0_u32; chunk.len() * n];
        if last - first < chunk.len() as u64 {
            c(first, &mut words)?;
        } else {
            for (&row, words) in chunk.iter().zip(words.chunks_mut(n)) {
                c(row, words)?;
            }
        }
        let (expected, bound) = panel(problem, operands, &chunk)?;
        let judged = chunk.par_iter().enumerate().map(|(i, &row)| {
            let range = i * n..(i + 1) * n;
            let bound = bound.as_ref().map(|bound| &bound[range.clone()]);
            judge_row(problem, shape, row, &words[range.clone()], &expected[range], bound)
        });
        judged.collect::<Vec<Found>>().into_iter().for_each(|row| found.add(row));
        found.samples = spread(&found.samples, SAMPLES);
        progress.add(chunk.len() as u64);
    }
}

/// The rows that are checked if there is no time for all: the first, the last, and others spread at random.
pub fn sample_of_rows(problem: &Problem) -> BTreeSet<u64> {
    let stride = (problem.m / SAMPLED_ROWS).max(1);
    let inner = (0..problem.m).step_by(stride as usize).map(|first| {
        // A random row in each of 16 bands, so that they are not all at the same place of a tile.
        first + mix(problem.seed ^ first) % stride.min(problem.m - first)
    });
    inner.chain([0, problem.m - 1]).collect()
}

/// Rows with NaN, infinity or memory that was never written. Searches all of C and returns the first such rows and some others.
pub fn rows_with_nan(problem: &Problem, c: &mut Rows) -> Result<Vec<u64>> {
    let suspect = |word: &u32| !problem.dtype.value(*word).is_finite() || *word == problem.dtype.poison();
    let mut found = Vec::new();
    each_panel("looking for NaN, rows of C", problem, c, |first, words| {
        let rows = words.par_chunks(problem.n as usize).enumerate();
        found.par_extend(rows.filter(|(_, row)| row.iter().any(suspect)).map(|(row, _)| first + row as u64));
    })?;
    Ok(spread(&found, SUSPECTS))
}

impl Found {
    /// Adds the findings in the next row.
    fn add(&mut self, row: Self) {
        self.max_error = self.max_error.max(row.max_error);
        self.worst_share = self.worst_share.max(row.worst_share);
        self.compared += row.compared;
        self.wrong_elements += row.wrong_elements;
        self.unwritten += row.unwritten;
        self.nan += row.nan;
        for (place, count) in row.tiles {
            let tile = self.tiles.entry(place).or_default();
            tile.compared += count.compared;
            tile.wrong += count.wrong;
            tile.unwritten += count.unwritten;
        }
        self.first.extend(row.samples.iter().take(SHOWN.saturating_sub(self.first.len())));
        self.samples.extend(spread(&row.samples, 4));
    }
}

/// Compares a row. `first` stays empty; it is filled when rows are added up.
fn judge_row(
    problem: &Problem,
    shape: Shape,
    row: u64,
    words: &[u32],
    expected: &[f64],
    bound: Option<&[f32]>,
) -> Found {
    let mut found = Found { compared: words.len() as u64, ..Found::default() };
    let [width, height] = shape.tile.map(|edge| u64::from(edge.max(1)));
    let poison = problem.dtype.poison();
    for (tile, words) in words.chunks(width as usize).enumerate() {
        let mut count = TileCount { compared: words.len() as u64, ..TileCount::default() };
        for (col, &word) in (tile * width as usize..).zip(words) {
            let (got, expected) = (problem.dtype.value(word), expected[col]);
            let error = (got - expected).abs();
            let share = match bound {
                // If the bound is 0, every term is 0 and the sum must be 0 too.
                Some(bound) if bound[col] > 0.0 => error / f64::from(bound[col]),
                _ if error == 0.0 => 0.0,
                _ => f64::INFINITY,
            };
            // `max` ignores NaN.
            let or_infinite = |number: f64| if number.is_nan() { f64::INFINITY } else { number };
            found.max_error = found.max_error.max(or_infinite(error));
            found.worst_share = found.worst_share.max(or_infinite(share));
            // Written so that NaN is wrong.
            if share <= 1.0 {
                continue;
            }
            let unwritten = word == poison;
            count.wrong += 1;
            count.unwritten += u64::from(unwritten);
            found.wrong_elements += 1;
            found.nan += u64::from(got.is_nan() && !unwritten);
            if found.samples.len() == SAMPLES && found.wrong_elements.is_power_of_two() {
                // Keeps some later elements, ever more rarely, to show whether a row is wrong at both ends.
                found.samples.pop();
            }
            if found.samples.len() < SAMPLES {
                let (col, got) = (col as u64, got.is_finite().then_some(got));
                found.samples.push(Mismatch { row, col, got, expected, unwritten });
            }
        }
        if count.wrong > 0 {
            found.unwritten += count.unwritten;
            found.tiles.insert((tile as u64, row / height), count);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::right_product;
    use crate::rows::host_rows;
    use plan::{Dtype, Fill};

    const SHAPE: Shape = Shape { tile: [32, 32], tile_k: 32 };
    const NAN: u32 = f32::NAN.to_bits();
    const POISON: u32 = u32::MAX;

    fn problem(fill: Fill) -> Problem {
        Problem { m: 70, n: 45, k: 60, dtype: Dtype::F32, fill, seed: 9 }
    }

    /// Turns the right bits of an element into wrong ones.
    type Mistake<'a> = &'a dyn Fn(u32) -> u32;

    /// The findings in a right product with mistakes at these rows and columns.
    fn judged(fill: Fill, wrong: &[(usize, usize, Mistake)]) -> Found {
        let operands = Operands::new(&problem(fill)).unwrap();
        let mut words = right_product(&problem(fill), &operands).unwrap();
        for (row, col, value) in wrong {
            words[row * 45 + col] = value(words[row * 45 + col]);
        }
        rows(&problem(fill), &operands, SHAPE, &mut host_rows(&words, 45), 0..70).unwrap()
    }

    /// Adds `more` to an element.
    fn plus(more: f32) -> impl Fn(u32) -> u32 {
        move |word| (f32::from_bits(word) + more).to_bits()
    }

    fn places(found: &Found) -> Vec<(u64, u64, bool)> {
        found.first.iter().map(|wrong| (wrong.row, wrong.col, wrong.unwritten)).collect()
    }

    #[test]
    fn one_element_off_by_little_is_found_and_so_are_nan_infinity_and_unwritten_memory() {
        let cases: [(Mistake, bool); 4] =
            [(&plus(1e-3), false), (&|_| NAN, false), (&|_| f32::INFINITY.to_bits(), false), (&|_| POISON, true)];
        for (wrong, unwritten) in cases {
            let found = judged(Fill::Uniform, &[(17, 12, wrong)]);
            assert_eq!((found.wrong_elements, places(&found)), (1, vec![(17, 12, unwritten)]));
            assert!(found.worst_share > 1.0);
        }
        // An exact problem allows no difference at all.
        assert_eq!(judged(Fill::Integers, &[(0, 5, &plus(1.0))]).wrong_elements, 1);
    }

    #[test]
    fn tiles_count_what_was_compared_in_their_wrong_rows() {
        // Tile (1, 1) is 13 columns wide, and two of its rows are wrong; tile (0, 2) has one wrong row.
        let half = |_| 0.5_f32.to_bits();
        let found = judged(Fill::Integers, &[(40, 40, &half), (41, 44, &|_| POISON), (64, 31, &|_| NAN)]);
        assert_eq!((found.wrong_elements, found.unwritten, found.nan), (3, 1, 1));
        assert_eq!((found.max_error, found.worst_share), (f64::INFINITY, f64::INFINITY));
        assert_eq!(places(&found), [(40, 40, false), (41, 44, true), (64, 31, false)]);
        assert_eq!(found.samples.len(), 3);
        let tiles: Vec<((u64, u64), TileCount)> = found.tiles.into_iter().collect();
        let one = TileCount { compared: 32, wrong: 1, unwritten: 0 };
        let two = TileCount { compared: 26, wrong: 2, unwritten: 1 };
        assert_eq!(tiles, [((0, 2), one), ((1, 1), two)]);
    }

    #[test]
    fn the_largest_difference_is_that_of_the_worst_element() {
        let found = judged(Fill::Integers, &[(2, 10, &plus(3.0)), (44, 20, &plus(7.0)), (44, 21, &plus(2.0))]);
        assert_eq!((found.max_error, found.worst_share, found.wrong_elements), (7.0, f64::INFINITY, 3));
        // If every term is zero, only zero is right.
        let problem = Problem { m: 1, n: 2, k: 2, ..problem(Fill::Uniform) };
        for (words, wrong, max_error, worst_share) in [
            ([0.0, 4.25], 0, 0.25, 0.5),
            ([1e-30, 4.0], 1, f64::from(1e-30_f32), f64::INFINITY),
            ([0.0_f32, 5.0], 1, 1.0, 2.0),
        ] {
            let found = judge_row(&problem, SHAPE, 0, &words.map(f32::to_bits), &[0.0, 4.0], Some(&[0.0, 0.5]));
            assert_eq!((found.wrong_elements, found.max_error, found.worst_share), (wrong, max_error, worst_share));
        }
    }

    #[test]
    fn of_a_row_that_is_all_wrong_the_first_and_some_later_elements_are_kept() {
        let problem = Problem { m: 1, n: 600, k: 1, dtype: Dtype::I32, fill: Fill::Uniform, seed: 1 };
        let found = judge_row(&problem, SHAPE, 9, &[1; 600], &[0.0; 600], None);
        let cols: Vec<u64> = found.samples.iter().map(|mismatch| mismatch.col).collect();
        let expected: Vec<u64> = (0..255).chain([511]).collect();
        assert_eq!((found.wrong_elements, cols), (600, expected));
        assert!(found.samples.iter().all(|mismatch| mismatch.row == 9 && mismatch.got == Some(1.0)));
        assert_eq!(found.tiles.len(), 19);
        assert_eq!([0, 18].map(|tile| found.tiles[&(tile, 0)].wrong), [32, 24]);
    }

    #[test]
    fn sampled_rows_lie_in_every_band_at_other_places() {
        let problem = |m, seed| Problem { m, seed, ..problem(Fill::Uniform) };
        assert!(sample_of_rows(&problem(10, 1)).into_iter().eq(0..10));
        for seed in [0, 1, 2, 3, 4, 5, 6, 7, u64::MAX] {
            let rows = sample_of_rows(&problem(1000, seed));
            assert!(rows.len() <= 19 && rows.contains(&0) && rows.contains(&999), "{rows:?}");
            // There are 16 bands of 62 rows; the first and the last row are sampled as well.
            let places: BTreeSet<u64> = rows.range(1..999).map(|row| row % 62).collect();
            assert!(places.len() > 4, "{rows:?}");
            for band in 0..16 {
                assert!(rows.iter().any(|row| row / 62 == band), "no row of band {band}: {rows:?}");
            }
        }
    }
}
