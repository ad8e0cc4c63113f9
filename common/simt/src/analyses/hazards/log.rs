//! What the rules have found in one block.

use super::finding::{Action, Finding, Found, Place, Side};
use super::plan::Plan;
use super::shadow::{Earlier, LaneAccess};
use crate::analyses::report::HazardKind;

/// The findings of a block.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The block's number.
    pub block: u64,
    pub found: Found,
}

impl Log {
    pub(super) fn side(&self, thread: u32, instruction: u32, action: Action) -> Side {
        Side { block: self.block, thread, instruction, action }
    }

    pub(super) fn add(&mut self, kind: HazardKind, place: Place, first: Side, second: Option<Side>) {
        self.found.add(kind, Finding { place, first, second, count: 1 });
    }

    /// Notes a hazard that one access alone is.
    pub(super) fn alone<A>(&mut self, plan: &Plan, kind: HazardKind, place: Place, access: &LaneAccess<A>) {
        let action = plan.action(access.instruction, access.writes);
        self.add(kind, place, self.side(access.thread, access.instruction, action), None);
    }

    /// Notes that an access races with an earlier one, unless both are of the sort that may.
    #[cold]
    #[inline(never)]
    pub(super) fn race<A>(&mut self, plan: &Plan, place: Place, old: Earlier, access: &LaneAccess<A>) {
        if plan.strong(old.record.instruction()) && plan.strong(access.instruction) {
            return;
        }
        self.pair(plan, HazardKind::Race, place, old, access);
    }

    /// Notes a hazard that an earlier access and this one are.
    #[cold]
    #[inline(never)]
    pub(super) fn pair<A>(
        &mut self,
        plan: &Plan,
        kind: HazardKind,
        place: Place,
        old: Earlier,
        access: &LaneAccess<A>,
    ) {
        let earlier = old.record.instruction();
        let first = self.side(old.record.thread(), earlier, plan.action(earlier, old.writes));
        let action = plan.action(access.instruction, access.writes);
        let second = self.side(access.thread, access.instruction, action);
        self.add(kind, place, first, Some(second));
    }
}
