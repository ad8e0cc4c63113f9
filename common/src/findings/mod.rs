//! What the simulator found out about a kernel: counters, hazards and their causes, with the source lines; and the words for
//! all of it.

pub mod analysis;
pub mod diagnostic;
pub mod fault;
pub mod hazard_kind;
pub mod why;

pub use analysis::{Counters, HazardReport, Observations, RATIOS};
pub use fault::KernelFault;
