//! What only the values of a run show, and no counter: whether a product's factors came through shared memory, how the copying there is
//! divided among the threads, and what was computed while the copies travelled.

use std::collections::HashMap;

use anyhow::{Context as _, Result, anyhow};
use common::basics::Operands;
use plan::Arg;
use simt::analyses::provenance::Source;
use simt::{GlobalMemory, LaunchConfig, Provenance};

use super::candidate::{Candidate, Ideas};

/// Floating-point instructions of a warp under which a load from global memory is hidden, at least in part: it takes some 600 cycles, and
/// four warps or more share them.
const MEANWHILE: u32 = 128;

/// Products that are looked at, and seconds that the run may take.
const PRODUCTS: usize = 2 << 20;
const SECONDS: u64 = 30;

/// Places of A, B and C among the arrays of [`Candidate::follow`].
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

impl Candidate {
    /// Follows the values of the kernel's first launch at a size.
    pub fn ideas(&self, size: [u64; 3]) -> Result<Ideas> {
        let plan = self.plan(size)?;
        let launch = plan.launches.first().context("the step launches nothing")?;
        let grid = simt::Dim3::from(<(u32, u32, u32)>::from(launch.grid));
        let run = self.follow(size)?;
        let mut ideas = Ideas::default();
        let (mut factors, mut shared) = (0_usize, 0_usize);
        for store in run.stores().iter().filter(|store| store.array == C) {
            // In a task, C may be one of the factors.
            let is_input = |source| matches!(source, Source::Element { array: A | B, .. });
            for factor in run.formed(store).terms.iter().flat_map(|term| term.factors) {
                factors += usize::from(is_input(factor.source) || factor.shared.is_some());
                shared += usize::from(factor.shared.is_some());
            }
            if factors > 2 * PRODUCTS {
                break;
            }
        }
        anyhow::ensure!(
            !run.is_cut(),
            "the values of this kernel have too many parts to be followed; add up each element of C once, from its K products"
        );
        ideas.from_shared = shared as f64 / factors.max(1) as f64;
        let threads: u32 = launch.block.iter().product();
        let (mut elements, mut early) = (0_u64, 0_u64);
        for block in (0..grid.count()).map(|number| grid.index(number)) {
            let mut of_thread: HashMap<u32, u64> = HashMap::new();
            for placed in run.arrived(block) {
                match placed.value.source {
                    Source::Element { array: A | B, .. } => {
                        *of_thread.entry(placed.by).or_default() += 1;
                        early += u64::from(placed.after.saturating_sub(placed.value.after) >= MEANWHILE);
                    }
                    Source::Computed => ideas.sums_in_shared += 1.0,
                    _ => {}
                }
            }
            let (all, most) = (of_thread.values().sum::<u64>(), of_thread.values().max().copied().unwrap_or(0));
            elements += all;
            let busiest = most as f64 * f64::from(threads) / all.max(1) as f64;
            ideas.busiest_copier = ideas.busiest_copier.max(busiest);
        }
        ideas.ahead = early as f64 / elements.max(1) as f64;
        Ok(ideas)
    }

    fn follow(&self, size: [u64; 3]) -> Result<Provenance> {
        let (problem, plan) = (self.problem(size), self.plan(size)?);
        let launch = plan.launches.first().context("the step launches nothing")?;
        let kernel = self.code(&plan)?.module()?.kernel(&launch.entry).map_err(|error| anyhow!("{error}"))?;
        let [a, b, c] = if let Some(drawn) = &self.transfer {
            let (a, b, before, expected) = drawn.numbers(&problem);
            [a, b, before.unwrap_or(expected)]
        } else {
            let operands = Operands::new(&problem)?;
            let [a, b] = operands.bytes().map(bytemuck::pod_collect_to_vec);
            [a, b, vec![0.0_f32; problem.c_elements() as usize]]
        };
        let mut memory = GlobalMemory::new();
        let mut array = |name: &str, elements: &[f32]| {
            let pointer = memory.alloc(name, elements.len() as u64 * 4, 4)?;
            memory.upload(pointer, 0, bytemuck::cast_slice::<f32, u32>(elements)).map(|()| pointer)
        };
        let arrays = (|| Ok([array("A", &a)?, array("B", &b)?, array("C", &c)?]))();
        let [a, b, c] = arrays.map_err(|error: simt::Error| anyhow!("{error}"))?;
        let argument = |arg: &Arg| {
            let at =
                |pointer: simt::DevicePointer, first: u64| Ok(simt::Arg::Pointer(pointer.offset(4 * first as i64)));
            match *arg {
                Arg::A(first) => at(a, first),
                Arg::B(first) => at(b, first),
                Arg::C(first) => at(c, first),
                Arg::Int(value) => Ok(simt::Arg::U32(value as u32)),
                Arg::Workspace(_) => Err(anyhow!("a lab's kernel has no workspace; leave it out of the plan")),
            }
        };
        let arguments: Vec<simt::Arg> = launch.args.iter().map(argument).collect::<Result<_>>()?;
        let [grid, block] = [launch.grid, launch.block].map(<(u32, u32, u32)>::from);
        let mut config = LaunchConfig::new(grid, block);
        config.dynamic_shared_bytes = launch.shared_bytes;
        config.shared_opt_in = true;
        config.deadline = Some(simt::Deadline::after(SECONDS));
        let (run, ended) = Provenance::of(&kernel, &mut memory, &config, &arguments);
        ended.map_err(|error| anyhow!("{error}"))?;
        Ok(run)
    }
}
