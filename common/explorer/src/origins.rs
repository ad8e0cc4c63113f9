//! Where the values of a run come from: the run is done once more, and what `simt` follows of it is kept by event.

use crate::effect::Values;
use crate::run::{C, Run};
use simt::analyses::provenance::{BlockOrigins, Nodes, Placed, Store, Tag};
use simt::{Access, Analysis, BlockInfo, BulkCopy, CopyAccess, Executed, Kernel, LaunchInfo, Observer, Provenance};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Values of a block that are followed at most. What comes later is of unknown origin.
const MOST: Tag = 8 << 20;

/// What is known after an event of a block.
#[derive(Debug, Clone, Copy)]
struct Step {
    event: u32,
    /// Where the tags of the registers that it wrote start.
    tags: usize,
    nodes: Tag,
    placed: usize,
    stores: usize,
}

/// A block whose values were followed.
pub struct Followed {
    origins: BlockOrigins,
    steps: Vec<Step>,
    tags: Values,
    /// By tag: the element of C that the sum becomes.
    goals: BTreeMap<Tag, u32>,
    events: Arc<AtomicU32>,
    kernel: Option<Arc<Kernel>>,
    number: u32,
}

impl Followed {
    /// What its values are made of.
    pub fn nodes(&self) -> &Nodes {
        &self.origins.nodes
    }

    /// The event that made a value.
    pub fn event_of(&self, tag: Tag) -> u32 {
        let at = self.steps.partition_point(|step| step.nodes <= tag);
        self.steps.get(at).map_or(0, |step| step.event)
    }

    /// The element of C that a sum becomes.
    pub fn goal(&self, tag: Tag) -> Option<u32> {
        self.goals.get(&tag).copied()
    }

    /// The tags of the registers that an event wrote, in the order of the instruction; none if it was not followed.
    pub fn written(&self, event: u32, lanes: u32, registers: usize) -> Vec<[Tag; 32]> {
        let Ok(at) = self.steps.binary_search_by_key(&event, |step| step.event) else { return vec![] };
        let mut at = self.steps[at].tags;
        (0..registers).map(|_| self.tags.take(&mut at, lanes)).collect()
    }

    /// The register in which a value was first.
    pub fn register_of<'a>(&self, run: &'a Run, tag: Tag, lane: usize) -> Option<&'a str> {
        let event = self.event_of(tag);
        let writes = &run.tape.instruction(event).writes;
        let tags = self.written(event, run.tape.event(event).lanes, writes.len());
        let place = tags.iter().position(|tags| tags[lane] == tag)?;
        let launch = &run.tape.launches[run.tape.launch_of(event)];
        Some(&launch.program.registers[writes[place]].name)
    }

    /// What arrived in shared memory, with the event at which it did, from one event on and before another.
    pub fn placed(&self, events: std::ops::Range<u32>) -> impl DoubleEndedIterator<Item = (u32, &Placed)> {
        let count = |event: u32| self.steps.partition_point(|step| step.event < event);
        let before = |step: usize| step.checked_sub(1).map_or(0, |last| self.steps[last].placed);
        let (first, end) = (count(events.start), count(events.end).max(count(events.start)));
        (first..end).flat_map(move |step| {
            let all = &self.origins.placed[before(step)..self.steps[step].placed];
            all.iter().map(move |placed| (self.steps[step].event, placed))
        })
    }

    /// Its stores to C, with their events.
    pub fn stores(&self) -> impl Iterator<Item = (u32, &Store)> {
        let all = self.origins.stores.iter().enumerate().filter(|(_, store)| store.array == C);
        all.filter_map(|(number, store)| {
            let at = self.steps.partition_point(|step| step.stores <= number);
            Some((self.steps.get(at)?.event, store))
        })
    }
}

impl Observer for Followed {
    fn access(&mut self, access: &Access<'_>) {
        self.origins.access(access);
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        self.origins.copy(copy);
    }

    fn bulk_landed(&mut self, copy: &BulkCopy) {
        self.origins.bulk_landed(copy);
    }

    fn copy_commit(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.origins.copy_commit(warp, instruction, lanes);
    }

    fn copy_wait(&mut self, warp: u32, instruction: u32, lanes: u32, pending: Option<u32>) {
        self.origins.copy_wait(warp, instruction, lanes, pending);
    }

    fn executed(&mut self, step: &Executed<'_>) {
        let event = self.events.fetch_add(1, Ordering::Relaxed);
        if self.nodes().count() > MOST {
            return;
        }
        self.origins.executed(step);
        let at = self.tags.len();
        for register in self.kernel.iter().flat_map(|kernel| kernel.registers_written(step.instruction)) {
            self.tags.push(step.lanes, &self.origins.tags(step.warp, &register));
        }
        let BlockOrigins { nodes, placed, stores, .. } = &self.origins;
        self.steps.push(Step { event, tags: at, nodes: nodes.count(), placed: placed.len(), stores: stores.len() });
    }
}

/// Follows the launches of a run.
#[derive(Default)]
struct Follower {
    provenance: Provenance,
    events: Arc<AtomicU32>,
    kernel: Option<Arc<Kernel>>,
    launches: Mutex<Vec<BTreeMap<u32, Followed>>>,
}

impl Analysis for Follower {
    type Block = Followed;

    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        self.provenance.begin(launch);
        self.kernel = Some(Arc::new(launch.kernel.clone()));
        self.launches.get_mut().unwrap_or_else(PoisonError::into_inner).push(BTreeMap::new());
    }

    fn steps(&self) -> bool {
        true
    }

    fn in_order(&self) -> bool {
        true
    }

    fn block(&self, block: &BlockInfo) -> Followed {
        Followed {
            origins: self.provenance.block(block),
            steps: vec![],
            tags: Values::default(),
            goals: BTreeMap::new(),
            events: self.events.clone(),
            kernel: self.kernel.clone(),
            number: block.number as u32,
        }
    }

    fn end(&self, mut block: Followed) {
        let stored: Vec<(u64, Tag)> = block.stores().map(|(_, store)| (store.index, store.value)).collect();
        for (index, value) in stored {
            let sums = block.nodes().formed(value).sums;
            block.goals.extend(sums.into_iter().map(|tag| (tag, index as u32)));
        }
        let mut launches = self.launches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(blocks) = launches.last_mut() {
            blocks.insert(block.number, block);
        }
    }
}

/// Where the values of a run come from.
pub struct Origins {
    launches: Vec<BTreeMap<u32, Followed>>,
}

impl Origins {
    /// Follows a run.
    pub fn of(run: &Run) -> Self {
        let mut follower = Follower::default();
        let _ = run.again(run.order, &mut follower);
        Self { launches: follower.launches.into_inner().unwrap_or_else(PoisonError::into_inner) }
    }

    /// A block of a launch.
    pub fn block(&self, launch: usize, block: u32) -> Option<&Followed> {
        self.launches.get(launch)?.get(&block)
    }

    /// The blocks of all launches, the last launch first.
    pub fn blocks(&self) -> impl Iterator<Item = (usize, u32, &Followed)> {
        let launches = self.launches.iter().enumerate().rev();
        launches.flat_map(|(launch, blocks)| blocks.iter().map(move |(&number, block)| (launch, number, block)))
    }
}
