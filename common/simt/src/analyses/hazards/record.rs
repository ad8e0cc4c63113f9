//! One access in twelve bytes: which thread of which block, when by the clock of its warp, which instruction.

/// An access, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Record {
    /// Time of the thread's warp, from 1; 0 if there was no access.
    pub time: u32,
    /// Thread in the block, and above it the instruction: there are at most 2²² instructions.
    place: u32,
    pub block: u32,
}

impl Record {
    pub(super) fn new(block: u32, thread: u32, time: u32, instruction: u32) -> Self {
        Self { time, place: thread & 1023 | instruction << 10, block }
    }

    /// Whether there was an access.
    #[inline]
    pub(super) fn some(self) -> bool {
        self.time != 0
    }

    #[inline]
    pub(super) fn thread(self) -> u32 {
        self.place & 1023
    }

    #[inline]
    pub(super) fn warp(self) -> usize {
        (self.place >> 5 & 31) as usize
    }

    #[inline]
    pub(super) fn instruction(self) -> u32 {
        self.place >> 10
    }

    /// The same of another lane of the warp.
    pub(super) fn by_lane(self, lane: usize) -> Self {
        Self { place: self.place & !31 | lane as u32, ..self }
    }
}

/// The accesses of some lanes of a warp at one time, often by one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Slot {
    /// One of them: by the instruction that brought a lane last.
    pub record: Record,
    pub lanes: u32,
    /// The place of the one before it. A thread reads its own element and its neighbours', and whichever of the two lanes that
    /// read an element writes it, a report names the line of the other.
    before: u32,
}

impl Slot {
    pub(super) fn one(record: Record) -> Self {
        Self::of(record, 1 << (record.thread() % 32))
    }

    /// The access of some lanes by one instruction.
    pub(super) fn of(record: Record, lanes: u32) -> Self {
        Self { record, lanes, before: record.place }
    }

    /// Adds accesses of this warp at this time.
    #[inline]
    pub(super) fn join(&mut self, record: Record, lanes: u32) {
        if lanes & !self.lanes != 0 && record.instruction() != self.record.instruction() {
            (self.before, self.record) = (self.record.place, record);
        }
        self.lanes |= lanes;
    }

    /// The access of one of the lanes: its own if it is known, else by one of the instructions.
    pub(super) fn by_lane(&self, lane: usize) -> Record {
        let before = Record { place: self.before, ..self.record };
        let known = [self.record, before].into_iter().find(|record| record.thread() as usize % 32 == lane);
        known.unwrap_or_else(|| self.record.by_lane(lane))
    }

    /// Whether the accesses were made by this warp at this time.
    #[inline]
    pub(super) fn same_moment(&self, record: Record) -> bool {
        let own = self.record;
        own.time == record.time && own.block == record.block && own.warp() == record.warp()
    }

    /// Whether they were made by this warp.
    pub(super) fn same_warp(&self, record: Record) -> bool {
        self.record.block == record.block && self.record.warp() == record.warp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gives_back_what_it_was_made_of() {
        assert!(!Record::default().some());
        for (block, thread, time, instruction) in [(0, 0, 1, 0), (1, 2, 3, 4), (u32::MAX, 1023, u32::MAX, 3_999_999)] {
            let record = Record::new(block, thread, time, instruction);
            assert!(record.some());
            let parts = (record.block, record.thread(), record.time, record.instruction());
            assert_eq!(parts, (block, thread, time, instruction));
            assert_eq!(record.warp() as u32, thread / 32);
            assert_eq!(record.by_lane(7), Record::new(block, thread & !31 | 7, time, instruction));
        }
    }
}
