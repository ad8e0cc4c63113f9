//! Step 5: each thread computes a thread tile of C in registers.

use anyhow::Result;
use common::{DeviceInfo, Dtype, Kind, Plan, Problem, Specialisation, Step};

/// Rows and columns of C that a block computes, and the depth of its tiles.
const TILE: [u32; 3] = [64, 128, 16];
/// Rows and columns of C that a thread computes.
const THREAD: [u32; 2] = [8, 8];

/// The step.
pub const STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    folder: env!("CARGO_MANIFEST_DIR"),
    title: "a thread tile of C in registers",
    plan,
    specialisations,
    variants: &[],
    default_size,
    host: None,
};

fn specialisation(dtype: Dtype, vector: u32) -> Specialisation {
    let defines = [
        ("TILE_M", TILE[0]),
        ("TILE_N", TILE[1]),
        ("TILE_K", TILE[2]),
        ("THREAD_M", THREAD[0]),
        ("THREAD_N", THREAD[1]),
        ("VECTOR", vector),
    ];
    Specialisation::named(format!("vector{vector}"), dtype, &defines)
}

fn plan(problem: &Problem, _device: &DeviceInfo) -> Result<Plan> {
    let vector = if problem.n.is_multiple_of(4) { 4 } else { 1 };
    let threads = TILE[0] * TILE[1] / (THREAD[0] * THREAD[1]);
    Ok(Plan::tiled(problem, specialisation(problem.dtype, vector), [threads, 1], [TILE[1], TILE[0]]).with_tile_k(TILE[2]))
}

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    [1, 4].map(|vector| specialisation(dtype, vector)).to_vec()
}

fn default_size(device: &DeviceInfo) -> [u64; 3] {
    match device.kind {
        Kind::Cuda => [4096; 3],
        _ => [512; 3],
    }
}
