//! Step 6: the kernel fetches the next tiles while it multiplies the current ones.

use anyhow::Result;
use plan::{
    Arg, DefaultSize, DeviceInfo, Dtype, Launch, Plan, Problem, Rows, Specialisation, Step, Variant, launches_by_rows,
};

/// The step.
pub const STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    folder: "step06_prefetch",
    title: "fetch the next tiles while multiplying the current ones",
    plan,
    specialisations,
    variants: &[
        Variant::rung("1_two_buffers").planned(plan_other),
        Variant::rung("2_async_copies").planned(plan_other),
        Variant::same_launch("single_buffer").planned(plan_other),
        Variant::same_launch("vector_stores").planned(plan_other),
        Variant { specialisations: Some(specialisations), ..Variant::rust().planned(plan_rust) },
    ],
    default_size: DefaultSize::cubes(4096, 256),
    host: None,
};

/// One way to cut the product into tiles.
#[derive(Clone, Copy, Debug)]
struct Tiling {
    /// Rows and columns of C per block, and the depth of the tiles of A and B.
    tile: [u32; 3],
    /// Rows and columns of C per thread.
    thread: [u32; 2],
    /// FMA per clock on an SM with many such blocks, as a share of the SM's peak. Measured on an H200.
    speed: f64,
}

/// From the fastest to the finest. Large thread tiles need fewer loads; small tiles of C give work to more SMs.
const TILINGS: [Tiling; 4] = [
    Tiling { tile: [128, 256, 8], thread: [16, 8], speed: 0.80 },
    Tiling { tile: [64, 128, 8], thread: [8, 8], speed: 0.73 },
    Tiling { tile: [32, 64, 32], thread: [4, 4], speed: 0.52 },
    Tiling { tile: [16, 32, 32], thread: [4, 4], speed: 0.42 },
];
/// The tilings that are committed for rungs and counter-examples (for an N that is a multiple of 4), and for integers, which are
/// only there to be exact.
const COMMON: [Tiling; 1] = [TILINGS[1]];
/// The tilings that are committed for the case that some rows of B do not start at a multiple of 16 bytes.
const RAGGED: [Tiling; 2] = [TILINGS[1], TILINGS[3]];

impl Tiling {
    fn threads(&self) -> u32 {
        self.tile[0] / self.thread[0] * (self.tile[1] / self.thread[1])
    }

    /// Estimates the SM clocks for each step of K. The busiest SM decides: on 132 SMs, 133 tiles take as long as 264.
    fn clocks(&self, problem: &Problem, sm_count: u32) -> f64 {
        let [tile_m, tile_n, _] = self.tile.map(u64::from);
        let tiles = problem.m.div_ceil(tile_m) * problem.n.div_ceil(tile_n);
        let rounds = tiles.div_ceil(sm_count.into());
        (rounds * tile_m * tile_n) as f64 / (128.0 * self.speed)
    }

    fn specialisation(&self, dtype: Dtype, vector: u32) -> Specialisation {
        let ([tile_m, tile_n, tile_k], [thread_m, thread_n]) = (self.tile, self.thread);
        let defines = [
            ("TILE_M", tile_m),
            ("TILE_N", tile_n),
            ("TILE_K", tile_k),
            ("THREAD_M", thread_m),
            ("THREAD_N", thread_n),
            ("VECTOR", vector),
        ];
        // Copies are asynchronous since compute capability 8.0. On an older GPU, NVRTC must compile the kernel.
        Specialisation::named(format!("{tile_m}x{tile_n}v{vector}"), dtype, &defines).for_target(80)
    }
}

// ANCHOR: plan
/// Plans the step's kernel, with one of the tilings that can be had.
fn plan(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    let tilings = match problem.dtype {
        _ if device.compiles => &TILINGS[..],
        Dtype::I32 => &COMMON,
        Dtype::F32 if problem.n.is_multiple_of(4) => &TILINGS,
        Dtype::F32 => &RAGGED,
    };
    Ok(plan_with(tilings, problem, device))
}

/// Plans a block for each tile of C, with the tiling that should take the least time on a GPU with so many SMs.
fn plan_with(tilings: &[Tiling], problem: &Problem, device: &DeviceInfo) -> Plan {
    let clocks = |tiling: &&Tiling| tiling.clocks(problem, device.sm_count);
    let fastest = tilings.iter().min_by(|a, b| clocks(a).total_cmp(&clocks(b)));
    let tiling = fastest.expect("there are tilings");
    let ([_, n, k], [tile_m, tile_n, tile_k]) = (problem.sizes(), tiling.tile);
    let launch = |rows: Rows| Launch {
        entry: "matmul".into(),
        grid: [n.div_ceil(tile_n), rows.count.div_ceil(tile_m), 1],
        block: [tiling.threads(), 1, 1],
        shared_bytes: 0,
        args: vec![rows.of_a(), Arg::B(0), rows.of_c(), rows.count.into(), n.into(), k.into()],
    };
    Plan {
        specialisation: tiling.specialisation(problem.dtype, vector(problem, device)),
        tile: [tile_n, tile_m],
        tile_k,
        workspace_elements: 0,
        launches: launches_by_rows(problem, tile_m, launch),
    }
}

/// Returns how many elements of B one copy takes. If N is a multiple of 4, every row starts at a multiple of 16 bytes. The integer
/// kernel, which is only there to be exact, is committed only in the form for any N.
fn vector(problem: &Problem, device: &DeviceInfo) -> u32 {
    if problem.n.is_multiple_of(4) && (problem.dtype == Dtype::F32 || device.compiles) { 4 } else { 1 }
}
// ANCHOR_END: plan

/// Plans a rung or a counter-example.
fn plan_other(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    Ok(plan_with(if device.compiles { &TILINGS } else { &COMMON }, problem, device))
}

/// Plans the kernel in Rust. It is never compiled for the run, so it uses a committed specialisation.
fn plan_rust(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    plan(problem, &DeviceInfo { compiles: false, ..device.clone() })
}

/// Returns the committed specialisations of the step's kernel.
fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    let of = |tilings: &[Tiling], vector| -> Vec<Specialisation> {
        tilings.iter().map(|tiling| tiling.specialisation(dtype, vector)).collect()
    };
    match dtype {
        Dtype::F32 => [of(&TILINGS, 4), of(&RAGGED, 1)].concat(),
        Dtype::I32 => of(&COMMON, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Fill, Kind};

    #[test]
    fn what_does_not_compile_takes_what_is_committed() {
        let gpu = DeviceInfo { kind: Kind::Cuda, ..DeviceInfo::simulated(1 << 30) };
        for (device, dtype) in
            [DeviceInfo::simulated(1 << 30), gpu].iter().flat_map(|device| [(device, Dtype::F32), (device, Dtype::I32)])
        {
            for size in [1, 63, 64, 100, 333, 1023, 1024, 4095, 4096] {
                let problem = Problem { m: size, n: size, k: size, dtype, fill: Fill::Uniform, seed: 1 };
                let specialisation = plan(&problem, device).unwrap().specialisation;
                assert!(specialisations(dtype).contains(&specialisation), "{}", specialisation.name);
                for variant in STEP.variants.iter().filter(|_| dtype == Dtype::F32 && size % 4 == 0) {
                    let specialisation = STEP.plan_of(Some(variant))(&problem, device).unwrap().specialisation;
                    assert!(STEP.committed_of(Some(variant)).contains(&specialisation), "{}", specialisation.name);
                }
            }
        }
    }

    #[test]
    fn the_tiling_fits_the_problem() {
        let device = DeviceInfo { compiles: true, ..DeviceInfo::simulated(1 << 30) };
        for (size, name) in [
            ([256, 256, 256], "16x32v4"),
            ([512, 512, 512], "32x64v4"),
            ([1000, 1000, 1000], "64x128v4"),
            ([1024, 1024, 1024], "64x128v4"),
            ([2048, 2048, 2048], "128x256v4"),
            ([4096, 4096, 4096], "128x256v4"),
            ([8192, 8192, 8192], "128x256v4"),
            // Some rows of B do not start at a multiple of 16 bytes.
            ([4095, 4095, 4095], "128x256v1"),
            // C is short and wide.
            ([64, 8192, 1024], "32x64v4"),
            ([46_400, 46_400, 64], "128x256v4"),
        ] {
            let [m, n, k] = size;
            assert_eq!(plan(&Problem::uniform([m, n, k]), &device).unwrap().specialisation.name, name, "{m}×{n}×{k}");
        }
    }

    #[test]
    fn blocks_fit_every_device_and_share_out_their_copies() {
        for tiling in TILINGS {
            let [tile_m, tile_n, tile_k] = tiling.tile;
            let bytes = 4 * 2 * tile_k * (tile_m + 4 + tile_n);
            assert!(bytes <= 48 * 1024, "{tiling:?}: {bytes}");
            assert!(tiling.threads() <= 1024);
            // Each thread copies whole columns of the tile of A. In the form of single elements, it also does so for B.
            assert!(tile_m.is_multiple_of(tiling.threads() / 8) && tile_k.is_multiple_of(8), "{tiling:?}");
            assert!(tile_k.is_multiple_of(tiling.threads() / tile_n), "{tiling:?}");
        }
    }
}
