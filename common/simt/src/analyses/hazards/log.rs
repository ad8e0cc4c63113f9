//! What the rules have found in one block.

use super::cell::{Conflict, Sort};
use super::finding::{Action, Finding, Found, Place, Side};
use super::plan::Plan;
use crate::analyses::report::HazardKind;

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
}

/// One lane's write to shared memory, or what it copies there.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneWrite {
    pub thread: u32,
    pub instruction: u32,
    pub address: u32,
    pub bytes: u32,
}

impl LaneWrite {
    pub(super) fn part(&self) -> Part {
        Part::new(self.thread, self.instruction, true)
    }
}

/// The findings of a block.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The block's number.
    pub block: u64,
    pub found: Found,
    /// The time, if somebody keeps it.
    pub now: Option<u64>,
}

impl Log {
    pub(super) fn side(&self, thread: u32, instruction: u32, action: Action) -> Side {
        Side { block: self.block, thread, instruction, action }
    }

    fn side_of(&self, plan: &Plan, part: Part) -> Side {
        self.side(part.thread, part.instruction, plan.action(part.instruction, part.writes))
    }

    pub(super) fn add(&mut self, kind: HazardKind, place: Place, first: Side, second: Option<Side>) {
        self.found.add(kind, Finding { place, first, second, count: 1, time: self.now });
    }

    /// Notes a hazard that one access alone is.
    pub(super) fn alone(&mut self, plan: &Plan, kind: HazardKind, place: Place, part: Part) {
        self.add(kind, place, self.side_of(plan, part), None);
    }

    /// Notes that an access lies badly to an earlier one.
    #[cold]
    #[inline(never)]
    pub(super) fn conflict(&mut self, plan: &Plan, place: Place, conflict: Conflict, part: Part) {
        let Conflict { earlier, sort: Sort { writes, .. }, verdict } = conflict;
        let first = Part::new(earlier.thread(), earlier.instruction(), writes);
        // Blocks are counted in 32 bits by what compares them.
        let block = if earlier.block == self.block as u32 { self.block } else { u64::from(earlier.block) };
        let first = Side { block, ..self.side_of(plan, first) };
        self.add(verdict.kind(), place, first, Some(self.side_of(plan, part)));
    }

    /// Notes that two lanes of one instruction do the same thing to one place.
    pub(super) fn lanes(&mut self, plan: &Plan, kind: HazardKind, place: Place, first: Part, second: Part) {
        self.add(kind, place, self.side_of(plan, first), Some(self.side_of(plan, second)));
    }
}
