//! One access in twelve bytes: which thread of which block, when by the clock of its warp, which instruction.

/// An access, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Event {
    /// Time of the thread's warp, from 1; 0 if there was no access.
    pub time: u32,
    /// Thread in the block, and above it the instruction: there are at most 2²² instructions.
    place: u32,
    pub block: u32,
}

impl Event {
    pub(super) fn new(block: u32, thread: u32, time: u32, instruction: u32) -> Self {
        Self { time, place: thread & 1023 | instruction << 10, block }
    }

    /// Whether there was an access.
    #[inline]
    pub(super) fn some(self) -> bool {
        self.time != 0
    }

    /// Whether a later access of the block is ordered behind it by barriers, if there was one; `row` is what its warp
    /// knows of the others.
    #[inline]
    pub(super) fn is_settled(self, later: Self, row: &[u32]) -> bool {
        self.time == 0 || self.block == later.block && row[self.warp()] >= self.time
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

    /// What another lane of the warp did in this instruction.
    pub(super) fn by_lane(self, lane: usize) -> Self {
        Self { place: self.place & !31 | lane as u32, ..self }
    }
}

/// The accesses of some lanes of a warp at one time, often by one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Slot {
    /// One of them: by the instruction that brought a lane last.
    pub event: Event,
    pub lanes: u32,
    /// The place of the one before it. A thread reads its own element and its neighbours', and whichever of the two lanes that
    /// read an element writes it, a report names the line of the other.
    before: u32,
}

impl Slot {
    pub(super) fn one(event: Event) -> Self {
        Self::of(event, 1 << (event.thread() % 32))
    }

    /// The access of some lanes by one instruction.
    pub(super) fn of(event: Event, lanes: u32) -> Self {
        Self { event, lanes, before: event.place }
    }

    /// Adds accesses of this warp at this time.
    #[inline]
    pub(super) fn join(&mut self, event: Event, lanes: u32) {
        if lanes & !self.lanes != 0 && event.instruction() != self.event.instruction() {
            (self.before, self.event) = (self.event.place, event);
        }
        self.lanes |= lanes;
    }

    /// The access of one of the lanes: its own if it is known, else by one of the instructions.
    pub(super) fn by_lane(&self, lane: usize) -> Event {
        let before = Event { place: self.before, ..self.event };
        let known = [self.event, before].into_iter().find(|event| event.thread() as usize % 32 == lane);
        known.unwrap_or_else(|| self.event.by_lane(lane))
    }

    /// The same by another lane, if this is what the first lane did.
    pub(super) fn of_lane(self, lane: usize) -> Self {
        Self { event: self.event.by_lane(lane), lanes: self.lanes << lane, before: self.before & !31 | lane as u32 }
    }

    /// Whether the accesses were made by this warp at this time.
    #[inline]
    pub(super) fn same_moment(&self, event: Event) -> bool {
        let own = self.event;
        own.time == event.time && own.block == event.block && own.warp() == event.warp()
    }

    /// Whether they were made by this warp.
    pub(super) fn same_warp(&self, event: Event) -> bool {
        self.event.block == event.block && self.event.warp() == event.warp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_warp_does_at_one_time_is_one_moment() {
        let slot = Slot::one(Event::new(3, 40, 7, 11));
        assert!(slot.same_moment(Event::new(3, 63, 7, 12)));
        for (block, thread, time) in [(2, 40, 7), (3, 64, 7), (3, 40, 8)] {
            assert!(!slot.same_moment(Event::new(block, thread, time, 11)));
        }
    }

    #[test]
    fn an_event_gives_back_what_it_was_made_of() {
        assert!(!Event::default().some());
        for (block, thread, time, instruction) in [(0, 0, 1, 0), (1, 2, 3, 4), (u32::MAX, 1023, u32::MAX, 3_999_999)] {
            let event = Event::new(block, thread, time, instruction);
            assert!(event.some());
            let parts = (event.block, event.thread(), event.time, event.instruction());
            assert_eq!(parts, (block, thread, time, instruction));
            assert_eq!(event.warp() as u32, thread / 32);
            assert_eq!(event.by_lane(7), Event::new(block, thread & !31 | 7, time, instruction));
        }
    }
}
