//! Wrong products, and what the whole check says of them.

use super::{HostRows, Shape, verify};
use crate::matrix::Operands;
use crate::problem::{Dtype, Fill, Problem};

const SHAPE: Shape = Shape { tile: [32, 32], tile_k: 32 };

/// A wrong product: element (row, col) is what `value` makes of A and B.
fn wrong(problem: &Problem, value: impl Fn(&[f32], &[f32], usize, usize) -> f32) -> String {
    let operands = Operands::new(problem).unwrap();
    let Operands::F32 { a, b } = &operands else { unreachable!() };
    let (m, n) = (problem.m as usize, problem.n as usize);
    let words: Vec<u32> = (0..m * n).map(|place| value(a, b, place / n, place % n).to_bits()).collect();
    let verdict = verify(problem, &operands, SHAPE, &mut HostRows { words: &words, n: problem.n }).unwrap();
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
