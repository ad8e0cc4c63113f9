//! Where the values of a block come from: what `simt` follows, by the events of the run.

use crate::matrices::C;
use simt::analyses::provenance::{BlockOrigins, Nodes, Placed, Store, Tag};
use std::collections::BTreeMap;

/// What is known after an event of a block.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    event: u32,
    nodes: Tag,
    placed: usize,
    stores: usize,
}

impl Step {
    /// What is known now, after this event.
    pub fn new(event: u32, origins: &BlockOrigins) -> Self {
        let BlockOrigins { nodes, placed, stores, .. } = origins;
        Self { event, nodes: nodes.count(), placed: placed.len(), stores: stores.len() }
    }
}

/// A block whose values were followed.
#[derive(Debug)]
pub struct Followed {
    origins: BlockOrigins,
    steps: Vec<Step>,
    /// By tag: the element of C that the sum becomes.
    goals: BTreeMap<Tag, u32>,
}

impl Followed {
    /// A block that has ended.
    pub fn new(origins: BlockOrigins, steps: Vec<Step>) -> Self {
        let mut goals = BTreeMap::new();
        for store in origins.stores.iter().filter(|store| store.array == C) {
            let sums = origins.nodes.formed(store.value).sums;
            goals.extend(sums.into_iter().map(|tag| (tag, store.index as u32)));
        }
        Self { origins, steps, goals }
    }

    /// What its values are made of.
    pub fn nodes(&self) -> &Nodes {
        &self.origins.nodes
    }

    /// The event that made a value.
    pub fn event_of(&self, tag: Tag) -> u32 {
        let at = self.steps.partition_point(|step| step.nodes <= tag);
        self.steps.get(at).map_or(0, |step| step.event)
    }

    /// The element of C that a sum becomes.
    pub fn goal(&self, tag: Tag) -> Option<u32> {
        self.goals.get(&tag).copied()
    }

    /// What arrived in shared memory, with the event at which it did, from one event on and before another.
    pub fn placed(&self, events: std::ops::Range<u32>) -> impl DoubleEndedIterator<Item = (u32, &Placed)> {
        let count = |event: u32| self.steps.partition_point(|step| step.event < event);
        let before = |step: usize| step.checked_sub(1).map_or(0, |last| self.steps[last].placed);
        let (first, end) = (count(events.start), count(events.end).max(count(events.start)));
        (first..end).flat_map(move |step| {
            let all = &self.origins.placed[before(step)..self.steps[step].placed];
            all.iter().map(move |placed| (self.steps[step].event, placed))
        })
    }

    /// Its stores to C, with their events.
    pub fn stores(&self) -> impl Iterator<Item = (u32, &Store)> {
        let all = self.origins.stores.iter().enumerate().filter(|(_, store)| store.array == C);
        all.filter_map(|(number, store)| {
            let at = self.steps.partition_point(|step| step.stores <= number);
            Some((self.steps.get(at)?.event, store))
        })
    }
}
