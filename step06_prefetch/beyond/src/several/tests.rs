//! The product on simulated GPUs: odd grids, shapes and panels; every message that is sent is received, and a wrong product
//! is noticed.

use std::sync::Arc;
use std::thread;

use common::basics::matrix::Operands;
use common::device::{Device as _, SimDevice, SimOptions};
use common::verify::right_product;
use common::{Dtype, Fill, Problem};
use proptest::prelude::*;

use super::grid::Grid;
use super::kernels::Kernels;
use super::link::PostLink;
use super::multiply::{Memory, Share, draw, multiply};
use super::plan::Panels;
use super::post::{Member, Post};
use super::verify::{freivalds, sampled};

/// A fault that is planted in one rank's block of C.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// One element is larger by one.
    Element,
    /// The first element is NaN.
    Nan,
}

/// What a run leaves: the bits of C, what the ranks' checks say, and messages that nobody received.
struct Left {
    c: Vec<u32>,
    verdicts: Vec<Option<String>>,
    messages: usize,
}

fn run(problem: Problem, grid: Grid, depth: u64, overlap: bool, fault: Fault) -> Left {
    let post = Arc::new(Post::default());
    let ranks: Vec<_> = (0..grid.gpus())
        .map(|rank| {
            let mut member = Member::new(rank, grid.gpus(), post.clone());
            thread::spawn(move || {
                let mut device = SimDevice::new(SimOptions::default());
                let mut link = PostLink::new(member.clone(), grid);
                let share = Share::new(&problem, Panels::new(grid, problem.k, depth), rank).unwrap();
                let kernels = Kernels::load(&mut device, share.m(), share.n()).unwrap();
                let memory = Memory::allocate(&mut device, &share).unwrap();
                draw(&mut device, &kernels, &share, &memory).unwrap();
                multiply(&mut device, &mut link, &kernels, &share, &memory, overlap).unwrap();
                let mut block = vec![0_f32; (share.m() * share.n()) as usize];
                device.read(memory.c(), 0, bytemuck::cast_slice_mut(&mut block)).unwrap();
                if rank == grid.gpus() - 1 && fault != Fault::None {
                    let planted = if fault == Fault::Nan { f32::NAN } else { block[0] + 1.0 };
                    device.write(memory.c(), 0, &planted.to_le_bytes()).unwrap();
                }
                let check = if problem.fill == Fill::Integers { freivalds } else { sampled };
                let verdict = check(&mut device, &mut member, &kernels, &share, &memory).unwrap();
                memory.release(&mut device).unwrap();
                (share, block, verdict.wrong)
            })
        })
        .collect();
    let mut c = vec![0; problem.c_elements() as usize];
    let mut verdicts = Vec::new();
    for rank in ranks {
        let (share, block, verdict) = rank.join().unwrap();
        for (row, values) in share.rows.clone().zip(block.chunks_exact(share.n() as usize)) {
            let at = (row * problem.n + share.cols.start) as usize;
            c[at..at + values.len()].iter_mut().zip(values).for_each(|(to, value)| *to = value.to_bits());
        }
        verdicts.push(verdict);
    }
    Left { c, verdicts, messages: post.left_over() }
}

fn problem([m, n, k]: [u64; 3], fill: Fill) -> Problem {
    Problem { m, n, k, dtype: Dtype::F32, fill, seed: 3 }
}

/// Whether two elements are the same number; 0 and -0 are.
fn same(found: &[u32], expected: &[u32]) -> bool {
    let number = |bits: &u32| if *bits == (-0.0_f32).to_bits() { 0 } else { *bits };
    found.iter().map(number).eq(expected.iter().map(number))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The product is exact, element for element, and no message is left.
    #[test]
    fn any_grid_gives_the_product(
        rows in 1_usize..4, cols in 1_usize..4,
        m in 3_u64..50, n in 3_u64..50, k in 1_u64..60, depth in 1_u64..70, overlap: bool,
    ) {
        let problem = problem([m, n, k], Fill::Integers);
        let left = run(problem, Grid { rows, cols }, depth, overlap, Fault::None);
        let expected = right_product(&problem, &Operands::new(&problem).unwrap()).unwrap();
        prop_assert!(same(&left.c, &expected));
        prop_assert!(left.verdicts.iter().all(Option::is_none), "{:?}", left.verdicts);
        prop_assert_eq!(left.messages, 0);
    }
}

#[test]
fn a_uniform_problem_passes_its_check_and_a_faulty_block_does_not() {
    let grid = Grid { rows: 2, cols: 3 };
    for (fill, fault, says) in [
        (Fill::Uniform, Fault::None, None),
        (Fill::Integers, Fault::None, None),
        (Fill::Integers, Fault::Element, Some("1 of 37 rows of C wrong, the first is 19")),
        (Fill::Integers, Fault::Nan, Some("1 of 37 rows of C wrong, the first is 19")),
        (Fill::Uniform, Fault::Nan, Some("C has NaN")),
    ] {
        let left = run(problem([37, 41, 53], fill), grid, 11, true, fault);
        // All ranks say the same.
        for verdict in &left.verdicts {
            match says {
                None => assert_eq!(verdict, &None),
                Some(says) => {
                    assert!(verdict.as_ref().is_some_and(|text| text.contains(says)), "{fault:?}: {verdict:?}");
                }
            }
        }
    }
}

#[test]
fn sampled_rows_notice_one_wrong_element() {
    // Eight rows of C: each is sampled.
    let left = run(problem([8, 20, 30], Fill::Uniform), Grid { rows: 2, cols: 2 }, 8, true, Fault::Element);
    for verdict in left.verdicts {
        assert!(verdict.is_some_and(|text| text.starts_with("1 elements of 8 sampled rows")));
    }
}
