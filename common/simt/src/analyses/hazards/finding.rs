//! Findings as numbers: a place, one or two sides, and a count.

use super::hazard::{Action, HazardKind};
use std::collections::BTreeMap;

/// A place by its number; `naming` makes a [`crate::Place`] of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Spot {
    Shared(u32),
    Global(u64),
    Register(u32),
    /// The register that an instruction sets.
    Result(u32),
    /// A register that products work on, by its number among these registers.
    Accumulator(u32),
    Barrier(u32),
    Local(u32),
    /// A mask of lanes that an instruction names.
    Mask(u32),
}

/// One side of a hazard, as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Side {
    pub block: u64,
    pub thread: u32,
    pub instruction: u32,
    pub action: Action,
}

/// A hazard, as numbers: one example, and how many there are of the same sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Finding {
    pub spot: Spot,
    pub first: Side,
    pub second: Option<Side>,
    pub count: u64,
    /// When the example was found, if there is a clock.
    pub time: Option<u64>,
}

impl Finding {
    /// Decides which of several findings of one sort is shown: the one with the lowest rank. The result does not depend on the order in
    /// which blocks ran. Two different warps come before two lanes of one warp, which usually run together.
    fn rank(&self) -> impl Ord + use<> {
        let Self { spot, first, second, .. } = *self;
        let warp = |side: Side| (side.block, side.thread / 32);
        (
            second.is_some_and(|second| warp(first) == warp(second)),
            second.map_or(first.block, |side| side.block),
            first.block,
            spot,
            first,
            second,
        )
    }

    pub(super) fn join(&mut self, other: Self) {
        let count = self.count + other.count;
        if other.rank() < self.rank() {
            *self = other;
        }
        self.count = count;
    }
}

/// A sort of finding: its kind, and the instructions of both sides (`u32::MAX` if there is only one side).
type Key = (HazardKind, u32, u32);

/// All findings, one for each kind and pair of instructions.
#[derive(Debug, Default)]
pub(super) struct Found(BTreeMap<Key, Finding>);

impl Found {
    pub(super) fn add(&mut self, kind: HazardKind, finding: Finding) {
        let key = (kind, finding.first.instruction, finding.second.map_or(u32::MAX, |side| side.instruction));
        // A warning is reported once, and an unset register is reported once, however many things it decides.
        let key = match finding.spot {
            _ if kind.is_warning() => (kind, 0, 0),
            Spot::Register(number) | Spot::Result(number) => (kind, number, u32::MAX),
            _ => key,
        };
        self.0.entry(key).and_modify(|known| known.join(finding)).or_insert(finding);
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn side(block: u64, thread: u32) -> Side {
        Side { block, thread, instruction: 7, action: Action::Reads }
    }

    fn finding(first: Side, second: Option<Side>, address: u32) -> Finding {
        Finding { spot: Spot::Shared(address), first, second, count: 1, time: None }
    }

    #[test]
    fn the_same_one_is_shown_in_whatever_order_they_come() {
        // Each has a lower rank than the next.
        let ranked = [
            finding(side(2, 9), Some(side(1, 3)), 8),
            finding(side(1, 9), Some(side(2, 3)), 8),
            finding(side(2, 4), Some(side(2, 37)), 8),
            finding(side(3, 0), None, 0),
            finding(side(2, 4), Some(side(2, 5)), 4),
            finding(side(2, 3), Some(side(2, 5)), 8),
            finding(side(2, 4), Some(side(2, 4)), 8),
            finding(side(2, 4), Some(side(2, 5)), 8),
        ];
        for (earlier, first) in ranked.iter().enumerate() {
            for second in &ranked[earlier + 1..] {
                for (a, b) in [(first, second), (second, first)] {
                    let mut joined = *a;
                    joined.join(*b);
                    assert_eq!(joined, Finding { count: 2, ..*first });
                }
            }
        }
    }
}
