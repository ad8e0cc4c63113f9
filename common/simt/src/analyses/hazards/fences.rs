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

use super::clock::Clock;
use super::view::{Knowledge, View, Views};
use crate::lanes::each;
use crate::lower::{MemoryOrder, Scope};
use crate::{Access, AccessKind};
use std::collections::HashMap;

/// What a place in memory carries from those who released there.
#[derive(Debug, Default)]
struct Location {
    /// To threads of all blocks.
    wide: View,
    /// To threads of a block only.
    narrow: HashMap<u32, View>,
    /// Block and thread that stored there last.
    writer: Option<(u32, u32)>,
}

/// The places that carry anything, by address.
#[derive(Debug, Default)]
pub(super) struct Locations(HashMap<u64, Location>);

impl Locations {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// A pair of what goes to the own block, and what goes to all.
type Scoped<T> = [T; 2];

/// The fences of a block.
#[derive(Debug)]
pub(super) struct Fences {
    /// What each thread knew at its last fence, and those whom it has met since.
    released: Scoped<Knowledge>,
    /// By warp: what each thread has read and will know after a fence.
    pending: Vec<Scoped<Views>>,
    /// What places of shared memory carry.
    shared: Locations,
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
        Self { released: [(); 2].map(|()| Knowledge::new(warps)), pending, shared: Locations::default() }
    }

    pub(super) fn restart(&mut self) {
        *self = Self::new(self.pending.len());
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
    }

    /// Lanes of a warp execute a fence.
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
        let location = self.shared.0.entry(barrier).or_default();
        location.narrow.entry(clock.block()).or_default().learn(&clock.own(thread));
    }

    /// A thread accesses a place.
    fn access(&mut self, clock: &mut Clock, locations: &mut Locations, access: &Strong) {
        let Strong { thread, address, order, reads, writes } = *access;
        let (warp, lane) = (thread as usize / 32, thread as usize % 32);
        let (block, wide) = (clock.block(), order.scope > Scope::Block);
        if let Some(location) = locations.0.get(&address).filter(|_| reads) {
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
        if narrow.is_empty() && !locations.0.contains_key(&address) {
            return;
        }
        let location = locations.0.entry(address).or_default();
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
        self.released.iter_mut().for_each(|released| released.arrive(warp, lanes, id));
    }

    /// A barrier opens: the fences of those who had arrived count for those who waited.
    pub(super) fn open(&mut self, id: u32, waiting: u32) {
        self.released.iter_mut().for_each(|released| released.open(id, waiting));
    }

    /// Lanes of a warp wait for each other.
    pub(super) fn lanes_meet(&mut self, clock: &mut Clock, warp: u32, lanes: u32) {
        self.acquire(clock, warp, lanes);
        let full = clock.full(warp);
        self.released.iter_mut().for_each(|released| released.warps[warp as usize].meet(lanes, full));
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

#[cfg(test)]
mod tests {
    use super::super::clock::Order;
    use super::super::event::{Event, Slot};
    use super::*;

    const RELAXED: MemoryOrder = MemoryOrder { strong: 4, ..MemoryOrder::WEAK };
    const FENCE: MemoryOrder = MemoryOrder { acquire: true, release: true, ..MemoryOrder::WEAK };

    /// Whether thread 5 of block 0 passes what it did on to thread 40 of `block`: by a fence, a write, a read and a fence.
    fn passes(block: u32, [fence, write, read, then]: [MemoryOrder; 4]) -> bool {
        let mut locations = Locations::default();
        let (mut one, mut two) = (Clock::new(64), Clock::new(64));
        two.restart(block);
        let (mut ours, mut theirs) = (Fences::new(2), Fences::new(2));
        let strong = |thread, order, reads| Strong { thread, address: 8, order, reads, writes: !reads };
        ours.fence(&mut one, 0, 1 << 5, fence);
        ours.access(&mut one, &mut locations, &strong(5, write, false));
        theirs.access(&mut two, &mut locations, &strong(40, read, true));
        theirs.fence(&mut two, 1, 1 << 8, then);
        two.order(&Slot::one(Event::new(0, 5, 1, 0)), 40).0 == Order::Before
    }

    #[test]
    fn fence_write_read_fence() {
        let good = [FENCE, RELAXED, RELAXED, FENCE];
        assert!(passes(1, good));
        let block = |order| MemoryOrder { scope: Scope::Block, ..order };
        for at in 0..4 {
            let mut narrow = good;
            narrow[at] = block(good[at]);
            assert!(!passes(1, narrow), "a scope that is too narrow, at {at}");
        }
        let none = MemoryOrder::WEAK;
        assert!(!passes(1, [none, RELAXED, RELAXED, FENCE]));
        assert!(!passes(1, [FENCE, RELAXED, RELAXED, none]));
        let release = MemoryOrder { release: true, ..RELAXED };
        let acquire = MemoryOrder { acquire: true, ..RELAXED };
        assert!(passes(1, [none, release, acquire, none]));
        assert!(!passes(1, [none, acquire, release, none]));
        assert!(!passes(1, [none, block(release), acquire, none]));
        let one_sided = MemoryOrder { acquire: false, ..FENCE };
        assert!(passes(1, [one_sided, RELAXED, acquire, none]));
        assert!(!passes(1, [FENCE, RELAXED, RELAXED, one_sided]));
    }

    #[test]
    fn fences_of_a_block_suffice_inside_it() {
        let narrow = MemoryOrder { scope: Scope::Block, ..FENCE };
        // The same block, seen by a second clock.
        let order = [narrow, MemoryOrder { scope: Scope::Block, ..RELAXED }, RELAXED, narrow];
        assert!(passes(0, order));
    }
}
