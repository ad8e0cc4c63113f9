//! The rules of barriers: warps that meet agree on the barrier, and all threads of the block take part.

use super::hazard::{Action, HazardKind};
use super::log::{Scene, Spot};
use crate::observe::Arrival;

#[derive(Debug, Default)]
pub(super) struct Barriers {
    /// The arrivals at each barrier since it last opened.
    arrivals: [Vec<Arrival>; 16],
    /// The first thread that ended, and the instruction that ended it.
    ended: Option<(u32, u32)>,
}

impl Barriers {
    pub(super) fn arrive(&mut self, arrival: Arrival) {
        if let Some(arrivals) = self.arrivals.get_mut(arrival.id as usize) {
            arrivals.push(arrival);
        }
    }

    pub(super) fn open(&mut self, scene: &mut Scene, id: u32) {
        let Some(arrivals) = self.arrivals.get_mut(id as usize) else { return };
        let met = std::mem::take(arrivals);
        let side = |scene: &Scene, at: &Arrival| {
            let thread = at.warp * 32 + at.lanes.trailing_zeros();
            scene.side(thread, at.instruction, if at.waits { Action::Waits } else { Action::Arrives })
        };
        let Some(first) = met.first() else { return };
        let threads = |at: &Arrival| if at.threads == 0 { 32 * scene.setup.extent.warps as u32 } else { at.threads };
        let agree = |other: &Arrival| threads(other) == threads(first) && other.reduces == first.reduces;
        if let Some(other) = met.iter().find(|other| !agree(other)) {
            scene.add(HazardKind::MismatchedBarriers, Spot::Barrier(id), side(scene, first), Some(side(scene, other)));
            return;
        }
        // At a barrier with a thread count, groups of threads with different tasks may meet, so only the others are checked.
        let mut all = met.iter().filter(|at| at.waits && at.threads == 0);
        let Some(first) = all.next() else { return };
        // Lines are compared, because the compiler may make several instructions from one line.
        let line = |at: &Arrival| scene.setup.kernel.source_line(at.instruction).ok_or(at.instruction);
        if let Some(other) = all.find(|other| line(other) != line(first)) {
            scene.add(HazardKind::DifferentBarriers, Spot::Barrier(id), side(scene, first), Some(side(scene, other)));
        }
        if let Some((thread, exit)) = self.ended {
            let ends = scene.side(thread, exit, Action::Ends);
            scene.add(HazardKind::ExitBeforeBarrier, Spot::Barrier(id), side(scene, first), Some(ends));
        }
    }

    pub(super) fn exit(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.ended.get_or_insert((warp * 32 + lanes.trailing_zeros(), instruction));
    }
}
