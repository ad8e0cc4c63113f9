//! Order by memory itself, as PTX's memory model has it: who reads what another wrote behind a fence knows what that one
//! knew at the fence.
//!
//! A *release* is a fence and then a strong write, or a strong write that releases by itself; an *acquire* is a strong read
//! and then a fence, or a strong read that acquires. Fences, reads and writes count only for threads within their scope.
//! An atomic operation that changes a place passes on what the place carried; a store replaces it.
//!
//! PTX leaves open whether a barrier makes a thread's fence count for the others of its block, as in "all write, all fence,
//! all wait, one adds to the counter; who is last waits with its block, and all read". Kernels rely on it, and it holds on
//! every GPU there is: so a fence counts for whoever meets the thread afterwards, and a barrier behind a strong read is a
//! fence.
//!
//! The *asynchronous proxy* (products of a warpgroup, bulk copies) sees those writes to shared memory that lie before a
//! `fence.proxy.async` that itself lies before it. A barrier alone orders threads, but the proxy reads by another way than they write.
//! That is kept as what each thread knows of fenced writes, which it passes on as it passes on everything else.

use super::clock::{Clock, Knowledge, View, Views};
use super::event::Event;
use crate::lanes::each;
use crate::lower::{MemoryOrder, Scope};
use crate::{Access, AccessKind};
use std::collections::HashMap;

/// What a place in memory carries from those who released there.
#[derive(Debug, Default)]
pub(super) struct Location {
    /// To threads of all blocks.
    wide: View,
    /// To threads of a block only.
    narrow: HashMap<u32, View>,
    /// Block and thread that stored there last.
    writer: Option<(u32, u32)>,
}

/// The places that carry anything, by address.
pub(super) type Locations = HashMap<u64, Location>;

/// A pair of what goes to the own block, and what goes to all.
type Scoped<T> = [T; 2];

#[derive(Debug)]
pub(super) struct Fences {
    /// What each thread knew at its last fence, and those whom it has met since.
    released: Scoped<Knowledge>,
    /// By warp: what each thread has read and will know after a fence.
    pending: Vec<Scoped<Views>>,
    /// What places of shared memory carry.
    shared: Locations,
    /// The writes that each thread knows the asynchronous proxy to see, once a fence has made it see any.
    seen: Option<Knowledge>,
    /// By place in shared memory through which threads meet: what those who came before knew of these.
    seen_at: HashMap<u64, View>,
}

/// An access that takes part in the order of memory.
#[derive(Debug, Clone, Copy)]
struct Strong {
    thread: u32,
    address: u64,
    order: MemoryOrder,
    reads: bool,
    writes: bool,
}

impl Fences {
    /// For a block of this number of warps.
    pub(super) fn new(warps: usize) -> Self {
        let pending = vec![Scoped::<Views>::default(); warps];
        let released = [(); 2].map(|()| Knowledge::new(warps));
        Self { released, pending, shared: Locations::default(), seen: None, seen_at: HashMap::new() }
    }

    /// All that threads pass on where they meet.
    fn passed_on(&mut self) -> impl Iterator<Item = &mut Knowledge> {
        self.released.iter_mut().chain(&mut self.seen)
    }

    /// Lanes of a warp access global memory, whose places carry what `locations` says.
    pub(super) fn accesses(
        &mut self,
        clock: &mut Clock,
        locations: &mut Locations,
        access: &Access<'_>,
        order: MemoryOrder,
    ) {
        for lane in each(access.lanes) {
            let (thread, address) = (access.thread(lane), access.addresses[lane]);
            let (reads, writes) = (access.kind != AccessKind::Store, access.written >> lane & 1 != 0);
            self.access(clock, locations, &Strong { thread, address, order, reads, writes });
        }
        if order.release {
            clock.step(access.warp);
        }
    }

    /// Lanes of a warp access shared memory.
    pub(super) fn accesses_shared(&mut self, clock: &mut Clock, access: &Access<'_>, order: MemoryOrder) {
        let mut locations = std::mem::take(&mut self.shared);
        self.accesses(clock, &mut locations, access, order);
        self.shared = locations;
        let Some(seen) = self.seen.as_mut().map(|seen| &mut seen.warps[access.warp as usize]) else { return };
        for lane in each(access.lanes) {
            let place = self.seen_at.entry(access.addresses[lane]).or_default();
            if access.kind != AccessKind::Store {
                seen.learn(lane, place);
            }
            if access.written >> lane & 1 != 0 {
                place.learn(seen.of(lane));
            }
        }
    }

    /// Lanes fence all that they know of for the asynchronous proxy.
    pub(super) fn fence_proxy(&mut self, clock: &mut Clock, warp: u32, lanes: u32) {
        let seen = self.seen.get_or_insert_with(|| Knowledge::new(self.pending.len()));
        for lane in each(lanes) {
            seen.warps[warp as usize].set(lane, clock.knowledge(warp * 32 + lane as u32));
        }
        clock.step(warp);
    }

    /// Whether some lane of a warp knows the asynchronous proxy to see a write: they execute a product together.
    pub(super) fn sees(&self, warp: u32, write: Event) -> bool {
        let of_warp = self.seen.as_ref().map(|seen| &seen.warps[warp as usize]);
        let knows = |seen: &Views, lane| seen.of(lane).knows(write.block, write.thread(), write.time);
        of_warp.is_some_and(|seen| (0..32).any(|lane| knows(seen, lane)))
    }

    pub(super) fn fence(&mut self, clock: &mut Clock, warp: u32, lanes: u32, order: MemoryOrder) {
        let scopes = if order.scope > Scope::Block { 2 } else { 1 };
        let own = warp as usize;
        for lane in each(lanes) {
            let thread = warp * 32 + lane as u32;
            if order.acquire {
                for pending in &mut self.pending[own][..scopes] {
                    clock.learn(thread, pending.of(lane));
                    pending.set(lane, View::default());
                }
            }
            if order.release {
                let known = clock.knowledge(thread);
                self.released[..scopes].iter_mut().for_each(|released| released.warps[own].set(lane, known.clone()));
            }
        }
        if order.release {
            clock.step(warp);
        }
    }

    /// What a thread has copied arrives at a barrier in shared memory: whoever finds its phase complete knows of it.
    pub(super) fn landed(&mut self, clock: &Clock, thread: u32, barrier: u64) {
        let location = self.shared.entry(barrier).or_default();
        location.narrow.entry(clock.block()).or_default().learn(&clock.own(thread));
    }

    /// A thread accesses a place.
    fn access(&mut self, clock: &mut Clock, locations: &mut Locations, access: &Strong) {
        let Strong { thread, address, order, reads, writes } = *access;
        let (warp, lane) = (thread as usize / 32, thread as usize % 32);
        let (block, wide) = (clock.block(), order.scope > Scope::Block);
        if let Some(location) = locations.get(&address).filter(|_| reads) {
            let narrow = location.narrow.get(&block);
            let carried = [narrow, Some(&location.wide).filter(|_| wide)];
            for (view, pending) in carried.into_iter().zip(&mut self.pending[warp]) {
                let Some(view) = view else { continue };
                pending.learn(lane, view);
                if order.acquire && !order.later {
                    clock.learn(thread, view);
                }
            }
        }
        if !writes {
            return;
        }
        let mut released = self.released.each_ref().map(|released| released.warps[warp].of(lane).clone());
        if order.release {
            let known = clock.knowledge(thread);
            for released in &mut released {
                released.learn(&known);
            }
        }
        let [narrow, wide] = [released[0].clone(), if wide { released[1].clone() } else { View::default() }];
        if narrow.is_empty() && !locations.contains_key(&address) {
            return;
        }
        let location = locations.entry(address).or_default();
        if !reads && location.writer.replace((block, thread)) != Some((block, thread)) {
            location.narrow.clear();
            location.wide = View::default();
        }
        location.narrow.entry(block).or_default().learn(&narrow);
        location.wide.learn(&wide);
    }

    /// A warp arrives at a barrier, which is a fence for what its threads have read.
    pub(super) fn arrive(&mut self, clock: &mut Clock, warp: u32, lanes: u32, id: u32) {
        self.acquire(clock, warp, lanes);
        self.passed_on().for_each(|known| known.arrive(warp, lanes, id));
    }

    /// A barrier opens: the fences of those who had arrived count for those who waited.
    pub(super) fn open(&mut self, id: u32, waiting: u32) {
        self.passed_on().for_each(|known| known.open(id, waiting, |view| view));
    }

    /// Lanes of a warp wait for each other.
    pub(super) fn lanes_meet(&mut self, clock: &mut Clock, warp: u32, lanes: u32) {
        self.acquire(clock, warp, lanes);
        let full = clock.full(warp);
        self.passed_on().for_each(|known| known.warps[warp as usize].meet(lanes, full));
    }

    fn acquire(&mut self, clock: &mut Clock, warp: u32, lanes: u32) {
        for pending in &mut self.pending[warp as usize] {
            for lane in each(lanes) {
                clock.learn(warp * 32 + lane as u32, pending.of(lane));
                pending.set(lane, View::default());
            }
        }
    }
}
