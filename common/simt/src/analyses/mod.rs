//! The analyses that come with the simulator.

pub mod all;
pub mod counters;
pub mod declarations;
pub mod hazards;
pub mod provenance;
#[cfg(test)]
mod testing;
pub mod trace;
pub mod work;
