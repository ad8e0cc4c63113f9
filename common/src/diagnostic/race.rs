//! What to do about a data race. A barrier helps threads of one block, never two blocks; and which barrier is missing
//! depends on how the two lines lie to each other.

use simt::Party;

use super::situation::{Deed, Role, Way, way};
use super::underline;
use super::words::{at, code_at, copied_by_another};
use crate::places::Sources;

/// One sentence on what to do about a race of two threads for an element of `array`.
pub fn remedy(a: &Party, b: &Party, array: &str, role: Role, sources: &mut Sources) -> String {
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
        Way::Unknown => match (first, second) {
            (Deed::Copies, Deed::Reads) => copied_by_another(a, b),
            (Deed::Reads, Deed::Copies) => copied_by_another(b, a),
            _ => "put a __syncthreads() between the two accesses, on every way from the one to the other".into(),
        },
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
    underline::uses(code_at(sources, &side.location), array).iter().any(|found| found.reads && found.writes)
}
