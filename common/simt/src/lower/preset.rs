//! Values that are known before a warp starts: constants, parameters, addresses, special registers.

use crate::named::named;

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
