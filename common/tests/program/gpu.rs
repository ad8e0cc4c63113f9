//! Tests that need a GPU: cuBLAS and the clock. Without a GPU or cuBLAS they are shown as ignored, with the reason.

use anyhow::{Result, ensure};
use common::basics::Operands;
use common::device::{CublasProduct, CudaDevice, Matrices, Product, cublas};
use common::measure::{Baseline, Cache, L2, timing};
use common::verify::verify_on;
use libtest_mimic::Trial;
use plan::{Dtype, Fill, Problem};

/// Three different edges, so that swapped operands or leading dimensions show.
const PROBLEM: Problem = Problem { m: 70, n: 45, k: 129, dtype: Dtype::F32, fill: Fill::Uniform, seed: 3 };

pub fn trials() -> Vec<Trial> {
    // Looks for cuBLAS only if there is a GPU for it.
    let needs = CudaDevice::open(0).map(drop).and_then(|()| cublas::find().map(drop));
    let trials = [
        trial("the_row_major_product_of_cublas_is_right", product),
        trial("cublas_is_timed_with_a_flushed_cache", flushed),
        trial("the_baseline_has_a_version_and_a_share", baseline),
    ];
    super::needing("a GPU and cuBLAS", needs, trials)
}

fn trial(name: &str, test: fn(&mut CudaDevice, &Operands, &Matrices) -> Result<()>) -> Trial {
    super::trial(name, move || {
        let mut device = CudaDevice::open(0)?;
        let operands = Operands::new(&PROBLEM)?;
        let matrices = Matrices::allocate(&mut device, &PROBLEM)?;
        test(&mut device, &operands, &matrices)?;
        matrices.release(&mut device)
    })
}

fn product(device: &mut CudaDevice, operands: &Operands, matrices: &Matrices) -> Result<()> {
    let library = CublasProduct::new(device, matrices)?;
    ensure!(library.first_run().get().is_none(), "nothing has run yet");
    let found = verify_on(device, &library, &PROBLEM, operands)?;
    ensure!(found.ok, "{}", found.diagnosis.unwrap_or_default());
    ensure!(library.first_run().get().is_some_and(|ms| ms > 0.0), "the first run has no time");
    Ok(())
}

fn flushed(device: &mut CudaDevice, operands: &Operands, matrices: &Matrices) -> Result<()> {
    let library = CublasProduct::new(device, matrices)?;
    let cache = &mut Cache::flushed(device)?;
    let timing = timing::time(device, &library, operands, Some(3), cache)?;
    ensure!(timing.kernel_ms.min > 0.0 && timing.products_per_sample == 1, "{timing:?}");
    ensure!(timing.l2 == Some(L2::Flushed) && timing.samples == 3, "{timing:?}");
    Ok(())
}

fn baseline(device: &mut CudaDevice, operands: &Operands, matrices: &Matrices) -> Result<()> {
    let first = Baseline::run(device, matrices, operands, Some(3), &mut Cache::warm(), None);
    ensure!(first.ok == Some(true) && first.share.is_none(), "{}", first.words());
    ensure!(first.version == Some(cublas::find()?), "{:?}", first.version);
    let second = Baseline::run(device, matrices, operands, Some(3), &mut Cache::warm(), first.timing.as_ref());
    ensure!(second.share.is_some_and(|share| share > 0.0), "{}", second.words());
    Ok(())
}
