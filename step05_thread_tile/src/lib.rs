//! Step 5: each thread computes a tile of C in registers.

use anyhow::Result;
use plan::{
    Arg, DefaultSize, DeviceInfo, Dtype, Launch, Plan, Problem, Rows, Specialisation, Step, Variant, launches_by_rows,
};

/// Rows of C that a block computes.
pub const TILE_M: u32 = 64;
/// Columns of C that a block computes.
pub const TILE_N: u32 = 128;
/// Depth of the tiles of A and B in shared memory.
pub const TILE_K: u32 = 16;
/// Rows of C that a thread computes. An 8×8 tile takes 16 reads of shared memory for 64 FMA; step 4 takes 2 reads for each FMA.
pub const THREAD_M: u32 = 8;
/// Columns of C that a thread computes.
pub const THREAD_N: u32 = 8;
/// Threads in a block.
pub const THREADS: u32 = TILE_M * TILE_N / (THREAD_M * THREAD_N);

/// The step.
pub const STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    folder: "step05_thread_tile",
    title: "a tile of C per thread, in registers",
    plan,
    specialisations,
    variants: &[
        Variant::rung("1_column").planned(plan_column),
        Variant::rung("2_tile").planned(plan_tile),
        Variant::rung("3_pointers").planned(plan_tile),
        Variant::rung("4_wide_loads"),
        Variant::same_launch("inner_product").planned(plan_tile),
        Variant::same_launch("no_unroll"),
        Variant::same_launch("no_padding"),
        Variant::same_launch("plain_lanes"),
        Variant { specialisations: Some(specialisations), ..Variant::rust() },
    ],
    default_size: DefaultSize::cubes(4096, 512),
    host: None,
};

/// Rows, columns and depth of the first rung's tiles. Its threads compute only one column each, so tiles are smaller.
const COLUMN_TILE: [u32; 3] = [64, 64, 32];

fn column(dtype: Dtype) -> Specialisation {
    let [tile_m, tile_n, tile_k] = COLUMN_TILE;
    let defines = [("TILE_M", tile_m), ("TILE_N", tile_n), ("TILE_K", tile_k), ("THREAD_M", THREAD_M)];
    Specialisation::single(dtype, &defines)
}

fn plan_column(problem: &Problem, _device: &DeviceInfo) -> Result<Plan> {
    let [tile_m, tile_n, tile_k] = COLUMN_TILE;
    let threads = tile_m / THREAD_M * tile_n;
    Ok(Plan::tiled(problem, column(problem.dtype), [threads, 1], [tile_n, tile_m]).with_tile_k(tile_k))
}

/// Returns the specialisation of the rungs before wide loads, which copy B one element at a time.
fn tile(dtype: Dtype) -> Specialisation {
    let defines =
        [("TILE_M", TILE_M), ("TILE_N", TILE_N), ("TILE_K", TILE_K), ("THREAD_M", THREAD_M), ("THREAD_N", THREAD_N)];
    Specialisation::single(dtype, &defines)
}

fn plan_tile(problem: &Problem, _device: &DeviceInfo) -> Result<Plan> {
    Ok(Plan::tiled(problem, tile(problem.dtype), [THREADS, 1], [TILE_N, TILE_M]).with_tile_k(TILE_K))
}

// ANCHOR: plan
/// Plans a block for each tile of C, in a grid that is rounded up to cover C. A block has fewer threads than its tile has elements.
fn plan(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    let [_, n, k] = problem.sizes();
    let launch = |rows: Rows| Launch {
        entry: "matmul".into(),
        grid: [n.div_ceil(TILE_N), rows.count.div_ceil(TILE_M), 1],
        block: [THREADS, 1, 1],
        shared_bytes: 0,
        args: vec![rows.of_a(), Arg::B(0), rows.of_c(), rows.count.into(), n.into(), k.into()],
    };
    Ok(Plan {
        specialisation: specialisation(problem.dtype, vector(problem, device)),
        tile: [TILE_N, TILE_M],
        tile_k: TILE_K,
        workspace_elements: 0,
        launches: launches_by_rows(problem, TILE_M, launch),
    })
}

/// Returns how many elements of B one copy takes. If N is a multiple of 4, every row starts at a multiple of 16 bytes. The integer
/// kernel, which is only there to be exact, is committed only in the form for any N.
fn vector(problem: &Problem, device: &DeviceInfo) -> u32 {
    if problem.n.is_multiple_of(4) && (problem.dtype == Dtype::F32 || device.compiles) { 4 } else { 1 }
}

fn specialisation(dtype: Dtype, vector: u32) -> Specialisation {
    let defines = [
        ("TILE_M", TILE_M),
        ("TILE_N", TILE_N),
        ("TILE_K", TILE_K),
        ("THREAD_M", THREAD_M),
        ("THREAD_N", THREAD_N),
        ("VECTOR", vector),
    ];
    Specialisation::named(format!("v{vector}"), dtype, &defines)
}
// ANCHOR_END: plan

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    let vectors: &[u32] = if dtype == Dtype::F32 { &[4, 1] } else { &[1] };
    vectors.iter().map(|&vector| specialisation(dtype, vector)).collect()
}
