//! Diagnostics of what the simulator found: hazards of a launch, faults that ended one, limits that stopped one.

use simt::{AccessKind, Action, Fault, FaultKind, Hazard, HazardKind, Limit, Party, Place, Space};

use super::around::{
    LOOPS, Part, READ, STORE, around, guards, lines_with, of_words, pointers, set_by_line, set_by_thread, unchanged,
};
use super::marks::{
    add, at_line, at_lines, conditions, declared_array, set_by, sets, stores_of, with_calls, without_value,
};
use super::race::{self, at, code_at};
use super::render::Diagnostic;
use super::situation::{Role, passed_by};
use super::source::Source;
use super::texts::{help, text};
use super::underline::{Mark, Use, array_name, uses};
use super::{indices, remedy};
use crate::basics::units::grouped;
use crate::code::places::{index, triple, who};

/// A hazard with its lines and its remedy; `one_warp` says that its two threads are lanes of one.
pub fn hazard(hazard: &Hazard, one_warp: bool) -> Diagnostic {
    let (kind, sides) = (hazard.kind, &hazard.parties[..]);
    let (role, array) = (Role::of(&hazard.place), array_name(&hazard.place));
    let (shown, called) = shown(hazard);
    // What the first line calls the place may mean something else in the other one.
    let plain = shown.rsplit_once("(which is ").map_or(&shown[..], |(_, plain)| plain.trim_end_matches(')'));
    let mark = |party: &Party| {
        let who = who(party.block, party.thread);
        let is_first = party.location.line == sides[0].location.line;
        let shown = if is_first { &shown } else { plain };
        let label = match party.action {
            Action::Reads | Action::Writes => format!("{who} {} {shown}", party.action),
            Action::Ends => format!("{who} ends here"),
            action => format!("{who} {action}"),
        };
        let element = array.is_some().then(|| called.clone());
        Mark { location: party.location.clone(), element, writes: party.action.writes(), label, ..Mark::default() }
    };
    let mut notes = vec![];
    if hazard.count > 1 && !sides.is_empty() {
        let pair = sides.len() > 1 && !is_barrier(kind) && kind != HazardKind::EndedLane;
        let [did, one] = if pair { ["these two accesses met", "one pair"] } else { ["this happened", "the first one"] };
        notes.push(format!("{did} {} times; {one} is shown", grouped(hazard.count)));
    }
    if one_warp && kind == HazardKind::Race && role != Role::Output {
        notes.push("both threads are lanes of one warp, which usually run together, but nothing promises that".into());
    }
    let mut marks: Vec<Mark> = sides.iter().map(mark).collect();
    // If an element has two owners, its index is wrong.
    let owners = sides.iter().all(|party| party.action == Action::Writes);
    if let Some(first) = sides.first()
        && owners
        && matches!(role, Role::Output | Role::Shared)
    {
        // Two lines may reach into each other's arrays. In one line, threads have the same place.
        let one_line = sides.iter().all(|side| side.location.line == first.location.line);
        let one_block = sides.iter().all(|side| side.block == first.block);
        let by_thread = if one_block && one_line { set_by_thread(&first.location) } else { vec![] };
        marks.extend(sets(&first.location, by_thread));
        for side in sides {
            add(&mut marks, set_by(&side.location, STORE));
        }
    }
    match (kind, sides, array) {
        (HazardKind::WrongArray, [access], _) => {
            add(&mut marks, set_by(&access.location, Part { stores: access.action.writes(), ..READ }));
            let loops = around(&access.location, LOOPS);
            add(&mut marks, at_lines(&access.location, loops, "it depends on this"));
            let source = Source::of(&access.location);
            let words = source.words(&source.on_lines(access.location.line.unwrap_or_default(), 1)).iter();
            add(&mut marks, words.filter_map(|word| declared_array(&access.location, &word.text)));
        }
        // The lines that store to the array show which of its words have no value.
        (HazardKind::UninitialisedShared, [read], Some(name)) => marks.extend(stores_of(&read.location, name)),
        (HazardKind::ExitBeforeBarrier, [waits, _], _) => {
            let barrier = passed_by(&waits.location).map(|(barrier, _)| barrier);
            let label = "not every thread comes to this barrier";
            add(&mut marks, barrier.map(|line| at_line(&waits.location, line, label.into())));
        }
        (HazardKind::CopyOverwritten, [copy, _], _) => add(&mut marks, set_by(&copy.location, READ)),
        (HazardKind::CopyNotWaited, [_, read], _) => {
            let waits = lines_with(&read.location, |word| word.contains("wait")).into_iter().take(2);
            add(&mut marks, at_lines(&read.location, waits, "this waits for copies"));
        }
        (HazardKind::UnsetRegister, [read], _) => add(&mut marks, without_value(&read.location)),
        _ => {}
    }
    let laid_out = match (kind, sides, array) {
        (HazardKind::Race, [a, b], Some(name)) => race::wrong_stride(a, b, name, role).map(|_| name.to_owned()),
        _ => None,
    };
    // With several buffers, the race may come from an access to the wrong one.
    let for_tile = kind == HazardKind::Race && role == Role::Shared && !owners;
    let buffers = matches!(sides, [a, b] if for_tile && race::has_buffers(a, b, &hazard.place));
    for side in sides.iter().filter(|_| buffers) {
        let part = Part { stores: side.action.writes(), array: array.unwrap_or_default(), ..READ };
        add(&mut marks, set_by(&side.location, part));
    }
    let or = if buffers { help("race for a tile of several", &[]) } else { String::new() };
    Diagnostic {
        title: format!("{}: {}", kind.name(), what(hazard, &shown, role == Role::Output)),
        laid_out,
        marks: with_calls(marks),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        help: remedy::hazard(hazard) + &or,
        warning: kind.is_warning(),
        ..Diagnostic::default()
    }
}

fn is_barrier(kind: HazardKind) -> bool {
    use HazardKind::{DifferentBarriers, EndedBeforeBarrier, ExitBeforeBarrier, MismatchedBarriers};
    matches!(kind, DifferentBarriers | EndedBeforeBarrier | ExitBeforeBarrier | MismatchedBarriers)
}

/// The name of a hazard's place, in words and in the kernel's lines. In shared memory whose size the launch gives, it is the name
/// in the first line, if that is clear, and otherwise an element of the whole. A member of a structure has the name in the line
/// that sets it.
fn shown(hazard: &Hazard) -> (String, Place) {
    let plain = (hazard.place.to_string(), hazard.place.clone());
    let (Place::Offset { array, bytes }, Some(first)) = (&hazard.place, hazard.parties.first()) else { return plain };
    if array.space != Space::Shared {
        return plain;
    }
    let named = |name: &str, shown: String| {
        let array = simt::Array { name: name.to_owned(), space: Space::Shared };
        (shown, Place::Element { array, index: vec![], bytes: 0 })
    };
    if !of_words(&first.location, &array.name) {
        let writes = hazard.parties.iter().filter(|party| party.action == Action::Writes);
        let mut sets = writes.filter_map(|party| set_by_line(&party.location));
        let member = sets.find(|set| set.root() == array.name && set.path != array.name);
        return member.map_or(plain.clone(), |set| named(set.last(), format!("{} ({})", set.path, plain.0)));
    }
    let element = format!("{}[{}]", array.name, bytes / 4);
    let names = pointers(&first.location, &array.name);
    let source = Source::of(&first.location);
    let suits = |found: &Use| if first.action == Action::Writes { found.writes } else { found.reads };
    let used = |name: &String| {
        let used = uses(&first.location, name).into_iter().find(suits)?;
        Some((name.clone(), source.written(&used.tokens).to_owned()))
    };
    match &names.iter().filter_map(used).collect::<Vec<_>>()[..] {
        [(name, text)] => named(name, format!("{text} (which is {element})")),
        _ => (element, plain.1),
    }
}

/// What happens: the rest of the title, after the name of the kind.
fn what(hazard: &Hazard, shown: &str, output: bool) -> String {
    let happens = match (hazard.kind, &hazard.parties[..]) {
        (HazardKind::ExitBeforeBarrier | HazardKind::EndedBeforeBarrier, [waits, ended]) => {
            let returns = code_at(&ended.location).contains("return");
            let missed = if returns { "threads left the kernel before" } else { "threads never came to" };
            return format!("{missed} the barrier in {}", at(&waits.location));
        }
        (HazardKind::Race, [a, b]) if [a, b].iter().all(|side| side.action == Action::Updates) => {
            "is updated by two blocks, and these updates are atomic for the threads of one block only"
        }
        (HazardKind::Race, [a, b]) => match (a.block == b.block, a.action.writes() && b.action.writes()) {
            (true, true) if output => "is written by two threads, and only one of them should own it",
            (false, true) if output => "is written by threads of two blocks, and only one of them should own it",
            (true, true) => "is written by two threads, and no barrier orders them",
            (true, false) => "is written by one thread and read by another, and no barrier orders them",
            (false, true) => "is written by two blocks, and blocks never wait for each other",
            (false, false) => "is written by one block and read by another, and blocks never wait for each other",
        },
        (HazardKind::ProxyNotFenced, [_, Party { action: Action::Copies, .. }]) => {
            "has been stored, and bulk copies may not see it yet"
        }
        _ => {
            let [happens, _] = text(remedy::text_of(hazard), &[]);
            return format!("{shown} {happens}").trim_end().to_owned();
        }
    };
    format!("{shown} {happens}")
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
    let place = access.map(|(place, ..)| place).filter(|place| place.array().is_some());
    let array = place.and_then(array_name);
    let (location, label) = (fault.location.clone(), format!("{who} {label}"));
    let mut marks = vec![Mark { location, element: place.cloned(), writes, label, ..Mark::default() }];
    let strides = array.is_some_and(|array| indices::of_product(&fault.location, array).is_some());
    let bounds = access.and_then(|_| indices::bounds(&fault.location));
    match &bounds {
        Some(bound) => marks.push(at_line(&fault.location, bound.line, "this lets it".into())),
        None if access.is_some() => {
            if code_at(&fault.location).contains('?') {
                marks.extend(set_by(&fault.location, Part { condition: true, ..READ }));
            }
            let part = Part { stores: writes, array: array.unwrap_or_default(), ..READ };
            marks.extend(set_by(&fault.location, part));
            let loops = around(&fault.location, LOOPS);
            let mut under = if place.is_some() && !strides { guards(&fault.location) } else { vec![] };
            under.extend(loops.first().filter(|_| !strides));
            add(&mut marks, conditions(&fault.location, under));
            if matches!(place, Some(Place::Outside { index: ..0, .. })) {
                add(&mut marks, at_lines(&fault.location, loops, "it depends on this"));
            }
        }
        None => {}
    }
    if let Some(simt::Array { name, space: Space::Shared }) = place.and_then(Place::array) {
        add(&mut marks, declared_array(&fault.location, name));
    }
    let past_global = matches!(fault.kind, FaultKind::OutOfBounds { space: Space::Global, .. });
    let vague = past_global && bounds.is_none() && !strides;
    // A store to A or B is wrong, whatever their layout is.
    let stray = writes && place.is_some_and(|place| Role::of(place) == Role::Input);
    let by_layout = bounds.as_ref().map_or(past_global && (strides || !stray), |bound| bound.of_other_side);
    let has_bytes = || marks.iter().any(|mark| code_at(&mark.location).contains("sizeof"));
    let of_bytes = array.filter(|_| has_bytes()).map(|array| [("array", array.to_owned())]);
    let global = place.and_then(Place::array).filter(|array| by_layout && array.space == Space::Global);
    Diagnostic {
        title: format!("fault of the kernel: {}", fault.kind.to_string().trim_end_matches(',')),
        marks: with_calls(marks),
        laid_out: global.map(|array| array.name.clone()),
        help: bounds
            .map(|bound| bound.help)
            .or_else(|| Some(help("bytes in place of elements", &of_bytes?)))
            .or_else(|| access.and_then(|_| indices::of_vector(&fault.location)))
            .unwrap_or_else(|| remedy::fault(&fault.kind, &fault.location)),
        vague,
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
    let [title, mut help] = text(name, &[("limit", grouped(limit))]);
    if code_at(location).contains(">= 0") {
        help += &self::help("counter without a sign", &[]);
    }
    let label = "a warp was here when the limit was reached".into();
    let mut marks = vec![Mark { location: location.clone(), label, ..Mark::default() }];
    let loops = around(location, LOOPS);
    if let Some((name, line)) = unchanged(location) {
        add(&mut marks, [at_line(location, line, format!("nothing in this loop changes `{name}`"))]);
        help = self::help("loop whose condition never changes", &[("name", name), ("line", line.to_string())]);
    }
    add(&mut marks, at_lines(location, loops.iter().copied(), "it is in this loop"));
    for line in loops {
        add(&mut marks, set_by(&at_line(location, line, String::new()).location, READ));
    }
    Some(Diagnostic { title, marks: with_calls(marks), help, ..Diagnostic::default() })
}
