//! Wrong products, and what the whole check says of them.

use super::{HostRows, Method, Shape, Verification, host_bytes, right_product, twin, verify, verify_by};
use crate::matrix::Operands;
use crate::problem::{Dtype, Fill, Problem};

const SHAPE: Shape = Shape { tile: [32, 32], tile_k: 32 };

/// A wrong product: element (row, col) is what `value` makes of A and B.
fn wrong(problem: &Problem, value: impl Fn(&[f32], &[f32], usize, usize) -> f32) -> String {
    wrong_in(SHAPE, problem, value)
}

/// The same, of a kernel that divides the work in this way.
fn wrong_in(shape: Shape, problem: &Problem, value: impl Fn(&[f32], &[f32], usize, usize) -> f32) -> String {
    let operands = Operands::new(problem).unwrap();
    let Operands::F32 { a, b } = &operands else { unreachable!() };
    let (m, n) = (problem.m as usize, problem.n as usize);
    let words: Vec<u32> = (0..m * n).map(|place| value(a, b, place / n, place % n).to_bits()).collect();
    let verdict = verify(problem, &operands, shape, &mut HostRows { words: &words, n: problem.n }).unwrap();
    assert!(!verdict.ok);
    verdict.diagnosis.unwrap()
}

fn right(a: &[f32], b: &[f32], row: usize, col: usize, [n, k]: [usize; 2]) -> f32 {
    (0..k).map(|i| a[row * k + i] * b[i * n + col]).sum()
}

fn problem(m: u64, n: u64, k: u64) -> Problem {
    Problem { m, n, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: 4 }
}

#[test]
fn each_mistake_is_called_by_its_name() {
    let sentence = wrong(&problem(64, 64, 64), |a, b, row, col| right(a, b, col, row, [64, 64]));
    assert!(sentence.contains("C equals its transpose"), "{sentence}");
    let sentence = wrong(&problem(64, 64, 64), |a, b, row, col| right(b, a, row, col, [64, 64]));
    assert!(sentence.contains("operands are swapped"), "{sentence}");
    let sentence =
        wrong(&problem(40, 50, 70), |a, b, row, col| (0..64).map(|i| a[row * 70 + i] * b[i * 50 + col]).sum());
    assert!(sentence.contains("the last, partial K tile is missing"), "{sentence}");
    let sentence =
        wrong(&problem(40, 50, 64), |a, b, row, col| (0..32).map(|i| a[row * 64 + i] * b[i * 50 + col]).sum());
    assert!(sentence.contains("the last K tile is missing"), "{sentence}");
    let sentence =
        wrong(&problem(40, 50, 64), |a, b, row, col| (0..63).map(|i| a[row * 64 + i] * b[i * 50 + col]).sum());
    assert!(sentence.contains("the last k is missing"), "{sentence}");
    let sentence = wrong(&problem(40, 50, 64), |_, _, _, _| f32::from_bits(Dtype::F32.poison()));
    assert!(sentence.contains("C was never written"), "{sentence}");
    let sentence = wrong(&problem(40, 50, 64), |_, _, _, _| f32::from_bits(0x7FC0_0000));
    assert!(sentence.contains("NaN"), "{sentence}");
}

#[test]
fn an_unwritten_tile_is_named_by_its_column_and_row() {
    let sentence = wrong(&problem(96, 160, 64), |a, b, row, col| {
        if row / 32 == 1 && col / 32 == 3 {
            f32::from_bits(Dtype::F32.poison())
        } else {
            right(a, b, row, col, [160, 64])
        }
    });
    assert!(sentence.contains("tile (3,1) was never written"), "{sentence}");
}

#[test]
fn wrong_edges_are_placed() {
    let sentence =
        wrong(&problem(96, 150, 64), |a, b, row, col| if col >= 128 { 1e6 } else { right(a, b, row, col, [150, 64]) });
    assert!(sentence.contains("last column of tiles, which sticks out"), "{sentence}");
}

#[test]
fn the_map_marks_the_wrong_tile_and_no_other() {
    let problem = problem(96, 160, 8);
    let operands = Operands::new(&problem).unwrap();
    let Operands::F32 { a, b } = &operands else { unreachable!() };
    let words: Vec<u32> = (0..96 * 160)
        .map(|place| {
            let (row, col) = (place / 160, place % 160);
            if (row, col) == (40, 100) { 9.0 } else { right(a, b, row, col, [160, 8]) }.to_bits()
        })
        .collect();
    let verdict = verify(&problem, &operands, SHAPE, &mut HostRows { words: &words, n: 160 }).unwrap();
    let map = verdict.map.unwrap().to_string();
    assert_eq!(map.lines().take(3).map(str::trim).collect::<Vec<_>>(), [". . . . .", ". . . x .", ". . . . ."]);
}

/// Each mistake in a product whose edges are all different, or in a square if it takes one.
#[test]
fn each_mistake_is_called_by_its_name_and_no_other() {
    type Wrong = fn(&[f32], &[f32], usize, usize, [usize; 3]) -> f32;
    fn part(a: &[f32], b: &[f32], row: usize, col: usize, [n, k]: [usize; 2], over: std::ops::Range<usize>) -> f32 {
        over.map(|i| a[row * k + i] * b[i * n + col]).sum()
    }
    let cases: [(&str, [u64; 3], Wrong); 18] = [
        ("they are 0;", [40, 50, 70], |_, _, _, _, _| 0.0),
        ("C equals its transpose", [40, 50, 70], |a, b, row, col, [m, n, k]| {
            let place = row * n + col;
            part(a, b, place % m, place / m, [n, k], 0..k)
        }),
        ("the operands are swapped", [48, 48, 48], |a, b, row, col, [_, n, k]| part(b, a, row, col, [n, k], 0..k)),
        ("A is read transposed", [40, 50, 70], |a, b, row, col, [m, n, k]| {
            (0..k).map(|i| a[i * m + row] * b[i * n + col]).sum()
        }),
        ("B is read transposed", [40, 50, 70], |a, b, row, col, [_, _, k]| {
            (0..k).map(|i| a[row * k + i] * b[col * k + i]).sum()
        }),
        ("the last K tile is missing", [40, 50, 96], |a, b, row, col, [_, n, k]| part(a, b, row, col, [n, k], 0..64)),
        ("the last, partial K tile", [40, 50, 70], |a, b, row, col, [_, n, k]| part(a, b, row, col, [n, k], 0..64)),
        ("the last, partial K tile", [40, 50, 33], |a, b, row, col, [_, n, k]| part(a, b, row, col, [n, k], 0..32)),
        ("the first K tile is missing", [40, 50, 96], |a, b, row, col, [_, n, k]| part(a, b, row, col, [n, k], 32..k)),
        ("only the first K tile", [40, 50, 96], |a, b, row, col, [_, n, k]| part(a, b, row, col, [n, k], 0..32)),
        ("only the last K tile", [40, 50, 96], |a, b, row, col, [_, n, k]| part(a, b, row, col, [n, k], 64..k)),
        ("the last k is missing", [40, 50, 70], |a, b, row, col, [_, n, k]| part(a, b, row, col, [n, k], 0..k - 1)),
        ("the last k is missing", [40, 50, 32], |a, b, row, col, [_, n, k]| part(a, b, row, col, [n, k], 0..k - 1)),
        ("the first k is missing", [40, 50, 70], |a, b, row, col, [_, n, k]| part(a, b, row, col, [n, k], 1..k)),
        ("they are twice the product", [40, 50, 70], |a, b, row, col, [_, n, k]| {
            2.0 * part(a, b, row, col, [n, k], 0..k)
        }),
        ("they have the wrong sign", [40, 50, 70], |a, b, row, col, [_, n, k]| -part(a, b, row, col, [n, k], 0..k)),
        ("they belong to the row below", [40, 50, 70], |a, b, row, col, [m, n, k]| {
            part(a, b, (row + 1).min(m - 1), col, [n, k], 0..k)
        }),
        ("they belong to the column to the right", [40, 50, 70], |a, b, row, col, [_, n, k]| {
            part(a, b, row, (col + 1).min(n - 1), [n, k], 0..k)
        }),
    ];
    let above: Wrong = |a, b, row, col, [_, n, k]| part(a, b, row.saturating_sub(1), col, [n, k], 0..k);
    let left: Wrong = |a, b, row, col, [_, n, k]| part(a, b, row, col.saturating_sub(1), [n, k], 0..k);
    let more = [
        ("they belong to the row above", [40, 50, 70], above),
        ("they belong to the column to the left", [40, 50, 70], left),
    ];
    for (name, [m, n, k], mistake) in cases.into_iter().chain(more) {
        let size = [m, n, k].map(|edge| edge as usize);
        let sentence = wrong(&problem(m, n, k), |a, b, row, col| mistake(a, b, row, col, size));
        assert!(sentence.contains(&format!("wrong: {name}")), "{name} at {m}×{n}×{k}: {sentence}");
    }
}

#[test]
fn a_kernel_without_tiles_of_k_misses_a_k_and_no_tile() {
    let shape = Shape { tile_k: 1, ..SHAPE };
    for (name, range) in [("the last k is missing", 0..69), ("the first k is missing", 1..70)] {
        let sentence = wrong_in(shape, &problem(40, 50, 70), |a, b, row, col| {
            range.clone().map(|i| a[row * 70 + i] * b[i * 50 + col]).sum()
        });
        assert!(sentence.contains(name), "{sentence}");
    }
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
#[allow(clippy::float_cmp)] // products of small integers are exact
fn the_right_product_is_computed_panel_by_panel() {
    // Two rows a panel, and one in the last.
    let n = 3_usize << 20;
    let problem = Problem { fill: Fill::Integers, ..problem(5, n as u64, 1) };
    let operands = Operands::new(&problem).unwrap();
    let Operands::F32 { a, b } = &operands else { unreachable!() };
    let words = right_product(&problem, &operands).unwrap();
    assert_eq!(words.len(), 5 * n);
    for (row, a) in a.iter().enumerate() {
        let row = &words[row * n..(row + 1) * n];
        assert!(row.iter().zip(b).all(|(&word, b)| f32::from_bits(word) == a * b));
    }
    let integers = Problem { dtype: Dtype::I32, ..problem };
    let Operands::I32 { a, b } = Operands::new(&integers).unwrap() else { unreachable!() };
    let words = right_product(&integers, &Operands::I32 { a: a.clone(), b: b.clone() }).unwrap();
    assert_eq!((words[0], words[4 * n + 1]), ((a[0] * b[0]).0 as u32, (a[4] * b[1]).0 as u32));
}

#[test]
fn only_a_large_product_of_rounded_sums_has_a_twin() {
    let large = problem(100_000, 100_000, 100_000);
    assert_eq!(twin(&large), Some(Problem { fill: Fill::Integers, ..large }));
    assert_eq!(twin(&Problem { fill: Fill::Integers, ..large }), None);
    assert_eq!(twin(&problem(10, 10, 10)), None);
}

#[test]
fn the_hosts_bytes_are_those_of_the_panel_and_of_what_the_method_adds() {
    // Every row is in one panel: 16 bytes an element of C, 12 for each of B and of A's rows.
    assert_eq!(host_bytes(&problem(100, 1000, 10)), 16 * 100_000 + 12 * (10_000 + 1000));
    // 83 rows a panel.
    let large = problem(100_000, 100_000, 100_000);
    assert_eq!(host_bytes(&Problem { dtype: Dtype::I32, ..large }), 4 * 8_300_000);
    assert_eq!(host_bytes(&large), 4 * 8_300_000 + 4 * 20_000_000_000);
}
