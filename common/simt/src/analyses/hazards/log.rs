//! What all rules share while they watch one block: the launch, the order of accesses so far, and the findings. A finding is kept
//! as numbers: a place, one or two sides, and a count.

use super::cell::{Conflict, Sort};
use super::clock::Clock;
use super::event::Event;
use super::finding::{Finding, Found, Side, Spot};
use super::hazard::{Action, HazardKind};
use super::reads::Reads;
use super::setup::Setup;
use crate::locked::lock;
use crate::{Access, AccessKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What one thread does by one instruction, without the place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub thread: u32,
    pub instruction: u32,
    pub writes: bool,
}

impl Part {
    pub(super) fn new(thread: u32, instruction: u32, writes: bool) -> Self {
        Self { thread, instruction, writes }
    }

    /// Returns what one lane of an access does.
    pub(super) fn of(access: &Access<'_>, lane: usize) -> Self {
        Self::new(access.thread(lane), access.instruction, access.kind != AccessKind::Load)
    }
}

/// What one thread does to a piece of shared memory: an access, a copy to it, or a read by the asynchronous proxy on its behalf.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    pub part: Part,
    pub address: u32,
    pub bytes: u32,
}

impl Touch {
    /// Returns what one lane of an access does, and where.
    #[inline]
    pub(super) fn of(access: &Access<'_>, lane: usize) -> Self {
        Self { part: Part::of(access, lane), address: access.addresses[lane] as u32, bytes: access.bytes }
    }

    #[inline]
    pub(super) fn units(&self, setup: &Setup) -> std::ops::Range<usize> {
        let start = (self.address >> setup.extent.unit) as usize;
        start..start + (self.bytes >> setup.extent.unit).max(1) as usize
    }
}

/// The state that all rules share while they watch a block.
#[derive(Debug)]
pub(super) struct Scene {
    pub setup: Arc<Setup>,
    pub block: u64,
    pub clock: Clock,
    pub found: Found,
    /// Whether a load is being checked whose value will be followed. What is wrong with it is kept in `suspects`, because it is no
    /// hazard before the value matters.
    pub reading: bool,
    /// Whether the launch tells of the instructions that warps execute. If not, a load is judged when it happens.
    pub told: bool,
    pub reads: Arc<Mutex<Reads>>,
    pub suspects: Vec<(HazardKind, Finding)>,
    /// The clock that stamps findings, if there is one.
    pub time: Option<Arc<AtomicU64>>,
}

impl Scene {
    pub(super) fn new(setup: Arc<Setup>, block: u64, time: Option<Arc<AtomicU64>>, reads: Arc<Mutex<Reads>>) -> Self {
        let clock = Clock::new(block as u32, setup.block.count() as u32);
        Self {
            setup,
            block,
            clock,
            found: Found::default(),
            reading: false,
            told: false,
            reads,
            suspects: vec![],
            time,
        }
    }

    /// Returns the event of a thread's access at its current time.
    pub(super) fn event(&self, Part { thread, instruction, .. }: Part) -> Event {
        Event::new(self.clock.block, thread, self.clock.time(thread / 32), instruction)
    }

    /// Returns what an access of an instruction does to its place.
    #[inline]
    pub(super) fn sort(&self, instruction: u32, writes: bool) -> Sort {
        if self.setup.is_plain(instruction) {
            return Sort { writes, ..Sort::READ };
        }
        let sort = self.setup.sort(instruction, writes);
        Sort { speculated: sort.speculated && self.told, ..sort }
    }

    /// Whether nobody reads what a load puts into its register from this many bytes after its address on.
    #[inline]
    pub(super) fn is_unread(&self, instruction: u32, bytes: u64) -> bool {
        let unread = self.setup.facts(instruction).unread;
        unread != 0 && self.told && self.setup.element_is_unread(instruction, unread, bytes)
    }

    pub(super) fn side(&self, thread: u32, instruction: u32, action: Action) -> Side {
        Side { block: self.block, thread, instruction, action }
    }

    /// Returns the side of a hazard that a thread's access is.
    pub(super) fn side_of(&self, part: Part) -> Side {
        self.side(part.thread, part.instruction, self.setup.action(part.instruction, part.writes))
    }

    pub(super) fn add(&mut self, kind: HazardKind, spot: Spot, first: Side, second: Option<Side>) {
        self.note(kind, Finding { spot, first, second, count: 1, time: self.now() });
    }

    /// Notes a finding, or only a doubt about the value that is being read.
    pub(super) fn note(&mut self, kind: HazardKind, finding: Finding) {
        if self.reading {
            self.suspects.push((kind, finding));
        } else {
            self.found.add(kind, finding);
        }
    }

    pub(super) fn now(&self) -> Option<u64> {
        self.time.as_ref().map(|clock| clock.load(Ordering::Relaxed))
    }

    /// Notes a hazard that consists of a single access.
    pub(super) fn alone(&mut self, kind: HazardKind, spot: Spot, part: Part) {
        self.add(kind, spot, self.side_of(part), None);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn conflict(&mut self, spot: Spot, conflict: Conflict, part: Part) {
        let Conflict { earlier, sort: Sort { writes, .. }, kind } = conflict;
        let first = Part::new(earlier.thread(), earlier.instruction(), writes);
        // An event keeps only 32 bits of the block's number.
        let block = if earlier.block == self.block as u32 { self.block } else { u64::from(earlier.block) };
        let first = Side { block, ..self.side_of(first) };
        self.add(kind, spot, first, Some(self.side_of(part)));
    }

    /// Notes that a write races with an earlier load, if the value that was loaded matters.
    #[cold]
    #[inline(never)]
    pub(super) fn awaits(&mut self, spot: Spot, Conflict { earlier, kind, .. }: Conflict, part: Part) {
        let block = if earlier.block == self.block as u32 { self.block } else { u64::from(earlier.block) };
        let first = Side { block, ..self.side_of(Part::new(earlier.thread(), earlier.instruction(), false)) };
        let finding = Finding { spot, first, second: Some(self.side_of(part)), count: 1, time: self.now() };
        let kind = if self.told { lock(&self.reads).add(earlier, kind, finding) } else { Some(kind) };
        if let Some(kind) = kind {
            self.found.add(kind, finding);
        }
    }

    /// Notes that two lanes of one instruction do the same thing to one place.
    pub(super) fn lanes(&mut self, kind: HazardKind, spot: Spot, first: Part, second: Part) {
        self.add(kind, spot, self.side_of(first), Some(self.side_of(second)));
    }
}
