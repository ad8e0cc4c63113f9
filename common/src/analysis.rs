//! What the simulator saw of a run, in the course's terms: counters and hazards with the source beside them.

mod causes;
mod counters;
mod hazards;
mod trace;

pub use counters::{CounterSum, Counters, LineCounters};
pub use hazards::{HazardReport, HazardThread, fault, hazards};
pub use trace::{AccessReport, ThreadReport, add_trace};

/// What the analyses that were asked for saw since they were asked last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations {
    /// Counters, where they were asked for.
    pub counters: Option<Counters>,
    /// Hazards, where they were asked for; none found is an empty list.
    pub hazards: Option<Vec<HazardReport>>,
    /// What the traced threads did, where any was to be traced.
    pub trace: Option<Vec<ThreadReport>>,
}
