//! What all rules share while they watch one block: the launch, the order of accesses so far, and what has been found.

use super::cell::{Conflict, Sort};
use super::clock::Clock;
use super::event::Event;
use super::finding::{Finding, Found, Side, Spot};
use super::hazard::{Action, HazardKind};
use super::setup::Setup;
use crate::{Access, AccessKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What one thread does, apart from where.
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

    /// What a lane of an access does.
    pub(super) fn of(access: &Access<'_>, lane: usize) -> Self {
        Self::new(access.thread(lane), access.instruction, access.kind != AccessKind::Load)
    }
}

/// What one thread does to a piece of shared memory: an access, a copy to it, or what the asynchronous proxy reads for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    pub part: Part,
    pub address: u32,
    pub bytes: u32,
}

impl Touch {
    /// What a lane of an access does.
    #[inline]
    pub(super) fn of(access: &Access<'_>, lane: usize) -> Self {
        Self { part: Part::of(access, lane), address: access.addresses[lane] as u32, bytes: access.bytes }
    }

    #[inline]
    pub(super) fn units(&self, setup: &Setup) -> std::ops::Range<usize> {
        let start = (self.address >> setup.unit) as usize;
        start..start + (self.bytes >> setup.unit).max(1) as usize
    }
}

/// A block that is watched.
#[derive(Debug)]
pub(super) struct Scene {
    pub setup: Arc<Setup>,
    /// The block's number.
    pub block: u64,
    pub clock: Clock,
    pub found: Found,
    /// Tells the time, if somebody keeps it.
    pub time: Option<Arc<AtomicU64>>,
}

impl Scene {
    pub(super) fn new(setup: Arc<Setup>, block: u64, time: Option<Arc<AtomicU64>>) -> Self {
        let clock = Clock::new(block as u32, setup.block.count() as u32);
        Self { setup, block, clock, found: Found::default(), time }
    }

    /// What a thread does, as an access now.
    pub(super) fn event(&self, Part { thread, instruction, .. }: Part) -> Event {
        Event::new(self.clock.block(), thread, self.clock.time(thread / 32), instruction)
    }

    pub(super) fn side(&self, thread: u32, instruction: u32, action: Action) -> Side {
        Side { block: self.block, thread, instruction, action }
    }

    /// One side, by an instruction that writes or does not.
    pub(super) fn side_of(&self, part: Part) -> Side {
        self.side(part.thread, part.instruction, self.setup.action(part.instruction, part.writes))
    }

    pub(super) fn add(&mut self, kind: HazardKind, spot: Spot, first: Side, second: Option<Side>) {
        self.found.add(kind, Finding { spot, first, second, count: 1, time: self.now() });
    }

    /// The time, if somebody keeps it.
    pub(super) fn now(&self) -> Option<u64> {
        self.time.as_ref().map(|clock| clock.load(Ordering::Relaxed))
    }

    /// Notes a hazard that one access alone is.
    pub(super) fn alone(&mut self, kind: HazardKind, spot: Spot, part: Part) {
        self.add(kind, spot, self.side_of(part), None);
    }

    /// Notes that an access lies badly to an earlier one.
    #[cold]
    #[inline(never)]
    pub(super) fn conflict(&mut self, spot: Spot, conflict: Conflict, part: Part) {
        let Conflict { earlier, sort: Sort { writes, .. }, verdict } = conflict;
        let first = Part::new(earlier.thread(), earlier.instruction(), writes);
        // Blocks are counted in 32 bits by what compares them.
        let block = if earlier.block == self.block as u32 { self.block } else { u64::from(earlier.block) };
        let first = Side { block, ..self.side_of(first) };
        self.add(verdict.kind(), spot, first, Some(self.side_of(part)));
    }

    /// Notes that two lanes of one instruction do the same thing to one place.
    pub(super) fn lanes(&mut self, kind: HazardKind, spot: Spot, first: Part, second: Part) {
        self.add(kind, spot, self.side_of(first), Some(self.side_of(second)));
    }
}
