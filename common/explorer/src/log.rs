//! What happened in a run: an event for each instruction that a warp executed, with the values it wrote, packed.

use crate::bits::Reader;
use crate::effect::{AccessEvent, CopyEvent, Effect};
use crate::instructions::{Keys, Program};
use simt::Counts;
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
    /// How many instructions the kernels of the launches before have.
    pub first_instruction: u32,
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

/// All that happened.
#[derive(Debug, Default)]
pub struct Log {
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
    bytes: Vec<u8>,
    counts: Vec<Counts>,
    counts_of: HashMap<Counts, u32>,
}

/// Bytes of values at most.
const LONGEST: usize = 400 << 20;

impl Log {
    /// Adds an event of the latest launch; false if there is no room for it.
    pub fn push(
        &mut self,
        (block, warp): (u32, u32),
        instruction: u32,
        lanes: u32,
        counts: Counts,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        if self.bytes.len() > LONGEST {
            return false;
        }
        let next = self.counts.len() as u32;
        let number = *self.counts_of.entry(counts).or_insert(next);
        if number == next {
            self.counts.push(counts);
        }
        let start = self.bytes.len() as u32;
        data(&mut self.bytes);
        self.bytes.push(0);
        let event = Event { place: block << 5 | warp & 31, instruction, lanes, data: start, counts: number };
        let time = self.length();
        self.events.push(event);
        if let Some(span) = self.launches.last_mut().and_then(|launch| launch.spans.get_mut(block as usize)) {
            span.0 = span.0.min(time);
        }
        true
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let events = self.events.capacity() * size_of::<Event>() + self.counts.len() * size_of::<Counts>();
        events + self.bytes.capacity()
    }

    /// Time goes from 0 to this.
    pub fn length(&self) -> u32 {
        self.events.len() as u32
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

    /// The barriers that opened after an event.
    pub fn opened_after(&self, event: u32) -> impl Iterator<Item = &Opened> {
        let first = self.opened.partition_point(|opened| opened.event < event);
        self.opened[first..].iter().take_while(move |opened| opened.event == event)
    }
}
