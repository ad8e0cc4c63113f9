//! Hazards and faults in a report: each once for each pair of source lines, and none that follows from another.

use serde::Serialize;

use super::causes::roots;
use crate::code::places::{self, index};
use crate::findings::diagnostic::{self, Diagnostic};
use crate::findings::hazard_kind::{FaultClass, Mistake, ReportKind};

/// A hazard: what, where, which threads, which lines, and what to do about it.
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
    /// What to do, in a sentence.
    pub remedy: String,
    /// All of it for people, with the kernel's lines.
    #[serde(skip)]
    pub diagnostic: Diagnostic,
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

/// Hazards of one launch, in the course's terms: one for each pair of source lines that meet, with a representative,
/// and only those from which others follow. In blocks of this size, races between two lanes of one warp come last: the lanes
/// usually run together.
pub fn hazards(found: Vec<simt::Hazard>, block: [u32; 3]) -> Vec<HazardReport> {
    let [x, y, z] = block;
    let block = simt::Dim3::new(x, y, z);
    // An unrolled loop has many instructions for one line.
    let mut merged: Vec<(simt::Hazard, Vec<HazardThread>)> = Vec::new();
    for hazard in found {
        let threads: Vec<HazardThread> = hazard.parties.iter().map(side).collect();
        match merged.iter_mut().find(|(known, sides)| is_like(known, sides, &hazard, &threads)) {
            Some((known, known_threads)) => {
                let count = known.count + hazard.count;
                if known.is_within_warp(block) && !hazard.is_within_warp(block) {
                    (*known, *known_threads) = (hazard, threads);
                }
                known.count = count;
            }
            None => merged.push((hazard, threads)),
        }
    }
    let report = |(hazard, threads): (simt::Hazard, Vec<HazardThread>)| {
        let diagnostic = diagnostic::hazard(&hazard, hazard.is_within_warp(block));
        HazardReport {
            kind: ReportKind::Hazard(hazard.kind),
            place: hazard.place.to_string(),
            threads,
            count: hazard.count,
            remedy: diagnostic.help.clone(),
            diagnostic,
        }
    };
    let mut roots = roots(merged);
    roots.sort_by_key(|(hazard, _)| hazard.kind == simt::HazardKind::Race && hazard.is_within_warp(block));
    roots.into_iter().map(report).collect()
}

fn side(party: &simt::Party) -> HazardThread {
    let (file, line, text) = places::place(&party.location);
    let (block, thread) = (index(party.block), index(party.thread));
    HazardThread { block, thread, action: party.action.to_string(), file, line, text }
}

/// Whether two hazards are the same but for threads and element.
fn is_like(one: &simt::Hazard, sides: &[HazardThread], other: &simt::Hazard, others: &[HazardThread]) -> bool {
    let actions = |hazard: &simt::Hazard| hazard.parties.iter().map(|party| party.action).collect::<Vec<_>>();
    let line = |thread: &HazardThread| (thread.file.clone(), thread.line);
    one.kind == other.kind
        && one.place.is_beside(&other.place)
        && actions(one) == actions(other)
        && sides.iter().map(line).eq(others.iter().map(line))
        // Without lines all one can tell instructions by is their text.
        && sides.iter().zip(others).all(|(a, b)| a.file.is_some() || a.text == b.text)
}

/// A fault that ended a launch, in the form of a hazard.
pub fn fault(fault: &simt::Fault) -> HazardReport {
    let (file, line, text) = places::place(&fault.location);
    let at = HazardThread {
        block: index(fault.block),
        thread: fault.thread.map_or([0; 3], index),
        action: if fault.thread.is_some() { "stands".into() } else { "and all others stand".into() },
        file,
        line,
        text,
    };
    let diagnostic = diagnostic::fault(fault);
    HazardReport {
        kind: ReportKind::Fault(FaultClass::of(&fault.kind)),
        place: fault.kind.to_string().trim_end_matches(',').to_owned(),
        threads: vec![at],
        count: 1,
        remedy: diagnostic.help.clone(),
        diagnostic,
    }
}

impl HazardReport {
    /// Whether it only warns: a run that has nothing but warnings has found nothing wrong.
    pub fn is_warning(&self) -> bool {
        self.kind.is_warning()
    }

    /// Whether it is a cause of wrong products that a look at the product does not show.
    pub fn is_hidden_cause(&self) -> bool {
        match self.kind {
            ReportKind::Hazard(kind) => kind.is_hidden_cause(),
            ReportKind::Product(_) => true,
            ReportKind::Fault(_) => false,
        }
    }

    /// Whether values may follow from it that nobody can expect: from everything but what nobody has set, which values tell better.
    pub fn leads_astray(&self) -> bool {
        self.is_hidden_cause() && self.kind != simt::HazardKind::UninitialisedShared
    }

    /// Whether it is a reason of a wrong product that may itself follow from a hazard.
    pub fn may_follow(&self) -> bool {
        matches!(self.kind, ReportKind::Product(mistake) if mistake.may_follow())
    }

    /// Whether this reason of a wrong product says more than the hazards that were found beside it: not where it follows from
    /// one of them.
    pub fn leads(&self, hazards: &[Self]) -> bool {
        use simt::HazardKind::{ExitBeforeBarrier, MismatchedBarriers, WrongArray};
        // Whoever misses a barrier is a step ahead from there on, and multiplies tiles that do not belong together.
        let first =
            |hazard: &Self| [WrongArray, ExitBeforeBarrier, MismatchedBarriers].iter().any(|kind| hazard.kind == *kind);
        let fault = |hazard: &Self| matches!(hazard.kind, ReportKind::Fault(_));
        let zero = self.kind == ReportKind::Product(Mistake::Zero);
        if hazards.iter().any(|hazard| fault(hazard) && (!hazard.diagnostic.vague || self.may_follow() && !zero)) {
            return false;
        }
        // What nobody has set is told better by what should be there.
        let unset = self.kind == ReportKind::Product(Mistake::Unset);
        let causes = |hazard: &Self| if unset { hazard.leads_astray() } else { hazard.is_hidden_cause() };
        let follows = self.may_follow() && hazards.iter().any(causes);
        !follows && !hazards.iter().any(first)
    }

    /// Several lines for people, without colours.
    pub fn text(&self) -> String {
        diagnostic::plain(&self.diagnostic)
    }
}
