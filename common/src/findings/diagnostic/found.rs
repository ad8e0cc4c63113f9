//! Diagnostics of what the simulator found: hazards of a launch, faults that ended one, limits that stopped one.

use simt::{AccessKind, Action, Fault, FaultKind, Hazard, HazardKind, Limit, Location, Party, Place, Space};

use super::around::{
    and_callers, declaration, guards, lines_that_set, of_words, pointers, set_by_line, set_by_thread, setters,
    shared_declaration, stores_of, value_of, without_value,
};
use super::race::{self, at, code_at};
use super::render::{Diagnostic, Mark};
use super::situation::Role;
use super::texts::{help, text};
use super::underline::{Use, array_name, has_word, is_name, uses};
use super::{bounds, remedy, stride};
use crate::basics::units::grouped;
use crate::code::places::{self, index, triple, who};

/// A hazard with its lines and its remedy; `one_warp` says that its two threads are lanes of one.
pub fn hazard(hazard: &Hazard, one_warp: bool) -> Diagnostic {
    let (kind, sides) = (hazard.kind, &hazard.parties[..]);
    let (role, array) = (Role::of(&hazard.place), array_name(&hazard.place));
    let (shown, called) = shown(hazard);
    let mark = |party: &Party| {
        let who = who(party.block, party.thread);
        let label = match party.action {
            Action::Reads | Action::Writes => format!("{who} {} {shown}", party.action),
            Action::Ends => format!("{who} ends here"),
            action => format!("{who} {action}"),
        };
        let element = array.is_some().then(|| called.clone());
        Mark { location: party.location.clone(), element, writes: party.action.writes(), label, aside: false }
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
    // Where an element has two owners, its index is wrong.
    let owners = sides.iter().all(|party| party.action == Action::Writes);
    if let Some(first) = sides.first()
        && owners
        && matches!(role, Role::Output | Role::Shared)
    {
        let by_thread = if role == Role::Shared { set_by_thread(&first.location) } else { vec![] };
        marks.extend(by_thread.into_iter().map(|(name, line)| sets(&first.location, line, &name)));
        add(&mut marks, set_by(&first.location, true));
    }
    let mut laid_out = None;
    match (kind, sides, array) {
        (HazardKind::WrongArray, [access], _) => {
            marks.extend(set_by(&access.location, access.action.writes()));
            let code = code_at(&access.location);
            let names = code.split(|c| !is_name(c)).filter(|name| !name.is_empty());
            add(&mut marks, names.filter_map(|name| declared_array(&access.location, name)));
        }
        // Where a word has no value, those that are stored tell which are not.
        (HazardKind::UninitialisedShared, [read], Some(name)) => {
            let stores = stores_of(&read.location, name).into_iter();
            marks.extend(stores.map(|line| at_line(&read.location, line, format!("{name} is stored here"))));
        }
        (HazardKind::UnsetRegister, [read], _) => {
            let bare = without_value(&read.location).into_iter();
            add(
                &mut marks,
                bare.map(|(name, line)| at_line(&read.location, line, format!("`{name}` has no value here"))),
            );
        }
        (HazardKind::Race, [a, b], Some(name)) => {
            laid_out = race::wrong_stride(a, b, name, role).map(|_| name.to_owned());
        }
        _ => {}
    }
    // A tile that has several buffers may be raced for because one of the two accesses takes the wrong one.
    let or = match sides {
        [a, b] if kind == HazardKind::Race && role == Role::Shared && !owners => {
            let buffers = race::has_buffers(a, b, &hazard.place);
            for side in [a, b].into_iter().filter(|_| buffers) {
                add(&mut marks, set_by(&side.location, side.action.writes()));
            }
            if buffers { help("race for a tile of several", &[]) } else { String::new() }
        }
        _ => String::new(),
    };
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

/// The line that declares a shared array.
fn declared_array(place: &Location, name: &str) -> Option<Mark> {
    shared_declaration(place, name).map(|line| at_line(place, line, format!("`{name}` is declared here")))
}

fn is_barrier(kind: HazardKind) -> bool {
    use HazardKind::{DifferentBarriers, EndedBeforeBarrier, ExitBeforeBarrier, MismatchedBarriers};
    matches!(kind, DifferentBarriers | EndedBeforeBarrier | ExitBeforeBarrier | MismatchedBarriers)
}

/// How the place of a hazard is called, in words and in the kernel's lines. In shared memory that the launch asks for it is what
/// the first line calls it, if that is clear, and else an element of the whole.
fn shown(hazard: &Hazard) -> (String, Place) {
    let place = || hazard.place.clone();
    let Place::Offset { array, bytes } = &hazard.place else { return (hazard.place.to_string(), place()) };
    let party =
        hazard.parties.first().filter(|party| array.space == Space::Shared && of_words(&party.location, &array.name));
    let Some(party) = party else { return (hazard.place.to_string(), place()) };
    let element = format!("{}[{}]", array.name, bytes / 4);
    let names = pointers(&party.location, &array.name);
    let code = code_at(&party.location);
    let suits = |found: &Use| if party.action == Action::Writes { found.writes } else { found.reads };
    let used = |name: &String| {
        uses(&code, name).into_iter().find(suits).map(|found| (name.clone(), code[found.span].to_owned()))
    };
    match &names.iter().filter_map(used).collect::<Vec<_>>()[..] {
        [(name, text)] => {
            let array = simt::Array { name: name.clone(), space: Space::Shared };
            (format!("{text} (which is {element})"), Place::Element { array, index: vec![], bytes: 0 })
        }
        _ => (element, place()),
    }
}

/// What happens, as the title goes on after the name of the kind.
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
    let (location, label) = (fault.location.clone(), format!("{who} {label}"));
    let mut marks = vec![Mark { location, element: place.cloned(), writes, label, aside: false }];
    let code = code_at(&fault.location);
    let strides = place.and_then(array_name).is_some_and(|array| stride::of_product(&code, array).is_some());
    let bounds = access.and_then(|_| bounds::remedy(&fault.location));
    match &bounds {
        Some(bound) => marks.push(at_line(&fault.location, bound.line, "this lets it".into())),
        None if access.is_some() => {
            marks.extend(set_by(&fault.location, writes));
            let under = guards(&fault.location).into_iter();
            let under = under.filter(|_| place.is_some() && !strides);
            add(&mut marks, under.map(|line| at_line(&fault.location, line, "it depends on this".into())));
        }
        None => {}
    }
    if let Some(simt::Array { name, space: Space::Shared }) = place.and_then(Place::array) {
        add(&mut marks, declared_array(&fault.location, name));
    }
    let past_global = matches!(fault.kind, FaultKind::OutOfBounds { space: Space::Global, .. });
    let vague = past_global && bounds.is_none() && !strides;
    // A store to A or B is wrong however they lie.
    let stray = writes && place.is_some_and(|place| Role::of(place) == Role::Input);
    let by_layout = bounds.as_ref().map_or(past_global && (strides || !stray), |bound| bound.of_other_side);
    let in_bytes = marks.iter().any(|mark| code_at(&mark.location).contains("sizeof"));
    let in_bytes = place
        .and_then(array_name)
        .filter(|_| in_bytes)
        .map(|array| help("bytes in place of elements", &[("array", array.to_owned())]));
    let global = place.and_then(Place::array).filter(|array| by_layout && array.space == Space::Global);
    Diagnostic {
        title: format!("fault of the kernel: {}", fault.kind.to_string().trim_end_matches(',')),
        marks: with_calls(marks),
        laid_out: global.map(|array| array.name.clone()),
        help: (bounds.map(|bound| bound.help).or(in_bytes))
            .unwrap_or_else(|| remedy::fault(&fault.kind, &at(&fault.location), &code)),
        vague,
        ..Diagnostic::default()
    }
}

/// The lines that set what a place uses.
pub fn set_by(place: &Location, stores: bool) -> Vec<Mark> {
    let mut found = setters(place, stores, if stores { 6 } else { 5 });
    found.extend(and_callers(place).skip(1).flat_map(|call| setters(&call, false, 3)));
    found.into_iter().map(|(name, line)| sets(place, line, &name)).collect()
}

/// A line that sets a variable.
fn sets(place: &Location, line: u32, name: &str) -> Mark {
    at_line(place, line, format!("`{name}` is set here"))
}

/// The lines that set what a place sets, and the one that declares it.
pub fn also_set(place: &Location) -> Vec<Mark> {
    let mut marks: Vec<Mark> = declared(place).into_iter().collect();
    let Some(set) = set_by_line(place) else { return marks };
    add(&mut marks, lines_that_set(place, set.root()).into_iter().map(|line| sets(place, line, set.root())));
    marks
}

/// The lines that set the variable whose value a place stores.
pub fn value_set(place: &Location) -> Vec<Mark> {
    let name = value_of(place).unwrap_or_default();
    lines_that_set(place, &name).into_iter().map(|line| sets(place, line, &name)).collect()
}

/// The line that declares what a place sets.
pub fn declared(place: &Location) -> Option<Mark> {
    let (name, line) = declaration(place)?;
    Some(at_line(place, line, format!("`{name}` is declared here")))
}

/// The marks, the lines that call the functions in which they lie, and those that define the macros which they use.
pub fn with_calls(mut marks: Vec<Mark>) -> Vec<Mark> {
    let own: Vec<Location> = marks.iter().filter(|mark| !mark.aside).map(|mark| mark.location.clone()).collect();
    for place in own {
        for &(line, _) in &place.calls {
            let label = if places::is_ptx(&place, line) { "this is what it calls" } else { "it is called here" };
            add(&mut marks, [at_line(&place, line, label.into())]);
        }
        let code = code_at(&place);
        for (line, text) in (1..).zip(places::lines_of(&place).iter()) {
            let name = text.strip_prefix("#define ").and_then(|rest| rest.split_once('(')).map(|(name, _)| name);
            if name.is_some_and(|name| has_word(&code, |word| word == name)) {
                add(&mut marks, [at_line(&place, line, "it is defined here".into())]);
            }
        }
    }
    marks
}

/// Adds marks to lines that have none.
pub fn add(marks: &mut Vec<Mark>, more: impl IntoIterator<Item = Mark>) {
    for mark in more {
        if marks.iter().all(|known| known.location.line != mark.location.line) {
            marks.push(mark);
        }
    }
}

/// A whole line of the file that a place is in.
pub fn at_line(place: &Location, line: u32, label: String) -> Mark {
    let text = places::line(place.file.as_deref().unwrap_or_default(), line).unwrap_or_default();
    let column = Some((text.len() - text.trim_start().len()) as u32 + 1);
    let location = Location { line: Some(line), column, ..place.clone() };
    Mark { location, label, aside: true, ..Mark::default() }
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
    let (after, location, help) = match limit {
        Limit::Instructions { limit, location } => (
            format!("{} warp instructions", grouped(*limit)),
            location,
            "does a loop never end? Look at its condition, and at what changes its counter",
        ),
        Limit::Seconds { limit, location } => (
            format!("{limit} seconds"),
            location,
            "does a loop never end, or print, wait or update too often? Look at its condition",
        ),
        _ => return None,
    };
    let unsigned = code_at(location).contains(">= 0");
    let more = if unsigned { "; what is unsigned is never below 0, and >= 0 is always true" } else { "" };
    let help = format!("{help}{more}");
    let (location, label) = (location.clone(), "a warp was here when the limit was reached".into());
    Some(Diagnostic {
        title: format!("limit reached: the kernel was stopped after {after}"),
        marks: vec![Mark { location, label, ..Mark::default() }],
        help,
        ..Diagnostic::default()
    })
}
