//! The shadow of one unit of memory: the accesses that a later one may race with, and what races with them.
//!
//! An access is forgotten when a later one replaces it: one that happens after it and races with everything that the earlier
//! one would race with. So a plain write replaces all accesses before it, and a plain read replaces earlier reads. A strong
//! access (an atomic operation, a volatile or relaxed load or store) replaces no plain one, because strong ones do not race.

use super::clock::{Clock, Order};
use super::event::{Event, Slot};
use super::extent::Extent;
use super::hazard::HazardKind;
use crate::lanes::each;

/// What an access does to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // They are independent.
pub(super) struct Sort {
    pub writes: bool,
    /// The bytes of the access if it is strong, so that other strong accesses of that width do not race with it; else 0.
    pub strong: u8,
    /// Whether it is strong towards threads of other blocks, too.
    pub wide: bool,
    /// Whether it is strong because it is volatile.
    pub volatile: bool,
    /// Whether it is a plain load whose value may be dropped.
    pub speculated: bool,
}

impl Sort {
    pub(super) const READ: Self = Self { writes: false, strong: 0, wide: false, volatile: false, speculated: false };
    pub(super) const WRITE: Self = Self { writes: true, ..Self::READ };

    pub(super) fn is_strong(self) -> bool {
        self.strong > 0
    }

    /// Whether what races with it is judged by what becomes of the value that it has read.
    pub(super) fn waits(self) -> bool {
        !self.writes && (self.speculated || self.volatile)
    }

    /// Returns the kind of hazard that two unordered accesses are, or `None` if they are strong enough not to race.
    pub(super) fn unordered(self, other: Self, same_block: bool) -> Option<HazardKind> {
        let meet = self.is_strong() && other.is_strong() && (same_block || self.wide && other.wide);
        match meet {
            false => Some(HazardKind::Race),
            true if self.strong != other.strong => Some(HazardKind::MixedWidths),
            true => (self.volatile || other.volatile).then_some(HazardKind::VolatileOrder),
        }
    }
}

/// An earlier access that the current one conflicts with, and the kind of hazard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict {
    pub earlier: Event,
    pub sort: Sort,
    pub kind: HazardKind,
}

/// The shadow of a unit of memory: a word, or a byte when the kernel has narrower accesses.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    /// The last plain write.
    write: Event,
    /// Plain reads since then, by two warps.
    reads: [Slot; 2],
    /// Number of the list with the other accesses since then; 0 if there are none.
    more: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub slot: Slot,
    pub sort: Sort,
}

/// How many accesses by other blocks a list keeps for each sort of access, so that a place that all blocks read has a short list.
const BLOCKS: usize = 6;

/// The accesses to a place that do not fit into its cell.
#[derive(Debug, Clone, Default)]
struct List {
    entries: Vec<Entry>,
    /// The last atomic operation and the bit of its result, unless a strong store came after it. It has read what all strong writes
    /// before it left.
    update: Option<(Entry, u64)>,
}

/// The lists of cells whose accesses do not fit into them.
#[derive(Debug)]
pub(super) struct Lists {
    /// The lists, by number. The first one is always empty.
    all: Vec<List>,
    free: Vec<u32>,
    /// Whether only two warps of a block are kept for each place and sort of access. At least one of them is not the warp of a later
    /// access. That is enough if only barriers of the whole block order warps, because these order all warps or none.
    pub two_warps: bool,
}

impl Lists {
    pub(super) fn new(extent: &Extent) -> Self {
        Self { all: vec![List::default()], free: vec![], two_warps: !extent.all_warps }
    }

    /// Returns the bytes of the cells and lists of `places` places if the most plain accesses are kept for each.
    pub(super) fn bytes(extent: &Extent, places: u64) -> u64 {
        let others = if extent.code.communicates { BLOCKS as u64 } else { 0 };
        let warps = if extent.all_warps { extent.warps } else { extent.warps.min(2) };
        let listed = (warps + others).saturating_sub(2);
        let list = match listed {
            0 => 0,
            // A list grows by doubling.
            _ => size_of::<List>() + size_of::<Entry>() * (listed.next_power_of_two().max(4) as usize),
        };
        places.saturating_mul((size_of::<Cell>() + list) as u64)
    }

    pub(super) fn clear(&mut self) {
        self.all.truncate(1);
        self.free.clear();
    }

    /// Returns the accesses that did not fit into a cell.
    #[inline]
    pub(super) fn of(&self, cell: &Cell) -> &[Entry] {
        &self.all[cell.more as usize].entries
    }

    fn list(&mut self, cell: &mut Cell) -> &mut List {
        if cell.more == 0 {
            cell.more = self.free.pop().unwrap_or(self.all.len() as u32);
            if cell.more as usize == self.all.len() {
                self.all.push(List::default());
            }
        }
        &mut self.all[cell.more as usize]
    }

    fn drop_list(&mut self, cell: &mut Cell) {
        if cell.more != 0 {
            let List { entries, update } = &mut self.all[cell.more as usize];
            entries.clear();
            *update = None;
            self.free.push(std::mem::take(&mut cell.more));
        }
    }

    /// Adds an access of one thread to a cell's list.
    #[cold]
    fn add(&mut self, cell: &mut Cell, clock: &Clock, new: Event, sort: Sort, update: Option<u64>) {
        let most = if self.two_warps && !sort.waits() { 2 } else { usize::MAX };
        let List { entries: list, update: last } = self.list(cell);
        let one = Slot::one(new);
        if sort.writes && sort.is_strong() {
            *last = update.map(|bit| (Entry { slot: one, sort }, bit));
        }
        for entry in list.iter_mut().filter(|entry| entry.sort == sort && entry.slot.same_warp(new)) {
            if entry.slot.same_moment(new) {
                entry.slot.join(new, one.lanes);
                return;
            }
            // The new access replaces the thread's own earlier one.
            entry.slot.lanes &= !one.lanes;
        }
        let stands = |entry: &Entry| {
            entry.sort == sort
                && !entry.slot.same_warp(new)
                && clock.order(&entry.slot, new.thread()).0 == Order::Before
        };
        list.retain(|entry| entry.slot.lanes != 0 && !stands(entry));
        let others = || list.iter().filter(|entry| entry.sort == sort && !entry.slot.same_warp(new));
        let blocks = others().filter(|entry| entry.slot.event.block != new.block).count();
        if others().count() - blocks < most && blocks < BLOCKS {
            list.push(Entry { slot: one, sort });
        }
    }
}

impl Cell {
    /// Notes a plain read by some lanes of a warp in the frequent cases, and returns whether it could: barriers order what was
    /// written before the read, and there is room for it. `row` is what the warp knows of the others.
    #[inline]
    pub(super) fn read_quickly(&mut self, new: Event, lanes: u32, row: &[u32], two_warps: bool) -> bool {
        let settled = |old: Event| old.is_settled(new, row);
        if !settled(self.write) || self.more != 0 {
            return false;
        }
        let [a, b] = &mut self.reads;
        if a.same_moment(new) {
            a.join(new, lanes);
        } else if b.same_moment(new) {
            b.join(new, lanes);
        } else if settled(a.event) {
            *a = Slot::of(new, lanes);
        } else if settled(b.event) {
            *b = Slot::of(new, lanes);
        } else {
            return two_warps && enough(a, b, new);
        }
        true
    }

    /// Notes a plain write of one thread if barriers order all earlier accesses before it, and returns whether they do.
    #[inline]
    pub(super) fn write_quickly(&mut self, new: Event, row: &[u32]) -> bool {
        let quick = self.is_settled(new, row);
        if quick {
            *self = Self::written_by(new);
        }
        quick
    }

    /// Whether barriers order all accesses so far before the new one.
    #[inline]
    pub(super) fn is_settled(&self, new: Event, row: &[u32]) -> bool {
        let [a, b] = &self.reads;
        self.more == 0 && [self.write, a.event, b.event].iter().all(|old| old.is_settled(new, row))
    }

    /// Makes the shadow of a place that has had one plain write and no other access.
    pub(super) fn written_by(write: Event) -> Self {
        Self { write, ..Self::default() }
    }

    /// Whether it has accesses that do not fit into it.
    #[inline]
    pub(super) fn has_more(&self) -> bool {
        self.more != 0
    }

    /// Returns the shadow of another lane's unit, if this is the shadow of the first lane's.
    pub(super) fn of_lane(&self, lane: usize) -> Self {
        Self { write: self.write.by_lane(lane), reads: self.reads.map(|slot| slot.of_lane(lane)), more: self.more }
    }

    pub(super) fn written(&self, lists: &Lists) -> bool {
        self.write.some() || lists.of(self).iter().any(|entry| entry.sort.writes)
    }

    /// Returns the plain write and the plain reads that fit into the cell, those that there are.
    #[inline]
    pub(super) fn own(&self) -> (Event, [Event; 2]) {
        (self.write, self.reads.map(|slot| slot.event))
    }

    #[inline]
    pub(super) fn all<'a>(&self, lists: &'a Lists) -> impl Iterator<Item = Entry> + use<'a> {
        let [a, b] = self.reads.map(|slot| Entry { slot, sort: Sort::READ });
        let write = Entry { slot: Slot::one(self.write), sort: Sort::WRITE };
        let listed = lists.of(self).iter().copied();
        [write, a, b].into_iter().chain(listed).filter(|entry| entry.slot.event.some())
    }

    /// Returns the conflict of a read-only load (`.nc`) with any write here, in order or not.
    pub(super) fn broken_promise(&self, lists: &Lists) -> Option<Conflict> {
        let entry = self.all(lists).find(|entry| entry.sort.writes && entry.slot.lanes != 0)?;
        let earlier = entry.slot.by_lane(entry.slot.lanes.trailing_zeros() as usize);
        Some(Conflict { earlier, sort: entry.sort, kind: HazardKind::StaleLoad })
    }

    /// Returns what an access of one thread races with. If there is no race, it returns an access that is only a warning.
    ///
    /// `decided` has the bits of the atomic operations whose results the access depends on.
    pub(super) fn conflict(
        &self,
        lists: &Lists,
        clock: &Clock,
        new: Event,
        sort: Sort,
        decided: u64,
    ) -> Option<Conflict> {
        let mut open = None;
        let [a, b] = self.reads.map(|slot| Entry { slot, sort: Sort::READ });
        let own = [Entry { slot: Slot::one(self.write), sort: Sort::WRITE }, a, b];
        // Reads do not race with reads.
        let own = &own[..if sort.writes { own.len() } else { 1 }];
        for &Entry { slot, sort: old } in own.iter().chain(lists.of(self)) {
            if !slot.event.some() || !(old.writes || sort.writes && !old.waits()) {
                continue;
            }
            // This test comes first because `clock.order` is slow for a place that many threads access.
            let Some(unordered) = old.unordered(sort, slot.event.block == new.block) else { continue };
            let (order, thread) = clock.order(&slot, new.thread());
            let kind = match (order, unordered) {
                (Order::Before, _) => continue,
                _ if decided != 0 && self.told(lists, clock, (slot, old), new, decided) => continue,
                (Order::Exchange, HazardKind::Race) => HazardKind::ShuffleOrder,
                _ => unordered,
            };
            let conflict = Conflict { earlier: slot.by_lane(thread as usize % 32), sort: old, kind };
            if !kind.is_warning() {
                return Some(conflict);
            }
            open = open.or(Some(conflict));
        }
        open
    }

    /// Returns the earlier loads that a write races with if their value matters.
    pub(super) fn awaited(&self, lists: &Lists, clock: &Clock, new: Event, sort: Sort) -> Vec<Conflict> {
        let mut found = vec![];
        for Entry { slot, sort: old } in lists.of(self).iter().filter(|entry| entry.sort.waits()) {
            let Some(unordered) = old.unordered(sort, slot.event.block == new.block) else { continue };
            for lane in each(slot.lanes) {
                let earlier = slot.by_lane(lane);
                let own = earlier.block == new.block && earlier.thread() == new.thread();
                let kind = match clock.order(&Slot::one(earlier), new.thread()).0 {
                    Order::Before => continue,
                    _ if own => continue,
                    Order::Exchange if unordered == HazardKind::Race => HazardKind::ShuffleOrder,
                    _ => unordered,
                };
                found.push(Conflict { earlier, sort: *old, kind });
            }
        }
        found
    }

    /// Whether a thread knows of a strong write because an atomic operation, its own or one that it knows of, has read what that
    /// write left. (PTX, "Causality Order": a thread that observes a write comes after it, even without a fence. So the last thread
    /// to count may reset the counter.) Unless the access depends on that operation's result, it is chance who comes last.
    fn told(&self, lists: &Lists, clock: &Clock, (slot, old): (Slot, Sort), new: Event, decided: u64) -> bool {
        let Some((update, _)) = lists.all[self.more as usize].update.filter(|(_, bit)| bit & decided != 0) else {
            return false;
        };
        let same_block = slot.event.block == update.slot.event.block;
        let meet = matches!(old.unordered(update.sort, same_block), None | Some(HazardKind::VolatileOrder));
        old.writes && meet && clock.order(&update.slot, new.thread()).0 == Order::Before
    }

    /// Notes an access of one thread. `update` has the bit of its result if it is an atomic operation.
    pub(super) fn note(&mut self, lists: &mut Lists, clock: &Clock, new: Event, sort: Sort, update: Option<u64>) {
        if sort.is_strong() || sort.speculated {
            lists.add(self, clock, new, sort, update);
        } else if sort.writes {
            lists.drop_list(self);
            *self = Self { write: new, ..Self::default() };
        } else {
            self.note_read(lists, clock, new);
        }
    }

    /// Notes an access by another thread at the same time as the one before. Of writes, neither replaces the other.
    pub(super) fn note_also(&mut self, lists: &mut Lists, clock: &Clock, new: Event, sort: Sort) {
        if sort.writes {
            lists.add(self, clock, new, Sort { speculated: true, ..sort }, None);
        } else {
            self.note(lists, clock, new, sort, None);
        }
    }

    fn note_read(&mut self, lists: &mut Lists, clock: &Clock, new: Event) {
        let one = Slot::one(new);
        if let Some(slot) = self.reads.iter_mut().find(|slot| slot.same_moment(new)) {
            slot.join(new, one.lanes);
            return;
        }
        for slot in self.reads.iter_mut().filter(|slot| slot.same_warp(new)) {
            // The new read replaces the thread's own earlier one.
            slot.lanes &= !one.lanes;
        }
        let stands =
            |slot: &Slot| !slot.event.some() || slot.lanes == 0 || clock.order(slot, new.thread()).0 == Order::Before;
        if let Some(slot) = self.reads.iter_mut().find(|slot| stands(slot)) {
            *slot = one;
            return;
        }
        let [a, b] = &self.reads;
        if !(lists.two_warps && enough(a, b, new)) {
            lists.add(self, clock, new, Sort::READ, None);
        }
    }
}

/// Whether two reads make it unnecessary to keep a third one by another warp of their block.
fn enough(a: &Slot, b: &Slot, new: Event) -> bool {
    let block = a.event.block == new.block && b.event.block == new.block;
    block && !a.same_warp(b.event) && !a.same_warp(new) && !b.same_warp(new)
}
