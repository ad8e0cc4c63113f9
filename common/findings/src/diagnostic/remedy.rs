//! What to do about a hazard or a fault. The remedy belongs to the situation and not to the kind: whose array it is,
//! whether it was read or written, by which threads, and in which lines.

use std::path::Path;

use simt::{AccessKind, Action, FaultKind, Hazard, HazardKind, Location, Party, Place, Space};

use super::race::{self, at};
use super::situation::{Role, passed_by};
use super::spot::Spot;
use super::texts::help;
use super::underline::array_name;
use crate::hazard_kind::fault_name;
use crate::places;
use system::files::kind;

/// Words of CUDA C, and what stands for them in a kernel in Rust; the first one also in a kernel with the course's `async.cuh`.
const IN_RUST: [(&str, &str); 5] = [
    ("cp.async.wait_group", "wait()"),
    ("__syncthreads()", "sync_threads()"),
    ("threadIdx", "thread_idx()"),
    ("blockIdx", "block_idx()"),
    ("extents in the array's declaration", "extents in shared!"),
];

/// One sentence on what to do about a hazard, in the language of the kernel.
pub fn hazard(hazard: &Hazard) -> String {
    let file = hazard.parties.iter().find_map(|party| party.location.file.as_deref()).unwrap_or_default();
    let includes = |line: &String| line.starts_with("#include") && line.contains("async.cuh");
    let words = match kind(Path::new(file)) {
        Some("rs") => &IN_RUST[..],
        _ if places::lines(file).iter().any(includes) => &IN_RUST[..1],
        _ => &[],
    };
    let text = words.iter().fold(in_cuda(hazard), |text, (cuda, other)| text.replace(cuda, other));
    let of_groups =
        |line: &String| line.contains("wait_group") && !line.contains("wait_group 0") || line.contains("wait_prior");
    let lines = places::lines(file);
    let has = |what: &str| lines.iter().any(|line| line.contains(what));
    match hazard.kind {
        HazardKind::CopyNotWaited if has("wait_group") && !has("commit") => {
            text + &help("groups that nobody commits", &[])
        }
        HazardKind::CopyNotWaited if lines.iter().any(of_groups) => text + &help("wait for groups", &[]),
        _ => text,
    }
}

fn in_cuda(hazard: &Hazard) -> String {
    let array = array_name(&hazard.place).unwrap_or("the array");
    let cause = match (hazard.kind, &hazard.parties[..]) {
        (HazardKind::Race, [a, b]) => return race::remedy(a, b, array, Role::of(&hazard.place)),
        (HazardKind::CopyNotWaited, [copy, read]) if copy.thread != read.thread => "copied by another thread",
        (HazardKind::CopyOverwritten, _) if copied_twice(hazard) => "copies by two threads",
        (HazardKind::CopyOverwritten, [copy, write]) if write.action == Action::Copies => {
            let is_one = copy.location.line == write.location.line && copy.location.calls == write.location.calls;
            if is_one { "two copies of one line" } else { "copy over a copy" }
        }
        (HazardKind::ExitBeforeBarrier, [waits, ended]) => return exit_before_barrier(waits, ended),
        _ => text_of(hazard),
    };
    // A loop that goes too far reads what nobody has stored.
    if let (HazardKind::UninitialisedShared, [read, ..]) = (hazard.kind, &hazard.parties[..])
        && let Some(bound) = Spot::of(&read.location).bounds()
    {
        return bound.help;
    }
    let [one, two] = [0, 1].map(|side| hazard.parties.get(side).map(|party| at(&party.location)).unwrap_or_default());
    let bulk = hazard.parties.first().is_some_and(|copy| copy.location.instruction.starts_with("cp.async.bulk"));
    let wait = if bulk { "mbarrier.try_wait" } else { "cp.async.wait_group" };
    help(cause, &[("array", array.to_owned()), ("one", one), ("two", two), ("wait", wait.to_owned())])
}

/// Whether two threads copy to one place in one line.
pub fn copied_twice(hazard: &Hazard) -> bool {
    let [copy, other] = &hazard.parties[..] else { return false };
    let copies = hazard.parties.iter().all(|party| party.action == Action::Copies);
    copies && copy.thread != other.thread && copy.location == other.location
}

/// The name of a hazard in `texts.txt`.
pub fn text_of(hazard: &Hazard) -> &'static str {
    match hazard.parties.len() {
        2 if hazard.kind == HazardKind::WrittenTwice => "element written more than once, by two threads",
        _ => hazard.kind.name(),
    }
}

fn exit_before_barrier(waits: &Party, ended: &Party) -> String {
    let (barrier, end) = (at(&waits.location), at(&ended.location));
    // If the barrier is under a condition, that condition sends threads past it, wherever they end.
    let [waits, ended] = [waits, ended].map(|party| Spot::of(&party.location));
    let its_own = match waits.around(&["if"]).first() {
        _ if waits.code().contains("if (") => Some("its condition".into()),
        line => line.map(|line| format!("the condition in line {line}")),
    };
    let code = ended.code();
    let by_return = code.contains("return");
    // Threads that pass by another barrier are one step ahead from there on.
    if let (None, false, Some((barrier, condition))) = (&its_own, by_return, passed_by(&waits)) {
        let condition =
            if barrier == condition { "its condition".into() } else { format!("the condition in line {condition}") };
        return help("barrier in a condition", &[("barrier", format!("line {barrier}")), ("condition", condition)]);
    }
    let cause = match code.trim() {
        _ if by_return => "return before a barrier",
        "}" if its_own.is_none() => HazardKind::ExitBeforeBarrier.name(),
        _ => "barrier in a condition",
    };
    let condition = its_own.unwrap_or_else(|| format!("the condition in {end}"));
    help(cause, &[("barrier", barrier), ("end", end), ("condition", condition)])
}

/// One sentence on what to do about a fault that happened at a place.
pub fn fault(kind: &FaultKind, location: &Location) -> String {
    let mut words = vec![("line", at(location))];
    let cause = match kind {
        FaultKind::OutOfBounds { place: Place::Null(_), .. } => "null pointer",
        FaultKind::OutOfBounds { space, access, place, .. } => {
            let ended = array_name(place);
            let left = Some(Spot::of(location)).filter(|_| *space == Space::Shared).and_then(|spot| spot.left(ended));
            let array = left.as_deref().or(ended);
            if let Some(remedy) = array.and_then(|array| Spot::of(location).of_product(array)) {
                return remedy;
            }
            let inside = if array == Some("A") { "row < M, column < K" } else { "row < K, column < N" };
            let call = |(line, _): &(u32, u32)| help("arguments of a call", &[("line", line.to_string())]);
            let call = location.calls.last().map(call).unwrap_or_default();
            let declared = array.and_then(|array| Spot::of(location).declared_array(array));
            let is_static = declared.is_some_and(|mark| !mark.spot.code().contains("extern"));
            let name = array.unwrap_or("the array").to_owned();
            words.extend([("array", name), ("inside", inside.to_owned()), ("call", call)]);
            let reads = matches!(access, AccessKind::Load | AccessKind::CopySource);
            match (space, Role::of(place), array) {
                _ if matches!(place, Place::Outside { index: ..0, .. }) => "before an array",
                (Space::Shared, ..) if is_static => "past the extents of a shared array",
                (Space::Shared, ..) => "past a shared array",
                (Space::Global, Role::Input, Some(_)) if reads => "read outside of a matrix",
                (Space::Global, Role::Input, Some(_)) => "store outside of an input",
                (Space::Global, Role::Output, Some("C")) if !reads => "store outside of C",
                (Space::Global, Role::Output, Some(_)) => "access outside of an output",
                (Space::Global, ..) => "address of no array",
                _ => "access outside of an array",
            }
        }
        FaultKind::Misaligned { space, bytes, .. } => {
            words.extend([("bytes", bytes.to_string()), ("elements", (bytes / 4).to_string())]);
            if *space == Space::Shared { "misaligned in shared memory" } else { "misaligned" }
        }
        FaultKind::Assert { condition, .. } => {
            words.push(("condition", condition.clone()));
            "false assertion"
        }
        FaultKind::Other(_) => "another fault",
        other => fault_name(other),
    };
    help(cause, &words)
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
    help(cause, &[("line", at(location)), ("name", name.to_owned())])
}
