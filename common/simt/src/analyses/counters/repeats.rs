//! Loads that a warp makes again and again from shared memory: looked at once, and multiplied.

use crate::observe::SharedLoads;

/// What one load costs: passes through shared memory, and the fewest possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    pub instruction: u32,
    pub passes: u32,
    pub fewest: u32,
}

/// The latest loads that began with one instruction. The next are most often the same but for a shift of each base, and then
/// cost the same: a shift by whole words moves all of them to other banks together.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats {
    /// Words from the first lane's to each lane's, for each base.
    distances: Vec<[u32; 32]>,
    /// How often they were made since they were counted.
    pub times: u64,
    /// Those that are requests by themselves.
    pub costs: Vec<Cost>,
}

impl Repeats {
    /// Whether these loads cost the same as the latest.
    #[inline]
    pub(super) fn same(&self, loads: &SharedLoads<'_>) -> bool {
        let known = |(base, distances): (&&[u32; 32], &[u32; 32])| {
            let first = base[0];
            let pairs = base.iter().zip(distances);
            pairs.fold(0, |different, (word, distance)| different | word.wrapping_sub(first) ^ distance) == 0
        };
        loads.bases.len() == self.distances.len() && loads.bases.iter().zip(&self.distances).all(known)
    }

    /// Takes other loads for the latest.
    pub(super) fn replace(&mut self, loads: &SharedLoads<'_>, costs: Vec<Cost>) {
        let distances = loads.bases.iter().map(|base| base.map(|word| word.wrapping_sub(base[0])));
        *self = Self { distances: distances.collect(), times: 0, costs };
    }
}
