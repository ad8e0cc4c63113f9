//! Step 3: all of A and B in shared memory. One block computes C.

use anyhow::{Result, ensure};
use plan::{DefaultSize, DeviceInfo, Dtype, Plan, Problem, Specialisation, Step, Variant};

/// The step.
pub const STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    folder: "step03_single_block",
    title: "A and B whole in shared memory, one block",
    plan,
    specialisations,
    variants: &[Variant::rust()],
    default_size: DefaultSize::everywhere([32, 32, 128]),
    host: None,
};

/// Plans one block of N × M threads. Fails if C has more elements than a block can have threads, or if A and B do not fit.
fn plan(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    let (m, n, k) = (problem.m, problem.n, problem.k);
    let threads = u64::from(device.max_threads_per_block);
    ensure!(
        m * n <= threads,
        "C of {m}×{n} has {} elements and one block has at most {threads} threads; choose M×N up to {threads}, or step04_tiled",
        m * n
    );
    let bytes = (problem.a_elements() + problem.b_elements()) * 4;
    let room = u64::from(device.max_shared_bytes);
    ensure!(
        bytes <= room,
        "A and B take {bytes} bytes of shared memory and a block of this device has at most {room}; choose K up to {}, or step04_tiled",
        room / (4 * (m + n))
    );
    let block = [n as u32, m as u32];
    let specialisation = Specialisation::single(problem.dtype, &[]);
    let plan = Plan::tiled(problem, specialisation, block, block).with_tile_k(k as u32);
    Ok(plan.with_shared_bytes(bytes as u32))
}

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    vec![Specialisation::single(dtype, &[])]
}
