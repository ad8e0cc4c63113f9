//! Finds what is wrong with a kernel whether or not the answer came out wrong: races, reads of memory nobody wrote,
//! asynchronous copies nobody waited for, barriers not everybody reaches.
//!
//! # The order of accesses
//!
//! Two accesses to one place by different threads, of which one writes, race unless one *happens before* the other. What
//! happens before what is PTX's memory model, kept as vector clocks:
//!
//! - A **barrier** of the block orders what those who arrive did before it and what those who wait do after it. Barriers of
//!   different numbers are different barriers. A warp has arrived when all its lanes have.
//! - **`__syncwarp`** does the same for the lanes that its mask names and that are there.
//! - A **release** (a fence, then a strong write; or a write that releases) orders what came before it and what comes after
//!   an **acquire** (a strong read that sees it, then a fence; or a read that acquires), if the scopes of all four include
//!   both threads. Strong are atomic operations and `volatile`, `relaxed`, `acquire` and `release` accesses.
//! - One **launch** is before the next.
//!
//! Strong accesses within each other's scope do not race with one another if they are of one width. Lanes of one store may
//! write the same value. A load of what nobody may write (`.nc`) must not find written what it loads, in order or not.
//!
//! # What CUDA leaves open
//!
//! Kernels rely on some things that CUDA does not promise but every GPU does. They are no race here but a *warning*, which
//! is said once: `volatile` counts as relaxed, as PTX has it; a shuffle or a vote counts as a `__syncwarp` of its lanes;
//! threads may meet at different barrier instructions of one number, and may end before a barrier if nobody needs what they
//! would have done. For what a barrier does to fences see `fences`.
//!
//! # Verdicts do not depend on the host
//!
//! Where blocks cannot wait for each other, nothing orders them: each has its own shadow of global memory, and the first two
//! blocks that accessed each place are compared. Where they can (a strong load of global memory, an atomic operation whose
//! result is used), they share a shadow and run on one thread of the host, in a fixed order. So they do where a block may
//! read what another writes, because what it then does may depend on it. What is shown of several hazards of one sort is the
//! first by block, place and thread.
//!
//! A lock that orders two accesses in a run orders them for its verdict. So where threads may wait for each other, a launch that is not
//! too large runs twice, the second time with blocks and warps in the opposite order, and what only that finds is said as well.

mod barriers;
mod block;
mod cell;
mod clock;
mod copies;
mod coverage;
mod event;
mod extent;
mod fences;
mod global;
mod hazard;
mod local;
mod log;
mod meetings;
mod naming;
mod products;
mod registers;
mod setup;
mod shared;
#[cfg(test)]
mod tests;

pub use hazard::{Action, Hazard, HazardKind, Party};

use super::declarations::Extents;
use crate::observe::{Analysis, BlockInfo, LaunchInfo, Observer};
use crate::{DevicePointer, Kernel, LaunchConfig};
use block::{BlockHazards, Merged, Shadows};
use coverage::Coverage;
use extent::Extent;
use global::GlobalShadow;
use global::Summaries;
use log::Scene;
use naming::Naming;
use setup::Setup;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The analysis. Pass it to [`crate::launch`], then call [`Hazards::found`].
#[derive(Debug, Default)]
pub struct Hazards {
    outputs: Vec<DevicePointer>,
    extents: HashMap<String, Extents>,
    launch: Option<Launch>,
    merged: Arc<Mutex<Merged>>,
    coverage: Arc<Coverage>,
    clock: Option<Arc<AtomicU64>>,
}

/// What a launch accesses of global memory, as far as one can say before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Touched {
    /// Bytes of all that it accesses.
    pub all_bytes: u64,
    /// Bytes of what one block accesses, in whole pieces of 64.
    pub block_bytes: u64,
    /// Bytes of the arrays that it writes.
    pub written_bytes: u64,
    /// Bytes of what one block accesses of these.
    pub block_written_bytes: u64,
    /// Elements of the outputs.
    pub output_elements: u64,
}

/// What is known of a launch, and what its blocks share.
#[derive(Debug)]
struct Launch {
    setup: Arc<Setup>,
    /// Where the blocks that run now count what they write.
    coverage: Arc<Coverage>,
    /// The shadow of global memory for all blocks, where they may wait for each other.
    global: Option<Arc<Mutex<GlobalShadow>>>,
}

impl Hazards {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that an allocation is an output: reading it before writing is a hazard, and so is every element that has not been
    /// written when the launch ends. Elements that have been stored to more than once are a warning.
    #[must_use]
    pub fn output(mut self, pointer: DevicePointer) -> Self {
        self.outputs.push(pointer);
        self
    }

    /// Tells the extents of a shared array by its source name, see [`super::declarations::shared_extents`].
    #[must_use]
    pub fn extents(mut self, name: &str, extents: Extents) -> Self {
        self.extents.insert(name.into(), extents);
        self
    }

    /// What is found has the time of this clock, in whatever unit.
    #[must_use]
    pub fn clock(mut self, clock: Arc<AtomicU64>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Bytes of the host's memory that the search takes at most in a launch that accesses so much global memory.
    pub fn bytes(kernel: &Kernel, config: &LaunchConfig, touched: &Touched) -> u64 {
        let extent = Extent::new(kernel, config);
        let blocks = config.grid.count();
        // What nobody writes has no shadow, where it is known what that is.
        let (all, of_block) = if kernel.code.traffic.is_known() {
            (touched.written_bytes, touched.block_written_bytes)
        } else {
            (touched.all_bytes, touched.block_bytes)
        };
        let coverage = Coverage::bytes(touched.output_elements);
        if extent.communicates {
            let resident = blocks.min(kernel.resident_blocks(config) as u64);
            let blocks = resident.saturating_mul(BlockHazards::bytes(&extent));
            return coverage.saturating_add(GlobalShadow::bytes(&extent, all)).saturating_add(blocks);
        }
        let block = GlobalShadow::bytes(&extent, of_block.min(all)) + BlockHazards::bytes(&extent);
        let side_by_side = config.workers(false, blocks).saturating_mul(block);
        coverage.saturating_add(Summaries::bytes(&extent, all)).saturating_add(side_by_side)
    }

    /// Everything the launch did wrong, each once for each pair of lines, what others may follow from first. It is handed
    /// out once.
    pub fn found(&self) -> Vec<Hazard> {
        let Some(Launch { setup, .. }) = &self.launch else { return vec![] };
        let Merged { found: [mut found, mut again], summaries, .. } = std::mem::take(&mut *self.merged());
        summaries.races(setup, &mut found);
        for found in [&mut found, &mut again] {
            // A read that raced came too early as well; the race says it better.
            let races = found.iter().filter(|(kind, _)| *kind == HazardKind::Race);
            let sides = races.flat_map(|(_, race)| [Some(race.first), race.second]).flatten();
            let raced: HashSet<u32> = sides.map(|side| side.instruction).collect();
            found.retain(|kind, finding| {
                kind != HazardKind::UninitialisedShared || !raced.contains(&finding.first.instruction)
            });
        }
        let mut hazards = Naming { setup, extents: &self.extents }.hazards(&found, &again);
        hazards.extend(self.coverage.hazards(setup));
        excuse_ends(&mut hazards);
        hazards.sort_by_key(|hazard| hazard.kind);
        hazards
    }

    fn merged(&self) -> MutexGuard<'_, Merged> {
        self.merged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A barrier waits for the threads that have not ended, since Volta. So threads that end early do no harm, unless the others need
/// what they would have done; then something else is wrong as well.
fn excuse_ends(hazards: &mut Vec<Hazard>) {
    let ends = |hazard: &Hazard| hazard.kind == HazardKind::ExitBeforeBarrier;
    if hazards.iter().any(|hazard| !hazard.kind.is_warning() && !ends(hazard)) {
        return;
    }
    let mut said = false;
    hazards.retain_mut(|hazard| {
        let keep = !ends(hazard) || !said;
        if ends(hazard) {
            hazard.kind = HazardKind::EndedBeforeBarrier;
            said = true;
        }
        keep
    });
}

impl Analysis for Hazards {
    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        let setup = Arc::new(Setup::new(launch, &self.outputs));
        let global = setup.code().communicates.then(|| Arc::new(Mutex::new(GlobalShadow::new(&setup))));
        self.coverage = Arc::new(Coverage::new(&setup));
        self.launch = Some(Launch { coverage: self.coverage.clone(), global, setup });
        *self.merged() = Merged::default();
    }

    fn second(&mut self) -> Option<&mut dyn Analysis> {
        Some(self)
    }

    fn begin_again(&mut self) {
        let Some(Launch { setup, coverage, global }) = &mut self.launch else { return };
        // What is written then is written for the second time.
        self.coverage = std::mem::take(coverage);
        *global = global.as_ref().map(|_| Arc::new(Mutex::new(GlobalShadow::new(setup))));
        let mut merged = self.merged();
        merged.again = true;
        merged.idle.clear();
    }

    fn in_order(&self) -> bool {
        self.launch.as_ref().is_some_and(|launch| launch.setup.in_order)
    }

    fn block(&self, block: &BlockInfo) -> Vec<Box<dyn Observer>> {
        let Some(Launch { setup, coverage, global }) = &self.launch else { return vec![] };
        let idle = self.merged().idle.pop();
        let shadows = idle.unwrap_or_else(|| {
            let own = || Arc::new(Mutex::new(GlobalShadow::new(setup)));
            Shadows::new(setup, global.clone().unwrap_or_else(own))
        });
        let scene = Scene::new(setup.clone(), block.number, self.clock.clone());
        let observer = BlockHazards::new(scene, shadows, coverage.clone(), self.merged.clone());
        vec![Box::new(observer)]
    }
}
