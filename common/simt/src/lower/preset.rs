//! Values that are known before a warp starts: constants, parameters, addresses, special registers.

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
    /// The halves of the address of the place where all blocks of a grid meet.
    GridBarrierLow,
    GridBarrierHigh,
    DynamicShared,
    TotalShared,
    Zero,
    One,
}
