//! The compact form that is executed: 32 bytes for each instruction. Also the values that are known before a warp starts.

use crate::ast::Type;
use crate::named::named;

/// Stands for no predicate, no register or no block.
pub const NONE: u32 = u32::MAX;
pub const NO_GUARD: u16 = u16::MAX;
/// This bit is set in a guard that is negated.
pub const GUARD_NEGATED: u16 = 1 << 15;

/// One instruction. The meaning of the fields depends on `op`. Registers are offsets into the warp's registers, in words.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Inst {
    pub op: Op,
    /// For memory accesses, a packed [`Shape`].
    pub sub: u8,
    /// Predicate number, with [`GUARD_NEGATED`] if the guard is negated, or [`NO_GUARD`].
    pub guard: u16,
    /// Number of the instruction, for observers and messages.
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

    /// Returns the data registers of a load or store.
    #[inline]
    pub const fn data(&self) -> [u32; 4] {
        [self.d, self.b, self.c, self.e]
    }

    /// Returns the values that its fields name, and whether it writes each of them.
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
        /// The operation of an instruction. Frequent computations have operations of their own, which work on all lanes at once.
        /// Every other computation is [`Op::Generic`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op {
            /// Start of a basic block, for reconvergence, counts and limits. `d` is the block, `imm` its length.
            Enter,
            /// A run of shared loads and multiply-adds that is executed in one go: run number `d`. The `imm` instructions of the
            /// run follow, for cases in which that is not possible.
            Run,
            /// Lets other threads run after an instruction they may wait for: a store (`imm` is 1) or an atomic operation (0).
            Tell,
            // One for each row of the table.
            $($vector,)*
            $($predicate,)*
            // Copies and conversions.
            Mov32, Mov64, SignExtend, ZeroExtend, Truncate, CvtF32S32, CvtF32U32, PredMov,
            // Choices.
            Selp32, Selp64, Setp,
            /// A sum or difference with a carry. Predicate `c`, if present, is the carry in; `e` is the carry out.
            Carry,
            /// Any other computation from registers to one register. `imm` is the number of its [`Detail`].
            Generic,
            // Control.
            Bra,
            /// Indexed branch. `a` is the index register, `imm` the number of the table.
            Brx,
            Exit, Trap,
            // Synchronisation.
            Bar, BarRed, WarpSync, Fence,
            // Memory. `a` is the address, `imm` the displacement, and the data is in `d`, `b`, `c`, `e`.
            LdGlobal, StGlobal, LdShared, StShared, LdLocal, StLocal, LdGeneric, StGeneric, LdParam, Atom,
            CopyAsync, CopyCommit, CopyWait, CopyWaitAll,
            // Across the lanes of a warp.
            Shfl, Vote, Match, Redux, ActiveMask, Clock,
            /// An operation of a warp on matrices in registers: matrix number `imm`, address in `a`, stride in `b`.
            Matrix,
            /// An operation of four warps together: matrix number `imm`, descriptors in `a` and `b`, a predicate in `c`.
            Warpgroup,
            /// A call of a function that the device provides: number `imm` of the calls.
            System,
            /// Ends the warp's turn: it sleeps, or it waits at the barrier in shared memory at `a` + `imm`.
            Yield,
            /// Does nothing: prefetches and hints. Observers still hear of it.
            Nop,
        }

        impl Op {
            /// Returns the floating-point operations per lane. Those of an [`Op::Generic`] are given by its function.
            pub const fn flops(self) -> u8 {
                match self {
                    $($(Self::$vector => $vector_flops,)?)*
                    _ => 0,
                }
            }

            /// Whether this is not an instruction of the kernel, but a note for execution.
            pub const fn is_note(self) -> bool {
                matches!(self, Self::Enter | Self::Run | Self::Tell)
            }

            /// Whether this only computes from registers to registers.
            pub const fn computes(self) -> bool {
                !self.is_note() && (self as u8) < Self::Bra as u8
            }

            /// Returns which of d, a, b, c, e the instruction writes if they are present. It reads the others.
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

        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Function {
            // One for each row of the table.
            $($lane,)*
            $($half,)*
            Cvt,
            /// Two numbers, converted and packed: `cvt.rn.f16x2.f32`.
            CvtPack,
            Slct, Set,
            SetPacked,
            /// `mov.b32 d, {a, b}` and the like: packs a vector's elements, lowest first.
            Pack,
            /// Takes one element out of a register. Its number is in `lut`.
            Unpack,
            /// Whether a generic address points into this state space.
            IsShared, IsGlobal, IsLocal,
            Offset,
        }

        impl Function {
            /// Returns the floating-point operations per lane.
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
crate::instructions!(operations);

/// How a load or store moves data. It can be packed into a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of each element: 1, 2, 4 or 8.
    pub bytes: u32,
    /// Number of elements: 1, 2 or 4.
    pub count: u32,
    /// Whether narrow elements are sign-extended.
    pub signed: bool,
    /// Whether the data registers hold 64 bits.
    pub wide: bool,
    /// Whether the address register holds 64 bits.
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
    #[allow(clippy::inline_always)] // On the hottest path of every access.
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
    /// Comparisons, first the ordered ones, then the unordered ones, which PTX marks by a `u` at the end and which hold for a NaN.
    pub enum Compare {
        Eq = "eq", Ne = "ne", Lt = "lt" | "lo", Le = "le" | "ls", Gt = "gt" | "hi", Ge = "ge" | "hs",
        Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu",
        Num = "num", Nan = "nan",
    }
}

named! {
    /// How a comparison is combined with a third predicate.
    pub enum Combine {
        None, And = "and", Or = "or", Xor = "xor",
    }
}

named! {
    /// Rounding modes of conversions and of floating-point operations.
    pub enum Rounding {
        Nearest = "rn", Zero = "rz", Down = "rm", Up = "rp",
        /// To the nearest number, ties away from zero.
        Away = "rna",
        /// To an integer: to nearest with ties to even, towards zero, down, up.
        IntNearest = "rni", IntZero = "rzi", IntDown = "rmi", IntUp = "rpi",
    }
}

/// The fixed part of an [`Op::Generic`] or [`Op::Setp`].
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // They are independent modifiers of PTX.
pub struct Detail {
    pub function: Function,
    /// Type of the operation. For conversions, the type of the result.
    pub kind: Type,
    /// Type of the source, for conversions and comparisons.
    pub source: Type,
    pub rounding: Rounding,
    /// Whether subnormal operands and results become zero.
    pub ftz: bool,
    /// Whether the result is clamped to [0, 1] (float) or to the type's range (integer).
    pub sat: bool,
    /// Whether negative results become zero.
    pub relu: bool,
    pub compare: Compare,
    pub combine: Combine,
    /// Whether the third predicate is negated.
    pub negate: bool,
    /// A number that is part of the instruction: the table of `lop3`, the element of `Unpack`, or which half of packed numbers
    /// an [`Op::Setp`] compares.
    pub lut: u8,
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

#[derive(Debug, Clone, Copy)]
pub enum Micro {
    /// `d = a * b + c` in single precision.
    Fma([u32; 4]),
    /// `d = a * b + c` in 32-bit integers.
    Mad([u32; 4]),
    /// Loads one word from shared memory: destination, base of the run, displacement in words.
    Load1 { to: u32, base: u32, offset: i32 },
    /// Loads two or four words. A destination may be [`NONE`].
    LoadN { to: [u32; 4], base: u32, offset: i32 },
}

/// An address register that a run's loads use. It does not change during the run.
#[derive(Debug, Clone, Copy)]
pub struct Base {
    pub register: u32,
    pub wide: bool,
    /// The lowest displacement, and the highest end of any load, in bytes.
    pub low: i32,
    pub high: i32,
    /// The strictest alignment that a load needs, in bytes.
    pub align: u32,
}

/// The most bases that a run can have.
pub const BASES: usize = 8;

/// A run of shared loads and multiply-adds.
#[derive(Debug, Clone)]
pub struct Run {
    pub bases: Vec<Base>,
    pub steps: Vec<Micro>,
    /// The loads among the steps, for observers.
    pub loads: Vec<SharedLoad>,
}

/// One of several shared-memory loads that all lanes of a warp make in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedLoad {
    /// Instruction number.
    pub instruction: u32,
    /// The base that its addresses are relative to.
    pub base: u32,
    /// Distance from the base in bytes.
    pub offset: i32,
    /// Bytes that each lane loads.
    pub bytes: u32,
}

named! {
    /// What an atomic operation does.
    pub enum AtomicOp {
        Add = "add", Min = "min", Max = "max", Inc = "inc", Dec = "dec",
        And = "and", Or = "or", Xor = "xor", Exch = "exch", Cas = "cas",
        /// Arrivals at a barrier in memory, for this phase or for all phases. `b` arrive, and the phase expects `c` more bytes.
        Arrive, ArriveDrop,
    }
}

/// The fixed part of an [`Op::Atom`]. `d` is the result (if wanted), `a` the address, `b` and `c` are operands.
#[derive(Debug, Clone, Copy)]
pub struct Atomic {
    pub op: AtomicOp,
    pub kind: Type,
    pub space: crate::place::Space,
    pub offset: i64,
    /// Whether it does not change the value, as in `atomicAdd(p, 0)`, which is a way to read.
    pub leaves: bool,
}

named! {
    /// Functions that the device provides, so no file defines them.
    pub enum SystemCall {
        /// `printf`. Its arguments are the format and the address of the values.
        Print = "vprintf",
        /// A failed `assert`. Its arguments are the condition, the file, the line, the function and the size of a character.
        Assert = "__assertfail",
    }
}

/// A call of such a function.
#[derive(Debug, Clone)]
pub struct System {
    pub call: SystemCall,
    /// Positions of the result and of the arguments in the thread's local memory.
    pub result: Option<u32>,
    pub arguments: Vec<u32>,
}

/// The meaning of `c` in an [`Op::CopyAsync`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyCount {
    /// How many bytes to read, as a 32-bit number.
    Bytes,
    /// How many bytes to read, as a 64-bit number.
    WideBytes,
    /// A predicate. If it is true, nothing is read.
    Ignore,
}

/// The fixed part of an [`Op::CopyAsync`]. `a` is the destination, `b` the source, and `count` tells what `c` means, if present.
#[derive(Debug, Clone, Copy)]
pub struct Copy {
    /// Bytes that each lane copies. For a bulk copy, the unit of its size.
    pub bytes: u32,
    pub to_offset: i64,
    pub from_offset: i64,
    pub wide_to: bool,
    /// Whether it bypasses the first-level cache (`.cg`).
    pub bypass: bool,
    pub count: CopyCount,
    /// For a bulk copy, its barrier: the offset from the address in `e`, and whether that has 64 bits. Each lane copies the number of
    /// bytes in `c`, and they arrive there.
    pub bulk: Option<(i64, bool)>,
}

/// Values of `sub` for [`Op::Shfl`], [`Op::Vote`], [`Op::Redux`] and [`Op::BarRed`].
pub mod sub {
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

/// The generic address at which shared memory starts.
pub const SHARED_WINDOW: u64 = 1 << 61;
/// The generic address at which local memory starts.
pub const LOCAL_WINDOW: u64 = 1 << 62;

/// A value that is known before a warp starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// A constant in the kernel.
    Constant(u64),
    /// Bytes of the parameters: position and size.
    Param { offset: u32, bytes: u32, signed: bool },
    /// An address in a shared array: the number of the array, and the address.
    Shared { array: u32, address: u64 },
    /// The address of a variable of the module, by its number, plus an offset.
    Variable { number: u32, offset: i64 },
    /// An index for one axis. Axis 0 is x.
    Index(Index, u8),
    /// A special register without axes.
    Special(Special),
}

named! {
    /// Special registers with a thread's position or a size, for each axis.
    pub enum Index {
        // In a launch without clusters, each cluster is one block.
        Tid = "tid", Ntid = "ntid", Ctaid = "ctaid" | "clusterid", Nctaid = "nctaid" | "nclusterid",
    }
}

named! {
    /// Other special registers that are constant while a warp runs.
    pub enum Special {
        LaneId = "laneid", WarpId = "warpid", NWarpId = "nwarpid",
        LaneMaskEq = "lanemask_eq", LaneMaskLt = "lanemask_lt", LaneMaskLe = "lanemask_le",
        LaneMaskGt = "lanemask_gt", LaneMaskGe = "lanemask_ge",
        /// The halves of the address of the grid's barrier, through which the driver gives a cooperative launch what `grid.sync()`
        /// needs.
        GridBarrierHigh = "envreg1", GridBarrierLow = "envreg2",
        DynamicShared = "dynamic_smem_size", TotalShared = "total_smem_size" | "aggr_smem_size",
        /// The start of the two parts of shared memory that the system reserves. Cooperative groups keep what their larger tiles need
        /// in the second one.
        Reserved0 = "reserved_smem_offset_0", Reserved1 = "reserved_smem_offset_1",
        Zero = "smid" | "gridid" | "cluster_ctarank", One = "nsmid" | "cluster_nctarank",
    }
}
