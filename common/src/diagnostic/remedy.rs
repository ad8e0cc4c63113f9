//! What to do about a hazard or a fault. The remedy belongs to the situation and not to the kind: whose array it is, whether
//! it was read or written, by which threads, and in which lines.

use simt::{AccessKind, FaultKind, Hazard, HazardKind, Party, Space};

use super::race;
use super::situation::{Arrays, Deed, Role, array_name};
use super::words::{at, code_at, copied_by_another};
use crate::places::Sources;

/// One sentence on what to do about a hazard.
pub fn hazard(hazard: &Hazard, arrays: &Arrays, sources: &mut Sources) -> String {
    let name = arrays.in_place(&hazard.place);
    let array = name.unwrap_or("the array");
    match (hazard.kind, &hazard.parties[..]) {
        (HazardKind::Race, [a, b]) => {
            race::remedy(a, b, array, name.map_or(Role::Unknown, |name| arrays.role(name)), sources)
        }
        (HazardKind::CopyNotWaited, [copy, read]) => copy_not_waited(copy, read),
        (HazardKind::CopyOverwritten, [copy, write]) => copy_overwritten(copy, write, array),
        (HazardKind::UninitialisedShared, [read]) => format!(
            "let the threads of the block write all of {array} before {}, with 0 for what lies beyond the edge of a \
             matrix, and put a __syncthreads() between",
            at(&read.location)
        ),
        (HazardKind::UninitialisedGlobal, _) => {
            format!("form the sum in a variable that starts at 0, and only write to {array}")
        }
        (HazardKind::UnsetRegister, _) => {
            "give the variable a value where it is declared, so that it has one on every path that leads here".into()
        }
        (HazardKind::WrongArray, [access]) => format!(
            "compare the index at {} with the extents in the array's declaration: it runs over the end into {array}",
            at(&access.location)
        ),
        (HazardKind::DifferentBarriers, [a, b]) => format!(
            "let all threads of the block wait at the same __syncthreads(): move it out of the condition that sends some \
             to {} and others to {}",
            at(&a.location),
            at(&b.location)
        ),
        (HazardKind::ExitBeforeBarrier, [waits, ended]) => exit_before_barrier(waits, ended, sources),
        (HazardKind::WrittenTwice, _) => {
            format!("let one thread own each element of {array}, and let it store the sum once, after its loop")
        }
        (HazardKind::NeverWritten, _) => format!(
            "let the blocks cover all of {array} (round their number up), and let every thread whose row < M and \
             col < N store its element"
        ),
        // A kind that has other sides than expected, or that is newer than this table.
        _ => "look for the cause in the lines named here".into(),
    }
}

fn exit_before_barrier(waits: &Party, ended: &Party, sources: &mut Sources) -> String {
    let (barrier, end) = (at(&waits.location), at(&ended.location));
    if code_at(sources, &ended.location).trim() == "}" {
        return format!(
            "let all threads of the block reach the barrier at {barrier}: some go past it to the end of the kernel"
        );
    }
    format!(
        "do not return at {end}: let every thread go on to the barrier at {barrier}, and put the condition around the \
         work instead"
    )
}

fn copy_not_waited(copy: &Party, read: &Party) -> String {
    if copy.thread == read.thread {
        let (from, to) = (at(&copy.location), at(&read.location));
        format!("wait for the copy of {from} (cp.async.wait_group) before {to} reads")
    } else {
        copied_by_another(copy, read)
    }
}

fn copy_overwritten(copy: &Party, write: &Party, array: &str) -> String {
    let (from, to) = (at(&copy.location), at(&write.location));
    if Deed::of(write.action) == Deed::Copies {
        format!(
            "wait for the copy of {from} (cp.async.wait_group) before the next one into the same \
             place starts, or give {array} a second buffer and use the two in turn"
        )
    } else {
        format!("wait for the copy of {from} (cp.async.wait_group) before {to} writes the same place")
    }
}

/// One sentence on what to do about a fault.
pub fn fault(kind: &FaultKind, arrays: &Arrays) -> String {
    match kind {
        FaultKind::OutOfBounds { space, access, place, .. } => out_of_bounds(*space, *access, place, arrays),
        FaultKind::Misaligned { space, bytes, .. } => {
            let elements = bytes / 4;
            let where_not = match space {
                Space::Shared => format!("give the rows of the shared array a multiple of {elements} elements"),
                _ => format!("take narrower accesses where a row does not start at a multiple of {elements} elements"),
            };
            format!("an access of {bytes} bytes needs an address that is a multiple of {bytes}: {where_not}")
        }
        FaultKind::DivergentBarrier { .. } => {
            "move the barrier out of the condition or the loop that not all threads enter, so that all of them reach it"
                .into()
        }
        FaultKind::Deadlock { .. } => "let every warp of the block reach the same barriers in the same order".into(),
        FaultKind::MissingLanes { .. } => {
            "name only lanes that come here together, or move the instruction out of the condition".into()
        }
        FaultKind::Trap => "the kernel stopped itself: look at the condition that leads here".into(),
        _ => "look at the line above".into(),
    }
}

fn out_of_bounds(space: Space, access: AccessKind, place: &str, arrays: &Arrays) -> String {
    let name = array_name(place);
    let role = name.map_or(Role::Unknown, |name| arrays.role(name));
    let reads = matches!(access, AccessKind::Load | AccessKind::CopySource);
    match (space, role, name) {
        (Space::Shared, ..) => {
            let array = arrays.in_place(place).unwrap_or("the array");
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
    use super::*;
    use simt::{Dim3, Location};

    /// A kernel with all situations; what stands in a line is said by its comment.
    const KERNEL: &str = "\
As[y][x] = *a;  // 1
__syncthreads();
sum += As[y][k];  // 3
As[x] += As[y];  // 4
C[row] += sum;  // 5
C[row] = sum;  // 6
line[x] = line[x + 1];  // 7
B[row] = sum;  // 8
}  // 9
";

    fn source() -> String {
        // One file for each thread: tests run side by side.
        let id = format!("{:?}", std::thread::current().id()).replace(['(', ')'], "-");
        let path = std::env::temp_dir().join(format!("course-remedy-{}-{id}.cu", std::process::id()));
        std::fs::write(&path, KERNEL).unwrap();
        path.display().to_string()
    }

    fn arrays() -> Arrays {
        Arrays {
            global: ["A", "B", "C", "workspace"].map(str::to_owned).to_vec(),
            shared: ["As", "line"].map(str::to_owned).to_vec(),
        }
    }

    fn party(block: u32, thread: u32, action: &'static str, line: Option<u32>) -> Party {
        let location = Location { file: line.map(|_| source()), line, ptx_line: 77, ..Location::default() };
        Party { block: Dim3::new(block, 0, 0), thread: Dim3::new(thread, 0, 0), action, location }
    }

    fn remedy(kind: HazardKind, place: &str, parties: Vec<Party>) -> String {
        let text = hazard(&Hazard { kind, place: place.into(), parties, count: 1 }, &arrays(), &mut Sources::default());
        std::fs::remove_file(source()).unwrap();
        text
    }

    /// The remedy of a race: place, and block, action and line of both sides.
    fn of_race(place: &str, one: (u32, &'static str, u32), other: (u32, &'static str, u32)) -> String {
        let side = |thread, (block, action, line)| party(block, thread, action, Some(line));
        remedy(HazardKind::Race, place, vec![side(0, one), side(1, other)])
    }

    #[track_caller]
    fn says(text: &str, words: &[&str]) {
        for words in words {
            assert!(text.contains(words), "{words:?} is not in {text:?}");
        }
    }

    #[test]
    fn between_blocks_no_barrier_is_ever_recommended() {
        let cases = [
            (of_race("C[0]", (0, "writes", 6), (1, "writes", 6)), "belong to one block"),
            (of_race("C[0]", (0, "writes", 5), (1, "reads", 5)), "atomicAdd()"),
            (of_race("C[0]", (0, "writes", 5), (1, "writes", 6)), "atomicAdd()"),
            (of_race("workspace[0]", (0, "writes", 6), (1, "reads", 3)), "in a launch of its own"),
            (of_race("C[0]", (0, "updates atomically", 5), (1, "writes", 6)), "access at line 6 atomic"),
            (of_race("C[0]", (0, "reads", 6), (1, "updates atomically", 5)), "access at line 6 atomic"),
        ];
        for (text, words) in cases {
            says(&text, &[words, "no barrier helps"]);
            assert!(!text.contains("__syncthreads"), "{text}");
        }
        // An input is nobody's to write, in one block or in several.
        for block in [0, 1] {
            says(&of_race("B[0]", (0, "writes", 8), (block, "reads", 3)), &["B is read", "must stay as it is"]);
        }
    }

    #[test]
    fn within_a_block_the_barrier_goes_where_it_is_missing() {
        // Line 2 is a barrier: what is missing is the one on the way back.
        let back = of_race("As[0][0]", (0, "writes", 1), (0, "reads", 3));
        says(&back, &["after line 3, before the loop comes back to line 1", "must have read before"]);
        assert_eq!(back, of_race("As[0][0]", (0, "reads", 3), (0, "writes", 1)), "the order of the sides is chance");
        says(&of_race("As[0]", (0, "reads", 1), (0, "writes", 3)), &["after line 3", "must be written before"]);
        says(
            &of_race("As[0]", (0, "writes", 4), (0, "reads", 7)),
            &["between line 4 and line 7", "written before any"],
        );
        says(&of_race("As[0]", (0, "reads", 3), (0, "writes", 4)), &["between line 3 and line 4", "read before one"]);
        says(&of_race("As[0]", (0, "writes", 3), (0, "writes", 4)), &["between", "or let one thread write each"]);
        says(&of_race("As[0]", (0, "writes", 1), (0, "writes", 3)), &["after line 3, before the loop comes back"]);
        says(
            &of_race("As[0]", (0, "copies to it asynchronously", 4), (0, "reads", 7)),
            &["behind the wait for the copies and before line 7"],
        );
        // Without lines nothing can be said of where.
        let unknown = vec![party(0, 0, "writes", None), party(0, 1, "reads", None)];
        says(&remedy(HazardKind::Race, "As[0]", unknown), &["__syncthreads() between the two accesses"]);
        let unknown = vec![party(0, 0, "reads", None), party(0, 1, "copies to it asynchronously", None)];
        says(&remedy(HazardKind::Race, "As[0]", unknown), &["own copies of line 77 of the PTX", "__syncthreads()"]);
    }

    #[test]
    fn no_barrier_fits_into_one_line() {
        for (place, one, other, words) in [
            ("line[0]", "reads", "writes", "read into a variable, then __syncthreads(), then write"),
            ("line[0]", "writes", "writes", "be written by one thread"),
        ] {
            says(&of_race(place, (0, one, 7), (0, other, 7)), &[words]);
        }
        says(&of_race("C[0]", (0, "reads", 5), (0, "writes", 5)), &["belong to one thread", "atomicAdd()"]);
        says(&of_race("As[0]", (0, "reads", 4), (0, "writes", 4)), &["belong to one thread", "atomicAdd()"]);
        // Two stores of C in two lines: a barrier would only choose which one stays.
        says(&of_race("C[0]", (0, "writes", 5), (0, "writes", 6)), &["be stored by one thread"]);
        says(&of_race("As[0]", (0, "updates atomically", 4), (0, "writes", 7)), &["access at line 7 atomic"]);
    }

    #[test]
    fn copies_are_waited_for_by_the_thread_that_made_them() {
        let copy = |thread, line| party(0, thread, "copies to it asynchronously", Some(line));
        let own = remedy(HazardKind::CopyNotWaited, "As[0]", vec![copy(3, 1), party(0, 3, "reads", Some(3))]);
        says(&own, &["wait for the copy of line 1", "before line 3 reads"]);
        assert!(!own.contains("__syncthreads"), "{own}");
        let other = remedy(HazardKind::CopyNotWaited, "As[0]", vec![copy(3, 1), party(0, 4, "reads", Some(3))]);
        says(&other, &["its own copies of line 1", "__syncthreads()", "another thread copied"]);
        let twice = remedy(HazardKind::CopyOverwritten, "As[0]", vec![copy(3, 1), copy(3, 1)]);
        says(&twice, &["before the next one", "second buffer"]);
        let stored = remedy(HazardKind::CopyOverwritten, "As[0]", vec![copy(3, 1), party(0, 3, "writes", Some(4))]);
        says(&stored, &["before line 4 writes"]);
    }

    #[test]
    fn barriers_and_coverage_name_their_lines_and_arrays() {
        let two = |a, b| vec![party(0, 0, "waits at the barrier", Some(a)), party(0, 40, "has ended", Some(b))];
        says(&remedy(HazardKind::ExitBeforeBarrier, "barrier 0", two(2, 7)), &["do not return at line 7", "line 2"]);
        let end = remedy(HazardKind::ExitBeforeBarrier, "barrier 0", two(2, 9));
        says(&end, &["reach the barrier at line 2", "the end of the kernel"]);
        assert!(!end.contains("return"), "{end}");
        says(&remedy(HazardKind::DifferentBarriers, "barrier 0", two(2, 4)), &["some to line 2 and others to line 4"]);
        let one = |action| vec![party(0, 0, action, Some(3))];
        says(&remedy(HazardKind::UninitialisedShared, "As[0][5]", one("reads")), &["write all of As before line 3"]);
        says(&remedy(HazardKind::UninitialisedGlobal, "C[0]", one("reads")), &["only write to C"]);
        says(&remedy(HazardKind::UnsetRegister, "register %f1", one("reads")), &["where it is declared"]);
        says(&remedy(HazardKind::WrongArray, "As[0]", one("writes")), &["index at line 3", "into As"]);
        std::fs::write(source(), "").unwrap();
        says(&remedy(HazardKind::NeverWritten, "C[1], ... (3 of 9 elements)", vec![]), &["blocks cover all of C"]);
        std::fs::write(source(), "").unwrap();
        says(
            &remedy(HazardKind::WrittenTwice, "C[1] (1 of 9 elements)", vec![]),
            &["one thread own each element of C"],
        );
        // Sides that do not fit the kind still give a remedy.
        std::fs::write(source(), "").unwrap();
        assert!(!remedy(HazardKind::Race, "C[0]", vec![]).is_empty());
    }

    #[test]
    fn out_of_bounds_depends_on_the_array_and_on_reading_or_writing() {
        let outside = |space, access, place: &str| {
            fault(&FaultKind::OutOfBounds { space, access, bytes: 4, place: place.into() }, &arrays())
        };
        use AccessKind::{CopySource, Load, Store};
        says(&outside(Space::Global, Load, "A[64] is right past the end of A"), &["row < M, column < K", "take 0"]);
        says(&outside(Space::Global, CopySource, "B[64] is right past"), &["row < K, column < N", "take 0"]);
        says(&outside(Space::Global, Store, "C[64] is right past"), &["store only if row < M and col < N"]);
        says(&outside(Space::Global, Store, "A[64] is right past"), &["A is only read", "belongs to C"]);
        says(&outside(Space::Global, Load, "workspace[9] is right past"), &["size of workspace"]);
        says(&outside(Space::Global, Load, "address 0x40 is in no array"), &["how the address is computed"]);
        says(&outside(Space::Shared, Store, "line + 128 bytes, right past"), &["extents of line", "extern __shared__"]);
        says(&outside(Space::Shared, Load, "shared address 0x9999"), &["extents of the array"]);
        says(&outside(Space::Local, Load, "byte 64 of the thread's 32"), &["array's extents"]);
        let odd = |space| FaultKind::Misaligned { space, access: Load, bytes: 16, place: "A[1]".into() };
        says(&fault(&odd(Space::Global), &arrays()), &["multiple of 16", "narrower accesses", "4 elements"]);
        says(&fault(&odd(Space::Shared), &arrays()), &["rows of the shared array", "4 elements"]);
    }

    #[test]
    fn every_fault_has_a_remedy_of_its_own() {
        let kinds = [
            FaultKind::DivergentBarrier { reached: 1, expected: 2 },
            FaultKind::Deadlock { waiting: String::new() },
            FaultKind::MissingLanes { named: 3, present: 1 },
            FaultKind::Trap,
            FaultKind::Other("strange".into()),
        ];
        let remedies: std::collections::BTreeSet<String> = kinds.iter().map(|kind| fault(kind, &arrays())).collect();
        assert_eq!(remedies.len(), kinds.len());
    }
}
