//! The host driver of step 1, which needs no GPU.
//!
//! `cargo run --release -p step01_cpu_naive -- --help` lists its options.

use std::process::ExitCode;

use anyhow::Result;
use common::{Asked, Host, HostProduct, Report, random_matrices, run};
use step01_cpu_naive::{STEP, matmul};

fn main() -> ExitCode {
    run(&STEP, multiply)
}

/// The loops for each type of elements.
const LOOPS: HostProduct = HostProduct { f32: matmul, i32: matmul };

/// Computes C = A·B with three loops, verifies C, times the loops, and reports.
pub fn multiply(asked: &Asked) -> Result<Report> {
    let mut host = Host::open(asked)?;
    let problem = host.problem();
    let (a, b) = random_matrices(&problem)?;

    let mut c = host.allocate(problem.c_elements())?;
    host.multiply(LOOPS, &a, &b, &mut c)?;

    let verdict = host.verify(&a, &b, &c)?;
    let times = host.time(&a, &b, &mut c, &verdict)?;
    host.report(verdict, times)
}
