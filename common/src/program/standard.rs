//! The host driver of kernels that have none of their own: those past the course, and step 1's on a device.

use anyhow::Result;

use crate::program::asked::Asked;
use crate::program::gpu::Gpu;
use crate::program::matrix::random_matrices;
use crate::program::report::Report;

/// Computes C = A·B on a device by the launches of any plan, verifies C, times the launches, and reports.
pub fn on_device(asked: &Asked) -> Result<Report> {
    let mut gpu = Gpu::open(asked)?;
    let (problem, plan) = (gpu.problem(), gpu.plan()?);
    let mut kernels = gpu.compile(&plan)?;
    let (a, b) = random_matrices(&problem)?;

    let mut arrays = vec![
        gpu.allocate("A", problem.a_elements())?,
        gpu.allocate("B", problem.b_elements())?,
        gpu.allocate("C", problem.c_elements())?,
    ];
    if plan.workspace_elements > 0 {
        arrays.push(gpu.allocate("workspace", plan.workspace_elements)?);
    }
    gpu.copy_to_device(&a, arrays[0])?;
    gpu.copy_to_device(&b, arrays[1])?;

    for launch in &plan.launches {
        gpu.allow_shared_bytes(&mut kernels, launch.shared_bytes)?;
        gpu.launch(&kernels, launch, &arrays)?;
    }
    let c = gpu.copy_to_host(arrays[2])?;

    let verdict = gpu.verify(&a, &b, &c)?;
    let times = gpu.time(&verdict)?;
    gpu.report(verdict, times)
}
