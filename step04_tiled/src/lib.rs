//! Step 4: each block computes a TILE×TILE tile of C, and copies tiles of A and B through shared memory.

use anyhow::{Result, ensure};
use plan::{
    Arg, DefaultSize, Defect, DeviceInfo, Dtype, Launch, Plan, Problem, Rows, Specialisation, Step, Variant,
    launches_by_rows,
};

/// Edge of the tiles of A, B and C, and of the block. A block can have at most 32×32 threads.
pub const TILE: u32 = 32;

/// The most columns of tiles in a band of the variant `bands`. An H100 runs 264 blocks at a time. As 32 × 8 tiles of C, they need
/// 32 columns of tiles of B and 8 rows of A. Without bands they would be two rows of C, and need all of B.
pub const BAND: u32 = 32;

/// The step.
pub const STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    folder: "step04_tiled",
    title: "a tile of C per block, through shared memory",
    plan,
    specialisations,
    variants: &[
        Variant::rung("1_multiples").planned(plan_multiples),
        Variant::same_launch("uncoalesced_b"),
        Variant::same_launch("bank_conflicts"),
        Variant::same_launch("bank_conflicts_padded"),
        Variant::same_launch("no_first_barrier").with_defect(Defect::Race),
        Variant::same_launch("no_second_barrier").with_defect(Defect::Race),
        Variant::same_launch("no_edges").with_defect(Defect::Edges),
        Variant::same_launch("bands").planned(plan_bands),
        Variant::rust(),
    ],
    default_size: DefaultSize::cubes(4096, 256),
    host: None,
};

// ANCHOR: plan
/// Plans a block for each tile of C, in a grid that is rounded up to cover C.
fn plan(problem: &Problem, _device: &DeviceInfo) -> Result<Plan> {
    let [_, n, k] = problem.sizes();
    let launch = |rows: Rows| Launch {
        entry: "matmul".into(),
        grid: [n.div_ceil(TILE), rows.count.div_ceil(TILE), 1],
        block: [TILE, TILE, 1],
        shared_bytes: 0,
        args: vec![rows.of_a(), Arg::B(0), rows.of_c(), rows.count.into(), n.into(), k.into()],
    };
    Ok(Plan {
        specialisation: Specialisation::single(problem.dtype, &[("TILE", TILE)]),
        tile: [TILE, TILE],
        tile_k: TILE,
        workspace_elements: 0,
        launches: launches_by_rows(problem, TILE, launch),
    })
}
// ANCHOR_END: plan

/// Plans the first rung. It has no bounds checks, so it accepts only sizes that need none.
fn plan_multiples(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    ensure!(
        [problem.m, problem.n, problem.k].iter().all(|size| size.is_multiple_of(TILE.into())),
        "1_multiples has no bounds and takes multiples of {TILE} only; choose such a --size, or leave out --variant"
    );
    plan(problem, device)
}

fn plan_bands(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    Ok(plan(problem, device)?.in_bands(BAND))
}

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    vec![Specialisation::single(dtype, &[("TILE", TILE)])]
}
