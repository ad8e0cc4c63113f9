//! A whole run: the log of what happened, and a state now and then, so that any time is a short way from one.

use crate::log::Log;
use crate::state::State;
use std::ops::Deref;

#[derive(Debug)]
pub struct Tape {
    pub log: Log,
    /// The state after the last event.
    pub end: State,
    kept: Vec<State>,
}

/// Events between two states that are kept, at least.
const EVERY: u32 = 4096;
/// States that are kept at most.
const MOST: usize = 16;

impl Tape {
    pub fn new(log: Log) -> Self {
        let (mut end, mut kept, mut every) = (State::new(&log), vec![], EVERY);
        while end.time < log.length() {
            end.apply(&log);
            if end.time % every == 0 {
                kept.push(end.clone());
                if kept.len() > MOST {
                    every *= 2;
                    kept.retain(|state| state.time % every == 0);
                }
            }
        }
        Self { log, end, kept }
    }

    pub fn start(&self) -> State {
        State::new(&self.log)
    }

    /// Brings a state of this run to another time: forwards from where it is, or from one that was kept.
    pub fn seek(&self, state: &mut State, time: u32) {
        let time = time.min(self.log.length());
        let kept = self.kept.partition_point(|kept| kept.time <= time).checked_sub(1).map(|at| &self.kept[at]);
        let nearer = kept.filter(|kept| state.time > time || kept.time > state.time);
        match nearer {
            Some(kept) => *state = kept.clone(),
            None if state.time > time => *state = self.start(),
            None => {}
        }
        while state.time < time {
            state.apply(&self.log);
        }
    }
}

impl Deref for Tape {
    type Target = Log;

    fn deref(&self) -> &Log {
        &self.log
    }
}
