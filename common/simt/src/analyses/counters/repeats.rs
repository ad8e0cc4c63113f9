//! Loads that a warp repeats from shared memory: their cost is computed once and multiplied by the number of repeats.

use crate::observe::SharedLoads;

/// A load's instruction, and its cost: its passes through shared memory, and the fewest possible.
pub(super) type Cost = (u32, (u32, u32));

/// The latest loads that began with one instruction. The next ones usually differ only by a shift of each base. Then they cost
/// the same, because a shift by whole words moves all lanes to other banks together.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats {
    /// For each base, the distance in words from the first lane's address to each lane's.
    distances: Vec<[u32; 32]>,
    /// How often the loads were repeated since they were last added to the counters.
    pub times: u64,
    /// Costs of the loads that are separate requests once the assembler has merged loads.
    pub costs: Vec<Cost>,
}

impl Repeats {
    /// Whether these loads have the shape of the latest ones, and so cost the same.
    #[inline]
    pub(super) fn same(&self, loads: &SharedLoads<'_>) -> bool {
        let known = |(base, distances): (&&[u32; 32], &[u32; 32])| {
            let first = base[0];
            let pairs = base.iter().zip(distances);
            pairs.fold(0, |different, (word, distance)| different | word.wrapping_sub(first) ^ distance) == 0
        };
        loads.bases.len() == self.distances.len() && loads.bases.iter().zip(&self.distances).all(known)
    }

    /// Makes these loads the latest ones.
    pub(super) fn replace(&mut self, loads: &SharedLoads<'_>, costs: Vec<Cost>) {
        let distances = loads.bases.iter().map(|base| base.map(|word| word.wrapping_sub(base[0])));
        *self = Self { distances: distances.collect(), times: 0, costs };
    }
}
