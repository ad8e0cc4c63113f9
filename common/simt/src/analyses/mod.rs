//! The analyses that come with the simulator.

pub mod counters;
