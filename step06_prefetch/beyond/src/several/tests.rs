//! The product on simulated GPUs, with odd grids, shapes and panels; and a wrong product is noticed.

use common::basics::Operands;
use common::device::{SimDevice, SimOptions};
use common::verify::right_product;
use common::{Fill, Problem};
use proptest::prelude::*;

use super::{Gpu, Grid, Plan, Product, Sources, freivalds, length, sampled};

/// Changes the first element of the last GPU's block of C.
type Fault = fn(f32) -> f32;

/// The bits of C before the fault, and what the check says after it.
fn run(problem: Problem, grid: Grid, depth: u64, overlap: bool, fault: Fault) -> (Vec<u32>, Option<String>) {
    let mut gpus: Vec<Gpu> = Vec::new();
    gpus.resize_with(grid.gpus(), || Gpu::Simulated(Box::new(SimDevice::new(SimOptions::default()))));
    let plan = Plan::new(grid, [problem.m, problem.n, problem.k], depth).unwrap();
    let mut product = Product::allocate(&mut gpus, None, &mut Sources::read().unwrap(), plan, problem.seed).unwrap();
    product.draw(problem.fill).unwrap();
    product.multiply(overlap).unwrap();
    let mut c = vec![0; problem.c_elements() as usize];
    for share in &mut product.shares {
        let [rows, cols] = share.block.clone();
        let mut block = vec![0_f32; (length(&rows) * length(&cols)) as usize];
        let device = share.gpu.device().unwrap();
        device.read(share.c, 0, bytemuck::cast_slice_mut(&mut block)).unwrap();
        if share.rank == grid.gpus() - 1 {
            device.write(share.c, 0, &fault(block[0]).to_le_bytes()).unwrap();
        }
        for (row, values) in rows.zip(block.chunks_exact(length(&cols) as usize)) {
            let at = (row * problem.n + cols.start) as usize;
            c[at..at + values.len()].iter_mut().zip(values).for_each(|(to, value)| *to = value.to_bits());
        }
    }
    let check = if problem.fill == Fill::Integers { freivalds } else { sampled };
    let verdict = check(&mut product).unwrap();
    product.release().unwrap();
    (c, verdict.wrong)
}

fn problem(size: [u64; 3], fill: Fill) -> Problem {
    Problem { fill, seed: 3, ..Problem::uniform(size) }
}

/// Whether two elements are the same number; 0 and -0 are.
fn same(found: &[u32], expected: &[u32]) -> bool {
    let number = |bits: &u32| if *bits == (-0.0_f32).to_bits() { 0 } else { *bits };
    found.iter().map(number).eq(expected.iter().map(number))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The product is exact, element for element.
    #[test]
    fn any_grid_gives_the_product(
        rows in 1_usize..4, cols in 1_usize..4,
        m in 3_u64..50, n in 3_u64..50, k in 1_u64..60, depth in 1_u64..70, overlap: bool,
    ) {
        let problem = problem([m, n, k], Fill::Integers);
        let (c, wrong) = run(problem, Grid { rows, cols }, depth, overlap, |right| right);
        let expected = right_product(&problem, &Operands::new(&problem).unwrap()).unwrap();
        prop_assert!(same(&c, &expected));
        prop_assert_eq!(wrong, None);
    }
}

#[test]
fn a_product_passes_its_check_and_a_faulty_block_does_not() {
    const MORE: Fault = |right| right + 1.0;
    const NAN: Fault = |_| f32::NAN;
    // With eight rows of C, each is sampled.
    let (large, small) = (([37, 41, 53], Grid { rows: 2, cols: 3 }), ([8, 20, 30], Grid { rows: 2, cols: 2 }));
    for (fill, (size, grid), fault, says) in [
        (Fill::Uniform, large, (|right| right) as Fault, None),
        (Fill::Integers, large, |right| right, None),
        (Fill::Integers, large, MORE, Some("1 of 37 rows of C wrong, the first is 19")),
        (Fill::Integers, large, NAN, Some("1 of 37 rows of C wrong, the first is 19")),
        (Fill::Uniform, large, NAN, Some("C has NaN")),
        (Fill::Uniform, small, MORE, Some("1 elements of 8 sampled rows")),
    ] {
        let (_, wrong) = run(problem(size, fill), grid, 11, true, fault);
        let is_said = |says: &str| wrong.as_ref().is_some_and(|text| text.contains(says));
        assert!(says.map_or(wrong.is_none(), is_said), "{says:?}: {wrong:?}");
    }
}
