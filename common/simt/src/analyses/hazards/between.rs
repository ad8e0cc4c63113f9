//! The rules between blocks, which nothing orders but the pattern "write, fence, atomic; atomic, read".

use super::finding::{Action, Finding, Found, Place, Side};
use super::global::{GlobalShadow, address_of, page_of};
use super::plan::Plan;
use super::record::Record;
use crate::analyses::report::HazardKind;
use std::collections::HashMap;

/// An access by one block, as other blocks must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Foreign {
    block: u64,
    thread: u16,
    instruction: u32,
    /// The access was atomic: for writes, all of the block to that place were.
    atomic: bool,
    /// The block did its half of the pattern: for a write, it has executed a fence; for a read, it had executed an atomic
    /// operation before its first read of that place.
    soft: bool,
}

impl Foreign {
    fn new(block: u64, record: Record, atomic: bool, soft: bool) -> Self {
        Self { block, thread: record.thread() as u16, instruction: record.instruction(), atomic, soft }
    }

    fn side(self, plain: Action) -> Side {
        Side {
            block: self.block,
            thread: u32::from(self.thread),
            instruction: self.instruction,
            action: if self.atomic { Action::Updates } else { plain },
        }
    }
}

/// The shadow of a unit of global memory over all blocks: the first two blocks (by number) that wrote it, the first two
/// that read it, and how many plain writes there were, up to 3.
#[derive(Debug, Clone, Copy, Default)]
struct Summary {
    writers: [Option<Foreign>; 2],
    readers: [Option<Foreign>; 2],
    writes: u8,
}

fn keep_first_two(list: &mut [Option<Foreign>; 2], new: Foreign) {
    match list {
        [None, _] => list[0] = Some(new),
        [Some(first), second] if new < *first => {
            *second = Some(*first);
            *first = new;
        }
        [Some(_), None] => list[1] = Some(new),
        [Some(_), Some(second)] if new < *second => *second = new,
        _ => {}
    }
}

impl Summary {
    /// The pairs of accesses by different blocks that race: two writes, a write and a read.
    fn races(&self) -> impl Iterator<Item = (Side, Side)> {
        let pair = |first: Foreign, second: Foreign, action: Action| (first.side(Action::Writes), second.side(action));
        let [first, second] = self.writers;
        let writes = first.zip(second).filter(|(first, second)| !(first.atomic && second.atomic));
        // Of two writers one belongs to another block than the reader.
        let read = self.readers.iter().flatten().find_map(|&reader| {
            let writer = self.writers.into_iter().flatten().find(|writer| writer.block != reader.block)?;
            Some((writer, reader))
        });
        let read = read.filter(|(writer, reader)| !(writer.soft && reader.soft || writer.atomic && reader.atomic));
        let writes = writes.map(|(first, second)| pair(first, second, Action::Writes));
        writes.into_iter().chain(read.map(|(writer, reader)| pair(writer, reader, Action::Reads)))
    }
}

/// What the blocks that have ended did to global memory, by page.
#[derive(Debug, Default)]
pub(super) struct Summaries(HashMap<u64, Box<[Summary]>>);

impl Summaries {
    /// Adds a block that has ended.
    pub(super) fn add(&mut self, plan: &Plan, block: u64, global: &GlobalShadow) {
        for (page, cells) in global.pages() {
            let summaries = self.0.entry(page).or_insert_with(|| vec![Summary::default(); cells.len()].into());
            for (summary, cell) in summaries.iter_mut().zip(cells) {
                let write = cell.cell.write;
                if write.some() {
                    keep_first_two(&mut summary.writers, Foreign::new(block, write, cell.atomic, global.fenced));
                    summary.writes = summary.writes.saturating_add(cell.writes).min(3);
                }
                let read = cell.cell.reads[0];
                if read.some() {
                    let strong = plan.strong(read.instruction());
                    keep_first_two(&mut summary.readers, Foreign::new(block, read, strong, !cell.early_read));
                }
            }
        }
    }

    /// Adds the races between blocks to what was found.
    pub(super) fn races(&self, plan: &Plan, found: &mut Found) {
        for (&page, summaries) in &self.0 {
            for (index, summary) in summaries.iter().enumerate() {
                for (first, second) in summary.races() {
                    let place = Place::Global(address_of(plan, page, index));
                    found.add(HazardKind::Race, Finding { place, first, second: Some(second), count: 1 });
                }
            }
        }
    }

    /// How many plain writes a place has had, up to 3.
    pub(super) fn writes(&self, plan: &Plan, address: u64) -> u8 {
        let (page, index) = page_of(plan, address);
        self.0.get(&page).map_or(0, |page| page[index].writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_blocks_are_kept_in_whatever_order_they_end() {
        let access = |block: u64| Foreign::new(block, Record::new(1, 1, 1), false, false);
        for order in [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] {
            let mut kept = [None; 2];
            for block in order {
                keep_first_two(&mut kept, access(block));
            }
            assert_eq!(kept, [1, 2].map(|block| Some(access(block))), "{order:?}");
        }
        let mut kept = [None; 2];
        keep_first_two(&mut kept, access(4));
        assert_eq!(kept, [Some(access(4)), None]);
    }
}
