//! The kernel `tensor_cores` with numbers that TF32 cannot split: FP32 units compute their tile, and no other.

use anyhow::{Context, Result};
use beyond::STEP;
use common::Problem;
use common::basics::matrix::Operands;
use common::code::{Source, file_of};
use common::device::product::{Matrices, Product};
use common::device::session::Session;
use common::device::{self, SimOptions};

/// Two tiles of 64×128, side by side; a K for which the kernel takes tensor cores.
const SIZE: [u64; 3] = [64, 256, 1024];
const TILE_N: usize = 128;

fn product(a: Vec<f32>, b: Vec<f32>) -> Result<Vec<f32>> {
    let mut device = device::open(device::Choice::Sim, &SimOptions::default())?;
    let device = device.as_mut();
    let problem = Problem::uniform(SIZE);
    let variant = STEP.variant("tensor_cores")?;
    let plan = STEP.plan_of(Some(variant))(&problem, device.info())?;
    let source = Source::read(&file_of(&STEP, Some(variant)))?;
    let code = source.code(&plan.specialisation, device.info(), source.committed_folder().as_deref())?;
    let matrices = Matrices::allocate(device, &problem)?;
    matrices.upload(device, &Operands::F32 { a, b })?;
    Session::sharing(device, plan, &code, &matrices)?.run(device)?;
    let mut bytes = vec![0; problem.c_elements() as usize * 4];
    device.read(matrices.c, 0, &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect())
}

/// Ordinary numbers, and zeros among them.
fn ordinary() -> Result<[Vec<f32>; 2]> {
    let Operands::F32 { mut a, mut b } = Operands::new(&Problem::uniform(SIZE))? else {
        unreachable!("uniform is f32")
    };
    a.iter_mut().step_by(7).for_each(|x| *x = 0.0);
    b.iter_mut().step_by(5).for_each(|x| *x = -0.0);
    Ok([a, b])
}

/// Whether each of the two tiles is what FP32 units compute, one multiply-add after the other, in the first rows.
fn computed_by_fp32_units(a: &[f32], b: &[f32], c: &[f32]) -> [bool; 2] {
    let [_, n, k] = SIZE.map(|side| side as usize);
    let same = |row: usize, col: usize| {
        let sum = (0..k).fold(0_f32, |sum, at| a[row * k + at].mul_add(b[at * n + col], sum));
        let found = c[row * n + col];
        found.to_bits() == sum.to_bits() || (found.is_nan() && sum.is_nan())
    };
    [0, 1].map(|tile| (0..4).all(|row| (tile * TILE_N..(tile + 1) * TILE_N).step_by(3).all(|col| same(row, col))))
}

#[test]
fn ordinary_numbers_and_zeros_are_left_to_the_tensor_cores() -> Result<()> {
    let [a, b] = ordinary()?;
    let c = product(a.clone(), b.clone())?;
    assert_eq!(computed_by_fp32_units(&a, &b, &c), [false, false]);
    // The smallest number that can be split.
    let mut smallest = a;
    smallest[3] = 2_f32.powi(-113);
    let c = product(smallest.clone(), b.clone())?;
    assert_eq!(computed_by_fp32_units(&smallest, &b, &c), [false, false]);
    Ok(())
}

#[test]
fn what_tf32_cannot_split_fp32_units_multiply() -> Result<()> {
    let below = f32::from_bits(2_f32.powi(-113).to_bits() - 1);
    let numbers = [1e-40, -f32::from_bits(1), below, f32::MAX, -f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    for (at, number) in numbers.into_iter().enumerate() {
        // In B it belongs to one tile of C, in A to both.
        let [a, mut b] = ordinary()?;
        let column = [5, TILE_N + 77][at % 2];
        b[(at * 131) * SIZE[1] as usize + column] = number;
        let c = product(a.clone(), b.clone()).with_context(|| format!("{number:e} in B"))?;
        assert_eq!(computed_by_fp32_units(&a, &b, &c), [at % 2 == 0, at % 2 == 1], "{number:e} in B");
        let [mut a, b] = ordinary()?;
        a[1021 + at] = number;
        let c = product(a.clone(), b.clone()).with_context(|| format!("{number:e} in A"))?;
        assert_eq!(computed_by_fp32_units(&a, &b, &c), [true, true], "{number:e} in A");
    }
    Ok(())
}
