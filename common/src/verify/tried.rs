//! Edits of a kernel are tried with the program's own compiler and launches.

use anyhow::Result;
use why::trial::{Bench, Found, Launched, Search};

use crate::code::Source;
use plan::{OwnLaunch, Plan, Problem, Specialisation};

/// A kernel whose edits are tried.
pub struct Tried<'a> {
    /// Its source.
    pub source: &'a Source,
    /// How it is launched for a problem: with this launch, or as the user asks.
    pub plan: &'a (dyn Fn(&Problem, Option<OwnLaunch>) -> Result<Plan> + Sync),
    /// What the user has chosen of the launch.
    pub launch: OwnLaunch,
    /// Seconds after which no more edits are tried.
    pub seconds: u64,
}

impl Tried<'_> {
    /// Looks for an edit that makes the kernel right; none if there is no compiler for it, or it cannot be shown to be wrong.
    pub fn find(&self, problem: &Problem) -> Option<Found> {
        let search = self.search(problem);
        (!self.source.is_rust() && !self.source.is_ptx()).then(|| search.find()).flatten()
    }

    /// The smallest sizes that are like a problem's: multiples of a tile if its sizes are, and not if they are not.
    pub fn similar(&self, problem: &Problem) -> Vec<[u64; 3]> {
        self.search(problem).similar()
    }

    fn search(&self, problem: &Problem) -> Search<'_> {
        Search { text: &self.source.text, problem: *problem, bench: self, seconds: self.seconds }
    }
}

impl Bench for Tried<'_> {
    fn plan(&self, problem: &Problem, launch: Option<Launched>) -> Option<Plan> {
        let own = launch.map(|launch| OwnLaunch {
            block: Some(launch.block),
            tile: Some(launch.tile),
            shared: (launch.shared > 0).then_some(launch.shared),
        });
        (self.plan)(problem, own).ok()
    }

    fn compile(&self, source: &str, specialisation: &Specialisation, debug: bool) -> Result<String, String> {
        self.source.compiled_text(source.to_owned(), specialisation, debug).unwrap_or_else(|| Err(String::new()))
    }

    fn launched(&self) -> Option<Launched> {
        let OwnLaunch { block, tile, shared } = self.launch;
        let block = block?;
        Some(Launched { block, tile: tile.unwrap_or(block), shared: shared.unwrap_or(0) })
    }
}
