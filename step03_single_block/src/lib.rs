//! Step 3: all of A and B in shared memory. One block computes C.

use anyhow::{Result, ensure};
use plan::{Arg, DefaultSize, DeviceInfo, Dtype, Launch, Plan, Problem, Specialisation, Step, Variant};

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

// ANCHOR: plan
/// Plans one block of N × M threads. Fails if C has more elements than a block can have threads, or if A and B do not fit.
fn plan(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    let [m, n, k] = problem.sizes();
    let (elements, threads) = (problem.c_elements(), device.max_threads_per_block);
    ensure!(
        elements <= threads.into(),
        "C of {m}×{n} has {elements} elements and one block has at most {threads} threads; choose M×N up to {threads}, or step04_tiled"
    );
    let bytes = (problem.a_elements() + problem.b_elements()) * 4;
    let room = device.max_shared_bytes;
    ensure!(
        bytes <= room.into(),
        "A and B take {bytes} bytes of shared memory and a block of this device has at most {room}; choose K up to {}, or step04_tiled",
        room / (4 * (m + n))
    );
    let launch = Launch {
        entry: "matmul".into(),
        grid: [1, 1, 1],
        block: [n, m, 1],
        shared_bytes: bytes as u32,
        args: vec![Arg::A(0), Arg::B(0), Arg::C(0), m.into(), n.into(), k.into()],
    };
    Ok(Plan {
        specialisation: Specialisation::single(problem.dtype, &[]),
        tile: [n, m],
        tile_k: k,
        workspace_elements: 0,
        launches: vec![launch],
    })
}
// ANCHOR_END: plan

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    vec![Specialisation::single(dtype, &[])]
}
