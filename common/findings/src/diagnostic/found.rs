//! Diagnostics of what the simulator found: hazards of a launch, faults that ended one, limits that stopped one. Each says what was
//! seen, and the rule of CUDA that is behind it.

use std::path::Path;

use simt::{AccessKind, Action, Fault, FaultKind, Hazard, HazardKind, Limit, Location, Party, Place, Space};

use super::render::Diagnostic;
use super::texts::text;
use super::underline::Mark;
use crate::declarations::shared_extents;
use crate::element::{array_name, unmangled};
use crate::hazard_kind::fault_name;
use crate::layout::Field;
use crate::places::{self, index, triple, who};
use system::files::kind;
use system::grouped;

/// Words of CUDA C, and what stands for them in a kernel in Rust.
const IN_RUST: [(&str, &str); 2] = [("__syncthreads()", "sync_threads()"), ("__syncwarp()", "sync_warp()")];

/// A hazard with its lines and its rule; `one_warp` says that its two threads are lanes of one.
pub fn hazard(hazard: &Hazard, one_warp: bool) -> Diagnostic {
    let (kind, sides) = (hazard.kind, &hazard.parties[..]);
    let place = named(hazard);
    let name = place.array().map_or("", |array| &array.name);
    let mut shown = place.to_string().replace(name, unmangled(name));
    // A kernel in CUDA C has variables, and knows no register by its number.
    if matches!(place, Place::Register(_)) && sides.iter().any(|party| party.location.file.is_some()) {
        "a variable".clone_into(&mut shown);
    }
    let mark = |party: &Party| {
        let who = who(party.block, party.thread);
        let label = match party.action {
            Action::Reads | Action::Writes => format!("{who} {} {shown}", party.action),
            Action::Ends => format!("{who} ends here"),
            action => format!("{who} {action}"),
        };
        let element = array_name(&place).map(|_| place.clone());
        Mark { element, writes: party.action.writes(), ..Mark::at(&party.location, label) }
    };
    let mut notes = vec![];
    if hazard.count > 1 && !sides.is_empty() {
        use HazardKind::{DifferentBarriers, EndedBeforeBarrier, EndedLane, ExitBeforeBarrier, MismatchedBarriers};
        let of_one =
            [DifferentBarriers, EndedBeforeBarrier, EndedLane, ExitBeforeBarrier, MismatchedBarriers].contains(&kind);
        let pair = sides.len() > 1 && !of_one;
        let [did, one] = if pair { ["these two accesses met", "one pair"] } else { ["this happened", "the first one"] };
        notes.push(format!("{did} {} times; {one} is shown", grouped(hazard.count)));
    }
    if one_warp && kind == HazardKind::Race {
        notes.push("both threads are lanes of one warp, which usually run together, but nothing promises that".into());
    }
    let mut marks: Vec<Mark> = sides.iter().map(mark).collect();
    // Both accesses of a statement such as `C[i] += x` are shown.
    if let [one, other] = &mut marks[..] {
        other.second = one.spot == other.spot && one.writes == other.writes;
    }
    let [happens, rule] = text(&cause(hazard), &[]);
    Diagnostic {
        title: format!("{}: {}", kind.name(), what(hazard, &shown, &happens)),
        marks: with_calls(marks),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        rule: in_its_language(rule, sides.first().map(|side| &side.location)),
        warning: kind.is_warning(),
        ..Diagnostic::default()
    }
}

/// The place of a hazard: a byte of a shared array as the element that it is, if the file in which it was accessed declares the array.
fn named(hazard: &Hazard) -> Place {
    let (Place::Offset { array, bytes }, Some(first)) = (&hazard.place, hazard.parties.first()) else {
        return hazard.place.clone();
    };
    let text = places::lines_of(&first.location).join("\n");
    let known = shared_extents(&text, &[]).into_iter().find(|(name, _)| *name == array.name);
    let field = known.filter(|_| array.space == Space::Shared).map(|(root, of)| {
        let count = of.extents.iter().fold(1_u32, |count, &extent| count.saturating_mul(extent));
        Field { root, bytes: count.saturating_mul(of.element_bytes), extents: of.extents, ..Field::default() }
    });
    field.map_or_else(|| hazard.place.clone(), |field| field.element(*bytes as u32))
}

/// The name of what happened, in the list of texts.
fn cause(hazard: &Hazard) -> String {
    let updates = |side: &Party| side.action == Action::Updates;
    let name = match (hazard.kind, &hazard.parties[..]) {
        (HazardKind::Race, [a, b]) if updates(a) && updates(b) => "race of updates of one block",
        (HazardKind::Race, [a, b]) if updates(a) != updates(b) && a.block != b.block => {
            "race of an update with another block"
        }
        (HazardKind::Race, [a, b]) if updates(a) != updates(b) => "race of an update",
        (HazardKind::Race, [a, b]) if a.block != b.block => "race of two blocks",
        (HazardKind::CopyNotWaited, [copy, read]) if copy.thread != read.thread => "copy of another thread",
        (HazardKind::WrittenTwice, [_, _]) => "element written more than once, by two threads",
        (kind, _) => kind.name(),
    };
    name.to_owned()
}

/// What happens: the rest of the title, after the name of the kind.
fn what(hazard: &Hazard, shown: &str, happens: &str) -> String {
    let happens = match (hazard.kind, &hazard.parties[..]) {
        (HazardKind::ExitBeforeBarrier | HazardKind::EndedBeforeBarrier, [waits, _]) => {
            return format!("threads left the kernel before the barrier in {}", at(&waits.location));
        }
        (HazardKind::Race, [a, b]) if [a, b].iter().all(|side| side.action == Action::Updates) => {
            "is updated by two blocks, and these updates are atomic for the threads of one block only"
        }
        (HazardKind::Race, [a, b]) => match (a.block == b.block, a.action.writes() && b.action.writes()) {
            (true, true) => "is written by two threads, and no barrier orders them",
            (true, false) => "is written by one thread and read by another, and no barrier orders them",
            (false, true) => "is written by two blocks, and blocks never wait for each other",
            (false, false) => "is written by one block and read by another, and blocks never wait for each other",
        },
        (HazardKind::ProxyNotFenced, [_, Party { action: Action::Copies, .. }]) => {
            "has been stored, and bulk copies may not see it yet"
        }
        _ => happens,
    };
    format!("{shown} {happens}").trim_end().to_owned()
}

/// A place in words, for a sentence.
fn at(location: &Location) -> String {
    match location.line {
        Some(line) => format!("line {line}"),
        None => format!("line {} of the PTX", location.ptx_line),
    }
}

/// A rule in the language of the kernel that a place is in.
fn in_its_language(rule: String, place: Option<&Location>) -> String {
    let file = place.and_then(|place| place.file.as_deref()).unwrap_or_default();
    let words = if kind(Path::new(file)) == Some("rs") { &IN_RUST[..] } else { &[] };
    words.iter().fold(rule, |rule, (cuda, rust)| rule.replace(cuda, rust))
}

/// The marks, with the lines that call the functions in which they lie; one for each line and label.
pub fn with_calls(mut marks: Vec<Mark>) -> Vec<Mark> {
    let calls: Vec<Mark> = marks
        .iter()
        .flat_map(|mark| {
            mark.spot.at.calls.iter().map(|&(line, column)| {
                let label =
                    if places::is_ptx(&mark.spot.at, line) { "this is what it calls" } else { "it is called here" };
                let at =
                    Location { line: Some(line), column: Some(column), calls: Box::default(), ..mark.spot.at.clone() };
                Mark { aside: true, ..Mark::at(&at, label) }
            })
        })
        .collect();
    for call in calls {
        if marks.iter().all(|known| known.spot.at.line != call.spot.at.line) {
            marks.push(call);
        }
    }
    marks
}

/// A fault that ended a launch.
pub fn fault(fault: &Fault) -> Diagnostic {
    let access = match &fault.kind {
        FaultKind::OutOfBounds { place, access, bytes, .. } | FaultKind::Misaligned { place, access, bytes, .. } => {
            Some((place, *access, *bytes))
        }
        _ => None,
    };
    let block = || format!("block {}", triple(index(fault.block)));
    let who = fault.thread.map_or_else(block, |thread| who(fault.block, thread));
    let label = match (&fault.kind, access, fault.thread) {
        (FaultKind::Deadlock { .. }, _, None) => "waits here, and nothing can wake it",
        (_, _, None) => "stops here",
        (_, Some((_, access, bytes)), _) => &format!("{} {bytes} bytes here", does(access)),
        (FaultKind::DivergentBarrier { .. }, ..) => "does not come here with its warp",
        (FaultKind::MissingLanes { .. }, ..) => "executes this without all lanes it names",
        (FaultKind::Assert { .. }, ..) => "finds it false",
        _ => "stops here",
    };
    let writes = access.is_some_and(|(_, access, _)| !matches!(access, AccessKind::Load | AccessKind::CopySource));
    let element = access.map(|(place, ..)| place).filter(|place| place.array().is_some()).cloned();
    let mark = Mark { element, writes, ..Mark::at(&fault.location, format!("{who} {label}")) };
    let bytes = access.map_or(0, |(.., bytes)| bytes);
    let name = match &fault.kind {
        FaultKind::OutOfBounds { space: Space::Shared, .. } => "access out of bounds of shared memory",
        kind => fault_name(kind),
    };
    let [_, rule] = text(name, &[("bytes", bytes.to_string())]);
    Diagnostic {
        title: format!("fault of the kernel: {}", fault.kind.to_string().trim_end_matches(',')),
        marks: with_calls(vec![mark]),
        rule: in_its_language(rule, Some(&fault.location)),
        vague: matches!(fault.kind, FaultKind::OutOfBounds { space: Space::Global, .. }),
        ..Diagnostic::default()
    }
}

fn does(access: AccessKind) -> &'static str {
    match access {
        AccessKind::Load => "reads",
        AccessKind::Store => "writes",
        AccessKind::Atomic => "updates",
        AccessKind::CopySource => "copies",
        AccessKind::CopyDestination => "copies to shared memory",
    }
}

/// A limit that stopped a launch; `None` for a limit that has no place in the kernel.
pub fn limit(limit: &Limit) -> Option<Diagnostic> {
    let (name, limit, location) = match limit {
        Limit::Instructions { limit, location } => ("limit of instructions", *limit, location),
        Limit::Seconds { limit, location } => ("limit of seconds", *limit, location),
        _ => return None,
    };
    let [title, rule] = text(name, &[("limit", grouped(limit))]);
    let mark = Mark::at(location, "a warp was here when the limit was reached");
    Some(Diagnostic { title, marks: with_calls(vec![mark]), rule, ..Diagnostic::default() })
}

/// What to do about a call that the simulator cannot follow: a recursive one, or one of a function of this name in the PTX that
/// only a GPU's driver has.
pub fn call(function: &str, recursive: bool, location: &Location) -> String {
    // The name as the source has it: `sum_of` for `_Z6sum_ofPKfi`.
    let plain = function.strip_prefix("_Z").and_then(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest.get(digits..digits + rest[..digits].parse().unwrap_or(0)).filter(|name| !name.is_empty())
    });
    let name = plain.unwrap_or(function);
    let cause = match function {
        _ if recursive => "recursion",
        "malloc" | "free" => "memory of a kernel",
        _ if name.starts_with("__dp") => "function that is only declared",
        _ => "function that is not in the file",
    };
    let [_, rule] = text(cause, &[("line", at(location)), ("name", name.to_owned())]);
    rule
}

#[cfg(test)]
mod tests {
    use simt::{Array, Dim3};

    use super::*;

    fn race(sides: [(u32, u32, Action); 2]) -> Diagnostic {
        let array = Array { name: "As".into(), space: Space::Shared };
        let party = |(block, thread, action)| {
            let at = (Dim3::new(block, 0, 0), Dim3::new(thread, 0, 0));
            Party::new(at, action, Location { line: Some(3), ..Location::default() })
        };
        let place = Place::Element { array, index: vec![4], bytes: 0 };
        hazard(&Hazard::new(HazardKind::Race, place, sides.map(party).to_vec()), false)
    }

    /// Between blocks no barrier is spoken of as if it could help, and nobody is told what to change: that was not tried.
    #[test]
    fn a_race_has_the_rule_of_its_threads() {
        use Action::{Reads, Updates, Writes};
        for (sides, title, rule) in [
            ([(0, 0, Writes), (0, 1, Reads)], "no barrier orders them", "__syncthreads()"),
            ([(0, 0, Writes), (0, 1, Writes)], "is written by two threads", "__syncthreads()"),
            ([(0, 0, Writes), (1, 0, Reads)], "blocks never wait", "no barrier"),
            ([(0, 0, Updates), (1, 0, Updates)], "atomic for the threads of one block", "one block only"),
            ([(0, 0, Updates), (1, 0, Writes)], "is written by two blocks", "plain"),
            ([(0, 0, Updates), (0, 1, Writes)], "no barrier orders them", "plain"),
        ] {
            let found = race(sides);
            assert!(found.title.contains(title) && found.rule.contains(rule) && found.help.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn each_call_has_its_line_its_name_and_a_way_out() {
        let location = Location { file: Some("k.cu".into()), line: Some(7), ..Location::default() };
        for (function, recursive, words) in [
            ("_Z6sum_ofPKfi", true, ["line 7 calls sum_of() before sum_of() has returned", "write it as a loop"]),
            ("malloc", false, ["line 7 calls malloc()", "__shared__"]),
            ("free", false, ["or free()", "__shared__"]),
            ("_Z6__dp4aiii", false, ["line 7 calls __dp4a()", "sm_61_intrinsics.hpp"]),
            ("_Z3dotPKf", false, ["line 7 calls dot()", "__device__"]),
            ("_ZN4math3dotEv", false, ["calls _ZN4math3dotEv()", "not in the file"]),
            ("_Z9short", false, ["calls _Z9short()", "not in the file"]),
        ] {
            let said = call(function, recursive, &location);
            assert!(words.iter().all(|words| said.contains(words)), "{said}");
        }
    }
}
