//! Follows the values of one block: after each instruction, the registers that it wrote get the tags of their new values.

use super::launch::{Launch, Store};
use super::nodes::{Change, Node, Nodes, Operation, Passage, Tag};
use crate::exec::source;
use crate::lanes::each;
use crate::locked::lock;
use crate::observe::{Access, BlockInfo, BulkCopy, CopyAccess, CopyLanded, Executed, Observer};
use ptx::Dim3;
use ptx::ast::Type;
use ptx::error::AccessKind;
use ptx::lower::inst::{AtomicOp, Detail, Function, Inst, NONE, Op, Shape};
use ptx::lower::{Home, Register};
use ptx::place::Space;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

/// The tags of a register in all lanes.
pub(super) type Tags = [Tag; 32];

/// The value in half a word of shared memory, and who stored it. If the whole word is one value, both halves have its tag.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    value: Tag,
    stored: Option<u32>,
    by: u32,
}

/// A value that arrived in shared memory.
#[derive(Debug, Clone, Copy)]
pub struct Placed<T = Tag> {
    /// The value, or its tag.
    pub value: T,
    /// Its first byte in the block's shared memory.
    pub address: u32,
    /// The instruction that stored or copied it.
    pub stored: u32,
    /// Number in the block of the thread that did.
    pub by: u32,
    /// How many floating-point instructions the thread's warp had executed before. The difference to that of the element's load is
    /// the work under which the load travelled.
    pub after: u32,
}

/// An access of the instruction that is being executed.
#[derive(Debug)]
pub(super) struct Request {
    pub space: Space,
    pub kind: AccessKind,
    lanes: u32,
    pub addresses: [u64; 32],
}

/// An asynchronous copy that a warp is starting.
#[derive(Debug)]
struct Start {
    lanes: u32,
    from: [u64; 32],
    to: [u64; 32],
    source_bytes: [u32; 32],
    bytes: u32,
}

/// An asynchronous copy of a lane that has not landed.
#[derive(Debug)]
struct Flight {
    lane: usize,
    instruction: u32,
    to: u32,
    words: Vec<Tag>,
}

#[derive(Debug)]
struct Warp {
    /// In the order of the registers: 32 tags for each word of a register.
    tags: Vec<Tag>,
    flights: VecDeque<Flight>,
    /// Floating-point instructions that it has executed.
    computed: u32,
}

/// The origins of the values of one block.
#[derive(Debug, Default)]
pub struct BlockOrigins {
    pub(super) launch: Arc<Launch>,
    /// The list to which it is added when the block has ended.
    pub(super) home: Option<Arc<Mutex<Vec<Self>>>>,
    pub(super) index: Dim3,
    /// The graph of how its values were formed.
    pub nodes: Nodes,
    /// The words that it has stored to global memory so far, in order.
    pub stores: Vec<Store>,
    /// The values that have arrived in its shared memory so far, in order.
    pub placed: Vec<Placed>,
    warps: Vec<Warp>,
    constants: HashMap<u32, bool>,
    shared: Vec<Cell>,
    /// Tags of local memory, by thread and word.
    local: HashMap<(u32, u32), Tag>,
    /// Tags of the words that this block has stored to global memory, by address.
    global: HashMap<u64, Tag>,
    requests: Vec<Request>,
    starts: Vec<Start>,
    landed: Vec<BulkCopy>,
}

impl BlockOrigins {
    pub(super) fn new(launch: Arc<Launch>, block: &BlockInfo) -> Self {
        let words = launch.code.planes as usize * 32;
        let warp = |_| Warp { tags: vec![0; words], flights: VecDeque::new(), computed: 0 };
        Self {
            index: block.index,
            warps: (0..block.threads.div_ceil(32)).map(warp).collect(),
            constants: launch.constants(),
            shared: vec![Cell::default(); 2 * launch.shared_words],
            launch,
            ..Self::default()
        }
    }

    /// Returns the tags of the values in a warp's register, by lane. For a 64-bit register, these are the tags of its lower half.
    pub fn tags(&self, warp: u32, register: &Register) -> [Tag; 32] {
        let (Home::Word(place) | Home::Double(place)) = register.home else { return [0; 32] };
        let tags = &self.warps[warp as usize].tags;
        tags.get(place as usize..).and_then(|tags| tags.first_chunk()).copied().unwrap_or([0; 32])
    }

    /// Returns the tags of an operand. They are those from before the instruction, until its result is set.
    pub(super) fn operand(&mut self, step: &Executed<'_>, place: u32) -> Tags {
        if let Some(&wide) = self.constants.get(&place) {
            return [self.nodes.constant(values(step, place, wide)[0]); 32];
        }
        let start = place as usize;
        let tags = &self.warps[step.warp as usize].tags;
        // Special registers, parameters and absent operands have no tags.
        tags.get(start..start.saturating_add(32)).and_then(|tags| tags.try_into().ok()).unwrap_or([0; 32])
    }

    pub(super) fn set(&mut self, step: &Executed<'_>, place: u32, tags: &Tags) {
        let start = place as usize;
        let all = &mut self.warps[step.warp as usize].tags;
        let Some(to) = start.checked_add(32).and_then(|end| all.get_mut(start..end)) else { return };
        each(step.lanes).for_each(|lane| to[lane] = tags[lane]);
    }

    /// Sets the tags of the result of an instruction with one operand. A constant gets the instruction's number.
    fn derived(&mut self, step: &Executed<'_>, inst: &Inst, (from_wide, wide): (bool, bool), change: Option<Change>) {
        let from = self.operand(step, inst.a);
        let high = if from_wide { self.operand(step, inst.a.saturating_add(32)) } else { from };
        let bits = values(step, inst.d, wide);
        let mut out = [0; 32];
        // All lanes of a constant share a node. 0 means that there is no such node yet.
        let mut constant = 0;
        for lane in each(step.lanes).filter(|&lane| from[lane] != 0 && from[lane] == high[lane]) {
            out[lane] = match change {
                _ if self.nodes.is_constant(from[lane]) => {
                    if constant == 0 || self.nodes.bits(constant) != bits[lane] {
                        constant = self.nodes.add(Node::Constant { instruction: Some(step.instruction) }, bits[lane]);
                    }
                    constant
                }
                Some(change) => self.nodes.add(Node::Changed(from[lane], change), bits[lane]),
                None => from[lane],
            };
        }
        self.result(step, inst.d, wide, &out);
    }

    /// Follows a minimum or maximum: the result is the operand that has the same bits.
    fn chosen(&mut self, step: &Executed<'_>, inst: &Inst) {
        let (one, other) = (self.operand(step, inst.a), self.operand(step, inst.b));
        let (bits, instruction) = (values(step, inst.d, false), step.instruction);
        let mut out = [0; 32];
        for lane in each(step.lanes) {
            out[lane] = self.nodes.chosen([one[lane], other[lane]], bits[lane], instruction);
        }
        self.set(step, inst.d, &out);
    }

    /// Sets the tags of a register. Both words of a 64-bit register get the tag of the one value.
    pub(super) fn result(&mut self, step: &Executed<'_>, place: u32, wide: bool, tags: &Tags) {
        self.set(step, place, tags);
        if wide {
            self.set(step, place.saturating_add(32), tags);
        }
    }

    /// Copies the tags of other places, word by word.
    fn moved(&mut self, step: &Executed<'_>, to: u32, from: [u32; 2]) {
        for (place, word) in from.into_iter().zip([0, 32]) {
            let tags = self.operand(step, place);
            self.set(step, to.saturating_add(word), &tags);
        }
    }

    fn generic(&mut self, step: &Executed<'_>, inst: &Inst, detail: &Detail) {
        let wide = detail.wide[0];
        let mut computed = |operation| self.computed(step, inst, wide, operation);
        match detail.function {
            Function::MulSingle | Function::MulDouble | Function::MulLo => computed(Operation::Multiply),
            Function::AddSingle | Function::AddDouble | Function::AddFloat => computed(Operation::Add),
            Function::SubSingle | Function::SubDouble => computed(Operation::Subtract),
            Function::DivFull | Function::DivApprox => computed(Operation::Divide),
            Function::FmaSingle | Function::FmaDouble | Function::MadLo | Function::FmaFloat => {
                computed(Operation::MultiplyAdd);
            }
            Function::NegDouble => self.derived(step, inst, (true, true), Some(Change::Negated)),
            Function::Cvt => {
                let keeps = detail.kind.is_float() && detail.source.is_float();
                let change = (!keeps).then_some(Change::Converted(step.instruction));
                self.derived(step, inst, (detail.wide[1], detail.wide[0]), change);
            }
            Function::Pack if detail.wide[0] && detail.kind == Type::B32 => self.moved(step, inst.d, [inst.a, inst.b]),
            Function::Pack if !wide && detail.kind == Type::B16 => self.joined(step, inst.d, [inst.a, inst.b], false),
            Function::CvtPack if detail.kind.bytes() == 4 && detail.source == Type::F32 => {
                self.joined(step, inst.d, [inst.b, inst.a], true);
            }
            Function::Unpack if !detail.wide[1] && detail.kind == Type::B16 => {
                let from = self.operand(step, inst.a).map(|tag| self.nodes.half(tag, detail.lut.into()));
                self.set(step, inst.d, &from);
            }
            Function::Unpack if detail.wide[1] && detail.kind == Type::B32 => {
                let from = self.operand(step, inst.a.saturating_add(32 * u32::from(detail.lut)));
                self.set(step, inst.d, &from);
            }
            _ => self.forget(step),
        }
    }

    /// Clears the tags of all registers that the instruction writes.
    pub(super) fn forget(&mut self, step: &Executed<'_>) {
        let launch = self.launch.clone();
        for register in launch.code.registers_written(step.instruction) {
            match register.home {
                Home::Predicate(_) => {}
                Home::Word(place) => self.result(step, place, false, &[0; 32]),
                Home::Double(place) => self.result(step, place, true, &[0; 32]),
            }
        }
    }

    fn shuffled(&mut self, step: &Executed<'_>, inst: &Inst) {
        let from = self.operand(step, inst.a);
        let value = values(step, inst.d, false);
        // If the result has overwritten an operand, the operand's value is still known if its tag is that of a constant.
        let mut before = |place| match self.operand(step, place) {
            tags if place == inst.d => tags.map(|tag| self.nodes.bits(tag)),
            _ => values(step, place, false),
        };
        let (by, bounds) = (before(inst.b), before(inst.c));
        let mut out = [0; 32];
        for lane in each(step.lanes) {
            let tag = from[source(inst.sub, lane, by[lane] as u32, bounds[lane] as u32).0];
            if tag != 0 && self.nodes.bits(tag) == value[lane] {
                out[lane] = self.nodes.shuffled(tag, step.instruction);
            }
        }
        self.set(step, inst.d, &out);
    }

    /// Follows a load: the registers get the tags of the words in memory.
    fn load(&mut self, step: &Executed<'_>, inst: &Inst, request: &Request) {
        let shape = Shape::unpack(inst.sub);
        let step = Executed { lanes: request.lanes, ..*step };
        for (part, &place) in
            inst.data().iter().enumerate().take(shape.count as usize).filter(|(_, place)| **place != NONE)
        {
            let bits = values(&step, place, shape.wide);
            let mut halves = [[0; 32]; 2];
            let known = shape.bytes >= 2 && (shape.bytes == 8) == shape.wide;
            for lane in each(request.lanes).filter(|_| known) {
                let address = request.addresses[lane] + part as u64 * u64::from(shape.bytes);
                if shape.bytes == 2 {
                    if request.space == Space::Shared {
                        halves[0][lane] = self.cell(&step, address, bits[lane]);
                    }
                    continue;
                }
                let mut half = |at: u64, bits| self.loaded(&step, request.space, address + 4 * at, lane, bits);
                if !shape.wide {
                    halves[0][lane] = half(0, bits[lane]);
                    continue;
                }
                let [low, high] = [0, 1].map(|at| half(at, bits[lane] >> (32 * at) & 0xffff_ffff));
                // If both halves have one tag, they must have its bits: then they are one 64-bit value again.
                if low != high || self.nodes.bits(low) == bits[lane] {
                    (halves[0][lane], halves[1][lane]) = (low, high);
                }
            }
            for (tags, place) in halves.iter().zip([place, place.saturating_add(32)]).take(1 + usize::from(shape.wide))
            {
                self.set(&step, place, tags);
            }
        }
    }

    /// Returns the tag of a word of memory whose value has just been loaded.
    pub(super) fn loaded(&mut self, step: &Executed<'_>, space: Space, address: u64, lane: usize, bits: u64) -> Tag {
        match space {
            Space::Global => match self.global.get(&address) {
                Some(&tag) if self.nodes.is(tag, bits) => tag,
                Some(_) => 0,
                None => self.element(step, address, step.instruction, bits),
            },
            Space::Shared => {
                let [low, high] = [0, 1].map(|half| self.shared.get((address / 2 + half) as usize).map(|it| it.value));
                if low == high {
                    return self.cell(step, address, bits);
                }
                let halves = [0, 1].map(|half| self.cell(step, address + 2 * half, bits >> (16 * half) & 0xffff));
                self.nodes.halves(halves, bits)
            }
            Space::Local => {
                let thread = 32 * step.warp + lane as u32;
                let tag = self.local.get(&(thread, (address / 4) as u32)).copied().unwrap_or(0);
                if self.nodes.is(tag, bits) { tag } else { 0 }
            }
            _ => 0,
        }
    }

    /// Returns the tag of a place in shared memory from which these bits were read.
    pub(super) fn cell(&mut self, step: &Executed<'_>, address: u64, bits: u64) -> Tag {
        let Some(&Cell { value, stored, by }) = self.shared.get((address / 2) as usize) else { return 0 };
        let value = if self.nodes.is(value, bits) { value } else { 0 };
        let bits = if value == 0 { bits } else { self.nodes.bits(value) };
        let passage = Passage { address: address as u32, stored, by, loaded: step.instruction };
        self.nodes.add(Node::Changed(value, Change::Passed(passage)), bits)
    }

    fn element(&mut self, step: &Executed<'_>, address: u64, loaded: u32, bits: u64) -> Tag {
        let Some(number) = step.memory.number(address, 1) else { return 0 };
        let array = &step.memory.allocations()[number];
        if array.constant {
            return self.nodes.constant(bits);
        }
        let word = ((address - array.base.0) / 4) as u32;
        let after = self.warps[step.warp as usize].computed;
        self.nodes.add(Node::Element { array: number as u32, word, loaded, after }, bits)
    }

    fn store(&mut self, step: &Executed<'_>, inst: &Inst, request: &Request) {
        let shape = Shape::unpack(inst.sub);
        for (part, place) in inst.data().into_iter().enumerate().take(shape.count as usize) {
            let tags = [self.operand(step, place), self.operand(step, place.saturating_add(32))];
            for half in 0..u64::from(shape.bytes.div_ceil(4)) {
                for lane in each(request.lanes) {
                    let address = request.addresses[lane] + part as u64 * u64::from(shape.bytes) + 4 * half;
                    let number = 32 * step.warp + lane as u32;
                    match (shape.bytes, request.space) {
                        (2, Space::Shared) => self.arrive(address as u32, 2, step.instruction, number, tags[0][lane]),
                        (1 | 2, space) => self.put(step, space, address & !3, lane, 0),
                        (_, space) => self.put(step, space, address, lane, tags[half as usize & 1][lane]),
                    }
                }
            }
        }
    }

    /// Follows a store of one word to memory.
    pub(super) fn put(&mut self, step: &Executed<'_>, space: Space, address: u64, lane: usize, value: Tag) {
        let (number, instruction) = (32 * step.warp + lane as u32, step.instruction);
        match space {
            Space::Global => {
                let Some(array) = step.memory.number(address, 1) else { return };
                let index = (address - step.memory.allocations()[array].base.0) / 4;
                self.global.insert(address, value);
                let (block, thread) = (self.index, self.launch.threads.index(number.into()));
                let order = self.launch.stores.fetch_add(1, Relaxed);
                self.stores.push(Store { array, index, block, thread, instruction, number, of_block: 0, order, value });
            }
            Space::Shared => self.arrive(address as u32, 4, instruction, number, value),
            Space::Local => {
                self.local.insert((number, (address / 4) as u32), value);
            }
            _ => {}
        }
    }

    /// A value of `bytes` bytes arrives in shared memory. A word of two halves arrives as two values.
    fn arrive(&mut self, address: u32, bytes: u32, stored: u32, by: u32, value: Tag) {
        if let Some([low, high]) = self.nodes.both(value) {
            self.arrive(address, 2, stored, by, low);
            return self.arrive(address + 2, 2, stored, by, high);
        }
        let start = address as usize / 2;
        let Some(cells) = self.shared.get_mut(start..start + bytes as usize / 2) else { return };
        cells.fill(Cell { value, stored: Some(stored), by });
        let after = self.warps.get(by as usize / 32).map_or(0, |warp| warp.computed);
        self.placed.push(Placed { value, address, stored, by, after });
    }

    /// Follows an atomic operation: an addition to global memory extends the sum there; after any other, the origin is unknown.
    fn updated(&mut self, step: &Executed<'_>, inst: &Inst, request: &Request) {
        let atomic = self.launch.code.atomics[inst.imm as usize];
        let adds = atomic.op == AtomicOp::Add && request.space == Space::Global && atomic.kind.bytes() == 4;
        let added = self.operand(step, inst.b);
        for lane in each(request.lanes) {
            let address = request.addresses[lane];
            let mut tag = 0;
            if adds && added[lane] != 0 {
                let known = self.global.get(&address).copied();
                let a = known.unwrap_or_else(|| self.element(step, address, step.instruction, 0));
                tag = self.nodes.add(Node::Sum { a, b: added[lane] }, word(step, address));
            }
            self.put(step, request.space, address & !3, lane, tag);
        }
        self.forget(step);
    }

    /// Follows the bulk copies that have landed since the last instruction.
    fn land_bulk(&mut self, step: &Executed<'_>) {
        for BulkCopy { thread, instruction, bytes, from, to, .. } in std::mem::take(&mut self.landed) {
            for part in 0..bytes / 4 {
                let address = from + 4 * u64::from(part);
                let tag = self.element(step, address, instruction, word(step, address));
                self.arrive(to + 4 * part, 4, instruction, thread, tag);
            }
        }
    }

    fn take_off(&mut self, step: &Executed<'_>) {
        for Start { lanes, from, to, source_bytes, bytes } in std::mem::take(&mut self.starts) {
            for lane in each(lanes) {
                let copied = |part: u32| {
                    let address = from[lane] + 4 * u64::from(part);
                    if 4 * part < source_bytes[lane] {
                        self.element(step, address, step.instruction, word(step, address))
                    } else {
                        self.nodes.add(Node::Constant { instruction: Some(step.instruction) }, 0)
                    }
                };
                let words = (0..bytes / 4).map(copied).collect();
                let warp = &mut self.warps[step.warp as usize];
                warp.flights.push_back(Flight { lane, instruction: step.instruction, to: to[lane] as u32, words });
            }
        }
    }
}

pub(super) fn values(step: &Executed<'_>, place: u32, wide: bool) -> [u64; 32] {
    step.registers.values(if wide { Home::Double(place) } else { Home::Word(place) })
}

/// Returns a word of global memory, or 0 if no array holds the address.
pub(super) fn word(step: &Executed<'_>, address: u64) -> u64 {
    let array = step.memory.holding(address, 4);
    array.map_or(0, |array| array.words[(address - array.base.0) as usize / 4].load(Relaxed).into())
}

impl Observer for BlockOrigins {
    fn access(&mut self, access: &Access<'_>) {
        let &Access { space, kind, lanes, addresses, .. } = access;
        self.requests.push(Request { space, kind, lanes, addresses: *addresses });
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        let &CopyAccess { lanes, from, to, source_bytes, bytes, .. } = copy;
        self.starts.push(Start { lanes, from: *from, to: *to, source_bytes: *source_bytes, bytes });
    }

    fn bulk_landed(&mut self, copy: &BulkCopy) {
        self.landed.push(*copy);
    }

    fn copy_landed(&mut self, landed: &CopyLanded<'_>) {
        for lane in each(landed.lanes) {
            let to = landed.to[lane];
            let is_it = |it: &Flight| (it.lane, it.instruction, it.to) == (lane, landed.instruction, to);
            let flights = &mut self.warps[landed.warp as usize].flights;
            let Some(flight) = flights.iter().position(is_it).and_then(|at| flights.remove(at)) else { continue };
            for (address, tag) in (to..).step_by(4).zip(flight.words) {
                self.arrive(address, 4, landed.instruction, 32 * landed.warp + lane as u32, tag);
            }
        }
    }

    fn executed(&mut self, step: &Executed<'_>) {
        let requests = std::mem::take(&mut self.requests);
        if step.lanes == 0 {
            return;
        }
        let launch = self.launch.clone();
        let inst = &launch.instructions[step.instruction as usize];
        self.warps[step.warp as usize].computed += u32::from(launch.code.facts[step.instruction as usize].flop.0 > 0);
        self.take_off(step);
        self.land_bulk(step);
        for request in requests.iter().filter(|_| inst.op != Op::Matrix) {
            match request.kind {
                AccessKind::Load => self.load(step, inst, request),
                AccessKind::Store => self.store(step, inst, request),
                AccessKind::Atomic => self.updated(step, inst, request),
                _ => {}
            }
        }
        let instruction = step.instruction;
        let wide = matches!(inst.op, Op::MulF64 | Op::AddF64 | Op::SubF64 | Op::FmaF64);
        match inst.op {
            Op::Matrix | Op::Warpgroup => self.matrix(step, inst, &requests),
            _ if !requests.is_empty() => {}
            Op::Mov32 => self.derived(step, inst, (false, false), None),
            Op::Mov64 if self.constants.contains_key(&inst.a) => self.derived(step, inst, (false, true), None),
            Op::Mov64 => self.moved(step, inst.d, [inst.a, inst.a.saturating_add(32)]),
            Op::Selp32 | Op::Selp64 => {
                let chosen = step.registers.values(Home::Predicate(inst.c));
                let (one, other) = (self.operand(step, inst.a), self.operand(step, inst.b));
                let tags = std::array::from_fn(|lane| if chosen[lane] != 0 { one[lane] } else { other[lane] });
                self.result(step, inst.d, inst.op == Op::Selp64, &tags);
            }
            Op::MulF32 | Op::Mul32 | Op::MulF64 => self.computed(step, inst, wide, Operation::Multiply),
            Op::AddF32 | Op::Add32 | Op::AddF64 => self.computed(step, inst, wide, Operation::Add),
            Op::SubF32 | Op::Sub32 | Op::SubF64 => self.computed(step, inst, wide, Operation::Subtract),
            Op::DivF32 => self.computed(step, inst, wide, Operation::Divide),
            Op::FmaF32 | Op::Mad32 | Op::FmaF64 => self.computed(step, inst, wide, Operation::MultiplyAdd),
            Op::MinF32 | Op::MaxF32 => self.chosen(step, inst),
            Op::NegF32 | Op::Neg32 => self.derived(step, inst, (false, false), Some(Change::Negated)),
            // An `and` with a constant takes the part of a number that tensor cores multiply. No other `and` is followed.
            Op::And32 if !self.constants.contains_key(&inst.b) => self.forget(step),
            Op::CvtF32S32 | Op::CvtF32U32 | Op::And32 => {
                self.derived(step, inst, (false, false), Some(Change::Converted(instruction)));
            }
            Op::AbsF32 => {
                let (from, bits) = (self.operand(step, inst.a), values(step, inst.d, false));
                let tags = std::array::from_fn(|lane| self.nodes.absolute(from[lane], bits[lane], instruction));
                self.set(step, inst.d, &tags);
            }
            Op::Generic => self.generic(step, inst, &launch.code.details[inst.imm as usize]),
            Op::Shfl => self.shuffled(step, inst),
            _ => self.forget(step),
        }
    }

    fn end(mut self: Box<Self>) {
        if let Some(home) = self.home.take() {
            lock(&home).push(*self);
        }
    }
}
