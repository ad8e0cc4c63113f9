//! What a wrong product looks like: the commonest mistakes, each tried on a sample of the wrong elements.

use std::fmt;

use super::judge::{Found, Mismatch, TileCount};
use super::mistakes::{AXES, causes};
use super::reference::gamma;
use crate::basics::matrix::Operands;
use plan::Problem;
use plan::Shape;

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

/// What is said of a wrong product.
#[derive(Debug)]
pub struct Diagnosis {
    /// How many elements are wrong, a colon, and the most likely cause.
    pub text: String,
    /// Whether the elements themselves tell the cause; if not, the simulator's search for hazards may.
    pub certain: bool,
}

/// The most likely cause in one sentence.
pub fn diagnose(problem: &Problem, operands: &Operands, shape: Shape, found: &Found) -> Diagnosis {
    let wrong = found.wrong_elements;
    let count = format!("{wrong} of {} elements looked at are wrong", found.compared);
    let certain = |text: String| Diagnosis { text, certain: true };
    let guess = |text: String| Diagnosis { text, certain: false };
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
        let tiles = unwritten(problem, shape, found);
        let check = "check the grid and the bounds of the store";
        return match swapped(problem, shape, found) {
            Some((part, true)) => certain(format!(
                "{count}: {tiles}; C is written in its first {part} only, so row and col are probably swapped: {AXES}"
            )),
            Some(_) => guess(format!("{count}: {tiles}; {check}, and whether row and col are swapped: {AXES}")),
            None => guess(format!("{count}: {tiles}; {check}")),
        };
    }
    let samples: Vec<&Mismatch> = found.samples.iter().filter(|sample| !sample.unwritten).collect();
    for cause in causes(problem, shape) {
        let explained = samples.iter().filter(|sample| cause.explains(problem, operands, sample)).count();
        if explained > 0 && explained as f64 >= EXPLAINED * samples.len() as f64 {
            return certain(format!("{count}: {}", cause.words));
        }
    }
    if is_rounding(problem, found) {
        return certain(format!(
            "{count}: they are close, at most {:.1} times the rounding error that float32 sums may have; is something computed in lower precision?",
            found.worst_share
        ));
    }
    guess(format!("{count}: {}", place(problem, shape, found)))
}

/// Whether the errors are as small as those of a product in lower precision. Its rounding errors partly cancel each
/// other, so that they grow with the square root of K; a term that is missing, or is another's, weighs more.
fn is_rounding(problem: &Problem, found: &Found) -> bool {
    /// The rounding error of bfloat16, the coarsest type that somebody may compute with, and room for the worst of
    /// many elements.
    const COARSEST: f64 = 8.0 / 512.0;
    let relative = found.worst_share * gamma(problem.k);
    relative.is_finite() && relative < COARSEST / (problem.k as f64).sqrt()
}

/// Which part of C is written, if that is as far as it would be if its rows were its columns; and whether that is more than
/// one tile, so that it hardly is by chance. Then the axes of the grid are swapped.
fn swapped(problem: &Problem, shape: Shape, found: &Found) -> Option<(String, bool)> {
    let (m, n) = (problem.m, problem.n);
    let [tile_x, tile_y] = shape.tile.map(|edge| u64::from(edge.max(1)));
    let (rows, cols) = (n.next_multiple_of(tile_x).min(m), m.next_multiple_of(tile_y).min(n));
    let (part, tiles) = match (cols < n, rows < m) {
        (true, _) => (format!("{cols} columns"), m.div_ceil(tile_y)),
        (_, true) => (format!("{rows} rows"), n.div_ceil(tile_x)),
        // All of C is written.
        _ => return None,
    };
    // In each row of tiles with anything unwritten these are unwritten, and no others.
    let first = if cols < n { cols / tile_x } else { 0 };
    let whole = |y: u64| (first..n.div_ceil(tile_x)).all(|x| found.tiles.contains_key(&(x, y)));
    let fits = |(&(x, y), count): (&(u64, u64), &TileCount)| {
        let starts_outside = x * tile_x >= cols || y * tile_y >= rows;
        let ends_outside = ((x + 1) * tile_x).min(n) > cols || ((y + 1) * tile_y).min(m) > rows;
        whole(y) && if starts_outside { count.unwritten == count.compared } else { ends_outside }
    };
    let all_looked_at = found.compared == m * n;
    let as_many = !all_looked_at || found.unwritten == m * n - rows * cols;
    (as_many && found.tiles.iter().all(fits)).then_some((part, tiles > 1))
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

/// Where the wrong elements are, if nothing is known of their values.
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
    use super::*;
    use plan::{Dtype, Fill};

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
        diagnose(&problem(0), &Operands::F32 { a: Vec::new(), b: Vec::new() }, SHAPE, found).text
    }

    /// A of 2×3 and B of 3×2, all elements different.
    fn small() -> (Problem, Operands) {
        let operands =
            Operands::F32 { a: vec![1.0, -2.0, 3.0, 5.0, -7.0, 11.0], b: vec![13.0, 17.0, -19.0, 23.0, 29.0, -31.0] };
        (Problem { m: 2, n: 2, k: 3, ..problem(0) }, operands)
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
            (0, &[(0, 2), (4, 0), (1, 1)], "they lie in 3 tiles"),
        ];
        for (ragged, tiles, words) in cases {
            assert_eq!(place(&problem(ragged), SHAPE, &wrong_tiles(tiles)), words);
        }
    }

    #[test]
    fn errors_that_are_close_are_rounding_errors_and_no_others() {
        let close = |worst_share| said(&Found { worst_share, ..wrong_tiles(&[(3, 1)]) });
        assert!(close(2.5).contains("wrong: they are close, at most 2.5 times the rounding error"));
        // 1/64 of the sum of the absolute values over the root of K, in units of gamma(64).
        let limit = 1.0 / 64.0 / 8.0 / gamma(64);
        assert!(close(limit * 0.999).contains("wrong: they are close"));
        for share in [limit * 1.001, f64::INFINITY, f64::NAN] {
            assert!(close(share).ends_with("wrong: they lie in tile (3,1) alone"));
        }
    }

    #[test]
    fn swapped_axes_leave_the_columns_or_rows_unwritten_that_the_other_axis_does_not_have() {
        // What is said of a C of which these rows and columns are written, and changed; its transpose is told alike.
        let told = |tile: [u32; 2], [m, n]: [u64; 2], [rows, cols]: [u64; 2], change: fn(&mut Found)| {
            let [tile_x, tile_y] = tile.map(u64::from);
            let mut found = Found { compared: m * n, unwritten: m * n - rows * cols, ..wrong_tiles(&[]) };
            for row in 0..m {
                for col in (0..n).filter(|&col| row >= rows || col >= cols) {
                    let (x, y) = (col / tile_x, row / tile_y);
                    let compared = ((n - x * tile_x).min(tile_x)) * ((m - y * tile_y).min(tile_y));
                    let tile = found.tiles.entry((x, y)).or_insert(count(compared, 0, 0));
                    (tile.wrong, tile.unwritten) = (tile.wrong + 1, tile.unwritten + 1);
                }
            }
            change(&mut found);
            let straight = swapped(&Problem { m, n, ..problem(0) }, Shape { tile, ..SHAPE }, &found);
            found.tiles = found.tiles.iter().map(|(&(x, y), &count)| ((y, x), count)).collect();
            let turned = Shape { tile: [tile[1], tile[0]], ..SHAPE };
            let turned = swapped(&Problem { m: n, n: m, ..problem(0) }, turned, &found);
            assert_eq!(turned, straight.clone().map(|(part, sure)| (part.replace("columns", "rows"), sure)));
            straight
        };
        let never = |m, n, rows, cols| told([32, 32], [m, n], [rows, cols], |_| ());
        let columns = |cols: u64, sure| Some((format!("{cols} columns"), sure));
        assert_eq!([never(64, 160, 64, 64), never(40, 150, 40, 64)], [columns(64, true), columns(64, true)]);
        assert_eq!(never(30, 160, 30, 32), columns(32, false), "one tile may be chance");
        assert_eq!([never(64, 160, 64, 96), never(64, 160, 32, 64)], [None, None]);
        assert_eq!([never(64, 64, 64, 32), never(64, 64, 64, 64)], [None, None], "a square looks right");
        // Not all of these were looked at.
        let changed = |change| told([32, 32], [64, 160], [64, 64], change);
        let beyond = changed(|found| {
            found.compared -= 1;
            found.tiles.get_mut(&(3, 1)).unwrap().unwritten -= 1;
        });
        assert_eq!(beyond, None, "an element is written in a tile beyond the columns");
        let inside = changed(|found| {
            found.compared -= 1;
            found.tiles.extend([((1, 0), count(9, 1, 1)), ((1, 1), count(9, 1, 1))]);
        });
        assert_eq!(inside, None, "elements of tiles inside the columns are not written");
        let missing = changed(|found| {
            found.compared -= found.tiles.remove(&(3, 1)).unwrap().compared;
        });
        assert_eq!(missing, None, "a tile beyond the columns is right");
        // The tiles are not square, and the last column that is written lies within one.
        let within = |change| told([32, 16], [48, 160], [48, 48], change);
        assert_eq!(within(|_| ()), columns(48, true));
        let more = within(|found| {
            found.tiles.get_mut(&(1, 1)).unwrap().unwritten -= 1;
            found.unwritten -= 1;
        });
        assert_eq!(more, None, "all was looked at, and one element more is written");
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
        assert!(nan(6).starts_with("10 of 1000 elements looked at are wrong, 6 of them NaN: the kernel"));
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
            let sentence = diagnose(&problem, &operands, SHAPE, &found).text;
            assert_eq!(sentence.contains("they are 0; the sum is never formed"), named, "{sentence}");
        }
    }
}
