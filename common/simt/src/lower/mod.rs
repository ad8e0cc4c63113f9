//! From the program as written to the form that is executed.
//!
//! Calls are laid out in line, labels become instruction indices, registers become slots, constants become registers
//! that are set once, and every branch learns where its lanes meet again. What the simulator does not support is
//! refused here, before anything runs.

mod allocate;
mod decode;
mod flow;
pub(crate) mod inst;
mod variables;

use crate::ast::{Function, Item, Operand, Position, Space, Statement};
use crate::module::{Inner, SharedArray, register_bytes, source_name};
use crate::{Error, RegisterCounts, Type};
use allocate::Effect;
use flow::Block;
pub(crate) use inst::{Inst, NONE, Op};
use std::collections::HashMap;
use std::sync::Arc;

/// Longest kernel, calls laid out, in instructions.
const LARGEST_KERNEL: usize = 4_000_000;
/// Deepest nesting of calls.
const DEEPEST_CALL: usize = 64;
/// Most local memory of a thread, in bytes: what a GPU allows.
const LARGEST_LOCAL: u64 = 512 * 1024;

/// Where generic addresses of shared memory start.
pub(crate) const SHARED_WINDOW: u64 = 1 << 61;
/// Where generic addresses of local memory start.
pub(crate) const LOCAL_WINDOW: u64 = 1 << 62;

/// A value that is known before a warp starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Preset {
    Constant(u64),
    /// Bytes of the parameter area: position and size.
    Param {
        offset: u32,
        bytes: u32,
        signed: bool,
    },
    /// Address of a shared array, by number, and the place in it.
    Shared {
        array: u32,
        address: u64,
    },
    /// Address of a variable of the module, by number.
    Variable {
        number: u32,
        offset: i64,
    },
    Special(Special),
}

/// Special registers that do not change while a warp runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    LaneMaskEq,
    LaneMaskLt,
    LaneMaskLe,
    LaneMaskGt,
    LaneMaskGe,
    DynamicShared,
    TotalShared,
    Zero,
    One,
}

/// A basic block of the finished code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BasicBlock {
    /// First instruction number and one past the last.
    pub start: u32,
    pub end: u32,
}

/// How an instruction uses a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    /// Read by all lanes, to decide which of them execute the instruction.
    Guard,
    Set,
}

/// A kernel ready to run.
#[derive(Debug)]
pub(crate) struct Code {
    pub insts: Vec<Inst>,
    pub runs: Vec<inst::Run>,
    pub details: Vec<inst::Detail>,
    pub atomics: Vec<inst::Atomic>,
    pub copies: Vec<inst::Copy>,
    /// Targets of indexed branches.
    pub tables: Vec<Vec<u32>>,
    /// By instruction number.
    pub positions: Vec<Position>,
    pub blocks: Vec<BasicBlock>,
    /// Values set before a warp starts: place in words, 64-bit or not, value.
    pub presets: Vec<(u32, bool, Preset)>,
    /// Registers of a warp, in groups of 32 words, presets first.
    pub planes: u32,
    /// How many of the planes hold presets.
    pub preset_planes: u32,
    pub predicates: u32,
    pub static_shared_bytes: u32,
    /// Where the dynamic array starts.
    pub dynamic_shared_offset: u32,
    pub shared_arrays: Vec<SharedArray>,
    pub local_bytes: u32,
    pub param_bytes: u32,
    /// Variables of the module that the kernel uses: numbers in the program.
    pub variables: Vec<u32>,
    pub registers: RegisterCounts,
    /// Registers that some path reads before it sets them: their names.
    pub maybe_unset: Vec<String>,
    /// Instructions that read or set these: instruction number, number of the register, how.
    pub unset_steps: Vec<(u32, u32, Use)>,
    /// By instruction number: the shared array an address was computed from, when it is one.
    pub shared_origin: Vec<Option<u32>>,
    /// By instruction number: an access that other threads may race with by intention (`volatile`, `relaxed`, ...).
    pub strong: Vec<bool>,
    /// By instruction number: atomic operations, asynchronous copies, barriers for a given number of threads.
    pub is_atomic: Vec<bool>,
    pub is_copy: Vec<bool>,
    pub counted_barrier: Vec<bool>,
    /// Some access to memory is narrower than a word.
    pub narrow: bool,
    /// By instruction number: floating-point operations of a lane, and whether it is a multiply-add in single precision.
    pub flop: Vec<(u8, bool)>,
    /// By instruction number: whether it has a guard.
    pub is_guarded: Vec<bool>,
}

/// A function laid out in line once.
struct Frame {
    function: usize,
    /// Number of its first register.
    registers: u32,
    /// Where its variables are.
    places: Vec<Place>,
    /// Label after the call; none for the kernel itself.
    back: Option<Arc<str>>,
}

/// Where a variable is.
#[derive(Debug, Clone, Copy)]
enum Place {
    Unplaced,
    Shared(u32),
    Local(u32),
    Param(u32),
    Module(u32),
}

enum Flat<'a> {
    Label(usize, Arc<str>, u32),
    Statement(usize, &'a Statement),
    /// End of a function laid out in line.
    Back(Arc<str>),
}

struct Layout<'a> {
    inner: &'a Inner,
    frames: Vec<Frame>,
    flat: Vec<Flat<'a>>,
    registers: u32,
    shared: Vec<SharedArray>,
    /// Shared variables that have a place: function (or none for the module) and number.
    placed: HashMap<(Option<usize>, u32), u32>,
    shared_bytes: u64,
    dynamic: Vec<(Option<usize>, u32)>,
    local_bytes: u64,
}

impl<'a> Layout<'a> {
    fn function(&self, index: usize) -> &'a Function {
        &self.inner.program.functions[index]
    }

    fn local(&mut self, bytes: u64, align: u32) -> u32 {
        let offset = self.local_bytes.next_multiple_of(u64::from(align.max(1)));
        self.local_bytes = offset.saturating_add(bytes);
        offset as u32
    }

    fn shared(&mut self, owner: Option<usize>, number: u32) -> u32 {
        if let Some(&offset) = self.placed.get(&(owner, number)) {
            return offset;
        }
        let variable = match owner {
            Some(function) => &self.inner.program.functions[function].variables[number as usize],
            None => &self.inner.program.variables[number as usize],
        };
        let offset = self.shared_bytes.next_multiple_of(u64::from(variable.align.max(1)));
        self.shared_bytes = offset.saturating_add(variable.bytes);
        self.placed.insert((owner, number), offset as u32);
        self.shared.push(SharedArray {
            name: variable.name.clone(),
            source_name: source_name(&variable.name),
            offset: offset as u32,
            bytes: variable.bytes.min(u64::from(u32::MAX)) as u32,
        });
        offset as u32
    }

    /// Lays out a function; `bound` are the places of its results and parameters.
    fn lay(&mut self, index: usize, bound: &[Place], back: Option<Arc<str>>, depth: usize) -> Result<(), Error> {
        let function = self.function(index);
        let frame = self.frames.len();
        let mut places = Vec::with_capacity(function.variables.len());
        let mut param_offset = 0u32;
        for (number, variable) in (0u32..).zip(&function.variables) {
            let place = match variable.space {
                Space::Shared if variable.external || variable.bytes == 0 => {
                    self.dynamic.push((Some(index), number));
                    Place::Unplaced
                }
                Space::Shared => Place::Shared(self.shared(Some(index), number)),
                Space::Param if (number as usize) < bound.len() => bound[number as usize],
                Space::Param if function.entry && (number as usize) < function.params => {
                    let offset = param_offset.next_multiple_of(variable.align.max(1));
                    param_offset = offset.saturating_add(variable.bytes as u32);
                    if variable.bytes > 32_764 || param_offset > 32_764 {
                        return Err(Error::unsupported(
                            variable.line,
                            &variable.name,
                            "parameters of more than 32,764 bytes",
                        ));
                    }
                    Place::Param(offset)
                }
                Space::Local | Space::Param => Place::Local(self.local(variable.bytes, variable.align)),
                _ => {
                    let reason = "a variable of this space inside a function";
                    return Err(Error::unsupported(variable.line, &variable.name, reason));
                }
            };
            if self.local_bytes > LARGEST_LOCAL {
                let reason = format!("more than {LARGEST_LOCAL} bytes of local memory a thread");
                return Err(Error::unsupported(variable.line, &variable.name, reason));
            }
            places.push(place);
        }
        self.frames.push(Frame { function: index, registers: self.registers, places, back: back.clone() });
        self.registers += function.registers.len() as u32;
        for item in &function.body {
            if self.flat.len() > LARGEST_KERNEL {
                return Err(Error::unsupported(function.line, &function.name, "kernels this long"));
            }
            match item {
                Item::Label(name, line) => self.flat.push(Flat::Label(frame, name.clone(), *line)),
                Item::Targets(..) => {}
                Item::Statement(statement) if statement.words[0] == "call" => self.call(frame, statement, depth)?,
                Item::Statement(statement) => self.flat.push(Flat::Statement(frame, statement)),
            }
        }
        if let Some(back) = back {
            self.flat.push(Flat::Back(back));
        }
        Ok(())
    }

    /// `call (results), function, (parameters);`
    fn call(&mut self, frame: usize, statement: &'a Statement, depth: usize) -> Result<(), Error> {
        let refuse = |reason: &str| {
            let (start, end) = statement.position.text;
            let text = self.inner.source.get(start as usize..end as usize).unwrap_or_default();
            Err(Error::unsupported(statement.position.ptx, text, reason))
        };
        let (mut results, mut name, mut arguments) = (&[][..], None, &[][..]);
        for operand in &statement.operands {
            match operand {
                Operand::List(list) if name.is_none() => results = list,
                Operand::List(list) => arguments = list,
                Operand::Name { name: function, offset: 0 } if name.is_none() => name = Some(function.clone()),
                _ => return refuse("an indirect call"),
            }
        }
        let Some(name) = name else { return refuse("an indirect call") };
        let functions = &self.inner.program.functions;
        let Some(index) = functions.iter().position(|f| f.defined && !f.entry && f.name == *name) else {
            return refuse("a call of a function that is not in the file");
        };
        let function = &functions[index];
        if statement.guard.is_some() {
            return refuse("a call under a predicate");
        }
        if depth >= DEEPEST_CALL {
            return refuse("recursion, or calls nested this deep");
        }
        if function.register_params || results.len() != function.returns || arguments.len() != function.params {
            return refuse("a call with other parameters than the function declares");
        }
        let mut bound = vec![];
        for operand in results.iter().chain(arguments) {
            match operand {
                Operand::Local { id, offset: 0 } => bound.push(self.frames[frame].places[*id as usize]),
                _ => return refuse("parameters of a call that are not `.param` variables"),
            }
        }
        // A label no source can contain.
        let back: Arc<str> = format!("return {}", self.frames.len()).into();
        self.lay(index, &bound, Some(back), depth + 1)
    }
}

impl Code {
    /// Lowers function number `index` of the program.
    pub fn lower(inner: &Inner, index: usize) -> Result<Self, Error> {
        let mut layout = Layout {
            inner,
            frames: vec![],
            flat: vec![],
            registers: 0,
            shared: vec![],
            placed: HashMap::new(),
            shared_bytes: 0,
            dynamic: vec![],
            local_bytes: 0,
        };
        layout.lay(index, &[], None, 0)?;
        decode::decode(layout)?.finish()
    }
}

/// A decoded instruction before registers have slots: the fields flagged in `fields` hold value numbers.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub inst: Inst,
    /// Bit 0 to 4: d, a, b, c, e hold values.
    pub fields: u8,
    /// Those of them that are written.
    pub defs: u8,
    pub guard: Option<(u32, bool)>,
    pub targets: Vec<u32>,
    pub position: Position,
    /// See [`Code::strong`].
    pub strong: bool,
}

impl Raw {
    fn effect(&self) -> Effect {
        let mut effect = Effect::default();
        for (bit, value) in [self.inst.d, self.inst.a, self.inst.b, self.inst.c, self.inst.e].into_iter().enumerate() {
            if self.fields >> bit & 1 == 0 {
                continue;
            }
            if self.defs >> bit & 1 == 0 {
                effect.uses.push(value);
            } else {
                effect.defs.push(value);
            }
        }
        if let Some((value, _)) = self.guard {
            effect.uses.push(value);
            // A lane whose guard is false keeps the old value.
            effect.uses.extend_from_slice(&effect.defs.clone());
        }
        effect
    }
}

/// A value: a virtual register or a preset.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub name: String,
    pub kind: Type,
    pub preset: Option<Preset>,
}

impl Value {
    fn slots(&self) -> u32 {
        if self.kind.bytes() == 8 { 2 } else { 1 }
    }
}

/// Everything decoded.
pub(crate) struct Decoded {
    pub raws: Vec<Raw>,
    pub values: Vec<Value>,
    pub details: Vec<inst::Detail>,
    pub atomics: Vec<inst::Atomic>,
    pub copies: Vec<inst::Copy>,
    pub shared: Vec<SharedArray>,
    pub shared_bytes: u32,
    pub dynamic_offset: u32,
    pub local_bytes: u32,
    pub param_bytes: u32,
    pub variables: Vec<u32>,
}

/// What an address was computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Nothing,
    Array(u32),
    Several,
}

impl Origin {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, other) => other,
            (this, Self::Nothing) => this,
            (this, other) if this == other => this,
            _ => Self::Several,
        }
    }
}

impl Decoded {
    /// For each instruction the shared array that its shared address comes from, when it is one: sums and copies of an
    /// array's address stay in the array.
    fn origins(&self) -> Vec<Option<u32>> {
        let mut origins: Vec<Origin> = self
            .values
            .iter()
            .map(|value| match value.preset {
                Some(Preset::Shared { array, .. }) => Origin::Array(array),
                _ => Origin::Nothing,
            })
            .collect();
        let mut changed = true;
        while changed {
            changed = false;
            for raw in &self.raws {
                let inst = &raw.inst;
                let sources = match inst.op {
                    Op::Add32 | Op::Add64 | Op::Or32 | Op::Or64 | Op::Selp32 | Op::Selp64 => [inst.a, inst.b],
                    Op::Sub32 | Op::Sub64 | Op::Mov32 | Op::Mov64 | Op::Truncate | Op::ZeroExtend | Op::SignExtend => {
                        [inst.a, NONE]
                    }
                    Op::Mad32 | Op::Mad64 | Op::MadWideS32 | Op::MadWideU32 => [inst.c, NONE],
                    Op::Generic if self.details[inst.imm as usize].function == inst::Function::Offset => [inst.a, NONE],
                    Op::Generic if self.details[inst.imm as usize].function == inst::Function::Cvt => [inst.a, NONE],
                    _ => continue,
                };
                let origin = sources
                    .into_iter()
                    .filter(|&source| source != NONE)
                    .fold(origins[inst.d as usize], |origin, source| origin.join(origins[source as usize]));
                changed |= origin != origins[inst.d as usize];
                origins[inst.d as usize] = origin;
            }
        }
        let of = |raw: &Raw| match raw.inst.op {
            Op::LdShared | Op::StShared | Op::Atom | Op::CopyAsync | Op::LdGeneric | Op::StGeneric => {
                match origins[raw.inst.a as usize] {
                    Origin::Array(array) => Some(array),
                    _ => None,
                }
            }
            _ => None,
        };
        self.raws.iter().map(of).collect()
    }

    /// Splits into basic blocks: every branch target and every instruction after a branch starts one.
    fn blocks(&self) -> (Vec<Block>, Vec<u32>) {
        let count = self.raws.len();
        let mut leader = vec![false; count + 1];
        leader[0] = true;
        for (index, raw) in self.raws.iter().enumerate() {
            for &target in &raw.targets {
                leader[target as usize] = true;
            }
            if matches!(raw.inst.op, Op::Bra | Op::Brx | Op::Exit) {
                leader[index + 1] = true;
            }
        }
        let starts: Vec<u32> = (0..count as u32).filter(|&index| leader[index as usize]).collect();
        let mut block_of = vec![0; count];
        let mut blocks = Vec::with_capacity(starts.len());
        for (number, &start) in (0u32..).zip(&starts) {
            let end = starts.get(number as usize + 1).copied().unwrap_or(count as u32);
            block_of[start as usize..end as usize].fill(number);
            blocks.push(Block { start, end, ..Block::default() });
        }
        for number in 0..blocks.len() {
            let last = &self.raws[blocks[number].end as usize - 1];
            let falls = match last.inst.op {
                Op::Bra | Op::Exit => last.guard.is_some(),
                Op::Brx => false,
                _ => true,
            };
            let mut next: Vec<u32> = last.targets.iter().map(|&target| block_of[target as usize]).collect();
            if falls && number + 1 < blocks.len() {
                next.push(number as u32 + 1);
            }
            next.sort_unstable();
            next.dedup();
            blocks[number].next = next;
            blocks[number].exits = last.inst.op == Op::Exit;
        }
        (blocks, block_of)
    }

    /// Turns conditional branches to (and around) a bare `ret` into conditional ends: the threads end there and then, as they do
    /// on a GPU, and do not wait at the `ret` for the rest of their warp.
    fn end_early(&mut self) {
        let bare: Vec<bool> = self.raws.iter().map(|raw| raw.inst.op == Op::Exit && raw.guard.is_none()).collect();
        let mut targeted = vec![false; self.raws.len()];
        self.raws.iter().flat_map(|raw| &raw.targets).for_each(|&target| targeted[target as usize] = true);
        for index in 0..self.raws.len() {
            let raw = &mut self.raws[index];
            let (Op::Bra, [target], Some((value, negated))) = (raw.inst.op, &raw.targets[..], raw.guard) else {
                continue;
            };
            if bare[*target as usize] {
                raw.inst.op = Op::Exit;
                raw.targets.clear();
            } else if bare.get(index + 1) == Some(&true) && !targeted[index + 1] {
                // `@p bra L; ret;` is `@!p ret; bra L;`.
                let targets = std::mem::take(&mut raw.targets);
                raw.inst.op = Op::Exit;
                raw.guard = Some((value, !negated));
                let next = &mut self.raws[index + 1];
                next.inst.op = Op::Bra;
                next.targets = targets;
            }
        }
    }

    fn finish(mut self) -> Result<Code, Error> {
        self.end_early();
        let (blocks, block_of) = self.blocks();
        let meeting = flow::meeting_points(&blocks);
        let mut joins = vec![false; blocks.len()];
        meeting.iter().filter(|&&block| block != NONE).for_each(|&block| joins[block as usize] = true);

        let effects: Vec<Effect> = self.raws.iter().map(Raw::effect).collect();
        let spans: Vec<_> =
            blocks.iter().map(|b| allocate::Span { start: b.start, end: b.end, next: b.next.clone() }).collect();
        let liveness = allocate::liveness(&effects, &spans, self.values.len());

        // Presets first: they are written once and never change.
        let mut presets = vec![];
        let mut place = vec![NONE; self.values.len()];
        let mut plane = 0;
        for (value, place) in self.values.iter().zip(&mut place) {
            if let Some(preset) = value.preset {
                *place = plane * 32;
                presets.push((plane * 32, value.slots() == 2, preset));
                plane += value.slots();
            }
        }
        let preset_planes = plane;
        let is_data = |value: u32| {
            let value = &self.values[value as usize];
            value.preset.is_none() && value.kind != Type::Pred
        };
        let is_predicate = |value: u32| self.values[value as usize].kind == Type::Pred;
        let (slots, planes) = liveness.assign(preset_planes, |value| self.values[value as usize].slots(), is_data);
        let (bits, predicates) = liveness.assign(0, |_| 1, is_predicate);
        for (value, place) in place.iter_mut().enumerate() {
            if slots[value] != NONE {
                *place = slots[value] * 32;
            } else if bits[value] != NONE {
                *place = bits[value];
            }
        }
        if predicates >= u32::from(inst::GUARD_NEGATED) - 1 || planes > 1 << 24 {
            return Err(Error::unsupported(1, "", "kernels with this many registers"));
        }

        let mut registers = RegisterCounts::default();
        for (value, used) in self.values.iter().zip(&place) {
            if *used == NONE || value.preset.is_some() {
                continue;
            }
            match value.kind {
                Type::Pred => registers.predicates += 1,
                kind => match register_bytes(kind) {
                    2 => registers.bits16 += 1,
                    4 => registers.bits32 += 1,
                    _ => registers.bits64 += 1,
                },
            }
        }
        let unset: Vec<u32> = liveness
            .maybe_unset
            .iter()
            .copied()
            .filter(|&value| {
                self.values[value as usize].preset.is_none() && !self.values[value as usize].name.is_empty()
            })
            .collect();
        let maybe_unset = unset.iter().map(|&value| self.values[value as usize].name.clone()).collect();
        let mut unset_steps = vec![];
        for (pc, effect) in (0u32..).zip(&effects) {
            let guard = self.raws[pc as usize].guard.map(|(value, _)| value);
            for (list, how) in [(&effect.uses, Use::Read), (&effect.defs, Use::Set)] {
                // A guarded write counts as a read for the slots, but it is none.
                let real = |value: &&u32| how == Use::Set || !effect.defs.contains(value);
                for value in list.iter().filter(real) {
                    if let Some(number) = unset.iter().position(|other| other == value) {
                        let how = if how == Use::Read && guard == Some(*value) { Use::Guard } else { how };
                        unset_steps.push((pc, number as u32, how));
                    }
                }
            }
        }
        let shared_origin = self.origins();
        let memory = |op| {
            matches!(op, Op::LdGlobal | Op::StGlobal | Op::LdShared | Op::StShared | Op::LdGeneric | Op::StGeneric)
        };
        let narrow = self.raws.iter().any(|raw| memory(raw.inst.op) && inst::Shape::unpack(raw.inst.sub).bytes < 4);
        let strong = self.raws.iter().map(|raw| raw.strong).collect();
        let which = |f: fn(&Inst) -> bool| self.raws.iter().map(|raw| f(&raw.inst)).collect();
        let is_atomic = which(|inst| inst.op == Op::Atom);
        let is_copy = which(|inst| inst.op == Op::CopyAsync);
        let counted_barrier = which(|inst| matches!(inst.op, Op::Bar | Op::BarRed) && inst.b != NONE);

        // Instructions, block by block.
        let mut insts = Vec::with_capacity(self.raws.len() + blocks.len());
        let mut entry_of = vec![0; blocks.len()];
        let mut runs = vec![];
        let mut positions = Vec::with_capacity(self.raws.len());
        let (mut flop, mut is_guarded) = (vec![], vec![]);
        for raw in &mut self.raws {
            let inst = &mut raw.inst;
            for (bit, field) in
                [&mut inst.d, &mut inst.a, &mut inst.b, &mut inst.c, &mut inst.e].into_iter().enumerate()
            {
                if raw.fields >> bit & 1 != 0 {
                    *field = place[*field as usize];
                }
            }
            if let Some((value, negated)) = raw.guard {
                inst.guard = place[value as usize] as u16 | if negated { inst::GUARD_NEGATED } else { 0 };
            }
            inst.pc = positions.len() as u32;
            positions.push(raw.position);
            flop.push(flop_of(inst, &self.details));
            is_guarded.push(raw.guard.is_some());
        }
        let mut tables = vec![];
        let mut patches = vec![];
        for (number, block) in blocks.iter().enumerate() {
            entry_of[number] = insts.len() as u32;
            let mut enter = Inst::new(Op::Enter);
            enter.d = number as u32;
            enter.imm = (block.end - block.start) as i32;
            enter.a = u32::from(joins[number]);
            enter.pc = block.start;
            insts.push(enter);
            let mut index = block.start as usize;
            while index < block.end as usize {
                if let Some(run) = run(&self.raws[index..block.end as usize]) {
                    let count = run.steps.len();
                    let mut inst = Inst::new(Op::Run);
                    (inst.d, inst.imm, inst.pc) = (runs.len() as u32, count as i32, self.raws[index].inst.pc);
                    insts.push(inst);
                    insts.extend(self.raws[index..index + count].iter().map(|raw| raw.inst));
                    runs.push(run);
                    index += count;
                    continue;
                }
                let raw = &self.raws[index];
                if !raw.targets.is_empty() {
                    patches.push((insts.len(), index));
                }
                insts.push(raw.inst);
                index += 1;
            }
        }
        for (at, index) in patches {
            let raw = &self.raws[index];
            let block = block_of[index] as usize;
            let target = |target: u32| entry_of[block_of[target as usize] as usize];
            let inst = &mut insts[at];
            inst.e = if meeting[block] == NONE { NONE } else { entry_of[meeting[block] as usize] };
            if inst.op == Op::Brx {
                inst.imm = tables.len() as i32;
                tables.push(raw.targets.iter().map(|&t| target(t)).collect());
            } else {
                inst.d = target(raw.targets[0]);
            }
        }
        Ok(Code {
            insts,
            runs,
            details: self.details,
            atomics: self.atomics,
            copies: self.copies,
            tables,
            positions,
            blocks: blocks.iter().map(|block| BasicBlock { start: block.start, end: block.end }).collect(),
            presets,
            planes,
            preset_planes,
            predicates,
            static_shared_bytes: self.shared_bytes,
            dynamic_shared_offset: self.dynamic_offset,
            shared_arrays: self.shared,
            local_bytes: self.local_bytes,
            param_bytes: self.param_bytes,
            variables: self.variables,
            registers,
            maybe_unset,
            unset_steps,
            shared_origin,
            strong,
            is_atomic,
            is_copy,
            counted_barrier,
            narrow,
            flop,
            is_guarded,
        })
    }
}

/// Floating-point operations of an instruction on a lane, and whether it is a multiply-add in single precision.
fn flop_of(inst: &Inst, details: &[inst::Detail]) -> (u8, bool) {
    if inst.op == Op::Generic {
        let function = details[inst.imm as usize].function;
        (function.flops(), function == inst::Function::FmaSingle)
    } else {
        (inst.op.flops(), inst.op == Op::FmaF32)
    }
}

/// The run of shared loads and multiply-adds that `raws` starts with, if it is worth one.
fn run(raws: &[Raw]) -> Option<inst::Run> {
    let mut run = inst::Run { bases: vec![], steps: vec![], loads: vec![] };
    for raw in raws {
        let inst = &raw.inst;
        if raw.guard.is_some() {
            break;
        }
        let written = match inst.op {
            Op::FmaF32 | Op::Mad32 => [inst.d, NONE, NONE, NONE],
            Op::LdShared => [inst.d, inst.b, inst.c, inst.e],
            _ => break,
        };
        let mut base = None;
        if inst.op == Op::LdShared {
            let shape = inst::Shape::unpack(inst.sub);
            let bytes = shape.bytes * shape.count;
            let end = inst.imm.checked_add(bytes as i32);
            let (Some(end), 4, false, 0) = (end, shape.bytes, shape.wide, inst.imm % bytes as i32) else { break };
            let known = run.bases.iter().position(|base| (base.register, base.wide) == (inst.a, shape.wide_address));
            let number = known.unwrap_or(run.bases.len());
            if number == inst::BASES {
                break;
            }
            base = Some((number, shape, end, bytes));
        }
        // A load that writes its own or another load's address register ends the run before it.
        let register = base.map(|(_, shape, ..)| (inst.a, shape.wide_address));
        let bases = run.bases.iter().map(|base| (base.register, base.wide)).chain(register);
        let overlaps = |(start, wide): (u32, bool)| {
            let end = start + if wide { 64 } else { 32 };
            written.iter().any(|&to| to != NONE && to + 32 > start && to < end)
        };
        if bases.into_iter().any(overlaps) {
            break;
        }
        let Some((number, shape, end, bytes)) = base else {
            let operands = [inst.d, inst.a, inst.b, inst.c];
            run.steps.push(if inst.op == Op::Mad32 { inst::Micro::Mad(operands) } else { inst::Micro::Fma(operands) });
            continue;
        };
        if number == run.bases.len() {
            run.bases.push(inst::Base {
                register: inst.a,
                wide: shape.wide_address,
                low: inst.imm,
                high: end,
                align: bytes,
            });
        }
        let used = &mut run.bases[number];
        used.low = used.low.min(inst.imm);
        used.high = used.high.max(end);
        used.align = used.align.max(bytes);
        let (base, offset) = (number as u32, inst.imm / 4);
        run.loads.push((inst.pc, base, inst.imm, bytes));
        run.steps.push(if shape.count == 1 && inst.d != NONE {
            inst::Micro::Load1 { to: inst.d, base, offset }
        } else {
            inst::Micro::LoadN { to: written, base, offset }
        });
    }
    (run.steps.len() > 1).then_some(run)
}
