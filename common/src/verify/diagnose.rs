//! What a wrong product looks like: the commonest mistakes, each tried on a sample of the wrong elements.

use std::fmt;

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
    /// Rows of the map, from the first rows of C down.
    rows: Vec<String>,
    /// What a cell is, in words.
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
    TileMap {
        rows: rows
            .into_iter()
            .map(|row| row.into_iter().flat_map(|cell| [cell, ' ']).collect::<String>().trim_end().to_owned())
            .collect(),
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

/// A mistake and the value it leaves in an element.
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
            Operands::F32 { .. } => gamma(problem.k) * access.magnitude(sample.row, sample.col) + 1e-30,
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
    fn sum(&self, range: std::ops::Range<u64>, a: impl Fn(u64) -> u64, b: impl Fn(u64) -> u64) -> Option<f64> {
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
    fn element(&self, row: u64, col: u64, range: std::ops::Range<u64>) -> Option<f64> {
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
    let mut add = |words: &str, value: Value| {
        causes.push(Cause { words: words.to_owned(), value });
    };
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
            if m != n || n != k {
                return None;
            }
            access.sum(0..k, |i| i * n + col, |i| row * k + i)
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
    if last_tile > 0 && tile_k > 1 {
        let words = if k.is_multiple_of(tile_k) {
            "the last K tile is missing; check how often the loop over K runs"
        } else {
            "the last, partial K tile is missing; K is no multiple of the tile, so round the number of tiles up and load zeros beyond the edge"
        };
        add(words, Box::new(move |access, row, col| access.element(row, col, 0..last_tile)));
        add(
            "the first K tile is missing; check where the loop over K starts",
            Box::new(move |access, row, col| access.element(row, col, tile_k..k)),
        );
        add(
            "only the first K tile is summed; check that the loop over K goes on",
            Box::new(move |access, row, col| access.element(row, col, 0..tile_k)),
        );
        add(
            "only the last K tile is summed; the sum must be set to 0 once, before the loop over K",
            Box::new(move |access, row, col| access.element(row, col, last_tile..k)),
        );
    }
    add(
        "the last k is missing; the loop must run while k < K",
        Box::new(move |access, row, col| access.element(row, col, 0..k - 1)),
    );
    add(
        "the first k is missing; the loop must start at k = 0",
        Box::new(move |access, row, col| access.element(row, col, 1..k)),
    );
    add(
        "they are twice the product; the sum is added to what was there, or each term is counted twice",
        Box::new(move |access, row, col| access.element(row, col, 0..k).map(|value| 2.0 * value)),
    );
    add(
        "they have the wrong sign",
        Box::new(move |access, row, col| access.element(row, col, 0..k).map(|value| -value)),
    );
    let neighbours: [(&str, i64, i64); 4] =
        [("row below", 1, 0), ("row above", -1, 0), ("column to the right", 0, 1), ("column to the left", 0, -1)];
    for (name, down, right) in neighbours {
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

    fn operands() -> Operands {
        Operands::F32 { a: Vec::new(), b: Vec::new() }
    }

    /// What was found: in each of these tiles, 10 elements wrong of 20, none of them unwritten.
    fn wrong_tiles(tiles: &[(u64, u64)]) -> Found {
        let count = TileCount { compared: 20, wrong: 10, unwritten: 0 };
        Found {
            worst_share: f64::INFINITY,
            compared: 1000,
            wrong_elements: 10 * tiles.len() as u64,
            tiles: tiles.iter().map(|&tile| (tile, count)).collect(),
            ..Found::default()
        }
    }

    /// A wrong element that is 0 and should not be, or is something that no cause explains.
    fn sample(zero: bool) -> Mismatch {
        Mismatch { row: 0, col: 0, got: Some(if zero { 0.0 } else { 1e9 }), expected: 1.0, unwritten: false }
    }

    /// A of 2×3 and B of 3×2, all elements different.
    fn small() -> (Problem, Operands) {
        let operands =
            Operands::F32 { a: vec![1.0, -2.0, 3.0, 5.0, -7.0, 11.0], b: vec![13.0, 17.0, -19.0, 23.0, 29.0, -31.0] };
        (Problem { m: 2, n: 2, k: 3, dtype: Dtype::F32, fill: Fill::Uniform, seed: 1 }, operands)
    }

    #[test]
    fn sums_stay_inside_the_matrices() {
        let (problem, operands) = small();
        let access = Access { problem: &problem, operands: &operands };
        assert_eq!(access.element(1, 1, 0..3), Some(5.0 * 17.0 - 7.0 * 23.0 - 11.0 * 31.0));
        assert_eq!(access.element(0, 1, 1..2), Some(-2.0 * 23.0));
        assert_eq!([access.element(2, 0, 0..0), access.element(0, 2, 0..0)], [None, None]);
        assert_eq!(access.sum(0..2, |i| 5 * i, |i| 5 * i), Some(13.0 - 11.0 * 31.0));
        assert_eq!(access.sum(0..2, |i| 6 * i, |_| 0), None);
        assert_eq!(access.sum(0..2, |_| 0, |i| 6 * i), None);
        let magnitudes = [access.magnitude(1, 1), access.magnitude(1, 0)].map(Some);
        let [first, second] = [5.0 * 17.0 + 7.0 * 23.0 + 11.0 * 31.0, 5.0 * 13.0 + 7.0 * 19.0 + 11.0 * 29.0];
        assert_eq!(magnitudes, [Some(2.0 * first), Some(2.0 * second)]);
    }

    #[test]
    fn the_map_has_a_mark_for_each_kind_of_tile() {
        let mut found = wrong_tiles(&[(0, 0), (1, 0), (2, 1), (4, 2)]);
        found.tiles.insert((0, 0), TileCount { compared: 20, wrong: 20, unwritten: 0 });
        found.tiles.insert((1, 0), TileCount { compared: 20, wrong: 20, unwritten: 20 });
        let text = map(&problem(1), SHAPE, &found).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["  # u . . .", "  . . x . .", "  . . . . x"]);
        assert!(lines[3].starts_with("  one mark for 32 columns × 32 rows of C"), "{text}");
    }

    #[test]
    fn a_cell_of_several_tiles_shows_what_they_share() {
        // 40 columns of tiles, three in a cell; 20 rows, two in a cell.
        let problem = Problem { m: 20 * 32, n: 40 * 32, ..problem(0) };
        let mut found = wrong_tiles(&[]);
        let all = TileCount { compared: 9, wrong: 9, unwritten: 0 };
        let unwritten = TileCount { unwritten: 9, ..all };
        for (tile, count) in [
            ((0, 0), all),
            ((2, 1), all),
            ((3, 0), all),
            ((4, 0), unwritten),
            ((39, 19), unwritten),
            ((38, 18), unwritten),
            // The first tile of a cell and not the last of the one before.
            ((6, 2), all),
        ] {
            found.tiles.insert(tile, count);
        }
        let text = map(&problem, SHAPE, &found).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[0], "  # x . . . . . . . . . . . .");
        assert_eq!(lines[1], "  . . # . . . . . . . . . . .");
        assert_eq!(lines[9], "  . . . . . . . . . . . . u u");
        assert!(lines[10].starts_with("  one mark for 96 columns × 64 rows of C"), "{text}");
    }

    #[test]
    fn wrong_tiles_are_placed_in_a_few_words() {
        let said = |ragged, tiles: &[(u64, u64)]| place(&problem(ragged), SHAPE, &wrong_tiles(tiles));
        assert_eq!(said(0, &[(3, 1)]), "they lie in tile (3,1) alone");
        assert_eq!(said(0, &[(4, 0), (4, 1)]), "they lie in the last column of tiles");
        let out = ", which sticks out of C: check the edge handling";
        assert_eq!(said(1, &[(4, 0), (4, 2)]), format!("they lie in the last column of tiles{out}"));
        assert_eq!(said(0, &[(0, 2), (1, 2)]), "they lie in the last row of tiles");
        assert_eq!(said(1, &[(0, 2), (4, 2)]), format!("they lie in the last row of tiles{out}"));
        assert!(said(0, &[(0, 2), (4, 0)]).starts_with("they lie in the last column and the last row of tiles"));
        assert!(said(0, &[(0, 2), (4, 0), (1, 1)]).starts_with("they lie in 3 tiles; run with"));
    }

    #[test]
    fn elements_that_are_nearly_right_are_called_close() {
        let said = |worst_share| place(&problem(0), SHAPE, &Found { worst_share, ..wrong_tiles(&[(3, 1)]) });
        assert!(said(2.5).starts_with("they are close, at most 2.5 times the rounding error"));
        assert!(said(999.9).starts_with("they are close"));
        assert_eq!([said(1e3), said(5e3), said(f64::NAN)], ["they lie in tile (3,1) alone"; 3]);
    }

    #[test]
    fn tiles_that_were_never_written_are_named() {
        let said = |tiles: &[(u64, u64)], whole: usize| {
            let mut found = wrong_tiles(tiles);
            for (i, count) in found.tiles.values_mut().enumerate() {
                let all = if i < whole { 20 } else { 10 };
                *count = TileCount { compared: 20, wrong: all, unwritten: all };
            }
            found.unwritten = found.wrong_elements;
            diagnose(&problem(0), &operands(), SHAPE, &found)
        };
        let end = "; check the grid and the bounds of the store";
        assert_eq!(
            said(&[(3, 1)], 1),
            format!("10 of 1000 elements looked at are wrong: tile (3,1) was never written{end}")
        );
        let several = "3 tiles were never written, from tile (0,0) to tile (2,2)";
        assert!(said(&[(0, 0), (1, 1), (2, 2)], 3).contains(several));
        assert!(said(&[(0, 0), (1, 1), (2, 2)], 2).contains("they were never written; they lie in 3 tiles"));
    }

    #[test]
    fn nan_is_the_diagnosis_where_most_are_nan() {
        let said = |nan| {
            let found = Found { nan, ..wrong_tiles(&[(3, 1)]) };
            diagnose(&problem(0), &operands(), SHAPE, &found)
        };
        assert!(said(6).starts_with("10 of 1000 elements looked at are wrong and 6 of them are NaN; the kernel"));
        assert!(said(5).ends_with("wrong: they lie in tile (3,1) alone"));
        assert!(said(0).ends_with("wrong: they lie in tile (3,1) alone"));
    }

    #[test]
    fn what_was_not_written_at_all_is_said_first() {
        let mut found = Found { compared: 10, unwritten: 10, ..wrong_tiles(&[(3, 1)]) };
        let said = |found: &Found| diagnose(&problem(0), &operands(), SHAPE, found);
        assert!(said(&found).starts_with("C was never written; check that the kernel stores"));
        found.compared = 11;
        assert!(!said(&found).starts_with("C was"));
        (found.compared, found.unwritten) = (10, 9);
        assert!(!said(&found).starts_with("C was"));
    }

    #[test]
    fn a_cause_explains_nine_of_ten_or_it_is_not_named() {
        let (problem, operands) = small();
        let said = |zeros: usize, others: usize, unwritten: usize| {
            let mut found = wrong_tiles(&[(3, 1)]);
            found.samples = [vec![sample(true); zeros], vec![sample(false); others]].concat();
            found.samples.extend(vec![Mismatch { unwritten: true, ..sample(false) }; unwritten]);
            diagnose(&problem, &operands, SHAPE, &found).contains("they are 0; the sum is never formed")
        };
        assert!(said(9, 1, 0) && said(1, 0, 0) && said(9, 1, 30));
        assert!(!said(8, 1, 0) && !said(1, 9, 0) && !said(0, 0, 0));
    }
}
