//! How a step would run a problem on a device: plain data, which programs, the explorer's engine and records share.

pub mod info;
pub mod occupancy;
mod plan;
mod problem;

pub use info::{DeviceInfo, Kind};
pub use plan::{Arg, Launch, MAX_GRID_YZ, Plan, Shape, Specialisation};
pub use problem::{Dtype, Fill, Problem};
