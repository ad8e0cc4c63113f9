//! What a run looks like at one time, and how an event changes it.

use crate::effect::{Effect, Touched, lanes};
use crate::log::Log;
use simt::Counts;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Shared memory before a kernel writes it.
pub const GARBAGE: u32 = 0xffff_ffff;

/// A warp of a block that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warp {
    /// All registers, 32 words a group.
    pub registers: Vec<u32>,
    /// By register: the time right after it was last written; 0 if it has not been.
    pub times: Vec<u32>,
    /// Its latest event.
    pub last: Option<u32>,
    /// Its latest access to memory, or copy.
    pub access: Option<u32>,
    /// Its latest reads of A and of B.
    pub inputs: [Option<u32>; 2],
    /// Lanes whose threads have ended, and those that there are not.
    pub ended: u32,
    /// It waits at a barrier.
    pub at_barrier: bool,
    /// Groups of copies that it has closed.
    groups: u32,
}

/// An asynchronous copy that has not landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flight {
    /// The event that started it.
    pub event: u32,
    pub warp: u32,
    /// Its group by number; it is closed if the warp has closed more.
    group: u32,
    pub closed: bool,
}

/// A block that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub shared: Vec<u32>,
    /// Whether each word of it has been written, by bits.
    pub written: Vec<u32>,
    pub warps: Vec<Warp>,
    /// Copies on their way.
    pub flights: Vec<Flight>,
}

/// The state of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// How many events have happened.
    pub time: u32,
    /// The arrays of global memory.
    pub arrays: Vec<Arc<Vec<u32>>>,
    /// How often each word of them has been read, and written.
    pub touched: Vec<[Arc<Vec<u32>>; 2]>,
    /// The blocks that run, by number.
    pub blocks: BTreeMap<u32, Block>,
    /// The launch that runs.
    pub launch: usize,
    pub totals: Counts,
    /// Counts so far of each line.
    pub lines: Vec<Counts>,
}

impl State {
    /// Before the first event.
    pub fn new(log: &Log) -> Self {
        let zeros = |words: usize| Arc::new(vec![0; words]);
        Self {
            arrays: log.arrays.iter().map(|array| Arc::new(array.words.clone())).collect(),
            touched: log.arrays.iter().map(|array| [zeros(array.words.len()), zeros(array.words.len())]).collect(),
            ..Self::default()
        }
    }

    /// Bytes of memory it takes, about.
    pub fn memory(&self) -> usize {
        let warp = |warp: &Warp| 4 * (warp.registers.len() + warp.times.len());
        let block = |block: &Block| {
            4 * (block.shared.len() + block.written.len()) + block.warps.iter().map(warp).sum::<usize>()
        };
        let arrays: usize = self.arrays.iter().map(|array| 12 * array.len()).sum();
        self.blocks.values().map(block).sum::<usize>() + arrays + self.lines.len() * size_of::<Counts>()
    }

    /// Forgets a block that has ended.
    pub fn drop_block(&mut self, block: u32) {
        self.blocks.remove(&block);
    }

    /// A barrier of a block opens.
    pub fn open(&mut self, block: u32, warps: u32) {
        let Some(block) = self.blocks.get_mut(&block) else { return };
        for (number, warp) in block.warps.iter_mut().enumerate() {
            if warps >> number & 1 != 0 {
                warp.at_barrier = false;
            }
        }
    }

    /// Applies the event that comes next.
    pub fn apply(&mut self, log: &Log, number: u32) {
        let Some(&event) = log.events.get(number as usize) else { return };
        let launch = log.launch_of(number);
        if launch != self.launch {
            self.launch = launch;
            self.blocks.clear();
        }
        self.time = number + 1;
        let of_launch = &log.launches[launch];
        let program = &of_launch.program;
        let counts = log.counts(number);
        let key = program.instructions.get(event.instruction as usize).map_or(0, |instruction| instruction.key);
        self.totals += counts;
        if self.lines.len() <= key {
            self.lines.resize(log.keys.names.len().max(key + 1), Counts::default());
        }
        self.lines[key] += counts;

        let Self { blocks, arrays, touched, .. } = self;
        let block = blocks.entry(event.block).or_insert_with(|| {
            let words = of_launch.shared_bytes.div_ceil(4) as usize;
            let warps = (0..of_launch.warps()).map(|warp| {
                let threads = (of_launch.threads() - warp * 32).min(32);
                Warp {
                    registers: vec![0; 32 * program.groups],
                    times: vec![0; program.registers.len()],
                    last: None,
                    access: None,
                    inputs: [None; 2],
                    ended: if threads == 32 { 0 } else { u32::MAX << threads },
                    at_barrier: false,
                    groups: 0,
                }
            });
            Block {
                shared: vec![GARBAGE; words],
                written: vec![0; words.div_ceil(32)],
                warps: warps.collect(),
                flights: vec![],
            }
        });
        let Block { shared, written, warps, flights } = block;
        let Some(warp) = warps.get_mut(event.warp as usize) else { return };
        warp.last = Some(number);
        for (number, low, high) in log.written(number) {
            let register = &program.registers[number];
            for lane in lanes(event.lanes) {
                warp.registers[32 * register.place + lane] = low[lane];
                if register.bytes == 8 {
                    warp.registers[32 * register.place + 32 + lane] = high[lane];
                }
            }
            warp.times[number] = self.time;
        }
        for effect in log.effects(number) {
            match effect {
                Effect::Access(_) | Effect::Copy(_) => {
                    warp.access = Some(number);
                    for Touched { array, word, reads, writes, .. } in effect.touched() {
                        let Some(array) = array else { continue };
                        if let Some(input) = warp.inputs.get_mut(array).filter(|_| reads) {
                            *input = Some(number);
                        }
                        for (counts, _) in
                            touched[array].iter_mut().zip([reads, writes]).filter(|(_, happens)| *happens)
                        {
                            if let Some(count) = Arc::make_mut(counts).get_mut(word as usize) {
                                *count += 1;
                            }
                        }
                    }
                    if matches!(effect, Effect::Copy(_)) {
                        flights.push(Flight { event: number, warp: event.warp, group: warp.groups, closed: false });
                    }
                }
                Effect::Writes(None, words) => {
                    for &(word, value) in words {
                        if let Some(to) = shared.get_mut(word as usize) {
                            *to = value;
                            written[word as usize / 32] |= 1 << (word % 32);
                        }
                    }
                }
                Effect::Writes(Some(array), words) => {
                    let array = Arc::make_mut(&mut arrays[*array]);
                    for &(word, value) in words {
                        if let Some(to) = array.get_mut(word as usize) {
                            *to = value;
                        }
                    }
                }
                Effect::Commit => {
                    warp.groups += 1;
                    let own = |flight: &&mut Flight| flight.warp == event.warp;
                    flights.iter_mut().filter(own).for_each(|flight| flight.closed = true);
                }
                Effect::Wait(pending) => {
                    let closed = warp.groups;
                    let lands = |flight: &Flight| pending.is_none_or(|pending| flight.group + pending < closed);
                    flights.retain(|flight| flight.warp != event.warp || !lands(flight));
                }
                Effect::Product(_) => {} // what it writes is in the registers already
                Effect::Arrive => warp.at_barrier = true,
                Effect::Exit(lanes) => {
                    warp.ended |= lanes;
                    if warp.ended == u32::MAX {
                        // What nobody waited for never lands.
                        flights.retain(|flight| flight.warp != event.warp);
                    }
                }
            }
        }
        for opened in log.opened_after(number) {
            self.open(opened.block, opened.warps);
        }
        if of_launch.spans.get(event.block as usize).is_some_and(|span| span.1 == number) {
            self.drop_block(event.block);
        }
    }
}
