//! The rules of shared memory: races within the block, reads of what nobody wrote, accesses past an array's end.
//!
//! The shadows are in rows of 32 units. While every access to a row is by a whole warp, with one unit for each lane, a single
//! shadow represents the whole row.

use super::cell::{Cell, Entry, Lists, Sort};
use super::copies::Copies;
use super::event::Event;
use super::extent::Extent;
use super::fences::Fences;
use super::finding::Spot;
use super::hazard::HazardKind;
use super::log::{Part, Scene, Touch};
use super::meetings::{groups, meetings};
use super::setup::Setup;
use crate::lanes::each;
use crate::observe::SharedLoads;
use crate::{Access, AccessKind};
use ptx::lower::Role;
use ptx::lower::inst::BASES;

#[derive(Debug)]
pub(super) struct SharedShadow {
    cells: Rows,
    lists: Lists,
    /// Whether each unit has been written: one bit each.
    written: Vec<u64>,
    /// How many units at the end the system has written before a block starts.
    given: usize,
    /// Reads of the current load that need a closer look: lanes, unit.
    doubtful: Vec<(u32, u32)>,
    /// Reads of the current load from units that were never written: thread of the first lane, unit, lanes.
    unwritten: Vec<(u32, u32, u32)>,
}

impl SharedShadow {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            cells: Rows::new(setup.shared_units),
            lists: Lists::new(&setup.extent),
            written: vec![0; setup.shared_units.div_ceil(64)],
            given: setup.extent.units(setup.code().reserved_bytes().into()) as usize,
            doubtful: vec![],
            unwritten: vec![],
        }
    }

    pub(super) fn bytes(extent: &Extent) -> u64 {
        let units = extent.units(extent.shared_bytes);
        Rows::bytes(extent, units) + units / 8
    }

    pub(super) fn restart(&mut self) {
        self.cells.restart();
        self.lists.clear();
        self.written.fill(0);
        let all = self.cells.count;
        (all - self.given..all).for_each(|index| self.set_written(index));
    }

    pub(super) fn access(&mut self, scene: &mut Scene, copies: &Copies, access: &Access<'_>) {
        stays_inside(scene, access);
        if copies.any() {
            for lane in each(access.lanes) {
                copies.check(scene, &Touch::of(access, lane));
            }
        }
        match access.kind {
            _ if scene.setup.is_matrix(access.instruction) => self.fragment(scene, copies, access),
            AccessKind::Load => self.loads(scene, copies, access),
            AccessKind::Store => self.stores(scene, access),
            _ => self.updates(scene, copies, access),
        }
    }

    /// Notes a plain load by all lanes of a warp if nothing can be wrong with it, and returns whether it could. `part` is the first
    /// lane's; `first` is the address that it loads from.
    pub(super) fn load_quickly(
        &mut self,
        scene: &Scene,
        part: Part,
        (layout, first, bytes): (Layout, u32, u32),
    ) -> bool {
        let Self { cells, lists, written, .. } = self;
        let (unit, two_warps) = (scene.setup.extent.unit, lists.two_warps);
        let (start, end) = scene.setup.origin(part.instruction);
        let last = if layout == Layout::Same { first } else { first + 4 * 31 };
        if first < start || last + bytes > end {
            return false;
        }
        let new = scene.event(part);
        let row = scene.clock.row(part.thread as usize / 32);
        let index = first >> unit;
        let is_written =
            |index: u32| written.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1);
        if layout == Layout::Same {
            let mut quick = |index| {
                let cell = cells.get_mut(index as usize).filter(|_| is_written(index));
                cell.is_some_and(|cell| cell.read_quickly(new, u32::MAX, row, two_warps))
            };
            return (index..index + (bytes >> unit).max(1)).all(&mut quick);
        }
        if bytes != 4 || unit != 2 {
            return false;
        }
        let number = index as usize / UNITS;
        if index.is_multiple_of(UNITS as u32) && (number + 1) * UNITS <= cells.count {
            let all = (written[number / 2] >> (32 * (number % 2))) as u32 == u32::MAX;
            if all && cells.read_quickly(number, new, row, two_warps) {
                return true;
            }
        }
        (0..UNITS).all(|lane| {
            let index = index + lane as u32;
            let cell = cells.get_mut(index as usize).filter(|_| is_written(index));
            cell.is_some_and(|cell| cell.read_quickly(new.by_lane(lane), 1 << lane, row, two_warps))
        })
    }

    /// Checks loads and notes them. Loads are the most frequent accesses, so most of them must be handled quickly.
    fn loads(&mut self, scene: &mut Scene, copies: &Copies, access: &Access<'_>) {
        let Self { cells, lists, written, doubtful, unwritten, .. } = self;
        let (unit, two_warps) = (scene.setup.extent.unit, lists.two_warps);
        let row = scene.clock.row(access.warp as usize);
        let special = !scene.setup.is_plain(access.instruction);
        let plain = !special || scene.sort(access.instruction, false) == Sort::READ;
        let units = (access.bytes >> unit).max(1);
        if let Some(number) = cells.of(access, unit).filter(|_| plain) {
            let new = scene.event(Part::of(access, 0));
            let all = (written[number / 2] >> (32 * (number % 2))) as u32 == u32::MAX;
            if all && cells.read_quickly(number, new, row, two_warps) {
                return;
            }
        }
        for (lane, lanes) in groups(access.addresses, access.lanes) {
            let part = Part::of(access, lane);
            let new = scene.event(part);
            let start = (access.addresses[lane] >> unit) as u32;
            for index in start..start + units {
                let Some(cell) = cells.get_mut(index as usize) else { break };
                if special && scene.is_unread(access.instruction, u64::from(index - start) << unit) {
                    continue;
                }
                if written[index as usize / 64] >> (index % 64) & 1 == 0 {
                    unwritten.push((part.thread, index, lanes));
                }
                if !(plain && cell.read_quickly(new, lanes, row, two_warps)) {
                    doubtful.push((lanes, index));
                }
            }
        }
        if !self.doubtful.is_empty() || !self.unwritten.is_empty() {
            self.look_closely(scene, copies, access);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_closely(&mut self, scene: &mut Scene, copies: &Copies, access: &Access<'_>) {
        let sort = scene.sort(access.instruction, false);
        for (lanes, index) in std::mem::take(&mut self.doubtful) {
            for lane in each(lanes) {
                let part = Part::of(access, lane);
                self.compare(scene, index as usize, part, sort, Some(copies));
                self.note(scene, index as usize, part, sort);
            }
        }
        for (thread, index, lanes) in std::mem::take(&mut self.unwritten) {
            for lane in each(lanes) {
                let part = Part::new(thread & !31 | lane as u32, access.instruction, false);
                uninitialised(scene, copies, index << scene.setup.extent.unit, part);
            }
        }
    }

    /// Checks and notes an access to a part of a matrix. PTX does not say which lane accesses which word, so each counts as accessed by
    /// two lanes: whoever accesses it next, one of them is another lane.
    fn fragment(&mut self, scene: &mut Scene, copies: &Copies, access: &Access<'_>) {
        let writes = access.written != 0;
        let sort = Sort { writes, ..Sort::READ };
        for lane in each(access.lanes) {
            let lanes = [lane, lane ^ 1].map(|lane| Part::of(access, lane));
            let new = scene.event(lanes[0]);
            for index in Touch::of(access, lane).units(&scene.setup) {
                let Some(cell) = self.cells.get_mut(index) else { break };
                if !writes && self.written[index / 64] >> (index % 64) & 1 == 0 {
                    uninitialised(scene, copies, scene.setup.address(index), lanes[0]);
                }
                let row = scene.clock.row(access.warp as usize);
                let quick = !writes && cell.read_quickly(new, 3 << (lane & !1), row, self.lists.two_warps);
                if quick {
                    continue;
                }
                for part in lanes {
                    self.compare(scene, index, part, sort, Some(copies));
                }
                self.note(scene, index, lanes[0], sort);
                let Some(cell) = self.cells.get_mut(index) else { break };
                // The second write does not replace the first.
                cell.note_also(&mut self.lists, &scene.clock, scene.event(lanes[1]), sort);
                if writes {
                    self.set_written(index);
                }
            }
        }
    }

    fn stores(&mut self, scene: &mut Scene, access: &Access<'_>) {
        let sort = scene.sort(access.instruction, true);
        if let Some(number) = self.cells.of(access, scene.setup.extent.unit).filter(|_| sort == Sort::WRITE) {
            let first = Part::of(access, 0);
            if self.cells.write_quickly(number, scene.event(first), scene.clock.row(access.warp as usize)) {
                self.written[number / 2] |= u64::from(u32::MAX) << (32 * (number % 2));
                return;
            }
        }
        let met = meetings(access, scene.setup.extent.unit);
        for meeting in met.iter().filter(|meeting| !(meeting.same || sort.is_strong())) {
            let [first, second] = meeting.lanes.map(|lane| Part::of(access, lane));
            scene.lanes(HazardKind::Race, Spot::Shared(meeting.address as u32), first, second);
        }
        let writes = each(access.lanes).map(|lane| Touch::of(access, lane));
        if met.is_empty() {
            return writes.for_each(|write| self.write(scene, &write, sort));
        }
        // The writes are compared with earlier accesses, not with one another.
        let writes: Vec<Touch> = writes.collect();
        for write in &writes {
            write.units(&scene.setup).for_each(|index| self.compare(scene, index, write.part, sort, None));
        }
        for write in writes.iter().rev() {
            for index in write.units(&scene.setup) {
                self.note(scene, index, write.part, sort);
                self.set_written(index);
            }
        }
    }

    fn updates(&mut self, scene: &mut Scene, copies: &Copies, access: &Access<'_>) {
        for lane in each(access.lanes) {
            let write = Touch::of(access, lane);
            for index in write.units(&scene.setup) {
                if self.written.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 0) {
                    uninitialised(scene, copies, scene.setup.address(index), write.part);
                }
                let sort = scene.sort(access.instruction, access.written >> lane & 1 != 0);
                self.touch(scene, index, write.part, sort);
                self.set_written(index);
            }
        }
    }

    /// Checks one lane's write and notes it.
    pub(super) fn write(&mut self, scene: &mut Scene, write: &Touch, sort: Sort) {
        let new = scene.event(write.part);
        for index in write.units(&scene.setup) {
            let row = scene.clock.row(new.warp());
            let quick =
                sort == Sort::WRITE && self.cells.get_mut(index).is_some_and(|cell| cell.write_quickly(new, row));
            if !quick {
                self.touch(scene, index, write.part, sort);
            }
            self.set_written(index);
        }
    }

    /// Checks and notes one lane's write that may still be under way: its places do not count as written yet.
    pub(super) fn write_later(&mut self, scene: &mut Scene, write: &Touch) {
        for index in write.units(&scene.setup) {
            self.touch(scene, index, write.part, Sort::WRITE);
        }
    }

    /// Notes that a copy of one lane has landed. What touched its place before was checked when the copy started, and what touched it
    /// since then when that happened.
    pub(super) fn landed(&mut self, scene: &Scene, write: &Touch) {
        for index in write.units(&scene.setup) {
            self.note(scene, index, write.part, Sort::WRITE);
            self.set_written(index);
        }
    }

    /// Checks that a product may read a piece of shared memory.
    pub(super) fn product(&mut self, scene: &mut Scene, copies: &Copies, fences: &Fences, read: &Touch) {
        copies.check(scene, read);
        for index in read.units(&scene.setup) {
            if self.written.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 0) {
                uninitialised(scene, copies, scene.setup.address(index), read.part);
            } else {
                self.by_proxy(scene, fences, index, read.part, Sort::READ);
            }
        }
    }

    /// Checks that the asynchronous proxy sees what has been stored in a piece of shared memory.
    pub(super) fn fenced(&mut self, scene: &mut Scene, fences: &Fences, read: &Touch) {
        for index in read.units(&scene.setup) {
            self.by_proxy(scene, fences, index, read.part, Sort { strong: 8, ..Sort::READ });
        }
    }

    /// Checks that no store of a thread lies where the asynchronous proxy is about to write and does not see it: it may come later.
    pub(super) fn hidden(&mut self, scene: &mut Scene, fences: &Fences, write: &Touch) {
        for index in write.units(&scene.setup) {
            self.unseen(scene, fences, index, write.part);
        }
    }

    /// Checks that nothing races with a read by the asynchronous proxy, and that the proxy sees what has been stored.
    fn by_proxy(&mut self, scene: &mut Scene, fences: &Fences, index: usize, part: Part, sort: Sort) {
        let Some(cell) = self.cells.get_mut(index) else { return };
        let spot = Spot::Shared(scene.setup.address(index));
        if let Some(conflict) = cell.conflict(&self.lists, &scene.clock, scene.event(part), sort, 0) {
            return scene.conflict(spot, conflict, part);
        }
        self.unseen(scene, fences, index, part);
    }

    fn unseen(&mut self, scene: &mut Scene, fences: &Fences, index: usize, part: Part) {
        let Some(cell) = self.cells.get_mut(index) else { return };
        let spot = Spot::Shared(scene.setup.address(index));
        let hidden = |Entry { slot, .. }: &Entry| slot.lanes & !fences.seen(part.thread / 32, slot.event, false) != 0;
        let stored = |entry: &Entry| {
            entry.sort.writes
                && !entry.sort.is_strong()
                && scene.setup.facts(entry.slot.event.instruction()).role != Role::BulkCopy
        };
        if let Some(Entry { slot, .. }) = cell.all(&self.lists).filter(stored).find(hidden) {
            let first = Part::new(slot.event.thread(), slot.event.instruction(), true);
            scene.lanes(HazardKind::ProxyNotFenced, spot, first, part);
        }
    }

    fn touch(&mut self, scene: &mut Scene, index: usize, part: Part, sort: Sort) {
        self.compare(scene, index, part, sort, None);
        self.note(scene, index, part, sort);
    }

    fn compare(&mut self, scene: &mut Scene, index: usize, part: Part, sort: Sort, copies: Option<&Copies>) {
        let Some(cell) = self.cells.get_mut(index) else { return };
        let (new, decided) = (scene.event(part), scene.setup.facts(part.instruction).decided);
        if sort.writes && cell.has_more() {
            for conflict in cell.awaited(&self.lists, &scene.clock, new, sort) {
                scene.awaits(Spot::Shared(scene.setup.address(index)), conflict, part);
            }
        }
        if let Some(mut conflict) = cell.conflict(&self.lists, &scene.clock, new, sort, decided) {
            let address = scene.setup.address(index);
            if copies.is_some_and(|copies| copies.is_not_waited(scene, address, conflict.earlier, part)) {
                conflict.kind = HazardKind::CopyNotWaited;
            }
            scene.conflict(Spot::Shared(address), conflict, part);
        }
    }

    fn note(&mut self, scene: &Scene, index: usize, part: Part, sort: Sort) {
        if let Some(cell) = self.cells.get_mut(index) {
            cell.note(&mut self.lists, &scene.clock, scene.event(part), sort, scene.setup.update(part.instruction));
        }
    }

    fn set_written(&mut self, index: usize) {
        if let Some(word) = self.written.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }
}

/// Checks that an access through a shared array stays inside that array.
#[inline]
fn stays_inside(scene: &mut Scene, access: &Access<'_>) {
    let (start, end) = scene.setup.origin(access.instruction);
    if (start, end) == (0, u32::MAX) {
        return;
    }
    let within = |at: &u64| *at >= u64::from(start) && *at + u64::from(access.bytes) <= u64::from(end);
    if access.lanes == u32::MAX && access.addresses.iter().fold(true, |all, at| all & within(at)) {
        return;
    }
    for lane in each(access.lanes).filter(|&lane| !within(&access.addresses[lane])) {
        scene.alone(HazardKind::WrongArray, Spot::Shared(access.addresses[lane] as u32), Part::of(access, lane));
    }
}

/// How the words of the lanes of a load lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// All lanes load one word.
    Same,
    /// Each lane loads the word after that of the lane before.
    Next,
    Other,
}

impl Layout {
    /// Returns for each base of a run's loads how its words lie, and the address of the first lane's.
    pub(super) fn of_bases(loads: &SharedLoads<'_>) -> [(Self, u32); BASES] {
        let mut all = [(Self::Other, 0); BASES];
        for (layout, words) in all.iter_mut().zip(loads.bases) {
            let first = words[0];
            let same = words.iter().fold(0, |differ, &word| differ | (word ^ first)) == 0;
            let next = words.iter().zip(first..).fold(0, |differ, (&word, expected)| differ | (word ^ expected)) == 0;
            let kind = if same {
                Self::Same
            } else if next {
                Self::Next
            } else {
                Self::Other
            };
            *layout = (kind, 4 * first);
        }
        all
    }
}

/// Notes the read of a place that nobody wrote. If a copy to it is in flight, the hazard of the copy explains it better.
fn uninitialised(scene: &mut Scene, copies: &Copies, address: u32, part: Part) {
    if !copies.fill(address) {
        scene.alone(HazardKind::UninitialisedShared, Spot::Shared(address), part);
    }
}

/// Units of a row.
const UNITS: usize = 32;

/// The shadows of a block's shared memory.
#[derive(Debug)]
pub(super) struct Rows {
    /// For each row, the shadow of its first unit if those of the others differ only by the lane; `None` if they differ in more.
    together: Vec<Option<Cell>>,
    cells: Vec<Cell>,
    count: usize,
}

impl Rows {
    pub(super) fn new(count: usize) -> Self {
        let rows = count.div_ceil(UNITS);
        Self { together: vec![Some(Cell::default()); rows], cells: vec![Cell::default(); rows * UNITS], count }
    }

    pub(super) fn bytes(extent: &Extent, units: u64) -> u64 {
        let rows = units.div_ceil(UNITS as u64);
        Lists::bytes(extent, rows * UNITS as u64) + rows * size_of::<Option<Cell>>() as u64
    }

    pub(super) fn restart(&mut self) {
        self.together.fill(Some(Cell::default()));
    }

    /// Returns the row that an access covers with one unit for each lane, or `None` if it does not.
    #[inline]
    pub(super) fn of(&self, access: &Access<'_>, unit: u32) -> Option<usize> {
        let (first, bytes) = (access.addresses[0], 1 << unit);
        let next = |lane: usize| access.addresses[lane] == first + bytes * lane as u64;
        let whole = access.lanes == u32::MAX
            && u64::from(access.bytes) == bytes
            && (first >> unit).is_multiple_of(UNITS as u64);
        let at = (first >> unit) as usize;
        (whole && (0..UNITS).fold(true, |all, lane| all & next(lane)) && at + UNITS <= self.count).then_some(at / UNITS)
    }

    /// Notes that a warp reads a row, if [`Cell::read_quickly`] can. `new` is the read of the first lane.
    #[inline]
    pub(super) fn read_quickly(&mut self, row: usize, new: Event, known: &[u32], two_warps: bool) -> bool {
        self.together[row].as_mut().is_some_and(|cell| cell.read_quickly(new, 1, known, two_warps))
    }

    /// Notes that a warp writes a row, if barriers order all earlier accesses before it. `new` is the write of the first lane.
    pub(super) fn write_quickly(&mut self, row: usize, new: Event, known: &[u32]) -> bool {
        let settled = match &self.together[row] {
            Some(cell) => cell.is_settled(new, known),
            None => self.cells[row * UNITS..][..UNITS].iter().all(|cell| cell.is_settled(new, known)),
        };
        if settled {
            self.together[row] = Some(Cell::written_by(new));
        }
        settled
    }

    /// Returns the shadow of a single unit. From then on, each unit of the row has a separate shadow.
    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Cell> {
        if index >= self.count {
            return None;
        }
        if let Some(cell) = self.together[index / UNITS].take() {
            let cells = &mut self.cells[index / UNITS * UNITS..][..UNITS];
            cells.iter_mut().enumerate().for_each(|(lane, of_lane)| *of_lane = cell.of_lane(lane));
        }
        self.cells.get_mut(index)
    }
}
