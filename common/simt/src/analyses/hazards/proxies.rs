//! Which writes to shared memory the asynchronous proxy sees: those that lie before a `fence.proxy.async` that itself lies before
//! the product. A barrier alone orders threads, but a product reads by another way than they write.
//!
//! Kept as what each thread knows of fenced writes, which it passes on as it passes on everything else.

use super::clock::Clock;
use super::event::Event;
use super::view::{View, Views};
use crate::lanes::each;
use crate::observe::Access;
use std::collections::HashMap;

/// What has been fenced in a block.
#[derive(Debug)]
pub(super) struct Proxies {
    /// By warp: the writes that each thread knows to be fenced.
    seen: Vec<Views>,
    /// What those who arrived at each barrier knew to be fenced.
    gathered: Vec<View>,
    /// By place in shared memory through which threads meet: what those who came before knew to be fenced.
    places: HashMap<u64, View>,
}

impl Proxies {
    /// For a block of this number of warps.
    pub(super) fn new(warps: usize) -> Self {
        Self { seen: vec![Views::default(); warps], gathered: vec![View::default(); 16], places: HashMap::new() }
    }

    pub(super) fn restart(&mut self) {
        *self = Self::new(self.seen.len());
    }

    /// Lanes fence all that they know of.
    pub(super) fn fence(&mut self, clock: &mut Clock, warp: u32, lanes: u32) {
        for lane in each(lanes) {
            self.seen[warp as usize].set(lane, clock.knowledge(warp * 32 + lane as u32));
        }
        clock.step(warp);
    }

    /// Whether a write is known to be fenced by some lane of a warp: they execute a product together.
    pub(super) fn knows(&self, warp: u32, write: Event) -> bool {
        let seen = &self.seen[warp as usize];
        (0..32).any(|lane| seen.of(lane).knows(write.block, write.thread(), write.time))
    }

    /// Lanes meet others at a place in shared memory.
    pub(super) fn accesses(&mut self, access: &Access<'_>, reads: bool) {
        let seen = &mut self.seen[access.warp as usize];
        for lane in each(access.lanes) {
            let place = self.places.entry(access.addresses[lane]).or_default();
            if reads {
                seen.learn(lane, place);
            }
            if access.written >> lane & 1 != 0 {
                place.learn(seen.of(lane));
            }
        }
    }

    /// A warp arrives at a barrier.
    pub(super) fn arrive(&mut self, warp: u32, lanes: u32, id: u32) {
        if let Some(gathered) = self.gathered.get_mut(id as usize) {
            gathered.learn(&self.seen[warp as usize].joined(lanes));
        }
    }

    /// A barrier opens.
    pub(super) fn open(&mut self, id: u32, waiting: u32) {
        let Some(gathered) = self.gathered.get_mut(id as usize) else { return };
        let gathered = std::mem::take(gathered);
        for warp in each(waiting) {
            let Some(seen) = self.seen.get_mut(warp) else { return };
            seen.set_all(gathered.clone());
        }
    }

    /// Lanes of a warp wait for each other.
    pub(super) fn lanes_meet(&mut self, warp: u32, lanes: u32, full: u32) {
        self.seen[warp as usize].meet(lanes, full);
    }
}
