//! The host side of one product, with nothing of the course around it: what the page "The host side" of the book shows.

#![allow(unsafe_code, reason = "launches a kernel")]

// ANCHOR: program
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use cudarc::driver::sys::{self, CUevent_flags::CU_EVENT_DEFAULT};
use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

const KERNEL: &str = include_str!("../../step02_gpu_naive/ptx/kernel-f32.sm75.ptx");
const BLOCK: u32 = 16;

/// C = A·B on the GPU, and the time that the kernel took in milliseconds.
fn multiply(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Result<(Vec<f32>, f32)> {
    // SAFETY: this only asks whether the driver's library can be opened.
    let driver = unsafe { sys::is_culib_present() };
    ensure!(driver, "no NVIDIA driver was found; run this on a machine with an NVIDIA GPU");
    let context = CudaContext::new(0).context("the first GPU does not open; run cargo course doctor")?;
    let stream = context.default_stream();

    // Load the kernel.
    let module = context.load_module(Ptx::from_src(KERNEL))?;
    let matmul = module.load_function("matmul")?;

    // Allocate on the GPU, and copy A and B there.
    let a = stream.clone_htod(a)?;
    let b = stream.clone_htod(b)?;
    let mut c = stream.alloc_zeros::<f32>(m * n)?;

    // Launch between two events, which take the time.
    let launch = LaunchConfig {
        grid_dim: ((n as u32).div_ceil(BLOCK), (m as u32).div_ceil(BLOCK), 1),
        block_dim: (BLOCK, BLOCK, 1),
        shared_mem_bytes: 0,
    };
    let (rows, cols, inner) = (m as i32, n as i32, k as i32);
    let begin = stream.record_event(Some(CU_EVENT_DEFAULT))?;
    let mut call = stream.launch_builder(&matmul);
    call.arg(&a).arg(&b).arg(&mut c).arg(&rows).arg(&cols).arg(&inner);
    // SAFETY: these are the kernel's parameters, and the matrices are as large as it takes them to be.
    unsafe { call.launch(launch) }?;
    let end = stream.record_event(Some(CU_EVENT_DEFAULT))?;

    // Copy C back. This waits for the kernel.
    let c = stream.clone_dtoh(&c)?;
    Ok((c, begin.elapsed_ms(&end)?))
}
// ANCHOR_END: program

/// Multiplies by a matrix of ones, so that each element of C is the sum of a row of A.
fn run() -> Result<f32> {
    let [m, n, k] = [300, 200, 100];
    let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32).collect();
    let (c, milliseconds) = multiply(&a, &vec![1.0; k * n], [m, n, k])?;
    for (row, (of_a, of_c)) in a.chunks(k).zip(c.chunks(n)).enumerate() {
        let sum: f32 = of_a.iter().sum();
        ensure!(
            of_c.iter().all(|element| (element - sum).abs() < 0.5),
            "row {row} of C is wrong; every element should be {sum}"
        );
    }
    Ok(milliseconds)
}

fn main() -> ExitCode {
    match run() {
        Ok(milliseconds) => {
            println!("C is right; the kernel took {milliseconds} ms");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_multiplies_or_says_in_one_sentence_what_is_missing() {
        let result = run();
        assert_eq!(main(), if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(2) });
        match result {
            Ok(milliseconds) => assert!(milliseconds > 0.0, "{milliseconds}"),
            Err(error) => {
                let sentence = format!("{error:#}");
                assert!(sentence.contains("; ") && !sentence.contains('\n'), "{sentence}");
                assert!(!sentence.contains("is wrong"), "{sentence}");
            }
        }
    }
}
