//! What the simulator found out about a kernel, whatever it computes: hazards, faults, reached limits, counters and traces, with
//! the lines of its source; as data, and as text that is made of it once.
//!
//! [`hazards`](analysis::hazards) and [`fault`](analysis::fault) turn the simulator's findings into reports; a report's
//! [`Diagnostic`](diagnostic::Diagnostic) is drawn by [`diagnostic::render`]. Lines are shown of files only that a program has named
//! with [`places::may_be_shown`].

pub mod analysis;
pub mod declarations;
pub mod diagnostic;
pub mod element;
pub mod fault;
pub mod hazard_kind;
pub mod layout;
pub mod places;

pub use analysis::{Counters, HazardReport, Observations, RATIOS};
pub use fault::KernelFault;
