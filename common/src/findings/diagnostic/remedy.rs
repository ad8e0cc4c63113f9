//! What to do about a hazard or a fault. The remedy belongs to the situation and not to the kind: whose array it is,
//! whether it was read or written, by which threads, and in which lines.

use std::path::Path;

use simt::{AccessKind, Action, FaultKind, Hazard, HazardKind, Party, Place, Space};

use super::around::around;
use super::bounds;
use super::race::{self, at, code_at, copied_by_another};
use super::situation::Role;
use super::stride;
use super::texts::help;
use super::underline::array_name;
use crate::basics::files::kind;
use crate::findings::hazard_kind::FaultClass;

/// Words of CUDA C, and what stands for them in a kernel in Rust.
const IN_RUST: [(&str, &str); 5] = [
    ("__syncthreads()", "sync_threads()"),
    ("cp.async.wait_group", "wait()"),
    ("threadIdx", "thread_idx()"),
    ("blockIdx", "block_idx()"),
    ("extents in the array's declaration", "extents in shared!"),
];

/// One sentence on what to do about a hazard, in the language of the kernel.
pub fn hazard(hazard: &Hazard) -> String {
    let text = in_cuda(hazard);
    let file = hazard.parties.iter().find_map(|party| party.location.file.as_deref());
    if file.and_then(|file| kind(Path::new(file))) != Some("rs") {
        return text;
    }
    IN_RUST.iter().fold(text, |text, (cuda, rust)| text.replace(cuda, rust))
}

fn in_cuda(hazard: &Hazard) -> String {
    let array = array_name(&hazard.place).unwrap_or("the array");
    let cause = match (hazard.kind, &hazard.parties[..]) {
        (HazardKind::Race, [a, b]) => return race::remedy(a, b, array, Role::of(&hazard.place)),
        (HazardKind::CopyNotWaited, [copy, read]) if copy.thread == read.thread => "copy read by its own thread",
        (HazardKind::CopyNotWaited, [copy, read]) => return copied_by_another(copy, read),
        (HazardKind::CopyOverwritten, [_, write]) if write.action == Action::Copies => "copy over a copy",
        (HazardKind::CopyOverwritten, [_, _]) => "copy overwritten",
        (HazardKind::ExitBeforeBarrier, [waits, ended]) => return exit_before_barrier(waits, ended),
        _ => text_of(hazard),
    };
    // A loop that goes too far reads what nobody has stored.
    if let (HazardKind::UninitialisedShared, [read, ..]) = (hazard.kind, &hazard.parties[..])
        && let Some(bound) = bounds::remedy(&read.location)
    {
        return bound.help;
    }
    let [one, two] = [0, 1].map(|side| hazard.parties.get(side).map(|party| at(&party.location)).unwrap_or_default());
    let bulk = hazard.parties.first().is_some_and(|copy| copy.location.instruction.starts_with("cp.async.bulk"));
    let wait = if bulk { "mbarrier.try_wait" } else { "cp.async.wait_group" };
    help(cause, &[("array", array.to_owned()), ("one", one), ("two", two), ("wait", wait.to_owned())])
}

/// The name under which the texts have a hazard.
pub fn text_of(hazard: &Hazard) -> &'static str {
    match hazard.parties.len() {
        2 if hazard.kind == HazardKind::WrittenTwice => "element written more than once, by two threads",
        _ => hazard.kind.name(),
    }
}

fn exit_before_barrier(waits: &Party, ended: &Party) -> String {
    let (barrier, end) = (at(&waits.location), at(&ended.location));
    // The condition that the barrier itself stands in sends threads past it, wherever they end.
    let its_own = match around(&waits.location, &["if"]).first() {
        _ if code_at(&waits.location).contains("if (") => Some("its condition".into()),
        line => line.map(|line| format!("the condition in line {line}")),
    };
    let code = code_at(&ended.location);
    let cause = match code.trim() {
        code if code.contains("return") => "return before a barrier",
        "}" if its_own.is_none() => "end before a barrier",
        _ => "barrier in a condition",
    };
    let condition = its_own.unwrap_or_else(|| format!("the condition in {end}"));
    help(cause, &[("barrier", barrier), ("end", end), ("condition", condition)])
}

/// One sentence on what to do about a fault.
/// `line` is where it happened, and `code` what stands there.
pub fn fault(kind: &FaultKind, line: &str, code: &str) -> String {
    let mut words = vec![("line", line.to_owned())];
    let cause = match kind {
        FaultKind::OutOfBounds { place: Place::Null(_), .. } => "null pointer",
        FaultKind::OutOfBounds { space, access, place, .. } => {
            let array = array_name(place);
            if let Some(remedy) = array.and_then(|array| stride::remedy(code, array)) {
                return remedy;
            }
            let inside = if array == Some("A") { "row < M, column < K" } else { "row < K, column < N" };
            let array = array.unwrap_or("the array").to_owned();
            words.extend([("array", array), ("inside", inside.to_owned())]);
            out_of_bounds(*space, *access, place)
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
        other => FaultClass::of(other).name(),
    };
    help(cause, &words)
}

/// The cause of an access out of bounds.
fn out_of_bounds(space: Space, access: AccessKind, place: &Place) -> &'static str {
    let reads = matches!(access, AccessKind::Load | AccessKind::CopySource);
    match (space, Role::of(place), array_name(place)) {
        (Space::Shared, ..) => "past a shared array",
        (Space::Global, Role::Input, Some(_)) if reads => "read outside of a matrix",
        (Space::Global, Role::Input, Some(_)) => "store outside of an input",
        (Space::Global, Role::Output, Some("C")) if !reads => "store outside of C",
        (Space::Global, Role::Output, Some(_)) => "access outside of an output",
        (Space::Global, ..) => "address of no array",
        _ => "access outside of an array",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::code::places::may_be_shown;
    use simt::{Array, Dim3, Location};

    /// A kernel with all situations; the first line has the number 1.
    const KERNEL: [&str; 16] = [
        "As[y][x] = *a;",
        "__syncthreads();",
        "sum += As[y][k];",
        "As[x] += As[y];",
        "C[row] += sum;",
        "C[row] = sum;",
        "line[x] = line[x + 1];",
        "B[row] = sum;",
        "}",
        "if (row >= M) return;",
        "C[row * M + col] = sum;",
        "copy(&line[x], a);",
        "__syncthreads();",
        "wait(0);",
        "sum += line[x];",
        "if (row < M) __syncthreads();",
    ];

    fn array(name: &str) -> Array {
        let space = if ["As", "line"].contains(&name) { Space::Shared } else { Space::Global };
        Array { name: name.into(), space }
    }

    /// The first element of an array of this name.
    fn first_of(name: &str) -> Place {
        Place::Element { array: array(name), index: vec![0], bytes: 0 }
    }

    /// Right behind the end of an array of this name.
    fn past(name: &str) -> Place {
        Place::Outside { array: array(name), index: 64, bytes: 0, of: 64 }
    }

    /// Block, thread, action and line; 0 for a place without one.
    type Side = (u32, u32, Action, u32);

    fn remedy(kind: HazardKind, place: Place, sides: &[Side]) -> String {
        let party = |&(block, thread, action, line): &Side| {
            let known = (line > 0).then_some(line);
            let file = known.map(|_| "kernel.cu".to_owned());
            let location = Location { file, line: known, ptx_line: 77, ..Location::default() };
            Party { block: Dim3::new(block, 0, 0), thread: Dim3::new(thread, 0, 0), action, location }
        };
        let hazard_of = Hazard { kind, place, parties: sides.iter().map(party).collect(), count: 1, time: None };
        may_be_shown("kernel.cu", &KERNEL.join("\n"));
        hazard(&hazard_of)
    }

    /// All of these are in the text, but none that begins with a `!`.
    #[track_caller]
    fn says(text: &str, words: &[impl AsRef<str>]) {
        for words in words.iter().map(AsRef::as_ref) {
            let absent = words.strip_prefix('!');
            assert_eq!(text.contains(absent.unwrap_or(words)), absent.is_none(), "{words:?} and {text:?}");
        }
    }

    #[test]
    fn a_race_has_the_remedy_of_its_place_and_its_lines() {
        type Case = (String, [(u32, u32, String, u32); 2], Vec<String>);
        let all = [Action::Reads, Action::Writes, Action::Updates, Action::Copies];
        let action = |word: &str| all.into_iter().find(|action| action.to_string().starts_with(word)).unwrap();
        let cases: BTreeMap<String, Vec<Case>> = serde_json::from_str(include_str!("races.json")).unwrap();
        for (name, sides, words) in cases.into_values().flatten() {
            let [one, other] = sides.map(|(block, thread, word, line)| (block, thread, action(&word), line));
            let text = remedy(HazardKind::Race, first_of(&name), &[one, other]);
            says(&text, &words);
            if one.0 != other.0 && name != "B" {
                says(&text, &["no barrier helps", "!__syncthreads"]);
            }
            let turned = remedy(HazardKind::Race, first_of(&name), &[other, one]);
            assert_eq!(text, turned, "the order of the sides is chance");
        }
    }

    /// What the course's programs with a defect do not show: `common/tests/diagnostics.txt` has the remedies of all other kinds.
    #[test]
    fn the_end_of_the_kernel_is_no_condition_and_sides_that_do_not_fit_still_give_a_remedy() {
        let sides = [(0, 0, Action::Waits, 2), (0, 40, Action::Ends, 9)];
        let text = remedy(HazardKind::ExitBeforeBarrier, Place::Barrier(0), &sides);
        says(&text, &["reach the barrier in line 2", "the end of the kernel", "!return"]);
        let sides = [(0, 0, Action::Waits, 16), (0, 40, Action::Ends, 9)];
        let text = remedy(HazardKind::ExitBeforeBarrier, Place::Barrier(0), &sides);
        says(&text, &["move the barrier in line 16 out of its condition"]);
        says(&remedy(HazardKind::Race, first_of("C"), &[]), &["look for the cause in the lines named here"]);
    }

    #[test]
    fn a_fault_has_the_remedy_of_its_array_and_of_reading_or_writing() {
        use AccessKind::{CopySource, Load, Store};
        use Space::{Global, Shared};
        for (space, access, place, words) in [
            (Global, CopySource, past("B"), ["row < K, column < N", "take 0"]),
            (Global, Store, past("A"), ["A is only read", "belongs to C"]),
            (Global, Load, Place::NoArray(1 << 46), ["how the address is computed", ""]),
            (Shared, Load, Place::SharedAddress(0x9999), ["extents of the array", ""]),
        ] {
            let outside = FaultKind::OutOfBounds { space, access, bytes: 4, place };
            says(&fault(&outside, "line 3", ""), &words);
        }
        let lanes = FaultKind::MissingLanes { named: 3, present: 1 };
        says(&fault(&lanes, "", ""), &["name only lanes that come here together"]);
        says(&fault(&FaultKind::NoSuchBarrier { id: 16 }, "", ""), &["name one barrier from 0 to 15"]);
    }
}
