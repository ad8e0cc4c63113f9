//! What to do about a data race. A barrier helps threads of one block, never two blocks; and which barrier is missing
//! depends on how the two lines lie to each other.

use std::collections::BTreeSet;

use simt::{Action, Location, Party, Place};

use super::around::{LOOPS, STORE};
use super::situation::{Role, situation};
use super::source::Set;
use super::spot::{Spot, code};
use super::statements::is_name;
use super::texts::help;

/// A place in words, for a sentence below the picture.
pub fn at(location: &Location) -> String {
    match location.line {
        Some(line) => format!("line {line}"),
        None => format!("line {} of the PTX", location.ptx_line),
    }
}

/// What to do if one of the two lines multiplies a row by another size than that of the array's columns.
pub fn wrong_stride(a: &Party, b: &Party, array: &str, role: Role) -> Option<String> {
    if role == Role::Input {
        return None;
    }
    [a, b].into_iter().find_map(|side| Spot::of(&side.location).of_product(array))
}

/// One sentence on what to do about a race of two threads for an element of `array`.
pub fn remedy(a: &Party, b: &Party, array: &str, role: Role) -> String {
    let (writer, reader) = if a.action.writes() { (a, b) } else { (b, a) };
    // The access that is not atomic, if the other one is.
    let plain = if a.action == Action::Updates { b } else { a };
    let places = [a, b].map(|side| Spot::of(&side.location));
    let situation = situation(&places[0], &places[1]);
    let words = [("writer", writer), ("reader", reader), ("plain", plain), ("one", writer), ("two", reader)];
    let mut words = words.map(|(name, party)| (name, at(&party.location))).to_vec();
    let [above, below] = situation.as_ref().map(|both| both.lines).unwrap_or_default();
    words.extend([("above", above), ("below", below)].map(|(name, line)| (name, format!("line {line}"))));
    // A barrier in a loop around one of them alone would be executed too often, or too early.
    let of_loop = |at: usize, which: &str, line: u32| {
        let around = situation.as_ref().and_then(|both| both.loops[at]);
        around.map_or(format!("line {line}"), |around| format!("the {which}loop in line {around}"))
    };
    let ways = [("first", 0, "", above), ("next", 1, "", below), ("last", 1, "inner ", below)];
    words.extend(ways.map(|(name, at, which, line)| (name, of_loop(at, which, line))));
    words.push(("array", array.to_owned()));
    if role == Role::Input {
        return help("race for an input", &words);
    }
    if let Some(remedy) = wrong_stride(a, b, array, role) {
        return remedy;
    }
    let both_write = a.action.writes() && b.action.writes();
    let in_one_line = situation.is_some() && above == below;
    // What threads update in turns, or what one of them has put there for the others, is meant for all.
    let is_meant = [a, b].iter().any(|side| side.action == Action::Updates);
    let kind = places[0].shared_by_threads(array).filter(|_| !is_meant);
    if let Some((kind, _)) = kind.filter(|(kind, _)| *kind != "__shared__" || both_write || in_one_line) {
        words.push(("kind", kind.to_owned()));
        return help("variable of all threads", &words);
    }
    if a.block != b.block {
        return help(between_blocks(a, b, array), &words);
    }
    // One function, called from two lines, stores to both.
    let calls = std::iter::zip(&a.location.calls[..], &b.location.calls[..]).find(|(one, other)| one.0 != other.0);
    if let Some((one, other)) = calls.filter(|_| in_one_line && both_write) {
        let lines = BTreeSet::from([one.0, other.0]).into_iter().map(|line| format!("line {line}"));
        let both = lines.collect::<Vec<_>>().join(" and ") + " store";
        return help("one place for two arrays", &[("both", both)]);
    }
    let is_first = |party: &Party| Spot::of(&party.location).and_callers().any(|place| place.at.line == Some(above));
    let [first, second] = if is_first(a) { [a, b] } else { [b, a] }.map(|party| party.action);
    let is_copied = writer.action == Action::Copies && reader.action == Action::Reads;
    // If there is no barrier in the loop, what is stored below is read above in the next pass.
    let next_pass = situation.as_ref().is_some_and(|both| both.barrier_in_loop == Some(false))
        && first == Action::Reads
        && second.writes();
    let is_taken = situation.as_ref().is_some_and(|both| !both.barrier_between && both.barrier_before);
    let both_store = both_write && role == Role::Shared;
    let two_names = both_store.then(|| apart(places.each_ref(), array)).flatten();
    // In one pass, what the first of them has stored is lost, unless it is a number that stands for nothing.
    let stored = |place: &Spot| {
        let set = place.set_by_line().filter(|set| set.indexed && !place.names(&set.value).is_empty())?;
        Some(place.heads(set.at, LOOPS))
    };
    let [one, other] = places.each_ref().map(stored);
    let is_lost = both_store && one.is_some() && one == other;
    let cause = match situation {
        _ if both_write && (a.action == Action::Updates) != (b.action == Action::Updates) => {
            "race of an atomic and a plain access"
        }
        Some(_) if in_one_line && adds(a, b, array) => "race of threads that add in one line",
        Some(_) if in_one_line && both_write => "race of stores in one line",
        Some(_) if in_one_line && role == Role::Output => "race in one line for an output",
        Some(_) if in_one_line => "race in one line",
        _ if two_names.is_some() => return two_names.unwrap_or_default(),
        Some(both) if is_lost && !both.barrier_between => "race of two stores to one array",
        _ if both_write && role == Role::Output => "race of stores to an output",
        // No block has to exchange values in C, so a barrier would only hide that an element has two owners.
        _ if array == "C" && role == Role::Output => "race in C",
        _ if is_copied && is_taken && first == Action::Copies => "copy into what is read",
        None if is_copied => "copied by another thread",
        None => "race",
        Some(both) => {
            let under = |line: u32| help("barrier under a condition", &[("line", line.to_string())]);
            let under = both.conditional_barrier.map(under).unwrap_or_default();
            let of_warp = places[0].lines_with(|word| word == "__syncwarp");
            let of_warp = of_warp.first().map(|_| help("barrier of a warp", &[])).unwrap_or_default();
            // The barrier belongs between the two lines, or on the way back from the lower to the upper one in a loop's next pass.
            let way = if next_pass || both.barrier_between { "race back" } else { "race down" };
            let protects = match (first, second) {
                (Action::Copies, _) if way == "race down" => ": copied above",
                (first, Action::Reads) if first.writes() => ": read below",
                (Action::Reads, second) if second.writes() => ": read above",
                _ => "",
            };
            return help(&[way, protects].concat(), &words) + &under + &of_warp;
        }
    };
    help(cause, &words)
}

/// Whether the two accesses may be meant for different tiles: the array has several, or a loop reaches it through pointers.
pub fn has_buffers(a: &Party, b: &Party, place: &Place) -> bool {
    let Some(array) = place.array() else { return false };
    let [a, b] = [a, b].map(|side| Spot::of(&side.location));
    // `float* As = odd ? one : other;`
    let chooses = |set: &Set| a.is_pointer(set) && a.has(set.at, |word| word == "?");
    let many = a.pointers(&array.name).len() > 1 || !a.of_words(&array.name) || a.sets().iter().any(chooses);
    place.index().len() == 3 || many && situation(&a, &b).is_some_and(|both| both.barrier_in_loop.is_some())
}

/// Whether one of two lines reads and writes the element, as `C[i] += x` does.
fn adds(a: &Party, b: &Party, array: &str) -> bool {
    let changes =
        |side: &Party| Spot::of(&side.location).accesses(array).iter().any(|found| found.reads && found.writes);
    changes(a) || changes(b)
}

fn between_blocks(a: &Party, b: &Party, array: &str) -> &'static str {
    // With atomic operations, blocks may signal each other.
    let signals = |line: &String| code(line).contains("atomic");
    match [a, b].map(|side| side.action == Action::Updates) {
        [true, true] => "blocks whose updates are atomic for one block only",
        [true, false] | [false, true] => "blocks, one of which is not atomic",
        _ if adds(a, b, array) => "blocks that add",
        _ if a.action.writes() && b.action.writes() => "blocks that write",
        _ if Spot::of(&a.location).lines.iter().any(signals) => "blocks that tell each other",
        _ => "blocks that read what others write",
    }
}

/// What to do about two lines that store to one place, although the kernel treats it as two arrays.
pub fn apart([a, b]: [&Spot; 2], array: &str) -> Option<String> {
    let [one, other] = [a, b].map(|place| place.set_by_line().map_or(String::new(), |set| set.last().to_owned()));
    let distinct = one != other && !one.is_empty() && !other.is_empty() && one != array && other != array;
    distinct.then(|| {
        let begins = |name: &str, place: &Spot| {
            let set = place.ranked(STORE, 2);
            // A member of a structure is set with all of it.
            let root = place.set_by_line().map_or(String::new(), |set| set.root().to_owned());
            let of = |name: &str| set.iter().take(9).find(|(_, known, _)| known == name).map(|(.., line)| *line);
            of(name).or_else(|| of(&root))
        };
        // The array that is declared last begins behind the other one.
        let (first, last) = (begins(&one, a), begins(&other, b));
        let last_line = last.map(|line| b.on_line(line));
        let text = last_line.as_ref().map_or("", |line| line.code());
        let place = |name: &str| text.split(|c| !is_name(c)).position(|word| word == name);
        let here = |of: &str| (place(of), if of == one { a.at.line } else { b.at.line });
        let turned = first > last || first == last && here(&one) > here(&other);
        let (one, other, line) = if turned { (other, one, first) } else { (one, other, last) };
        let cause = if line.is_none() { "one array reaches into another" } else { "two names for one place" };
        let line = line.map_or_else(String::new, |line| format!(" in line {line}"));
        help(cause, &[("one", one), ("other", other), ("in_line", line)])
    })
}
