//! Wrong products, and what the whole check says of them.

use std::ops::Range;

use super::{HostRows, Method, Shape, Verification, host_bytes, right_product, twin, verify, verify_by};
use crate::basics::matrix::Operands;
use plan::{Dtype, Fill, Problem};

const SHAPE: Shape = Shape { tile: [32, 32], tile_k: 32 };

fn problem(m: u64, n: u64, k: u64) -> Problem {
    Problem { m, n, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: 4 }
}

/// A and B of a product of `f32`, from which wrong elements of C are made.
struct Wrong<'a> {
    a: &'a [f32],
    b: &'a [f32],
    m: usize,
    n: usize,
    k: usize,
}

impl Wrong<'_> {
    fn part(&self, row: usize, col: usize, over: Range<usize>) -> f32 {
        over.map(|i| self.a[row * self.k + i] * self.b[i * self.n + col]).sum()
    }

    fn right(&self, row: usize, col: usize) -> f32 {
        self.part(row, col, 0..self.k)
    }

    /// What lies where (row, col) belongs if the last of all elements was stored whose row times `stride` and column
    /// lead there.
    fn stored_by_rows_of(&self, stride: usize, row: usize, col: usize) -> f32 {
        let place = row * self.n + col;
        let rows = (0..self.m).filter(|&row| (row * stride..row * stride + self.n).contains(&place));
        rows.max().map_or(f32::from_bits(Dtype::F32.poison()), |row| self.right(row, place - row * stride))
    }

    /// The sum if A and B are read as if their rows had these lengths.
    fn read_by_rows_of(&self, of_a: usize, of_b: usize, row: usize, col: usize) -> f32 {
        (0..self.k).map(|i| self.a[row * of_a + i] * self.b[i * of_b + col]).sum()
    }

    /// Tiles of 32 × 32, loaded and multiplied thread by thread, with x and y of a thread in each other's place.
    fn swapped_tiles(&self, row: usize, col: usize) -> f32 {
        let (x, y, row0, col0) = (row % 32, col % 32, row - row % 32, col - col % 32);
        let mut sum = 0.0;
        for k0 in (0..self.k).step_by(32) {
            let a = |x: usize, _: usize| {
                if row0 + x < self.m && k0 + x < self.k { self.a[(row0 + x) * self.k + k0 + x] } else { 0.0 }
            };
            let b = |_: usize, y: usize| {
                if k0 + y < self.k && col0 + y < self.n { self.b[(k0 + y) * self.n + col0 + y] } else { 0.0 }
            };
            sum += (0..32).map(|k| a(k, y) * b(x, k)).sum::<f32>();
        }
        sum
    }
}

/// What is said of a product whose elements are these.
fn verdict(shape: Shape, problem: &Problem, value: impl Fn(&Wrong, usize, usize) -> f32) -> Verification {
    let operands = Operands::new(problem).unwrap();
    let Operands::F32 { a, b } = &operands else { unreachable!() };
    let [m, n, k] = [problem.m, problem.n, problem.k].map(|edge| edge as usize);
    let wrong = Wrong { a, b, m, n, k };
    let words: Vec<u32> = (0..m * n).map(|place| value(&wrong, place / n, place % n).to_bits()).collect();
    let verdict = verify(problem, &operands, shape, &mut HostRows { words: &words, n: problem.n }).unwrap();
    assert!(!verdict.ok);
    verdict
}

/// Each mistake in a product whose edges are all different, or in a square if it takes one.
#[test]
fn each_mistake_is_called_by_its_name_and_no_other() {
    const POISON: f32 = f32::from_bits(u32::MAX);
    assert_eq!(POISON.to_bits(), Dtype::F32.poison());
    type Mistake = fn(&Wrong, usize, usize) -> f32;
    let cases: [(&str, [u64; 3], Mistake); 35] = [
        ("wrong: they are 0;", [40, 50, 70], |_, _, _| 0.0),
        ("wrong: C equals its transpose", [64, 64, 64], |w, row, col| w.right(col, row)),
        ("wrong: C equals its transpose", [40, 50, 70], |w, row, col| {
            let place = row * w.n + col;
            w.right(place % w.m, place / w.m)
        }),
        ("wrong: the operands are swapped", [48, 48, 48], |w, row, col| Wrong { a: w.b, b: w.a, ..*w }.right(row, col)),
        ("wrong: A is read transposed", [40, 50, 70], |w, row, col| {
            (0..w.k).map(|i| w.a[i * w.m + row] * w.b[i * w.n + col]).sum()
        }),
        ("wrong: B is read transposed", [40, 50, 70], |w, row, col| {
            (0..w.k).map(|i| w.a[row * w.k + i] * w.b[col * w.k + i]).sum()
        }),
        ("wrong: the last K tile is missing", [40, 50, 96], |w, row, col| w.part(row, col, 0..64)),
        ("wrong: the last K tile is missing", [40, 50, 64], |w, row, col| w.part(row, col, 0..32)),
        ("wrong: the last, partial K tile is missing", [40, 50, 70], |w, row, col| w.part(row, col, 0..64)),
        ("wrong: the last, partial K tile is missing", [40, 50, 33], |w, row, col| w.part(row, col, 0..32)),
        ("wrong: the first K tile is missing", [40, 50, 96], |w, row, col| w.part(row, col, 32..96)),
        ("wrong: only the first K tile", [40, 50, 96], |w, row, col| w.part(row, col, 0..32)),
        ("wrong: only the last K tile", [40, 50, 96], |w, row, col| w.part(row, col, 64..96)),
        ("wrong: the last k is missing", [40, 50, 70], |w, row, col| w.part(row, col, 0..69)),
        ("wrong: the last k is missing", [40, 50, 64], |w, row, col| w.part(row, col, 0..63)),
        ("wrong: the last k is missing", [40, 50, 32], |w, row, col| w.part(row, col, 0..31)),
        ("wrong: the first k is missing", [40, 50, 70], |w, row, col| w.part(row, col, 1..70)),
        ("wrong: they are twice the product", [40, 50, 70], |w, row, col| 2.0 * w.right(row, col)),
        ("wrong: they have the wrong sign", [40, 50, 70], |w, row, col| -w.right(row, col)),
        ("wrong: they belong to the row below", [40, 50, 70], |w, row, col| w.right((row + 1).min(39), col)),
        ("wrong: they belong to the row above", [40, 50, 70], |w, row, col| w.right(row.saturating_sub(1), col)),
        ("wrong: they belong to the column to the right", [40, 50, 70], |w, row, col| w.right(row, (col + 1).min(49))),
        ("wrong: they belong to the column to the left", [40, 50, 70], |w, row, col| {
            w.right(row, col.saturating_sub(1))
        }),
        ("wrong: C has N columns, and is written as if it had M", [40, 50, 70], |w, row, col| {
            w.stored_by_rows_of(w.m, row, col)
        }),
        ("wrong: C has N columns, and is written as if it had M", [60, 50, 70], |w, row, col| {
            w.stored_by_rows_of(w.m, row, col)
        }),
        ("wrong: C has N columns, and is written as if it had K", [60, 50, 7], |w, row, col| {
            w.stored_by_rows_of(w.k, row, col)
        }),
        ("wrong: A has K columns, and is read as if it had N", [40, 50, 70], |w, row, col| {
            w.read_by_rows_of(w.n, w.n, row, col)
        }),
        ("wrong: B has N columns, and is read as if it had K", [40, 50, 30], |w, row, col| {
            w.read_by_rows_of(w.k, w.k, row, col)
        }),
        ("wrong: row and col are swapped where the tiles are loaded", [64, 64, 64], |w, row, col| {
            w.swapped_tiles(row, col)
        }),
        ("wrong: row and col are swapped where the tiles are loaded", [40, 150, 70], |w, row, col| {
            w.swapped_tiles(row, col)
        }),
        (
            "C is written in its first 64 columns only, so row and col are probably swapped",
            [40, 150, 70],
            |w, row, col| {
                if col < 64 { w.right(row, col) } else { POISON }
            },
        ),
        (
            "C is written in its first 64 rows only, so row and col are probably swapped",
            [150, 40, 70],
            |w, row, col| {
                if row < 64 { w.right(row, col) } else { POISON }
            },
        ),
        ("C was never written", [40, 50, 64], |_, _, _| POISON),
        ("of them NaN", [40, 50, 64], |_, _, _| f32::from_bits(0x7FC0_0000)),
        (
            "last column of tiles, which sticks out",
            [96, 150, 64],
            |w, row, col| {
                if col >= 128 { 1e6 } else { w.right(row, col) }
            },
        ),
    ];
    for (name, [m, n, k], mistake) in cases {
        let sentence = verdict(SHAPE, &problem(m, n, k), mistake).diagnosis.unwrap();
        assert!(sentence.contains(name), "{name} at {m}×{n}×{k}: {sentence}");
    }
    // A kernel without tiles of K misses a k and no tile.
    let shape = Shape { tile_k: 1, ..SHAPE };
    for (name, range) in [("the last k is missing", 0..69), ("the first k is missing", 1..70)] {
        let found = verdict(shape, &problem(40, 50, 70), |w, row, col| w.part(row, col, range.clone()));
        assert!(found.diagnosis.is_some_and(|sentence| sentence.contains(name)), "{name}");
    }
}

/// A sum in lower precision is off by a little everywhere; one that takes terms of another tile, as a race leaves it,
/// by more, and the product alone does not tell why.
#[test]
fn a_race_is_not_taken_for_lower_precision() {
    let bfloat = |value: f32| f32::from_bits((value.to_bits() + 0x8000) & 0xFFFF_0000);
    for k in [64, 300, 1024] {
        let rounded = verdict(SHAPE, &problem(64, 64, k), |w, row, col| {
            (0..w.k).map(|i| bfloat(w.a[row * w.k + i]) * bfloat(w.b[i * w.n + col])).sum()
        });
        assert!(rounded.words(None).contains("computed in lower precision?"), "{:?}", rounded.diagnosis);
        assert!(!rounded.words(None).contains("--check"));
        // Some elements of a few rows have one term of the next tile of A.
        let raced = verdict(SHAPE, &problem(64, 64, k), |w, row, col| {
            let (term, next) = (row * w.k + 31, row * w.k + 63);
            let other = if row % 8 == 3 && col % 5 == 1 { w.a[next] - w.a[term] } else { 0.0 };
            w.right(row, col) + other * w.b[31 * w.n + col]
        });
        let words = raced.words(None);
        assert!(!words.contains("precision"), "{words}");
        assert!(
            words.ends_with("they lie in 4 tiles; run with --device sim --check to look for races and the like"),
            "{words}"
        );
        assert!(raced.words(Some(0)).ends_with("they lie in 4 tiles"));
        assert!(raced.words(Some(1)).ends_with("of 4096 elements looked at are wrong: the hazard below says why"));
    }
}

#[test]
fn a_wrong_tile_is_named_and_marked_by_its_column_and_row() {
    let poison = f32::from_bits(Dtype::F32.poison());
    let tile = |row, col| row / 32 == 1 && col / 32 == 3;
    let unwritten =
        verdict(SHAPE, &problem(96, 160, 8), |w, row, col| if tile(row, col) { poison } else { w.right(row, col) });
    let sentence = unwritten.diagnosis.unwrap();
    assert!(sentence.contains("tile (3,1) was never written"), "{sentence}");
    let one = verdict(
        SHAPE,
        &problem(96, 160, 8),
        |w, row, col| {
            if (row, col) == (40, 100) { 9.0 } else { w.right(row, col) }
        },
    );
    let map = one.map.unwrap().to_string();
    assert_eq!(map.lines().take(3).map(str::trim).collect::<Vec<_>>(), [". . . . .", ". . . x .", ". . . . ."]);
}

/// Wrapping integers are compared exactly: a sum that overflows is still known for what it is.
#[test]
fn a_mistake_in_integers_that_wrap_is_named_too() {
    let problem = Problem { dtype: Dtype::I32, ..problem(40, 50, 70) };
    let operands = Operands::new(&problem).unwrap();
    let Operands::I32 { a, b } = &operands else { unreachable!() };
    let element =
        |row: usize, col: usize| (0..69).map(|i| a[row * 70 + i] * b[i * 50 + col]).sum::<std::num::Wrapping<i32>>();
    let words: Vec<u32> = (0..40 * 50).map(|place| element(place / 50, place % 50).0 as u32).collect();
    let verdict = verify(&problem, &operands, SHAPE, &mut HostRows { words: &words, n: 50 }).unwrap();
    let sentence = verdict.diagnosis.unwrap();
    assert!(sentence.contains("the last k is missing"), "{sentence}");
}

#[test]
fn every_method_lets_the_product_through_and_nothing_else() {
    use Method::{Exact, Freivalds, FreivaldsAndSampledRows, Full};
    for (method, fill) in [
        (Full, Fill::Uniform),
        (Exact, Fill::Integers),
        (Freivalds, Fill::Integers),
        (FreivaldsAndSampledRows, Fill::Uniform),
    ] {
        let problem = Problem { fill, ..problem(70, 50, 40) };
        let operands = Operands::new(&problem).unwrap();
        let mut words = right_product(&problem, &operands).unwrap();
        let check =
            |words: &[u32]| verify_by(method, &problem, &operands, SHAPE, &mut HostRows { words, n: 50 }).unwrap();
        let Verification { ok, method: by, diagnosis, mismatches, map, .. } = check(&words);
        assert_eq!((ok, by, diagnosis, map), (true, method, None, None));
        assert!(mismatches.is_empty());
        // NaN is found in every row, by whatever is looked at.
        for row in 0..70 {
            let place = row * 50 + row % 50;
            let right = std::mem::replace(&mut words[place], f32::NAN.to_bits());
            let found = check(&words);
            words[place] = right;
            assert!(!found.ok && found.diagnosis.is_some() && found.map.is_some(), "{method:?}, row {row}");
            let places: Vec<_> = found.mismatches.iter().map(|wrong| (wrong.row, wrong.col)).collect();
            assert_eq!(places, [(row as u64, row as u64 % 50)]);
            assert_eq!((found.max_error, found.worst_bound_share), (None, None));
        }
    }
}

#[test]
fn the_right_product_is_computed_panel_by_panel() {
    // Two rows a panel, and one in the last.
    let problem = Problem { fill: Fill::Integers, ..problem(5, 3 << 20, 1) };
    for problem in [problem, Problem { dtype: Dtype::I32, ..problem }] {
        let operands = Operands::new(&problem).unwrap();
        let expected: Vec<u32> = match &operands {
            Operands::F32 { a, b } => a.iter().flat_map(|a| b.iter().map(move |b| (a * b).to_bits())).collect(),
            Operands::I32 { a, b } => a.iter().flat_map(|a| b.iter().map(move |b| (a * b).0 as u32)).collect(),
        };
        let words = right_product(&problem, &operands).unwrap();
        let zero_or_same = |(&one, &other): (&u32, &u32)| one == other || (one << 1, other << 1) == (0, 0);
        assert!(words.len() == expected.len() && words.iter().zip(&expected).all(zero_or_same));
    }
}

#[test]
fn only_a_large_product_of_rounded_sums_has_a_twin_and_the_host_holds_what_the_method_needs() {
    let large = problem(100_000, 100_000, 100_000);
    assert_eq!(twin(&large), Some(Problem { fill: Fill::Integers, ..large }));
    assert_eq!(twin(&Problem { fill: Fill::Integers, ..large }), None);
    assert_eq!(twin(&problem(10, 10, 10)), None);
    // Every row is in one panel: 16 bytes an element of C, 12 for each of B and of A's rows.
    assert_eq!(host_bytes(&problem(100, 1000, 10)), 16 * 100_000 + 12 * (10_000 + 1000));
    // 83 rows a panel.
    assert_eq!(host_bytes(&Problem { dtype: Dtype::I32, ..large }), 4 * 8_300_000);
    assert_eq!(host_bytes(&large), 4 * 8_300_000 + 4 * 20_000_000_000);
}
