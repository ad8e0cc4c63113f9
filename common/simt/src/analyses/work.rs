//! The work that each block gives its SM: the counts from which a lower bound on a kernel's time is computed.

use std::collections::BTreeMap;

/// The most kinds of blocks that are kept apart. If there are more, every block counts as the least of them.
const KINDS: usize = 4096;

/// Work of one block, in the units of an SM. Each count is a lower bound on what the hardware does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Work {
    /// Warp instructions that multiply and add in single precision. Each takes one turn of the FMA units, however many lanes are active.
    pub fma: u64,
    /// Warp instructions that the assembler neither removes nor adds to: multiply-adds and accesses to memory.
    pub issued: u64,
    /// Passes through the data path that shared memory and the first-level cache share. Shared memory adds its wavefronts. A load
    /// from global memory adds one pass for every four lines of 128 bytes, or one for every word that a thread loads, whichever is
    /// more. (Measured on an H200. A load whose words are in one bank takes more passes; how many is not known well enough.)
    pub passes: u64,
}

impl Work {
    /// Returns the smaller value of each count.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        Self {
            fma: self.fma.min(other.fma),
            issued: self.issued.min(other.issued),
            passes: self.passes.min(other.passes),
        }
    }

    #[inline]
    pub(crate) fn add_accesses(&mut self, times: u64, passes: u32) {
        self.issued += times;
        self.passes += times * u64::from(passes);
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self { fma: self.fma - before.fma, issued: self.issued - before.issued, passes: self.passes - before.passes }
    }
}

/// The blocks of a launch, counted by the work that they do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Works(BTreeMap<Work, u64>);

impl Works {
    /// Adds `blocks` blocks that do the same work.
    pub fn add(&mut self, work: Work, blocks: u64) {
        *self.0.entry(work).or_default() += blocks;
        if self.0.len() > KINDS {
            let least = self.0.keys().copied().reduce(Work::least).unwrap_or_default();
            self.0 = BTreeMap::from([(least, self.0.values().sum())]);
        }
    }

    /// Returns each amount of work that occurs, with the number of blocks that do it.
    pub fn kinds(&self) -> impl Iterator<Item = (Work, u64)> + '_ {
        self.0.iter().map(|(&work, &blocks)| (work, blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_without_end_count_as_the_least() {
        let work = |fma: u64| Work { fma, issued: 3 * fma, passes: 9000 - fma };
        let mut works = Works::default();
        (0..KINDS as u64).for_each(|fma| works.add(work(1 + fma), 2));
        assert_eq!(works.kinds().count(), KINDS);
        works.add(work(5000), 1);
        let least = Work { fma: 1, issued: 3, passes: 4000 };
        assert_eq!(works.kinds().collect::<Vec<_>>(), [(least, 2 * KINDS as u64 + 1)]);
    }
}
