//! What a wrong product looks like: the commonest mistakes, each tried on a sample of the wrong elements.

use std::fmt;
use std::ops::Range;

use super::judge::{Found, Mismatch};
use super::reference::gamma;
use crate::matrix::Operands;
use crate::plan::Shape;
use crate::problem::{Dtype, Problem};

/// Edge of the map, in cells.
const MAP_CELLS: u64 = 16;
/// Share of the sampled elements that a cause must explain.
const EXPLAINED: f64 = 0.9;

/// A coarse map of C: which of its regions hold wrong elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileMap {
    rows: Vec<String>,
    legend: String,
}

impl fmt::Display for TileMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            writeln!(f, "  {row}")?;
        }
        write!(f, "  {}", self.legend)
    }
}

/// Draws the map.
pub fn map(problem: &Problem, shape: Shape, found: &Found) -> TileMap {
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
    let row = |row: Vec<char>| row.into_iter().flat_map(|cell| [cell, ' ']).collect::<String>().trim_end().to_owned();
    TileMap {
        rows: rows.into_iter().map(row).collect(),
        legend: format!(
            "one mark for {x} columns × {y} rows of C: . right or not looked at, x some wrong, # all wrong, u never written"
        ),
    }
}

/// The most likely cause in one sentence.
pub fn diagnose(problem: &Problem, operands: &Operands, shape: Shape, found: &Found) -> String {
    let wrong = found.wrong_elements;
    let count = format!("{wrong} of {} elements looked at are wrong", found.compared);
    if wrong == found.compared && found.unwritten == wrong {
        return "C was never written; check that the kernel stores to C and that the grid covers it".into();
    }
    if found.nan * 2 > wrong {
        return format!(
            "{count} and {} of them are NaN; the kernel computes with memory that was never set: C itself, or shared memory or a register before it is written",
            found.nan
        );
    }
    if found.unwritten == wrong {
        return format!("{count}: {}; check the grid and the bounds of the store", unwritten(problem, shape, found));
    }
    let samples: Vec<&Mismatch> = found.samples.iter().filter(|sample| !sample.unwritten).collect();
    for cause in causes(problem, shape) {
        let explained = samples.iter().filter(|sample| cause.explains(problem, operands, sample)).count();
        if explained > 0 && explained as f64 >= EXPLAINED * samples.len() as f64 {
            return format!("{count}: {}", cause.words);
        }
    }
    format!("{count}: {}", place(problem, shape, found))
}

/// Which tiles were never written.
fn unwritten(problem: &Problem, shape: Shape, found: &Found) -> String {
    let whole: Vec<(u64, u64)> =
        found.tiles.iter().filter(|(_, count)| count.unwritten == count.compared).map(|(&tile, _)| tile).collect();
    match (whole.as_slice(), whole.len() == found.tiles.len()) {
        ([(x, y)], true) => format!("tile ({x},{y}) was never written"),
        ([(x, y), .., last], true) => {
            format!("{} tiles were never written, from tile ({x},{y}) to tile ({},{})", whole.len(), last.0, last.1)
        }
        _ => format!("they were never written; {}", place(problem, shape, found)),
    }
}

/// Where the wrong elements are, where nothing is known of their values.
fn place(problem: &Problem, shape: Shape, found: &Found) -> String {
    let [tile_x, tile_y] = shape.tile.map(|edge| u64::from(edge.max(1)));
    let (last_x, last_y) = ((problem.n - 1) / tile_x, (problem.m - 1) / tile_y);
    let all = |test: &dyn Fn(&(u64, u64)) -> bool| found.tiles.keys().all(test);
    let ragged = |size: u64, edge: u64| {
        if size.is_multiple_of(edge) { "" } else { ", which sticks out of C: check the edge handling" }
    };
    if found.worst_share.is_finite() && found.worst_share < 1e3 {
        return format!(
            "they are close, at most {:.1} times the rounding error that float32 sums may have; is something computed in lower precision, or the last element of a sum missing?",
            found.worst_share
        );
    }
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
        () => format!(
            "they lie in {} tiles; run with --device sim --check to look for races and accesses out of bounds",
            found.tiles.len()
        ),
    }
}

/// What a mistake leaves in the element of a row and a column; `None` where it cannot be.
type Value = Box<dyn Fn(&Access, u64, u64) -> Option<f64>>;

struct Cause {
    words: String,
    value: Value,
}

impl Cause {
    fn explains(&self, problem: &Problem, operands: &Operands, sample: &Mismatch) -> bool {
        let access = Access { problem, operands };
        let (Some(got), Some(value)) = (sample.got, (self.value)(&access, sample.row, sample.col)) else {
            return false;
        };
        // Rounding of the sum; K terms of absolute value up to 1, or exact.
        let tolerance = match operands {
            Operands::F32 { .. } => gamma(problem.k) * access.magnitude(sample.row, sample.col),
            Operands::I32 { .. } => 0.0,
        };
        (got - value).abs() <= tolerance
    }
}

/// Elements and sums by index; `None` outside the matrices.
struct Access<'a> {
    problem: &'a Problem,
    operands: &'a Operands,
}

impl Access<'_> {
    /// Σ A[a(k)]·B[b(k)] over `range`, as linear indices.
    fn sum(&self, range: Range<u64>, a: impl Fn(u64) -> u64, b: impl Fn(u64) -> u64) -> Option<f64> {
        let (limit_a, limit_b) = (self.problem.a_elements(), self.problem.b_elements());
        let mut exact = 0_i64;
        let mut sum = 0.0;
        for k in range {
            let (a, b) = (a(k), b(k));
            if a >= limit_a || b >= limit_b {
                return None;
            }
            match self.operands {
                Operands::F32 { a: x, b: y } => sum += f64::from(x[a as usize]) * f64::from(y[b as usize]),
                Operands::I32 { a: x, b: y } => {
                    exact = exact.wrapping_add(i64::from(x[a as usize].0).wrapping_mul(i64::from(y[b as usize].0)));
                }
            }
        }
        Some(if self.problem.dtype == Dtype::I32 { f64::from(exact as i32) } else { sum })
    }

    /// The right element, over a range of K.
    fn element(&self, row: u64, col: u64, range: Range<u64>) -> Option<f64> {
        let (n, k) = (self.problem.n, self.problem.k);
        if row >= self.problem.m || col >= n {
            return None;
        }
        self.sum(range, |i| row * k + i, |i| i * n + col)
    }

    /// Sum of the absolute values of an element's terms, at most.
    fn magnitude(&self, row: u64, col: u64) -> f64 {
        let (n, k) = (self.problem.n, self.problem.k);
        let Operands::F32 { a, b } = self.operands else { return 0.0 };
        // Causes read other elements than the right ones; uniform values are at most 1, others scale with these.
        let terms =
            (0..k).map(|i| f64::from(a[(row * k + i) as usize]).abs() * f64::from(b[(i * n + col) as usize]).abs());
        2.0 * terms.sum::<f64>()
    }
}

/// The mistakes that are tried, the likeliest first.
fn causes(problem: &Problem, shape: Shape) -> Vec<Cause> {
    let Problem { m, n, k, .. } = *problem;
    let tile_k = u64::from(shape.tile_k.max(1));
    let last_tile = (k - 1) / tile_k * tile_k;
    let mut causes: Vec<Cause> = Vec::new();
    let mut add = |words: &str, value: Value| causes.push(Cause { words: words.to_owned(), value });
    add("they are 0; the sum is never formed, or C was cleared and not written", Box::new(|_, _, _| Some(0.0)));
    add(
        "C equals its transpose; rows and columns are swapped where the kernel stores to C, or the axes of the grid are",
        Box::new(move |access, row, col| {
            let place = row * n + col;
            access.element(place % m, place / m, 0..k)
        }),
    );
    add(
        "the operands are swapped; C holds B·A",
        Box::new(move |access, row, col| {
            let square = m == n && n == k;
            square.then(|| access.sum(0..k, |i| i * n + col, |i| row * k + i)).flatten()
        }),
    );
    add(
        "A is read transposed; its element (row, k) is A[row * K + k]",
        Box::new(move |access, row, col| access.sum(0..k, |i| i * m + row, |i| i * n + col)),
    );
    add(
        "B is read transposed; its element (k, col) is B[k * N + col]",
        Box::new(move |access, row, col| access.sum(0..k, |i| row * k + i, |i| col * k + i)),
    );
    // The sum over a part of K.
    let mut part = |words: &str, over: Range<u64>| {
        add(words, Box::new(move |access, row, col| access.element(row, col, over.clone())));
    };
    if last_tile > 0 && tile_k > 1 {
        let last = if k.is_multiple_of(tile_k) {
            "the last K tile is missing; check how often the loop over K runs"
        } else {
            "the last, partial K tile is missing; K is no multiple of the tile, so round the number of tiles up and load zeros beyond the edge"
        };
        part(last, 0..last_tile);
        part("the first K tile is missing; check where the loop over K starts", tile_k..k);
        part("only the first K tile is summed; check that the loop over K goes on", 0..tile_k);
        part("only the last K tile is summed; the sum must be set to 0 once, before the loop over K", last_tile..k);
    }
    part("the last k is missing; the loop must run while k < K", 0..k - 1);
    part("the first k is missing; the loop must start at k = 0", 1..k);
    for (words, factor) in [
        ("they are twice the product; the sum is added to what was there, or each term is counted twice", 2.0),
        ("they have the wrong sign", -1.0),
    ] {
        add(words, Box::new(move |access, row, col| Some(factor * access.element(row, col, 0..k)?)));
    }
    for (name, down, right) in
        [("row below", 1, 0), ("row above", -1, 0), ("column to the right", 0, 1), ("column to the left", 0, -1)]
    {
        add(
            &format!("they belong to the {name}; an index is off by one"),
            Box::new(move |access, row, col| {
                access.element(row.checked_add_signed(down)?, col.checked_add_signed(right)?, 0..k)
            }),
        );
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Fill;
    use crate::verify::judge::TileCount;

    const SHAPE: Shape = Shape { tile: [32, 32], tile_k: 32 };

    /// C of 3 × 5 tiles, the last of each row and column partial if `ragged` is 1.
    fn problem(ragged: u64) -> Problem {
        Problem { m: 96 - ragged, n: 160 - ragged, k: 64, dtype: Dtype::F32, fill: Fill::Uniform, seed: 4 }
    }

    fn count(compared: u64, wrong: u64, unwritten: u64) -> TileCount {
        TileCount { compared, wrong, unwritten }
    }

    /// What was found: in each of these tiles, 10 elements wrong of 20, none of them unwritten.
    fn wrong_tiles(tiles: &[(u64, u64)]) -> Found {
        Found {
            worst_share: f64::INFINITY,
            compared: 1000,
            wrong_elements: 10 * tiles.len() as u64,
            tiles: tiles.iter().map(|&tile| (tile, count(20, 10, 0))).collect(),
            ..Found::default()
        }
    }

    fn said(found: &Found) -> String {
        diagnose(&problem(0), &Operands::F32 { a: Vec::new(), b: Vec::new() }, SHAPE, found)
    }

    /// A of 2×3 and B of 3×2, all elements different.
    fn small() -> (Problem, Operands) {
        let operands =
            Operands::F32 { a: vec![1.0, -2.0, 3.0, 5.0, -7.0, 11.0], b: vec![13.0, 17.0, -19.0, 23.0, 29.0, -31.0] };
        (Problem { m: 2, n: 2, k: 3, ..problem(0) }, operands)
    }

    #[test]
    fn sums_stay_inside_the_matrices() {
        let (problem, operands) = small();
        let access = Access { problem: &problem, operands: &operands };
        assert_eq!(access.element(1, 1, 0..3), Some(5.0 * 17.0 - 7.0 * 23.0 - 11.0 * 31.0));
        assert_eq!(access.element(0, 1, 1..2), Some(-2.0 * 23.0));
        assert_eq!([access.element(2, 0, 0..0), access.element(0, 2, 0..0)], [None, None]);
        assert_eq!(access.sum(0..2, |i| 5 * i, |i| 5 * i), Some(13.0 - 11.0 * 31.0));
        assert_eq!([access.sum(0..2, |i| 6 * i, |_| 0), access.sum(0..2, |_| 0, |i| 6 * i)], [None, None]);
        let magnitudes = [access.magnitude(1, 1), access.magnitude(1, 0)].map(Some);
        let [first, second] = [5.0 * 17.0 + 7.0 * 23.0 + 11.0 * 31.0, 5.0 * 13.0 + 7.0 * 19.0 + 11.0 * 29.0];
        assert_eq!(magnitudes, [Some(2.0 * first), Some(2.0 * second)]);
    }

    #[test]
    fn the_map_has_a_mark_for_each_kind_of_tile_and_a_cell_shows_what_its_tiles_share() {
        let drawn = |problem: &Problem, tiles: &[((u64, u64), TileCount)]| -> Vec<String> {
            let found = Found { tiles: tiles.iter().copied().collect(), ..wrong_tiles(&[]) };
            map(problem, SHAPE, &found).to_string().lines().map(str::to_owned).collect()
        };
        let (all, some, unwritten) = (count(9, 9, 0), count(20, 10, 0), count(9, 9, 9));
        let tiles = [((0, 0), all), ((1, 0), unwritten), ((2, 1), some), ((4, 2), some)];
        let lines = drawn(&problem(1), &tiles);
        assert_eq!(lines[..3], ["  # u . . .", "  . . x . .", "  . . . . x"]);
        assert!(lines[3].starts_with("  one mark for 32 columns × 32 rows of C"), "{lines:?}");
        // 40 columns of tiles, three in a cell; 20 rows, two in a cell. Tile (6, 2) is the first of its cell.
        let tiles = [((0, 0), all), ((2, 1), all), ((3, 0), all), ((6, 2), all)];
        let never = [((4, 0), unwritten), ((39, 19), unwritten), ((38, 18), unwritten)];
        let lines = drawn(&Problem { m: 20 * 32, n: 40 * 32, ..problem(0) }, &[&tiles[..], &never[..]].concat());
        assert_eq!(lines.len(), 11);
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
            (
                0,
                &[(0, 2), (4, 0), (1, 1)],
                "they lie in 3 tiles; run with --device sim --check to look for races and accesses out of bounds",
            ),
        ];
        for (ragged, tiles, words) in cases {
            assert_eq!(place(&problem(ragged), SHAPE, &wrong_tiles(tiles)), words);
        }
        let close = |worst_share| place(&problem(0), SHAPE, &Found { worst_share, ..wrong_tiles(&[(3, 1)]) });
        assert!(close(2.5).starts_with("they are close, at most 2.5 times the rounding error"));
        assert!(close(999.9).starts_with("they are close"));
        assert_eq!([close(1e3), close(5e3), close(f64::NAN)], ["they lie in tile (3,1) alone"; 3]);
    }

    #[test]
    fn tiles_that_were_never_written_are_named() {
        let unwritten = |tiles: &[(u64, u64)], whole: usize| {
            let mut found = wrong_tiles(tiles);
            for (i, tile) in found.tiles.values_mut().enumerate() {
                *tile = if i < whole { count(20, 20, 20) } else { count(20, 10, 10) };
            }
            found.unwritten = found.wrong_elements;
            said(&found)
        };
        let one = "10 of 1000 elements looked at are wrong: tile (3,1) was never written; check the grid and the bounds of the store";
        assert_eq!(unwritten(&[(3, 1)], 1), one);
        let several = "3 tiles were never written, from tile (0,0) to tile (2,2)";
        assert!(unwritten(&[(0, 0), (1, 1), (2, 2)], 3).contains(several));
        let parts = "they were never written; they lie in 3 tiles";
        assert!(unwritten(&[(0, 0), (1, 1), (2, 2)], 2).contains(parts));
        // What was not written at all is said first.
        for (compared, unwritten, never) in [(10, 10, true), (11, 10, false), (10, 9, false)] {
            let found = Found { compared, unwritten, ..wrong_tiles(&[(3, 1)]) };
            assert_eq!(said(&found).starts_with("C was never written; check that the kernel stores"), never);
        }
    }

    #[test]
    fn nan_is_the_diagnosis_where_most_are_nan() {
        let nan = |nan| said(&Found { nan, ..wrong_tiles(&[(3, 1)]) });
        assert!(nan(6).starts_with("10 of 1000 elements looked at are wrong and 6 of them are NaN; the kernel"));
        assert!(nan(5).ends_with("wrong: they lie in tile (3,1) alone"));
        assert!(nan(0).ends_with("wrong: they lie in tile (3,1) alone"));
    }

    #[test]
    fn a_cause_explains_nine_of_ten_or_it_is_not_named() {
        let (problem, operands) = small();
        let sample = |got| Mismatch { row: 0, col: 0, got: Some(got), expected: 1.0, unwritten: false };
        for (zeros, others, unwritten, named) in
            [(9, 1, 0, true), (1, 0, 0, true), (9, 1, 30, true), (8, 1, 0, false), (1, 9, 0, false), (0, 0, 0, false)]
        {
            let mut found = wrong_tiles(&[(3, 1)]);
            // No cause explains the others.
            found.samples = [vec![sample(0.0); zeros], vec![sample(1e9); others]].concat();
            found.samples.extend(vec![Mismatch { unwritten: true, ..sample(1e9) }; unwritten]);
            let sentence = diagnose(&problem, &operands, SHAPE, &found);
            assert_eq!(sentence.contains("they are 0; the sum is never formed"), named, "{sentence}");
        }
    }
}
