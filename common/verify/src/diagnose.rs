//! What a wrong product looks like: how much of it is wrong, and where. The simulator finds out why, by following its values.

use std::ops::Range;

use super::judge::{Found, Mismatch};
use super::reference::gamma;
use crate::matrix::Operands;
use plan::{Problem, Shape};

/// Edge of the map, in cells.
const MAP_CELLS: u64 = 16;

/// A coarse map of C, in lines: which of its regions hold wrong elements.
pub fn map(problem: &Problem, shape: Shape, found: &Found) -> String {
    let tiles =
        [problem.n.div_ceil(u64::from(shape.tile[0].max(1))), problem.m.div_ceil(u64::from(shape.tile[1].max(1)))];
    let per_cell = tiles.map(|tiles| tiles.div_ceil(MAP_CELLS));
    let cells = [tiles[0].div_ceil(per_cell[0]), tiles[1].div_ceil(per_cell[1])];
    let mut rows = vec![vec!['.'; cells[0] as usize]; cells[1] as usize];
    for (&(x, y), count) in &found.tiles {
        let cell = &mut rows[(y / per_cell[1]) as usize][(x / per_cell[0]) as usize];
        let mark = match () {
            () if count.unwritten == count.wrong => 'u',
            () if count.wrong == count.compared => '#',
            () => 'x',
        };
        *cell = if *cell == '.' || *cell == mark { mark } else { 'x' };
    }
    let [x, y] = [per_cell[0] * u64::from(shape.tile[0]), per_cell[1] * u64::from(shape.tile[1])];
    let row = |row: Vec<char>| row.into_iter().flat_map(|cell| [' ', cell]).chain(['\n']);
    let rows: String = rows.into_iter().flat_map(|cells| [' '].into_iter().chain(row(cells))).collect();
    format!(
        "{rows}  one mark for {x} columns × {y} rows of C:\n  . right or not looked at, x some wrong, # all wrong, u never written\n"
    )
}

/// The diagnosis of a wrong product: how many elements are wrong, a colon, and what is known of them. Also returns whether the
/// elements themselves tell the cause; if not, the simulator's search for hazards may.
pub fn diagnose(problem: &Problem, operands: &Operands, shape: Shape, found: &Found) -> (String, bool) {
    let wrong = found.wrong_elements;
    let count = format!("{wrong} of {} elements looked at are wrong", found.compared);
    let certain = |text: String| (text, true);
    let guess = |text: String| (text, false);
    if wrong == found.compared && found.unwritten == wrong {
        return certain("C was never written; check that the kernel stores to C and that the grid covers it".into());
    }
    if found.nan * 2 > wrong {
        return guess(format!(
            "{count}, {} of them NaN: the kernel computes with memory that was never set, in C itself, in shared memory or in a register",
            found.nan
        ));
    }
    if found.unwritten == wrong {
        return guess(format!(
            "{count}: they were never written; {}; check the grid and the bounds of the store",
            place(problem, shape, found)
        ));
    }
    let cause = part_of_k(problem, operands, shape, &found.samples).or_else(|| factor(problem.k, &found.samples));
    if let Some(words) = cause {
        return certain(format!("{count}: {words}"));
    }
    if is_rounding(problem, found) {
        return certain(format!(
            "{count}: they are close, at most {:.1} times the rounding error that float32 sums may have; is something computed in lower precision?",
            found.worst_share
        ));
    }
    guess(format!("{count}: {}", place(problem, shape, found)))
}

/// Bits in the significand of an `f32`, and of narrower types, to which a kernel may round what it multiplies.
const F32: u32 = 24;
const TF32: u32 = 11;
const BF16: u32 = 8;

/// The nearest number whose significand has `bits` bits.
fn rounded(x: f32, bits: u32) -> f64 {
    let cut = F32 - bits;
    f64::from(f32::from_bits((x.to_bits() + (1 << cut >> 1)) >> cut << cut))
}

/// Words for wrong elements that equal the sum over a part of K, the sum times a factor, or a sum of rounded elements. The
/// simulator cannot follow the values in tensor cores, which hide the elements that they multiply.
fn part_of_k(problem: &Problem, operands: &Operands, shape: Shape, samples: &[Mismatch]) -> Option<String> {
    let Operands::F32 { a, b } = operands else { return None };
    let (n, k, tile) = (problem.n, problem.k, u64::from(shape.tile_k.max(1)));
    let (first, last) = (tile.min(k), (k - 1) / tile * tile);
    // Words, the part of K, the factor, and the bits of A and B.
    let parts = [
        ("the last K tile is missing; check how often the loop over K runs", 0..last, 1.0, [F32; 2]),
        ("the first K tile is missing; check where the loop over K starts", first..k, 1.0, [F32; 2]),
        ("only the first K tile is summed; check that the loop over K goes on", 0..first, 1.0, [F32; 2]),
        ("only the last K tile is summed; set the sum to 0 once, before the loop over K", last..k, 1.0, [F32; 2]),
        ("they are twice the product; each term is counted twice, or added to what was there", 0..k, 2.0, [F32; 2]),
        ("they have the wrong sign", 0..k, -1.0, [F32; 2]),
        (ROUNDED_BOTH, 0..k, 1.0, [TF32; 2]),
        (ROUNDED_A, 0..k, 1.0, [TF32, F32]),
        (ROUNDED_B, 0..k, 1.0, [F32, TF32]),
        (ROUNDED_TO_BF16, 0..k, 1.0, [BF16; 2]),
    ];
    let term = |sample: &Mismatch, i: u64, bits: [u32; 2]| {
        let (of_a, of_b) = (a[(sample.row * k + i) as usize], b[(i * n + sample.col) as usize]);
        rounded(of_a, bits[0]) * rounded(of_b, bits[1])
    };
    let fits = |sample: &Mismatch, over: Range<u64>, factor: f64, bits| {
        let magnitude: f64 = (0..k).map(|i| term(sample, i, [F32; 2]).abs()).sum();
        let sum: f64 = over.map(|i| term(sample, i, bits)).sum();
        sample.got.is_some_and(|got| (got - factor * sum).abs() <= 2.0 * gamma(k) * magnitude)
    };
    let explains = |over: &Range<u64>, factor, bits| {
        !over.is_empty() && !samples.is_empty() && samples.iter().all(|sample| fits(sample, over.clone(), factor, bits))
    };
    let part = parts.iter().find(|(_, over, factor, bits)| explains(over, *factor, *bits));
    part.map(|(words, ..)| (*words).to_owned())
}

const ROUNDED_BOTH: &str =
    "they are products of A and B rounded to 11 bits, as FP16 and TF32 keep them; add what that takes from both";
const ROUNDED_A: &str =
    "they are products of A rounded to 11 bits, as FP16 and TF32 keep them; add what that takes from A";
const ROUNDED_B: &str =
    "they are products of B rounded to 11 bits, as FP16 and TF32 keep them; add what that takes from B";
const ROUNDED_TO_BF16: &str =
    "they are products of A and B rounded to 8 bits, as BF16 keeps them; add what that takes from both";

/// Words for wrong elements that all differ from the right ones by the same factor. Each is a sum of `k` products.
pub fn factor(k: u64, samples: &[Mismatch]) -> Option<String> {
    let ratio = |sample: &Mismatch| sample.got.map(|got| got / sample.expected);
    let ratios: Vec<f64> = samples.iter().map(ratio).collect::<Option<_>>()?;
    let first = *ratios.first()?;
    let alike = |x: f64, y: f64| (x - y).abs() <= 1e-3 * y.abs();
    let enough = ratios.len() >= if first == 0.0 { 1 } else { 3 };
    if !enough || !first.is_finite() || alike(first, 1.0) || !ratios.iter().all(|&ratio| alike(ratio, first)) {
        return None;
    }
    Some(match () {
        () if first == 0.0 => "they are 0; check what is done to a sum before it is stored".into(),
        () if alike(first, 1.0 / k as f64) => "they are divided by K; C is the sum, and no mean".into(),
        () => format!("each is {first:.4} times what it should be; check what is done to a sum before it is stored"),
    })
}

/// Whether the errors are as small as those of a product in lower precision. Its rounding errors partly cancel each other, so they
/// grow with the square root of K. A missing or wrong term causes a larger error.
fn is_rounding(problem: &Problem, found: &Found) -> bool {
    /// The rounding error of bfloat16, the coarsest type that is likely, with room for the worst of many elements.
    const COARSEST: f64 = 8.0 / 512.0;
    let relative = found.worst_share * gamma(problem.k);
    relative.is_finite() && relative < COARSEST / (problem.k as f64).sqrt()
}

/// Words for where the wrong elements are, if their values tell nothing.
fn place(problem: &Problem, shape: Shape, found: &Found) -> String {
    let [tile_x, tile_y] = shape.tile.map(|edge| u64::from(edge.max(1)));
    let (last_x, last_y) = ((problem.n - 1) / tile_x, (problem.m - 1) / tile_y);
    let all = |test: &dyn Fn(&(u64, u64)) -> bool| found.tiles.keys().all(test);
    let ragged = |size: u64, edge: u64| {
        if size.is_multiple_of(edge) { "" } else { ", which sticks out of C: check the edge handling" }
    };
    match () {
        () if found.tiles.len() == 1 => {
            let (x, y) = found.tiles.keys().next().copied().unwrap_or_default();
            format!("they lie in tile ({x},{y}) alone")
        }
        () if all(&|&(x, _)| x == last_x) => {
            format!("they lie in the last column of tiles{}", ragged(problem.n, tile_x))
        }
        () if all(&|&(_, y)| y == last_y) => format!("they lie in the last row of tiles{}", ragged(problem.m, tile_y)),
        () if all(&|&(x, y)| x == last_x || y == last_y) => {
            "they lie in the last column and the last row of tiles: check the edge handling".into()
        }
        () => format!("they lie in {} tiles", found.tiles.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::judge::TileCount;
    use super::*;
    use plan::{Dtype, Fill};

    const SHAPE: Shape = Shape { tile: [32, 32], tile_k: 32 };

    /// A problem whose C has 3 × 5 tiles. If `ragged` is 1, the last tiles of each row and column are partial.
    fn problem(ragged: u64) -> Problem {
        Problem { m: 96 - ragged, n: 160 - ragged, k: 64, dtype: Dtype::F32, fill: Fill::Uniform, seed: 4 }
    }

    fn count(compared: u64, wrong: u64, unwritten: u64) -> TileCount {
        TileCount { compared, wrong, unwritten }
    }

    /// In each of these tiles, 10 of 20 elements are wrong and none is unwritten.
    fn wrong_tiles(tiles: &[(u64, u64)]) -> Found {
        Found {
            worst_share: f64::INFINITY,
            compared: 1000,
            wrong_elements: 10 * tiles.len() as u64,
            tiles: tiles.iter().map(|&tile| (tile, count(20, 10, 0))).collect(),
            ..Found::default()
        }
    }

    #[test]
    fn the_map_has_a_mark_for_each_kind_of_tile_and_a_cell_shows_what_its_tiles_share() {
        let drawn = |problem: &Problem, tiles: &[((u64, u64), TileCount)]| -> Vec<String> {
            let found = Found { tiles: tiles.iter().copied().collect(), ..wrong_tiles(&[]) };
            map(problem, SHAPE, &found).lines().map(str::to_owned).collect()
        };
        let (all, some, unwritten) = (count(9, 9, 0), count(20, 10, 0), count(9, 9, 9));
        let tiles = [((0, 0), all), ((1, 0), unwritten), ((2, 1), some), ((4, 2), some)];
        let lines = drawn(&problem(1), &tiles);
        assert_eq!(lines[..3], ["  # u . . .", "  . . x . .", "  . . . . x"]);
        assert!(lines[3].starts_with("  one mark for 32 columns × 32 rows of C"), "{lines:?}");
        // 40 columns of tiles, three per cell, and 20 rows, two per cell. Tile (6, 2) is the first of its cell.
        let tiles = [((0, 0), all), ((2, 1), all), ((3, 0), all), ((6, 2), all)];
        let never = [((4, 0), unwritten), ((39, 19), unwritten), ((38, 18), unwritten)];
        let lines = drawn(&Problem { m: 20 * 32, n: 40 * 32, ..problem(0) }, &[&tiles[..], &never[..]].concat());
        assert_eq!(lines.len(), 12);
        assert_eq!(lines[..2], ["  # x . . . . . . . . . . . .", "  . . # . . . . . . . . . . ."]);
        assert_eq!(lines[9], "  . . . . . . . . . . . . u u");
        assert!(lines[10].starts_with("  one mark for 96 columns × 64 rows of C"), "{lines:?}");
    }

    #[test]
    fn wrong_tiles_are_placed_in_a_few_words() {
        const COLUMN: &str = "they lie in the last column of tiles";
        const ROW: &str = "they lie in the last row of tiles";
        const OUT: &str = ", which sticks out of C: check the edge handling";
        type Tiles = &'static [(u64, u64)];
        let cases: [(u64, Tiles, &str); 7] = [
            (0, &[(3, 1)], "they lie in tile (3,1) alone"),
            (0, &[(4, 0), (4, 1)], COLUMN),
            (1, &[(4, 0), (4, 2)], &format!("{COLUMN}{OUT}")),
            (0, &[(0, 2), (1, 2)], ROW),
            (1, &[(0, 2), (4, 2)], &format!("{ROW}{OUT}")),
            (0, &[(0, 2), (4, 0)], "they lie in the last column and the last row of tiles: check the edge handling"),
            (0, &[(0, 2), (4, 0), (1, 1)], "they lie in 3 tiles"),
        ];
        for (ragged, tiles, words) in cases {
            assert_eq!(place(&problem(ragged), SHAPE, &wrong_tiles(tiles)), words);
        }
    }

    #[test]
    fn what_was_never_written_is_said_first_then_nan_then_rounding_errors_and_else_the_place() {
        const PLACE: &str = "wrong: they lie in tile (3,1) alone";
        let found = || wrong_tiles(&[(3, 1)]);
        let never = |compared, unwritten| Found { compared, unwritten, ..found() };
        let nan = |nan| Found { nan, ..found() };
        let close = |worst_share| Found { worst_share, ..found() };
        // 1/64 of the sum of the absolute values over the root of K, in units of gamma(64).
        let limit = 1.0 / 64.0 / 8.0 / gamma(64);
        for (found, words) in [
            (never(10, 10), "C was never written; check that the kernel stores"),
            (
                never(11, 10),
                "they were never written; they lie in tile (3,1) alone; check the grid and the bounds of the store",
            ),
            (never(10, 9), PLACE),
            (nan(6), "10 of 1000 elements looked at are wrong, 6 of them NaN: the kernel"),
            (nan(5), PLACE),
            (nan(0), PLACE),
            (close(2.5), "wrong: they are close, at most 2.5 times the rounding error"),
            (close(limit * 0.999), "wrong: they are close"),
            (close(limit * 1.001), PLACE),
            (close(f64::INFINITY), PLACE),
            (close(f64::NAN), PLACE),
        ] {
            let said = diagnose(&problem(0), &Operands::F32 { a: vec![], b: vec![] }, SHAPE, &found).0;
            assert!(said.contains(words) && (words != PLACE || said.ends_with(PLACE)), "{words}: {said}");
        }
    }
}
