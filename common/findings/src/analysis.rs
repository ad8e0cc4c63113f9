//! What the simulator saw of a run, as reports: counters and hazards with the source beside them.

mod causes;
mod counters;
mod hazards;
mod ratios;
mod trace;

pub use counters::{CounterSum, Counters, LineCounters};
pub use hazards::{HazardReport, HazardThread, fault, hazards};
pub use ratios::{RATIOS, term};
pub use trace::{AccessReport, ThreadReport, add_trace};

use crate::hazard_kind::ReportKind;

/// What the analyses have seen since the last time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations {
    /// Counters, if they were asked for.
    pub counters: Option<Counters>,
    /// Hazards, if they were asked for; none found is an empty list.
    pub hazards: Option<Vec<HazardReport>>,
    /// What the traced threads did, if any was to be traced.
    pub trace: Option<Vec<ThreadReport>>,
    /// The work of each launch's blocks, if counters were asked for and it is known for certain.
    pub works: Option<Vec<simt::Works>>,
}

impl Observations {
    /// Without the counts of how often elements were written: they mean nothing if the launch was broken off.
    pub fn forget_coverage(&mut self) {
        let coverage = |kind| matches!(kind, ReportKind::Hazard(kind) if kind.is_coverage());
        if let Some(hazards) = &mut self.hazards {
            hazards.retain(|hazard| !(coverage(hazard.kind) && hazard.threads.is_empty()));
        }
    }
}
