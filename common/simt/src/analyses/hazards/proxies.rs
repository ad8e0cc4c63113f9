//! Which writes to shared memory the asynchronous proxy sees: those that lie before a `fence.proxy.async` that itself lies before
//! the product. A barrier alone orders threads, but a product reads by another way than they write.
//!
//! Kept as what each thread knows of fenced writes, which it passes on as it passes on everything else.

use super::clock::Clock;
use super::event::Event;
use super::view::{Knowledge, View};
use crate::lanes::each;
use crate::observe::Access;
use std::collections::HashMap;

/// What has been fenced in a block.
#[derive(Debug)]
pub(super) struct Proxies {
    /// The writes that each thread knows to be fenced.
    pub seen: Knowledge,
    /// By place in shared memory through which threads meet: what those who came before knew to be fenced.
    places: HashMap<u64, View>,
}

impl Proxies {
    /// For a block of this number of warps.
    pub(super) fn new(warps: usize) -> Self {
        Self { seen: Knowledge::new(warps), places: HashMap::new() }
    }

    pub(super) fn restart(&mut self) {
        *self = Self::new(self.seen.warps.len());
    }

    /// Lanes fence all that they know of.
    pub(super) fn fence(&mut self, clock: &mut Clock, warp: u32, lanes: u32) {
        for lane in each(lanes) {
            self.seen.warps[warp as usize].set(lane, clock.knowledge(warp * 32 + lane as u32));
        }
        clock.step(warp);
    }

    /// Whether a write is known to be fenced by some lane of a warp: they execute a product together.
    pub(super) fn knows(&self, warp: u32, write: Event) -> bool {
        let seen = &self.seen.warps[warp as usize];
        (0..32).any(|lane| seen.of(lane).knows(write.block, write.thread(), write.time))
    }

    /// Lanes meet others at a place in shared memory.
    pub(super) fn accesses(&mut self, access: &Access<'_>, reads: bool) {
        let seen = &mut self.seen.warps[access.warp as usize];
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
}
