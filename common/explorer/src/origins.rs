//! The origins of a block's values, as `simt` follows them, by the events of the run.

use crate::matrices::C;
use simt::analyses::provenance::{BlockOrigins, Nodes, Placed, Store, Tag};
use std::collections::BTreeMap;

/// The events at which values were made, words placed in shared memory, and elements stored, each in their order.
#[derive(Debug, Default)]
pub struct Times {
    made: Vec<u32>,
    placed: Vec<u32>,
    stored: Vec<u32>,
}

impl Times {
    /// Notes that everything new in `origins` happened at this event.
    pub fn note(&mut self, event: u32, origins: &BlockOrigins) {
        let counts = [origins.nodes.count() as usize, origins.placed.len(), origins.stores.len()];
        for (events, count) in [&mut self.made, &mut self.placed, &mut self.stored].into_iter().zip(counts) {
            events.resize(count, event);
        }
    }
}

#[derive(Debug)]
pub struct Followed {
    origins: BlockOrigins,
    times: Times,
    /// By tag: the element of C that the sum becomes.
    goals: BTreeMap<Tag, u32>,
}

impl Followed {
    /// A block that has ended.
    pub fn new(origins: BlockOrigins, times: Times) -> Self {
        let mut goals = BTreeMap::new();
        for store in origins.stores.iter().filter(|store| store.array == C) {
            let sums = origins.nodes.formed(store.value).sums;
            goals.extend(sums.into_iter().map(|tag| (tag, store.index as u32)));
        }
        Self { origins, times, goals }
    }

    /// The nodes of its values.
    pub fn nodes(&self) -> &Nodes {
        &self.origins.nodes
    }

    /// The event that made a value.
    pub fn event_of(&self, tag: Tag) -> u32 {
        self.times.made.get(tag as usize).copied().unwrap_or_default()
    }

    pub fn goal(&self, tag: Tag) -> Option<u32> {
        self.goals.get(&tag).copied()
    }

    /// The values that arrived in shared memory during these events, each with its event.
    pub fn placed(&self, events: std::ops::Range<u32>) -> impl DoubleEndedIterator<Item = (u32, &Placed)> {
        let all = &self.times.placed;
        let first = all.partition_point(|&event| event < events.start);
        let end = first.max(all.partition_point(|&event| event < events.end));
        all[first..end].iter().copied().zip(&self.origins.placed[first..end])
    }

    /// Its stores to C, with their events.
    pub fn stores(&self) -> impl Iterator<Item = (u32, &Store)> {
        self.times.stored.iter().copied().zip(&self.origins.stores).filter(|(_, store)| store.array == C)
    }
}
