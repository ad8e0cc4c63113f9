//! What every step uses: devices, matrices, verification, timing, report and command line.
//!
//! A step is a [`Step`]: where its `kernel.cu` lies and how it is launched ([`Plan`]). [`fn@run`] does the rest: it draws A
//! and B, opens a device, compiles or looks up the kernel, poisons C, launches, verifies, and only then times and reports.

pub mod analysis;
pub mod baseline;
#[cfg(feature = "bench")]
pub mod bench;
pub mod cli;
pub mod code;
pub mod cublas;
pub mod device;
pub mod exec;
pub mod fault;
pub mod json;
pub mod libraries;
pub mod matrix;
pub mod memory;
pub mod nvrtc;
pub mod occupancy;
pub mod plan;
pub mod problem;
pub mod report;
pub mod run;
pub mod step;
#[cfg(feature = "testing")]
pub mod testing;
pub mod timing;
pub mod verify;
pub mod workspace;

pub use device::{DeviceInfo, Kind};
pub use plan::{Arg, Launch, MAX_GRID_YZ, Plan, Specialisation};
pub use problem::{Dtype, Fill, Problem};
pub use run::run;
pub use step::{Defect, HostProduct, PlanFn, Step, Variant};
