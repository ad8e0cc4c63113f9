//! What to do about a hazard. The remedy belongs to the situation and not to the kind: a barrier helps threads of one
//! block, never two blocks; and where in the kernel it belongs depends on how the two lines lie to each other.

use simt::{AccessKind, FaultKind, Hazard, HazardKind, Location, Party, Space};

use super::situation::{Arrays, Deed, Role, Way, array_name, way};
use super::underline;
use crate::places::Sources;

/// One sentence on what to do about a hazard.
pub fn hazard(hazard: &Hazard, arrays: &Arrays, sources: &mut Sources) -> String {
    let name = arrays.in_place(&hazard.place);
    let array = name.unwrap_or("the array");
    match (hazard.kind, &hazard.parties[..]) {
        (HazardKind::Race, [a, b]) => race(a, b, array, name.map_or(Role::Unknown, |name| arrays.role(name)), sources),
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
        (HazardKind::ExitBeforeBarrier, [waits, ended]) => format!(
            "do not return at {}: let every thread go on to the barrier at {}, and put the condition around the work \
             instead",
            at(&ended.location),
            at(&waits.location)
        ),
        (HazardKind::WrittenTwice, _) => {
            format!("let one thread own each element of {array}, and let it store the sum once, after its loop")
        }
        (HazardKind::NeverWritten, _) => format!(
            "let the blocks cover all of {array} (round their number up), and let every thread whose row < M and \
             col < N store its element"
        ),
        // A kind that has other sides than expected, or that is newer than this table.
        (kind, _) => kind.remedy().into(),
    }
}

/// A place for people who look at the picture above.
fn at(location: &Location) -> String {
    match location.line {
        Some(line) => format!("line {line}"),
        None => format!("line {} of the PTX", location.ptx_line),
    }
}

fn race(a: &Party, b: &Party, array: &str, role: Role, sources: &mut Sources) -> String {
    let (first, second) = (Deed::of(a.action), Deed::of(b.action));
    let both_write = first.writes() && second.writes();
    if role == Role::Input {
        return format!("{array} is read by all blocks and must stay as it is: store the result in C");
    }
    let one_is_atomic = (first == Deed::Updates) != (second == Deed::Updates);
    let adds = |sources: &mut Sources| changes(sources, a, array) || changes(sources, b, array);
    if a.block != b.block {
        return if one_is_atomic {
            let plain = if first == Deed::Updates { b } else { a };
            format!(
                "make the access at {} atomic as well: blocks never wait for each other, so no barrier helps",
                at(&plain.location)
            )
        } else if both_write && !adds(sources) {
            format!(
                "let each element of {array} belong to one block: look at how its index follows from blockIdx; no \
                 barrier helps, because blocks never wait for each other"
            )
        } else if adds(sources) {
            format!(
                "let one block form the whole sum of each element of {array}, or add to it with atomicAdd(); no barrier \
                 helps, because blocks never wait for each other"
            )
        } else {
            format!(
                "let only the block that writes an element of {array} read it, or read it in a launch of its own; no \
                 barrier helps, because blocks never wait for each other"
            )
        };
    }
    let (above, below) = if a.location.line <= b.location.line { (a, b) } else { (b, a) };
    match way(sources, &above.location, &below.location) {
        _ if one_is_atomic && both_write => {
            let plain = if first == Deed::Updates { b } else { a };
            format!(
                "make the access at {} atomic as well, or put a __syncthreads() between the two",
                at(&plain.location)
            )
        }
        Way::Same if adds(sources) => format!(
            "let each element of {array} belong to one thread: look at how its index follows from threadIdx; if several \
             threads must add to one element, use atomicAdd()"
        ),
        Way::Same if !both_write => format!(
            "{} reads and writes in one go: read into a variable, then __syncthreads(), then write",
            at(&a.location)
        ),
        Way::Same => format!(
            "let each element of {array} be written by one thread: look at how its index follows from threadIdx"
        ),
        _ if both_write && role == Role::Output => {
            format!("let each element of {array} be stored by one thread: look at how its index follows from threadIdx")
        }
        Way::Down => format!("put a __syncthreads() {}", between(above, below)),
        Way::Back => format!("put a __syncthreads() {}", on_the_way_back(above, below)),
        Way::Unknown => "put a __syncthreads() between the two accesses, on every way from the one to the other".into(),
    }
}

/// Where the barrier belongs on the way from one line down to another, and what it is good for.
fn between(above: &Party, below: &Party) -> String {
    let (one, two) = (at(&above.location), at(&below.location));
    match (Deed::of(above.action), Deed::of(below.action)) {
        (Deed::Copies, _) => {
            format!("behind the wait for the copies and before {two}, because a thread waits for its own copies only")
        }
        (deed, Deed::Reads) if deed.writes() => {
            format!("between {one} and {two}, so that everything is written before any thread reads it")
        }
        (Deed::Reads, deed) if deed.writes() => {
            format!("between {one} and {two}, so that every thread has read before one overwrites")
        }
        _ => format!("between {one} and {two}, or let one thread write each element"),
    }
}

/// Where the barrier belongs on the way back from a line to another above it, in the next pass of a loop.
fn on_the_way_back(above: &Party, below: &Party) -> String {
    let (one, two) = (at(&above.location), at(&below.location));
    match (Deed::of(above.action), Deed::of(below.action)) {
        (deed, Deed::Reads) if deed.writes() => format!(
            "after {two}, before the loop comes back to {one}: there every thread must have read before one overwrites"
        ),
        (Deed::Reads, deed) if deed.writes() => format!(
            "after {two}, before the loop comes back to {one}: there everything must be written before a thread reads it"
        ),
        _ => format!("after {two}, before the loop comes back to {one}"),
    }
}

/// Whether a side's line reads and writes an element of the array, as `C[i] += x` does.
fn changes(sources: &mut Sources, side: &Party, array: &str) -> bool {
    let (Some(file), Some(line)) = (&side.location.file, side.location.line) else { return false };
    let text = sources.line(file, line).map(underline::code).unwrap_or_default();
    underline::uses(text, array).iter().any(|found| found.reads && found.writes)
}

fn copy_not_waited(copy: &Party, read: &Party) -> String {
    let (from, to) = (at(&copy.location), at(&read.location));
    if copy.thread == read.thread {
        format!("wait for the copy of {from} (__pipeline_wait_prior or cp.async.wait_group) before {to} reads")
    } else {
        format!(
            "let every thread wait for its copies of {from} (__pipeline_wait_prior or cp.async.wait_group), then put a \
             __syncthreads(), before {to} reads what another thread copied"
        )
    }
}

fn copy_overwritten(copy: &Party, write: &Party, array: &str) -> String {
    let (from, to) = (at(&copy.location), at(&write.location));
    if Deed::of(write.action) == Deed::Copies {
        format!(
            "wait for the copy of {from} (__pipeline_wait_prior or cp.async.wait_group) before the next one into the same \
             place starts, or give {array} a second buffer and use the two in turn"
        )
    } else {
        format!(
            "wait for the copy of {from} (__pipeline_wait_prior or cp.async.wait_group) before {to} writes the same place"
        )
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
            let test =
                if name == "A" { "row < M and the index along K < K" } else { "the index along K < K and col < N" };
            format!("read {name} only if {test}, and take 0 for what lies beyond the edge")
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
