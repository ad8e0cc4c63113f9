//! What every step uses: devices, matrices, verification, timing, report and command line.
//!
//! A step is a [`Step`]: where its `kernel.cu` lies and how it is launched ([`Plan`]). [`fn@run`] does the rest: it
//! draws A and B, opens a device, compiles or looks up the kernel, poisons C, launches, verifies, and only then times
//! and reports.
//!
//! Each module is a room with one purpose. A room uses those below it in this list and none above: [`program`], [`measure`],
//! [`verify`], [`device`], [`code`], [`basics`]; all of them use the crate [`plan`].

pub mod basics;
pub mod code;
pub mod device;
pub mod measure;
pub mod program;
#[cfg(feature = "testing")]
pub mod testing;
pub mod verify;

pub use plan::{
    Arg, Defect, DeviceInfo, Dtype, Fill, HostProduct, Kind, Launch, MAX_GRID_YZ, Plan, PlanFn, Problem,
    Specialisation, Step, Variant,
};
pub use program::run;
