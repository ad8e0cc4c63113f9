//! The result of lowering: a kernel that is ready to run, and facts about its instructions that execution does not need.

use super::inst::{Atomic, Copy, Detail, Inst, NONE, Preset, Run, Special, System};
use super::layout::SharedArray;
use super::matrix::Matrix;
use super::order::MemoryOrder;
use crate::ast::Position;
use std::collections::HashSet;
use std::ops::Range;

/// Bytes of each part of shared memory that the system reserves.
pub const RESERVED: u32 = 1024;

#[derive(Debug, Default)]
pub struct Code {
    pub insts: Vec<Inst>,
    pub runs: Vec<Run>,
    pub details: Vec<Detail>,
    pub atomics: Vec<Atomic>,
    pub copies: Vec<Copy>,
    pub systems: Vec<System>,
    pub matrices: Vec<Matrix>,
    /// Targets of indexed branches.
    pub tables: Vec<Vec<u32>>,
    /// Facts for messages and observers, by instruction number (`Inst::pc`).
    pub facts: Vec<Facts>,
    /// The instructions of each basic block.
    pub blocks: Vec<Range<u32>>,
    /// For each basic block, the number of the loop that it is in, or [`NONE`], and whether it may leave the loop.
    pub loops: Vec<u32>,
    pub leave: Vec<bool>,
    /// The ways around barriers of all threads.
    pub ways: Vec<Way>,
    /// Values that are set before a warp starts: place in words, whether 64-bit, value.
    pub presets: Vec<(u32, bool, Preset)>,
    /// Size of a warp's registers, in groups of 32 words (one word for each lane). Presets come first.
    pub planes: u32,
    /// How many of these groups hold presets.
    pub preset_planes: u32,
    pub predicates: u32,
    pub static_shared_bytes: u32,
    pub dynamic_shared_offset: u32,
    pub shared_arrays: Vec<SharedArray>,
    pub local_bytes: u32,
    pub param_bytes: u32,
    /// Numbers (in the program) of the module's variables that the kernel uses.
    pub variables: Vec<u32>,
    /// The registers that some path reads before it sets them, with their names in the PTX.
    pub maybe_unset: Vec<(String, Home)>,
    /// The registers that each instruction writes, in the order of the instructions.
    pub writes: Vec<Register>,
    /// Whether any access to memory is narrower than a word.
    pub narrow: bool,
    /// Whether blocks may wait for each other: a thread may see in global memory what another has just written there.
    pub communicates: bool,
    /// Whether a thread may wait in a loop for another thread of its block.
    pub polls: bool,
    pub traffic: Traffic,
    /// The compute capability that the PTX was compiled for.
    pub target: u32,
    pub products: Products,
}

impl Code {
    /// Returns the registers that an instruction writes, except those that nothing reads.
    pub fn registers_written(&self, instruction: u32) -> impl Iterator<Item = &Register> {
        let first = self.writes.partition_point(|write| write.instruction < instruction);
        self.writes[first..].iter().take_while(move |write| write.instruction == instruction)
    }

    /// Returns the bytes of shared memory that the system keeps behind the kernel's own, zero when a block starts: two parts, if the
    /// kernel asks for them.
    pub fn reserved_bytes(&self) -> u32 {
        let reserved = |preset| matches!(preset, Preset::Special(Special::Reserved0 | Special::Reserved1));
        if self.presets.iter().any(|&(_, _, preset)| reserved(preset)) { 2 * RESERVED } else { 0 }
    }

    /// Returns the shared array that contains the address, or else the last one before it, with its number.
    pub fn shared_array(&self, address: u64) -> Option<(usize, &SharedArray)> {
        self.shared_arrays.iter().enumerate().rfind(|(_, array)| u64::from(array.offset) <= address)
    }
}

/// A way around a barrier of all threads: from the branch at the end of one basic block past the barrier's block to the block where
/// both ways of the branch meet again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    pub branch: u32,
    pub barrier: u32,
    pub meeting: u32,
}

/// The registers that warpgroup products use while the warp goes on.
#[derive(Debug, Default)]
pub struct Products {
    pub registers: Vec<String>,
    /// Instructions that use them: instruction number, register number, and how.
    pub steps: Vec<(u32, u32, ProductUse)>,
}

impl Products {
    pub fn any(&self) -> bool {
        !self.registers.is_empty()
    }
}

/// How an instruction uses a register of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProductUse {
    /// Another instruction accesses it. Moves between registers are marked, because compilers put them anywhere.
    Access { writes: bool, moves: bool },
    /// A product adds to it. Products of one shape have the same number.
    Sum { shape: u32 },
    /// A product reads it as part of A.
    Factor,
}

/// A register that an instruction writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    pub instruction: u32,
    /// Its name in the PTX.
    pub name: String,
    pub home: Home,
    /// Whether it is declared as a floating-point number.
    pub float: bool,
}

impl Register {
    /// Returns its size in each lane, in bytes; 0 for a predicate.
    pub const fn bytes(&self) -> u32 {
        match self.home {
            Home::Predicate(_) => 0,
            Home::Word(_) => 4,
            Home::Double(_) => 8,
        }
    }
}

/// Where a warp keeps a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Home {
    /// The predicate with this number: one bit for each lane.
    Predicate(u32),
    /// One word for each lane, starting at this word of the warp's registers.
    Word(u32),
    /// Two words for each lane, starting there.
    Double(u32),
}

/// The array that an address in global memory was computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Start {
    Param(u32),
    Variable(u32),
}

/// The arrays that a kernel's loads (by instruction) and its writes of global memory access. `None` stands for any array.
#[derive(Debug, Default)]
pub struct Traffic {
    pub loads: Vec<(u32, Option<Start>)>,
    pub writes: HashSet<Option<Start>>,
}

impl Traffic {
    pub fn is_known(&self) -> bool {
        self.loads.iter().map(|(_, load)| load).chain(&self.writes).all(Option::is_some)
    }

    /// Whether a thread may read with a plain load what another block has just written. `same` says whether two parameters
    /// point into one array.
    pub fn meets(&self, same: impl Fn(u32, u32) -> bool) -> bool {
        let meet = |load: &Option<Start>, write: &Option<Start>| match (load, write) {
            (Some(Start::Param(a)), Some(Start::Param(b))) => a == b || same(*a, *b),
            (Some(load), Some(write)) => load == write,
            _ => true,
        };
        self.loads.iter().any(|(_, load)| self.writes.iter().any(|write| meet(load, write)))
    }
}

/// Facts about an instruction that execution does not need. They are not part of [`Inst`], which must stay at 32 bytes.
#[derive(Debug, Clone)]
pub struct Facts {
    pub position: Position,
    /// The shared array that the access's address was computed from, if there is only one.
    pub shared_origin: Option<u32>,
    /// The kind of instruction, for rules.
    pub role: Role,
    pub order: MemoryOrder,
    pub guarded: bool,
    /// The bit of its result if it is an atomic operation, and the bits of those whose results decide whether it runs.
    pub decides: u64,
    pub decided: u64,
    /// Floating-point operations per lane, and whether they are one multiply-add in single precision.
    pub flop: (u16, bool),
    /// Whether it is a load whose value may be dropped.
    pub speculated: bool,
    /// If it is a load: the elements that no instruction reads, one bit for each.
    pub unread: u8,
    /// The kinds of the instruction's operands: see [`Facts::home`].
    pub kinds: u16,
    /// How the assembler merges it with other accesses to shared memory.
    pub merged: Merged,
}

impl Facts {
    /// Returns the kinds of the fields d, a, b, c and e of an instruction, in two bits each. `kind` returns 1 for a predicate, 2 for a
    /// word and 3 for a double word; a field that is not used has 0.
    pub fn kinds_of(inst: &Inst, kind: impl Fn(u32) -> u16) -> u16 {
        let fields = [inst.d, inst.a, inst.b, inst.c, inst.e];
        (0..)
            .zip(fields)
            .filter(|(_, field)| *field != NONE)
            .fold(0, |kinds, (at, field)| kinds | kind(field) << (2 * at))
    }

    /// Returns where the warp keeps what a field of its instruction names: field 0 to 4 is d, a, b, c or e. `None` if it is not used.
    pub fn home(&self, field: usize, place: u32) -> Option<Home> {
        match self.kinds >> (2 * field) & 3 {
            1 => Some(Home::Predicate(place)),
            2 => Some(Home::Word(place)),
            3 => Some(Home::Double(place)),
            _ => None,
        }
    }
}

/// How the assembler merges an access to shared memory with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merged {
    /// It is not merged.
    Alone,
    /// It does the others' work too: it accesses `bytes` bytes, which start `before` bytes before its own.
    Leads { bytes: u8, before: u8 },
    /// Another access does its work, or (for a barrier in memory) no load and store unit does any.
    Joins,
}

impl Merged {
    /// Returns how many bytes an access of `bytes` bytes has after merging, and how far before its own address they start.
    /// Returns `None` if another access does its work.
    pub fn piece(self, bytes: u32) -> Option<(u32, u64)> {
        match self {
            Self::Alone => Some((bytes, 0)),
            Self::Leads { bytes, before } => Some((bytes.into(), before.into())),
            Self::Joins => None,
        }
    }
}

/// Kinds of instructions that have their own rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Plain,
    /// An atomic operation that needs the old value.
    Atomic,
    /// An exchange: what it stores does not depend on the old value.
    Exchange,
    Copy,
    /// An asynchronous copy that arrives at a barrier in memory by itself.
    BulkCopy,
    CountedBarrier,
}

/// How the result of an instruction depends on operands that may have no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The result is the operand.
    Moves,
    /// The result has no value if any operand has none.
    Any,
    /// The third operand chooses between the first two.
    Select,
    /// `and` or `or` of two predicates. One that has the value `decides` determines the result alone.
    Both { decides: bool },
    /// A comparison combined with a predicate, the third operand. If that has the value `decides`, it determines the result alone.
    Compare { decides: bool },
    /// The value comes from another lane.
    Shuffle { mode: u8 },
    /// The result is computed from the operands of all lanes.
    Lanes,
    /// The result always has a value, but the operands should have one too: a branch, an access, a barrier.
    Decides,
}
