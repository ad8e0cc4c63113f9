//! What a run looks like at one time, and how an event changes it.

use crate::bits::lanes;
use crate::effect::{AccessEvent, Effect};
use crate::log::Log;
use simt::{AccessKind, Counts, Space};
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
    /// The barrier that it waits at.
    pub barrier: Option<u32>,
    /// Groups of copies that it has closed.
    groups: u32,
}

/// An asynchronous copy that has not landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flight {
    /// The event that started it.
    pub event: u32,
    /// The warp.
    pub warp: u32,
    /// Its group by number; it is closed if the warp has closed more.
    group: u32,
    /// Its group is closed.
    pub closed: bool,
}

/// A block that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Shared memory.
    pub shared: Vec<u32>,
    /// Whether each word of it has been written, by bits.
    pub written: Vec<u32>,
    /// Its warps.
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
    /// All counts so far.
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
                warp.barrier = None;
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
        let counts = log.counts(&event);
        let key = program.instructions.get(event.instruction as usize).map_or(0, |instruction| instruction.key);
        self.totals += counts;
        if self.lines.len() <= key {
            self.lines.resize(log.keys.names.len().max(key + 1), Counts::default());
        }
        self.lines[key] += counts;

        let Self { blocks, arrays, touched, .. } = self;
        let block = blocks.entry(event.block()).or_insert_with(|| {
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
                    barrier: None,
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
        let Some(warp) = warps.get_mut(event.warp() as usize) else { return };
        warp.last = Some(number);
        let effects = log.effects(program, &event, |number, (low, high)| {
            let register = &program.registers[number];
            let place = 32 * register.place;
            for lane in lanes(event.lanes) {
                warp.registers[place + lane] = low[lane];
                if register.bytes == 8 {
                    warp.registers[place + 32 + lane] = high[lane];
                }
            }
            warp.times[number] = self.time;
        });
        let set_shared = |shared: &mut Vec<u32>, written: &mut Vec<u32>, word: usize, value: u32| {
            if let Some(to) = shared.get_mut(word) {
                *to = value;
                written[word / 32] |= 1 << (word % 32);
            }
        };
        for effect in effects {
            match effect {
                Effect::Access(access) => {
                    warp.access = Some(number);
                    if let Some(input) = warp.inputs.get_mut(access.array.unwrap_or(usize::MAX))
                        && access.kind == AccessKind::Load
                    {
                        *input = Some(number);
                    }
                    match (access.space, access.array) {
                        (Space::Global, Some(array)) => {
                            touch(&mut touched[array], &access);
                            store(&access, changed(&mut arrays[array], access.data.is_some()), |_| {});
                        }
                        (Space::Shared, _) => {
                            store(&access, Some(shared), |word| written[word / 32] |= 1 << (word % 32));
                        }
                        _ => {}
                    }
                }
                Effect::Copy(copy) => {
                    warp.access = Some(number);
                    if let Some(input) = warp.inputs.get_mut(copy.array.unwrap_or(usize::MAX)) {
                        *input = Some(number);
                    }
                    if let Some([reads, _]) = touched.get_mut(copy.array.unwrap_or(usize::MAX)) {
                        let reads = Arc::make_mut(reads);
                        for lane in lanes(copy.lanes) {
                            let first = copy.from[lane] / 4;
                            for word in first..first + copy.source_bytes[lane].div_ceil(4) {
                                if let Some(count) = reads.get_mut(word as usize) {
                                    *count += 1;
                                }
                            }
                        }
                    }
                    flights.push(Flight { event: number, warp: event.warp(), group: warp.groups, closed: false });
                }
                Effect::Writes(None, words) => {
                    for (word, value) in words {
                        set_shared(shared, written, word as usize, value);
                    }
                }
                Effect::Writes(Some(array), words) => {
                    let (Some(array), Some([_, writes])) = (arrays.get_mut(array), touched.get_mut(array)) else {
                        continue;
                    };
                    let (array, writes) = (Arc::make_mut(array), Arc::make_mut(writes));
                    for (word, value) in words {
                        if let (Some(to), Some(count)) = (array.get_mut(word as usize), writes.get_mut(word as usize)) {
                            *to = value;
                            *count += 1;
                        }
                    }
                }
                Effect::Commit => {
                    warp.groups += 1;
                    let own = |flight: &&mut Flight| flight.warp == event.warp();
                    flights.iter_mut().filter(own).for_each(|flight| flight.closed = true);
                }
                Effect::Wait(pending) => {
                    let closed = warp.groups;
                    let lands = |flight: &Flight| pending.is_none_or(|pending| flight.group + pending < closed);
                    flights.retain(|flight| flight.warp != event.warp() || !lands(flight));
                }
                Effect::Product(_) => {} // what it writes is in the registers already
                Effect::Arrive(id) => warp.barrier = Some(id),
                Effect::Exit(lanes) => {
                    warp.ended |= lanes;
                    if warp.ended == u32::MAX {
                        // What nobody waited for never lands.
                        flights.retain(|flight| flight.warp != event.warp());
                    }
                }
            }
        }
        for opened in log.opened_after(number) {
            self.open(opened.block, opened.warps);
        }
        if of_launch.spans.get(event.block() as usize).is_some_and(|span| span.1 == number) {
            self.drop_block(event.block());
        }
    }
}

/// The values, if they are going to change.
fn changed(values: &mut Arc<Vec<u32>>, change: bool) -> Option<&mut Vec<u32>> {
    change.then(|| Arc::make_mut(values))
}

/// Counts the words that an access reads or writes.
fn touch([reads, writes]: &mut [Arc<Vec<u32>>; 2], access: &AccessEvent) {
    let counts = Arc::make_mut(if access.kind == AccessKind::Store { writes } else { reads });
    for lane in lanes(access.lanes) {
        let first = access.addresses[lane] / 4;
        for word in first..first + access.bytes.div_ceil(4) {
            if let Some(count) = counts.get_mut(word as usize) {
                *count += 1;
            }
        }
    }
}

/// Writes what a store brings, and tells the words.
fn store(access: &AccessEvent, memory: Option<&mut Vec<u32>>, mut wrote: impl FnMut(usize)) {
    let (Some(data), Some(memory)) = (&access.data, memory) else { return };
    for lane in lanes(access.lanes) {
        let first = access.addresses[lane] as usize / 4;
        for (part, values) in data.iter().enumerate().take(access.bytes.div_ceil(4) as usize) {
            let Some(word) = memory.get_mut(first + part) else { continue };
            if access.bytes >= 4 {
                *word = values[lane];
            } else {
                let (shift, ones) = (8 * (access.addresses[lane] % 4), (1_u32 << (8 * access.bytes)) - 1);
                *word = *word & !(ones << shift) | (values[lane] & ones) << shift;
            }
            wrote(first + part);
        }
    }
}
