//! Whether a problem fits the memory there is: said before anything is allocated.

use anyhow::{Result, ensure};

use crate::device::Device;
use crate::host;
use crate::info::Kind;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::verify;

/// Bytes of A, B, C and the workspace.
pub fn device_bytes(problem: &Problem, workspace_elements: u64) -> u64 {
    let elements = [problem.a_elements(), problem.b_elements(), problem.c_elements(), workspace_elements];
    elements.iter().fold(0_u64, |sum, &elements| sum.saturating_add(elements.saturating_mul(4)))
}

/// Fails if the problem does not fit the device or the host.
///
/// The host holds A and B, and of C no more than a panel of rows at a time (see `verify`).
pub fn ensure_fits(problem: &Problem, plan: Option<&Plan>, device: &dyn Device) -> Result<()> {
    let size = format!("{}×{}×{}", problem.m, problem.n, problem.k);
    let workspace = plan.map_or(0, |plan| plan.workspace_elements);
    let on_device = device_bytes(problem, workspace);
    let free = device.free_bytes()?;
    let operands = problem.a_elements().saturating_add(problem.b_elements()).saturating_mul(4);
    let on_host = operands.saturating_add(verify::host_bytes(problem));
    if device.info().kind == Kind::Cuda {
        ensure!(
            on_device <= free,
            "a problem of {size} needs {on_device} bytes on the GPU, but only {free} are free; choose a smaller --size"
        );
        let available = host::available_bytes();
        ensure!(
            on_host <= available,
            "a problem of {size} needs {on_host} bytes on the host, but only {available} are available; choose a smaller --size"
        );
    } else {
        let needed = on_device.saturating_add(on_host);
        ensure!(
            needed <= free,
            "a problem of {size} needs {needed} bytes on the host, with the simulated GPU's memory, but only {free} are available; choose a smaller --size"
        );
    }
    Ok(())
}

/// Fails if the problem does not fit the host, on which it is computed.
pub fn ensure_fits_host(problem: &Problem) -> Result<()> {
    let needed = device_bytes(problem, 0).saturating_add(verify::host_bytes(problem));
    let available = host::available_bytes();
    ensure!(
        needed <= available,
        "a problem of {}×{}×{} needs {needed} bytes on the host, but only {available} are available; choose a smaller --size",
        problem.m,
        problem.n,
        problem.k
    );
    Ok(())
}
