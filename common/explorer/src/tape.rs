//! Everything that happened in a run, packed: an event for each instruction that a warp executed, and a whole state now and then.

use crate::bits::{Reader, put_lanes, put_number};
use crate::instructions::{Keys, Program};
use crate::state::State;
use simt::{AccessKind, Counts, Space};
use std::collections::HashMap;

/// A warp executed an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The block's number in the launch, and in the lowest five bits the warp's.
    place: u32,
    /// Number of the instruction in its kernel.
    pub instruction: u32,
    /// Lanes that executed it.
    pub lanes: u32,
    /// Where its values start on the tape.
    data: u32,
    /// Number of what it added to the counters.
    counts: u32,
}

impl Event {
    /// The block's number.
    pub fn block(&self) -> u32 {
        self.place >> 5
    }

    /// The warp's number in the block.
    pub fn warp(&self) -> u32 {
        self.place & 31
    }
}

/// An array of global memory: A, B, C and whatever else there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Where it starts.
    pub base: u64,
    /// Its size.
    pub bytes: u64,
    /// What it held at the start.
    pub words: Vec<u32>,
}

/// One launch of the run.
#[derive(Debug, Clone)]
pub struct LaunchTape {
    /// Its kernel.
    pub program: Program,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Its first event, and the one after its last.
    pub events: (u32, u32),
    /// By block: its first event and its last; `u32::MAX` if it has none.
    pub spans: Vec<(u32, u32)>,
}

impl LaunchTape {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(32)
    }
}

/// Something that an instruction does beside writing registers.
#[derive(Debug, Clone)]
pub enum Effect {
    /// An access to memory.
    Access(AccessEvent),
    /// An asynchronous copy.
    Copy(CopyEvent),
    /// Words that changed by other ways than a store: the array (none for shared memory), and places and values.
    Writes(Option<usize>, Vec<(u32, u32)>),
    /// A group of copies is closed.
    Commit,
    /// Waits until so many groups are in flight; none: until all copies have landed.
    Wait(Option<u32>),
    /// Arrives at a barrier and waits there.
    Arrive(u32),
    /// Threads end.
    Exit(u32),
}

/// An access to memory.
#[derive(Debug, Clone, Copy)]
pub struct AccessEvent {
    /// What it does.
    pub kind: AccessKind,
    /// Where.
    pub space: Space,
    /// The array of global memory.
    pub array: Option<usize>,
    /// The lanes that take part.
    pub lanes: u32,
    /// Bytes of a lane.
    pub bytes: u32,
    /// In bytes from the start of the array, or of shared memory.
    pub addresses: [u32; 32],
    /// What a store writes.
    pub data: Option<[[u32; 32]; 4]>,
}

/// An asynchronous copy.
#[derive(Debug, Clone, Copy)]
pub struct CopyEvent {
    /// The array that it reads; none if it only writes zeros.
    pub array: Option<usize>,
    /// The lanes that take part.
    pub lanes: u32,
    /// Bytes that a lane writes.
    pub bytes: u32,
    /// Whether it goes past the first-level cache.
    pub bypass: bool,
    /// Bytes that each lane reads.
    pub source_bytes: [u32; 32],
    /// Where each lane reads, in bytes from the start of the array.
    pub from: [u32; 32],
    /// Where each lane writes, in bytes from the start of shared memory.
    pub to: [u32; 32],
}

const ACCESS: u8 = 1;
const COPY: u8 = 2;
const WRITES: u8 = 3;
const COMMIT: u8 = 4;
const WAIT: u8 = 5;
const ARRIVE: u8 = 6;
const EXIT: u8 = 7;

/// Kinds of access, by their number on the tape.
const ACCESS_KINDS: [AccessKind; 3] = [AccessKind::Load, AccessKind::Store, AccessKind::Atomic];
const SPACES: [Space; 3] = [Space::Global, Space::Shared, Space::Local];

fn number_of<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter().position(|known| known == one).unwrap_or(0) as u8
}

impl Effect {
    /// Packs it.
    pub fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Access(access) => {
                bytes.extend([ACCESS, number_of(&ACCESS_KINDS, &access.kind), number_of(&SPACES, &access.space)]);
                put_number(bytes, access.array.map_or(0, |array| array as u64 + 1));
                bytes.extend(access.lanes.to_le_bytes());
                bytes.push(access.bytes as u8);
                put_lanes(bytes, access.lanes, &access.addresses);
                bytes.push(u8::from(access.data.is_some()));
                for values in access.data.iter().flatten().take(access.bytes.div_ceil(4) as usize) {
                    put_lanes(bytes, access.lanes, values);
                }
            }
            Self::Copy(copy) => {
                bytes.push(COPY);
                put_number(bytes, copy.array.map_or(0, |array| array as u64 + 1));
                bytes.extend(copy.lanes.to_le_bytes());
                bytes.extend([copy.bytes as u8, u8::from(copy.bypass)]);
                for values in [&copy.source_bytes, &copy.from, &copy.to] {
                    put_lanes(bytes, copy.lanes, values);
                }
            }
            Self::Writes(array, words) => {
                bytes.push(WRITES);
                put_number(bytes, array.map_or(0, |array| array as u64 + 1));
                put_number(bytes, words.len() as u64);
                for (place, word) in words {
                    put_number(bytes, u64::from(*place));
                    bytes.extend(word.to_le_bytes());
                }
            }
            Self::Commit => bytes.push(COMMIT),
            Self::Wait(pending) => {
                bytes.push(WAIT);
                put_number(bytes, pending.map_or(0, |pending| u64::from(pending) + 1));
            }
            Self::Arrive(id) => {
                bytes.push(ARRIVE);
                put_number(bytes, u64::from(*id));
            }
            Self::Exit(lanes) => {
                bytes.push(EXIT);
                bytes.extend(lanes.to_le_bytes());
            }
        }
    }

    /// The next one on the tape; none at the end of the event.
    fn take(reader: &mut Reader<'_>) -> Option<Self> {
        let mask = |reader: &mut Reader<'_>| u32::from_le_bytes([0; 4].map(|_: u8| reader.byte()));
        Some(match reader.byte() {
            ACCESS => {
                let kind = ACCESS_KINDS[usize::from(reader.byte()) % ACCESS_KINDS.len()];
                let space = SPACES[usize::from(reader.byte()) % SPACES.len()];
                let array = (reader.number() as usize).checked_sub(1);
                let lanes = mask(reader);
                let bytes = u32::from(reader.byte());
                let addresses = reader.lanes(lanes);
                let mut data = None;
                if reader.byte() != 0 {
                    let mut words = [[0; 32]; 4];
                    for word in words.iter_mut().take(bytes.div_ceil(4) as usize) {
                        *word = reader.lanes(lanes);
                    }
                    data = Some(words);
                }
                Self::Access(AccessEvent { kind, space, array, lanes, bytes, addresses, data })
            }
            COPY => {
                let array = (reader.number() as usize).checked_sub(1);
                let lanes = mask(reader);
                let (bytes, bypass) = (u32::from(reader.byte()), reader.byte() != 0);
                let [source_bytes, from, to] = [0; 3].map(|_: u8| reader.lanes(lanes));
                Self::Copy(CopyEvent { array, lanes, bytes, bypass, source_bytes, from, to })
            }
            WRITES => {
                let array = (reader.number() as usize).checked_sub(1);
                let count = reader.number();
                let word = |_| (reader.number() as u32, u32::from_le_bytes([0; 4].map(|_: u8| reader.byte())));
                Self::Writes(array, (0..count).map(word).collect())
            }
            COMMIT => Self::Commit,
            WAIT => Self::Wait((reader.number() as u32).checked_sub(1)),
            ARRIVE => Self::Arrive(reader.number() as u32),
            EXIT => Self::Exit(mask(reader)),
            _ => return None,
        })
    }
}

/// The values that an event wrote to a register: low words, and the high words of a wide one.
pub type Written = ([u32; 32], [u32; 32]);

/// The effects of an event, one after the other.
pub struct Effects<'a>(Reader<'a>);

impl Iterator for Effects<'_> {
    type Item = Effect;

    fn next(&mut self) -> Option<Effect> {
        Effect::take(&mut self.0)
    }
}

/// A barrier opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// The event after which it did.
    pub event: u32,
    /// The block.
    pub block: u32,
    /// The warps that go on.
    pub warps: u32,
}

/// The whole run.
#[derive(Debug, Default)]
pub struct Tape {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// The launches.
    pub launches: Vec<LaunchTape>,
    /// The arrays of global memory.
    pub arrays: Vec<Array>,
    /// The lines of all kernels.
    pub keys: Keys,
    /// Barriers that opened, in order.
    pub opened: Vec<Opened>,
    /// The state after the last event.
    pub end: State,
    /// The tape was full, and nothing is recorded from there on.
    pub full: bool,
    bytes: Vec<u8>,
    counts: Vec<Counts>,
    counts_of: HashMap<Counts, u32>,
    kept: Vec<State>,
    kept_bytes: usize,
    every: u32,
}

/// Events between two states that are kept, at least.
const EVERY: u32 = 4096;
/// Bytes of all states that are kept, about.
const KEPT: usize = 12 << 20;
/// Bytes of values on the tape at most.
const LONGEST: usize = 400 << 20;

impl Tape {
    /// Time goes from 0 to this.
    pub fn length(&self) -> u32 {
        self.events.len() as u32
    }

    /// Bytes of memory that the tape takes.
    pub fn memory(&self) -> usize {
        self.events.capacity() * size_of::<Event>()
            + self.bytes.capacity()
            + self.kept_bytes
            + self.counts.len() * size_of::<Counts>()
    }

    /// Adds an event of the latest launch.
    pub fn push(
        &mut self,
        place: (u32, u32),
        instruction: u32,
        lanes: u32,
        counts: Counts,
        data: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.bytes.len() > LONGEST {
            self.full = true;
            return;
        }
        let next = self.counts.len() as u32;
        let number = *self.counts_of.entry(counts).or_insert(next);
        if number == next {
            self.counts.push(counts);
        }
        let (start, (block, warp)) = (self.bytes.len() as u32, place);
        data(&mut self.bytes);
        self.bytes.push(0);
        let event = Event { place: block << 5 | warp & 31, instruction, lanes, data: start, counts: number };
        let time = self.length();
        self.events.push(event);
        if let Some(span) = self.launches.last_mut().and_then(|launch| launch.spans.get_mut(block as usize)) {
            span.0 = span.0.min(time);
        }
        let mut state = std::mem::take(&mut self.end);
        state.apply(self, time);
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
        let Some(event) = self.length().checked_sub(1) else { return };
        self.opened.push(Opened { event, block, warps });
        self.end.open(block, warps);
        self.also_kept(|state| state.open(block, warps));
    }

    /// A block of the latest launch has ended, after its latest event.
    pub fn block_ended(&mut self, block: u32) {
        let last = self.events.iter().rposition(|event| event.block() == block);
        let Some(launch) = self.launches.last_mut() else { return };
        let (first, last) = (launch.events.0, last.map_or(u32::MAX, |last| last as u32));
        if let Some(span) = launch.spans.get_mut(block as usize).filter(|_| last != u32::MAX && last >= first) {
            span.1 = last;
            self.end.drop_block(block);
            self.also_kept(|state| state.drop_block(block));
        }
    }

    /// What happened after the latest event belongs to a state that was kept just then.
    fn also_kept(&mut self, change: impl FnOnce(&mut State)) {
        let time = self.length();
        if let Some(kept) = self.kept.last_mut().filter(|kept| kept.time == time) {
            change(kept);
        }
    }

    /// The launch that an event belongs to, by number; after the end the last.
    pub fn launch_of(&self, event: u32) -> usize {
        self.launches.partition_point(|launch| launch.events.1 <= event).min(self.launches.len().saturating_sub(1))
    }

    /// What an event added to the counters.
    pub fn counts(&self, event: &Event) -> &Counts {
        &self.counts[event.counts as usize]
    }

    fn reader(&self, event: &Event) -> Reader<'_> {
        Reader(self.bytes.get(event.data as usize..).unwrap_or_default())
    }

    /// The effects of an event of a program; `registers` is handed what it wrote to registers, by number.
    pub fn effects(&self, program: &Program, event: &Event, mut registers: impl FnMut(usize, &Written)) -> Effects<'_> {
        let mut reader = self.reader(event);
        if event.lanes != 0 {
            let instruction = program.instructions.get(event.instruction as usize);
            for &number in instruction.map_or(&[][..], |instruction| &instruction.writes) {
                let low = reader.lanes(event.lanes);
                let wide = program.registers[number].bytes == 8;
                let high = if wide { reader.lanes(event.lanes) } else { [0; 32] };
                registers(number, &(low, high));
            }
        }
        Effects(reader)
    }

    /// The access to memory that an event made, if any: a copy is not one.
    pub fn access(&self, number: u32) -> Option<AccessEvent> {
        let event = self.events.get(number as usize)?;
        let program = &self.launches.get(self.launch_of(number))?.program;
        self.effects(program, event, |_, _| {}).find_map(|effect| match effect {
            Effect::Access(access) => Some(access),
            _ => None,
        })
    }

    /// The asynchronous copy that an event started, if any.
    pub fn copy(&self, number: u32) -> Option<CopyEvent> {
        let event = self.events.get(number as usize)?;
        let program = &self.launches.get(self.launch_of(number))?.program;
        self.effects(program, event, |_, _| {}).find_map(|effect| match effect {
            Effect::Copy(copy) => Some(copy),
            _ => None,
        })
    }

    /// The state at the start.
    pub fn start(&self) -> State {
        State::new(self)
    }

    /// Brings a state of this run to another time: forwards from where it is, or from one that was kept.
    pub fn seek(&self, state: &mut State, time: u32) {
        let time = time.min(self.length());
        let kept = self.kept.partition_point(|kept| kept.time <= time).checked_sub(1).map(|at| &self.kept[at]);
        let nearer = kept.filter(|kept| state.time > time || kept.time > state.time);
        match nearer {
            Some(kept) => *state = kept.clone(),
            None if state.time > time => *state = self.start(),
            None => {}
        }
        while state.time < time {
            state.apply(self, state.time);
        }
    }

    /// The barriers that opened after an event.
    pub fn opened_after(&self, event: u32) -> impl Iterator<Item = &Opened> {
        let first = self.opened.partition_point(|opened| opened.event < event);
        self.opened[first..].iter().take_while(move |opened| opened.event == event)
    }
}
