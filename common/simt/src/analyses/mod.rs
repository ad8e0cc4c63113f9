//! The analyses that come with the simulator.

pub mod counters;
pub mod declarations;
pub mod hazards;
mod lanes;
pub mod report;
pub mod trace;
