//! What to do about a hazard or a fault. The remedy belongs to the situation and not to the kind: whose array it is,
//! whether it was read or written, by which threads, and in which lines.

use std::path::Path;

use simt::{AccessKind, Action, FaultKind, Hazard, HazardKind, Party, Place, Space};

use super::around::around;
use super::bounds;
use super::race::{self, at, code_at, copied_by_another};
use super::situation::Role;
use super::stride;
use super::texts::of_kind;
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
    match (hazard.kind, &hazard.parties[..]) {
        (HazardKind::Race, [a, b]) => race::remedy(a, b, array, Role::of(&hazard.place)),
        (HazardKind::CopyNotWaited, [copy, read]) => copy_not_waited(copy, read),
        (HazardKind::CopyOverwritten, [copy, write]) => copy_overwritten(copy, write, array),
        (HazardKind::ExitBeforeBarrier, [waits, ended]) => exit_before_barrier(waits, ended),
        (kind, sides) => {
            // A loop that goes too far reads what nobody has stored.
            let of_loop = sides.first().filter(|_| kind == HazardKind::UninitialisedShared);
            if let Some(bound) = of_loop.and_then(|read| bounds::remedy(&read.location)) {
                return bound.help;
            }
            let [one, two] = [0, 1].map(|side| sides.get(side).map_or_else(String::new, |party| at(&party.location)));
            of_kind(text_of(hazard), &[("array", array), ("one", &one), ("two", &two)]).1
        }
    }
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
    let code = code.trim();
    if code.contains("return") {
        format!(
            "do not return in {end}: the block still needs these threads, to load its tiles and to wait in {barrier}; \
             let them load 0 if there is nothing to load, and put the condition around the store of C instead"
        )
    } else if code == "}" && its_own.is_none() {
        format!("let all threads of the block reach the barrier in {barrier}: some go past it to the end of the kernel")
    } else {
        let condition = its_own.unwrap_or_else(|| format!("the condition in {end}"));
        format!(
            "move the barrier in {barrier} out of {condition}: all threads of the block have to reach it, so \
             put the condition around the loads and the store instead"
        )
    }
}

/// How a copy is waited for.
fn wait(copy: &Party) -> &'static str {
    if copy.location.instruction.starts_with("cp.async.bulk") { "mbarrier.try_wait" } else { "cp.async.wait_group" }
}

fn copy_not_waited(copy: &Party, read: &Party) -> String {
    if copy.thread == read.thread {
        let (from, to) = (at(&copy.location), at(&read.location));
        format!("wait for the copy of {from} ({}) before {to} reads", wait(copy))
    } else {
        copied_by_another(copy, read)
    }
}

fn copy_overwritten(copy: &Party, write: &Party, array: &str) -> String {
    let (from, to) = (at(&copy.location), at(&write.location));
    if write.action == Action::Copies {
        format!(
            "wait for the copy of {from} ({}) before the next one into the same \
             place starts, or give {array} a second buffer and use the two in turn",
            wait(copy)
        )
    } else {
        format!("wait for the copy of {from} ({}) before {to} writes the same place", wait(copy))
    }
}

/// One sentence on what to do about a fault.
/// `line` is where it happened, and `code` what stands there.
pub fn fault(kind: &FaultKind, line: &str, code: &str) -> String {
    match kind {
        FaultKind::OutOfBounds { place: Place::Null(_), .. } => {
            format!("{line} uses a pointer that is null: let it point into A, B, C or a shared array first")
        }
        FaultKind::OutOfBounds { space, access, place, .. } => {
            let stride = array_name(place).and_then(|array| stride::remedy(code, array));
            stride.unwrap_or_else(|| out_of_bounds(*space, *access, place))
        }
        FaultKind::Misaligned { space, bytes, .. } => {
            let where_not = match space {
                Space::Shared => format!("give the rows of the shared array a multiple of {bytes} bytes"),
                _ => format!("take narrower accesses if a row does not start at a multiple of {bytes} bytes"),
            };
            let elements = bytes / 4;
            format!(
                "an access of {bytes} bytes needs an address that is a multiple of {bytes}: let the index in {line} be a multiple of {elements}, and \
                 {where_not}"
            )
        }
        FaultKind::Assert { condition, .. } => {
            format!(
                "this thread comes here although `{condition}` is false: print the values in it, or look at what sets them"
            )
        }
        FaultKind::Other(_) => "look at the line above".into(),
        other => of_kind(FaultClass::of(other).name(), &[]).1,
    }
}

fn out_of_bounds(space: Space, access: AccessKind, place: &Place) -> String {
    let (name, role) = (array_name(place), Role::of(place));
    let reads = matches!(access, AccessKind::Load | AccessKind::CopySource);
    match (space, role, name) {
        (Space::Shared, ..) => {
            let array = name.unwrap_or("the array");
            format!(
                "compare the index with the extents of {array}; if it is declared extern __shared__, the launch must ask \
                 for enough bytes"
            )
        }
        (Space::Global, Role::Input, Some(name)) if reads => {
            let inside = if name == "A" { "row < M, column < K" } else { "row < K, column < N" };
            format!("read {name} only inside the matrix ({inside}), and take 0 for what lies beyond the edge")
        }
        (Space::Global, Role::Input, Some(name)) => {
            format!(
                "{name} is only read by a product: look at the pointer and the index of this store, which belongs to C"
            )
        }
        (Space::Global, Role::Output, Some("C")) if !reads => {
            "store only if row < M and col < N: a thread beyond the edge has no element of C".into()
        }
        (Space::Global, Role::Output, Some(name)) => {
            format!("compare the index with the size of {name} before the access")
        }
        (Space::Global, ..) => {
            "look at how the address is computed: a pointer or an index in it is not what you expect".into()
        }
        _ => "compare the index with the array's extents before the access".into(),
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
