//! Races between blocks of a kernel whose blocks cannot wait for each other: then nothing orders them.

use super::cell::Sort;
use super::event::Event;
use super::extent::Extent;
use super::global::{GlobalShadow, PAGE, address_of, pages_of, table_bytes};
use super::log::{Finding, Found, Side, Spot};
use super::setup::Setup;
use std::collections::HashMap;

/// Accesses by the first two blocks (by number) that made any: of two, one is another block's than any third.
type FirstTwo = [Event; 2];

fn keep(first_two: &mut FirstTwo, new: Event) {
    let [first, second] = first_two;
    if !first.some() || new.block < first.block {
        (*first, *second) = (new, *first);
    } else if new.block != first.block && (!second.some() || new.block < second.block) {
        *second = new;
    }
}

/// The shadow of a unit of global memory over all blocks: its plain writes and reads.
#[derive(Debug, Clone, Copy, Default)]
struct Summary {
    writes: FirstTwo,
    reads: FirstTwo,
}

/// What the blocks that have ended did to global memory.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    /// By page.
    plain: HashMap<u64, Box<[Summary]>>,
    /// Strong accesses by address.
    strong: HashMap<u64, Vec<(Sort, FirstTwo)>>,
}

impl Summaries {
    /// Bytes for this much global memory.
    pub(super) fn bytes(extent: &Extent, touched: u64) -> u64 {
        let pages = pages_of(touched);
        // A box costs the host's allocator some bytes of its own.
        let page = extent.units(1 << PAGE) * size_of::<Summary>() as u64 + 16;
        pages.saturating_mul(page).saturating_add(table_bytes::<(u64, Box<[Summary]>)>(pages))
    }

    /// Adds a block that has ended.
    pub(super) fn add(&mut self, setup: &Setup, global: &GlobalShadow) {
        for (page, cells) in global.pages() {
            let summaries = self.plain.entry(page).or_insert_with(|| vec![Summary::default(); cells.len()].into());
            for (place, (summary, cell)) in summaries.iter_mut().zip(cells).enumerate() {
                for entry in cell.all(&global.lists) {
                    let first_two = match entry.sort {
                        Sort::WRITE => &mut summary.writes,
                        Sort::READ => &mut summary.reads,
                        sort => {
                            let all = self.strong.entry(address_of(setup, page, place)).or_default();
                            let known = all.iter().position(|known| known.0 == sort);
                            let at = known.unwrap_or_else(|| {
                                all.push((sort, FirstTwo::default()));
                                all.len() - 1
                            });
                            &mut all[at].1
                        }
                    };
                    keep(first_two, entry.slot.event);
                }
            }
        }
    }

    /// Adds the races between blocks to what was found.
    pub(super) fn races(&self, setup: &Setup, found: &mut Found) {
        for (&page, summaries) in &self.plain {
            for (place, summary) in summaries.iter().enumerate() {
                let address = address_of(setup, page, place);
                let strong = self.strong.get(&address).map_or(&[][..], Vec::as_slice);
                if summary.writes[0].some() || !strong.is_empty() {
                    races_at(setup, address, summary, strong, found);
                }
            }
        }
    }
}

/// The first two writes that race, and the first write and read.
fn races_at(setup: &Setup, address: u64, summary: &Summary, strong: &[(Sort, FirstTwo)], found: &mut Found) {
    let plain = [(Sort::WRITE, summary.writes), (Sort::READ, summary.reads)];
    let all = plain.iter().chain(strong).flat_map(|&(sort, events)| events.map(|event| (sort, event)));
    let mut all: Vec<(Sort, Event)> = all.filter(|(_, event)| event.some()).collect();
    all.sort_by_key(|(_, event)| (event.block, event.instruction(), event.thread()));
    let writes = || all.iter().filter(|(sort, _)| sort.writes);
    let kind = |(one, first): &(Sort, Event), (two, second): &(Sort, Event)| {
        Some(one.unordered(*two, false).filter(|_| first.block != second.block)?.kind())
    };
    // Of those that are wrong the first, or of those that only need a warning.
    let worst = |pairs: &mut dyn Iterator<Item = _>| {
        let found = pairs.filter_map(|(first, second)| Some((kind(first, second)?, first, second)));
        found.min_by_key(|(kind, ..)| kind.is_warning())
    };
    let behind = |index: usize| writes().skip(index + 1);
    let both_write =
        worst(&mut writes().enumerate().flat_map(|(index, first)| behind(index).map(move |second| (first, second))));
    let reads = || all.iter().filter(|(sort, _)| !sort.writes);
    let one_reads = worst(&mut reads().flat_map(|read| writes().map(move |write| (write, read))));
    let side = |&(sort, event): &(Sort, Event)| Side {
        block: u64::from(event.block),
        thread: event.thread(),
        instruction: event.instruction(),
        action: setup.action(event.instruction(), sort.writes),
    };
    for (kind, first, second) in both_write.into_iter().chain(one_reads) {
        let (spot, first, second) = (Spot::Global(address), side(first), Some(side(second)));
        found.add(kind, Finding { spot, first, second, count: 1, time: None });
    }
}
