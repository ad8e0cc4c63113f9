//! One access in twelve bytes: its thread and block, its instruction, and its time by the clock of its warp.

/// An access, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Event {
    /// Time of the thread's warp, from 1; 0 if there was no access.
    pub time: u32,
    /// The thread in the block in the low 10 bits, and the instruction above it. A kernel has at most 2²² instructions.
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

    /// Whether there was no access, or barriers order it before a later access of the block. `row` is what the warp of the later
    /// access knows of the other warps.
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

    /// Returns the access of another lane by the same instruction.
    pub(super) fn by_lane(self, lane: usize) -> Self {
        Self { place: self.place & !31 | lane as u32, ..self }
    }
}

/// The accesses of some lanes of a warp at one time, usually by one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Slot {
    /// One of the accesses, by the instruction that last added a lane.
    pub event: Event,
    pub lanes: u32,
    /// `Event::place` of the instruction before that. A thread may read its own element and its neighbour's by two instructions.
    /// Keeping both lets a report name the right line, whichever of the two lanes that read an element then writes it.
    before: u32,
}

impl Slot {
    pub(super) fn one(event: Event) -> Self {
        Self::of(event, 1 << (event.thread() % 32))
    }

    /// Makes a slot for the accesses of some lanes by one instruction.
    pub(super) fn of(event: Event, lanes: u32) -> Self {
        Self { event, lanes, before: event.place }
    }

    /// Adds accesses of the same warp at the same time.
    #[inline]
    pub(super) fn join(&mut self, event: Event, lanes: u32) {
        if lanes & !self.lanes != 0 && event.instruction() != self.event.instruction() {
            (self.before, self.event) = (self.event.place, event);
        }
        self.lanes |= lanes;
    }

    /// Returns the access of one lane. If its instruction is not known, it is that of the latest one.
    pub(super) fn by_lane(&self, lane: usize) -> Event {
        let before = Event { place: self.before, ..self.event };
        let known = [self.event, before].into_iter().find(|event| event.thread() as usize % 32 == lane);
        known.unwrap_or_else(|| self.event.by_lane(lane))
    }

    /// Returns the slot of another lane that did what the first lane did in this slot.
    pub(super) fn of_lane(self, lane: usize) -> Self {
        Self { event: self.event.by_lane(lane), lanes: self.lanes << lane, before: self.before & !31 | lane as u32 }
    }

    /// Whether the accesses were made by the warp of this event at the same time.
    #[inline]
    pub(super) fn same_moment(&self, event: Event) -> bool {
        let own = self.event;
        own.time == event.time && own.block == event.block && own.warp() == event.warp()
    }

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
