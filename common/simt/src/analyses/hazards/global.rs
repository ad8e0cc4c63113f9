//! The rules of global memory: races, and reads of outputs that nobody has written.
//!
//! If blocks cannot wait for each other, nothing orders them. Then every block has a separate shadow, and the first two
//! blocks that accessed each place are compared. If blocks can wait for each other, they share one shadow and run in order.

use super::cell::{Cell, Entry, Lists, Sort};
use super::coverage::Coverage;
use super::event::{Event, Slot};
use super::extent::Extent;
use super::fences::{Fences, Locations};
use super::finding::{Finding, Found, Side, Spot};
use super::hazard::HazardKind;
use super::log::{Part, Scene, Touch};
use super::meetings::meetings;
use super::quick::QuickMap;
use super::reads::Reads;
use super::setup::Setup;
use crate::lanes::each;
use crate::{Access, AccessKind};
use ptx::lower::Role;
use std::collections::HashMap;

/// log2 of the bytes of a page. The shadow of global memory consists of the whole pages that have been accessed.
pub(super) const PAGE: u32 = 6;

/// Returns the most bytes that a hash table takes while it grows to this number of entries.
pub(super) fn table_bytes<T>(entries: u64) -> u64 {
    // One place in eight stays free. While the table grows, the old one with half as many places exists as well.
    let places = (entries + entries / 7 + 1).next_power_of_two();
    places.saturating_add(places / 2).saturating_mul(size_of::<T>() as u64 + 1)
}

pub(super) fn pages_of(bytes: u64) -> u64 {
    bytes.div_ceil(1 << PAGE)
}

/// Returns the address of a unit, given its page and its place in the page.
pub(super) fn address_of(setup: &Setup, page: u64, place: usize) -> u64 {
    (page << PAGE) + ((place as u64) << setup.extent.unit)
}

/// The shadow of the pages of global memory that have been accessed.
#[derive(Debug)]
pub(super) struct GlobalShadow {
    /// Where each page starts in `cells`.
    pages: QuickMap<u64, usize>,
    cells: Vec<Cell>,
    per_page: usize,
    pub lists: Lists,
    /// What places carry from the threads that released there.
    pub locations: Locations,
    /// The page that was accessed last, and where it starts in `cells`.
    latest: (u64, usize),
}

impl GlobalShadow {
    pub(super) fn new(setup: &Setup) -> Self {
        let per_page = (1 << PAGE) >> setup.extent.unit;
        Self {
            pages: QuickMap::default(),
            cells: vec![],
            per_page,
            lists: Lists::new(&setup.extent),
            locations: Locations::default(),
            latest: (u64::MAX, 0),
        }
    }

    /// Returns the bytes of host memory for a shadow of `touched` bytes of global memory.
    pub(super) fn bytes(extent: &Extent, touched: u64) -> u64 {
        let pages = pages_of(touched);
        Lists::bytes(extent, extent.units(pages << PAGE)) + table_bytes::<(u64, usize)>(pages)
    }

    pub(super) fn restart(&mut self) {
        self.pages.clear();
        self.cells.clear();
        self.lists.clear();
        self.locations.clear();
        self.latest = (u64::MAX, 0);
    }

    /// Returns every page that has been accessed, with its units.
    pub(super) fn pages(&self) -> impl Iterator<Item = (u64, &[Cell])> {
        self.pages.iter().map(|(&page, &start)| (page, &self.cells[start..start + self.per_page]))
    }

    /// Returns the number of a unit's cell, and adds the page if it is new.
    fn cell(&mut self, setup: &Setup, address: u64) -> usize {
        let (page, place) = (address >> PAGE, ((address % (1 << PAGE)) >> setup.extent.unit) as usize);
        if page != self.latest.0 {
            let next = self.cells.len();
            let start = *self.pages.entry(page).or_insert(next);
            if start == next {
                self.cells.resize(next + self.per_page, Cell::default());
            }
            self.latest = (page, start);
        }
        self.latest.1 + place
    }

    /// Checks that the asynchronous proxy sees what the block's threads have stored where a bulk copy reads.
    pub(super) fn by_proxy(&mut self, scene: &mut Scene, fences: &Fences, from: u64, read: &Touch) {
        let unit = scene.setup.extent.unit;
        for index in from >> unit..(from + u64::from(read.bytes)).div_ceil(1 << unit) {
            let at = self.cell(&scene.setup, index << unit);
            let own = |entry: &Entry| {
                let Slot { event, .. } = entry.slot;
                let copies = scene.setup.facts(event.instruction()).role == Role::BulkCopy;
                entry.sort.writes && !entry.sort.is_strong() && event.block == scene.clock.block && !copies
            };
            let hidden =
                |entry: &Entry| entry.slot.lanes & !fences.seen(read.part.thread / 32, entry.slot.event, true) != 0;
            if let Some(Entry { slot, .. }) = self.cells[at].all(&self.lists).filter(own).find(hidden) {
                let first = Part::new(slot.event.thread(), slot.event.instruction(), true);
                return scene.lanes(HazardKind::ProxyNotFenced, Spot::Global(index << unit), first, read.part);
            }
        }
    }

    pub(super) fn access(&mut self, scene: &mut Scene, coverage: &Coverage, access: &Access<'_>) {
        let store = access.kind == AccessKind::Store;
        let met = if store { meetings(access, scene.setup.extent.unit) } else { vec![] };
        let strong = scene.setup.order(access.instruction).is_strong();
        for meeting in met.iter().filter(|_| !strong) {
            let [first, second] = meeting.lanes.map(|lane| Part::of(access, lane));
            // Storing the same value twice does no harm, but one of the two stores is needless.
            if !meeting.same {
                scene.lanes(HazardKind::Race, Spot::Global(meeting.address), first, second);
            } else if scene.setup.is_output(meeting.address) {
                scene.lanes(HazardKind::WrittenTwice, Spot::Global(meeting.address), first, second);
            }
        }
        // Lanes that store to one place are compared with earlier accesses, not with one another.
        each(access.lanes).for_each(|lane| self.lane(scene, access, lane, true, met.is_empty()));
        if !met.is_empty() {
            let lanes: Vec<usize> = each(access.lanes).collect();
            lanes.into_iter().rev().for_each(|lane| self.lane(scene, access, lane, false, true));
        }
        for lane in each(access.written) {
            coverage.written(&scene.setup, access.addresses[lane], access.bytes, store);
        }
    }

    /// Compares one lane of an access with earlier accesses, or notes it, or both.
    #[inline]
    fn lane(&mut self, scene: &mut Scene, access: &Access<'_>, lane: usize, compare: bool, note: bool) {
        let setup = &scene.setup;
        let unit = setup.extent.unit;
        let special = !setup.is_plain(access.instruction);
        let writes = access.written >> lane & 1 != 0;
        let load = access.kind == AccessKind::Load;
        let sort = scene.sort(access.instruction, writes);
        let (facts, update) = (setup.facts(access.instruction), setup.update(access.instruction));
        let (decided, needs_old) = (facts.decided, load || facts.role == Role::Atomic);
        let part = Part::of(access, lane);
        let new = scene.event(part);
        let first = access.addresses[lane] >> unit;
        for index in first..first + u64::from((access.bytes >> unit).max(1)) {
            let address = index << unit;
            if special && load && scene.is_unread(access.instruction, (index - first) << unit) {
                continue;
            }
            let at = self.cell(&scene.setup, address);
            let Self { cells, lists, .. } = self;
            let cell = &mut cells[at];
            if compare && needs_old && !cell.written(lists) && scene.setup.is_output(address) {
                scene.alone(HazardKind::UninitialisedGlobal, Spot::Global(address), part);
            }
            let row = scene.clock.row(access.warp as usize);
            let promises = load && scene.setup.order(access.instruction).read_only;
            let broken = if promises { cell.broken_promise(lists) } else { None };
            let plain = sort == Sort::READ && broken.is_none();
            if plain && cell.read_quickly(new, 1 << lane, row, lists.two_warps) {
                continue;
            }
            if sort == Sort::WRITE && compare && note && cell.write_quickly(new, row) {
                continue;
            }
            if compare && writes && cell.has_more() {
                for conflict in cell.awaited(lists, &scene.clock, new, sort) {
                    scene.awaits(Spot::Global(address), conflict, part);
                }
            }
            let conflict = if compare { cell.conflict(lists, &scene.clock, new, sort, decided) } else { None };
            if let Some(conflict) = conflict.or(broken) {
                scene.conflict(Spot::Global(address), conflict, part);
            }
            if note {
                cell.note(lists, &scene.clock, new, sort, update);
            }
        }
    }
}

/// Accesses by the two blocks with the lowest numbers. Two are enough: one of them is always by another block than a third access.
type FirstTwo = [Event; 2];

fn keep(first_two: &mut FirstTwo, new: Event) {
    let [first, second] = first_two;
    if !first.some() || new.block < first.block {
        (*first, *second) = (new, *first);
    } else if new.block != first.block && (!second.some() || new.block < second.block) {
        *second = new;
    }
}

/// The plain writes and reads of a unit of global memory by all blocks.
#[derive(Debug, Clone, Copy, Default)]
struct Summary {
    writes: FirstTwo,
    reads: FirstTwo,
}

impl Summary {
    /// Whether one block writes what another block accesses.
    fn is_shared(&self) -> bool {
        let [first, second] = self.writes;
        let elsewhere = |read: &Event| read.some() && read.block != first.block;
        first.some() && (second.some() || self.reads.iter().any(elsewhere))
    }
}

/// The accesses to global memory of the blocks that have ended.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    /// Plain accesses by page: one summary for each unit.
    plain: HashMap<u64, Box<[Summary]>>,
    /// Strong accesses by address.
    strong: HashMap<u64, Vec<(Sort, FirstTwo)>>,
}

impl Summaries {
    /// Returns the bytes of host memory for the summaries of `touched` bytes of global memory.
    pub(super) fn bytes(extent: &Extent, touched: u64) -> u64 {
        let pages = pages_of(touched);
        // The 16 bytes are what the host's allocator needs for a box.
        let page = extent.units(1 << PAGE) * size_of::<Summary>() as u64 + 16;
        pages.saturating_mul(page).saturating_add(table_bytes::<(u64, Box<[Summary]>)>(pages))
    }

    /// Adds the accesses of a block that has ended.
    pub(super) fn add(&mut self, setup: &Setup, global: &GlobalShadow, loads: &Reads) {
        for (page, cells) in global.pages() {
            let summaries = self.plain.entry(page).or_insert_with(|| vec![Summary::default(); cells.len()].into());
            for (place, (summary, cell)) in summaries.iter_mut().zip(cells).enumerate() {
                let (write, reads) = cell.own();
                if write.some() {
                    keep(&mut summary.writes, write);
                }
                for read in reads {
                    if read.some() {
                        keep(&mut summary.reads, read);
                    }
                }
                if !cell.has_more() {
                    continue;
                }
                for entry in global.lists.of(cell) {
                    if entry.sort.speculated {
                        // A load whose value was dropped does not count.
                        if let Some(load) = loads.mattered(&entry.slot) {
                            keep(&mut summary.reads, load);
                        }
                        continue;
                    }
                    let event = entry.slot.event;
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
                    keep(first_two, event);
                }
            }
        }
    }

    /// Adds the races between blocks to the findings.
    pub(super) fn races(&self, setup: &Setup, found: &mut Found) {
        for (&page, summaries) in &self.plain {
            for (place, summary) in summaries.iter().enumerate() {
                let address = address_of(setup, page, place);
                let strong = self.strong.get(&address).map_or(&[][..], Vec::as_slice);
                if summary.is_shared() || !strong.is_empty() {
                    races_at(setup, address, summary, strong, found);
                }
            }
        }
    }
}

/// Adds the first pair of writes that race at a place, and the first pair of a write and a read.
fn races_at(setup: &Setup, address: u64, summary: &Summary, strong: &[(Sort, FirstTwo)], found: &mut Found) {
    let plain = [(Sort::WRITE, summary.writes), (Sort::READ, summary.reads)];
    let all = plain.iter().chain(strong).flat_map(|&(sort, events)| events.map(|event| (sort, event)));
    let mut all: Vec<(Sort, Event)> = all.filter(|(_, event)| event.some()).collect();
    all.sort_by_key(|(_, event)| (event.block, event.instruction(), event.thread()));
    let writes = || all.iter().filter(|(sort, _)| sort.writes);
    let kind = |(one, first): &(Sort, Event), (two, second): &(Sort, Event)| {
        one.unordered(*two, false).filter(|_| first.block != second.block)
    };
    // Returns the first pair that is a hazard, or else the first that is only a warning.
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
