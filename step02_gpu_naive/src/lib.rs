//! Step 2: one thread per element of C. All operands are in global memory.

use anyhow::Result;
use plan::{DefaultSize, DeviceInfo, Dtype, Plan, Problem, Specialisation, Step, Variant};

/// Columns and rows of threads in a block. A warp covers 32 neighbouring columns of one row of C. (On an H100, 16 rows are 8 %
/// faster than 32, because four blocks of 512 threads fill an SM more evenly than two of 1024.)
pub const BLOCK: [u32; 2] = [32, 16];

/// The step.
pub const STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    folder: "step02_gpu_naive",
    title: "one thread per element of C",
    plan,
    specialisations,
    variants: &[Variant::same_launch("uncoalesced").planned(plan_uncoalesced), Variant::rust()],
    default_size: DefaultSize::cubes(2048, 256),
    host: None,
};

fn plan(problem: &Problem, _device: &DeviceInfo) -> Result<Plan> {
    let specialisation = Specialisation::single(problem.dtype, &[]);
    Ok(Plan::tiled(problem, specialisation, BLOCK, BLOCK))
}

/// Plans the step's block with its axes swapped on C, so that threadIdx.x counts rows.
fn plan_uncoalesced(problem: &Problem, _device: &DeviceInfo) -> Result<Plan> {
    let specialisation = Specialisation::single(problem.dtype, &[]);
    Ok(Plan::tiled(problem, specialisation, BLOCK, [BLOCK[1], BLOCK[0]]))
}

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    vec![Specialisation::single(dtype, &[])]
}
