//! The rules of barriers: warps that meet agree on the barrier, and all threads of the block take part.
//!
//! Without a number of threads, "all threads in the CTA participate in the barrier" (PTX, `bar`), and CUDA allows `__syncthreads()`
//! under a condition "only if the conditional evaluates identically across the entire thread block". Since Volta, a barrier "will not
//! succeed until reached by all non-exited threads": a thread that has ended is let off. So a warp that ends before a barrier is one
//! case, and a warp that goes around it, does what follows and ends only then is another. The barrier opens then, too, but only
//! because that warp happened to end.

use super::finding::{Side, Spot};
use super::hazard::{Action, HazardKind};
use super::log::Scene;
use super::setup::Setup;
use crate::observe::Arrival;
use ptx::lower::Way;

#[derive(Debug)]
pub(super) struct Barriers {
    /// The arrivals at each barrier since it last opened.
    arrivals: [Vec<Arrival>; 16],
    /// The first thread that ended, and the instruction that ended it.
    ended: Option<(u32, u32)>,
    /// For each warp, the lanes that have ended.
    lanes_ended: Vec<u32>,
    paths: Vec<Path>,
    steps: u64,
}

/// Where a warp has been lately.
#[derive(Debug, Clone, Default)]
struct Path {
    /// When it last entered each basic block, and when it left it; 0 if never. Empty if there is no way around a barrier.
    blocks: Vec<[u64; 2]>,
    /// The block that it is in.
    now: usize,
    /// When it last arrived at a barrier.
    arrived: u64,
}

impl Barriers {
    pub(super) fn new(setup: &Setup) -> Self {
        let blocks = if setup.code().ways.is_empty() { 0 } else { setup.code().blocks.len() };
        let warps = setup.extent.warps as usize;
        Self {
            arrivals: Default::default(),
            ended: None,
            lanes_ended: vec![0; warps],
            paths: vec![Path { blocks: vec![[0; 2]; blocks], now: 0, arrived: 0 }; warps],
            steps: 0,
        }
    }

    #[inline]
    pub(super) fn enter(&mut self, warp: u32, block: u32) {
        let Path { blocks, now, .. } = &mut self.paths[warp as usize];
        if !blocks.is_empty() {
            self.steps += 1;
            blocks[*now][1] = self.steps;
            *now = block as usize;
            blocks[*now][0] = self.steps;
        }
    }

    pub(super) fn arrive(&mut self, arrival: Arrival) {
        self.paths[arrival.warp as usize].arrived = self.steps;
        if let Some(arrivals) = self.arrivals.get_mut(arrival.id as usize) {
            arrivals.push(arrival);
        }
    }

    pub(super) fn open(&mut self, scene: &mut Scene, id: u32, waiting: u32) {
        let Some(arrivals) = self.arrivals.get_mut(id as usize) else { return };
        let met = std::mem::take(arrivals);
        let Some(first) = met.first() else { return };
        let threads = |at: &Arrival| if at.threads == 0 { 32 * scene.setup.extent.warps as u32 } else { at.threads };
        let agree = |other: &Arrival| threads(other) == threads(first) && other.reduces == first.reduces;
        if let Some(other) = met.iter().find(|other| !agree(other)) {
            scene.add(HazardKind::MismatchedBarriers, Spot::Barrier(id), side(scene, first), Some(side(scene, other)));
            return;
        }
        if waiting == 0 {
            scene.add(HazardKind::UnheardArrival, Spot::Barrier(id), side(scene, first), None);
        }
        // At a barrier with a thread count, groups of threads with different tasks may meet, so only the others are checked.
        let mut all = met.iter().filter(|at| at.waits && at.threads == 0);
        let Some(first) = all.next() else { return };
        // Lines are compared, because the compiler may make several instructions from one line.
        let line = |at: &Arrival| scene.setup.kernel.source_line(at.instruction).ok_or(at.instruction);
        if let Some(other) = all.find(|other| line(other) != line(first)) {
            scene.add(HazardKind::DifferentBarriers, Spot::Barrier(id), side(scene, first), Some(side(scene, other)));
        }
        if let Some(around) = self.around(scene, first, &met) {
            return scene.add(HazardKind::SkippedBarrier, Spot::Barrier(id), side(scene, first), Some(around));
        }
        if let Some((thread, exit)) = self.ended {
            let ends = scene.side(thread, exit, Action::Ends);
            scene.add(HazardKind::ExitBeforeBarrier, Spot::Barrier(id), side(scene, first), Some(ends));
        }
    }

    /// Returns the first thread of a warp that has gone around a barrier, and the branch by which it did.
    fn around(&self, scene: &Scene, barrier: &Arrival, met: &[Arrival]) -> Option<Side> {
        let code = scene.setup.code();
        let block = code.blocks.partition_point(|block| block.end <= barrier.instruction) as u32;
        let ways = code.ways.iter().filter(|way| way.barrier == block);
        let ended = |warp: &usize| self.lanes_ended[*warp] == scene.clock.full[*warp];
        let absent = |warp: &usize| ended(warp) && met.iter().all(|at| at.warp as usize != *warp);
        for warp in (0..self.paths.len()).filter(absent) {
            let Path { blocks, arrived, .. } = &self.paths[warp];
            let when = |block: u32| blocks.get(block as usize).copied().unwrap_or_default();
            let taken = |way: &&Way| {
                let [[_, left], [met, _]] = [way.branch, way.meeting].map(when);
                left > *arrived && met >= left
            };
            if let Some(way) = ways.clone().find(taken) {
                let branch = code.blocks[way.branch as usize].end - 1;
                return Some(scene.side(32 * warp as u32, branch, Action::Skips));
            }
        }
        None
    }

    pub(super) fn exit(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.ended.get_or_insert((warp * 32 + lanes.trailing_zeros(), instruction));
        self.lanes_ended[warp as usize] |= lanes;
    }

    /// Notes that the block has ended. Those who have arrived without waiting since a barrier last opened are not waited for.
    pub(super) fn end(&mut self, scene: &mut Scene) {
        let all = (0..self.lanes_ended.len()).all(|warp| self.lanes_ended[warp] == scene.clock.full[warp]);
        for (id, arrivals) in (0..).zip(&self.arrivals).filter(|_| all) {
            if let Some(first) = arrivals.iter().find(|at| !at.waits) {
                scene.add(HazardKind::UnheardArrival, Spot::Barrier(id), side(scene, first), None);
            }
        }
    }
}

fn side(scene: &Scene, at: &Arrival) -> Side {
    let thread = at.warp * 32 + at.lanes.trailing_zeros();
    scene.side(thread, at.instruction, if at.waits { Action::Waits } else { Action::Arrives })
}
