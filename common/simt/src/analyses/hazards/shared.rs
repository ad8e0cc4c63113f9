//! The rules of shared memory: races within the block, reads of what nobody wrote, accesses past an array's end.

use super::clock::Clock;
use super::copies::Copies;
use super::finding::Place;
use super::log::Log;
use super::plan::Plan;
use super::record::Record;
use super::shadow::{Cell, Earlier, LaneAccess, read, same_value, touch};
use crate::analyses::report::HazardKind;
use crate::lanes::each;
use crate::{Access, AccessKind};

/// The shadow of a block's shared memory.
#[derive(Debug)]
pub(super) struct SharedShadow {
    cells: Vec<Cell>,
    /// Whether each unit has been written: one bit each.
    written: Vec<u64>,
    /// Races of the loads at hand: lane, unit, earlier access.
    races: Vec<(u32, u32, Earlier)>,
    /// Units that the loads at hand read unwritten: lane, unit.
    unwritten: Vec<(u32, u32)>,
}

impl SharedShadow {
    pub(super) fn new(units: usize) -> Self {
        Self {
            cells: vec![Cell::default(); units],
            written: vec![0; units.div_ceil(64)],
            races: vec![],
            unwritten: vec![],
        }
    }

    pub(super) fn restart(&mut self) {
        self.forget();
        self.written.fill(0);
    }

    /// Forgets who accessed what when.
    pub(super) fn forget(&mut self) {
        self.cells.fill(Cell::default());
    }

    /// Checks an access and notes it.
    pub(super) fn access(&mut self, plan: &Plan, clock: &Clock, copies: &Copies, log: &mut Log, access: &Access<'_>) {
        let writes = access.kind != AccessKind::Load;
        let of_lane = |lane: usize| LaneAccess {
            thread: access.warp * 32 + lane as u32,
            instruction: access.instruction,
            address: access.addresses[lane] as u32,
            bytes: access.bytes,
            writes,
        };
        if let Some(array) = plan.origin(access.instruction) {
            let end = array.offset + array.bytes;
            for lane in each(access.lanes).map(of_lane) {
                if lane.address < array.offset || lane.address + lane.bytes > end {
                    log.alone(plan, HazardKind::WrongArray, Place::Shared(lane.address), &lane);
                }
            }
        }
        if copies.any() {
            each(access.lanes).for_each(|lane| copies.check(plan, log, &of_lane(lane)));
        }
        if !writes {
            return self.loads(plan, clock, copies, log, access);
        }
        for number in each(access.lanes) {
            let lane = of_lane(number);
            let earlier = self.cells.get((lane.address >> plan.unit) as usize).map(|cell| cell.write);
            if earlier.is_some_and(|earlier| same_value(access, number, earlier, clock.now())) {
                continue;
            }
            if access.kind == AccessKind::Atomic {
                self.must_be_written(plan, copies, log, &lane);
            }
            self.write(plan, clock, log, &lane);
        }
    }

    /// Checks loads, the most frequent access of all.
    fn loads(&mut self, plan: &Plan, clock: &Clock, copies: &Copies, log: &mut Log, access: &Access<'_>) {
        let Self { cells, written, races, unwritten } = self;
        let unit = plan.unit;
        let met = clock.all_met();
        let all = access.lanes == u32::MAX;
        let addresses = access.addresses;
        let units = (access.bytes >> unit).max(1);
        for lane in each(access.lanes) {
            let address = addresses[lane];
            let thread = access.warp * 32 + lane as u32;
            let new = Record::new(thread, clock.now(), access.instruction);
            let start = (address >> unit) as u32;
            // Two readers of a place are enough: a third need not be noted, unless somebody has just written there.
            let third = all && is_third(addresses, lane);
            for index in start..start + units {
                let Some(cell) = cells.get_mut(index as usize) else { break };
                if written[index as usize / 64] >> (index % 64) & 1 == 0 {
                    unwritten.push((lane as u32, index));
                }
                if third && cell.write.time() <= met {
                    continue;
                }
                if let Some(earlier) = read(cell, new, thread, clock) {
                    races.push((lane as u32, index, earlier));
                }
            }
        }
        if !self.races.is_empty() || !self.unwritten.is_empty() {
            self.report_loads(plan, copies, log, access);
        }
    }

    #[cold]
    #[inline(never)]
    fn report_loads(&mut self, plan: &Plan, copies: &Copies, log: &mut Log, access: &Access<'_>) {
        let part = |lane: u32, index: u32| LaneAccess {
            thread: access.warp * 32 + lane,
            instruction: access.instruction,
            address: index << plan.unit,
            bytes: access.bytes,
            writes: false,
        };
        for (lane, index, earlier) in std::mem::take(&mut self.races) {
            log.race(plan, Place::Shared(index << plan.unit), earlier, &part(lane, index));
        }
        for (lane, index) in std::mem::take(&mut self.unwritten) {
            uninitialised(plan, copies, log, &part(lane, index));
        }
    }

    /// Checks that one lane's read finds something in every unit.
    fn must_be_written(&self, plan: &Plan, copies: &Copies, log: &mut Log, access: &LaneAccess<u32>) {
        for index in units(plan, access) {
            if self.written.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 0) {
                uninitialised(plan, copies, log, &LaneAccess { address: (index << plan.unit) as u32, ..*access });
            }
        }
    }

    /// Checks one lane's write and notes it.
    pub(super) fn write(&mut self, plan: &Plan, clock: &Clock, log: &mut Log, access: &LaneAccess<u32>) {
        self.touch(plan, clock, log, access);
        for index in units(plan, access) {
            if let Some(word) = self.written.get_mut(index / 64) {
                *word |= 1 << (index % 64);
            }
        }
    }

    /// Checks and notes one lane's write that may still be under way: its places do not count as written yet.
    pub(super) fn touch(&mut self, plan: &Plan, clock: &Clock, log: &mut Log, access: &LaneAccess<u32>) {
        let new = Record::new(access.thread, clock.now(), access.instruction);
        for index in units(plan, access) {
            let Some(cell) = self.cells.get_mut(index) else { return };
            if let Some(earlier) = touch(cell, new, access.thread, true, clock) {
                log.race(plan, Place::Shared((index << plan.unit) as u32), earlier, access);
            }
        }
    }
}

/// Whether two lanes before this one access the same place: neighbours, or lanes a row of eight apart.
#[inline]
fn is_third(addresses: &[u64; 32], lane: usize) -> bool {
    let address = addresses[lane];
    let same = |apart: usize| {
        lane >= 2 * apart && addresses[lane - apart] == address && addresses[lane - 2 * apart] == address
    };
    same(1) || same(8)
}

/// The units that one lane accesses.
#[inline]
fn units(plan: &Plan, access: &LaneAccess<u32>) -> std::ops::Range<usize> {
    let start = (access.address >> plan.unit) as usize;
    start..start + (access.bytes >> plan.unit).max(1) as usize
}

/// Notes the read of a place nobody wrote. If a copy to it is under way, that hazard says it better.
fn uninitialised(plan: &Plan, copies: &Copies, log: &mut Log, access: &LaneAccess<u32>) {
    if !copies.fill(access.address) {
        log.alone(plan, HazardKind::UninitialisedShared, Place::Shared(access.address), access);
    }
}
