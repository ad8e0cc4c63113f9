//! What every step uses: devices, matrices, verification, timing, report and command line.
//!
//! A step is a [`Step`]: where its `kernel.cu` lies and how it is launched ([`Plan`]). [`fn@run`] does the rest: it
//! draws A and B, opens a device, compiles or looks up the kernel, poisons C, launches, verifies, and only then times
//! and reports.

pub mod analysis;
pub mod assembled;
pub mod baseline;
#[cfg(feature = "bench")]
pub mod bench;
pub mod bound;
pub mod check;
pub mod cli;
pub mod code;
pub mod cost;
pub mod cublas;
pub mod cublas_product;
pub mod describe;
pub mod device;
pub mod diagnostic;
pub mod driver;
pub mod exec;
pub mod exit;
pub mod fault;
pub mod gpus;
pub mod hazard_kind;
mod headers;
pub mod host;
pub mod info;
pub mod json;
pub mod libraries;
pub mod matrix;
pub mod memory;
pub mod mix;
pub mod nvidia_smi;
pub mod nvrtc;
pub mod occupancy;
pub mod on_device;
pub mod on_host;
pub mod output;
pub mod own_launch;
pub mod places;
pub mod plan;
pub mod problem;
pub mod product;
pub mod progress;
pub mod report;
pub mod run;
pub mod sample;
pub mod step;
#[cfg(feature = "testing")]
pub mod testing;
pub mod timing;
pub mod units;
pub mod verify;
pub mod workspace;

pub use info::{DeviceInfo, Kind};
pub use plan::{Arg, Launch, MAX_GRID_YZ, Plan, Specialisation};
pub use problem::{Dtype, Fill, Problem};
pub use run::run;
pub use step::{Defect, HostProduct, Idea, PlanFn, Step, Variant};
