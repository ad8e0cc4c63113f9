//! What the rules find, before it has words: a place, one or two sides, and how often.

use crate::analyses::report::HazardKind;
use std::collections::BTreeMap;

/// A place, before it has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Place {
    Shared(u32),
    Global(u64),
    Register(u32),
    Barrier(u32),
}

/// What one side did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Action {
    Writes,
    Reads,
    Updates,
    Copies,
    Waits,
    Ends,
}

impl Action {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Reads => "reads",
            Self::Updates => "updates atomically",
            Self::Copies => "copies to it asynchronously",
            Self::Waits => "waits at the barrier",
            Self::Ends => "has ended",
        }
    }
}

/// One side, before it has words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Side {
    pub block: u64,
    pub thread: u32,
    pub instruction: u32,
    pub action: Action,
}

/// A hazard, before it has words: a representative, and how many there are of its sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Finding {
    pub place: Place,
    pub first: Side,
    pub second: Option<Side>,
    pub count: u64,
}

impl Finding {
    /// Which of several of one sort is shown: the same whatever order the blocks ran in.
    fn rank(&self) -> impl Ord + use<> {
        let Self { place, first, second, .. } = *self;
        (second.map_or(first.block, |side| side.block), first.block, place, first, second)
    }

    /// Adds another of the same sort.
    pub(super) fn join(&mut self, other: Self) {
        let count = self.count + other.count;
        if other.rank() < self.rank() {
            *self = other;
        }
        self.count = count;
    }
}

/// A sort of finding: the kind, and the instructions of both sides (`u32::MAX` if there is one side only).
type Key = (HazardKind, u32, u32);

/// Everything found, one finding for each kind and pair of instructions.
#[derive(Debug, Default)]
pub(super) struct Found(BTreeMap<Key, Finding>);

impl Found {
    pub(super) fn add(&mut self, kind: HazardKind, finding: Finding) {
        let key = (kind, finding.first.instruction, finding.second.map_or(u32::MAX, |side| side.instruction));
        self.0.entry(key).and_modify(|known| known.join(finding)).or_insert(finding);
    }

    /// Moves everything out of `other`.
    pub(super) fn take(&mut self, other: &mut Self) {
        for ((kind, ..), finding) in std::mem::take(&mut other.0) {
            self.add(kind, finding);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (HazardKind, &Finding)> {
        self.0.iter().map(|(&(kind, ..), finding)| (kind, finding))
    }

    pub(super) fn retain(&mut self, mut wanted: impl FnMut(HazardKind, &Finding) -> bool) {
        self.0.retain(|&(kind, ..), finding| wanted(kind, finding));
    }
}
