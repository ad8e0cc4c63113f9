//! The order of accesses in a block, by vector clocks.
//!
//! Every warp has a clock of its own, which steps whenever its lanes meet somebody. What a warp knows of the others is a row
//! of times, one for each warp; barriers join the rows of those who arrive and give the result to those who wait. What
//! only some lanes know (who met under a part of the mask, who holds a lock) and what is known of other blocks are
//! views beside the rows; most kernels have none.

use super::event::Slot;
use super::extent::Extent;
use super::view::{Knowledge, View, Views, Who};
use crate::lanes::each;

/// How an earlier access lies to one at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// It happens before.
    Before,
    /// Only an exchange of values (a shuffle, a vote) lies between.
    Exchange,
    /// Nothing orders the two.
    None,
}

/// When lanes of a warp last exchanged values.
#[derive(Debug, Clone, Default)]
struct Exchanges {
    /// All of them.
    all: u32,
    /// Each pair of lanes, once some but not all have.
    pairs: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct Clock {
    block: u32,
    warps: usize,
    /// The lanes that each warp has.
    full: Vec<u32>,
    times: Vec<u32>,
    /// For each warp a row: up to when it knows each warp's accesses.
    known: Vec<u32>,
    /// By barrier: what those who have arrived know together; empty if nobody has.
    gathered: Vec<Vec<u32>>,
    exchanges: Vec<Exchanges>,
    /// What threads know beyond the rows.
    beyond: Knowledge,
}

impl Clock {
    pub(super) fn new(block: u32, threads: u32) -> Self {
        let warps = threads.div_ceil(32) as usize;
        let lanes = |warp: usize| u32::MAX >> 32_u32.saturating_sub(threads - 32 * warp as u32);
        Self {
            block,
            warps,
            full: (0..warps).map(lanes).collect(),
            times: vec![1; warps],
            known: vec![0; warps * warps],
            gathered: vec![vec![]; 16],
            exchanges: vec![Exchanges::default(); warps],
            beyond: Knowledge::new(warps),
        }
    }

    pub(super) fn bytes(extent: &Extent) -> u64 {
        let row = extent.warps * size_of::<u32>() as u64;
        // Pairs of lanes, for the warp itself and for each barrier what is known of every other.
        extent.warps * (row + 4 * 32 * 32 + (size_of::<Exchanges>() + size_of::<Views>() + 8) as u64) + 16 * row
    }

    pub(super) fn block(&self) -> u32 {
        self.block
    }

    /// The lanes that a warp has.
    pub(super) fn full(&self, warp: u32) -> u32 {
        self.full[warp as usize]
    }

    #[inline]
    pub(super) fn time(&self, warp: u32) -> u32 {
        self.times[warp as usize]
    }

    /// Up to when a warp knows the accesses of each warp of the block.
    #[inline]
    pub(super) fn row(&self, warp: usize) -> &[u32] {
        &self.known[warp * self.warps..(warp + 1) * self.warps]
    }

    /// What a thread does from now on is not part of what others have learnt of it.
    pub(super) fn step(&mut self, warp: u32) {
        let time = &mut self.times[warp as usize];
        *time = time.saturating_add(1);
    }

    /// A warp arrives at a barrier.
    pub(super) fn arrive(&mut self, warp: u32, id: u32) {
        let Some(gathered) = self.gathered.get_mut(id as usize) else { return };
        gathered.resize(self.warps, 0);
        let own = warp as usize;
        for (known, &time) in gathered.iter_mut().zip(&self.known[own * self.warps..]) {
            *known = time.max(*known);
        }
        gathered[own] = self.times[own];
        self.beyond.arrive(warp, u32::MAX, id);
        self.step(warp);
    }

    /// A barrier opens: the warps whose bits are set know what all who had arrived knew.
    pub(super) fn open(&mut self, id: u32, waiting: u32) {
        let Some(gathered) = self.gathered.get_mut(id as usize) else { return };
        let known = std::mem::take(gathered);
        for warp in each(waiting).filter(|&warp| warp < self.warps) {
            for (own, &time) in self.known[warp * self.warps..].iter_mut().zip(&known) {
                *own = time.max(*own);
            }
        }
        // What all of the block have met at says more than views do.
        let all = waiting.count_ones() as usize == self.warps;
        self.beyond.open(id, waiting, |view| if all { view.without(self.block) } else { view });
    }

    /// Lanes of a warp wait for each other.
    pub(super) fn lanes_meet(&mut self, warp: u32, lanes: u32) {
        let (own, time) = (warp as usize, self.time(warp));
        self.beyond.warps[own].meet(lanes, self.full[own]);
        if lanes == self.full[own] {
            self.known[own * self.warps + own] = time;
        } else if lanes.count_ones() > 1 {
            let met =
                View::new(each(lanes).map(|lane| (Who::thread(self.block, warp * 32 + lane as u32), time)).collect());
            each(lanes).for_each(|lane| self.beyond.warps[own].learn(lane, &met));
        }
        self.step(warp);
    }

    pub(super) fn lanes_exchange(&mut self, warp: u32, lanes: u32) {
        let (own, time) = (warp as usize, self.time(warp));
        let Exchanges { all, pairs } = &mut self.exchanges[own];
        if lanes == self.full[own] {
            *all = time;
        } else {
            pairs.resize(32 * 32, 0);
            for lane in each(lanes) {
                each(lanes).for_each(|other| pairs[32 * lane + other] = time);
            }
        }
        self.step(warp);
    }

    pub(super) fn learn(&mut self, thread: u32, view: &View) {
        self.beyond.warps[thread as usize / 32].learn(thread as usize % 32, view);
    }

    /// What a thread did up to now, without what it knows of others.
    pub(super) fn own(&self, thread: u32) -> View {
        View::new(vec![(Who::thread(self.block, thread), self.time(thread / 32))])
    }

    /// All that a thread knows now, itself included.
    pub(super) fn knowledge(&self, thread: u32) -> View {
        let warp = thread as usize / 32;
        let row = self.row(warp);
        let least = row.iter().copied().min().unwrap_or(0);
        let block = (least > 0).then_some((Who::block(self.block), least));
        let warps = row.iter().enumerate().filter(|&(_, &time)| time > least);
        let warps = warps.map(|(other, &time)| (Who::warp(self.block, other), time));
        let own = (Who::thread(self.block, thread), self.times[warp]);
        let mut view = View::new(block.into_iter().chain(warps).chain([own]).collect());
        view.learn(self.beyond.warps[warp].of(thread as usize % 32));
        view
    }

    /// How earlier accesses lie to one of a thread now, and the one of them that is ordered least.
    pub(super) fn order(&self, earlier: &Slot, thread: u32) -> (Order, u32) {
        let event = earlier.event;
        let (warp, lane) = (thread as usize / 32, thread as usize % 32);
        let mut lanes = earlier.lanes;
        if event.block == self.block {
            if event.warp() == warp {
                lanes &= !(1 << lane);
            }
            if self.row(warp)[event.warp()] >= event.time {
                return (Order::Before, event.thread());
            }
        }
        let view = self.beyond.warps[warp].of(lane);
        let mut worst = (Order::Before, event.thread());
        let known = view.known(event.block, event.warp(), event.time);
        let first = event.thread() as usize % 32;
        let in_order =
            std::iter::once(first).filter(|&first| lanes >> first & 1 != 0).chain(each(lanes & !(1 << first)));
        for other in in_order {
            let by = event.by_lane(other).thread();
            let order = if known >> other & 1 == 1 {
                Order::Before
            } else if event.block == self.block
                && event.warp() == warp
                && self.exchanged(warp, lane, other) >= event.time
            {
                Order::Exchange
            } else {
                Order::None
            };
            if order > worst.0 {
                worst = (order, by);
            }
            if order == Order::None {
                break;
            }
        }
        worst
    }

    /// When two lanes of a warp last exchanged values.
    fn exchanged(&self, warp: usize, lane: usize, other: usize) -> u32 {
        let Exchanges { all, pairs } = &self.exchanges[warp];
        pairs.get(32 * lane + other).map_or(*all, |&pair| pair.max(*all))
    }
}
