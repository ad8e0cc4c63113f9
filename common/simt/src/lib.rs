#![doc = include_str!("../README.md")]
#![allow(
    // The functions that work on lanes are small. They become vector code only when inlined into one large function.
    clippy::inline_always,
    // PTX instructions compare floating-point numbers exactly.
    clippy::float_cmp,
    // The operands of an access: a struct for them would slow down the hottest path.
    clippy::too_many_arguments,
    // Every step of a warp returns a boxed error: with one pointer, results stay in registers.
    clippy::unnecessary_box_returns
)]

pub mod analyses;
mod config;
mod exec;
mod lanes;
mod locked;
mod memory;
mod module;
mod observe;
mod variables;
#[allow(unsafe_code, reason = "memory of the host that kernels access as well")]
mod words;

pub use analyses::Analyses;
pub use analyses::counters::{Counters, Counts};
pub use analyses::hazards::{Action, Extents, Hazard, HazardKind, Hazards, Party, Touched};
pub use analyses::provenance::Provenance;
pub use analyses::trace::{MOST_TRACED, ThreadTrace, Trace};
pub use analyses::work::{Work, Works};
pub use config::{Deadline, Held, InstructionSet, LaunchConfig};
pub use exec::{Arg, Launched, launch, launch_blocks};
pub use memory::{Allocation, DevicePointer, Element, GlobalMemory};
pub use module::{Kernel, Module, Param};
pub use observe::{
    Access, Analysis, Arrival, BlockInfo, BulkCopy, CopyAccess, CopyLanded, Executed, LaunchInfo, Observer,
    SharedLoads, WarpgroupStep,
};
pub use ptx::Dim3;
pub use ptx::ast::Type;
pub use ptx::error::{AccessKind, Error, Fault, FaultKind, Limit, Location};
pub use ptx::lower::{Form, Register, SharedArray, SharedLoad, WarpgroupProduct, forms};
pub use ptx::place::{Array, Place, Space};
