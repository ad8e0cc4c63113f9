//! Order through memory, as in PTX's memory model: a thread that reads what another wrote after a fence knows what the other
//! knew at the fence.
//!
//! A *release* is a fence followed by a strong write, or a strong write that releases. An *acquire* is a strong read followed
//! by a fence, or a strong read that acquires. Fences, reads and writes count only for threads within their scope. An atomic
//! operation that changes a place keeps the knowledge that the place carried; a store replaces it.
//!
//! PTX leaves open whether a barrier makes a thread's fence count for the other threads of its block. An example: all threads
//! write, fence and wait at a barrier, and one adds to a counter; in the block that is last, all wait again and then read.
//! Kernels rely on this, and it holds on every GPU so far. So a fence also counts for all threads that synchronise with its
//! thread afterwards, and a barrier after a strong read counts as a fence.
//!
//! The *asynchronous proxy* (products of a warpgroup, bulk copies) sees a write to shared memory only if a `fence.proxy.async` comes
//! after the write and before the proxy's access. A barrier alone orders threads, but the proxy reads by another path than they write.
//! So each thread's knowledge of fenced writes is tracked, and threads pass it on as they pass on everything else.

use super::clock::{Clock, Knowledge, View, Views};
use super::event::Event;
use super::log::Scene;
use crate::lanes::each;
use crate::{Access, AccessKind};
use ptx::lower::{MemoryOrder, Scope};
use std::collections::HashMap;

/// What a place in memory carries from the threads that released there.
#[derive(Debug, Default)]
pub(super) struct Location {
    /// The part for threads of all blocks.
    wide: View,
    /// The parts that are only for threads of one block, by block.
    narrow: HashMap<u32, View>,
    /// Block and thread of the last store there.
    writer: Option<(u32, u32)>,
}

/// The places that carry something, by address.
pub(super) type Locations = HashMap<u64, Location>;

/// A pair: first what is for threads of the same block, then what is for threads of all blocks.
type Scoped<T> = [T; 2];

#[derive(Debug)]
pub(super) struct Fences {
    /// What each thread knew at its last fence, and what the threads that it has since synchronised with knew at theirs.
    released: Scoped<Knowledge>,
    /// For each warp, what each thread has read and will know after its next fence.
    pending: Vec<Scoped<Views>>,
    /// What the places of shared memory carry.
    shared: Locations,
    /// What the asynchronous proxy sees of shared memory, and of global memory.
    seen: [Seen; 2],
}

/// What threads know of the writes that the asynchronous proxy sees.
#[derive(Debug, Default)]
struct Seen {
    /// For each thread, the writes that it knows the proxy to see. `None` before the first proxy fence.
    known: Option<Knowledge>,
    /// For each place in shared memory through which threads synchronise: what those knew who wrote there.
    at: HashMap<u64, View>,
}

impl Fences {
    pub(super) fn new(warps: usize) -> Self {
        let pending = vec![Scoped::<Views>::default(); warps];
        let released = [(); 2].map(|()| Knowledge::new(warps));
        Self { released, pending, shared: Locations::default(), seen: Default::default() }
    }

    /// Returns all knowledge that threads pass on when they synchronise.
    fn passed_on(&mut self) -> impl Iterator<Item = &mut Knowledge> {
        self.released.iter_mut().chain(self.seen.iter_mut().flat_map(|seen| &mut seen.known))
    }

    /// Follows a strong access by lanes of a warp; `locations` holds what the places in that memory carry.
    pub(super) fn accesses(&mut self, scene: &mut Scene, locations: &mut Locations, access: &Access<'_>) {
        each(access.lanes).for_each(|lane| self.access(scene, locations, access, lane));
        if scene.setup.order(access.instruction).release {
            scene.clock.step(access.warp);
        }
    }

    /// Follows a strong access to shared memory by lanes of a warp.
    pub(super) fn accesses_shared(&mut self, scene: &mut Scene, access: &Access<'_>) {
        let mut locations = std::mem::take(&mut self.shared);
        self.accesses(scene, &mut locations, access);
        self.shared = locations;
        for Seen { known, at } in &mut self.seen {
            let Some(seen) = known.as_mut().map(|seen| &mut seen.warps[access.warp as usize]) else { continue };
            for lane in each(access.lanes) {
                let place = at.entry(access.addresses[lane]).or_default();
                if access.kind != AccessKind::Store {
                    seen.learn(lane, place);
                }
                if access.written >> lane & 1 != 0 {
                    place.learn(seen.of(lane));
                }
            }
        }
    }

    /// Follows a `fence.proxy.async`: the proxy now sees all writes that these lanes know of, of shared memory, of global memory or
    /// of both.
    pub(super) fn fence_proxy(&mut self, clock: &mut Clock, warp: u32, lanes: u32, of: [bool; 2]) {
        for (seen, _) in self.seen.iter_mut().zip(of).filter(|(_, of)| *of) {
            let known = seen.known.get_or_insert_with(|| Knowledge::new(self.pending.len()));
            for lane in each(lanes) {
                known.warps[warp as usize].set(lane, clock.knowledge(warp * 32 + lane as u32));
            }
        }
        clock.step(warp);
    }

    /// Returns the lanes of a write's warp whose writes until then the asynchronous proxy sees, as far as any lane of a warp knows. One
    /// is enough, as they execute products together.
    pub(super) fn seen(&self, warp: u32, write: Event, global: bool) -> u32 {
        let of_warp = self.seen[usize::from(global)].known.iter().flat_map(|seen| seen.warps[warp as usize].distinct());
        of_warp.fold(0, |lanes, view| lanes | view.known(write.block, write.warp(), write.time))
    }

    pub(super) fn fence(&mut self, clock: &mut Clock, warp: u32, lanes: u32, order: MemoryOrder) {
        let scopes = if order.scope > Scope::Block { 2 } else { 1 };
        let own = warp as usize;
        if order.acquire {
            self.acquire(clock, warp, lanes, scopes);
        }
        if order.release {
            for lane in each(lanes) {
                let known = clock.knowledge(warp * 32 + lane as u32);
                self.released[..scopes].iter_mut().for_each(|released| released.warps[own].set(lane, known.clone()));
            }
            clock.step(warp);
        }
    }

    /// Notes that a thread's copy arrives at a barrier in shared memory. A thread that finds the phase complete knows of the copy.
    pub(super) fn landed(&mut self, clock: &Clock, thread: u32, barrier: u64) {
        let location = self.shared.entry(barrier).or_default();
        location.narrow.entry(clock.block).or_default().learn(&clock.own(thread));
    }

    /// Follows a strong access by one lane.
    fn access(&mut self, scene: &mut Scene, locations: &mut Locations, access: &Access<'_>, lane: usize) {
        let (order, clock) = (scene.setup.order(access.instruction), &mut scene.clock);
        let (thread, warp, address) = (access.thread(lane), access.warp as usize, access.addresses[lane]);
        let (reads, writes) = (access.kind != AccessKind::Store, access.written >> lane & 1 != 0);
        let (block, wide) = (clock.block, order.scope > Scope::Block);
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

    /// Notes that lanes of a warp arrive at a barrier, which is a fence for what they have read.
    pub(super) fn arrive(&mut self, clock: &mut Clock, warp: u32, lanes: u32, id: u32) {
        self.acquire(clock, warp, lanes, 2);
        self.passed_on().for_each(|known| known.arrive(warp, lanes, id));
    }

    /// Opens a barrier: the fences of the threads that had arrived count for those that waited.
    pub(super) fn open(&mut self, id: u32, waiting: u32) {
        self.passed_on().for_each(|known| known.open(id, waiting, |view| view));
    }

    pub(super) fn lanes_meet(&mut self, clock: &mut Clock, warp: u32, lanes: u32) {
        self.acquire(clock, warp, lanes, 2);
        let full = clock.full[warp as usize];
        self.passed_on().for_each(|known| known.warps[warp as usize].meet(lanes, full));
    }

    /// Lets lanes know what they have read in the first `scopes` of the two scopes.
    fn acquire(&mut self, clock: &mut Clock, warp: u32, lanes: u32, scopes: usize) {
        for pending in &mut self.pending[warp as usize][..scopes] {
            for lane in each(lanes) {
                clock.learn(warp * 32 + lane as u32, pending.of(lane));
                pending.set(lane, View::default());
            }
        }
    }
}
