//! What lowering produces: a kernel ready to run, and the facts about its instructions that execution does not read.

use super::inst::{Atomic, Copy, Detail, Inst, Preset, Run, System};
use super::layout::SharedArray;
use super::matrix::Matrix;
use super::order::MemoryOrder;
use crate::ast::Position;
use std::collections::HashSet;
use std::ops::Range;

/// A kernel ready to run.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub insts: Vec<Inst>,
    pub runs: Vec<Run>,
    pub details: Vec<Detail>,
    pub atomics: Vec<Atomic>,
    pub copies: Vec<Copy>,
    pub systems: Vec<System>,
    pub matrices: Vec<Matrix>,
    /// Targets of indexed branches.
    pub tables: Vec<Vec<u32>>,
    /// By instruction number, which `Inst::pc` holds: what messages and observers ask for.
    pub facts: Vec<Facts>,
    /// The instructions of each basic block.
    pub blocks: Vec<Range<u32>>,
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
    /// Registers that may have no value because some path reads them before it sets them, and those that shuffles set: their names.
    pub maybe_unset: Vec<String>,
    /// How many of them a path reads before it sets them: the first ones.
    pub doubtful: u32,
    /// How many registers are followed: all of these, and what is computed from them.
    pub followed: u32,
    /// Instructions that read or set them, in order.
    pub steps: Vec<Step>,
    /// The registers that instructions write, by instruction number.
    pub writes: Vec<Write>,
    /// Some access to memory is narrower than a word.
    pub narrow: bool,
    /// Blocks may wait for each other: a thread learns from global memory what another has just done there.
    pub communicates: bool,
    /// A thread may wait in a loop for another one of its block.
    pub polls: bool,
    pub traffic: Traffic,
    /// The compute capability that the PTX is for.
    pub target: u32,
    pub products: Products,
}

impl Code {
    /// The shared array that an address belongs to, or the last one before it, with its number.
    pub fn shared_array(&self, address: u64) -> Option<(usize, &SharedArray)> {
        self.shared_arrays.iter().enumerate().rfind(|(_, array)| u64::from(array.offset) <= address)
    }
}

/// The registers that products of a warpgroup work on while the warp goes on.
#[derive(Debug, Default)]
pub(crate) struct Products {
    /// Their names.
    pub registers: Vec<String>,
    /// Instructions that touch them: instruction number, number of the register, how.
    pub steps: Vec<(u32, u32, ProductUse)>,
}

impl Products {
    /// Whether the kernel has such products.
    pub fn any(&self) -> bool {
        !self.registers.is_empty()
    }
}

/// How an instruction uses a register of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProductUse {
    /// No product does. Moves from register to register stand apart, because compilers put them anywhere.
    Access { writes: bool, moves: bool },
    /// A product adds to it; products of one shape have the same number.
    Sum { shape: u32 },
    /// A product reads it as a part of A.
    Factor,
}

/// An instruction writes a register.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    pub instruction: u32,
    pub name: String,
    pub home: Home,
    /// Declared as a floating-point number.
    pub float: bool,
}

/// Where a warp keeps a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// A bit for each lane: the predicate of this number.
    Predicate(u32),
    /// A word for each lane, from this word of the warp's registers on.
    Word(u32),
    /// Two of them.
    Double(u32),
}

/// What an address in global memory was computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Start {
    /// A parameter, by its offset.
    Param(u32),
    /// A variable of the module, by its number.
    Variable(u32),
}

/// Where a kernel's loads (by instruction) and its writes of global memory start; none stands for anywhere.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub loads: Vec<(u32, Option<Start>)>,
    pub writes: HashSet<Option<Start>>,
}

impl Traffic {
    /// Whether it is known of every access which array it is to.
    pub fn is_known(&self) -> bool {
        self.loads.iter().map(|(_, load)| load).chain(&self.writes).all(Option::is_some)
    }

    /// Whether a thread may read by a plain load what another block has just written; `same` tells whether two
    /// parameters point into one array.
    pub fn meets(&self, same: impl Fn(u32, u32) -> bool) -> bool {
        let meet = |load: &Option<Start>, write: &Option<Start>| match (load, write) {
            (Some(Start::Param(a)), Some(Start::Param(b))) => a == b || same(*a, *b),
            (Some(load), Some(write)) => load == write,
            _ => true,
        };
        self.loads.iter().any(|(_, load)| self.writes.iter().any(|write| meet(load, write)))
    }
}

/// What is known of an instruction beside what execution needs. It stands apart from [`Inst`] so that the executed form
/// stays at 32 bytes.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub position: Position,
    /// The shared array that the address of an access was computed from, when it is one.
    pub shared_origin: Option<u32>,
    /// What rules need to tell apart.
    pub role: Role,
    /// How it takes part in the order of memory.
    pub order: MemoryOrder,
    pub guarded: bool,
    /// It runs only because of what an atomic operation has given back.
    pub decided: bool,
    /// Floating-point operations of a lane, and whether they are one multiply-add in single precision.
    pub flop: (u16, bool),
    /// What the assembler makes of an access to shared memory.
    pub merged: Merged,
}

/// Whether an access to shared memory is one by itself once it is assembled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merged {
    /// It is.
    Alone,
    /// It is done in one go with others: `bytes` bytes, which start `before` bytes before its own.
    Leads { bytes: u8, before: u8 },
    /// Another access does it, too; or no load and store unit does, as for a barrier in memory.
    Joins,
}

impl Merged {
    /// Bytes of an access of `bytes` bytes once it is assembled, and how far before its own place they start; none if another one
    /// does it.
    pub fn piece(self, bytes: u32) -> Option<(u32, u64)> {
        match self {
            Self::Alone => Some((bytes, 0)),
            Self::Leads { bytes, before } => Some((bytes.into(), before.into())),
            Self::Joins => None,
        }
    }
}

/// Kinds of instruction that have rules of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    /// An atomic operation that needs what was there.
    Atomic,
    /// One that does not.
    Exchange,
    /// An asynchronous copy.
    Copy,
    /// One that arrives at a barrier in memory by itself.
    BulkCopy,
    /// A barrier for a given number of threads.
    CountedBarrier,
}

/// How the result of an instruction follows from operands of which some have no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It has no value if one of the operands has none.
    Any,
    /// The third operand chooses between the first two.
    Select,
    /// Of two predicates, which the one decides alone if it is false (`and`) or true (`or`).
    Both { decides: bool },
    /// A comparison that is combined with a predicate, its third operand, which decides alone if it is this.
    Compare { decides: bool },
    /// It comes from another lane.
    Shuffle { mode: u8 },
    /// It is made of the operands of all lanes.
    Lanes,
    /// It has a value whatever the operands are, and these had better have one: a branch, an access, a barrier.
    Decides,
}

/// An instruction that reads or sets what is followed.
#[derive(Debug)]
pub(crate) struct Step {
    pub instruction: u32,
    pub flow: Flow,
    /// The guard: its number if it is followed, where it lies, and whether it is negated.
    pub guard: Option<(u32, Home, bool)>,
    /// Numbers of the operands; `NONE` for one that always has a value.
    pub uses: Vec<u32>,
    pub defs: Vec<u32>,
    /// The operands whose values matter.
    pub values: Vec<Home>,
}

impl Step {
    /// Whether what becomes of them hangs on what is in registers at that moment.
    pub fn asks(&self) -> bool {
        !self.values.is_empty() || self.guard.is_some() && !(self.uses.is_empty() && self.defs.is_empty())
    }
}
