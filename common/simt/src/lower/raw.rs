//! Decoded instructions before their registers have places: operands are numbers of values, registers and what is known before a warp
//! starts.

use super::code::Code;
use super::inst::Inst;
use super::order::MemoryOrder;
use crate::ast::{Position, Type};
use crate::named::named;

/// A decoded instruction, whose registers are numbers of values.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub inst: Inst,
    pub guard: Option<(u32, bool)>,
    pub targets: Vec<u32>,
    pub position: Position,
    pub order: MemoryOrder,
    /// Operands beyond those of the instruction's form, and whether it writes them: fragments of matrices.
    pub more: Vec<(u32, bool)>,
}

/// What one instruction reads and writes, as value numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effect {
    pub uses: Vec<u32>,
    pub defs: Vec<u32>,
}

impl Raw {
    pub fn effect(&self) -> Effect {
        let mut effect = Effect::default();
        for (value, written) in self.inst.values().chain(self.more.iter().copied()) {
            if written { &mut effect.defs } else { &mut effect.uses }.push(value);
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
    /// Groups of 32 words that its lanes take.
    pub fn slots(&self) -> u32 {
        if self.kind.bytes() == 8 { 2 } else { 1 }
    }
}

/// A kernel as far as decoding makes it.
pub(crate) struct Decoded {
    pub raws: Vec<Raw>,
    pub values: Vec<Value>,
    pub code: Code,
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
