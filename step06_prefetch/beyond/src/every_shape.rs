//! Beyond step 6: kernels for every shape of product. Groups of warps divide the depth of the tiles, slices of the grid divide
//! K, and a model of the time, fitted to measurements, chooses among the tilings.

use std::iter::successors;

use anyhow::{Context, Result, bail};
use plan::{Arg, DeviceInfo, Dtype, Plan, PlanFn, Problem, Role, Specialisation, Variant};

use crate::cost::{self, Choice, Work};

/// The kernel, beside step 6's.
pub const VARIANT: Variant = Variant {
    role: Role::Beyond,
    specialisations: Some(specialisations),
    ..Variant::same_launch("every_shape").planned(plan)
};

/// An idea that the kernel can do without, to see what it is worth: `--without NAME`.
#[derive(Clone, Copy, Debug)]
pub struct Idea {
    /// What `--without` calls it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// The plan that is chosen without it.
    pub plan: PlanFn,
    /// All plans that remain without it.
    pub choices: fn(&Problem, &DeviceInfo) -> Vec<Choice>,
}

macro_rules! ideas {
    ($($without:ident $name:literal $title:literal)*) => {
        /// What a plan does without. The plans are restricted, and the kernel is the same.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Without {
            Nothing,
            $($without,)*
        }

        /// In the order in which the chapter has them.
        pub const IDEAS: &[Idea] = &[$(Idea {
            name: $name,
            title: $title,
            plan: |problem, device| plan_without(Without::$without, problem, device),
            choices: |problem, device| choices_without(Without::$without, problem, device),
        },)*];
    };
}

ideas! {
    Tiles "tiles" "smaller tiles of C than 128×256"
    Groups "groups" "groups of warps that share out the depth of a tile"
    Slices "slices" "slices of K"
    WideCopies "wide_copies" "copies of 2 or 4 elements of B"
    Alone "alone" "a last tile without a partner"
    WideStores "wide_stores" "stores of 2 or 4 elements of C"
    Few "few" "kernels of their own for one row, and for 8 columns and fewer"
}

/// One way to cut the product into tiles; `every_shape.cu` says what each constant is.
#[derive(Clone, Copy, Debug)]
struct Tiling {
    /// Rows and columns of C per block, and the depth of the tiles of A and B.
    tile: [u32; 3],
    /// Rows and columns of C per thread.
    thread: [u32; 2],
    groups: u32,
    /// Blocks for which an SM must have enough registers.
    blocks: u32,
    /// Steps of k over which the copies are spread, for copies of 4, 2 and 1 elements of B.
    shares: [u32; 3],
}

/// Whether a kernel is compiled for a last tile that comes alone. It saves half a pair of tiles, and costs a few percent of the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Pair,
    Alone,
}

/// From the fastest to the finest: a large thread tile reads little shared memory per FMA, a small tile of C occupies more
/// SMs, and groups give the warps of an SM to few tiles. The blocks and shares are the ones that an H200 was fastest with; of the
/// second, third and fourth tiling only these were tried.
const TILINGS: [Tiling; 11] = [
    Tiling { tile: [128, 256, 8], thread: [16, 8], groups: 1, blocks: 1, shares: [2, 2, 3] },
    Tiling { tile: [128, 128, 16], thread: [16, 8], groups: 2, blocks: 1, shares: [2, 2, 2] },
    Tiling { tile: [64, 256, 16], thread: [8, 8], groups: 1, blocks: 2, shares: [4, 4, 4] },
    Tiling { tile: [128, 64, 16], thread: [8, 8], groups: 2, blocks: 2, shares: [2, 2, 2] },
    Tiling { tile: [64, 128, 16], thread: [8, 8], groups: 2, blocks: 2, shares: [2, 2, 2] },
    Tiling { tile: [64, 64, 16], thread: [8, 8], groups: 2, blocks: 3, shares: [4, 2, 2] },
    Tiling { tile: [32, 64, 32], thread: [8, 8], groups: 4, blocks: 3, shares: [4, 2, 4] },
    Tiling { tile: [64, 64, 16], thread: [8, 4], groups: 1, blocks: 4, shares: [4, 4, 4] },
    Tiling { tile: [64, 32, 16], thread: [8, 4], groups: 1, blocks: 8, shares: [4, 4, 4] },
    Tiling { tile: [16, 64, 32], thread: [4, 8], groups: 4, blocks: 4, shares: [2, 2, 2] },
    Tiling { tile: [16, 32, 64], thread: [4, 4], groups: 4, blocks: 4, shares: [2, 2, 2] },
];
/// The ones that are committed for rows of B that start anywhere: one for large problems, and the finest.
const RAGGED: [Tiling; 2] = [TILINGS[4], TILINGS[10]];

/// K is cut no finer than this, into no more slices than occupy every SM eight times, and their products take no more memory
/// than this many elements.
const MIN_SLICE: u64 = 48;
const MAX_BLOCKS_PER_SM: u64 = 8;
const MAX_WORKSPACE: u64 = 1 << 26;

/// Elements of the largest thread tile that the kernel stores as wide as it copies B. A wide store wants its sums in
/// neighbouring registers, and larger tiles have none to spare for that.
const WIDE_STORES: u32 = 32;

/// Products of one row, and of so few columns, have kernels of their own; tiles are as good for a few rows.
const FEW: u64 = 8;
/// Threads of their blocks, and the rows of C that one of them computes where there are few columns.
const ROW_THREADS: u32 = 512;
const COLUMNS_THREADS: u32 = 256;
const COLUMNS_ROWS: u32 = 4;
/// So many blocks for four SMs are enough for a row, and so many for one are wanted for a few columns.
const ROW_BLOCKS_PER_FOUR_SMS: u64 = 5;
const COLUMNS_BLOCKS_PER_SM: u64 = 2;
/// With less than a block for each SM they divide K, too: a shorter slice would not pay for adding them up.
const FEW_MIN_SLICE: u64 = 1024;

impl Tiling {
    /// Warps of a block: a warp covers 4 × 8 thread tiles, and each group of warps all of the block's tile.
    fn warps(&self) -> u32 {
        self.tile[0] / (4 * self.thread[0]) * (self.tile[1] / (8 * self.thread[1])) * self.groups
    }

    fn specialisation(&self, dtype: Dtype, vector: u32, last: Last) -> Specialisation {
        let ([tile_m, tile_n, tile_k], [thread_m, thread_n]) = (self.tile, self.thread);
        let copies = 2 - vector.ilog2() as usize;
        let odd = u32::from(last == Last::Alone);
        let name = format!("{tile_m}x{tile_n}g{}v{vector}{}", self.groups, if odd == 1 { "odd" } else { "" });
        let defines = [
            ("TILE_M", tile_m),
            ("TILE_N", tile_n),
            ("TILE_K", tile_k),
            ("THREAD_M", thread_m),
            ("THREAD_N", thread_n),
            ("GROUPS", self.groups),
            ("VECTOR", vector),
            ("ODD", odd),
            ("STORED", if self.stores_wide() { vector } else { 1 }),
            ("BLOCKS", self.blocks),
            ("SHARES", self.shares[copies]),
        ];
        // From 8.0 on copies are asynchronous; an older GPU compiles the kernel, or is told to.
        Specialisation::named(name, dtype, &defines).for_target(80)
    }

    /// Steps of K in each of so many slices. The last one may have fewer.
    fn slice(&self, k: u64, slices: u64) -> u64 {
        if slices > 1 { k.div_ceil(slices).next_multiple_of(self.tile[2].into()) } else { k }
    }

    /// Steps of k that a block multiplies if K is cut into so many slices.
    fn depth(&self, k: u64, slices: u64, last: Last) -> u64 {
        let [tile_k, groups] = [self.tile[2], self.groups].map(u64::from);
        let slice = self.slice(k, slices);
        match last {
            Last::Pair => slice.next_multiple_of(2 * tile_k),
            // The last tile ends with the group that has the most of it.
            Last::Alone => slice / tile_k * tile_k + (slice % tile_k * groups).min(tile_k),
        }
    }

    /// Whether the kernel stores C as wide as it copies B.
    fn stores_wide(&self) -> bool {
        self.thread[0] * self.thread[1] <= WIDE_STORES
    }

    /// A specialisation that stores so many elements of C at once, and not as many as it copies.
    fn storing(&self, mut specialisation: Specialisation, stored: u32) -> Specialisation {
        if self.stores_wide() {
            specialisation.name += &format!("s{stored}");
            specialisation.defines.retain(|(name, _)| name != "STORED");
            specialisation.defines.push(("STORED".to_owned(), stored.to_string()));
        }
        specialisation
    }

    /// The plan without slices.
    fn plan(&self, problem: &Problem, specialisation: Specialisation) -> Plan {
        let [tile_m, tile_n, tile_k] = self.tile;
        Plan::tiled(problem, specialisation, [32 * self.warps(), 1], [tile_n, tile_m]).with_tile_k(tile_k)
    }
}

/// Elements of B in one copy, as many as every row starts on. What is not compiled is committed for 4 and for 1, and the kernel
/// for few rows or columns for 1 only.
fn vector(problem: &Problem, device: &DeviceInfo) -> u32 {
    match problem.n % 4 {
        0 if device.compiles || (problem.dtype == Dtype::F32 && !is_few(problem)) => 4,
        2 if device.compiles => 2,
        _ => 1,
    }
}

fn is_few(problem: &Problem) -> bool {
    problem.m == 1 || problem.n <= FEW
}

fn row_specialisation(dtype: Dtype) -> Specialisation {
    Specialisation::named("row", dtype, &[("ROW", 1), ("THREADS", ROW_THREADS)]).for_target(80)
}

fn columns_specialisation(dtype: Dtype, columns: u32, vector: u32) -> Specialisation {
    let defines = [("COLUMNS", columns), ("VECTOR", vector), ("THREADS", COLUMNS_THREADS)];
    Specialisation::named(format!("columns{columns}v{vector}"), dtype, &defines).for_target(80)
}

/// The plan for a row or a few columns: the threads of a block divide its share of C and K among them so that every SM has
/// blocks, and if K must be divided among blocks, too, there are slices.
fn plan_few(without: Without, problem: &Problem, device: &DeviceInfo) -> Plan {
    let sm_count = u64::from(device.sm_count);
    let mut plan = if problem.m == 1 {
        // Four columns for each thread along x. Where the rows of B start anywhere, four columns of a block are only read.
        let (least, spare) = if problem.n.is_multiple_of(4) { (2, 0) } else { (4, 4) };
        let blocks = |x: u32| problem.n.div_ceil(u64::from(4 * x - spare));
        let mut widths = successors(Some(least), |x| Some(2 * x)).take_while(|&x| x < 32);
        let x = widths.find(|&x| 4 * blocks(x) <= ROW_BLOCKS_PER_FOUR_SMS * sm_count).unwrap_or(32);
        let tile = [4 * x - spare, 1];
        let mut plan = Plan::tiled(problem, row_specialisation(problem.dtype), [x, 32 / x], tile);
        plan.launches[0].block[2] = ROW_THREADS / 32;
        plan
    } else {
        let vector = if without == Without::WideCopies { 1 } else { vector(problem, device) };
        let columns = (problem.n as u32).next_power_of_two();
        let rows = |x: u32| COLUMNS_ROWS * COLUMNS_THREADS / x;
        let mut widths = successors(Some(32), |x| Some(2 * x)).take_while(|&x| x < COLUMNS_THREADS);
        let enough = |x: &u32| problem.m.div_ceil(rows(*x).into()) >= COLUMNS_BLOCKS_PER_SM * sm_count;
        let x = widths.find(enough).unwrap_or(COLUMNS_THREADS);
        let specialisation = columns_specialisation(problem.dtype, columns, vector);
        Plan::tiled(problem, specialisation, [x, COLUMNS_THREADS / x], [columns, rows(x)])
    };
    // One launch along x for either kind: y would end at 65,535 blocks of rows.
    let [tile_n, tile_m] = plan.tile.map(u64::from);
    let blocks = problem.m.div_ceil(tile_m) * problem.n.div_ceil(tile_n);
    plan.launches.truncate(1);
    plan.launches[0].grid = [blocks as u32, 1, 1];
    plan.launches[0].args[3] = Arg::Int(problem.m as i32);
    let most = (sm_count / blocks).min(problem.k / FEW_MIN_SLICE);
    plan.in_slices(problem, if without == Without::Slices { 1 } else { most.max(1) })
}

/// All plans with tiles: each tiling, with K in one slice or several.
pub fn choices(problem: &Problem, device: &DeviceInfo) -> Vec<Choice> {
    choices_without(Without::Nothing, problem, device)
}

/// All plans with tiles, without what other tilings, more slices or another specialisation would bring.
fn choices_without(without: Without, problem: &Problem, device: &DeviceInfo) -> Vec<Choice> {
    let Some(costs) = cost::of(device).filter(|_| without == Without::Few || !is_few(problem)) else {
        return Vec::new();
    };
    let narrow = without == Without::WideCopies && !device.compiles; // with wide stores it is not committed
    let vector = if narrow { 1 } else { vector(problem, device) };
    let tilings = if vector == 1 && !device.compiles { &RAGGED[..] } else { &TILINGS };
    let kept = |tiling: &&Tiling| match without {
        Without::Tiles => tiling.tile == TILINGS[0].tile,
        Without::Groups => tiling.groups == 1,
        // What is committed stores as wide as it copies, or the tile is large.
        Without::WideStores if vector > 1 && !device.compiles => !tiling.stores_wide(),
        _ => true,
    };
    let mut choices = Vec::new();
    for tiling in tilings.iter().filter(kept) {
        let tile_k = u64::from(tiling.tile[2]);
        let [pairs, alone] = [Last::Pair, Last::Alone].map(|last| {
            let copied = if without == Without::WideCopies { 1 } else { vector };
            let specialisation = tiling.specialisation(problem.dtype, copied, last);
            // Stores of another width have no figures of their own.
            let figures = specialisation.name.clone();
            let specialisation = match without {
                Without::WideCopies if vector > 1 => tiling.storing(specialisation, vector),
                Without::WideStores if vector > 1 => tiling.storing(specialisation, 1),
                _ => specialisation,
            };
            (last, figures, tiling.plan(problem, specialisation))
        });
        let blocks = Work::of(&pairs.2, problem, problem.k).blocks;
        let most = (MAX_BLOCKS_PER_SM * u64::from(device.sm_count) / blocks)
            .min(problem.k / MIN_SLICE)
            .min(MAX_WORKSPACE / problem.c_elements())
            .max(1);
        let most = if without == Without::Slices { 1 } else { most };
        for slices in cost::slice_counts(most, problem.k, |count| tiling.slice(problem.k, count)) {
            let odd = device.compiles && problem.k.div_ceil(slices).div_ceil(tile_k) % 2 == 1 && tile_k > 8;
            let odd = odd && without != Without::Alone;
            for (last, figures, plan) in [&pairs].into_iter().chain(odd.then_some(&alone)) {
                let plan = plan.clone().in_slices(problem, slices);
                let work = Work::of(&plan, problem, tiling.depth(problem.k, slices, *last));
                if let Some(expected_us) = costs.time_us(figures, &work, device.sm_count) {
                    choices.push(Choice { plan, figures: figures.clone(), work, expected_us });
                }
            }
        }
    }
    choices
}

/// The launch.
pub fn plan(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    plan_without(Without::Nothing, problem, device)
}

fn plan_without(without: Without, problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    if is_few(problem) && without != Without::Few {
        return Ok(plan_few(without, problem, device));
    }
    let choices = choices_without(without, problem, device);
    if choices.is_empty() && without != Without::Nothing {
        bail!(
            "what is committed cannot do without it at this size; choose an N that is a multiple of 4, or run it on a GPU with NVRTC"
        );
    }
    let best = cost::best(choices).context(
        "step06_prefetch/beyond/every_shape.json has no measured time for any tiling; write it again: cargo run --release -p beyond -- shapes OUT --tune",
    )?;
    Ok(best.plan)
}

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    let of = |tilings: &[Tiling], vector| -> Vec<Specialisation> {
        tilings.iter().map(|tiling| tiling.specialisation(dtype, vector, Last::Pair)).collect()
    };
    let columns = [1, 2, 4, 8].map(|columns| columns_specialisation(dtype, columns, 1));
    [of(&TILINGS, 4), of(&RAGGED, 1), vec![row_specialisation(dtype)], columns.to_vec()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that compiles, and so may take every tiling.
    fn device() -> DeviceInfo {
        DeviceInfo { compiles: true, ..DeviceInfo::simulated(1 << 30) }
    }

    fn planned(size: [u64; 3]) -> (String, u32, Plan) {
        let plan = plan(&Problem::uniform(size), &device()).unwrap();
        (plan.specialisation.name.clone(), plan.launches[0].grid[2], plan)
    }

    #[test]
    fn every_specialisation_has_a_measured_time() {
        assert!(!cost::COSTS.is_empty());
        for costs in cost::COSTS.iter() {
            for vector in [4, 2, 1] {
                let both = TILINGS.iter().flat_map(|tiling| [Last::Pair, Last::Alone].map(|last| (tiling, last)));
                for (tiling, last) in both.filter(|(tiling, last)| *last == Last::Pair || tiling.tile[2] > 8) {
                    let name = tiling.specialisation(Dtype::F32, vector, last).name;
                    let cost = costs.blocks.get(&name).unwrap_or_else(|| panic!("{} lacks {name}", costs.gpu));
                    let [few @ .., many] = &cost.step_us;
                    assert!(*many > 0.0 && few.iter().all(|us| *us > 0.0), "{}: {name}: {cost:?}", costs.gpu);
                }
            }
        }
    }

    #[test]
    fn the_tiling_fits_the_problem() {
        for (size, name, sliced) in [
            ([256, 256, 256], "16x32g4v4", false),
            ([4096, 4096, 4096], "128x256g1v4", false),
            ([8192, 8192, 8192], "128x256g1v4", false),
            // Rows of B that start anywhere, or on two elements.
            ([4095, 4095, 4095], "128x256g1v1", false),
            ([4094, 4094, 4094], "64x256g1v2", false),
            // Few tiles, and a K to share out.
            ([512, 512, 16384], "128x256g1v4", true),
            ([1, 4096, 4096], "row", false),
            ([1, 64, 60_000], "row", true),
            ([4097, 3, 100], "columns4v1", false),
            ([100, 8, 60_000], "columns8v4", true),
        ] {
            let (found, layers, _) = planned(size);
            assert_eq!((found.as_str(), layers > 1), (name, sliced), "{size:?}");
        }
    }

    #[test]
    fn every_plan_is_whole_and_of_moderate_size() {
        let sides = [1, 2, 8, 9, 31, 100, 1024, 5000, 70_000];
        let sizes = sides.iter().flat_map(|m| sides.iter().flat_map(move |n| sides.map(|k| [*m, *n, k])));
        for [m, n, k] in sizes {
            let (_, slices, plan) = planned([m, n, k]);
            let [tile_n, tile_m] = plan.tile.map(u64::from);
            let [x, y, _] = plan.launches[0].grid.map(u64::from);
            if m == 1 || n <= FEW {
                assert_eq!((x, y), (m.div_ceil(tile_m) * n.div_ceil(tile_n), 1));
            } else {
                assert_eq!((x, y), (n.div_ceil(tile_n), m.div_ceil(tile_m)));
            }
            assert_eq!(plan.launches.len(), if slices > 1 { 2 } else { 1 });
            assert_eq!(plan.workspace_elements, if slices > 1 { u64::from(slices) * m * n } else { 0 });
            assert!(plan.workspace_elements <= MAX_WORKSPACE, "{m}×{n}×{k}: {}", plan.workspace_elements);
            assert!(u64::from(slices) <= k);
        }
    }

    #[test]
    fn the_plan_is_the_choice_that_is_expected_to_be_fastest() {
        for size in [[300, 500, 700], [1001, 999, 5000], [64, 8192, 64]] {
            let all = choices(&Problem::uniform(size), &device());
            let best = all.iter().map(|choice| choice.expected_us).fold(f64::INFINITY, f64::min);
            let chosen = planned(size).2;
            assert!(all.iter().any(|choice| choice.plan == chosen && choice.expected_us <= best), "{size:?}");
            assert!(all.iter().any(|choice| choice.plan.launches.len() > 1) == (size[2] > 100), "{size:?}");
        }
    }

    #[test]
    fn without_an_idea_no_plan_uses_it() {
        let uses = |name: &str, plan: &Plan| {
            let define = |wanted: &str| {
                let found = plan.specialisation.defines.iter().find(|(name, _)| name == wanted);
                found.map_or(0, |(_, value)| value.parse::<u32>().unwrap())
            };
            match name {
                "tiles" => define("TILE_M") != 128,
                "groups" => define("GROUPS") > 1,
                "slices" => plan.launches.len() > 1,
                "wide_copies" => define("VECTOR") > 1,
                "alone" => define("ODD") == 1,
                "wide_stores" => define("STORED") > 1,
                _ => define("ROW") + define("COLUMNS") > 0,
            }
        };
        for device in [device(), DeviceInfo::simulated(1 << 30)] {
            for [m, n, k] in
                [[256, 256, 256], [512, 512, 4096], [76, 184, 516], [300, 500, 80], [1, 512, 512], [512, 4, 512]]
            {
                let problem = Problem::uniform([m, n, k]);
                for idea in IDEAS {
                    let at = format!("{} at {m}×{n}×{k}", idea.name);
                    let is_tiled = (m > 1 && n > FEW) || idea.name == "few";
                    let choices = (idea.choices)(&problem, &device);
                    assert_eq!(!choices.is_empty(), is_tiled, "{at}");
                    assert!(choices.iter().all(|choice| !uses(idea.name, &choice.plan)), "{at}");
                    let plan = (idea.plan)(&problem, &device).unwrap();
                    assert!(!is_tiled || choices.iter().any(|choice| choice.plan == plan), "{at}");
                    if !device.compiles {
                        let all = specialisations(Dtype::F32);
                        assert!(all.contains(&plan.specialisation), "{at}: {}", plan.specialisation.name);
                    }
                }
            }
        }
    }

    #[test]
    fn a_tall_matrix_takes_several_launches() {
        let (_, slices, plan) = planned([5_000_000, 16, 16]);
        assert_eq!(slices, 1);
        assert!(plan.launches.len() > 1 && plan.launches.iter().all(|launch| launch.grid[1] <= 65_535));
        let rows: i64 =
            plan.launches.iter().map(|l| if let Arg::Int(rows) = l.args[3] { rows.into() } else { 0 }).sum();
        assert_eq!(rows, 5_000_000);
        // Few columns need one launch only.
        assert_eq!(planned([5_000_000, 8, 16]).2.launches.len(), 1);
    }

    #[test]
    fn matrices_of_more_than_2_to_the_31_elements_are_planned() {
        let (_, slices, plan) = planned([46_400, 46_400, 64]);
        assert_eq!((slices, plan.launches.len()), (1, 1));
        let (_, _, plan) = planned([1, 1, (1 << 31) - 1]);
        assert!(plan.workspace_elements <= 1 << 20);
    }

    #[test]
    fn blocks_fit_every_device_and_share_out_their_copies() {
        for tiling in TILINGS {
            let [tile_m, tile_n, tile_k] = tiling.tile;
            let threads = 32 * tiling.warps();
            let bytes = 4 * 2 * tile_k * (tile_m + 4 + tile_n);
            assert!(bytes <= 48 * 1024 && threads <= 1024, "{tiling:?}: {bytes}");
            assert!(tile_m.is_multiple_of(threads / 8) && tile_k.is_multiple_of(8), "{tiling:?}");
            for vector in [1, 2, 4] {
                assert!(tile_k.is_multiple_of(threads / (tile_n / vector).min(32)), "{tiling:?}, {vector}");
            }
            // Each group has an even number of steps, as two sets of registers take turns, and two rows of all groups but the
            // first fit into the tiles.
            let steps = tile_k / tiling.groups;
            let row = (tiling.groups - 1) * tiling.thread[1] * threads / tiling.groups;
            assert!(steps.is_multiple_of(2) && 2 * row * 4 <= bytes, "{tiling:?}");
        }
    }
}
