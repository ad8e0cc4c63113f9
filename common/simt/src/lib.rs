//! A GPU on the CPU.
//!
//! `simt` reads PTX, runs it as a GPU does (warps of 32 lanes in lockstep, blocks side by side, barriers, shared memory,
//! asynchronous copies), and lets analyses watch. They report what the hardware's counters would show, which accesses race,
//! and what a thread read and wrote.
//!
//! ```
//! use simt::{Arg, GlobalMemory, LaunchConfig, Module};
//!
//! let ptx = r"
//! .version 8.1
//! .target sm_80
//! .address_size 64
//! .visible .entry double(.param .u64 data, .param .u32 count)
//! {
//!     .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<3>;
//!     ld.param.u64 %rd1, [data];
//!     ld.param.u32 %r1, [count];
//!     mov.u32 %r2, %ctaid.x;
//!     mov.u32 %r3, %ntid.x;
//!     mov.u32 %r4, %tid.x;
//!     mad.lo.s32 %r5, %r2, %r3, %r4;
//!     setp.ge.u32 %p1, %r5, %r1;
//!     @%p1 bra DONE;
//!     mul.wide.u32 %rd2, %r5, 4;
//!     add.s64 %rd3, %rd1, %rd2;
//!     ld.global.f32 %f1, [%rd3];
//!     add.f32 %f2, %f1, %f1;
//!     st.global.f32 [%rd3], %f2;
//! DONE:
//!     ret;
//! }";
//! let kernel = Module::parse(ptx)?.kernel("double")?;
//! let mut memory = GlobalMemory::new();
//! let data = memory.alloc("data", 400, 4)?;
//! memory.upload(data, 0, &[1.5f32; 100])?;
//! simt::launch(&kernel, &mut memory, &LaunchConfig::new(4, 32), &[Arg::Pointer(data), Arg::U32(100)], &mut ())?;
//! let mut result = [0.0f32; 100];
//! memory.download(data, 0, &mut result)?;
//! assert_eq!(result, [3.0; 100]);
//! # Ok::<(), simt::Error>(())
//! ```
//!
//! Every failure is an [`Error`], in classes a learner can tell apart: a fault of the kernel, an instruction the
//! simulator does not support, a limit reached. No input makes the library panic.

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

pub use analyses::Analyses;
pub use analyses::counters::{Counters, Counts};
pub use analyses::hazards::{Action, Hazard, HazardKind, Hazards, Party, Touched};
pub use analyses::provenance::Provenance;
pub use analyses::trace::{MOST_TRACED, ThreadTrace, Trace};
pub use analyses::work::{Work, Works};
pub use config::{Held, InstructionSet, LaunchConfig};
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
