//! Computes, verifies and times a product on the host.

use std::time::Instant;

use anyhow::Result;

use crate::basics::Operands;
use crate::basics::matrix::vec_of;
use crate::verify::{self, Verification, host_rows};
use plan::{HostProduct, Problem, Shape};

/// The most seconds, and the most samples, that a measurement on the host takes unless the user chooses.
const HOST_SECONDS: f64 = 2.0;
const HOST_SAMPLES: usize = 5;

/// Computes a product once on the host, into the bits of C's elements. Returns the milliseconds that it took.
pub fn multiply_on_host(problem: &Problem, host: HostProduct, operands: &Operands, c: &mut [u32]) -> f64 {
    let size = [problem.m as usize, problem.n as usize, problem.k as usize];
    let begin = Instant::now();
    match operands {
        Operands::F32 { a, b } => (host.f32)(a, b, bytemuck::cast_slice_mut(c), size),
        Operands::I32 { a, b } => (host.i32)(a, b, bytemuck::cast_slice_mut(c), size),
    }
    begin.elapsed().as_secs_f64() * 1e3
}

/// Takes `samples` of a product, or as many as time allows; each in milliseconds. The `first` run counts as a sample if there is no
/// time for another. Otherwise it was the warm-up.
pub fn samples_on_host(first: f64, samples: Option<usize>, mut again: impl FnMut() -> f64) -> Vec<f64> {
    let wanted = samples.unwrap_or_else(|| ((HOST_SECONDS * 1e3 / first.max(1e-6)) as usize).clamp(1, HOST_SAMPLES));
    if wanted == 1 { vec![first] } else { (0..wanted).map(|_| again()).collect() }
}

/// Computes on the host, `samples` times or as often as time allows, and verifies. Also returns each run's milliseconds.
pub fn time_on_host(problem: &Problem, host: HostProduct, samples: Option<usize>) -> Result<(Verification, Vec<f64>)> {
    let operands = Operands::new(problem)?;
    let mut words = vec_of::<u32>(problem.c_elements() as usize)?;
    words.fill(problem.dtype.poison());
    let mut product = || multiply_on_host(problem, host, &operands, &mut words);
    let first = product();
    let samples = samples_on_host(first, samples, product);
    let mut rows = host_rows(&words, problem.n);
    let verification = verify::verify(problem, &operands, Shape::whole(problem), &mut rows)?;
    Ok((verification, samples))
}
