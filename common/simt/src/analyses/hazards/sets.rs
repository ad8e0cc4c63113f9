//! Sets of doubts by number, so that values share them. Blocks make mostly the same sets, so the sets stay from one block to the next.

use super::quick::QuickMap;
use crate::lanes::each;
use std::sync::Arc;

/// The number of a set of doubts; [`NOTHING`] for a value that is beyond doubt.
pub(super) type Set = u32;

pub(super) const NOTHING: Set = 0;

/// The most doubts in one set.
const LONGEST: u32 = 256;

/// The most doubts that the sets of one block have together, and the most joins that are remembered.
const MOST: usize = 1 << 22;
const MOST_JOINS: usize = 1 << 20;

/// A set consists of numbers: twice the number of a doubt, plus 1 if the value was computed from the doubtful one and not only moved.
/// It is kept in pieces of 32 numbers, in increasing order: the number of the piece in the upper half, and a bit for each number in
/// the lower half.
#[derive(Debug)]
struct Kept {
    pieces: Arc<[u64]>,
    /// The set of what is computed from such a value, once it was asked for.
    computed: Set,
    /// The last block that has used it.
    user: u32,
}

#[derive(Debug)]
pub(super) struct Sets {
    all: Vec<Kept>,
    known: QuickMap<Arc<[u64]>, Set>,
    joins: QuickMap<(Set, Set), Set>,
    /// By the number of a doubt, the set of this doubt alone, once it was asked for.
    singles: Vec<Set>,
    block: u32,
    /// Doubts in the sets that this block has used, and pieces of all sets.
    used: usize,
    held: usize,
    /// Members of what would have been too large.
    excess: Vec<Vec<u32>>,
    scratch: Vec<u64>,
}

impl Sets {
    pub(super) fn new() -> Self {
        let pieces: Arc<[u64]> = Arc::default();
        Self {
            known: std::iter::once((pieces.clone(), NOTHING)).collect(),
            all: vec![Kept { pieces, computed: NOTHING, user: 0 }],
            joins: QuickMap::default(),
            singles: vec![],
            block: 0,
            used: 0,
            held: 0,
            excess: vec![],
            scratch: vec![],
        }
    }

    /// Starts another block. Whether it has too many sets does not depend on the blocks before it.
    pub(super) fn restart(&mut self) {
        if self.held > MOST / 2 || self.block == u32::MAX {
            *self = Self::new();
        }
        self.block += 1;
        self.used = 0;
        self.excess.clear();
    }

    /// Whether no more doubts should be noted in this block.
    pub(super) fn is_full(&self) -> bool {
        self.used >= MOST
    }

    /// Returns the numbers in a set, in increasing order.
    pub(super) fn members(&self, set: Set) -> Vec<u32> {
        members(&self.all[set as usize].pieces)
    }

    /// Whether a value had too many doubts, which have not been taken yet.
    pub(super) fn has_excess(&self) -> bool {
        !self.excess.is_empty()
    }

    /// Returns what belongs to values that had too many doubts. They have none any more.
    pub(super) fn take_excess(&mut self) -> Vec<Vec<u32>> {
        self.excess.drain(..).collect()
    }

    /// Notes that the block uses a set.
    #[inline]
    fn of_block(&mut self, set: Set) -> Set {
        let kept = &mut self.all[set as usize];
        if kept.user != self.block {
            kept.user = self.block;
            self.used += count(&kept.pieces) as usize;
        }
        set
    }

    /// Returns the number of the set with the members in `scratch`.
    fn number(&mut self) -> Set {
        if let Some(&known) = self.known.get(&self.scratch[..]) {
            return self.of_block(known);
        }
        let (number, pieces) = (self.all.len() as Set, Arc::<[u64]>::from(&self.scratch[..]));
        self.held += pieces.len();
        self.known.insert(pieces.clone(), number);
        self.all.push(Kept { pieces, computed: NOTHING, user: self.block.wrapping_sub(1) });
        self.of_block(number)
    }

    /// Returns the set of one doubt.
    pub(super) fn single(&mut self, doubt: u32) -> Set {
        let at = doubt as usize;
        if self.singles.len() <= at {
            self.singles.resize(at + 1, NOTHING);
        }
        if self.singles[at] == NOTHING {
            self.scratch.clear();
            self.scratch.push(u64::from(doubt / 16) << 32 | 1 << (2 * (doubt % 16)));
            self.singles[at] = self.number();
        }
        self.of_block(self.singles[at])
    }

    /// Returns the doubts about a value that two others make up. If they are too many, they are in excess, and there are none left.
    #[inline]
    pub(super) fn join(&mut self, a: Set, b: Set) -> Set {
        if a == b || b == NOTHING {
            a
        } else if a == NOTHING {
            b
        } else {
            self.join_two(a.min(b), a.max(b))
        }
    }

    fn join_two(&mut self, a: Set, b: Set) -> Set {
        if let Some(&known) = self.joins.get(&(a, b)) {
            return self.of_block(known);
        }
        self.scratch.clear();
        let (a_members, b_members) = (&self.all[a as usize].pieces, &self.all[b as usize].pieces);
        let (mut left, mut right) = (&a_members[..], &b_members[..]);
        while let (Some(&one), Some(&two)) = (left.first(), right.first()) {
            let (first, second) = (one >> 32 <= two >> 32, two >> 32 <= one >> 32);
            let piece = if first { one } else { 0 } | if second { two } else { 0 };
            self.scratch.push(piece);
            (left, right) = (&left[usize::from(first)..], &right[usize::from(second)..]);
        }
        self.scratch.extend(left.iter().chain(right));
        if count(&self.scratch) > LONGEST || self.is_full() {
            self.excess.push(members(&self.scratch));
            return NOTHING;
        }
        let joined = self.number();
        if self.joins.len() >= MOST_JOINS {
            self.joins.clear();
        }
        self.joins.insert((a, b), joined);
        joined
    }

    pub(super) fn joined(&mut self, sets: &[Set]) -> Set {
        sets.iter().fold(NOTHING, |all, &set| self.join(all, set))
    }

    /// Returns the doubts about a value that was computed from one with these.
    pub(super) fn computed(&mut self, set: Set) -> Set {
        if set == NOTHING {
            return NOTHING;
        }
        let known = self.all[set as usize].computed;
        if known != NOTHING {
            return self.of_block(known);
        }
        self.scratch.clear();
        let marked = |piece: &u64| piece >> 32 << 32 | (piece | piece << 1) & 0xaaaa_aaaa;
        self.scratch.extend(self.all[set as usize].pieces.iter().map(marked));
        let computed = self.number();
        self.all[set as usize].computed = computed;
        computed
    }
}

fn count(pieces: &[u64]) -> u32 {
    pieces.iter().map(|piece| (*piece as u32).count_ones()).sum()
}

/// Returns the numbers in some pieces.
fn members(pieces: &[u64]) -> Vec<u32> {
    pieces.iter().flat_map(|piece| each(*piece as u32).map(move |at| (piece >> 32) as u32 * 32 + at as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_has_the_members_of_both_and_each_once() {
        let mut sets = Sets::new();
        let [a, b, c] = [39, 1, 2].map(|doubt| sets.single(doubt));
        let ab = sets.join(a, b);
        let bc = sets.join(c, b);
        let all = sets.join(ab, bc);
        assert_eq!(sets.members(all), [2, 4, 78]);
        assert_eq!(sets.joined(&[c, a, b, NOTHING]), all);
        let computed = sets.computed(all);
        assert_eq!(sets.members(computed), [3, 5, 79]);
        assert_eq!(sets.computed(computed), computed);
    }

    #[test]
    fn what_is_too_large_is_in_excess_as_a_whole_whatever_blocks_came_before() {
        let mut sets = Sets::new();
        for _ in 0..3 {
            sets.restart();
            let mut all = NOTHING;
            for doubt in 0..LONGEST {
                let one = sets.single(doubt);
                all = sets.join(all, one);
            }
            assert_eq!(sets.members(all).len(), LONGEST as usize);
            let one = sets.single(LONGEST);
            assert_eq!(sets.join(all, one), NOTHING);
            assert_eq!(sets.take_excess(), [(0..=LONGEST).map(|doubt| 2 * doubt).collect::<Vec<_>>()]);
        }
    }

    #[test]
    fn the_sets_of_a_block_are_bounded_and_the_next_block_starts_again() {
        let mut sets = Sets::new();
        let fill = |sets: &mut Sets| {
            sets.restart();
            let (mut all, mut count) = (NOTHING, 0);
            while !sets.is_full() {
                let one = sets.single(count);
                all = sets.join(all, one);
                count += 1;
            }
            count
        };
        let first = fill(&mut sets);
        assert_eq!(first, fill(&mut sets));
        assert!(sets.held < 2 * MOST + LONGEST as usize);
    }
}
