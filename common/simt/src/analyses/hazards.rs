//! Finds what is wrong with a kernel whether or not the answer came out wrong: races, reads of memory nobody wrote,
//! asynchronous copies nobody waited for, barriers not everybody reaches.
//!
//! Every place of shared memory, and every place of global memory that a block touches, has a shadow: who wrote it last,
//! and which two threads read it since, with the time in the block (which steps at every synchronisation) and the
//! instruction. Two accesses are ordered when both threads have synchronised since the first. Blocks are never ordered with
//! each other, but for the pattern "write, fence, atomic; atomic, read".

use super::report::{Hazard, HazardKind, Party};
use crate::lower::{Code, Role, Use};
use crate::observe::{Access, Analysis, BlockInfo, CopyAccess, LaunchInfo, Observer};
use crate::{AccessKind, DevicePointer, Dim3, Kernel, Space};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

/// Words in a page of a block's view of global memory.
const PAGE: u64 = 16;
/// The block's clock starts anew when it reaches this.
const LAST_TIME: u16 = (1 << 14) - 1;
/// Largest number of elements that a message about an output lists by name.
const LISTED: usize = 3;

/// The latest access of one sort: 10 bits of thread, 14 of time, 15 of instruction, and whether there is one at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Record([u8; 5]);

impl Record {
    fn new(thread: u32, time: u16, instruction: u32) -> Self {
        let bits = 1
            | u64::from(thread & 1023) << 1
            | u64::from(time & LAST_TIME) << 11
            | u64::from(instruction.min(0x7fff)) << 25;
        let bytes = bits.to_le_bytes();
        Self([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]])
    }
    #[inline]
    fn bits(self) -> u64 {
        let [a, b, c, d, e] = self.0;
        u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
    }
    #[inline]
    fn some(self) -> bool {
        self.0[0] & 1 != 0
    }
    #[inline]
    fn thread(self) -> u32 {
        (self.bits() >> 1) as u32 & 1023
    }
    #[inline]
    fn time(self) -> u16 {
        (self.bits() >> 11) as u16 & LAST_TIME
    }
    #[inline]
    fn instruction(self) -> u32 {
        (self.bits() >> 25) as u32 & 0x7fff
    }
}

/// The shadow of one unit of memory: a word, or a byte when the kernel has narrower accesses.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    write: Record,
    /// Reads by two different threads.
    reads: [Record; 2],
}

/// The shadow of a unit of global memory in one block.
#[derive(Debug, Clone, Copy, Default)]
struct GlobalCell {
    cell: Cell,
    /// Number of writes, up to 3, plain ones only.
    writes: u8,
    /// The block has read it before it had executed an atomic operation.
    early_read: bool,
    /// Every write was atomic.
    atomic: bool,
}

/// An access by one block, as other blocks must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Foreign {
    block: u64,
    thread: u16,
    instruction: u32,
    /// Atomic, or (writes) followed by a fence, or (reads) preceded by an atomic operation.
    atomic: bool,
    soft: bool,
}

/// The shadow of a word of global memory over all blocks: the first two blocks (by number) that wrote and read it.
#[derive(Debug, Clone, Copy, Default)]
struct Summary {
    writers: [Option<Foreign>; 2],
    readers: [Option<Foreign>; 2],
    writes: u8,
}

fn keep_first_two(list: &mut [Option<Foreign>; 2], new: Foreign) {
    match list {
        [None, _] => list[0] = Some(new),
        [Some(first), second] if new < *first => {
            *second = Some(*first);
            *first = new;
        }
        [Some(_), None] => list[1] = Some(new),
        [Some(_), Some(second)] if new < *second => *second = new,
        _ => {}
    }
}

/// A place, before it has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Place {
    Shared(u32),
    Global(u64),
    Register(u32),
    Barrier(u32),
}

/// One side, before it has words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Side {
    block: u64,
    thread: u32,
    instruction: u32,
    action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Action {
    Writes,
    Reads,
    Updates,
    Copies,
    Waits,
    Ends,
}

impl Action {
    const fn words(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Reads => "reads",
            Self::Updates => "updates atomically",
            Self::Copies => "copies to it asynchronously",
            Self::Waits => "waits at the barrier",
            Self::Ends => "has ended",
        }
    }
}

type Key = (HazardKind, u32, u32);
type Entry = (Place, Side, Option<Side>, u64);
type Found = BTreeMap<Key, Entry>;

/// Which of several hazards of one sort is shown: the same whatever order the blocks ran in.
fn rank(place: Place, first: Side, second: Option<Side>) -> (u64, u64, Place, Side, Option<Side>) {
    (second.map_or(first.block, |side| side.block), first.block, place, first, second)
}

fn add(found: &mut Found, kind: HazardKind, place: Place, first: Side, second: Option<Side>, count: u64) {
    let key = (kind, first.instruction, second.map_or(u32::MAX, |side| side.instruction));
    let entry = found.entry(key).or_insert((place, first, second, 0));
    entry.3 += count;
    if rank(place, first, second) < rank(entry.0, entry.1, entry.2) {
        (entry.0, entry.1, entry.2) = (place, first, second);
    }
}

/// What the analysis knows of the launch.
#[derive(Debug)]
struct Plan {
    kernel: Kernel,
    block: Dim3,
    grid: Dim3,
    /// log2 of the bytes of a unit.
    unit: u32,
    shared_units: usize,
    atomic: Vec<bool>,
    /// Base and size of every allocation, its name and element size, and whether it is an output.
    arrays: Vec<(u64, u64, String, u32, bool)>,
}

impl Plan {
    fn code(&self) -> &Code {
        &self.kernel.code
    }
}

/// Extents of a shared array, for messages such as "As\[3\]\[17\]".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extents {
    /// Size of an element in bytes.
    pub element_bytes: u32,
    /// Extents, the slowest first; `float As[32][33]` has 32 and 33.
    pub extents: Vec<u32>,
}

/// The analysis. Pass it to [`crate::launch`], then call [`Hazards::report`].
#[derive(Debug, Default)]
pub struct Hazards {
    outputs: Vec<DevicePointer>,
    extents: HashMap<String, Extents>,
    plan: Option<Arc<Plan>>,
    merged: Mutex<Merged>,
}

#[derive(Debug, Default)]
struct Merged {
    found: Found,
    /// By page (word address / [`PAGE`]).
    pages: HashMap<u64, Box<[Summary]>>,
    idle: Vec<BlockHazards>,
}

impl Hazards {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that an allocation is an output: reading it before writing is a hazard, and so is every element that has not been
    /// written exactly once when the launch ends.
    #[must_use]
    pub fn output(mut self, pointer: DevicePointer) -> Self {
        self.outputs.push(pointer);
        self
    }

    /// Tells the extents of a shared array by its source name, see [`super::declarations::shared_extents`].
    #[must_use]
    pub fn extents(mut self, name: &str, extents: Extents) -> Self {
        self.extents.insert(name.into(), extents);
        self
    }

    /// Everything found, worst first, each once for each pair of instructions.
    pub fn report(&self) -> Vec<Hazard> {
        let Some(plan) = &self.plan else { return vec![] };
        let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = std::mem::take(&mut merged.found);
        let pages = std::mem::take(&mut merged.pages);
        merged.idle.clear();
        drop(merged);
        Self::between_blocks(&pages, &mut found);
        // A read that raced came too early as well; the race says it better.
        let raced: HashSet<u32> = found
            .iter()
            .filter(|((kind, ..), _)| *kind == HazardKind::Race)
            .flat_map(|((_, first, second), _)| [*first, *second])
            .collect();
        found.retain(|(kind, instruction, _), _| {
            *kind != HazardKind::UninitialisedShared || !raced.contains(instruction)
        });
        let mut hazards: Vec<Hazard> = Self::by_line(plan, &found)
            .iter()
            .map(|&(kind, (place, first, second, count))| {
                let parties = [Some(first), second].into_iter().flatten().map(|side| Self::party(plan, side)).collect();
                Hazard { kind, place: self.place(plan, place), parties, count }
            })
            .collect();
        Self::coverage(plan, &pages, &mut hazards);
        hazards
    }

    /// One entry for each pair of source lines and array, whichever came first: an unrolled loop is one line to the reader.
    fn by_line(plan: &Plan, found: &Found) -> Vec<(HazardKind, Entry)> {
        let line = |side: Side| plan.kernel.source_line(side.instruction).unwrap_or((u32::MAX, side.instruction));
        let array = |place: Place| match place {
            Place::Shared(address) => {
                let arrays = &plan.code().shared_arrays;
                (0, arrays.iter().filter(|array| array.offset <= address).count() as u64)
            }
            Place::Global(address) => (1, plan.arrays.iter().filter(|array| array.0 <= address).count() as u64),
            Place::Register(number) => (2, u64::from(number)),
            Place::Barrier(id) => (3, u64::from(id)),
        };
        let mut merged: BTreeMap<_, Entry> = BTreeMap::new();
        for (&(kind, ..), &entry) in found {
            let (place, first, second, count) = entry;
            let (a, b) = (line(first), second.map(line));
            let key = (kind, array(place), a.min(b.unwrap_or(a)), b.map(|b| b.max(a)));
            let old = merged.entry(key).or_insert((place, first, second, 0));
            old.3 += count;
            if rank(place, first, second) < rank(old.0, old.1, old.2) {
                (old.0, old.1, old.2) = (place, first, second);
            }
        }
        merged.into_iter().map(|((kind, ..), entry)| (kind, entry)).collect()
    }

    fn party(plan: &Plan, side: Side) -> Party {
        Party {
            block: plan.grid.index(side.block),
            thread: plan.block.index(u64::from(side.thread)),
            action: side.action.words(),
            location: plan.kernel.location(side.instruction),
        }
    }

    fn place(&self, plan: &Plan, place: Place) -> String {
        match place {
            Place::Register(number) => {
                let name = plan.code().maybe_unset.get(number as usize);
                format!("register {}", name.map_or("?", String::as_str))
            }
            Place::Barrier(id) => format!("barrier {id}"),
            Place::Shared(address) => {
                let arrays = &plan.code().shared_arrays;
                let Some(array) = arrays.iter().rfind(|array| array.offset <= address) else {
                    return format!("shared memory + {address} bytes");
                };
                let offset = address - array.offset;
                let name = &array.source_name;
                match self.extents.get(name) {
                    Some(known) => element(name, offset, known),
                    None => format!("{name} + {offset} bytes"),
                }
            }
            Place::Global(address) => {
                let array = plan.arrays.iter().find(|array| address >= array.0 && address - array.0 < array.1);
                match array {
                    Some((base, _, name, element, _)) => {
                        let (index, rest) =
                            ((address - base) / u64::from(*element), (address - base) % u64::from(*element));
                        let rest = if rest == 0 { String::new() } else { format!(" + {rest} bytes") };
                        format!("{name}[{index}]{rest}")
                    }
                    None => format!("address {address:#x}"),
                }
            }
        }
    }

    /// Races between blocks.
    fn between_blocks(pages: &HashMap<u64, Box<[Summary]>>, found: &mut Found) {
        let mut keys: Vec<u64> = pages.keys().copied().collect();
        keys.sort_unstable();
        let per_page = pages.values().next().map_or(1, |page| page.len() as u64);
        for page in keys {
            for (index, summary) in (0u64..).zip(&pages[&page]) {
                let Some(writer) = summary.writers[0] else { continue };
                let address = page * PAGE * 4 + index * (PAGE * 4 / per_page);
                let side = |access: Foreign, writes: bool| Side {
                    block: access.block,
                    thread: u32::from(access.thread),
                    instruction: access.instruction,
                    action: match (writes, access.atomic) {
                        (_, true) => Action::Updates,
                        (true, _) => Action::Writes,
                        _ => Action::Reads,
                    },
                };
                let mut report = |a: Foreign, b: Foreign, b_writes: bool| {
                    add(found, HazardKind::Race, Place::Global(address), side(a, true), Some(side(b, b_writes)), 1);
                };
                if let Some(other) = summary.writers[1]
                    && other.block != writer.block
                    && !(writer.atomic && other.atomic)
                {
                    report(writer, other, true);
                }
                // The writer and the reader that belong to different blocks, if there are such.
                let pair = summary.readers.iter().flatten().find_map(|reader| {
                    let writer = summary.writers.iter().flatten().find(|writer| writer.block != reader.block)?;
                    Some((*writer, *reader))
                });
                if let Some((writer, reader)) = pair
                    && !(writer.soft && reader.soft)
                    && !(writer.atomic && reader.atomic)
                {
                    report(writer, reader, false);
                }
            }
        }
    }

    /// Elements of outputs that were not written exactly once.
    fn coverage(plan: &Plan, pages: &HashMap<u64, Box<[Summary]>>, hazards: &mut Vec<Hazard>) {
        for (base, bytes, name, element, output) in &plan.arrays {
            if !output {
                continue;
            }
            let (mut never, mut twice) = ((0u64, vec![]), (0u64, vec![]));
            let step = u64::from(*element);
            for index in 0..bytes / step {
                let address = base + index * step;
                let writes = pages.get(&(address / 4 / PAGE)).map_or(0, |page| {
                    let per_page = page.len() as u64;
                    page[(address % (PAGE * 4) / (PAGE * 4 / per_page)) as usize].writes
                });
                let list = match writes {
                    0 => &mut never,
                    1 => continue,
                    _ => &mut twice,
                };
                list.0 += 1;
                if list.1.len() < LISTED {
                    list.1.push(format!("{name}[{index}]"));
                }
            }
            for (kind, (count, first)) in [(HazardKind::WrittenTwice, twice), (HazardKind::NeverWritten, never)] {
                if count > 0 {
                    let more = if count > first.len() as u64 { ", ..." } else { "" };
                    let place = format!("{}{more} ({count} of {} elements)", first.join(", "), bytes / step);
                    hazards.push(Hazard { kind, place, parties: vec![], count });
                }
            }
        }
    }
}

fn element(name: &str, offset: u32, known: &Extents) -> String {
    let size = known.element_bytes.max(1);
    let (mut index, rest) = (offset / size, offset % size);
    let mut indices = vec![];
    for (dimension, &extent) in known.extents.iter().enumerate().rev() {
        // The slowest index is left as it is, so that a place past the end shows as such.
        let extent = if dimension == 0 { u32::MAX } else { extent.max(1) };
        indices.push(index % extent);
        index /= extent;
    }
    let mut text = name.to_string();
    for index in indices.iter().rev() {
        let _ = write!(text, "[{index}]");
    }
    if rest > 0 {
        let _ = write!(text, " + {rest} bytes");
    }
    text
}

impl Analysis for Hazards {
    type Block = BlockHazards;

    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        let code = &launch.kernel.code;
        let unit = if code.narrow { 0 } else { 2 };
        self.plan = Some(Arc::new(Plan {
            kernel: launch.kernel.clone(),
            block: launch.config.block,
            grid: launch.config.grid,
            unit,
            shared_units: (launch.shared_bytes as usize).div_ceil(1 << unit),
            atomic: code.facts.iter().map(|facts| facts.strong).collect(),
            arrays: launch
                .memory
                .allocations()
                .iter()
                .map(|array| {
                    let output = self.outputs.contains(&array.base());
                    (array.base().0, array.bytes(), array.name().to_string(), array.element_bytes(), output)
                })
                .collect(),
        }));
        let merged = self.merged.get_mut().unwrap_or_else(PoisonError::into_inner);
        *merged = Merged::default();
    }

    fn block(&self, block: &BlockInfo) -> BlockHazards {
        let idle = self.merged.lock().unwrap_or_else(PoisonError::into_inner).idle.pop();
        let mut observer = idle
            .or_else(|| self.plan.as_ref().map(|plan| BlockHazards::new(plan.clone())))
            .unwrap_or_else(BlockHazards::nothing);
        observer.start(block);
        observer
    }

    fn end(&self, mut block: BlockHazards) {
        let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        for (&(kind, ..), &(place, first, second, count)) in &block.found {
            add(&mut merged.found, kind, place, first, second, count);
        }
        block.found.clear();
        let number = block.number;
        for (&page, &at) in &block.pages {
            let cells = &block.cells[at as usize * block.per_page..][..block.per_page];
            let summaries = merged.pages.entry(page).or_insert_with(|| vec![Summary::default(); block.per_page].into());
            for (summary, cell) in summaries.iter_mut().zip(cells) {
                let foreign = |record: Record, atomic: bool, soft: bool| Foreign {
                    block: number,
                    thread: record.thread() as u16,
                    instruction: record.instruction(),
                    atomic,
                    soft,
                };
                if cell.cell.write.some() {
                    keep_first_two(&mut summary.writers, foreign(cell.cell.write, cell.atomic, block.fenced));
                    summary.writes = summary.writes.saturating_add(cell.writes).min(3);
                }
                if cell.cell.reads[0].some() {
                    let record = cell.cell.reads[0];
                    let strong = block.strong(record.instruction());
                    keep_first_two(&mut summary.readers, foreign(record, strong, !cell.early_read));
                }
            }
        }
        merged.idle.push(block);
    }
}

/// A block's own handle of the plan: were they all of one count, all host threads would write to it at every access.
#[derive(Debug)]
struct Handle(Arc<Plan>);

impl std::ops::Deref for Handle {
    type Target = Plan;
    fn deref(&self) -> &Plan {
        &self.0
    }
}

/// A warp at a barrier: warp, instruction, its first lane.
type Arrival = (u32, u32, u32);

/// An asynchronous copy in flight.
#[derive(Debug)]
struct Flight {
    lanes: u32,
    instruction: u32,
    bytes: u32,
    to: [u32; 32],
    group: [u32; 32],
}

/// Watches a block for hazards.
#[derive(Debug)]
pub struct BlockHazards {
    plan: Option<Arc<Handle>>,
    number: u64,
    threads: u32,
    /// Steps at every synchronisation.
    time: u16,
    /// When each warp last met others at a barrier, and each thread its warp's others.
    barrier_time: Vec<u16>,
    /// The earliest of these: what happened up to then is ordered before everything now.
    all_met: u16,
    lane_time: Vec<u16>,
    /// Races of the access at hand: lane, unit, earlier access, whether that wrote.
    races: Vec<(u32, u32, Record, bool)>,
    unwritten: Vec<(u32, u32)>,
    shared: Vec<Cell>,
    written: Vec<u64>,
    /// Thread + 1 and instruction of the copy that fills a word.
    flying: Vec<(u16, u32)>,
    flights: Vec<Vec<Flight>>,
    groups: Vec<[u32; 32]>,
    pages: HashMap<u64, u32, Quick>,
    cells: Vec<GlobalCell>,
    per_page: usize,
    /// A fence, and an atomic operation, has been executed.
    fenced: bool,
    updated: bool,
    /// Arrivals at each barrier: warps and instruction.
    arrived: Vec<(u32, Vec<Arrival>)>,
    /// The first threads that ended: thread and instruction.
    ended: Option<(u32, u32)>,
    /// Lanes that have set each register in question: by register and warp.
    set: Vec<u32>,
    found: Found,
}

/// A quick hash for page numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quick;

impl std::hash::BuildHasher for Quick {
    type Hasher = QuickHasher;
    fn build_hasher(&self) -> QuickHasher {
        QuickHasher(0)
    }
}

/// See [`Quick`].
#[derive(Debug)]
pub struct QuickHasher(u64);

impl std::hash::Hasher for QuickHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

fn each(lanes: u32) -> impl Iterator<Item = usize> {
    let mut rest = lanes;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

impl BlockHazards {
    fn nothing() -> Self {
        Self {
            plan: None,
            number: 0,
            threads: 0,
            time: 1,
            barrier_time: vec![],
            all_met: 0,
            races: vec![],
            unwritten: vec![],
            lane_time: vec![],
            shared: vec![],
            written: vec![],
            flying: vec![],
            flights: vec![],
            groups: vec![],
            pages: HashMap::default(),
            cells: vec![],
            per_page: 1,
            fenced: false,
            updated: false,
            arrived: vec![],
            ended: None,
            set: vec![],
            found: Found::new(),
        }
    }

    fn new(plan: Arc<Plan>) -> Self {
        let copies = !plan.code().copies.is_empty();
        let threads = plan.block.count() as usize;
        let warps = threads.div_ceil(32);
        let words = (plan.shared_units << plan.unit).div_ceil(4);
        Self {
            shared: vec![Cell::default(); plan.shared_units],
            written: vec![0; plan.shared_units.div_ceil(64)],
            flying: if copies { vec![(0, 0); words] } else { vec![] },
            flights: (0..warps).map(|_| vec![]).collect(),
            groups: vec![[0; 32]; warps],
            barrier_time: vec![0; warps],
            lane_time: vec![0; warps * 32],
            set: vec![0; plan.code().maybe_unset.len() * warps],
            arrived: vec![(0, vec![]); 16],
            per_page: (PAGE as usize * 4) >> plan.unit,
            plan: Some(Arc::new(Handle(plan))),
            ..Self::nothing()
        }
    }

    fn start(&mut self, block: &BlockInfo) {
        self.number = block.number;
        self.threads = block.threads;
        self.forget();
        self.written.fill(0);
        self.flying.fill((0, 0));
        self.flights.iter_mut().for_each(Vec::clear);
        self.groups.fill([0; 32]);
        self.pages.clear();
        self.cells.clear();
        (self.fenced, self.updated, self.ended) = (false, false, None);
        self.arrived.iter_mut().for_each(|arrived| *arrived = (0, vec![]));
        self.set.fill(0);
    }

    /// Forgets who accessed what when: at the start, and when the clock has run out.
    fn forget(&mut self) {
        self.time = 1;
        self.barrier_time.fill(0);
        self.all_met = 0;
        self.lane_time.fill(0);
        self.shared.fill(Cell::default());
    }

    fn tick(&mut self) -> u16 {
        let now = self.time;
        self.time += 1;
        if self.time >= LAST_TIME {
            self.forget();
            // What other blocks must know stays; within the block all of it counts as ordered.
            let again = |record: Record| {
                if record.some() { Record::new(record.thread(), 0, record.instruction()) } else { record }
            };
            for cell in &mut self.cells {
                cell.cell.write = again(cell.cell.write);
                cell.cell.reads = cell.cell.reads.map(again);
            }
            return 0;
        }
        now
    }

    fn strong(&self, instruction: u32) -> bool {
        self.plan.as_ref().is_some_and(|plan| {
            plan.atomic.get(instruction as usize).copied().unwrap_or(false)
                || plan.code().facts.get(instruction as usize).is_some_and(|facts| facts.role == Role::Atomic)
        })
    }

    fn side(&self, thread: u32, instruction: u32, action: Action) -> Side {
        Side { block: self.number, thread, instruction, action }
    }

    fn action(&self, instruction: u32, writes: bool) -> Action {
        let code = self.plan.as_ref().map(|plan| plan.code());
        let role = code.and_then(|code| code.facts.get(instruction as usize)).map(|facts| facts.role);
        match (writes, role) {
            (_, Some(Role::Atomic)) => Action::Updates,
            (true, Some(Role::Copy)) => Action::Copies,
            (true, ..) => Action::Writes,
            _ => Action::Reads,
        }
    }

    #[cold]
    #[inline(never)]
    fn race(&mut self, place: Place, old: Record, old_writes: bool, thread: u32, instruction: u32, writes: bool) {
        let first = self.side(old.thread(), old.instruction(), self.action(old.instruction(), old_writes));
        let second = self.side(thread, instruction, self.action(instruction, writes));
        add(&mut self.found, HazardKind::Race, place, first, Some(second), 1);
    }
}

/// Whether the access of a record is ordered before one by `thread` now.
#[inline]
fn ordered(record: Record, thread: u32, barrier_time: &[u16], lane_time: &[u16]) -> bool {
    let other = record.thread();
    if other == thread {
        return true;
    }
    let (a, b) = (other as usize / 32, thread as usize / 32);
    let time = record.time();
    time <= barrier_time[a].min(barrier_time[b])
        || a == b && time <= lane_time[other as usize].min(lane_time[thread as usize])
}

/// Checks an access against a shadow and notes it there; the record it races with, if any, and whether that is a write.
#[inline]
fn touch(
    cell: &mut Cell,
    new: Record,
    thread: u32,
    writes: bool,
    barrier_time: &[u16],
    lane_time: &[u16],
) -> Option<(Record, bool)> {
    let loose = |record: Record| record.some() && !ordered(record, thread, barrier_time, lane_time);
    let mut race = None;
    if loose(cell.write) {
        race = Some((cell.write, true));
    }
    if writes {
        if race.is_none() {
            race = cell.reads.into_iter().find(|&read| loose(read)).map(|read| (read, false));
        }
        cell.write = new;
    } else if !loose(cell.reads[0]) {
        cell.reads[0] = new;
    } else if !loose(cell.reads[1]) {
        cell.reads[1] = new;
    }
    race
}

/// Notes a read and says what it races with: as [`touch`], with the frequent cases first.
#[inline]
fn read(
    cell: &mut Cell,
    new: Record,
    thread: u32,
    met: u16,
    barrier_time: &[u16],
    lane_time: &[u16],
) -> Option<(Record, bool)> {
    let settled = |record: Record| !record.some() || record.time() <= met;
    if settled(cell.write) {
        for slot in &mut cell.reads {
            if settled(*slot) || slot.thread() == thread {
                *slot = new;
                return None;
            }
        }
    }
    touch(cell, new, thread, false, barrier_time, lane_time)
}

impl BlockHazards {
    /// Checks loads from shared memory, the most frequent access of all.
    fn shared_loads(&mut self, unit: u32, access: &Access<'_>) {
        let Self { shared, written, races, unwritten, barrier_time, lane_time, .. } = self;
        let met = self.all_met;
        let addresses = access.addresses;
        let units = (access.bytes >> unit).max(1);
        let all = access.lanes == u32::MAX;
        for lane in each(access.lanes) {
            let address = addresses[lane];
            let thread = access.warp * 32 + lane as u32;
            let new = Record::new(thread, self.time, access.instruction);
            let start = (address >> unit) as u32;
            // Two readers of a place are enough: a third lane of this warp need not be noted, unless another lane of the
            // warp has just written there.
            let same = |apart: usize| {
                lane >= 2 * apart && addresses[lane - apart] == address && addresses[lane - 2 * apart] == address
            };
            let third = all && (same(1) || same(8));
            for index in start..start + units {
                let Some(cell) = shared.get_mut(index as usize) else { break };
                if written[index as usize / 64] >> (index % 64) & 1 == 0 {
                    unwritten.push((lane as u32, index));
                }
                if third && (!cell.write.some() || cell.write.time() <= met) {
                    continue;
                }
                if let Some((old, old_writes)) = read(cell, new, thread, met, barrier_time, lane_time) {
                    races.push((lane as u32, index, old, old_writes));
                }
            }
        }
        if !self.races.is_empty() || !self.unwritten.is_empty() {
            self.report_loads(unit, access);
        }
    }

    #[cold]
    #[inline(never)]
    fn report_loads(&mut self, unit: u32, access: &Access<'_>) {
        let strong = self.strong(access.instruction);
        for (lane, index, old, old_writes) in std::mem::take(&mut self.races) {
            if !(strong && self.strong(old.instruction())) {
                let thread = access.warp * 32 + lane;
                self.race(Place::Shared(index << unit), old, old_writes, thread, access.instruction, false);
            }
        }
        for (lane, index) in std::mem::take(&mut self.unwritten) {
            let in_flight = self.flying.get((index << unit) as usize / 4).is_some_and(|flying| flying.0 != 0);
            if !in_flight {
                let side = self.side(access.warp * 32 + lane, access.instruction, Action::Reads);
                add(&mut self.found, HazardKind::UninitialisedShared, Place::Shared(index << unit), side, None, 1);
            }
        }
    }

    /// Checks a shared access of one lane.
    #[inline]
    fn shared_lane(
        &mut self,
        unit: u32,
        thread: u32,
        instruction: u32,
        address: u32,
        bytes: u32,
        writes: bool,
        reads: bool,
    ) {
        let new = Record::new(thread, self.time, instruction);
        let start = (address >> unit) as usize;
        for index in start..start + (bytes >> unit).max(1) as usize {
            let Some(cell) = self.shared.get_mut(index) else { return };
            let race = touch(cell, new, thread, writes, &self.barrier_time, &self.lane_time);
            let place = Place::Shared((index << unit) as u32);
            if let Some((old, old_writes)) = race
                && !(self.strong(old.instruction()) && self.strong(instruction))
            {
                self.race(place, old, old_writes, thread, instruction, writes);
            }
            let (word, bit) = (index / 64, 1u64 << (index % 64));
            if reads && self.written[word] & bit == 0 {
                let in_flight = self.flying.get((index << unit) / 4).is_some_and(|flying| flying.0 != 0);
                if !in_flight {
                    let side = self.side(thread, instruction, self.action(instruction, writes));
                    add(&mut self.found, HazardKind::UninitialisedShared, place, side, None, 1);
                }
            }
            if writes {
                self.written[word] |= bit;
            }
        }
    }

    /// Checks a shared access of one lane against copies in flight.
    fn against_copies(&mut self, thread: u32, instruction: u32, address: u32, bytes: u32, writes: bool) {
        for word in address / 4..(address + bytes).div_ceil(4) {
            let Some(&(owner, copy)) = self.flying.get(word as usize) else { return };
            if owner != 0 {
                let kind = if writes { HazardKind::CopyOverwritten } else { HazardKind::CopyNotWaited };
                let first = self.side(u32::from(owner) - 1, copy, Action::Copies);
                let second = self.side(thread, instruction, self.action(instruction, writes));
                add(&mut self.found, kind, Place::Shared(word * 4), first, Some(second), 1);
            }
        }
    }

    fn page(&mut self, page: u64) -> usize {
        let next = (self.cells.len() / self.per_page) as u32;
        let at = *self.pages.entry(page).or_insert(next);
        if at == next {
            self.cells.resize(self.cells.len() + self.per_page, GlobalCell::default());
        }
        at as usize * self.per_page
    }

    fn global(&mut self, plan: &Plan, access: &Access<'_>) {
        let (unit, per_page) = (plan.unit, self.per_page as u64);
        let writes = access.kind != AccessKind::Load;
        let atomic = access.kind == AccessKind::Atomic;
        let reads = access.kind == AccessKind::Load;
        let strong = self.strong(access.instruction);
        let mut latest = (u64::MAX, 0);
        for lane in each(access.lanes) {
            let thread = access.warp * 32 + lane as u32;
            let address = access.addresses[lane];
            let new = Record::new(thread, self.time, access.instruction);
            for part in 0..u64::from((access.bytes >> unit).max(1)) {
                let index = (address >> unit) + part;
                let page = index / per_page;
                if page != latest.0 {
                    latest = (page, self.page(page));
                }
                let updated = self.updated;
                let cell = &mut self.cells[latest.1 + (index % per_page) as usize];
                let fresh = !cell.cell.write.some();
                let race = touch(&mut cell.cell, new, thread, writes, &self.barrier_time, &self.lane_time);
                if writes {
                    cell.atomic = atomic && (fresh || cell.atomic);
                    cell.writes = if atomic { cell.writes } else { (cell.writes + 1).min(3) };
                } else {
                    cell.early_read |= !updated;
                }
                let place = Place::Global(index << unit);
                if let Some((old, old_writes)) = race
                    && !(strong && self.strong(old.instruction()))
                    && !self.same_value(access, lane, old, place)
                {
                    self.race(place, old, old_writes, thread, access.instruction, writes);
                }
                if reads && fresh {
                    let address = index << unit;
                    let output =
                        plan.arrays.iter().any(|array| array.4 && address >= array.0 && address - array.0 < array.1);
                    if output {
                        let side = self.side(thread, access.instruction, Action::Reads);
                        add(&mut self.found, HazardKind::UninitialisedGlobal, place, side, None, 1);
                    }
                }
            }
        }
        self.updated |= atomic || strong;
    }

    /// Lanes of one store that put the same value into one place do no harm.
    fn same_value(&self, access: &Access<'_>, lane: usize, old: Record, place: Place) -> bool {
        let _ = place;
        let Some(values) = access.values else { return false };
        let other = old.thread();
        old.instruction() == access.instruction
            && old.time() == self.time
            && other / 32 == access.warp
            && access.lanes >> (other % 32) & 1 != 0
            && values[other as usize % 32] == values[lane]
            && access.bytes <= 8
    }

    fn unset(&mut self, plan: &Plan, warp: u32, first: u32, end: u32, lanes: u32) {
        let code = plan.code();
        let warps = self.barrier_time.len();
        let start = code.unset_steps.partition_point(|step| step.0 < first);
        for &(instruction, number, how) in code.unset_steps[start..].iter().take_while(|step| step.0 < end) {
            let place = number as usize * warps + warp as usize;
            if how == Use::Set {
                // A guarded write may set fewer lanes; taking all for set gives no false alarm.
                self.set[place] |= lanes;
            } else if how == Use::Guard || !code.facts[instruction as usize].guarded {
                self.unset_read(warp, instruction, number, lanes & !self.set[place]);
            }
        }
    }

    fn unset_read(&mut self, warp: u32, instruction: u32, number: u32, lanes: u32) {
        if lanes != 0 {
            let side = self.side(warp * 32 + lanes.trailing_zeros(), instruction, Action::Reads);
            let count = u64::from(lanes.count_ones());
            add(&mut self.found, HazardKind::UnsetRegister, Place::Register(number), side, None, count);
        }
    }
}

impl Observer for BlockHazards {
    fn enter(&mut self, warp: u32, _: u32, first: u32, end: u32, lanes: u32) {
        if !self.set.is_empty()
            && let Some(plan) = self.plan.clone()
        {
            self.unset(&plan, warp, first, end, lanes);
        }
    }

    fn guarded(&mut self, warp: u32, instruction: u32, lanes: u32) {
        if self.set.is_empty() {
            return;
        }
        let Some(plan) = self.plan.clone() else { return };
        let steps = &plan.code().unset_steps;
        let start = steps.partition_point(|step| step.0 < instruction);
        for &(_, number, how) in steps[start..].iter().take_while(|step| step.0 == instruction) {
            let place = number as usize * self.barrier_time.len() + warp as usize;
            if how == Use::Read {
                self.unset_read(warp, instruction, number, lanes & !self.set[place]);
            }
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        let Some(plan) = self.plan.clone() else { return };
        self.watch(&plan, access);
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        let Some(plan) = self.plan.clone() else { return };
        // The source is read.
        for bytes in [4u32, 8, 12, 16] {
            let lanes = each(copy.lanes)
                .filter(|&lane| copy.source_bytes[lane].next_multiple_of(4) == bytes)
                .fold(0, |m, lane| m | 1 << lane);
            if lanes != 0 {
                let access = Access {
                    warp: copy.warp,
                    instruction: copy.instruction,
                    lanes,
                    kind: AccessKind::Load,
                    space: Space::Global,
                    bytes,
                    addresses: copy.from,
                    values: None,
                };
                self.global(&plan, &access);
            }
        }
        let warp = copy.warp as usize;
        let mut to = [0; 32];
        for lane in each(copy.lanes) {
            let thread = copy.warp * 32 + lane as u32;
            let address = copy.to[lane] as u32;
            to[lane] = address;
            self.against_copies(thread, copy.instruction, address, copy.bytes, true);
            // The write may land at any time from now on.
            let fresh: Vec<bool> = self.written_units(plan.unit, address, copy.bytes);
            self.shared_lane(plan.unit, thread, copy.instruction, address, copy.bytes, true, false);
            self.restore_written(plan.unit, address, &fresh);
            for word in address / 4..(address + copy.bytes) / 4 {
                if let Some(flying) = self.flying.get_mut(word as usize) {
                    *flying = (thread as u16 + 1, copy.instruction);
                }
            }
        }
        let group = self.groups[warp];
        self.flights[warp].push(Flight {
            lanes: copy.lanes,
            instruction: copy.instruction,
            bytes: copy.bytes,
            to,
            group,
        });
    }

    fn copy_commit(&mut self, warp: u32, _: u32, lanes: u32) {
        if let Some(groups) = self.groups.get_mut(warp as usize) {
            each(lanes).for_each(|lane| groups[lane] += 1);
        }
    }

    fn copy_wait(&mut self, warp: u32, _: u32, lanes: u32, pending: Option<u32>) {
        let Some(plan) = self.plan.clone() else { return };
        let mut flights = std::mem::take(&mut self.flights[warp as usize]);
        let groups = self.groups[warp as usize];
        for flight in &mut flights {
            for lane in each(flight.lanes & lanes) {
                if pending.is_some_and(|pending| flight.group[lane].saturating_add(pending) >= groups[lane]) {
                    continue;
                }
                flight.lanes &= !(1 << lane);
                let (address, thread) = (flight.to[lane], warp * 32 + lane as u32);
                for word in address / 4..(address + flight.bytes) / 4 {
                    if let Some(flying) = self.flying.get_mut(word as usize)
                        && *flying == (thread as u16 + 1, flight.instruction)
                    {
                        *flying = (0, 0);
                    }
                }
                // Now it has landed at the latest.
                self.shared_lane(plan.unit, thread, flight.instruction, address, flight.bytes, true, false);
            }
        }
        flights.retain(|flight| flight.lanes != 0);
        self.flights[warp as usize] = flights;
    }

    fn barrier_arrive(&mut self, warp: u32, instruction: u32, id: u32, lanes: u32, waits: bool) {
        let counted =
            self.plan.as_ref().is_some_and(|plan| plan.code().facts[instruction as usize].role == Role::CountedBarrier);
        if let Some((warps, list)) = self.arrived.get_mut(id as usize) {
            *warps |= 1 << warp;
            if waits && !counted {
                list.push((warp, instruction, lanes.trailing_zeros()));
            }
        }
    }

    fn barrier_release(&mut self, id: u32, waiting: u32) {
        let Some(arrived) = self.arrived.get_mut(id as usize) else { return };
        let (warps, list) = std::mem::take(arrived);
        if let Some(&(warp, instruction, lane)) = list.first() {
            let waits = |warp: u32, instruction: u32, lane: u32| Side {
                block: self.number,
                thread: warp * 32 + lane,
                instruction,
                action: Action::Waits,
            };
            let first = waits(warp, instruction, lane);
            if let Some(&(other, there, lane)) = list.iter().find(|arrival| arrival.1 != instruction) {
                let second = waits(other, there, lane);
                add(&mut self.found, HazardKind::DifferentBarriers, Place::Barrier(id), first, Some(second), 1);
            }
            if let Some((thread, exit)) = self.ended {
                let second = self.side(thread, exit, Action::Ends);
                add(&mut self.found, HazardKind::ExitBeforeBarrier, Place::Barrier(id), first, Some(second), 1);
            }
        }
        let now = self.tick();
        for (warp, time) in self.barrier_time.iter_mut().enumerate() {
            if (warps | waiting) >> warp & 1 != 0 {
                *time = now;
            }
        }
        self.all_met = self.barrier_time.iter().copied().min().unwrap_or(0);
    }

    fn warp_sync(&mut self, warp: u32, _: u32, lanes: u32) {
        let now = self.tick();
        for lane in each(lanes) {
            if let Some(time) = self.lane_time.get_mut(warp as usize * 32 + lane) {
                *time = now;
            }
        }
    }

    fn fence(&mut self, _: u32, _: u32, _: u32) {
        self.fenced = true;
    }

    fn exit(&mut self, warp: u32, instruction: u32, lanes: u32) {
        if self.ended.is_none() {
            self.ended = Some((warp * 32 + lanes.trailing_zeros(), instruction));
        }
    }
}

impl BlockHazards {
    fn watch(&mut self, plan: &Plan, access: &Access<'_>) {
        match access.space {
            Space::Global => self.global(plan, access),
            Space::Shared => {
                let unit = plan.unit;
                let writes = access.kind != AccessKind::Load;
                let reads = access.kind != AccessKind::Store;
                let origin = plan.code().facts[access.instruction as usize].shared_origin;
                let copies = !self.flying.is_empty();
                let now = self.time;
                let array =
                    origin.map(|origin| &plan.code().shared_arrays[origin as usize]).filter(|array| array.bytes > 0);
                if let Some(array) = array {
                    let end = array.offset + array.bytes;
                    for lane in each(access.lanes) {
                        let address = access.addresses[lane] as u32;
                        if address < array.offset || address + access.bytes > end {
                            let thread = access.warp * 32 + lane as u32;
                            let side = self.side(thread, access.instruction, self.action(access.instruction, writes));
                            add(&mut self.found, HazardKind::WrongArray, Place::Shared(address), side, None, 1);
                        }
                    }
                }
                if !writes {
                    if copies {
                        for lane in each(access.lanes) {
                            let (thread, address) = (access.warp * 32 + lane as u32, access.addresses[lane] as u32);
                            self.against_copies(thread, access.instruction, address, access.bytes, false);
                        }
                    }
                    self.shared_loads(unit, access);
                    return;
                }
                for lane in each(access.lanes) {
                    let thread = access.warp * 32 + lane as u32;
                    let address = access.addresses[lane] as u32;
                    if copies {
                        self.against_copies(thread, access.instruction, address, access.bytes, writes);
                    }
                    if access.kind == AccessKind::Store
                        && let Some(cell) = self.shared.get((address >> unit) as usize)
                        && cell.write.some()
                        && cell.write.time() == now
                        && cell.write.thread() != thread
                        && self.same_value(access, lane, cell.write, Place::Shared(address))
                    {
                        continue;
                    }
                    self.shared_lane(unit, thread, access.instruction, address, access.bytes, writes, reads);
                }
            }
            _ => {}
        }
    }

    fn written_units(&self, unit: u32, address: u32, bytes: u32) -> Vec<bool> {
        let start = (address >> unit) as usize;
        (start..start + (bytes >> unit) as usize)
            .map(|index| self.written.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 != 0))
            .collect()
    }

    /// A copy in flight has not written anything yet.
    fn restore_written(&mut self, unit: u32, address: u32, before: &[bool]) {
        let start = (address >> unit) as usize;
        for (index, &written) in (start..).zip(before) {
            if !written && let Some(word) = self.written.get_mut(index / 64) {
                *word &= !(1 << (index % 64));
            }
        }
    }
}
