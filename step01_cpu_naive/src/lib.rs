//! Step 1: three loops on the host. They define the product; every later step is checked against it.

use std::num::Wrapping;
use std::ops::{Add, Mul};

use anyhow::Result;
use plan::{Arg, DefaultSize, DeviceInfo, Dtype, HostProduct, Launch, Plan, Problem, Specialisation, Step};

/// The step. It runs on the host; `--device sim` or `--device cuda` runs the same loops as one GPU thread.
pub const STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    folder: "step01_cpu_naive",
    title: "three loops on the host",
    plan,
    specialisations,
    variants: &[],
    default_size: DefaultSize { host: [512; 3], ..DefaultSize::everywhere([64; 3]) },
    host: Some(HostProduct { f32: matmul::<f32>, i32: matmul::<Wrapping<i32>> }),
};

// ANCHOR: loops
/// C (m×n) = A (m×k) · B (k×n), all row-major: element (row, col) of C is `c[row * n + col]`.
///
/// # Panics
/// Panics where a slice is shorter than its matrix.
pub fn matmul<E>(a: &[E], b: &[E], c: &mut [E], [m, n, k]: [usize; 3])
where
    E: Copy + Default + Add<Output = E> + Mul<Output = E>,
{
    for row in 0..m {
        for col in 0..n {
            let mut sum = E::default();
            for i in 0..k {
                sum = sum + a[row * k + i] * b[i * n + col];
            }
            c[row * n + col] = sum;
        }
    }
}
// ANCHOR_END: loops

/// One thread computes everything: the plan of `kernel.cu`.
fn plan(problem: &Problem, _device: &DeviceInfo) -> Result<Plan> {
    let [m, n, k] = [problem.m, problem.n, problem.k].map(|size| Arg::Int(size as i32));
    let args = vec![Arg::A(0), Arg::B(0), Arg::C(0), m, n, k];
    Ok(Plan {
        specialisation: Specialisation::single(problem.dtype, &[]),
        tile: [problem.n as u32, problem.m as u32],
        tile_k: 1,
        workspace_elements: 0,
        launches: vec![Launch { entry: "matmul".into(), grid: [1, 1, 1], block: [1, 1, 1], shared_bytes: 0, args }],
    })
}

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    vec![Specialisation::single(dtype, &[])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_two_by_three_and_three_by_two() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let b = [7.0, 8.0, 9.0, 10.0, 11.0, 12.0];
        let mut c = [f32::NAN; 4];
        matmul(&a, &b, &mut c, [2, 2, 3]);
        assert_eq!(c.map(f32::to_bits), [58.0, 64.0, 139.0, 154.0].map(f32::to_bits));
    }

    #[test]
    fn integers_wrap_around() {
        let mut c = [Wrapping(0)];
        matmul(&[Wrapping(i32::MAX), Wrapping(1)], &[Wrapping(2), Wrapping(3)], &mut c, [1, 1, 2]);
        assert_eq!(c[0].0, 1);
    }
}
