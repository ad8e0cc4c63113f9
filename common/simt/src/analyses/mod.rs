//! The analyses that come with the simulator, and an analysis that combines them.

pub mod counters;
pub mod hazards;
pub mod provenance;
pub mod trace;
pub mod work;

use crate::observe::{Analysis, BlockInfo, LaunchInfo, Observer};
use counters::Counters;
use hazards::Hazards;
use trace::Trace;

/// The simulator's own analyses in one. An analysis that is `None` does not run and costs nothing.
#[derive(Debug, Default)]
#[allow(missing_docs)] // The names say it.
pub struct Analyses {
    pub counters: Option<Counters>,
    pub hazards: Option<Hazards>,
    pub trace: Option<Trace>,
}

impl Analysis for Analyses {
    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        self.counters.iter_mut().for_each(|counters| counters.begin(launch));
        self.hazards.iter_mut().for_each(|hazards| hazards.begin(launch));
        self.trace.iter_mut().for_each(|trace| trace.begin(launch));
    }

    fn in_order(&self) -> bool {
        self.hazards.as_ref().is_some_and(Analysis::in_order)
    }

    fn second(&mut self) -> Option<&mut dyn Analysis> {
        self.hazards.as_mut()?.second()
    }

    fn block(&self, block: &BlockInfo) -> Vec<Box<dyn Observer>> {
        let counters = self.counters.iter().flat_map(|counters| counters.block(block));
        let hazards = self.hazards.iter().flat_map(|hazards| hazards.block(block));
        counters.chain(hazards).chain(self.trace.iter().flat_map(|trace| trace.block(block))).collect()
    }
}
