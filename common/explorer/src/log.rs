//! What happened in a run: an event for each instruction that a warp executed, with the values that it wrote and what else it did; and
//! the origins of a block's values, as `simt` follows them, by these events.

use crate::instructions::{Instruction, Program};
use crate::matrices::C;
use simt::analyses::provenance::{BlockOrigins, Placed, Store, Tag};
use simt::{AccessKind, Counts, Dim3, Party, SharedArray, Space};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub struct Event {
    /// The block's number in the launch, and the warp's in the block.
    pub block: u32,
    pub warp: u32,
    /// Number of the instruction in its kernel.
    pub instruction: u32,
    pub lanes: u32,
    /// What it added to the counters.
    pub counts: Arc<Counts>,
    /// The values that it wrote, register by register: the low words of the lanes that executed it, then for a wide register the high words.
    pub written: Box<[u32]>,
    /// The tags of these values, in the same order, one per lane. Empty if values were not followed.
    pub tags: Box<[Tag]>,
    pub effects: Box<[Effect]>,
}

impl Event {
    pub fn place(&self) -> (u32, u32) {
        (self.block, self.warp)
    }
}

/// An array of global memory: A, B, C and whatever else there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    pub name: String,
    pub base: u64,
    /// What it held at the start.
    pub words: Vec<u32>,
}

#[derive(Debug)]
pub struct LaunchTape {
    pub program: Program,
    pub grid: Dim3,
    pub block: Dim3,
    /// Shared memory of a block, in bytes.
    pub shared_bytes: u32,
    pub events: Range<u32>,
    /// The blocks whose values were followed, by number.
    pub followed: BTreeMap<u32, Followed>,
}

impl LaunchTape {
    /// Number of blocks to show: a run never has events of more.
    pub fn blocks(&self) -> u32 {
        self.grid.count().min(1 << 16) as u32
    }

    pub fn warps(&self) -> u32 {
        self.block.count().div_ceil(32) as u32
    }

    /// The number of a party's block, and of its thread in it.
    pub fn numbers(&self, party: &Party) -> (u32, u32) {
        let number = |at: Dim3, of: Dim3| at.x + of.x * (at.y + of.y * at.z);
        (number(party.block, self.grid), number(party.thread, self.block))
    }

    /// The shared array at a position in bytes.
    pub fn shared_array(&self, position: u32) -> Option<&SharedArray> {
        self.program.kernel.shared_arrays().iter().rfind(|array| array.offset <= position)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// The event after which it did.
    pub event: u32,
    pub block: u32,
    pub warps: u32,
}

#[derive(Debug, Default)]
pub struct Log {
    pub events: Vec<Event>,
    pub launches: Vec<LaunchTape>,
    pub arrays: Vec<Array>,
    /// The lines of all kernels, in the order in which they were met: of a line in another file than the source, the file's name and the
    /// number.
    pub lines: Vec<String>,
    pub opened: Vec<Opened>,
    /// There was no room for what happened later.
    pub full: bool,
    /// Values that were followed.
    pub followed: Tag,
    /// The time right after the event that is being made.
    pub clock: Arc<AtomicU64>,
    counts: HashSet<Arc<Counts>>,
    events_bytes: usize,
}

/// Most bytes that a log may take.
const LONGEST: usize = 800 << 20;

/// Words of the lanes of a mask, in their places; zero in the other lanes.
fn spread(words: &mut impl Iterator<Item = u32>, mask: u32) -> [u32; 32] {
    let mut values = [0; 32];
    lanes(mask).zip(words).for_each(|(lane, word)| values[lane] = word);
    values
}

impl Log {
    pub fn new(arrays: Vec<Array>) -> Self {
        Self { arrays, clock: Arc::new(AtomicU64::new(1)), ..Self::default() }
    }

    /// The array at an address, by number, and the array's base address.
    pub fn array_at(&self, address: u64) -> Option<(usize, u64)> {
        let within = |array: &Array| (array.base..array.base + 4 * array.words.len() as u64).contains(&address);
        self.arrays.iter().position(within).map(|at| (at, self.arrays[at].base))
    }

    /// Adds an event of the latest launch, if there is room for it.
    pub fn push(&mut self, event: Event) {
        self.full |= self.memory() > LONGEST;
        if !self.full {
            let effects: usize = event.effects.iter().map(Effect::memory).sum();
            self.events_bytes += size_of::<Event>() + 4 * (event.written.len() + event.tags.len()) + effects;
            self.events.push(event);
            self.clock.store(u64::from(self.length()) + 1, Ordering::Relaxed);
        }
    }

    /// What an event adds to the counters, shared among events that add the same.
    pub fn shared(&mut self, counts: Counts) -> Arc<Counts> {
        let known = self.counts.get(&counts).cloned().unwrap_or_else(|| Arc::new(counts));
        self.counts.insert(known.clone());
        known
    }

    /// The latest launch ends here.
    pub fn end_launch(&mut self) {
        let length = self.length();
        if let Some(launch) = self.launches.last_mut() {
            launch.events.end = length;
        }
    }

    /// A barrier of a block has opened after the latest event.
    pub fn open(&mut self, block: u32, warps: u32) {
        if let Some(event) = self.length().checked_sub(1) {
            self.opened.push(Opened { event, block, warps });
        }
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.events_bytes + self.counts.len() * size_of::<Counts>()
    }

    /// Time goes from 0 to this.
    pub fn length(&self) -> u32 {
        self.events.len() as u32
    }

    pub fn event(&self, number: u32) -> &Event {
        &self.events[number as usize]
    }

    /// The launch that an event belongs to, by number; after the end the last.
    pub fn launch_of(&self, event: u32) -> usize {
        self.launches.partition_point(|launch| launch.events.end <= event).min(self.launches.len().saturating_sub(1))
    }

    pub fn instruction(&self, event: u32) -> &Instruction {
        &self.launches[self.launch_of(event)].program.instructions[self.event(event).instruction as usize]
    }

    /// The counts of each line by its name, those that are not zero.
    pub fn by_line<'a>(&'a self, lines: &'a [Counts]) -> impl Iterator<Item = (&'a String, &'a Counts)> {
        self.lines.iter().zip(lines).filter(|(_, counts)| **counts != Counts::default())
    }

    /// The events of a warp of a block, among some.
    pub fn of_warp(&self, place: (u32, u32), events: Range<u32>) -> impl DoubleEndedIterator<Item = u32> + Clone {
        events.filter(move |&number| self.event(number).place() == place)
    }

    /// The events of a party's instruction in its thread, among some.
    pub fn by(&self, launch: &LaunchTape, party: &Party, events: Range<u32>) -> impl DoubleEndedIterator<Item = u32> {
        let (block, thread) = launch.numbers(party);
        let line = party.location.ptx_line;
        self.of_warp((block, thread / 32), events).filter(move |&number| {
            let event = self.event(number);
            event.lanes >> (thread % 32) & 1 != 0 && launch.program.kernel.location(event.instruction).ptx_line == line
        })
    }

    /// What an event wrote to registers, by number.
    pub fn written(&self, event: u32) -> impl Iterator<Item = (usize, [u64; 32])> {
        let Event { lanes, written, .. } = self.event(event);
        let registers = &self.launches[self.launch_of(event)].program.registers;
        let writes = if *lanes == 0 { &[][..] } else { &self.instruction(event).writes };
        let mut words = written.iter().copied();
        writes.iter().map(move |&number| {
            let low = spread(&mut words, *lanes).map(u64::from);
            let high = if registers[number].bytes == 8 { spread(&mut words, *lanes) } else { [0; 32] };
            (number, std::array::from_fn(|lane| u64::from(high[lane]) << 32 | low[lane]))
        })
    }

    /// The tags of the registers that an event wrote, in the order of the instruction.
    pub fn tags(&self, event: u32) -> impl Iterator<Item = [Tag; 32]> {
        let Event { lanes, tags, .. } = self.event(event);
        let mut tags = tags.iter().copied();
        self.instruction(event).writes.iter().map(move |_| spread(&mut tags, *lanes))
    }

    /// The access to memory that an event made, or the asynchronous copy that it started.
    pub fn request(&self, event: u32) -> Option<&Request> {
        self.event(event).effects.iter().find_map(Effect::request)
    }

    /// The words of global and shared memory that an event touches.
    pub fn touched(&self, event: u32) -> impl Iterator<Item = Touched> {
        self.event(event).effects.iter().filter_map(Effect::request).flat_map(Request::touched)
    }

    /// Whether an event accesses memory, or the array of this name.
    pub fn accesses(&self, event: u32, array: Option<&str>) -> bool {
        let Some(wanted) = array else { return self.request(event).is_some() };
        let launch = &self.launches[self.launch_of(event)];
        self.touched(event).any(|touched| match touched.array {
            Some(array) => self.arrays[array].name == wanted,
            None => launch.shared_array(4 * touched.word).is_some_and(|array| array.source_name == wanted),
        })
    }

    /// The events that no barrier of a block separates from one of a launch.
    pub fn unseparated(&self, launch: &LaunchTape, block: u32, event: u32) -> Range<u32> {
        let mut opened = self.opened.iter().filter(|opened| opened.block == block).map(|opened| opened.event);
        let next = opened.clone().find(|&opened| opened >= event).map_or(launch.events.end, |opened| opened + 1);
        opened.rfind(|&opened| opened < event).map_or(launch.events.start, |opened| opened + 1)..next
    }
}

/// Something that an instruction does besides writing registers.
#[derive(Debug)]
pub enum Effect {
    /// An access to memory, or an asynchronous copy.
    Request(Box<Request>),
    /// Words that are written: the array (none for shared memory), the place and the value of each.
    Writes(Vec<(Option<usize>, u32, u32)>),
    /// A product of a warpgroup reads these pieces of 16 bytes of shared memory, which are its operand B.
    Product(Vec<u32>),
    /// A group of copies is closed.
    Commit,
    /// Waits until at most this number of groups are in flight; none: until all copies have landed.
    Wait(Option<u32>),
    /// Arrives at a barrier and waits there.
    Arrive,
    /// These lanes' threads end.
    Exit(u32),
}

/// An access to memory, or an asynchronous copy from global memory.
#[derive(Debug)]
pub struct Request {
    /// Of an asynchronous copy: that it is the source of one.
    pub kind: AccessKind,
    pub space: Space,
    /// The array of global memory; `None` for a copy that only writes zeros.
    pub array: Option<usize>,
    pub lanes: u32,
    pub bytes: u32,
    /// In bytes from the start of the array, or of shared memory.
    pub addresses: [u32; 32],
    pub copy: Option<Box<Target>>,
}

/// Where an asynchronous copy goes.
#[derive(Debug)]
pub struct Target {
    /// Whether it goes past the first-level cache.
    pub bypass: bool,
    /// Bytes that each lane reads; the lane fills the rest with zeros.
    pub source_bytes: [u32; 32],
    /// Where each lane writes, in bytes from the start of shared memory.
    pub to: [u32; 32],
}

/// A word that a lane of an event reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    /// The array of global memory; none for shared memory.
    pub array: Option<usize>,
    /// Its place there.
    pub word: u32,
    pub lane: usize,
    pub reads: bool,
    pub writes: bool,
}

impl Request {
    /// The lanes that go to their addresses: of a copy those that read something.
    pub fn asking(&self) -> u32 {
        let Some(copy) = &self.copy else { return self.lanes };
        lanes(self.lanes).filter(|&lane| copy.source_bytes[lane] > 0).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// The words of global and shared memory that it touches.
    pub fn touched(&self) -> Vec<Touched> {
        let mut all = vec![];
        if self.space == Space::Local {
            return all;
        }
        let mut touch = |array: Option<usize>, lane: usize, address: u32, bytes: u32, [reads, writes]: [bool; 2]| {
            all.extend(words(address, bytes).map(|word| Touched { array, word, lane, reads, writes }));
        };
        if let Some(copy) = &self.copy {
            lanes(self.lanes).for_each(|lane| touch(None, lane, copy.to[lane], self.bytes, [false, true]));
        }
        let how = [self.kind != AccessKind::Store, matches!(self.kind, AccessKind::Store | AccessKind::Atomic)];
        for lane in lanes(self.asking()) {
            let bytes = self.copy.as_ref().map_or(self.bytes, |copy| copy.source_bytes[lane]);
            touch(self.array, lane, self.addresses[lane], bytes, how);
        }
        all
    }
}

impl Effect {
    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let more = match self {
            Self::Request(request) => size_of::<Request>() + request.copy.as_ref().map_or(0, |_| size_of::<Target>()),
            Self::Writes(words) => size_of_val(&words[..]),
            Self::Product(pieces) => 4 * pieces.len(),
            Self::Commit | Self::Wait(_) | Self::Arrive | Self::Exit(_) => 0,
        };
        size_of::<Self>() + more
    }

    /// The access to memory, or the copy, that it is.
    pub fn request(&self) -> Option<&Request> {
        if let Self::Request(request) = self { Some(request) } else { None }
    }
}

/// The origins of a block's values, and the events at which values were made, words placed in shared memory, and elements stored, each in
/// their order.
#[derive(Debug, Default)]
pub struct Followed {
    pub origins: BlockOrigins,
    made: Vec<u32>,
    placed: Vec<u32>,
    stored: Vec<u32>,
    /// By tag: the element of C that the sum becomes, once the block has ended.
    goals: BTreeMap<Tag, u32>,
}

impl Followed {
    pub fn new(origins: BlockOrigins) -> Self {
        Self { origins, ..Self::default() }
    }

    /// Notes that everything new happened at this event.
    pub fn note(&mut self, event: u32) {
        let counts = [self.origins.nodes.count() as usize, self.origins.placed.len(), self.origins.stores.len()];
        for (events, count) in [&mut self.made, &mut self.placed, &mut self.stored].into_iter().zip(counts) {
            events.resize(count, event);
        }
    }

    /// The block has ended.
    pub fn end(&mut self) {
        for store in self.origins.stores.iter().filter(|store| store.array == C) {
            let sums = self.origins.nodes.formed(store.value).sums;
            self.goals.extend(sums.into_iter().map(|tag| (tag, store.index as u32)));
        }
    }

    /// The event that made a value.
    pub fn event_of(&self, tag: Tag) -> u32 {
        self.made.get(tag as usize).copied().unwrap_or_default()
    }

    pub fn goal(&self, tag: Tag) -> Option<u32> {
        self.goals.get(&tag).copied()
    }

    /// The values that arrived in shared memory during these events, each with its event.
    pub fn placed(&self, events: Range<u32>) -> impl DoubleEndedIterator<Item = (u32, &Placed)> {
        let first = self.placed.partition_point(|&event| event < events.start);
        let end = first.max(self.placed.partition_point(|&event| event < events.end));
        self.placed[first..end].iter().copied().zip(&self.origins.placed[first..end])
    }

    /// Its stores to C, with their events.
    pub fn stores(&self) -> impl Iterator<Item = (u32, &Store)> {
        self.stored.iter().copied().zip(&self.origins.stores).filter(|(_, store)| store.array == C)
    }
}

/// The words that a range of bytes touches.
pub fn words(address: u32, bytes: u32) -> Range<u32> {
    address / 4..(address + bytes).div_ceil(4)
}

/// The numbers of the lanes whose bits are set, in order.
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> + Clone {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

pub fn first_lane(mask: u32) -> usize {
    mask.trailing_zeros() as usize & 31
}
