//! The time of a tiled product on a GPU, as a model whose figures are fitted to measurements.
//!
//! What decides is how deep the blocks are, and how many an SM has. If there are few, the busiest SM decides, and each number of
//! blocks has its own cost of a step of k, because blocks hide what the others wait for. If there are many, an SM takes the
//! next one when one is done, and the blocks are shared out evenly but for the last ones. A step costs more where A and B do
//! not fit into the cache, and where rows do not start on cache lines.

use std::collections::BTreeMap;
use std::iter::successors;
use std::sync::LazyLock;

use plan::{DeviceInfo, Plan, Problem};
use serde::{Deserialize, Serialize};

/// Elements of a cache line.
const LINE: u64 = 32;

/// What a plan makes a GPU do, as far as its time depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Blocks, those of all slices.
    pub blocks: u64,
    /// Steps of k that each block multiplies.
    pub depth: u64,
    /// Slices of K.
    pub slices: u64,
    /// Elements of C.
    pub elements: u64,
    /// Bytes of A and B.
    pub read_bytes: u64,
    /// Whether each row of B and of C starts on a cache line.
    pub aligned: bool,
    /// What it takes to split A and B for tensor cores; nothing for other kernels.
    #[serde(default)]
    pub split: Split,
}

/// The work of a pass over A and B that splits their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Rounds of blocks, each as long as its threads are many, in threads for each line.
    pub rounds: u64,
    /// Elements of A and B, filled up to whole tiles.
    pub elements: u64,
    /// Those that are read one by one, because rows start anywhere.
    pub single: u64,
}

/// One of several plans for a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The plan.
    pub plan: Plan,
    /// The name of its figures.
    pub figures: String,
    /// Its work.
    pub work: Work,
    /// Its time in µs by the model: measured on a GPU of this name, or of another.
    pub expected_us: f64,
}

/// The choice that is expected to be fastest.
pub fn best(choices: impl IntoIterator<Item = Choice>) -> Option<Choice> {
    choices.into_iter().min_by(|a, b| a.expected_us.total_cmp(&b.expected_us))
}

/// Numbers of slices of K that are tried: up to `most`, and none of them leaves nothing of K for the last slice, which
/// are so deep.
pub fn slice_counts(most: u64, k: u64, depth: impl Fn(u64) -> u64) -> impl Iterator<Item = u64> {
    let counts = successors(Some(1), |count| Some(count + 1 + count / 8)).take_while(move |&count| count <= most);
    counts.filter(move |&count| (count - 1) * depth(count) < k)
}

impl Work {
    /// The work of a tiled kernel whose blocks multiply so many steps of k each.
    pub fn of(plan: &Plan, problem: &Problem, depth: u64) -> Self {
        let blocks = plan.launches.iter().filter(|launch| launch.entry == "matmul");
        let slices = plan.slices().into();
        Self {
            blocks: blocks.map(|launch| launch.grid.iter().map(|&side| u64::from(side)).product::<u64>()).sum(),
            depth,
            slices,
            elements: problem.c_elements(),
            read_bytes: (problem.a_elements() + problem.b_elements()) * 4,
            aligned: problem.n.is_multiple_of(LINE),
            split: Split::default(),
        }
    }
}

/// Up to so many blocks of an SM, each number of them has its own cost of a step of k.
const FEW: usize = 8;

/// The figures of one specialisation of a kernel on one GPU, in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockCost {
    /// Once for a launch.
    pub start_us: f64,
    /// For each block of an SM: its first tiles, and its part of C.
    pub block_us: f64,
    /// For a thousand elements of C that an SM stores: a block beyond the last row or column stores fewer.
    pub stored_us: f64,
    /// More for each block where rows do not start on cache lines.
    pub unaligned_block_us: f64,
    /// For a step of k of each block: if the busiest SM has one, two, and so on; and at the end, if it has more than a few.
    pub step_us: [f64; FEW + 1],
    /// For a step of k, if it has more than a few: while the last blocks are multiplied, other SMs have none.
    pub last_us: f64,
    /// More for a step of k of each block where rows do not start on cache lines.
    pub unaligned_step_us: f64,
    /// More for a step of k, if device memory has to give all of A and B.
    pub cold_us: f64,
    /// For a million elements of C, those of all slices, that the cache cannot hold.
    #[serde(default)]
    pub spilled_us: f64,
    /// For splitting A and B: a thousand threads of a round, a million elements, and as many more if they are read one by one.
    #[serde(default)]
    pub split_us: [f64; 3],
}

/// Figures of a [`BlockCost`] that are fitted together: those that are no steps, and the steps.
const FIGURES: usize = OTHERS + FEW + 1;
const OTHERS: usize = 11;

/// Megabytes of A and B that a cache is tried with in a fit.
const CACHED_MB: [u64; 8] = [5, 10, 15, 20, 30, 40, 60, 90];

/// What of a GPU decides for every kernel.
#[derive(Clone, Copy, Debug)]
struct Chip {
    sm_count: u32,
    cached_bytes: u64,
}

impl BlockCost {
    /// How often each figure counts, in the order of `figures_mut`.
    fn shares(work: &Work, chip: Chip) -> [f64; FIGURES] {
        let sm_count = u64::from(chip.sm_count.max(1));
        let busiest = work.blocks.div_ceil(sm_count).max(1) as usize;
        let many = busiest > FEW;
        let blocks = if many { work.blocks as f64 / sm_count as f64 } else { busiest as f64 };
        let stored = (work.slices * work.elements) as f64 * blocks / work.blocks.max(1) as f64;
        let unaligned = if work.aligned { 0.0 } else { blocks };
        let depth = work.depth as f64;
        let last = if many { depth } else { 0.0 };
        // Device memory has to give what of A and B does not stay in the cache.
        let cached = chip.cached_bytes.min(work.read_bytes) as f64 / work.read_bytes.max(1) as f64;
        let cold = depth * (1.0 - cached);
        let spilled = (4 * work.slices * work.elements).saturating_sub(chip.cached_bytes) as f64 / 4e6;
        let Split { rounds, elements, single } = work.split;
        let [rounds, elements, single] = [rounds as f64 / 1e3, elements as f64 / 1e6, single as f64 / 1e6];
        let mut shares = [0.0; FIGURES];
        let stored = stored / 1e3;
        let others = [1.0, blocks, stored, unaligned, last, unaligned * depth, cold, spilled, rounds, elements, single];
        shares[..OTHERS].copy_from_slice(&others);
        shares[OTHERS + busiest.min(FEW + 1) - 1] = blocks * depth;
        shares
    }

    /// The figures, each once, always in the same order.
    pub fn figures_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        let Self { start_us, block_us, stored_us, unaligned_block_us, .. } = self;
        let others = [start_us, block_us, stored_us, unaligned_block_us];
        let more = [&mut self.last_us, &mut self.unaligned_step_us, &mut self.cold_us, &mut self.spilled_us];
        others.into_iter().chain(more).chain(&mut self.split_us).chain(&mut self.step_us)
    }

    /// The time of a launch in µs.
    fn time_us(mut self, work: &Work, chip: Chip) -> f64 {
        Self::shares(work, chip).iter().zip(self.figures_mut()).map(|(share, figure)| share * *figure).sum()
    }

    /// A row for a fit: a step of many blocks costs what one of [`FEW`] does, and all of it counts as one error of 100 %. Large
    /// tiles have many blocks at few of the measured shapes, and those alone do not tell `last_us` from a step.
    fn many_like_few(parts: &[Part], chip: Chip) -> Option<Row<FIGURES>> {
        let busiest = |work: &Work| work.blocks.div_ceil(u64::from(chip.sm_count.max(1))).max(1);
        let steps = |work: &Work| (busiest(work) * work.depth) as f64;
        let least = parts.iter().map(|(measured, us)| us / steps(&measured.work)).min_by(f64::total_cmp)?;
        let mut row = [0.0; FIGURES];
        (row[OTHERS + FEW - 1], row[OTHERS + FEW]) = (1.0 / least, -1.0 / least);
        (least > 0.0).then_some((row, 0.0))
    }

    /// The figures that fit best, and their sum of squared errors, scaled. No figure is below zero.
    fn fit(parts: &[Part], chip: Chip) -> (f64, Self) {
        let mut rows: Vec<_> = parts.iter().map(|part| row(part, Self::shares(&part.0.work, chip))).collect();
        rows.extend(Self::many_like_few(parts, chip));
        let figures = non_negative(&rows);
        rows.truncate(parts.len());
        let of = |row: &[f64; FIGURES]| row.iter().zip(figures).map(|(share, figure)| share * figure).sum::<f64>();
        let error = rows.iter().map(|(row, part)| (of(row) - part).powi(2)).sum();
        let mut cost = Self::default();
        cost.figures_mut().zip(figures).for_each(|(place, figure)| *place = figure);
        cost.step_us = filled(cost.step_us, |number| rows.iter().any(|(row, _)| row[OTHERS + number] > 0.0));
        (error, cost)
    }
}

/// A number of blocks that was not measured takes the figure of the next larger one that was, else of the next smaller.
fn filled(steps: [f64; FEW + 1], is_measured: impl Fn(usize) -> bool) -> [f64; FEW + 1] {
    std::array::from_fn(|at| {
        let nearest = (at..steps.len()).chain((0..at).rev()).find(|&other| is_measured(other));
        nearest.map_or(0.0, |other| steps[other])
    })
}

/// A measured time of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    /// What the plan had to do.
    pub work: Work,
    /// How long it took, in µs.
    pub us: f64,
    /// The least time of all plans that were measured for the same problem, in µs.
    pub least_us: f64,
}

/// The figures are there to choose a plan, so a time counts the less in their fit the farther it is from the least: its squared
/// error is multiplied by this power of least over measured.
const FAVOURED: f64 = 3.0;

/// A measured time, and the part of it that is to be explained, in µs.
type Part = (Measurement, f64);
/// How often each figure counts, and the part, both scaled.
type Row<const N: usize> = ([f64; N], f64);

fn row<const N: usize>((Measurement { us, least_us, .. }, part_us): &Part, shares: [f64; N]) -> Row<N> {
    // What an error of a µs counts.
    let scale = (least_us / us).powf(FAVOURED / 2.0) / us;
    (shares.map(|share| share * scale), part_us * scale)
}

/// The x of at least 0 with the least |A·x - b|², by coordinate descent on the normal equations; each row with its b.
fn non_negative<const N: usize>(rows: &[Row<N>]) -> [f64; N] {
    let product = |i: usize, j: usize| rows.iter().map(|(row, _)| row[i] * row[j]).sum::<f64>();
    let square: [[f64; N]; N] = std::array::from_fn(|i| std::array::from_fn(|j| product(i, j)));
    let right: [f64; N] = std::array::from_fn(|i| rows.iter().map(|(row, b)| row[i] * b).sum());
    let mut x = [0.0; N];
    for _ in 0..20_000 {
        let before = x;
        for i in 0..N {
            if square[i][i] > 0.0 {
                let rest = right[i] - (0..N).filter(|&j| j != i).map(|j| square[i][j] * x[j]).sum::<f64>();
                x[i] = (rest / square[i][i]).max(0.0);
            }
        }
        if x.iter().zip(before).all(|(now, before)| (now - before).abs() <= 1e-9 * now) {
            break;
        }
    }
    x
}

/// What adding up slices of K costs on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SliceCost {
    /// Once: another launch, in µs.
    pub start_us: f64,
    /// For a million elements, those of all slices, in µs.
    pub million_us: f64,
}

impl SliceCost {
    fn shares(work: &Work) -> [f64; 2] {
        [1.0, (work.slices * work.elements) as f64 / 1e6]
    }

    /// The time in µs: none for one slice.
    pub fn time_us(&self, work: &Work) -> f64 {
        let [start, millions] = Self::shares(work);
        if work.slices > 1 { start * self.start_us + millions * self.million_us } else { 0.0 }
    }

    /// The figures that fit times of several slices best.
    fn fit(parts: impl Iterator<Item = Part>) -> Self {
        let sliced = parts.filter(|(measured, _)| measured.work.slices > 1);
        let rows: Vec<_> = sliced.map(|part| row(&part, Self::shares(&part.0.work))).collect();
        let [start_us, million_us] = non_negative(&rows);
        Self { start_us, million_us }
    }
}

/// The figures of one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuCosts {
    /// The device's own name.
    pub gpu: String,
    /// Its multiprocessors.
    pub sm_count: u32,
    /// The day of the measurements, and what compiled the kernels.
    pub measured: String,
    /// Bytes of A and B that stay in its cache.
    pub cached_bytes: u64,
    /// Adding up slices of K.
    pub slices: SliceCost,
    /// Each specialisation by its name.
    pub blocks: BTreeMap<String, BlockCost>,
}

/// The figures of all GPUs that were measured: `beyond shapes OUT --tune` writes them.
pub static COSTS: LazyLock<Vec<GpuCosts>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../every_shape.json")).unwrap_or_default());

/// Those of this device, or of another one.
pub fn of(device: &DeviceInfo) -> Option<&'static GpuCosts> {
    COSTS.iter().find(|costs| costs.gpu == device.name).or(COSTS.first())
}

impl GpuCosts {
    /// Figures for all specialisations from measured times in µs.
    pub fn fit(gpu: &str, sm_count: u32, measured: &str, samples: &BTreeMap<String, Vec<Measurement>>) -> Self {
        let fits = CACHED_MB.map(|megabytes| {
            let chip = Chip { sm_count, cached_bytes: megabytes * 1_000_000 };
            let (error, slices, blocks) = Self::fit_chip(chip, samples);
            let (gpu, measured, cached_bytes) = (gpu.into(), measured.into(), chip.cached_bytes);
            (error, Self { gpu, sm_count, measured, cached_bytes, slices, blocks })
        });
        let [first, others @ ..] = fits;
        others.into_iter().fold(first, |best, fit| if fit.0 < best.0 { fit } else { best }).1
    }

    /// The costs fitted for a cache of this size, with the sum of squared errors. Slices and blocks are fitted in turns: each is what
    /// the other leaves of the time.
    fn fit_chip(
        chip: Chip,
        samples: &BTreeMap<String, Vec<Measurement>>,
    ) -> (f64, SliceCost, BTreeMap<String, BlockCost>) {
        let (mut error, mut slices, mut blocks) = (0.0, SliceCost::default(), BTreeMap::new());
        for _ in 0..8 {
            error = 0.0;
            for (name, samples) in samples {
                let part = |measured: &Measurement| (*measured, measured.us - slices.time_us(&measured.work));
                let (errors, cost) = BlockCost::fit(&samples.iter().map(part).collect::<Vec<_>>(), chip);
                error += errors;
                blocks.insert(name.clone(), cost);
            }
            let all = samples.iter().flat_map(|(name, samples)| samples.iter().map(move |measured| (name, *measured)));
            slices = SliceCost::fit(
                all.map(|(name, measured)| (measured, measured.us - blocks[name].time_us(&measured.work, chip))),
            );
        }
        (error, slices, blocks)
    }

    /// The expected time in µs of a specialisation's work on a device with so many multiprocessors; `None` if there are no
    /// figures for it.
    pub fn time_us(&self, name: &str, work: &Work, sm_count: u32) -> Option<f64> {
        let chip = Chip { sm_count, cached_bytes: self.cached_bytes };
        Some(self.blocks.get(name)?.time_us(work, chip) + self.slices.time_us(work))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(blocks: u64, depth: u64, slices: u64) -> Work {
        Work {
            blocks,
            depth,
            slices,
            elements: blocks * 1000,
            read_bytes: 1000,
            aligned: true,
            split: Split::default(),
        }
    }

    const CHIP: Chip = Chip { sm_count: 132, cached_bytes: 20_000_000 };

    const COST: BlockCost = BlockCost {
        start_us: 2.5,
        block_us: 0.75,
        stored_us: 0.1,
        unaligned_block_us: 0.2,
        step_us: [0.03, 0.02, 0.018, 0.018, 0.017, 0.016, 0.016, 0.015, 0.014],
        last_us: 0.02,
        unaligned_step_us: 0.001,
        cold_us: 0.01,
        spilled_us: 0.3,
        split_us: [0.0; 3],
    };

    #[test]
    fn a_time_follows_from_the_blocks_the_cache_and_the_rows() {
        let blocks = |blocks| work(blocks, 1000, 1);
        let reads = |read_bytes| Work { read_bytes, ..blocks(400) };
        let unaligned = Work { aligned: false, ..blocks(400) };
        // Each of these blocks stores a thousand elements.
        let few = |each: f64, step: f64| 2.5 + each * (0.85 + 1000.0 * step);
        for (work, expected) in [
            // Few blocks take as long as those of the busiest SM.
            (blocks(1), few(1.0, 0.03)),
            (blocks(132), few(1.0, 0.03)),
            (blocks(133), few(2.0, 0.02)),
            (blocks(264), few(2.0, 0.02)),
            (blocks(1056), few(8.0, 0.015)),
            // Many are shared out but for the last.
            (blocks(1320), few(10.0, 0.014) + 20.0),
            (blocks(1321), few(1321.0 / 132.0, 0.014) + 20.0),
            // What does not fit into the cache makes steps longer, and rows that do not start on lines cost more.
            (reads(20_000_000), few(4.0, 0.018)),
            (reads(40_000_000), few(4.0, 0.018) + 1000.0 * 0.01 / 2.0),
            (unaligned, few(4.0, 0.018) + 4.0 * (0.2 + 1.0)),
            // Of 32 MB of C, three million elements do not fit into the cache.
            (Work { elements: 8_000_000, ..blocks(400) }, 2.5 + 4.0 * (0.75 + 2.0 + 18.0) + 3.0 * 0.3),
        ] {
            let found = COST.time_us(&work, CHIP);
            assert!((found - expected).abs() < 1e-9, "{work:?}: {found} and not {expected}");
        }
    }

    #[test]
    fn a_fit_finds_the_figures_again() {
        let slices = SliceCost { start_us: 2.0, million_us: 0.4 };
        let mut samples = Vec::new();
        for blocks in [50, 132, 200, 264, 390, 528, 660, 792, 900, 1000, 1500, 5000] {
            for depth in [64, 256, 1024, 4096] {
                for (count, read_bytes) in [(1, 1_000_000), (4, 2_000_000), (1, 50_000_000), (1, 200_000_000)] {
                    for aligned in [true, false] {
                        let work = Work { read_bytes, aligned, ..work(blocks, depth, count) };
                        let us = COST.time_us(&work, CHIP) + slices.time_us(&work);
                        samples.push(Measurement { work, us, least_us: us });
                    }
                }
            }
        }
        let costs = GpuCosts::fit("a GPU", 132, "", &BTreeMap::from([("k".to_owned(), samples.clone())]));
        for Measurement { work, us, .. } in samples {
            let expected = costs.time_us("k", &work, 132).unwrap();
            assert!((expected / us - 1.0).abs() < 0.05, "{work:?}: {expected} for {us}");
        }
        assert_eq!(costs.cached_bytes, CHIP.cached_bytes);
        assert_eq!(costs.time_us("another", &work(1, 1, 1), 132), None);
    }

    #[test]
    fn times_of_plans_that_nobody_would_choose_count_little() {
        // Two times of the same work, one of them far from the best plan of its problem: the figures explain the other.
        let fitted = |least_us| {
            let far = Measurement { work: work(132, 1000, 1), us: 60.0, least_us };
            let best = Measurement { us: 30.0, least_us: 30.0, ..far };
            BlockCost::fit(&[(far, 60.0), (best, 30.0)], CHIP).1.time_us(&far.work, CHIP)
        };
        assert!(fitted(60.0) > 33.0, "{}", fitted(60.0));
        // The weight of the far one is an eighth, of the square of half its scale: one part in 33.
        assert!((fitted(30.0) - (30.0 + 30.0 / 33.0)).abs() < 0.01, "{}", fitted(30.0));
    }

    #[test]
    fn a_few_times_of_many_blocks_are_enough_for_more_of_them() {
        // Nine and ten blocks for each SM, of which a step and the last ones would explain any time alone.
        let sample = |blocks, depth, longer: f64| {
            let work = work(blocks, depth, 1);
            let us = COST.time_us(&work, CHIP) * longer;
            (Measurement { work, us, least_us: us }, us)
        };
        let few = [132, 264, 528, 1056]
            .into_iter()
            .flat_map(|blocks| [64, 512, 2048].map(|depth| sample(blocks, depth, 1.0)));
        let many = [sample(1100, 1000, 1.06), sample(1188, 1000, 1.03), sample(1320, 1000, 1.0)];
        let (_, cost) = BlockCost::fit(&few.chain(many).collect::<Vec<_>>(), CHIP);
        let far = work(60 * 132, 1000, 1);
        let share = cost.time_us(&far, CHIP) / COST.time_us(&far, CHIP);
        assert!((share - 1.0).abs() < 0.1, "{share}: {cost:?}");
    }

    #[test]
    fn no_figure_is_negative_and_none_is_missing() {
        // Times that fall with the number of blocks, and one kind of work only.
        let sample = |work, us| (Measurement { work, us, least_us: us }, us);
        let samples = [sample(work(100, 500, 1), 30.0), sample(work(50, 500, 1), 60.0)];
        let (_, mut cost) = BlockCost::fit(&samples, CHIP);
        assert!(cost.figures_mut().all(|figure| *figure >= 0.0), "{cost:?}");
        assert!(cost.step_us.iter().all(|us| (us - cost.step_us[0]).abs() < 1e-9), "{cost:?}");
        assert!(BlockCost::fit(&[], CHIP).1.figures_mut().all(|figure| figure.abs() < 1e-9));
        let steps = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        let expected = [2.0, 2.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0];
        let found = filled(steps, |number| number == 1 || number == 4);
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{found:?}");
    }
}
