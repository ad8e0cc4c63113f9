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

/// Steps of the analysis after which it is given up, and each value keeps a slot of its own. A kernel of a million
/// instructions takes a tenth of it; one with a thousand values that all live in a hundred thousand blocks takes all.
const MOST_STEPS: usize = 1 << 28;

/// Result of the analysis.
pub(super) struct Liveness {
    intervals: Vec<Option<Interval>>,
    /// Values that some path reads before it writes them.
    pub maybe_unset: Vec<u32>,
}

/// Finds when each of `count` values is live. Partial writes (under a guard) must be given as uses too.
///
/// Each value by itself: from the blocks that read it before they write it, back along the flow to the blocks that write it.
pub(super) fn liveness(effects: &[Effect], blocks: &[Block], count: usize) -> Liveness {
    let mut intervals: Vec<Option<Interval>> = vec![None; count];
    let mut extend = |value: u32, at: u32| {
        let interval = intervals[value as usize].get_or_insert(Interval { start: at, end: at });
        interval.start = interval.start.min(at);
        interval.end = interval.end.max(at);
    };
    // By value: the blocks that read it before they write it, and those that write it.
    let (mut readers, mut writers) = (vec![vec![]; count], vec![vec![]; count]);
    for (number, block) in (0u32..).zip(blocks) {
        for (index, effect) in (block.start..).zip(&effects[block.start as usize..block.end as usize]) {
            for &value in &effect.uses {
                extend(value, 2 * index);
                let known = |list: &[Vec<u32>]| list[value as usize].last() == Some(&number);
                if !known(&writers) && !known(&readers) {
                    readers[value as usize].push(number);
                }
            }
            for &value in &effect.defs {
                extend(value, 2 * index + 1);
                if writers[value as usize].last() != Some(&number) {
                    writers[value as usize].push(number);
                }
            }
        }
    }
    let mut before: Vec<Vec<u32>> = vec![vec![]; blocks.len()];
    for (number, block) in (0u32..).zip(blocks) {
        block.next.iter().for_each(|&next| before[next as usize].push(number));
    }
    let mut maybe_unset = vec![];
    // By block: the value that was last found to be live at its start, and the one that it was last found to write.
    let (mut live, mut writes) = (vec![NONE; blocks.len()], vec![NONE; blocks.len()]);
    let mut steps = 0;
    for (value, (mut waiting, writers)) in (0u32..).zip(readers.into_iter().zip(writers)) {
        for &block in &writers {
            writes[block as usize] = value;
        }
        for &block in &waiting {
            live[block as usize] = value;
        }
        while let Some(number) = waiting.pop() {
            extend(value, 2 * blocks[number as usize].start);
            if number == 0 {
                maybe_unset.push(value);
            }
            for &from in &before[number as usize] {
                extend(value, 2 * blocks[from as usize].end);
                if writes[from as usize] != value && live[from as usize] != value {
                    live[from as usize] = value;
                    waiting.push(from);
                }
            }
            steps += 1 + before[number as usize].len();
        }
        if steps > MOST_STEPS {
            let all = Interval { start: 0, end: u32::MAX };
            return Liveness { intervals: vec![Some(all); count], maybe_unset: vec![] };
        }
    }
    Liveness { intervals, maybe_unset }
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
