//! The rules of barriers: all threads of the block take part, and at the same instruction.

use super::finding::{Action, Place};
use super::log::Log;
use super::plan::Plan;
use crate::analyses::report::HazardKind;

/// A warp that waits at a barrier.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    warp: u32,
    instruction: u32,
    /// Its first lane.
    lane: u32,
}

/// What has arrived at one barrier since it opened last.
#[derive(Debug, Clone, Default)]
struct Arrivals {
    /// One bit for each warp, whether it waits or not.
    warps: u32,
    /// Those that wait, at barriers for all threads.
    waiting: Vec<Arrival>,
}

/// The barriers of a block.
#[derive(Debug)]
pub(super) struct Barriers {
    arrivals: Vec<Arrivals>,
    /// The first thread that ended: thread and instruction.
    ended: Option<(u32, u32)>,
}

impl Barriers {
    pub(super) fn new() -> Self {
        Self { arrivals: vec![Arrivals::default(); 16], ended: None }
    }

    pub(super) fn restart(&mut self) {
        *self = Self::new();
    }

    /// A warp arrives at a barrier.
    pub(super) fn arrive(&mut self, plan: &Plan, warp: u32, instruction: u32, id: u32, lanes: u32, waits: bool) {
        let Some(arrivals) = self.arrivals.get_mut(id as usize) else { return };
        arrivals.warps |= 1 << warp;
        if waits && !plan.counted_barrier(instruction) {
            arrivals.waiting.push(Arrival { warp, instruction, lane: lanes.trailing_zeros() });
        }
    }

    /// A barrier opens; gives the warps that have arrived.
    pub(super) fn open(&mut self, log: &mut Log, id: u32) -> u32 {
        let Some(arrivals) = self.arrivals.get_mut(id as usize) else { return 0 };
        let Arrivals { warps, waiting } = std::mem::take(arrivals);
        let Some(&first) = waiting.first() else { return warps };
        let waits = |log: &Log, at: Arrival| log.side(at.warp * 32 + at.lane, at.instruction, Action::Waits);
        let side = waits(log, first);
        if let Some(&other) = waiting.iter().find(|other| other.instruction != first.instruction) {
            log.add(HazardKind::DifferentBarriers, Place::Barrier(id), side, Some(waits(log, other)));
        }
        if let Some((thread, exit)) = self.ended {
            let ends = log.side(thread, exit, Action::Ends);
            log.add(HazardKind::ExitBeforeBarrier, Place::Barrier(id), side, Some(ends));
        }
        warps
    }

    /// Threads end.
    pub(super) fn exit(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.ended.get_or_insert((warp * 32 + lanes.trailing_zeros(), instruction));
    }
}
