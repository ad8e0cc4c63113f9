//! The state of a run at one time, and how an event changes it.

use crate::log::{Effect, LaunchTape, Log, Touched, lanes};
use simt::Counts;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// Shared memory before a kernel writes it.
pub const GARBAGE: u32 = 0xffff_ffff;

/// A warp of a block that has begun.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Warp {
    /// By register: what each lane holds.
    pub registers: Vec<[u64; 32]>,
    /// By register: the time right after it was last written; 0 if it has not been.
    pub times: Vec<u32>,
    pub last: Option<u32>,
    /// Its latest access to memory, or copy.
    pub access: Option<u32>,
    /// Lanes whose threads have ended, or that have no thread.
    ended: u32,
    pub at_barrier: bool,
    /// Groups of copies that it has closed.
    groups: u32,
}

impl Warp {
    /// Whether all of its threads have ended.
    pub fn has_ended(&self) -> bool {
        self.ended == u32::MAX
    }
}

/// An asynchronous copy that has not landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flight {
    /// The event that started it.
    pub event: u32,
    pub warp: u32,
    /// Its group by number; it is closed if the warp has closed more.
    group: u32,
}

/// A block that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub shared: Vec<u32>,
    /// Whether each word of it has been written, by bits.
    written: Vec<u32>,
    pub warps: Vec<Warp>,
    pub flights: Vec<Flight>,
}

impl Block {
    fn new(launch: &LaunchTape) -> Self {
        let words = launch.shared_bytes.div_ceil(4) as usize;
        let registers = launch.program.registers.len();
        let warp = |warp: u32| {
            let threads = (launch.block.count() as u32 - warp * 32).min(32);
            Warp {
                registers: vec![[0; 32]; registers],
                times: vec![0; registers],
                ended: if threads == 32 { 0 } else { u32::MAX << threads },
                ..Warp::default()
            }
        };
        Self {
            shared: vec![GARBAGE; words],
            written: vec![0; words.div_ceil(32)],
            warps: (0..launch.warps()).map(warp).collect(),
            flights: vec![],
        }
    }

    /// Whether all of its warps have ended.
    pub fn has_ended(&self) -> bool {
        self.warps.iter().all(Warp::has_ended)
    }

    /// The value of a word of shared memory, if it has been written.
    pub fn held(&self, word: u32) -> Option<u32> {
        let written = self.written.get(word as usize / 32)? >> (word % 32) & 1 != 0;
        self.shared.get(word as usize).copied().filter(|_| written)
    }
}

/// The state of a run. Copies share what has not changed between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// How many events have happened.
    pub time: u32,
    pub arrays: Vec<Arc<Vec<u32>>>,
    /// How often each word of them has been read, and written.
    pub touched: Vec<[Arc<Vec<u32>>; 2]>,
    /// The launch that runs; at the end the last.
    pub launch: usize,
    /// The blocks of this launch that have begun, by number.
    pub blocks: BTreeMap<u32, Arc<Block>>,
    pub totals: Counts,
    pub lines: Vec<Counts>,
}

impl State {
    pub fn new(log: &Log) -> Self {
        let zeros = |words: usize| Arc::new(vec![0; words]);
        Self {
            arrays: log.arrays.iter().map(|array| Arc::new(array.words.clone())).collect(),
            touched: log.arrays.iter().map(|array| [zeros(array.words.len()), zeros(array.words.len())]).collect(),
            lines: vec![Counts::default(); log.lines.len()],
            ..Self::default()
        }
    }

    /// Applies the event that comes next.
    pub fn apply(&mut self, log: &Log) {
        let (number, launch) = (self.time, &log.launches[self.launch]);
        let event = log.event(number);
        self.time += 1;
        self.totals += &*event.counts;
        self.lines[launch.program.instructions[event.instruction as usize].key] += &*event.counts;
        let block = self.blocks.entry(event.block).or_insert_with(|| Arc::new(Block::new(launch)));
        let block = Arc::make_mut(block);
        let warp = &mut block.warps[event.warp as usize];
        warp.last = Some(number);
        for (register, values) in log.written(number) {
            lanes(event.lanes).for_each(|lane| warp.registers[register][lane] = values[lane]);
            warp.times[register] = self.time;
        }
        for effect in &event.effects {
            match effect {
                Effect::Request(request) => {
                    warp.access = Some(number);
                    for Touched { array, word, reads, writes, .. } in request.touched() {
                        let Some(array) = array else { continue };
                        for (counts, happens) in self.touched[array].iter_mut().zip([reads, writes]) {
                            if happens && let Some(count) = Arc::make_mut(counts).get_mut(word as usize) {
                                *count += 1;
                            }
                        }
                    }
                    if request.copy.is_some() {
                        block.flights.push(Flight { event: number, warp: event.warp, group: warp.groups });
                    }
                }
                Effect::Writes(words) => {
                    for &(array, word, value) in words {
                        let word = word as usize;
                        if let Some(array) = array {
                            Arc::make_mut(&mut self.arrays[array])[word] = value;
                        } else {
                            block.shared[word] = value;
                            block.written[word / 32] |= 1 << (word % 32);
                        }
                    }
                }
                Effect::Commit => warp.groups += 1,
                Effect::Wait(pending) => {
                    let closed = warp.groups;
                    let lands = |flight: &Flight| pending.is_none_or(|pending| flight.group + pending < closed);
                    block.flights.retain(|flight| flight.warp != event.warp || !lands(flight));
                }
                Effect::Product(_) => {} // what it writes is in the registers already
                Effect::Arrive => warp.at_barrier = true,
                Effect::Exit(lanes) => {
                    warp.ended |= lanes;
                    if warp.has_ended() {
                        // A copy that no thread waited for never lands.
                        block.flights.retain(|flight| flight.warp != event.warp);
                    }
                }
            }
        }
        let first = log.opened.partition_point(|opened| opened.event < number);
        for opened in log.opened[first..].iter().take_while(|opened| opened.event == number) {
            if let Some(block) = self.blocks.get_mut(&opened.block) {
                let warps = Arc::make_mut(block).warps.iter_mut().enumerate();
                let going_on = warps.filter(|(number, _)| opened.warps >> number & 1 != 0);
                going_on.for_each(|(_, warp)| warp.at_barrier = false);
            }
        }
        if self.time == launch.events.end && self.launch + 1 < log.launches.len() {
            self.launch += 1;
            self.blocks.clear();
        }
    }
}

/// A whole run: the log of what happened, and a state now and then, so that any time is a short way from one.
#[derive(Debug)]
pub struct Tape {
    pub log: Log,
    /// The state after the last event.
    pub end: State,
    /// The first is the state at the start.
    kept: Vec<State>,
}

/// Events between two states that are kept, at least.
const EVERY: u32 = 4096;
/// Most states that are kept, with that at the start.
const MOST: usize = 17;

impl Tape {
    pub fn new(log: Log) -> Self {
        let (mut end, mut every) = (State::new(&log), EVERY);
        let mut kept = vec![end.clone()];
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
        self.kept[0].clone()
    }

    /// Brings a state of this run to another time: forwards from where it is, or from one that was kept.
    pub fn seek(&self, state: &mut State, time: u32) {
        let time = time.min(self.log.length());
        let kept = &self.kept[self.kept.partition_point(|kept| kept.time <= time) - 1];
        if state.time > time || kept.time > state.time {
            *state = kept.clone();
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
