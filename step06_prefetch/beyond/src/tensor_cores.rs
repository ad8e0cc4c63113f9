//! FP32 products on the tensor cores of compute capability 9.0: a pass that splits A and B, the product, and the launch that repeats
//! what it was not sure of. A model of the time chooses tiles and slices, or leaves the product to the FP32 units.

use anyhow::{Context, Result, ensure};
use plan::{Arg, DeviceInfo, Dtype, Kind, Launch, MAX_GRID_YZ, Plan, Problem, Role, Specialisation, Variant};

use crate::cost::{self, Choice, Split, Work};
use crate::every_shape;

/// The kernel, beside step 6's.
pub const VARIANT: Variant = Variant {
    role: Role::Beyond,
    specialisations: Some(specialisations),
    ..Variant::same_launch("tensor_cores").planned(plan)
};

/// Columns of C of a block, and the depth of its tiles: in two parts of two bytes each.
const TILE: [u64; 2] = [128, 64];
/// Bytes of a line of a tile.
const LINE_BYTES: u32 = 4 * TILE[1] as u32;
/// Row tiles of C that lie side by side in the grid.
const BAND: u64 = 16;
/// Lines of A and B that a block splits, by 4 threads along k and as many layers of them as there are chunks, at most 32.
const LINES: u64 = 8;
const LAYERS: u64 = 32;
const LAYER_DEPTH: u64 = 128;
/// K is cut no finer than this, into no more slices than occupy every SM once, and their products take no more memory than so many
/// elements.
const MIN_SLICE: u64 = 256;
const MAX_WORKSPACE: u64 = 1 << 26;
/// A smaller product is left to FP32 units, whatever the model says: multiply-adds, and the least M, N and K. With a smaller K, the
/// time is that of storing C, for which the model is off by a fifth.
const SMALL: (u64, [u64; 3]) = (250_000_000, [80, 80, 128]);
/// Tensor cores must be expected to take at most so much of the time of FP32 units: times are off by as much, and where they are
/// alike, FP32 units need no memory for planes.
const SURE: f64 = 0.95;

/// One way to compile the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    /// Rows of C of a block.
    rows: u64,
    /// Steps of k that tensor cores add up.
    part: u64,
}

/// Those of one slice and of several, where cuBLAS cuts K, too, and is more accurate.
const FORMS: [[Form; 2]; 2] = [
    [Form { rows: 64, part: 32 }, Form { rows: 128, part: 32 }],
    [Form { rows: 64, part: 16 }, Form { rows: 128, part: 16 }],
];
/// Those that are committed: the second is for one slice.
const COMMITTED: [Form; 2] = [FORMS[1][0], FORMS[0][1]];

impl Form {
    /// What its figures are called where it stores so many elements of C at once.
    fn figures(self, stored: u32) -> String {
        format!("{}p{}s{stored}", self.rows, self.part)
    }

    fn specialisation(self, vector: u32) -> Specialisation {
        let Self { rows, part } = self;
        let defines = [("ROWS", rows as u32), ("PART_K", part as u32), ("VECTOR", vector)];
        Specialisation::named(format!("{rows}p{part}v{vector}"), Dtype::F32, &defines).for_only(90)
    }

    /// Row tiles and column tiles.
    fn tiles(self, problem: &Problem) -> [u64; 2] {
        [problem.m.div_ceil(self.rows), problem.n.div_ceil(TILE[0])]
    }

    /// The plan with K in so many slices.
    fn plan(self, problem: &Problem, device: &DeviceInfo, slices: u64) -> Plan {
        let Problem { m, n, k, .. } = *problem;
        let [row_tiles, column_tiles] = self.tiles(problem);
        let (lines, depth) = (lines(problem), k.next_multiple_of(TILE[1]));
        // In the workspace, one behind the other, each from a multiple of 16 bytes on.
        let planes = lines * depth;
        let flags = planes + 4 * lines;
        let products = flags + (slices * row_tiles * column_tiles).next_multiple_of(4);
        let (end, out) = match slices {
            1 => (products, Arg::C(0)),
            _ => (products + slices * m * n, Arg::Workspace(products)),
        };
        let launch = |entry: &str, grid: [u64; 3], block: [u32; 3], pointers: &[Arg]| {
            let sizes = [m, n, k].map(|size| Arg::Int(size as i32));
            let (grid, args) = (grid.map(|side| side as u32), [pointers, &sizes].concat());
            Launch { entry: entry.to_owned(), grid, block, shared_bytes: 0, args }
        };
        let [planes, lines_at, unsure] = [0, planes, flags].map(Arg::Workspace);
        let layers = k.div_ceil(LAYER_DEPTH).min(LAYERS) as u32;
        let bands = row_tiles.div_ceil(BAND);
        let grid = [row_tiles.div_ceil(bands), column_tiles * bands, slices];
        let mut launches = vec![
            launch("split", [lines / LINES, 1, 1], [4, 8, layers], &[Arg::A(0), Arg::B(0), planes, lines_at]),
            launch("matmul", grid, [2 * self.rows as u32, 1, 1], &[planes, lines_at, out, unsure]),
            launch("again", [column_tiles, m.div_ceil(64), slices], [512, 1, 1], &[Arg::A(0), Arg::B(0), out, unsure]),
        ];
        let stages = if self.rows == 64 { 4 } else { 3 };
        launches[1].shared_bytes = stages * (self.rows + TILE[0]) as u32 * LINE_BYTES;
        if slices > 1 {
            launches.push(Launch::sum_slices(problem, slices, products));
        }
        let vector = if device.compiles && n.is_multiple_of(4) { 4 } else { 1 };
        Plan {
            specialisation: self.specialisation(vector),
            tile: [TILE[0], self.rows].map(|side| side as u32),
            tile_k: TILE[1] as u32,
            workspace_elements: end,
            launches,
        }
    }

    fn work(self, problem: &Problem, plan: &Plan, sm_count: u64) -> Work {
        let Problem { m, n, k, .. } = *problem;
        let slices = u64::from(plan.slices());
        let [row_tiles, column_tiles] = self.tiles(problem);
        let layers = k.div_ceil(LAYER_DEPTH).min(LAYERS);
        let blocks_at_once = sm_count * (2 * LAYERS / layers).min(16);
        let rounds = (lines(problem) / LINES).div_ceil(blocks_at_once) * k.div_ceil(LAYER_DEPTH * layers);
        let single_a = if k.is_multiple_of(4) { 0 } else { m * k };
        let single_b = if n.is_multiple_of(8) { 0 } else { n * k };
        let elements = lines(problem) * k.next_multiple_of(TILE[1]);
        let split = Split { rounds: rounds * (32 + 4 * layers), elements, single: single_a + single_b };
        let depth = k.div_ceil(slices).next_multiple_of(TILE[1]);
        // Blocks past the last row of the last band end at once.
        Work { blocks: row_tiles * column_tiles * slices, split, ..Work::of(plan, problem, depth) }
    }
}

/// Rows of A and columns of B, both filled up to whole tiles.
fn lines(problem: &Problem) -> u64 {
    problem.m.next_multiple_of(TILE[0]) + problem.n.next_multiple_of(TILE[0])
}

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    match dtype {
        Dtype::F32 => COMMITTED.map(|form| form.specialisation(1)).to_vec(),
        Dtype::I32 => vec![],
    }
}

/// Whether tensor cores can multiply this here.
fn check(problem: &Problem, device: &DeviceInfo) -> Result<()> {
    ensure!(
        problem.dtype == Dtype::F32,
        "tensor cores multiply floating-point numbers only; choose --dtype f32, or leave --variant out"
    );
    let capability = device.compute_capability;
    ensure!(
        capability == 90,
        "this kernel needs wgmma, which only compute capability 9.0 (H100, H200) has, and this device has {}.{}; every other kernel of the course runs here",
        capability / 10,
        capability % 10
    );
    Ok(())
}

/// Whether a plan's numbers are within those of the kernels and its memory within the device's.
fn fits(problem: &Problem, plan: &Plan, device: &DeviceInfo) -> bool {
    const INTS: u64 = 1 << 31;
    let Problem { m, n, .. } = *problem;
    let grids = plan.launches.iter().all(|launch| launch.grid[1..].iter().all(|&side| u64::from(side) <= MAX_GRID_YZ));
    grids && 16 * (m + n) < INTS && 7 * n < INTS && problem.device_bytes(plan.workspace_elements) <= device.memory_bytes
}

/// All plans on tensor cores that fit: each form, with K in one slice or several.
pub fn choices(problem: &Problem, device: &DeviceInfo) -> Vec<Choice> {
    let sm_count = u64::from(device.sm_count);
    let Some(costs) = cost::of(device).filter(|_| check(problem, device).is_ok()) else { return Vec::new() };
    let mut choices = Vec::new();
    // A tile of 128 rows is for more than 64.
    for at in 0..problem.m.div_ceil(64).min(2) as usize {
        let tiles: u64 = FORMS[0][at].tiles(problem).iter().product();
        let most = (sm_count / tiles).min(problem.k / MIN_SLICE).min(MAX_WORKSPACE / problem.c_elements()).max(1);
        let depth = |count: u64| problem.k.div_ceil(count).next_multiple_of(TILE[1]);
        for slices in cost::slice_counts(most, problem.k, depth) {
            let form = match (FORMS[usize::from(slices > 1)][at], COMMITTED[at]) {
                (form, _) if device.compiles => form,
                (_, form) => form,
            };
            if slices > 1 && form.part > 16 {
                continue; // committed for one slice
            }
            let plan = form.plan(problem, device, slices);
            let work = form.work(problem, &plan, sm_count);
            let figures = form.figures(if problem.n.is_multiple_of(2) { 2 } else { 1 });
            let expected_us = costs.time_us(&figures, &work, device.sm_count);
            if let Some(expected_us) = expected_us.filter(|_| fits(problem, &plan, device)) {
                choices.push(Choice { plan, figures, work, expected_us });
            }
        }
    }
    choices
}

/// All plans for FP32 units, as plans of this kernel.
pub fn choices_of_fp32_units(problem: &Problem, device: &DeviceInfo) -> Vec<Choice> {
    let mut choices = every_shape::choices(problem, device);
    for Choice { plan, .. } in &mut choices {
        plan.specialisation.source = Some(every_shape::VARIANT.name.to_owned());
    }
    choices
}

/// The plan that is expected to be fastest; on FP32 units if that is one of theirs. The simulator, which has no clock, shows tensor
/// cores.
fn plan(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    check(problem, device)?;
    let Problem { m, n, k, .. } = *problem;
    let small = m * n * k < SMALL.0 || [m, n, k].iter().zip(SMALL.1).any(|(&side, least)| side < least);
    let timed = device.kind == Kind::Cuda;
    let rival_us = cost::best(every_shape::choices(problem, device)).map_or(f64::INFINITY, |rival| rival.expected_us);
    match cost::best(choices(problem, device)).filter(|own| !timed || !small && own.expected_us < SURE * rival_us) {
        Some(own) => Ok(own.plan),
        None => with_fp32_units(problem, device),
    }
}

/// The kernel for every shape, as a plan of this one.
pub fn with_fp32_units(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    let mut plan = every_shape::plan(problem, device).context("tensor cores cannot multiply this")?;
    plan.specialisation = plan.specialisation.of(every_shape::VARIANT.name);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu() -> DeviceInfo {
        DeviceInfo { kind: Kind::Cuda, compiles: true, ..DeviceInfo::simulated(1 << 37) }
    }

    fn name([m, n, k]: [u64; 3], device: &DeviceInfo) -> String {
        let Specialisation { source, name, .. } = plan(&Problem::uniform([m, n, k]), device).unwrap().specialisation;
        source.map_or(name, |source| source)
    }

    #[test]
    fn only_devices_that_have_the_instructions_get_a_plan() {
        let sim = DeviceInfo::simulated(1 << 30);
        let error = |problem: &Problem, compute_capability| {
            plan(problem, &DeviceInfo { compute_capability, ..sim.clone() }).unwrap_err().to_string()
        };
        let problem = Problem::uniform([64, 128, 64]);
        for (capability, name) in [(75, "7.5"), (89, "8.9"), (100, "10.0"), (120, "12.0")] {
            assert!(error(&problem, capability).contains(&format!("this device has {name};")));
        }
        assert!(error(&Problem { dtype: Dtype::I32, ..problem }, 90).contains("--dtype f32"));
    }

    #[test]
    fn the_rule_takes_what_is_expected_to_be_faster() {
        let short = DeviceInfo { memory_bytes: 4 * 3 * 4096 * 4096 + (1 << 20), ..gpu() };
        let slow = DeviceInfo { compiles: false, ..gpu() };
        for (size, device, expected) in [
            ([4096; 3], gpu(), "128p32v4"),
            ([1023; 3], gpu(), "64p32v1"),
            ([4096; 3], slow.clone(), "128p32v1"),
            ([512, 512, 16_384], slow, "64p16v1"),
            // Too small, too thin, or without the memory.
            ([512; 3], gpu(), "every_shape"),
            ([4096, 4096, 70], gpu(), "every_shape"),
            ([4096; 3], short, "every_shape"),
            // The simulator has no clock.
            ([64; 3], DeviceInfo::simulated(1 << 37), "64p16v1"),
        ] {
            assert_eq!(name(size, &device), expected, "{size:?}");
        }
    }

    #[test]
    fn parts_of_the_workspace_lie_one_behind_the_other() {
        let plan = FORMS[1][0].plan(&Problem::uniform([70, 130, 700]), &gpu(), 2);
        // 128 rows and 256 columns, 704 steps of k; 4 elements for each line; 2·2·2 marks; two products.
        let at = [0, 384 * 704, 384 * 708, 384 * 708 + 8];
        let args = [at[0], at[1], at[3], at[2]].map(Arg::Workspace);
        assert_eq!((&plan.launches[1].args[..4], plan.slices()), (&args[..], 2));
        assert_eq!(plan.workspace_elements, at[3] + 2 * 70 * 130);
        assert_eq!(
            plan.launches.iter().map(|launch| launch.grid).collect::<Vec<_>>(),
            [[48, 1, 1], [2, 2, 2], [2, 2, 2], [36, 1, 1]]
        );
    }
}
