//! Loads that are judged by what becomes of their value: those that a compiler may have moved ahead of the condition under which the
//! value is needed, and `volatile` ones. If a write races with such a load, it waits here until the value matters.
//!
//! A `volatile` load may poll a flag: its value decides whether the thread leaves a loop that loads it again. Kernels rely on this,
//! and PTX allows it. A volatile load whose value is data orders nothing, so what races with it is a data race.

use super::event::{Event, Slot};
use super::finding::Finding;
use super::hazard::HazardKind;
use super::uses::Use;
use crate::lanes::each;
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Reads {
    /// How the values of loads have mattered so far.
    mattered: HashMap<Event, Use>,
    /// What is to be reported if a value matters (more than it has).
    waiting: HashMap<Event, Vec<(HazardKind, Finding)>>,
}

/// The most loads and the most findings for one load that are kept.
const MOST: usize = 1 << 20;
const MOST_FINDINGS: usize = 64;

impl Reads {
    /// Notes that a write races with a load. Returns the kind of hazard if it is one already.
    pub(super) fn add(&mut self, load: Event, kind: HazardKind, finding: Finding) -> Option<HazardKind> {
        let used = self.mattered.get(&load).copied();
        let full = self.waiting.len() >= MOST;
        if !used.is_some_and(|used| used.is_last(kind)) && !full {
            let waiting = self.waiting.entry(load).or_default();
            if waiting.len() < MOST_FINDINGS {
                waiting.push((kind, finding));
            }
        }
        used.map(|used| used.judged(kind))
    }

    /// Notes that the value of a load matters. Returns the hazards that have waited for this.
    pub(super) fn matter(&mut self, load: Event, how: Use) -> Vec<(HazardKind, Finding)> {
        let used = self.mattered.entry(load).or_insert(how);
        *used = used.then(how);
        let used = *used;
        let waiting = self.waiting.remove(&load).unwrap_or_default();
        let stays = waiting.iter().filter(|(kind, _)| !used.is_last(*kind));
        let stays: Vec<_> = stays.copied().collect();
        if !stays.is_empty() {
            self.waiting.insert(load, stays);
        }
        waiting.into_iter().map(|(kind, finding)| (used.judged(kind), finding)).collect()
    }

    /// Returns the first load of a slot whose value has mattered.
    #[cold]
    #[inline(never)]
    pub(super) fn mattered(&self, slot: &Slot) -> Option<Event> {
        each(slot.lanes).map(|lane| slot.by_lane(lane)).find(|load| self.mattered.contains_key(load))
    }
}
