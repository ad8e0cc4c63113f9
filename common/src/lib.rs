//! What every step uses: devices, matrices, verification, timing, report and command line.
//!
//! A step is a [`Step`], which says where its `kernel.cu` lies and how it is launched ([`Plan`]), and a host driver: the function
//! in its `src/main.rs`. The driver calls a [`Gpu`]: it allocates, copies A and B, launches, copies C back, verifies, times and
//! reports. [`fn@run`] reads the command line and runs the driver.
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
pub use program::report::Report;
pub use program::{Asked, Gpu, Host, random_matrices, run};
