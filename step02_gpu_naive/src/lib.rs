//! Step 2: one thread per element of C, all operands in global memory.

use anyhow::Result;
use common::{DeviceInfo, Dtype, Kind, Plan, Problem, Specialisation, Step, Variant};

/// Edge of a block: a warp covers 32 neighbouring columns of one row of C.
pub const BLOCK: u32 = 32;

/// The step.
pub const STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    folder: env!("CARGO_MANIFEST_DIR"),
    title: "one thread per element of C",
    plan,
    specialisations,
    variants: &[Variant::same_launch("uncoalesced")],
    default_size,
    host: None,
};

fn plan(problem: &Problem, _device: &DeviceInfo) -> Result<Plan> {
    let specialisation = Specialisation::single(problem.dtype, &[]);
    Ok(Plan::tiled(problem, specialisation, [BLOCK, BLOCK], [BLOCK, BLOCK]))
}

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    vec![Specialisation::single(dtype, &[])]
}

fn default_size(device: &DeviceInfo) -> [u64; 3] {
    match device.kind {
        Kind::Cuda => [2048; 3],
        _ => [256; 3],
    }
}
