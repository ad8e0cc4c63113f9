//! A whole run: the log of what happened, and a state now and then, so that any time is a short way from one.

use crate::effect::Effect;
use crate::log::{Log, Opened};
use crate::state::State;
use simt::Counts;
use std::ops::Deref;

/// The whole run.
#[derive(Debug, Default)]
pub struct Tape {
    /// What happened.
    pub log: Log,
    /// The state after the last event.
    pub end: State,
    /// The tape was full, and nothing is recorded from there on.
    pub full: bool,
    /// The states that were kept while the run was recorded.
    pub kept: Vec<State>,
    kept_bytes: usize,
    every: u32,
}

/// Events between two states that are kept, at least.
const EVERY: u32 = 4096;
/// Bytes of all states that are kept, about.
const KEPT: usize = 12 << 20;

impl Tape {
    /// Bytes of memory that the tape takes.
    pub fn memory(&self) -> usize {
        self.log.memory() + self.kept_bytes
    }

    /// Adds an event of the latest launch.
    pub fn push(
        &mut self,
        place: (u32, u32),
        instruction: (u32, u32),
        counts: Counts,
        written: &[[u32; 32]],
        effects: Vec<Effect>,
    ) {
        let time = self.log.length();
        if !self.log.push(place, instruction, counts, written, effects) {
            self.full = true;
            return;
        }
        let mut state = std::mem::take(&mut self.end);
        state.apply(&self.log, time);
        if time + 1 - self.kept.last().map_or(0, |kept| kept.time) >= self.every.max(EVERY) {
            self.keep(&state);
        }
        self.end = state;
    }

    fn keep(&mut self, state: &State) {
        self.kept_bytes += state.memory();
        self.kept.push(state.clone());
        if self.kept_bytes > KEPT && self.kept.len() > 3 {
            let mut number = 0;
            self.kept.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.kept_bytes = self.kept.iter().map(State::memory).sum();
            self.every = self.every.max(EVERY) * 2;
        }
    }

    /// A barrier of a block has opened after the latest event.
    pub fn open(&mut self, block: u32, warps: u32) {
        let Some(event) = self.log.length().checked_sub(1) else { return };
        self.log.opened.push(Opened { event, block, warps });
        self.end.open(block, warps);
        self.also_kept(|state| state.open(block, warps));
    }

    /// A block of the latest launch has ended, after its latest event.
    pub fn block_ended(&mut self, block: u32) {
        let last = self.log.events.iter().rposition(|event| event.block == block);
        let Some(launch) = self.log.launches.last_mut() else { return };
        let (first, last) = (launch.events.start, last.map_or(u32::MAX, |last| last as u32));
        if let Some(span) = launch.spans.get_mut(block as usize).filter(|_| last != u32::MAX && last >= first) {
            span.1 = last;
            self.end.drop_block(block);
            self.also_kept(|state| state.drop_block(block));
        }
    }

    /// What happened after the latest event belongs to a state that was kept just then.
    fn also_kept(&mut self, change: impl FnOnce(&mut State)) {
        let time = self.log.length();
        if let Some(kept) = self.kept.last_mut().filter(|kept| kept.time == time) {
            change(kept);
        }
    }

    /// The state at the start.
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
            state.apply(&self.log, state.time);
        }
    }
}

impl Deref for Tape {
    type Target = Log;

    fn deref(&self) -> &Log {
        &self.log
    }
}
