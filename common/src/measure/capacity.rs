//! Checks whether a problem fits the memory, before anything is allocated.

use anyhow::{Result, ensure};

use crate::basics::host;
use crate::device::Device;
use crate::verify;
use plan::{Kind, Plan, Problem};

/// Fails if the problem does not fit the device or the host, of which the device's analyses (`--check`, `--counters`, `--trace`) take
/// this many bytes.
///
/// The host holds A, B and C, and what `verify` takes.
pub fn ensure_fits(problem: &Problem, plan: Option<&Plan>, device: &dyn Device, analyses: u64) -> Result<()> {
    let size = format!("{}×{}×{}", problem.m, problem.n, problem.k);
    let workspace = plan.map_or(0, |plan| plan.workspace_elements);
    let on_device = problem.device_bytes(workspace);
    let free = device.free_bytes()?;
    let on_host = problem.device_bytes(0).saturating_add(verify::host_bytes(problem));
    if device.info().kind == Kind::Cuda {
        ensure!(
            on_device <= free,
            "a problem of {size} needs {on_device} bytes on the GPU, but only {free} are free; choose a smaller --size"
        );
        ensure_fits_host(problem, on_host)?;
    } else {
        let unwatched = on_device.saturating_add(on_host);
        let needed = unwatched.saturating_add(analyses);
        let most = free.min(host::total_bytes() / 4);
        ensure!(
            needed <= most || unwatched > most,
            "to watch a problem of {size} takes {needed} bytes on the host, {analyses} of them for --check, --counters and --trace, but only {most} are available, a quarter of its memory at most; choose a smaller --size, or run without them"
        );
        ensure!(
            unwatched <= most,
            "a problem of {size} needs {unwatched} bytes on the host, with the simulated GPU's memory, but only {most} are available, a quarter of its memory at most; choose a smaller --size"
        );
    }
    Ok(())
}

/// Fails if the problem, which needs this many bytes of the host, does not fit its memory.
pub fn ensure_fits_host(problem: &Problem, needed: u64) -> Result<()> {
    let (Problem { m, n, k, .. }, available) = (problem, host::available_bytes());
    ensure!(
        needed <= available,
        "a problem of {m}×{n}×{k} needs {needed} bytes on the host, but only {available} are available; choose a smaller --size"
    );
    Ok(())
}
