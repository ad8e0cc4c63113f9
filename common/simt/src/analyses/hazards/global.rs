//! The rules of global memory within one block, and what other blocks must know of it.

use super::clock::Clock;
use super::finding::Place;
use super::log::Log;
use super::plan::Plan;
use super::record::Record;
use super::shadow::{Cell, LaneAccess, same_value, touch};
use crate::analyses::report::HazardKind;
use crate::lanes::each;
use crate::{Access, AccessKind};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// log2 of the bytes of a page: shadows of global memory are kept for whole pages that a block touches.
const PAGE: u32 = 6;

/// The shadow of a unit of global memory in one block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GlobalCell {
    pub cell: Cell,
    /// Number of plain writes, up to 3.
    pub writes: u8,
    /// The block has read it before it had executed an atomic operation.
    pub early_read: bool,
    /// Every write was atomic.
    pub atomic: bool,
}

/// The page of an address, and its unit's place in that page.
pub(super) fn page_of(plan: &Plan, address: u64) -> (u64, usize) {
    (address >> PAGE, ((address % (1 << PAGE)) >> plan.unit) as usize)
}

/// The address of a unit: the inverse of [`page_of`].
pub(super) fn address_of(plan: &Plan, page: u64, place: usize) -> u64 {
    (page << PAGE) + ((place as u64) << plan.unit)
}

/// The shadow of what one block touches of global memory.
#[derive(Debug)]
pub(super) struct GlobalShadow {
    /// Where each page starts in `cells`.
    pages: HashMap<u64, usize, BuildHasherDefault<Quick>>,
    cells: Vec<GlobalCell>,
    per_page: usize,
    /// The block has executed a fence.
    pub fenced: bool,
    /// The block has executed an atomic operation.
    updated: bool,
}

impl GlobalShadow {
    pub(super) fn new(plan: &Plan) -> Self {
        let per_page = (1 << PAGE) >> plan.unit;
        Self { pages: HashMap::default(), cells: vec![], per_page, fenced: false, updated: false }
    }

    pub(super) fn restart(&mut self) {
        self.pages.clear();
        self.cells.clear();
        (self.fenced, self.updated) = (false, false);
    }

    /// Forgets when things happened: within the block all of it counts as ordered, but other blocks must know of it.
    pub(super) fn forget_times(&mut self) {
        let again = |record: Record| {
            if record.some() { Record::new(record.thread(), 0, record.instruction()) } else { record }
        };
        for cell in &mut self.cells {
            cell.cell.write = again(cell.cell.write);
            cell.cell.reads = cell.cell.reads.map(again);
        }
    }

    /// Every page the block touched, with its units.
    pub(super) fn pages(&self) -> impl Iterator<Item = (u64, &[GlobalCell])> {
        self.pages.iter().map(|(&page, &start)| (page, &self.cells[start..start + self.per_page]))
    }

    fn page(&mut self, page: u64) -> usize {
        let next = self.cells.len();
        let start = *self.pages.entry(page).or_insert(next);
        if start == next {
            self.cells.resize(next + self.per_page, GlobalCell::default());
        }
        start
    }

    /// Checks an access and notes it.
    pub(super) fn access(&mut self, plan: &Plan, clock: &Clock, log: &mut Log, access: &Access<'_>) {
        let unit = plan.unit;
        let writes = access.kind != AccessKind::Load;
        let atomic = access.kind == AccessKind::Atomic;
        let mut latest = (u64::MAX, 0);
        for lane in each(access.lanes) {
            let thread = access.warp * 32 + lane as u32;
            let new = Record::new(thread, clock.now(), access.instruction);
            let first = access.addresses[lane] >> unit;
            for index in first..first + u64::from((access.bytes >> unit).max(1)) {
                let address = index << unit;
                let (page, place) = page_of(plan, address);
                if page != latest.0 {
                    latest = (page, self.page(page));
                }
                let cell = &mut self.cells[latest.1 + place];
                let fresh = !cell.cell.write.some();
                let race = touch(&mut cell.cell, new, thread, writes, clock);
                if writes {
                    cell.atomic = atomic && (fresh || cell.atomic);
                    cell.writes = if atomic { cell.writes } else { (cell.writes + 1).min(3) };
                } else {
                    cell.early_read |= !self.updated;
                }
                let part = LaneAccess { thread, instruction: access.instruction, address, bytes: access.bytes, writes };
                if let Some(earlier) = race {
                    if !same_value(access, lane, earlier.record, clock.now()) {
                        log.race(plan, Place::Global(address), earlier, &part);
                    } else if plan.is_output(address) {
                        // The same value does no harm, but one of the two has done the other's work.
                        log.pair(plan, HazardKind::WrittenTwice, Place::Global(address), earlier, &part);
                    }
                }
                if !writes && fresh && plan.is_output(address) {
                    log.alone(plan, HazardKind::UninitialisedGlobal, Place::Global(address), &part);
                }
            }
        }
        self.updated |= atomic || plan.strong(access.instruction);
    }
}

/// A quick hash for page numbers.
#[derive(Debug, Default)]
struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}
