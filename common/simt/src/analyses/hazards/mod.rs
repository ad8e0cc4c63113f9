//! Finds what is wrong with a kernel even if its result is right: races, reads of memory that nobody wrote, asynchronous
//! copies that nobody waited for, and barriers that not all threads reach.
//!
//! # The order of accesses
//!
//! Two accesses to one place by different threads race if at least one of them writes and neither *happens before* the other.
//! PTX's memory model says what happens before what. It is tracked with vector clocks:
//!
//! - A **barrier** of the block orders what the arriving threads did before it and what the waiting threads do after it.
//!   Barriers with different numbers are different barriers. A warp has arrived when all its lanes have.
//! - **`__syncwarp`** does the same for the lanes that its mask names and that execute it.
//! - A **release** is a fence followed by a strong write, or a write that releases. An **acquire** is a strong read followed by a
//!   fence, or a read that acquires. What came before a release happens before what comes after an acquire that sees it, if all
//!   scopes include both threads. Atomic operations and `volatile`, `relaxed`, `acquire` and `release` accesses are strong.
//! - One **launch** happens before the next.
//!
//! Strong accesses within each other's scope do not race with one another if they have the same width. Lanes of one store may
//! write the same value. A read-only load (`.nc`) must not load what the kernel has written, in order or not.
//!
//! # What CUDA leaves open
//!
//! Kernels rely on some things that CUDA does not promise but every GPU does. Here they are not races but *warnings*, and each is
//! reported once: `volatile` counts as relaxed, as in PTX, for a flag that is polled, but not for data; threads may meet at different
//! barrier instructions with one number, and may end before a barrier if no other thread needs what they would have done. `fences`
//! explains what a barrier does to fences. A shuffle does not order what lanes of one warp do, but all of them come after what one of
//! them has acquired from another warp: cooperative groups rely on it.
//!
//! # A load is judged by what becomes of its value
//!
//! Compilers load values before they know whether they need them, and kernels load what they then drop. So what is wrong with a load
//! (a race, a place that nobody wrote) is a hazard only if the value decides a branch, is an address or leaves the block: `values`.
//!
//! # Verdicts do not depend on the host
//!
//! If blocks cannot wait for each other, nothing orders them: each has its own shadow of global memory, and the first two
//! blocks that accessed each place are compared. If they can (by a strong load of global memory, or an atomic operation whose
//! result is used), they share a shadow and run on one host thread, in a fixed order. Blocks also run in this order if one
//! may read what another writes, because what it does then may depend on the value. Of several hazards of one sort, the
//! report shows the first by block, place and thread.
//!
//! If a lock orders two accesses in one run, that run finds no race between them. So if threads may wait for each other, a launch that
//! is not too large runs three times, with its blocks in different orders, and all findings are reported.

mod barriers;
mod block;
mod cell;
mod clock;
mod copies;
mod coverage;
mod doubts;
mod event;
mod extent;
mod fences;
mod finding;
mod global;
mod hazard;
mod local;
mod log;
mod meetings;
mod naming;
mod passing;
mod products;
mod quick;
mod reads;
mod sets;
mod setup;
mod shared;
mod uses;
mod values;
pub use hazard::{Action, Hazard, HazardKind, Party};
pub use naming::Extents;

use crate::locked::lock;
use crate::observe::{Analysis, BlockInfo, LaunchInfo, Observer};
use crate::{DevicePointer, Kernel, LaunchConfig};
use block::{BlockHazards, Merged, Shadows};
use coverage::Coverage;
use extent::Extent;
use global::{GlobalShadow, Summaries};
use log::Scene;
use naming::Naming;
use reads::Reads;
use setup::Setup;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

/// The analysis. Pass it to [`crate::launch`], then call [`Hazards::found`].
#[derive(Debug, Default)]
pub struct Hazards {
    outputs: Vec<DevicePointer>,
    extents: HashMap<String, Extents>,
    launch: Option<Launch>,
    merged: Arc<Mutex<Merged>>,
    /// What was found, once somebody has asked.
    found: OnceLock<Vec<Hazard>>,
    coverage: Arc<Coverage>,
    clock: Option<Arc<AtomicU64>>,
}

/// How much global memory a launch accesses, estimated before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Only of fields: their names say enough.
pub struct Touched {
    pub all_bytes: u64,
    /// Bytes that one block accesses, in whole pieces of 64 bytes.
    pub block_bytes: u64,
    /// Bytes of the arrays that it writes.
    pub written_bytes: u64,
    /// Bytes of these arrays that one block accesses.
    pub block_written_bytes: u64,
    pub output_elements: u64,
}

/// What is known about a launch, and what its blocks share.
#[derive(Debug)]
struct Launch {
    setup: Arc<Setup>,
    /// Counts what the blocks of the current run write.
    coverage: Arc<Coverage>,
    /// The shadow of global memory that all blocks share, if they may wait for each other.
    global: Option<Arc<Mutex<GlobalShadow>>>,
    /// The loads that are judged later, if blocks may wait for each other.
    reads: Option<Arc<Mutex<Reads>>>,
}

impl Hazards {
    /// Makes an analysis that has found nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Marks an allocation as an output. Reading an element of it before it is written is a hazard, and so is an element that is
    /// not written when the launch ends. Elements that are stored to more than once are a warning.
    #[must_use]
    pub fn output(mut self, pointer: DevicePointer) -> Self {
        self.outputs.push(pointer);
        self
    }

    /// Sets the extents of the shared array with this source name, so that findings name its elements.
    #[must_use]
    pub fn extents(mut self, name: &str, extents: Extents) -> Self {
        self.extents.insert(name.into(), extents);
        self
    }

    /// Stamps each finding with the time of this clock, in the clock's unit.
    #[must_use]
    pub fn clock(mut self, clock: Arc<AtomicU64>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Returns the most host memory, in bytes, that the search takes in a launch that accesses `touched`.
    pub fn bytes(kernel: &Kernel, config: &LaunchConfig, touched: &Touched) -> u64 {
        let extent = Extent::new(kernel, config);
        let blocks = config.grid.count();
        // Arrays that nobody writes have no shadow, if it is known which arrays these are.
        let (all, of_block) = if kernel.code.traffic.is_known() {
            (touched.written_bytes, touched.block_written_bytes)
        } else {
            (touched.all_bytes, touched.block_bytes)
        };
        // How often each element of an output has been written takes a byte.
        let coverage = touched.output_elements;
        if extent.code.communicates {
            let resident = blocks.min(kernel.resident_blocks(config) as u64);
            let blocks = resident.saturating_mul(BlockHazards::bytes(&extent));
            return coverage.saturating_add(GlobalShadow::bytes(&extent, all)).saturating_add(blocks);
        }
        let block = GlobalShadow::bytes(&extent, of_block.min(all)) + BlockHazards::bytes(&extent);
        let side_by_side = config.workers(false, blocks).saturating_mul(block);
        coverage.saturating_add(Summaries::bytes(&extent, all)).saturating_add(side_by_side)
    }

    /// Returns all hazards of the launch, one for each kind and pair of source lines. A kind that may cause others comes before
    /// them. They stay until the analysis watches the next launch.
    pub fn found(&self) -> &[Hazard] {
        self.found.get_or_init(|| self.gather())
    }

    /// For tests: does nothing if the launch has no hazard. Warnings, which break no rule, do not count.
    ///
    /// # Panics
    /// If there is a hazard. The message names all, with their threads and lines.
    #[track_caller]
    pub fn assert_clean(&self) {
        let found = self.found().iter().filter(|hazard| !hazard.kind.is_warning());
        let texts: Vec<String> = found.map(ToString::to_string).collect();
        assert!(texts.is_empty(), "hazards of the kernel: {}\n{}", texts.len(), texts.join("\n"));
    }

    fn gather(&self) -> Vec<Hazard> {
        let Some(Launch { setup, .. }) = &self.launch else { return vec![] };
        let Merged { found: mut runs, summaries, .. } = std::mem::take(&mut *lock(&self.merged));
        summaries.races(setup, &mut runs[0]);
        for found in &mut runs {
            // A read that raced may also have come before any write. The race explains it better.
            let races = found.iter().filter(|(kind, _)| *kind == HazardKind::Race);
            let sides = races.flat_map(|(_, race)| [Some(race.first), race.second]).flatten();
            let raced: HashSet<u32> = sides.map(|side| side.instruction).collect();
            found.retain(|kind, finding| {
                kind != HazardKind::UninitialisedShared || !raced.contains(&finding.first.instruction)
            });
        }
        let mut hazards = Naming { setup, extents: &self.extents }.hazards(&runs);
        hazards.extend(self.coverage.hazards(setup));
        excuse_ends(&mut hazards);
        hazards.sort_by_key(|hazard| hazard.kind);
        hazards
    }
}

/// Since Volta, a barrier waits only for the threads that have not ended. So threads that end early do no harm, unless the others need
/// what they would have done; and then another hazard is found as well. Without one, this reports a single warning.
fn excuse_ends(hazards: &mut Vec<Hazard>) {
    let ends = |hazard: &Hazard| hazard.kind == HazardKind::ExitBeforeBarrier;
    if hazards.iter().any(|hazard| hazard.kind == HazardKind::SkippedBarrier) {
        // Who goes around a barrier ends before it opens.
        return hazards.retain(|hazard| !ends(hazard));
    }
    if hazards.iter().any(|hazard| !hazard.kind.is_warning() && !ends(hazard)) {
        return;
    }
    let mut said = false;
    hazards.retain_mut(|hazard| {
        if !ends(hazard) {
            return true;
        }
        hazard.kind = HazardKind::EndedBeforeBarrier;
        !std::mem::replace(&mut said, true)
    });
}

impl Analysis for Hazards {
    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        let setup = Arc::new(Setup::new(launch, &self.outputs));
        let global = setup.code().communicates.then(|| Arc::new(Mutex::new(GlobalShadow::new(&setup))));
        let reads = global.is_some().then(Arc::default);
        self.coverage = Arc::new(Coverage::new(&setup));
        self.launch = Some(Launch { coverage: self.coverage.clone(), global, reads, setup });
        self.found = OnceLock::new();
        *lock(&self.merged) = Merged::default();
    }

    fn second(&mut self) -> Option<&mut dyn Analysis> {
        Some(self)
    }

    fn begin_again(&mut self) {
        let Some(Launch { setup, coverage, global, reads }) = &mut self.launch else { return };
        *reads = global.is_some().then(Arc::default);
        // A later run writes every element again, which must not count as written twice.
        *coverage = Arc::default();
        *global = global.as_ref().map(|_| Arc::new(Mutex::new(GlobalShadow::new(setup))));
        let mut merged = lock(&self.merged);
        merged.run += 1;
        merged.idle.clear();
    }

    fn in_order(&self) -> bool {
        self.launch.as_ref().is_some_and(|launch| launch.setup.in_order)
    }

    fn block(&self, block: &BlockInfo) -> Vec<Box<dyn Observer>> {
        let Some(Launch { setup, coverage, global, reads }) = &self.launch else { return vec![] };
        let idle = lock(&self.merged).idle.pop();
        let shadows = idle.unwrap_or_else(|| {
            let own = || Arc::new(Mutex::new(GlobalShadow::new(setup)));
            Shadows::new(setup, global.clone().unwrap_or_else(own))
        });
        let own = || Arc::new(Mutex::new(Reads::default()));
        let reads = reads.clone().unwrap_or_else(own);
        let scene = Scene::new(setup.clone(), block.number, self.clock.clone(), reads);
        let observer = BlockHazards::new(scene, shadows, coverage.clone(), self.merged.clone());
        vec![Box::new(observer)]
    }
}
