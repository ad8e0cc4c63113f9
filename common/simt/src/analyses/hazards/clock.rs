//! A block's time: it steps at every synchronisation. From it follows which accesses are ordered.

use super::record::{LAST_TIME, Record};
use crate::lanes::each;

/// When the threads of a block last synchronised.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    now: u16,
    /// When each warp last met others at a barrier.
    barrier_time: Vec<u16>,
    /// The earliest of these: what happened up to then is ordered before everything now.
    all_met: u16,
    /// When each thread last met the others of its warp.
    lane_time: Vec<u16>,
}

impl Clock {
    pub(super) fn new(warps: usize) -> Self {
        Self { now: 1, barrier_time: vec![0; warps], all_met: 0, lane_time: vec![0; warps * 32] }
    }

    /// Starts again at the first moment.
    pub(super) fn restart(&mut self) {
        self.now = 1;
        self.barrier_time.fill(0);
        self.all_met = 0;
        self.lane_time.fill(0);
    }

    #[inline]
    pub(super) fn now(&self) -> u16 {
        self.now
    }

    /// Everything up to this moment is ordered before everything now.
    #[inline]
    pub(super) fn all_met(&self) -> u16 {
        self.all_met
    }

    /// Lets time step and says what time it was: 0 if the clock has run out and restarted, so that all records must be
    /// forgotten or set to time 0.
    pub(super) fn tick(&mut self) -> u16 {
        let now = self.now;
        self.now += 1;
        if self.now < LAST_TIME {
            return now;
        }
        self.restart();
        0
    }

    /// The warps whose bits are set have met at a barrier.
    pub(super) fn warps_met(&mut self, warps: u32, time: u16) {
        for (warp, met) in self.barrier_time.iter_mut().enumerate() {
            if warps >> warp & 1 != 0 {
                *met = time;
            }
        }
        self.all_met = self.barrier_time.iter().copied().min().unwrap_or(0);
    }

    /// Lanes of a warp have met.
    pub(super) fn lanes_met(&mut self, warp: u32, lanes: u32, time: u16) {
        for lane in each(lanes) {
            if let Some(met) = self.lane_time.get_mut(warp as usize * 32 + lane) {
                *met = time;
            }
        }
    }

    /// Whether the access of a record is ordered before one by `thread` now.
    #[inline]
    pub(super) fn ordered(&self, record: Record, thread: u32) -> bool {
        let other = record.thread();
        if other == thread {
            return true;
        }
        let (a, b) = (other as usize / 32, thread as usize / 32);
        let time = record.time();
        time <= self.barrier_time[a].min(self.barrier_time[b])
            || a == b && time <= self.lane_time[other as usize].min(self.lane_time[thread as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_steps_and_starts_again() {
        let mut clock = Clock::new(2);
        for time in 1..LAST_TIME - 1 {
            assert_eq!((clock.now(), clock.tick()), (time, time));
        }
        clock.warps_met(0b11, 7);
        clock.lanes_met(0, 0b11, 7);
        let early = Record::new(0, 1, 0);
        assert!(clock.all_met() == 7 && clock.ordered(early, 1) && clock.ordered(early, 40));
        assert_eq!((clock.now(), clock.tick()), (LAST_TIME - 1, 0));
        assert_eq!((clock.now(), clock.all_met()), (1, 0));
        assert!(!clock.ordered(early, 1) && !clock.ordered(early, 40));
        assert!(clock.ordered(Record::new(0, 0, 0), 40), "what was before the restart is ordered");
    }

    #[test]
    fn all_have_met_when_the_last_has() {
        let mut clock = Clock::new(3);
        clock.warps_met(0b011, 5);
        assert_eq!(clock.all_met(), 0);
        clock.warps_met(0b110, 6);
        assert_eq!(clock.all_met(), 5);
        assert!(clock.ordered(Record::new(40, 6, 0), 70) && !clock.ordered(Record::new(40, 6, 0), 3));
        assert!(clock.ordered(Record::new(3, 9, 0), 3), "a thread is ordered with itself");
    }

    #[test]
    fn lanes_meet_in_their_own_warp() {
        let mut clock = Clock::new(2);
        clock.lanes_met(1, 0b101, 4);
        let record = Record::new(32, 4, 0);
        assert!(clock.ordered(record, 34) && !clock.ordered(record, 33) && !clock.ordered(record, 2));
        assert!(!clock.ordered(Record::new(32, 5, 0), 34));
        assert!(!clock.ordered(Record::new(0, 4, 0), 2));
    }
}
