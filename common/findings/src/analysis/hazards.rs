//! Hazards and faults in a report: each once for each pair of source lines, and none that follows from another.

use serde::{Serialize, Serializer};

use super::causes::roots;
use crate::diagnostic::{self, Diagnostic};
use crate::hazard_kind::{ReportKind, fault_name};
use crate::places::{self, index};

/// A hazard: what, where, which threads and which lines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HazardReport {
    /// The kind; in JSON a few words, e.g. `data race`.
    pub kind: ReportKind,
    /// Array and element, e.g. `As[3][17]`; or a register, or a barrier.
    pub place: String,
    /// The threads: none, one or two.
    pub threads: Vec<HazardThread>,
    /// How often the same lines met in this way.
    pub count: u64,
    /// All of it for people, with the kernel's lines; in JSON, the rule behind it, or what to do if that was tried.
    #[serde(rename = "remedy", serialize_with = "remedy")]
    pub diagnostic: Diagnostic,
}

fn remedy<S: Serializer>(diagnostic: &Diagnostic, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(diagnostic.advice())
}

/// One side of a hazard.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HazardThread {
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in its block.
    pub thread: [u32; 3],
    /// What it did: `writes`, `reads`, ...
    pub action: String,
    /// The file, relative to the workspace; `null` if the PTX has no line information.
    pub file: Option<String>,
    /// The line in the file, or in the PTX if there is no file.
    pub line: u32,
    /// Text of the line, or the instruction.
    pub text: String,
}

/// Hazards of one launch: one for each pair of source lines that meet, and none that follows from
/// another. In blocks of this size, races between two lanes of one warp come last, because the lanes usually run together.
pub fn hazards(found: Vec<simt::Hazard>, block: [u32; 3]) -> Vec<HazardReport> {
    let block = simt::Dim3::new(block[0], block[1], block[2]);
    // An unrolled loop has many instructions for one line.
    let mut merged: Vec<simt::Hazard> = Vec::new();
    for mut hazard in found {
        for party in &mut hazard.parties {
            party.location = places::told(std::mem::take(&mut party.location));
        }
        match merged.iter_mut().find(|known| is_like(known, &hazard)) {
            Some(known) => {
                let count = known.count + hazard.count;
                if known.is_within_warp(block) && !hazard.is_within_warp(block) {
                    *known = hazard;
                }
                known.count = count;
            }
            None => merged.push(hazard),
        }
    }
    let side = |party: &simt::Party| {
        HazardThread::at(&party.location, index(party.block), index(party.thread), party.action.to_string())
    };
    let report = |hazard: simt::Hazard| HazardReport {
        kind: ReportKind::Hazard(hazard.kind),
        place: hazard.place.to_string(),
        threads: hazard.parties.iter().map(side).collect(),
        count: hazard.count,
        diagnostic: diagnostic::hazard(&hazard, hazard.is_within_warp(block)),
    };
    let mut roots = roots(merged);
    roots.sort_by_key(|hazard| hazard.kind == simt::HazardKind::Race && hazard.is_within_warp(block));
    roots.into_iter().map(report).collect()
}

/// Whether two hazards differ only in threads and element. Without line information, instructions are compared by their text.
fn is_like(one: &simt::Hazard, other: &simt::Hazard) -> bool {
    let side = |party: &simt::Party| {
        let simt::Location { file, line, ptx_line, instruction, .. } = party.location.clone();
        let known = file.zip(line);
        let unknown = known.is_none().then_some((ptx_line, instruction));
        (party.action, known, unknown)
    };
    let is_beside = one.kind == other.kind && one.place.is_beside(&other.place);
    is_beside && one.parties.iter().map(side).eq(other.parties.iter().map(side))
}

/// A fault that ended a launch, in the form of a hazard.
pub fn fault(fault: &simt::Fault) -> HazardReport {
    let fault = &simt::Fault { location: places::told(fault.location.clone()), ..fault.clone() };
    let action = if fault.thread.is_some() { "stands" } else { "and all others stand" };
    let thread = fault.thread.map_or([0; 3], index);
    HazardReport {
        kind: ReportKind::Fault(fault_name(&fault.kind)),
        place: fault.kind.to_string().trim_end_matches(',').to_owned(),
        threads: vec![HazardThread::at(&fault.location, index(fault.block), thread, action.into())],
        count: 1,
        diagnostic: diagnostic::fault(fault),
    }
}

impl HazardThread {
    /// What a thread did at a place in the kernel.
    pub fn at(place: &simt::Location, block: [u32; 3], thread: [u32; 3], action: String) -> Self {
        let (file, line, text) = places::place(place);
        Self { block, thread, action, file, line, text }
    }
}

impl HazardReport {
    /// Whether it makes products wrong in a way that the product itself does not show.
    pub fn is_hidden_cause(&self) -> bool {
        match self.kind {
            ReportKind::Hazard(kind) => kind.is_hidden_cause(),
            ReportKind::Cause(_) => true,
            ReportKind::Fault(_) => false,
        }
    }

    /// Whether it may lead to unexpected values. Reading what was never set does not count: the values explain that better.
    pub fn leads_astray(&self) -> bool {
        self.is_hidden_cause() && self.kind != simt::HazardKind::UninitialisedShared
    }

    /// Several lines for people, without colours.
    pub fn text(&self) -> String {
        diagnostic::plain(&self.diagnostic)
    }
}
