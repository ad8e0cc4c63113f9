//! The root cause first: a hazard that follows from another one is left out. Once the cause is fixed, what remains is shown.

use simt::{Array, Hazard, HazardKind, Space};

/// The hazards that follow from none of the others, in their order.
pub fn roots(found: Vec<Hazard>) -> Vec<Hazard> {
    let is_cause = |other: usize, at: usize| other != at && explains(&found[other], &found[at], other < at);
    let follows = |at: usize| (0..found.len()).any(|other| is_cause(other, at));
    let keep: Vec<bool> = (0..found.len()).map(|at| !follows(at)).collect();
    found.into_iter().zip(keep).filter_map(|(hazard, keep)| keep.then_some(hazard)).collect()
}

/// Whether `other` follows from `cause`; `earlier` says that the cause was found first.
fn explains(cause: &Hazard, other: &Hazard, earlier: bool) -> bool {
    use HazardKind::{
        ExitBeforeBarrier, MismatchedBarriers, NeverWritten, Race, SkippedBarrier, UninitialisedShared, WrittenTwice,
    };
    let two_write = cause.parties.len() == 2 && cause.parties.iter().all(|party| party.action.writes());
    let is_beside = cause.place.is_beside(&other.place);
    let is_c = |array: &Array| array.name == "C" && array.space == Space::Global;
    let in_c = |hazard: &Hazard| hazard.place.array().is_some_and(is_c);
    match (cause.kind, other.kind) {
        // Threads that have left no longer load or store, and are missing at the next barrier too.
        (MismatchedBarriers | SkippedBarrier, ExitBeforeBarrier)
        | (MismatchedBarriers | SkippedBarrier | ExitBeforeBarrier, UninitialisedShared | NeverWritten) => true,
        (ExitBeforeBarrier, ExitBeforeBarrier) => {
            let left_at =
                |hazard: &Hazard| hazard.parties.get(1).map(|ended| (ended.location.file.clone(), ended.location.line));
            earlier && left_at(cause) == left_at(other)
        }
        // Two threads own one element: it is written twice, and another element is left to nobody.
        (Race, WrittenTwice | NeverWritten | UninitialisedShared) => two_write && is_beside,
        // The finding that names the threads explains more.
        (WrittenTwice, WrittenTwice) => two_write && is_beside && other.parties.is_empty(),
        (Race, Race) => earlier && two_write && in_c(cause) && in_c(other),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use simt::{Action, Dim3, Location, Party, Place};

    use super::*;

    /// The kind, the array or the barrier, and what each side does in which line.
    type Case = (String, String, Vec<(String, u32)>);

    #[derive(Deserialize)]
    struct Cases {
        hazards: BTreeMap<String, Case>,
        /// What was found, and which of it is kept.
        cases: Vec<[Vec<String>; 2]>,
    }

    fn hazard((kind, place, sides): &Case) -> Hazard {
        let kind = HazardKind::ALL.into_iter().find(|known| known.name() == kind).unwrap();
        let space = if place == "As" { Space::Shared } else { Space::Global };
        let array = Array { name: place.clone(), space };
        let place = match &place[..] {
            "barrier" => Place::Barrier(0),
            _ if sides.is_empty() => Place::Elements { array, first: vec![7], count: 1, of: 9 },
            _ => Place::Element { array, index: vec![4], bytes: 0 },
        };
        let all = [Action::Reads, Action::Writes, Action::Waits, Action::Ends];
        let party = |(action, line): &(String, u32)| {
            let action = all.into_iter().find(|known| known.to_string().starts_with(action)).unwrap();
            let first = Dim3::new(0, 0, 0);
            Party::new((first, first), action, Location { line: Some(*line), ..Location::default() })
        };
        Hazard::new(kind, place, sides.iter().map(party).collect())
    }

    #[test]
    fn what_follows_from_a_cause_is_left_out_and_nothing_else() {
        let all: Cases = serde_json::from_str(include_str!("causes.json")).unwrap();
        for names in all.cases {
            let [found, stay] =
                names.clone().map(|names| names.iter().map(|name| hazard(&all.hazards[name])).collect());
            assert_eq!(roots(found), stay, "{names:?}");
        }
    }
}
