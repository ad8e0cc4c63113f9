//! The host driver of step 5: what the processor does around the kernel.
//!
//! `cargo run --release -p step05_thread_tile -- --help` lists its options.

use std::process::ExitCode;

use anyhow::Result;
use common::{Asked, Gpu, Report, random_matrices, run};
use step05_thread_tile::STEP;

fn main() -> ExitCode {
    run(&STEP, multiply)
}

/// Computes C = A·B on the GPU, verifies C, times the kernel, and reports.
pub fn multiply(asked: &Asked) -> Result<Report> {
    let mut gpu = Gpu::open(asked)?;
    let (problem, plan) = (gpu.problem(), gpu.plan()?);
    let matmul = gpu.compile(&plan)?;
    let (a, b) = random_matrices(&problem)?;

    let gpu_a = gpu.allocate("A", problem.a_elements())?;
    let gpu_b = gpu.allocate("B", problem.b_elements())?;
    let gpu_c = gpu.allocate("C", problem.c_elements())?;
    gpu.copy_to_device(&a, gpu_a)?;
    gpu.copy_to_device(&b, gpu_b)?;

    // The plan in lib.rs has the grid, the block, the shared memory and the arguments.
    for launch in &plan.launches {
        gpu.launch(&matmul, launch, &[gpu_a, gpu_b, gpu_c])?;
    }
    let c = gpu.copy_to_host(gpu_c)?;

    let verdict = gpu.verify(&a, &b, &c)?;
    let times = gpu.time(&verdict)?;
    gpu.report(verdict, times)
}
