//! The compact form that is executed: 32 bytes an instruction, decoded once; and what is known before a warp starts.

use crate::ast::Type;
use crate::named::named;

/// No predicate, no register, no block.
pub(crate) const NONE: u32 = u32::MAX;
pub(crate) const NO_GUARD: u16 = u16::MAX;
/// Set in a guard that is negated.
pub(crate) const GUARD_NEGATED: u16 = 1 << 15;

/// One instruction. What the fields mean depends on `op`; registers are offsets into the warp's registers, in words.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Inst {
    pub op: Op,
    /// Memory: see [`Shape`].
    pub sub: u8,
    /// Predicate number, perhaps with [`GUARD_NEGATED`], or [`NO_GUARD`].
    pub guard: u16,
    /// Number of the instruction for observers and messages.
    pub pc: u32,
    pub d: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    pub e: u32,
    pub imm: i32,
}

impl Inst {
    pub const fn new(op: Op) -> Self {
        Self { op, sub: 0, guard: NO_GUARD, pc: 0, d: NONE, a: NONE, b: NONE, c: NONE, e: NONE, imm: 0 }
    }

    /// The values that its fields name, each with whether it writes it.
    pub fn values(&self) -> impl Iterator<Item = (u32, bool)> + use<> {
        let Self { op, d, a, b, c, e, .. } = *self;
        [d, a, b, c, e].into_iter().zip(op.writes()).filter(|&(value, _)| value != NONE)
    }
}

macro_rules! operations {
    (
        vector { $($vector:ident: $_1:literal, $_2:expr, $_3:ident($($_4:ident),*) => $_5:expr $(, $vector_flops:literal)?;)* }
        predicate { $($predicate:ident: $_6:literal, $_7:expr, $_8:ident($($_9:ident),*) => $_10:expr;)* }
        lane { $($lane:ident: $_11:literal, $_12:expr, $_13:ident($($_14:ident),*) => $_15:expr $(, $lane_flops:literal)?;)* }
        half { $($half:ident: $_16:literal, $_17:expr, $_18:ident($($_19:ident),*) => $_20:expr $(, $half_flops:literal)?;)* }
    ) => {
        /// What an instruction does. What computes all the time is done for all lanes at once, by an operation of its
        /// own; everything else that computes is [`Op::Generic`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub(crate) enum Op {
            /// Start of a basic block: reconvergence, counting, limits. `d` block, `imm` its length.
            Enter,
            /// A run of shared loads and multiply-adds done in one go: run number `d`. The `imm` instructions it stands
            /// for follow, for when it cannot be.
            Run,
            /// Where threads wait for each other, behind what they may wait for: a store if `imm` says so, or an atomic operation.
            Tell,
            /// Nothing but a word to whoever follows what registers hold: the instruction after it is about to be executed.
            Follow,
            // The rows of the table.
            $($vector,)*
            $($predicate,)*
            // Copies and conversions.
            Mov32, Mov64, SignExtend, ZeroExtend, Truncate, CvtF32S32, CvtF32U32, PredMov,
            // Choices.
            Selp32, Selp64, Setp,
            /// A sum or difference with a carry: predicate `c` goes in, if there is one, `e` comes out.
            Carry,
            /// Anything else that computes from registers to one register: `imm` is the number of its [`Detail`].
            Generic,
            // Control.
            Bra,
            /// Indexed branch: `a` index register, `imm` number of the table.
            Brx,
            Exit, Trap,
            // Synchronisation.
            Bar, BarRed, WarpSync, Fence,
            // Memory: `a` address, `imm` displacement; data in `d`, `b`, `c`, `e`.
            LdGlobal, StGlobal, LdShared, StShared, LdLocal, StLocal, LdGeneric, StGeneric, LdParam, Atom,
            CopyAsync, CopyCommit, CopyWait, CopyWaitAll,
            // Across the lanes of a warp.
            Shfl, Vote, Match, Redux, ActiveMask, Clock,
            /// On matrices in the registers of the warp: number `imm` of them; address and stride in `a` and `b`.
            Matrix,
            /// Of four warps together: number `imm` of the matrices; descriptors in `a` and `b`, a predicate in `c`.
            Warpgroup,
            /// A function of the device's system: number `imm` of the calls.
            System,
            /// The warp's turn is over: it sleeps, or waits at the barrier in shared memory at `a` and `imm`.
            Yield,
            /// Only its side effect on observers: prefetches and hints.
            Nop,
        }

        impl Op {
            /// Floating-point operations of a lane; those of an [`Op::Generic`] are its function's.
            pub const fn flops(self) -> u8 {
                match self {
                    $($(Self::$vector => $vector_flops,)?)*
                    _ => 0,
                }
            }

            /// Whether it stands for no instruction of the kernel.
            pub const fn is_note(self) -> bool {
                matches!(self, Self::Enter | Self::Run | Self::Tell | Self::Follow)
            }

            /// Whether it only computes from registers to registers.
            pub const fn computes(self) -> bool {
                !self.is_note() && (self as u8) < Self::Bra as u8
            }

            /// Which of d, a, b, c, e it writes, if they are there; it reads the others.
            pub const fn writes(self) -> [bool; 5] {
                match self {
                    Self::LdGlobal | Self::LdShared | Self::LdLocal | Self::LdGeneric | Self::LdParam => {
                        [true, false, true, true, true]
                    }
                    Self::Matrix | Self::Warpgroup | Self::StGlobal | Self::StShared | Self::StLocal | Self::StGeneric => [false; 5],
                    Self::Setp | Self::Carry | Self::Shfl | Self::Match => [true, false, false, false, true],
                    _ => [true, false, false, false, false],
                }
            }
        }

        /// The operations of [`Op::Generic`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Function {
            // The rows of the table.
            $($lane,)*
            $($half,)*
            /// A conversion from `source` to `kind`.
            Cvt,
            /// Two numbers converted and put side by side: `cvt.rn.f16x2.f32`.
            CvtPack,
            Slct, Set,
            /// Compares each half of packed numbers.
            SetPacked,
            /// `mov.b32 d, {a, b}` and its kin: the vector's elements, lowest first.
            Pack,
            /// One element of a register: element number in `lut`.
            Unpack,
            /// Whether a generic address points into this memory.
            IsShared, IsGlobal, IsLocal,
            /// Adds `constant`.
            Offset,
        }

        impl Function {
            /// Floating-point operations of a lane.
            pub const fn flops(self) -> u8 {
                match self {
                    $($(Self::$lane => $lane_flops,)?)*
                    $($(Self::$half => $half_flops,)?)*
                    _ => 0,
                }
            }
        }
    };
}
crate::instructions::instructions!(operations);

/// How a load or store moves data, packed in a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bytes of an element: 1, 2, 4 or 8.
    pub bytes: u32,
    /// Elements: 1, 2 or 4.
    pub count: u32,
    /// Sign-extend a narrow element.
    pub signed: bool,
    /// The data registers hold 64 bits.
    pub wide: bool,
    /// The address register holds 64 bits.
    pub wide_address: bool,
}

impl Shape {
    pub const fn pack(self) -> u8 {
        self.bytes.trailing_zeros() as u8
            | (self.count.trailing_zeros() as u8) << 2
            | (self.signed as u8) << 4
            | (self.wide as u8) << 5
            | (self.wide_address as u8) << 6
    }

    #[inline(always)]
    pub const fn unpack(sub: u8) -> Self {
        Self {
            bytes: 1 << (sub & 3),
            count: 1 << (sub >> 2 & 3),
            signed: sub >> 4 & 1 != 0,
            wide: sub >> 5 & 1 != 0,
            wide_address: sub >> 6 & 1 != 0,
        }
    }
}

named! {
    /// Comparisons, ordered and (with a `u` in PTX) unordered.
    pub(crate) enum Compare {
        Eq = "eq", Ne = "ne", Lt = "lt" | "lo", Le = "le" | "ls", Gt = "gt" | "hi", Ge = "ge" | "hs",
        Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu",
        Num = "num", Nan = "nan",
    }
}

named! {
    /// How a comparison is combined with a third predicate.
    pub(crate) enum Combine {
        None, And = "and", Or = "or", Xor = "xor",
    }
}

named! {
    /// Rounding of conversions and of floating-point operations.
    pub(crate) enum Rounding {
        Nearest = "rn", Zero = "rz", Down = "rm", Up = "rp",
        /// To nearest, ties away from zero.
        Away = "rna",
        /// To an integral value, ties to even, towards zero, down, up.
        IntNearest = "rni", IntZero = "rzi", IntDown = "rmi", IntUp = "rpi",
    }
}

/// Everything about an [`Op::Generic`] or [`Op::Setp`] that does not change.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // They are the modifiers of PTX, each by itself.
pub(crate) struct Detail {
    pub function: Function,
    /// Type of the operation; of the result for conversions.
    pub kind: Type,
    /// Type of the source for conversions and comparisons.
    pub source: Type,
    pub rounding: Rounding,
    /// Flush subnormal operands and results to zero.
    pub ftz: bool,
    /// Clamp to [0, 1] (float) or to the type's range (integer).
    pub sat: bool,
    /// Negative results become zero.
    pub relu: bool,
    pub compare: Compare,
    pub combine: Combine,
    /// The third predicate is negated.
    pub negate: bool,
    /// The number that is part of the instruction: the table of `lop3`, the element of `Unpack`, the half of packed numbers
    /// that an [`Op::Setp`] compares.
    pub lut: u8,
    /// Addend of `Offset`.
    pub constant: u64,
    /// Which of d, a, b, c, e are 64 bits wide.
    pub wide: [bool; 5],
    /// Which of d, a, b, c, e are predicates.
    pub predicate: [bool; 5],
}

impl Detail {
    pub const fn new(function: Function, kind: Type) -> Self {
        Self {
            function,
            kind,
            source: kind,
            rounding: Rounding::Nearest,
            ftz: false,
            sat: false,
            relu: false,
            compare: Compare::Eq,
            combine: Combine::None,
            negate: false,
            lut: 0,
            constant: 0,
            wide: [false; 5],
            predicate: [false; 5],
        }
    }
}

/// A step of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Micro {
    /// `d = a * b + c` in single precision.
    Fma([u32; 4]),
    /// In integers.
    Mad([u32; 4]),
    /// One word from shared memory: destination, base of the run, displacement in words.
    Load1 { to: u32, base: u32, offset: i32 },
    /// Two or four words; absent destinations are none.
    LoadN { to: [u32; 4], base: u32, offset: i32 },
}

/// An address register that loads of a run use; it does not change while the run lasts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Base {
    pub register: u32,
    pub wide: bool,
    /// Least displacement, and largest end of a load, in bytes.
    pub low: i32,
    pub high: i32,
    /// Largest alignment a load needs, in bytes.
    pub align: u32,
}

/// Most bases in a run.
pub(crate) const BASES: usize = 8;

/// A run of shared loads and multiply-adds.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub bases: Vec<Base>,
    pub steps: Vec<Micro>,
    /// The loads, for observers.
    pub loads: Vec<SharedLoad>,
}

/// One of the loads from shared memory that a warp makes one after the other, with all its lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedLoad {
    /// Instruction number.
    pub instruction: u32,
    /// Which of the bases its addresses are counted from.
    pub base: u32,
    /// Bytes from there.
    pub offset: i32,
    /// Bytes that a lane loads.
    pub bytes: u32,
}

named! {
    /// What an atomic operation does.
    pub(crate) enum AtomicOp {
        Add = "add", Min = "min", Max = "max", Inc = "inc", Dec = "dec",
        And = "and", Or = "or", Xor = "xor", Exch = "exch", Cas = "cas",
        /// Arrivals at a barrier in memory, for this phase or for all: `b` of them, after the phase awaits `c` more bytes.
        Arrive, ArriveDrop,
    }
}

/// The fixed part of an [`Op::Atom`]: `d` result (or none), `a` address, `b` and `c` operands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Atomic {
    pub op: AtomicOp,
    pub kind: Type,
    pub space: crate::Space,
    pub offset: i64,
    /// It leaves what it finds, as `atomicAdd(p, 0)`: a way to read.
    pub leaves: bool,
}

named! {
    /// Functions that no file defines: the device has them.
    pub(crate) enum SystemCall {
        /// `printf`: the format, and where its arguments lie.
        Print = "vprintf",
        /// An `assert` that does not hold: the condition, the file, the line, the function, the size of a character.
        Assert = "__assertfail",
    }
}

/// A call of such a function.
#[derive(Debug, Clone)]
pub(crate) struct System {
    pub call: SystemCall,
    /// Where its result goes and its arguments are: positions in the thread's local memory.
    pub result: Option<u32>,
    pub arguments: Vec<u32>,
}

/// What `c` of an [`Op::CopyAsync`] says of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyCount {
    /// How many bytes to read, in 32 bits.
    Bytes,
    /// How many bytes to read, in 64 bits.
    WideBytes,
    /// A predicate: read nothing where it is set.
    Ignore,
}

/// A barrier that a bulk copy arrives at: its register is `e` of the [`Op::CopyAsync`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct BarrierPlace {
    pub offset: i64,
    pub wide: bool,
}

/// The fixed part of an [`Op::CopyAsync`]: `a` destination, `b` source, `c` as `count` says, if there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    /// Bytes of each lane, or of the unit that a bulk copy consists of.
    pub bytes: u32,
    pub to_offset: i64,
    pub from_offset: i64,
    pub wide_to: bool,
    /// Past the first-level cache (`.cg`).
    pub bypass: bool,
    pub count: CopyCount,
    /// A bulk copy: each lane copies as many bytes as `c` says, which arrive here.
    pub bulk: Option<BarrierPlace>,
}

/// Kinds of [`Op::Shfl`], [`Op::Vote`], [`Op::Redux`], [`Op::BarRed`], in their `sub`.
pub(crate) mod sub {
    pub const UP: u8 = 0;
    pub const DOWN: u8 = 1;
    pub const BFLY: u8 = 2;
    pub const IDX: u8 = 3;

    pub const ALL: u8 = 0;
    pub const ANY: u8 = 1;
    pub const ELECT: u8 = 2;
    pub const UNI: u8 = 2;
    pub const BALLOT: u8 = 3;

    pub const ADD: u8 = 0;
    pub const MIN_S: u8 = 1;
    pub const MAX_S: u8 = 2;
    pub const MIN_U: u8 = 3;
    pub const MAX_U: u8 = 4;
    pub const AND: u8 = 5;
    pub const OR: u8 = 6;
    pub const XOR: u8 = 7;
    pub const POPC: u8 = 8;
}

/// Where generic addresses of shared memory start.
pub(crate) const SHARED_WINDOW: u64 = 1 << 61;
/// Where generic addresses of local memory start.
pub(crate) const LOCAL_WINDOW: u64 = 1 << 62;

/// A value that is known before a warp starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Preset {
    /// A number of the kernel.
    Constant(u64),
    /// Bytes of the parameter area: position and size.
    Param { offset: u32, bytes: u32, signed: bool },
    /// Address of a shared array, by number, and the place in it.
    Shared { array: u32, address: u64 },
    /// Address of a variable of the module, by number.
    Variable { number: u32, offset: i64 },
    /// On an axis: 0 for x.
    Index(Index, u8),
    /// The same on every axis.
    Special(Special),
}

named! {
    /// Special registers that say for each axis where a thread is, or how many there are.
    pub(crate) enum Index {
        // A launch without clusters has one block in each.
        Tid = "tid", Ntid = "ntid", Ctaid = "ctaid" | "clusterid", Nctaid = "nctaid" | "nclusterid",
    }
}

named! {
    /// Other special registers that do not change while a warp runs.
    pub(crate) enum Special {
        LaneId = "laneid", WarpId = "warpid", NWarpId = "nwarpid",
        LaneMaskEq = "lanemask_eq", LaneMaskLt = "lanemask_lt", LaneMaskLe = "lanemask_le",
        LaneMaskGt = "lanemask_gt", LaneMaskGe = "lanemask_ge",
        /// The halves of the address of the place where all blocks of a grid meet: where the driver tells a cooperative launch what
        /// `grid.sync()` needs.
        GridBarrierHigh = "envreg1", GridBarrierLow = "envreg2",
        DynamicShared = "dynamic_smem_size", TotalShared = "total_smem_size" | "aggr_smem_size",
        Zero = "smid" | "gridid" | "cluster_ctarank", One = "nsmid" | "cluster_nctarank",
    }
}
