//! Virtual registers to slots. A compiler's PTX names thousands of registers of which some dozens live at a time;
//! sharing slots keeps a warp's registers in the first-level cache.

use super::flow::Block;
use super::inst::NONE;
use super::raw::Effect;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// From when to when a value is needed, in half instructions: reads are even, writes odd.
#[derive(Debug, Clone, Copy)]
struct Interval {
    start: u32,
    end: u32,
}

/// Values above this many (blocks × values) are not analysed; each keeps a slot of its own.
const LARGEST_ANALYSIS: usize = 1 << 31;

/// Result of the analysis.
pub(super) struct Liveness {
    intervals: Vec<Option<Interval>>,
    /// Values that some path reads before it writes them.
    pub maybe_unset: Vec<u32>,
}

/// Finds when each of `count` values is live. Partial writes (under a guard) must be given as uses too.
pub(super) fn liveness(effects: &[Effect], blocks: &[Block], count: usize) -> Liveness {
    let words = count.div_ceil(64);
    let mut intervals = vec![None; count];
    if words.saturating_mul(64) * blocks.len() > LARGEST_ANALYSIS {
        let all = Interval { start: 0, end: u32::MAX };
        return Liveness { intervals: vec![Some(all); count], maybe_unset: vec![] };
    }
    // Read before written, and written, in each block.
    let mut reads = vec![0u64; words * blocks.len()];
    let mut writes = vec![0u64; words * blocks.len()];
    for (number, block) in blocks.iter().enumerate() {
        let base = number * words;
        for effect in &effects[block.start as usize..block.end as usize] {
            for &value in &effect.uses {
                let (word, bit) = (base + value as usize / 64, 1u64 << (value % 64));
                if writes[word] & bit == 0 {
                    reads[word] |= bit;
                }
            }
            for &value in &effect.defs {
                writes[base + value as usize / 64] |= 1 << (value % 64);
            }
        }
    }
    let mut live_in = reads.clone();
    let mut live_out = vec![0u64; words * blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (number, block) in blocks.iter().enumerate().rev() {
            for &next in &block.next {
                for word in 0..words {
                    live_out[number * words + word] |= live_in[next as usize * words + word];
                }
            }
            for word in number * words..(number + 1) * words {
                let new = reads[word] | live_out[word] & !writes[word];
                changed |= new != live_in[word];
                live_in[word] = new;
            }
        }
    }
    let mut extend = |value: u32, at: u32| {
        let interval = intervals[value as usize].get_or_insert(Interval { start: at, end: at });
        interval.start = interval.start.min(at);
        interval.end = interval.end.max(at);
    };
    for (number, block) in blocks.iter().enumerate() {
        for word in 0..words {
            for (bits, at) in [(&live_in, 2 * block.start), (&live_out, 2 * block.end)] {
                values_in(word, bits[number * words + word]).for_each(|value| extend(value, at));
            }
        }
        for (index, effect) in (block.start..).zip(&effects[block.start as usize..block.end as usize]) {
            effect.uses.iter().for_each(|&value| extend(value, 2 * index));
            effect.defs.iter().for_each(|&value| extend(value, 2 * index + 1));
        }
    }
    let at_start = live_in[..words.min(live_in.len())].iter().enumerate();
    let maybe_unset = at_start.flat_map(|(word, &bits)| values_in(word, bits)).collect();
    Liveness { intervals, maybe_unset }
}

/// The values whose bits are set in a word of a set.
fn values_in(word: usize, mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let value = word as u32 * 64 + bits.trailing_zeros();
        let some = bits != 0;
        bits &= bits.wrapping_sub(1);
        some.then_some(value)
    })
}

impl Liveness {
    /// Gives every used value among `candidates` a slot, from slot `first` on; `size` is 1 or 2 slots. Returns the slots
    /// (by value) and the end of the used ones.
    pub fn assign(&self, first: u32, size: impl Fn(u32) -> u32, candidates: impl Fn(u32) -> bool) -> (Vec<u32>, u32) {
        let mut slots = vec![NONE; self.intervals.len()];
        let mut order: Vec<(Interval, u32)> = (0u32..)
            .zip(&self.intervals)
            .filter(|(value, _)| candidates(*value))
            .filter_map(|(value, interval)| interval.map(|interval| (interval, value)))
            .collect();
        order.sort_by_key(|(interval, value)| (interval.start, *value));
        let mut active: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
        let mut free: [Vec<u32>; 2] = [vec![], vec![]];
        let mut end = first;
        for (interval, value) in order {
            while let Some(&Reverse((last, old))) = active.peek()
                && last < interval.start
            {
                active.pop();
                free[size(old) as usize - 1].push(slots[old as usize]);
            }
            let size = size(value);
            slots[value as usize] = free[size as usize - 1].pop().unwrap_or_else(|| {
                let slot = end;
                end += size;
                slot
            });
            active.push(Reverse((interval.end, value)));
        }
        (slots, end)
    }
}
