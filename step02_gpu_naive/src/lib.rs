//! Step 2: one thread per element of C. All operands are in global memory.

use anyhow::Result;
use plan::{
    Arg, DefaultSize, DeviceInfo, Dtype, Launch, Plan, Problem, Rows, Specialisation, Step, Variant, launches_by_rows,
};

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

// ANCHOR: plan
/// Plans one thread for each element of C, in a grid that is rounded up to cover C.
fn plan(problem: &Problem, _device: &DeviceInfo) -> Result<Plan> {
    let [_, n, k] = problem.sizes();
    let launch = |rows: Rows| Launch {
        entry: "matmul".into(),
        grid: [n.div_ceil(BLOCK[0]), rows.count.div_ceil(BLOCK[1]), 1],
        block: [BLOCK[0], BLOCK[1], 1],
        shared_bytes: 0,
        args: vec![rows.of_a(), Arg::B(0), rows.of_c(), rows.count.into(), n.into(), k.into()],
    };
    Ok(Plan {
        specialisation: Specialisation::single(problem.dtype, &[]),
        tile: BLOCK,
        tile_k: 1,
        workspace_elements: 0,
        launches: launches_by_rows(problem, BLOCK[1], launch),
    })
}
// ANCHOR_END: plan

/// Plans the step's block with its axes swapped on C, so that threadIdx.x counts rows.
fn plan_uncoalesced(problem: &Problem, _device: &DeviceInfo) -> Result<Plan> {
    let specialisation = Specialisation::single(problem.dtype, &[]);
    Ok(Plan::tiled(problem, specialisation, BLOCK, [BLOCK[1], BLOCK[0]]))
}

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    vec![Specialisation::single(dtype, &[])]
}
