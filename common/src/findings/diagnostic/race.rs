//! What to do about a data race. A barrier helps threads of one block, never two blocks; and which barrier is missing
//! depends on how the two lines lie to each other.

use simt::{Action, Location, Party};

use super::around::{set_by_line, setters};
use super::situation::{Role, Way, is_barrier, way};
use super::stride;
use super::underline::{code, uses};
use crate::code::places;

/// A place for people who look at the picture above.
pub fn at(location: &Location) -> String {
    match location.line {
        Some(line) => format!("line {line}"),
        None => format!("line {} of the PTX", location.ptx_line),
    }
}

/// The line of a place without its comment; empty if the source is unknown.
pub fn code_at(location: &Location) -> String {
    let known = location.file.as_ref().zip(location.line);
    known.and_then(|(file, line)| places::line(file, line)).map(|line| code(&line).to_owned()).unwrap_or_default()
}

/// What to do when a thread reads what another thread copies.
pub fn copied_by_another(copy: &Party, read: &Party) -> String {
    format!(
        "let every thread wait for its own copies of {} (cp.async.wait_group) and then at a __syncthreads(), before {} \
         reads what another thread copied",
        at(&copy.location),
        at(&read.location)
    )
}

/// What to do if one of the two lines multiplies a row by another size than that of the array's columns.
pub fn wrong_stride(a: &Party, b: &Party, array: &str, role: Role) -> Option<String> {
    if role == Role::Input {
        return None;
    }
    [a, b].into_iter().find_map(|side| stride::remedy(&code_at(&side.location), array))
}

/// One sentence on what to do about a race of two threads for an element of `array`.
pub fn remedy(a: &Party, b: &Party, array: &str, role: Role) -> String {
    if role == Role::Input {
        return format!("{array} is read by all blocks and must stay as it is: store the result in C");
    }
    if let Some(remedy) = wrong_stride(a, b, array, role) {
        return remedy;
    }
    let (first, second) = (a.action, b.action);
    let both_write = first.writes() && second.writes();
    // The access that is not atomic beside one that is.
    let plain = match (first, second) {
        (Action::Updates, Action::Updates) => None,
        (Action::Updates, _) => Some(at(&b.location)),
        (_, Action::Updates) => Some(at(&a.location)),
        _ => None,
    };
    // `C[i] += x` reads and writes the element in one line.
    let adds = [a, b]
        .into_iter()
        .any(|side| uses(&code_at(&side.location), array).iter().any(|found| found.reads && found.writes));
    if a.block != b.block && (first, second) == (Action::Updates, Action::Updates) {
        return "give the update a scope that holds both blocks: atomicAdd() and not atomicAdd_block(), for instance"
            .into();
    }
    if a.block != b.block {
        let (writer, reader) = if first.writes() { (a, b) } else { (b, a) };
        let belong = match plain {
            Some(plain) => {
                return format!(
                    "make the access at {plain} atomic as well: blocks never wait for each other, so no barrier helps"
                );
            }
            None if adds => "let one block form the whole sum of each element of {}, or add to it with atomicAdd()",
            None if both_write => {
                "let each element of {} belong to one block: look at how its index follows from blockIdx"
            }
            None if counts(&a.location) => {
                return format!(
                    "put a __threadfence() between {} and the atomic operation that tells the other block of it, and \
                     another one between that block's atomic operation and {}",
                    at(&writer.location),
                    at(&reader.location)
                );
            }
            None => "let only the block that writes an element of {} read it, or read it in a launch of its own",
        };
        return belong.replace("{}", array) + "; no barrier helps, because blocks never wait for each other";
    }
    let one_thread = |verb: &str| {
        format!("let each element of {array} {verb} one thread: look at how its index follows from threadIdx")
    };
    let (above, below) = if a.location.line <= b.location.line { (a, b) } else { (b, a) };
    match (way(&above.location, &below.location), plain) {
        (_, Some(plain)) if both_write => {
            format!("make the access at {plain} atomic as well, or put a __syncthreads() between the two")
        }
        (Way::Same, _) if adds => {
            one_thread("belong to") + "; if several threads must add to one element, use atomicAdd()"
        }
        (Way::Same, _) if !both_write && role == Role::Output => {
            one_thread("be read and stored by") + "; what others read there is changed or not, by chance"
        }
        (Way::Same, _) if !both_write => format!(
            "{} reads and writes in one go: read into a variable, then __syncthreads(), then write",
            at(&a.location)
        ),
        (Way::Same, _) => one_thread("be written by"),
        _ if both_write && role == Role::Shared && apart(a, b, array).is_some() => {
            apart(a, b, array).unwrap_or_default()
        }
        _ if both_write && role == Role::Output => one_thread("be stored by"),
        // No block has to exchange values in C, so a barrier would only hide that an element has two owners.
        _ if array == "C" && role == Role::Output => {
            one_thread("belong to") + "; what threads exchange belongs in shared memory"
        }
        (Way::WaitLast | Way::Unknown, _) if (first, second) == (Action::Copies, Action::Reads) => {
            copied_by_another(a, b)
        }
        (Way::WaitLast | Way::Unknown, _) if (first, second) == (Action::Reads, Action::Copies) => {
            copied_by_another(b, a)
        }
        (Way::Unknown, _) => {
            "put a __syncthreads() between the two accesses, on every way from the one to the other".into()
        }
        (way, _) => {
            let put = format!("put a __syncthreads() {}", barrier(way != Way::Down, above, below));
            match conditional(&below.location) {
                Some(line) if way == Way::Back => format!(
                    "{put}; the one in line {line} is under a condition: let every thread come to it in every step"
                ),
                _ => put,
            }
        }
    }
}

/// What to do about two lines that store to one place in what the kernel takes for two arrays.
fn apart(a: &Party, b: &Party, array: &str) -> Option<String> {
    let [one, other] = [a, b].map(|party| set_by_line(&code_at(&party.location)).unwrap_or_default().to_owned());
    let distinct = one != other && !one.is_empty() && !other.is_empty() && one != array && other != array;
    distinct.then(|| {
        let begins = |name: &str, place: &Location| {
            let set = setters(place, true, 9);
            set.iter().find(|(known, _)| known == name).map(|(_, line)| *line)
        };
        // The one that is declared last begins behind the other one.
        let (first, last) = (begins(&one, &a.location), begins(&other, &b.location));
        let (one, other, line) = if first > last { (other, one, first) } else { (one, other, last) };
        let line = line.map_or_else(String::new, |line| format!(" in line {line}"));
        format!("{one} and {other} overlap in shared memory: let {other} begin{line} behind the last element of {one}; a barrier would not help")
    })
}

/// A barrier below a line that only some threads come to, or only in some steps.
fn conditional(place: &Location) -> Option<u32> {
    let lines = places::lines(place.file.as_deref()?);
    let mut below = (1..).zip(lines.iter()).skip(place.line? as usize).take_while(|(_, text)| !text.starts_with('}'));
    let barrier = below.find(|(_, text)| is_barrier(text));
    barrier.filter(|(_, text)| code(text).contains("if")).map(|(number, _)| number)
}

/// Whether blocks may tell each other of something in this file: by atomic operations.
fn counts(place: &Location) -> bool {
    let lines = places::lines_of(place);
    lines.iter().any(|line| code(line).contains("atomic"))
}

/// Where the barrier belongs, and what it is good for: between the two lines, or on the way back from the lower to the
/// upper one in the next pass of a loop.
fn barrier(back: bool, above: &Party, below: &Party) -> String {
    let (one, two) = (at(&above.location), at(&below.location));
    let (first, second) = (above.action, below.action);
    if back {
        let then = match (first, second) {
            (action, Action::Reads) if action.writes() => ": there every thread must have read before one overwrites",
            (Action::Reads, action) if action.writes() => ": there everything must be written before a thread reads it",
            _ => "",
        };
        return format!("after {two}, before the loop comes back to {one}{then}");
    }
    let then = match (first, second) {
        (Action::Copies, _) => {
            return format!(
                "behind the wait for the copies and before {two}, because a thread waits for its own copies only"
            );
        }
        (action, Action::Reads) if action.writes() => "so that everything is written before any thread reads it",
        (Action::Reads, action) if action.writes() => "so that every thread has read before one overwrites",
        _ => "or let one thread write each element",
    };
    format!("between {one} and {two}, {then}")
}
