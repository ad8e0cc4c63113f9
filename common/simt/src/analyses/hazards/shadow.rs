//! The shadow of one unit of memory: who wrote it last and which two threads read it since, and what races with that.

use super::clock::Clock;
use super::record::Record;
use crate::Access;

/// The shadow of one unit of memory: a word, or a byte when the kernel has narrower accesses.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub write: Record,
    /// Reads by two different threads.
    pub reads: [Record; 2],
}

/// An access that another one races with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Earlier {
    pub record: Record,
    pub writes: bool,
}

/// One lane's access to memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneAccess<A> {
    pub thread: u32,
    pub instruction: u32,
    pub address: A,
    pub bytes: u32,
    pub writes: bool,
}

/// Checks an access against a shadow and notes it there; gives the access it races with, if any.
#[inline]
pub(super) fn touch(cell: &mut Cell, new: Record, thread: u32, writes: bool, clock: &Clock) -> Option<Earlier> {
    let loose = |record: Record| record.some() && !clock.ordered(record, thread);
    let mut race = None;
    if loose(cell.write) {
        race = Some(Earlier { record: cell.write, writes: true });
    }
    if writes {
        if race.is_none() {
            let read = cell.reads.into_iter().find(|&read| loose(read));
            race = read.map(|record| Earlier { record, writes: false });
        }
        cell.write = new;
    } else if !loose(cell.reads[0]) {
        cell.reads[0] = new;
    } else if !loose(cell.reads[1]) {
        cell.reads[1] = new;
    }
    race
}

/// Notes a read and says what it races with: as [`touch`], with the frequent cases first.
#[inline]
pub(super) fn read(cell: &mut Cell, new: Record, thread: u32, clock: &Clock) -> Option<Earlier> {
    // No access at all has time 0, which is never after.
    let settled = |record: Record| record.time() <= clock.all_met();
    if settled(cell.write) {
        for slot in &mut cell.reads {
            if settled(*slot) || slot.thread() == thread {
                *slot = new;
                return None;
            }
        }
    }
    touch(cell, new, thread, false, clock)
}

/// Whether the earlier access is another lane of this same store that put the same value there: that does no harm.
pub(super) fn same_value(access: &Access<'_>, lane: usize, old: Record, now: u16) -> bool {
    let Some(values) = access.values else { return false };
    let other = old.thread();
    old.instruction() == access.instruction
        && old.time() == now
        && other / 32 == access.warp
        && access.lanes >> (other % 32) & 1 != 0
        && values[other as usize % 32] == values[lane]
        && access.bytes <= 8
}
