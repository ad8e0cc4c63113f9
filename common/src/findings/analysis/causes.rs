//! The root cause first: a hazard that follows from another one is left out. Once the cause is fixed, what remains is shown.

use simt::{Hazard, HazardKind, Place, Space};

/// The hazards that follow from none of the others, in their order.
pub fn roots(found: Vec<Hazard>) -> Vec<Hazard> {
    let follows = |at: usize| {
        let mut others = found.iter().enumerate().filter(|&(other, _)| other != at);
        others.any(|(other, cause)| explains(cause, &found[at], other < at))
    };
    let keep: Vec<bool> = (0..found.len()).map(|at| !follows(at)).collect();
    found.into_iter().zip(keep).filter_map(|(hazard, keep)| keep.then_some(hazard)).collect()
}

/// Whether `other` follows from `cause`; `earlier` says that the cause was found first.
fn explains(cause: &Hazard, other: &Hazard, earlier: bool) -> bool {
    use HazardKind::{ExitBeforeBarrier, MismatchedBarriers, NeverWritten, Race, UninitialisedShared, WrittenTwice};
    match (cause.kind, other.kind) {
        // Threads that have left load and store nothing any more, and are missing at the next barrier too.
        (MismatchedBarriers, ExitBeforeBarrier)
        | (MismatchedBarriers | ExitBeforeBarrier, UninitialisedShared | NeverWritten) => true,
        (ExitBeforeBarrier, ExitBeforeBarrier) => earlier && left_at(cause) == left_at(other),
        // Two threads own one element: it is written twice, and another element is left to nobody.
        (Race, WrittenTwice | NeverWritten) => two_write(cause) && cause.place.is_beside(&other.place),
        // The one that names the threads says it better.
        (WrittenTwice, WrittenTwice) => {
            two_write(cause) && other.parties.is_empty() && cause.place.is_beside(&other.place)
        }
        (Race, Race) => earlier && two_write(cause) && [cause, other].iter().all(|race| in_c(&race.place)),
        _ => false,
    }
}

fn left_at(hazard: &Hazard) -> Option<(&Option<String>, Option<u32>)> {
    hazard.parties.get(1).map(|ended| (&ended.location.file, ended.location.line))
}

fn two_write(hazard: &Hazard) -> bool {
    hazard.parties.len() == 2 && hazard.parties.iter().all(|party| party.action.writes())
}

fn in_c(place: &Place) -> bool {
    place.array().is_some_and(|array| array.name == "C" && array.space == Space::Global)
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::{Action, Array, Dim3, Location, Party};

    fn hazard(kind: HazardKind, place: Place, sides: &[(Action, u32)]) -> Hazard {
        let party = |&(action, line): &(Action, u32)| Party {
            block: Dim3::new(0, 0, 0),
            thread: Dim3::new(0, 0, 0),
            action,
            location: Location { line: Some(line), ..Location::default() },
        };
        Hazard { kind, place, parties: sides.iter().map(party).collect(), count: 1, time: None }
    }

    fn element(name: &str, space: Space) -> Place {
        Place::Element { array: Array { name: name.into(), space }, index: vec![4], bytes: 0 }
    }

    #[test]
    fn what_follows_from_a_cause_is_left_out_and_nothing_else() {
        use HazardKind::{
            DifferentBarriers, ExitBeforeBarrier, MismatchedBarriers, NeverWritten, Race, UninitialisedShared,
            WrittenTwice,
        };
        let (waits, ended, reads, writes) = (Action::Waits, Action::Ends, Action::Reads, Action::Writes);
        let barrier = || Place::Barrier(0);
        let exit = |line, end| hazard(ExitBeforeBarrier, barrier(), &[(waits, line), (ended, end)]);
        let met = hazard(MismatchedBarriers, barrier(), &[(waits, 3), (waits, 5)]);
        let apart = hazard(DifferentBarriers, barrier(), &[(waits, 3), (waits, 5)]);
        let (in_as, in_c) = (|| element("As", Space::Shared), || element("C", Space::Global));
        let unset = hazard(UninitialisedShared, in_as(), &[(reads, 7)]);
        let shared = hazard(Race, in_as(), &[(writes, 4), (reads, 7)]);
        let owners = hazard(Race, in_c(), &[(writes, 9), (writes, 9)]);
        let same = hazard(WrittenTwice, in_c(), &[(writes, 9), (writes, 9)]);
        let read = hazard(Race, in_c(), &[(writes, 9), (reads, 9)]);
        let elements = |name: &str| {
            let array = Array { name: name.into(), space: Space::Global };
            Place::Elements { array, first: vec![7], count: 1, of: 9 }
        };
        let twice = |array| hazard(WrittenTwice, elements(array), &[]);
        let never = |array| hazard(NeverWritten, elements(array), &[]);
        // What was found, and the places of what stays.
        let cases: [(Vec<Hazard>, &[usize]); 15] = [
            (vec![exit(5, 2), apart.clone()], &[0, 1]),
            (vec![unset.clone(), apart], &[0, 1]),
            (vec![exit(5, 2), exit(8, 2), unset.clone()], &[0]),
            (vec![exit(5, 2), exit(5, 3)], &[0, 1]),
            (vec![met.clone(), exit(5, 2), unset.clone()], &[0]),
            (vec![unset.clone(), shared.clone()], &[0, 1]),
            (vec![exit(5, 2), shared.clone(), never("C")], &[0, 1]),
            (vec![shared.clone(), shared], &[0, 1]),
            (vec![owners.clone(), owners.clone(), read.clone()], &[0]),
            (vec![owners.clone(), twice("C"), never("C")], &[0]),
            (vec![owners.clone(), twice("D"), never("D")], &[0, 1, 2]),
            (vec![never("C"), same.clone(), twice("C")], &[0, 1]),
            (vec![owners, same], &[0]),
            (vec![read, twice("C"), never("C")], &[0, 1, 2]),
            (vec![twice("C"), never("C")], &[0, 1]),
        ];
        for (found, stay) in cases {
            let expected: Vec<Hazard> = stay.iter().map(|&at| found[at].clone()).collect();
            assert_eq!(roots(found), expected);
        }
    }
}
