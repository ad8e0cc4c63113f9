//! The kernel on tensor cores with numbers chosen by the proof of its bound: each product stays within the bound, or is multiplied
//! by the FP32 units.

use anyhow::{Result, ensure};
use beyond::STEP;
use common::Problem;
use common::basics::Operands;
use common::code::{Source, file_of};
use common::device::{Device as _, Matrices, Product, Session, SimDevice, SimOptions};
use findings::HazardReport;

const U: f64 = 1.0 / (1 << 24) as f64;
/// More than one tile in each direction, with partial tiles at the edges and along K.
const SIZE: [usize; 3] = [66, 130, 180];

/// A product, the hazards that were found, and the bound of the theorem in units of u·|A||B|.
struct Found {
    c: Vec<f32>,
    hazards: Vec<String>,
    bound: f64,
}

/// Multiplies on the simulator with the committed PTX, changed by `edit`.
fn multiply(
    [m, n, k]: [usize; 3],
    [a, b]: &[Vec<f32>; 2],
    check: bool,
    edit: impl Fn(&str) -> String,
) -> Result<Found> {
    let mut device = SimDevice::new(SimOptions { check, ..SimOptions::default() });
    let problem = Problem::uniform([m, n, k].map(|side| side as u64));
    let variant = STEP.variant("tensor_cores")?;
    let plan = STEP.plan_of(Some(variant))(&problem, device.info())?;
    let source = Source::read(&file_of(&STEP, Some(variant)))?;
    let code = source.code(&plan.specialisation, device.info())?;
    let code = code.with_ptx(edit(&code.ptx));
    let matrices = Matrices::allocate(&mut device, &problem)?;
    matrices.upload(&mut device, &Operands::F32 { a: a.clone(), b: b.clone() })?;
    let (slices, part) = (f64::from(plan.slices()), if plan.specialisation.name.contains("p16") { 16.0 } else { 32.0 });
    Session::sharing(&mut device, plan, &code, &matrices)?.run(&mut device)?;
    let mut bytes = vec![0; m * n * 4];
    device.read(matrices.c, 0, &mut bytes)?;
    let k = k as f64;
    Ok(Found {
        c: bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect(),
        hazards: device.observations().hazards.unwrap_or_default().iter().map(HazardReport::text).collect(),
        bound: (1.0 + 1.0 / 512.0) * (12.0 + 10.0 * part / 16.0 + (k / part).ceil() + k / 800.0 + slices),
    })
}

/// Elements that look random, in [-1, 1).
fn random(elements: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..elements).map(|_| next()).collect()
}

/// A and B of this size. `a` and `b` make an element from a random one, its line (row of A, column of B) and its step of k.
fn matrices(
    [m, n, k]: [usize; 3],
    a: impl Fn(f32, usize, usize) -> f32,
    b: impl Fn(f32, usize, usize) -> f32,
) -> [Vec<f32>; 2] {
    let of_a = random(m * k, 1).into_iter().enumerate().map(|(at, x)| a(x, at / k, at % k));
    let of_b = random(k * n, 2).into_iter().enumerate().map(|(at, x)| b(x, at % n, at / n));
    [of_a.collect(), of_b.collect()]
}

/// The largest error in units of u·|A||B|. Fails if only one of C and the right product is infinite or NaN at a place.
fn worst([m, n, k]: [usize; 3], [a, b]: &[Vec<f32>; 2], c: &[f32]) -> Result<f64> {
    let mut worst = 0.0_f64;
    for at in 0..m * n {
        let terms = (0..k).map(|step| f64::from(a[at / n * k + step]) * f64::from(b[step * n + at % n]));
        let (sum, magnitude) = terms.fold((0.0, 0.0), |(sum, magnitude), term| (sum + term, magnitude + term.abs()));
        let found = f64::from(c[at]);
        let finite = sum.abs() <= f64::from(f32::MAX);
        let same = if finite { found.is_finite() } else { found.is_nan() == sum.is_nan() && !found.is_finite() };
        ensure!(same, "C[{}][{}] is {found} and not {sum}", at / n, at % n);
        if magnitude > 0.0 && finite {
            worst = worst.max((found - sum).abs() / magnitude / U);
        }
    }
    Ok(worst)
}

/// The largest error of a product of these elements. Fails if it is above the bound.
fn error(size: [usize; 3], a: impl Fn(f32, usize, usize) -> f32, b: impl Fn(f32, usize, usize) -> f32) -> Result<f64> {
    error_of(size, &matrices(size, a, b), false)
}

/// The largest error of A·B. Fails if it is above the bound or if there are hazards; `check`, ten times slower, looks for them.
fn error_of(size: [usize; 3], all: &[Vec<f32>; 2], check: bool) -> Result<f64> {
    let product = multiply(size, all, check, str::to_owned)?;
    ensure!(product.hazards.is_empty(), "{}", product.hazards.join("\n"));
    let worst = worst(size, all, &product.c)?;
    ensure!(worst <= product.bound, "an error of {worst} u, and the bound is {} u", product.bound);
    Ok(worst)
}

#[test]
fn ordinary_numbers_of_any_size_stay_far_below_the_bound() -> Result<()> {
    for size in [SIZE, [1, 1, 1], [64, 128, 64], [129, 127, 65], [3, 300, 33], [65, 9, 700], [40, 130, 1500]] {
        let worst = error_of(size, &matrices(size, |x, _, _| x, |x, _, _| x), size[2] < 700)?;
        ensure!(worst < 6.0, "{size:?}: {worst}");
    }
    Ok(())
}

#[test]
fn what_splitting_loses_comes_close_to_its_bound() -> Result<()> {
    let tie = 1.0 + 4093.0 * f32::EPSILON;
    let size = [SIZE[0], SIZE[1], 128];
    let worst = error(size, |_, _, _| tie, |_, _, _| tie)?;
    ensure!((7.9..8.1).contains(&worst), "{worst}");
    Ok(())
}

#[test]
fn lines_of_all_scales_are_as_accurate() -> Result<()> {
    let scale = |line: usize| 2_f32.powi(line as i32 * 2 - 60);
    let worst = error(SIZE, |x, line, _| x * scale(line), |x, line, _| x * scale(line / 4))?;
    ensure!(worst < 6.0, "{worst}");
    // Subnormal numbers, and the largest ones.
    error(SIZE, |x, _, _| x * 2_f32.powi(-127) * 0.01, |x, _, _| x * 2_f32.powi(100))?;
    error(SIZE, |x, _, _| x * f32::MAX, |x, _, _| x * 2_f32.powi(-20))?;
    Ok(())
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "takes a quarter of a minute"]
    fn large_elements_that_meet_zeros_hide_nothing() -> Result<()> {
        // The largest element of each row meets a zero; all others are smaller by this power of two.
        for powers in [20, 25, 26, 27, 28, 60] {
            let large = |x: f32, _: usize, k: usize| if k == 7 { 2_f32.powi(powers) } else { x };
            let zero = |x: f32, _: usize, k: usize| if k == 7 { 0.0 } else { x };
            error(SIZE, large, zero)?;
            error(SIZE, zero, large)?;
            // The few elements that meet no zero are this small; then both operands have such elements.
            let few = |x: f32, line: usize, k: usize| {
                if k % 90 == line % 2 { x * 2_f32.powi(-powers) } else { large(x, line, k) }
            };
            error(SIZE, few, |x, line, k| if k % 90 == line % 2 { x } else { 0.0 })?;
            error(SIZE, few, few)?;
        }
        // Exponents spread evenly over 2⁻⁶⁰ to 2⁶⁰, then over all exponents, with products that are all near 1 or spread as well.
        let spread = |x: f32, line: usize, k: usize| x * 2_f32.powi(((line * 31 + k * 17) % 121) as i32 - 60);
        error_of(SIZE, &matrices(SIZE, spread, spread), true)?;
        let exponent = |k: usize| (k * 17 % 254) as i32 - 126;
        let wide = |x: f32, _: usize, k: usize| (1.0 + x.abs()).copysign(x) * 2_f32.powi(exponent(k));
        error(SIZE, wide, |x, _, k| x * 2_f32.powi(-exponent(k)))?;
        error(SIZE, wide, |x, _, _| x * 2_f32.powi(-20))?;
        Ok(())
    }
}

#[test]
fn infinity_and_nan_are_what_fp32_gives() -> Result<()> {
    for special in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let one = |x: f32, line: usize, k: usize| if (line, k) == (5, 9) { special } else { x };
        error(SIZE, one, |x, _, _| x)?;
        error(SIZE, |x, _, _| x, one)?;
        error(SIZE, one, |x, line, k| if line == 3 && k == 9 { 0.0 } else { x })?;
    }
    Ok(())
}

#[test]
fn integers_are_exact_as_long_as_fp32_has_them() -> Result<()> {
    // Integers of up to 8, 11, 12, 16 and 24 bits, with partners that keep all sums below 2²⁴.
    for (bits, others) in [(8, 256.0), (11, 40.0), (12, 20.0), (16, 1.0)] {
        let large = |x: f32, _: usize, _: usize| (x * 2_f32.powi(bits)).round();
        let worst = error(SIZE, large, |x, _, _| (x * others).round())?;
        ensure!(worst <= 0.0, "{bits} bits: {worst}");
    }
    let near = |_: f32, _: usize, k: usize| [16_777_210.0, 3.0].get(k).copied().unwrap_or(0.0);
    ensure!(error(SIZE, near, |_, _, _| 1.0)? <= 0.0);
    Ok(())
}

#[test]
fn a_wait_a_fence_or_a_barrier_that_is_missing_is_found() -> Result<()> {
    // More tiles than stages, so that each of them is overwritten.
    let size = [64, 128, 700];
    let all = matrices(size, |x, _, _| x, |x, _, _| x);
    for (left_out, says) in [
        ("wgmma.wait_group.sync.aligned 1;", "before the wait"),
        ("fence.proxy.async.shared::cta;", "fence"),
        ("bar.sync", "copies to it asynchronously"),
    ] {
        let without = |ptx: &str| {
            let matmul = ptx.split_once(".entry again(").map_or(ptx, |(matmul, _)| matmul);
            let (before, after) = ptx.split_at(matmul.rfind(left_out).unwrap_or(0));
            format!("{before}// {after}")
        };
        let product = multiply(size, &all, true, without);
        let said = product.map_or_else(|error| format!("{error:#}"), |product| product.hazards.join("\n"));
        ensure!(said.contains(says), "without {left_out}: {said}");
    }
    Ok(())
}
