//! What happened in a run: an event for each instruction that a warp executed, with the values that it wrote.

use crate::effect::{AccessEvent, CopyEvent, Effect, Touched, Values};
use crate::instructions::{Instruction, Keys, Program};
use simt::{Counts, Dim3, Party, SharedArray};
use std::collections::HashMap;
use std::ops::Range;

/// A warp executed an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The block's number in the launch, and the warp's in the block.
    pub block: u32,
    pub warp: u32,
    /// Number of the instruction in its kernel.
    pub instruction: u32,
    /// Lanes that executed it.
    pub lanes: u32,
    /// Where the values that it wrote to registers start, and its effects.
    values: u32,
    effects: u32,
    /// Number of what it added to the counters.
    counts: u32,
}

impl Event {
    /// The block and the warp.
    pub fn place(&self) -> (u32, u32) {
        (self.block, self.warp)
    }
}

/// An array of global memory: A, B, C and whatever else there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    pub name: String,
    /// Where it starts.
    pub base: u64,
    pub bytes: u64,
    /// What it held at the start.
    pub words: Vec<u32>,
}

/// One launch of the run.
#[derive(Debug, Clone)]
pub struct LaunchTape {
    pub program: Program,
    /// How many instructions the kernels of the launches before have.
    pub first_instruction: u32,
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Shared memory of a block, in bytes.
    pub shared_bytes: u32,
    pub events: Range<u32>,
    /// By block: its first event and its last; `u32::MAX` if it has none.
    pub spans: Vec<(u32, u32)>,
}

impl LaunchTape {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.count() as u32
    }

    /// Warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(32)
    }

    /// The number of a party's block, and of its thread in it.
    pub fn numbers(&self, party: &Party) -> (u32, u32) {
        let number = |at: Dim3, of: Dim3| at.x + of.x * (at.y + of.y * at.z);
        (number(party.block, self.grid), number(party.thread, self.block))
    }

    /// The number of a party's block, and of its warp in it.
    pub fn warp_of(&self, party: &Party) -> (u32, u32) {
        let (block, thread) = self.numbers(party);
        (block, thread / 32)
    }

    /// The shared array that a position in bytes lies in.
    pub fn shared_array(&self, position: u32) -> Option<&SharedArray> {
        self.program.kernel.shared_arrays().iter().rfind(|array| array.offset <= position)
    }
}

/// A barrier opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// The event after which it did.
    pub event: u32,
    pub block: u32,
    /// The warps that go on.
    pub warps: u32,
}

/// All that happened.
#[derive(Debug, Default)]
pub struct Log {
    /// What happened, in order.
    pub events: Vec<Event>,
    pub launches: Vec<LaunchTape>,
    /// The arrays of global memory.
    pub arrays: Vec<Array>,
    /// The lines of all kernels.
    pub keys: Keys,
    /// Barriers that opened, in order.
    pub opened: Vec<Opened>,
    values: Values,
    effects: Vec<Effect>,
    effects_bytes: usize,
    counts: Vec<Counts>,
    counts_of: HashMap<Counts, u32>,
}

/// Bytes at most.
const LONGEST: usize = 800 << 20;

impl Log {
    /// Adds an event of the latest launch, with the values that it wrote to registers; false if there is no room for it.
    pub fn push(
        &mut self,
        (block, warp): (u32, u32),
        (instruction, lanes): (u32, u32),
        counts: Counts,
        written: &[[u32; 32]],
        effects: Vec<Effect>,
    ) -> bool {
        if self.memory() > LONGEST {
            return false;
        }
        let next = self.counts.len() as u32;
        let number = *self.counts_of.entry(counts).or_insert(next);
        if number == next {
            self.counts.push(counts);
        }
        let (from, first) = (self.values.len() as u32, self.effects.len() as u32);
        let event = Event { block, warp, instruction, lanes, values: from, effects: first, counts: number };
        for values in written {
            self.values.push(lanes, values);
        }
        self.effects_bytes += effects.iter().map(Effect::memory).sum::<usize>();
        self.effects.extend(effects);
        let time = self.length();
        self.events.push(event);
        if let Some(span) = self.launches.last_mut().and_then(|launch| launch.spans.get_mut(block as usize)) {
            span.0 = span.0.min(time);
        }
        true
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let events = self.events.len() * size_of::<Event>() + self.counts.len() * size_of::<Counts>();
        events + 4 * self.values.len() + self.effects_bytes
    }

    /// Time goes from 0 to this.
    pub fn length(&self) -> u32 {
        self.events.len() as u32
    }

    /// An event by its number.
    pub fn event(&self, number: u32) -> &Event {
        &self.events[number as usize]
    }

    /// The launch that an event belongs to, by number; after the end the last.
    pub fn launch_of(&self, event: u32) -> usize {
        self.launches.partition_point(|launch| launch.events.end <= event).min(self.launches.len().saturating_sub(1))
    }

    /// The instruction that an event executed.
    pub fn instruction(&self, event: u32) -> &Instruction {
        &self.launches[self.launch_of(event)].program.instructions[self.event(event).instruction as usize]
    }

    /// The events of a warp of a block, among some.
    pub fn of_warp(&self, place: (u32, u32), events: Range<u32>) -> impl DoubleEndedIterator<Item = u32> + Clone {
        events.filter(move |&number| self.event(number).place() == place)
    }

    /// What an event added to the counters.
    pub fn counts(&self, event: u32) -> &Counts {
        &self.counts[self.event(event).counts as usize]
    }

    /// What an event wrote to registers, by number: low words, and the high words of a wide one.
    pub fn written(&self, event: u32) -> impl Iterator<Item = (usize, [u32; 32], [u32; 32])> {
        let &Event { lanes, values, .. } = self.event(event);
        let registers = &self.launches[self.launch_of(event)].program.registers;
        let writes = if lanes == 0 { &[][..] } else { &self.instruction(event).writes };
        let mut at = values as usize;
        writes.iter().map(move |&number| {
            let low = self.values.take(&mut at, lanes);
            let wide = registers[number].bytes == 8;
            (number, low, if wide { self.values.take(&mut at, lanes) } else { [0; 32] })
        })
    }

    /// What else an event did.
    pub fn effects(&self, event: u32) -> &[Effect] {
        let first = self.event(event).effects as usize;
        let end = self.events.get(event as usize + 1).map_or(self.effects.len(), |next| next.effects as usize);
        &self.effects[first..end]
    }

    /// The access to memory that an event made, if any: a copy is not one.
    pub fn access(&self, event: u32) -> Option<&AccessEvent> {
        self.effects(event).iter().find_map(|effect| match effect {
            Effect::Access(access) => Some(&**access),
            _ => None,
        })
    }

    /// The asynchronous copy that an event started, if any.
    pub fn copy(&self, event: u32) -> Option<&CopyEvent> {
        self.effects(event).iter().find_map(|effect| match effect {
            Effect::Copy(copy) => Some(&**copy),
            _ => None,
        })
    }

    /// The words of global and shared memory that an event touches.
    pub fn touched(&self, event: u32) -> impl Iterator<Item = Touched> {
        self.effects(event).iter().flat_map(Effect::touched)
    }

    /// Whether an event accesses memory, or the array of this name.
    pub fn accesses(&self, event: u32, array: Option<&str>) -> bool {
        let is_access = |effect: &Effect| matches!(effect, Effect::Access(_) | Effect::Copy(_));
        let Some(wanted) = array else { return self.effects(event).iter().any(is_access) };
        let launch = &self.launches[self.launch_of(event)];
        self.touched(event).any(|touched| match touched.array {
            Some(array) => self.arrays[array].name == wanted,
            None => launch.shared_array(4 * touched.word).is_some_and(|array| array.source_name == wanted),
        })
    }

    /// The barriers that opened after an event.
    pub fn opened_after(&self, event: u32) -> impl Iterator<Item = &Opened> {
        let first = self.opened.partition_point(|opened| opened.event < event);
        self.opened[first..].iter().take_while(move |opened| opened.event == event)
    }
}
