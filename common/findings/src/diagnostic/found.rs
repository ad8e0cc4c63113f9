//! Diagnostics of what the simulator found: hazards of a launch, faults that ended one, limits that stopped one.

use simt::{AccessKind, Action, Fault, FaultKind, Hazard, HazardKind, Limit, Party, Place, Space};

use super::around::{LOOPS, Part, READ, STORE};
use super::marks::{add, with_calls};
use super::race::{self, at};
use super::remedy;
use super::render::Diagnostic;
use super::situation::{Role, passed_by};
use super::source::Set;
use super::spot::Spot;
use super::texts::{help, text};
use super::underline::{Mark, Use, array_name, element_of, unmangled};
use crate::places::{index, triple, who};
use system::grouped;

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
        Mark { spot: Spot::of(&party.location), element, writes: party.action.writes(), label, ..Mark::default() }
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
    if one_warp && kind == HazardKind::Race && role != Role::Output {
        notes.push("both threads are lanes of one warp, which usually run together, but nothing promises that".into());
    }
    let mut marks: Vec<Mark> = sides.iter().map(mark).collect();
    let spots: Vec<Spot> = marks.iter().map(|mark| mark.spot.clone()).collect();
    // If an element has two owners, its index is wrong.
    let owners = sides.iter().all(|party| party.action == Action::Writes);
    if let Some(first) = sides.first()
        && owners
        && matches!(role, Role::Output | Role::Shared)
    {
        // Two lines may reach into each other's arrays. In one line, threads have the same place.
        let one_line = sides.iter().all(|side| side.location.line == first.location.line);
        let one_block = sides.iter().all(|side| side.block == first.block);
        marks.extend(spots[0].marks_of(if one_block && one_line { spots[0].set_by_thread() } else { vec![] }));
        for spot in &spots {
            add(&mut marks, spot.set_by(STORE));
            // A loop that takes one turn too many comes to the elements of another thread, and so does one that a condition lets through.
            if role == Role::Output {
                add(&mut marks, spot.depends(LOOPS));
                let heads = spot.guards().into_iter().filter_map(|line| spot.on_line(line).statement());
                let returned = heads.flat_map(|head| spot.returns(head)).map(|(name, line)| (0, name, line));
                add(&mut marks, spot.marks_of(returned.collect()));
            }
        }
    }
    match (kind, &spots[..], array) {
        (HazardKind::WrongArray, [access], _) => {
            add(&mut marks, access.set_by(Part { stores: sides[0].action.writes(), ..READ }));
            add(&mut marks, access.depends(LOOPS));
            add(&mut marks, access.arrays().iter().filter_map(|name| access.declared_array(name)));
        }
        // The lines that store to the array show which of its words have no value.
        (HazardKind::UninitialisedShared, [read], Some(name)) => {
            marks.extend(read.stores_of(name));
            add(&mut marks, read.set_by(Part { array: name, ..READ }));
        }
        (HazardKind::ExitBeforeBarrier, [waits, _], _) => {
            let barrier = passed_by(waits).map(|(barrier, _)| barrier);
            add(&mut marks, waits.at_lines(barrier, "not every thread comes to this barrier"));
        }
        (HazardKind::CopyOverwritten, [copy, _], Some(name)) if remedy::copied_twice(hazard) => {
            add(&mut marks, copy.set_by(Part { array: name, ..STORE }));
        }
        (HazardKind::CopyOverwritten, [copy, _], _) => add(&mut marks, copy.set_by(READ)),
        (HazardKind::CopyNotWaited, [_, read], _) => {
            let waits = read.lines_with(|word| word.contains("wait")).into_iter().take(2);
            add(&mut marks, read.at_lines(waits, "this waits for copies"));
        }
        (HazardKind::Race, [first, _], Some(name)) if sides.iter().all(|side| side.action != Action::Updates) => {
            add(&mut marks, first.shared_by_threads(name).map(|(_, declared)| declared));
        }
        (HazardKind::UnsetRegister, [read], _) => {
            add(&mut marks, read.without_value());
            add(&mut marks, read.depends(LOOPS));
        }
        _ => {}
    }
    let laid_out = match (kind, sides, array) {
        (HazardKind::Race, [a, b], Some(name)) => race::wrong_stride(a, b, name, role).map(|_| name.to_owned()),
        _ => None,
    };
    // With several buffers, the race may come from an access to the wrong one.
    let for_tile = kind == HazardKind::Race && role == Role::Shared && !owners;
    let buffers = matches!(sides, [a, b] if for_tile && race::has_buffers(a, b, &hazard.place));
    for (side, spot) in sides.iter().zip(&spots).filter(|_| buffers) {
        let part = Part { stores: side.action.writes(), array: array.unwrap_or_default(), ..READ };
        add(&mut marks, spot.set_by(part));
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

/// The name of a hazard's place, in words and in the kernel's lines. In shared memory whose size the launch gives, it is the name
/// in the first line, if that is clear, and otherwise an element of the whole. A member of a structure has the name in the line
/// that sets it.
fn shown(hazard: &Hazard) -> (String, Place) {
    let name = hazard.place.array().map_or("", |array| &array.name);
    let plain = (hazard.place.to_string().replace(name, unmangled(name)), hazard.place.clone());
    // A kernel in CUDA C has variables, and knows no register by its number.
    if matches!(&hazard.place, Place::Register(_)) && hazard.parties.iter().any(|party| party.location.file.is_some()) {
        return ("a variable".to_owned(), hazard.place.clone());
    }
    let (Place::Offset { array, bytes }, Some(first)) = (&hazard.place, hazard.parties.first()) else { return plain };
    if array.space != Space::Shared {
        return plain;
    }
    let named = |name: &str, shown: String| (shown, element_of(name, Space::Shared, vec![]));
    let spot = Spot::of(&first.location);
    if !spot.of_words(&array.name) {
        let writes = hazard.parties.iter().filter(|party| party.action == Action::Writes);
        let mut sets = writes.filter_map(|party| Spot::of(&party.location).set_by_line());
        let member = sets.find(|set| set.root() == array.name && set.path != array.name);
        return member.map_or(plain.clone(), |set| named(set.last(), format!("{} ({})", set.path, plain.0)));
    }
    let element = format!("{}[{}]", array.name, bytes / 4);
    let names = spot.pointers(&array.name);
    let suits = |found: &Use| if first.action == Action::Writes { found.writes } else { found.reads };
    let used = |name: &String| {
        let used = spot.accesses(name).into_iter().find(suits)?;
        Some((name.clone(), spot.written(&used.tokens).to_owned()))
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
            let returns = Spot::of(&ended.location).code().contains("return");
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
    let (spot, label) = (&Spot::of(&fault.location), format!("{who} {label}"));
    let mut marks = vec![Mark { spot: spot.clone(), element: place.cloned(), writes, label, ..Mark::default() }];
    let strides = array.is_some_and(|array| spot.of_product(array).is_some());
    let bounds = access.and_then(|_| spot.bounds());
    match &bounds {
        Some(bound) => marks.push(spot.at_line(bound.line, "this lets it")),
        None if access.is_some() => {
            if spot.code().contains('?') {
                marks.extend(spot.set_by(Part { condition: true, ..READ }));
            }
            let part = Part { stores: writes, array: array.unwrap_or_default(), ..READ };
            marks.extend(spot.set_by(part));
            let loops = spot.around(LOOPS);
            let mut under = if place.is_some() && !strides { spot.guards() } else { vec![] };
            // Each loop counts one index of a shared array.
            let is_shared = place.and_then(Place::array).is_some_and(|array| array.space == Space::Shared);
            let counts = |line: u32| {
                let is_it = |set: &Set| set.line == line && set.declares && spot.has_word(|word| word == set.path);
                loops.first() == Some(&line) || is_shared && spot.sets().iter().any(is_it)
            };
            under.extend(loops.iter().copied().filter(|line| !strides && counts(*line)));
            add(&mut marks, spot.conditions(under));
            if matches!(place, Some(Place::Outside { index: ..0, .. })) {
                add(&mut marks, spot.at_lines(loops, "it depends on this"));
            }
        }
        None => {}
    }
    if let Some(simt::Array { name, space: Space::Shared }) = place.and_then(Place::array) {
        add(&mut marks, spot.left(Some(name)).and_then(|name| spot.declared_array(&name)));
    }
    let past_global = matches!(fault.kind, FaultKind::OutOfBounds { space: Space::Global, .. });
    let vague = past_global && bounds.is_none() && !strides;
    // A store to A or B is wrong, whatever their layout is.
    let stray = writes && place.is_some_and(|place| Role::of(place) == Role::Input);
    let by_layout = bounds.as_ref().map_or(past_global && (strides || !stray), |bound| bound.of_other_side);
    let has_bytes = || marks.iter().any(|mark| mark.spot.code().contains("sizeof"));
    let of_bytes = array.filter(|_| has_bytes()).map(|array| [("array", array.to_owned())]);
    let global = place.and_then(Place::array).filter(|array| by_layout && array.space == Space::Global);
    Diagnostic {
        title: format!("fault of the kernel: {}", fault.kind.to_string().trim_end_matches(',')),
        marks: with_calls(marks),
        laid_out: global.map(|array| array.name.clone()),
        help: bounds
            .map(|bound| bound.help)
            .or_else(|| Some(help("bytes in place of elements", &of_bytes?)))
            .or_else(|| access.and_then(|_| spot.of_vector()))
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
    let spot = &Spot::of(location);
    let [title, mut help] = text(name, &[("limit", grouped(limit))]);
    if spot.code().contains(">= 0") {
        help += &self::help("counter without a sign", &[]);
    }
    let label = "a warp was here when the limit was reached".into();
    let mut marks = vec![Mark { spot: spot.clone(), label, ..Mark::default() }];
    let loops = spot.around(LOOPS);
    if let Some((name, line)) = spot.unchanged() {
        add(&mut marks, [spot.at_line(line, format!("nothing in this loop changes `{name}`"))]);
        help = self::help("loop whose condition never changes", &[("name", name), ("line", line.to_string())]);
    }
    add(&mut marks, spot.at_lines(loops.iter().copied(), "it is in this loop"));
    for line in loops {
        add(&mut marks, spot.at_line(line, "").spot.set_by(READ));
    }
    Some(Diagnostic { title, marks: with_calls(marks), help, ..Diagnostic::default() })
}
