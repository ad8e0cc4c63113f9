//! Beyond step 6: a kernel for every shape of product. Groups of warps divide the depth of the tiles, slices of the grid divide K, and a
//! model of the time chooses among the tilings.

use anyhow::Result;
use common::plan::{Arg, Launch};
use common::step::Role;
use common::{DeviceInfo, Dtype, Plan, Problem, Specialisation, Variant};

use crate::vector::vector;

/// The variant of step 6.
pub const VARIANT: Variant = Variant {
    role: Role::Beyond,
    specialisations: Some(specialisations),
    ..Variant::same_launch("every_shape").planned(plan)
};

/// One way to cut the product into tiles; `beyond/every_shape.cu` says what each constant is.
#[derive(Clone, Copy, Debug)]
struct Tiling {
    /// Rows and columns of C per block, and the depth of the tiles of A and B.
    tile: [u32; 3],
    /// Rows and columns of C per thread.
    thread: [u32; 2],
    buffers: u32,
    groups: u32,
    /// Where N is a multiple of 4, and where it is not: four times as many copies then, better spread.
    fetch_steps: [u32; 2],
    /// FMA per lane and clock of an SM that has warps enough, measured on an H100; again for both kinds of N.
    speed: [f64; 2],
}

/// From the fastest to the finest: a large thread tile reads little shared memory per FMA, a small tile of C occupies more
/// SMs, and groups give the warps of an SM to few tiles.
#[rustfmt::skip]
const TILINGS: [Tiling; 6] = [
    Tiling { tile: [128, 256,  8], thread: [16, 8], buffers: 2, groups: 1, fetch_steps: [1, 2], speed: [0.83, 0.79] },
    Tiling { tile: [ 64, 128, 16], thread: [ 8, 8], buffers: 2, groups: 2, fetch_steps: [2, 2], speed: [0.76, 0.62] },
    Tiling { tile: [ 32,  64, 32], thread: [ 8, 8], buffers: 3, groups: 4, fetch_steps: [2, 2], speed: [0.70, 0.56] },
    Tiling { tile: [ 64,  32, 16], thread: [ 8, 4], buffers: 2, groups: 1, fetch_steps: [1, 1], speed: [0.60, 0.57] },
    Tiling { tile: [ 32,  64, 16], thread: [ 4, 4], buffers: 3, groups: 2, fetch_steps: [1, 1], speed: [0.56, 0.52] },
    Tiling { tile: [ 16,  32, 64], thread: [ 4, 4], buffers: 2, groups: 4, fetch_steps: [1, 1], speed: [0.46, 0.40] },
];
/// The ones that are committed for rows of B that start anywhere: one for large problems, and the finest.
const RAGGED: [Tiling; 2] = [TILINGS[1], TILINGS[5]];

/// K is cut no finer than this, and into no more slices than occupy every SM eight times.
const MIN_SLICE: u64 = 128;
const MAX_BLOCKS_PER_SM: u64 = 8;

impl Tiling {
    /// Warps of a block: a warp covers 4 × 8 thread tiles, and each group of warps all of the block's tile.
    fn warps(&self) -> u32 {
        self.tile[0] / (4 * self.thread[0]) * (self.tile[1] / (8 * self.thread[1])) * self.groups
    }

    fn blocks(&self, problem: &Problem) -> u64 {
        problem.m.div_ceil(self.tile[0].into()) * problem.n.div_ceil(self.tile[1].into())
    }

    /// Clocks that the product takes with K cut into `slices`, roughly.
    fn clocks(&self, problem: &Problem, sm_count: u32, slices: u64) -> f64 {
        let [tile_m, tile_n, tile_k] = self.tile.map(u64::from);
        // The busiest SM decides: 129 tiles on 128 SMs take as long as 256.
        let rounds = (self.blocks(problem) * slices).div_ceil(sm_count.into());
        // Before the first FMA of a block the first tiles arrive, after the last one its tile is stored.
        let depth = problem.k.div_ceil(slices).next_multiple_of(tile_k) + 64;
        // Two warps for each of the four schedulers hide each other's waits; fewer do not.
        let busy = (rounds as f64 * f64::from(self.warps()) / 8.0).min(1.0).sqrt();
        let speed = 128.0 * self.speed[usize::from(!problem.n.is_multiple_of(4))] * busy;
        let multiply = (rounds * tile_m * tile_n * depth) as f64 / speed;
        // Another launch, which reads and adds what the slices wrote.
        let add = if slices > 1 { 6000.0 + (slices * problem.m * problem.n) as f64 / 250.0 } else { 0.0 };
        multiply + add
    }

    fn specialisation(&self, dtype: Dtype, vector: u32) -> Specialisation {
        let [tile_m, tile_n, tile_k] = self.tile;
        let name = format!("{tile_m}x{tile_n}g{}v{vector}", self.groups);
        let defines = [
            ("TILE_M", tile_m),
            ("TILE_N", tile_n),
            ("TILE_K", tile_k),
            ("THREAD_M", self.thread[0]),
            ("THREAD_N", self.thread[1]),
            ("VECTOR", vector),
            ("BUFFERS", self.buffers),
            ("FETCH_STEPS", self.fetch_steps[usize::from(vector == 1)]),
            ("GROUPS", self.groups),
        ];
        // From 8.0 on copies are asynchronous; an older GPU compiles the kernel, or is told to.
        Specialisation::named(name, dtype, &defines).for_target(80)
    }
}

/// The tiling and the number of slices of K that should take the least time.
fn choose(tilings: &[Tiling], problem: &Problem, sm_count: u32) -> (Tiling, u64) {
    let mut best = (f64::INFINITY, tilings[0], 1);
    for tiling in tilings {
        let most = MAX_BLOCKS_PER_SM * u64::from(sm_count) / tiling.blocks(problem);
        for slices in 1..=most.min(problem.k / MIN_SLICE).max(1) {
            let clocks = tiling.clocks(problem, sm_count, slices);
            if clocks < best.0 {
                best = (clocks, *tiling, slices);
            }
        }
    }
    (best.1, best.2)
}

fn plan(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    let any = device.compiles || problem.n.is_multiple_of(4);
    let tilings = if any { &TILINGS[..] } else { &RAGGED };
    let (tiling, slices) = choose(tilings, problem, device.sm_count);
    let specialisation = tiling.specialisation(problem.dtype, vector(problem, device));
    let [tile_m, tile_n, tile_k] = tiling.tile;
    let mut plan = Plan::tiled(problem, specialisation, [32 * tiling.warps(), 1], [tile_n, tile_m]).with_tile_k(tile_k);
    if slices > 1 {
        // Each layer of the grid leaves its product in the workspace; a second kernel adds them up.
        let elements = problem.m * problem.n;
        let [launch] = plan.launches.as_mut_slice() else { unreachable!("so few tiles are one launch") };
        launch.grid[2] = slices as u32;
        launch.args[2] = Arg::Workspace(0);
        plan.workspace_elements = slices * elements;
        plan.launches.push(Launch {
            entry: "sum_slices".into(),
            grid: [elements.div_ceil(256).min(4096) as u32, 1, 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            args: vec![
                Arg::Workspace(0),
                Arg::C(0),
                Arg::Int(problem.m as i32),
                Arg::Int(problem.n as i32),
                Arg::Int(slices as i32),
            ],
        });
    }
    Ok(plan)
}

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    let of = |tilings: &[Tiling], vector| -> Vec<Specialisation> {
        tilings.iter().map(|tiling| tiling.specialisation(dtype, vector)).collect()
    };
    [of(&TILINGS, 4), of(&RAGGED, 1)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::Fill;

    fn problem(m: u64, n: u64, k: u64) -> Problem {
        Problem { m, n, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: 1 }
    }

    /// The plan of a device that compiles, and so may take every tiling.
    fn planned(m: u64, n: u64, k: u64) -> (String, u32, Plan) {
        let device = DeviceInfo { compiles: true, ..DeviceInfo::simulated(1 << 30) };
        let plan = plan(&problem(m, n, k), &device).unwrap();
        (plan.specialisation.name.clone(), plan.launches[0].grid[2], plan)
    }

    #[test]
    fn the_tiling_fits_the_problem() {
        for (size, name, slices) in [
            ([256, 256, 256], "16x32g4v4", 1),
            ([512, 512, 512], "32x64g2v4", 1),
            ([1000, 1000, 1000], "64x128g2v4", 1),
            ([1024, 1024, 1024], "64x128g2v4", 1),
            ([2048, 2048, 2048], "128x256g1v4", 1),
            ([4096, 4096, 4096], "128x256g1v4", 1),
            ([8192, 8192, 8192], "128x256g1v4", 1),
            // Rows of B that start anywhere, and one column more than 64-wide tiles like.
            ([4095, 4095, 4095], "128x256g1v1", 1),
            ([1023, 1025, 1027], "64x32g1v1", 1),
            // A long and thin C.
            ([64, 8192, 1024], "32x64g4v4", 1),
            ([8192, 64, 1024], "32x64g4v4", 1),
            // Eight tiles only, and a K to share out.
            ([512, 512, 16384], "128x256g1v4", 16),
        ] {
            let [m, n, k] = size;
            let (found, layers, _) = planned(m, n, k);
            assert_eq!((found.as_str(), layers), (name, slices), "{m}×{n}×{k}");
        }
    }

    #[test]
    fn every_plan_is_whole_and_of_moderate_size() {
        let sizes = [1, 2, 31, 100, 1024, 5000, 70_000];
        for m in sizes {
            for n in sizes {
                for k in sizes {
                    let (_, slices, plan) = planned(m, n, k);
                    let [tile_n, tile_m] = plan.tile.map(u64::from);
                    let [x, y, _] = plan.launches[0].grid.map(u64::from);
                    assert!(x * tile_n >= n && y * tile_m >= m && (x - 1) * tile_n < n && (y - 1) * tile_m < m);
                    assert_eq!(plan.launches.len(), if slices > 1 { 2 } else { 1 });
                    assert_eq!(plan.workspace_elements, if slices > 1 { u64::from(slices) * m * n } else { 0 });
                    assert!(plan.workspace_elements <= 1 << 26, "{m}×{n}×{k}: {}", plan.workspace_elements);
                    assert!(u64::from(slices) <= k);
                }
            }
        }
    }

    #[test]
    fn a_tall_matrix_takes_several_launches() {
        let (_, slices, plan) = planned(5_000_000, 16, 16);
        assert_eq!(slices, 1);
        assert!(plan.launches.len() > 1 && plan.launches.iter().all(|launch| launch.grid[1] <= 65_535));
        let rows: i64 =
            plan.launches.iter().map(|l| if let Arg::Int(rows) = l.args[3] { rows.into() } else { 0 }).sum();
        assert_eq!(rows, 5_000_000);
    }

    #[test]
    fn matrices_of_more_than_2_to_the_31_elements_are_planned() {
        let (name, _, plan) = planned(46_400, 46_400, 64);
        assert_eq!(name, "128x256g1v4");
        assert_eq!(plan.launches.len(), 1);
        let (_, _, plan) = planned(1, 1, (1 << 31) - 1);
        assert!(plan.workspace_elements <= 1 << 20);
    }

    #[test]
    fn blocks_fit_every_device() {
        for tiling in TILINGS {
            let [tile_m, tile_n, tile_k] = tiling.tile;
            let bytes = 4 * tiling.buffers * tile_k * (tile_m + 4 + tile_n);
            assert!(bytes <= 48 * 1024, "{tiling:?}: {bytes}");
            assert!(32 * tiling.warps() <= 1024);
        }
    }
}
