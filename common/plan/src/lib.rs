//! A step of the course, and how it would run a problem on a device, as plain data for programs, the explorer's engine and records.
//! Nothing here touches a file or a device.

pub mod info;
pub mod occupancy;
mod own;
mod plan;
mod problem;
mod step;

pub use info::{DeviceInfo, Kind};
pub use own::OwnLaunch;
pub use plan::{Arg, Launch, MAX_GRID_YZ, Plan, Rows, Shape, Specialisation, launches_by_rows};
pub use problem::{Dtype, Fill, Problem};
pub use step::{
    COUNTER_EXAMPLES, DefaultSize, Defect, HostProduct, PlanFn, RUNGS, Role, SpecialisationsFn, Step, Variant,
};
