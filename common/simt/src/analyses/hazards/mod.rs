//! Finds what is wrong with a kernel whether or not the answer came out wrong: races, reads of memory nobody wrote,
//! asynchronous copies nobody waited for, barriers not everybody reaches.
//!
//! Every place of shared memory, and every place of global memory that a block touches, has a shadow: who wrote it last,
//! and which two threads read it since, with the time in the block (which steps at every synchronisation) and the
//! instruction. Two accesses are ordered when both threads have synchronised since the first. Blocks are never ordered with
//! each other, but for the pattern "write, fence, atomic; atomic, read".
//!
//! The rooms, each of which knows only those before it: `record` (one access), `clock` (order in a block), `shadow` (who
//! accessed a place), `finding` (what rules find), `plan` (the launch), `log` (a block's findings); the rules `registers`,
//! `barriers`, `copies`, `shared`, `global`; `between` blocks and `coverage` of outputs; `naming`; `block`, which hands what
//! happens to the rules.

mod barriers;
mod between;
mod block;
mod clock;
mod copies;
mod coverage;
mod finding;
mod global;
mod log;
mod naming;
mod plan;
mod record;
mod registers;
mod shadow;
mod shared;
#[cfg(test)]
mod tests;

pub use block::BlockHazards;

use super::declarations::Extents;
use super::report::{Hazard, HazardKind};
use crate::DevicePointer;
use crate::observe::{Analysis, BlockInfo, LaunchInfo};
use between::Summaries;
use finding::Found;
use naming::Naming;
use plan::Plan;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The analysis. Pass it to [`crate::launch`], then call [`Hazards::report`].
#[derive(Debug, Default)]
pub struct Hazards {
    outputs: Vec<DevicePointer>,
    extents: HashMap<String, Extents>,
    plan: Option<Arc<Plan>>,
    merged: Mutex<Merged>,
}

/// What the blocks that have ended leave behind.
#[derive(Debug, Default)]
struct Merged {
    found: Found,
    summaries: Summaries,
    /// Observers that watch no block at the moment.
    idle: Vec<BlockHazards>,
}

impl Hazards {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that an allocation is an output: reading it before writing is a hazard, and so is every element that has not been
    /// written exactly once when the launch ends.
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

    /// Everything the launch did wrong, each once for each pair of lines, what others may follow from first. It is handed
    /// out once.
    pub fn report(&self) -> Vec<Hazard> {
        let Some(plan) = &self.plan else { return vec![] };
        let merged = std::mem::take(&mut *self.merged.lock().unwrap_or_else(PoisonError::into_inner));
        let Merged { mut found, summaries, .. } = merged;
        summaries.races(plan, &mut found);
        // A read that raced came too early as well; the race says it better.
        let races = found.iter().filter(|(kind, _)| *kind == HazardKind::Race);
        let sides = races.flat_map(|(_, race)| [Some(race.first), race.second]).flatten();
        let raced: HashSet<u32> = sides.map(|side| side.instruction).collect();
        found.retain(|kind, finding| {
            kind != HazardKind::UninitialisedShared || !raced.contains(&finding.first.instruction)
        });
        let mut hazards = Naming { plan, extents: &self.extents }.hazards(&found);
        hazards.extend(coverage::hazards(plan, &summaries));
        hazards
    }
}

impl Analysis for Hazards {
    type Block = Option<BlockHazards>;

    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        self.plan = Some(Arc::new(Plan::new(launch, &self.outputs)));
        *self.merged.get_mut().unwrap_or_else(PoisonError::into_inner) = Merged::default();
    }

    fn block(&self, block: &BlockInfo) -> Option<BlockHazards> {
        let plan = self.plan.as_ref()?;
        let idle = self.merged.lock().unwrap_or_else(PoisonError::into_inner).idle.pop();
        let mut observer = idle.unwrap_or_else(|| BlockHazards::new(plan.clone()));
        observer.start(block.number);
        Some(observer)
    }

    fn end(&self, block: Option<BlockHazards>) {
        let Some(mut block) = block else { return };
        let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        merged.found.take(&mut block.log.found);
        merged.summaries.add(&block.plan, block.log.block, &block.global);
        merged.idle.push(block);
    }
}
