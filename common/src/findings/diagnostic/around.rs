//! What lies around a line of a kernel, by how it is written: the loops and conditions that it stands in, and the lines that
//! set what it uses.

use std::ops::Range;

use simt::Location;

use super::source::{Set, Source};

/// A place, and the calls that lead there, the innermost first.
pub fn and_callers(place: &Location) -> impl Iterator<Item = Location> {
    let calls = place.calls.iter().map(|&(line, column)| (Some(line), Some(column)));
    let all = std::iter::once((place.line, place.column)).chain(calls);
    all.map(|(line, column)| Location { line, column, calls: Box::default(), ..place.clone() })
}

/// The lines of the statements around a place that begin with one of these words, the innermost first; then of those around the
/// call of its function.
pub fn around(place: &Location, words: &[&str]) -> Vec<u32> {
    let source = Source::of(place);
    let mut found = vec![];
    for at in and_callers(place).filter_map(|place| source.statement(&place)) {
        let lines = source.around(at, words).into_iter().map(|at| source.line(at));
        for line in lines.collect::<Vec<_>>() {
            if !found.contains(&line) {
                found.push(line);
            }
        }
    }
    found
}

/// The conditions that decide whether a thread comes to a place: those around it, and those above it under which a thread leaves
/// its function, or a loop around the place.
pub fn guards(place: &Location) -> Vec<u32> {
    let source = Source::of(place);
    let mut found = around(place, &["if"]);
    for own in and_callers(place).filter_map(|place| source.statement(&place)) {
        let own_loops = source.around(own, LOOPS);
        for at in source.function(own).filter(|&at| at < own) {
            let leaves = match source.statements[at].keyword {
                "return" => true,
                "break" | "continue" => source.around(at, LOOPS).first().is_some_and(|left| own_loops.contains(left)),
                _ => false,
            };
            let condition = source.around(at, &["if"]).first().map(|&at| source.line(at)).filter(|_| leaves);
            found.extend(condition.filter(|line| !found.contains(line)));
        }
    }
    found
}

const LOOPS: &[&str] = &["for", "while"];

/// The lines that set what a line uses, and what those lines use in turn, each with the name: at most so many, and first those
/// that explain most about where an element lies. In a line that stores, only what stands before the `=` counts.
pub fn setters(place: &Location, stores: bool, most: usize) -> Vec<(String, u32)> {
    let mut found = setters_in(place, stores, 2);
    found.truncate(most);
    found
}

/// The lines that decide where a thread stores, if they name the thread.
pub fn set_by_thread(place: &Location) -> Vec<(String, u32)> {
    let source = Source::of(place);
    let mut found = setters_in(place, true, 3);
    found.retain(|(_, line)| source.line_has(*line, |word| matches!(word, "threadIdx" | "thread_idx")));
    found
}

/// Such lines, found by going so many steps back.
fn setters_in(place: &Location, stores: bool, steps: usize) -> Vec<(String, u32)> {
    let source = Source::of(place);
    let Some(own) = source.access(place) else { return vec![] };
    let sets: Vec<&Set> = source.sets_around(own).collect();
    let line = source.line(own);
    let mut found: Vec<(String, u32)> = vec![];
    let mut waiting = vec![own];
    for _ in 0..steps {
        let part = |at: usize| -> Range<usize> {
            let Range { start, end } = source.statements[at].tokens;
            match source.sets_of(at).next().filter(|set| at == own && set.has_sides()) {
                Some(set) if stores => start..set.value.start - 1,
                Some(set) => set.value.clone(),
                None => start..end,
            }
        };
        let used: Vec<String> = waiting.drain(..).flat_map(|at| source.names(&part(at))).collect();
        for name in used {
            // Lines that fill a tile, and loops over something other than the matrix, do not count.
            let is_local = |set: &&Set| set.path == name && set.declares && !source.has(set.at, is_shared);
            let is_tile = name.starts_with(char::is_uppercase) || !sets.iter().any(is_local);
            let counts = |set: &Set| {
                let counter = source.statements[set.at].keyword == "for" && source.begins_with_number(set.at);
                let loops = counter && (stores || !source.has(set.at, is_size));
                let is_matrix = set.declares && !name.contains(char::is_lowercase);
                let is_fill = !set.method.is_empty() || is_tile && set.indexed;
                set.sets && ![loops, is_matrix, is_fill].contains(&true)
            };
            let is_it = |set: &Set| {
                let whole = name.split('.').next() == Some(&set.path);
                set.path == name || whole || set.root() == name && !set.indexed
            };
            // If several variables have the name, it means the one declared last before the line.
            let known = |set: &&&Set| set.at < own && set.declares && is_it(set) && source.is_seen(set.at, own);
            let nearest = sets.iter().rfind(known).map(|set| set.at);
            let is_set = |set: &&&Set| set.at != own && is_it(set) && counts(set);
            let of_it = |set: &&&Set| Some(set.at) == nearest || !set.declares;
            for set in sets.iter().filter(is_set).filter(of_it) {
                if set.line != line && found.iter().all(|(_, known)| *known != set.line) {
                    found.push((set.path.clone(), set.line));
                    waiting.push(set.at);
                }
            }
        }
    }
    // Lines with sizes and blocks come first, because they decide which part of a matrix it is.
    let tells = |line: u32| source.line_has(line, |word| is_size(word) || word == "blockIdx");
    found.sort_by_key(|(_, number)| (!tells(*number), line.abs_diff(*number)));
    found
}

/// Whether a word names a size of the matrices.
pub fn is_size(word: &str) -> bool {
    matches!(word, "M" | "N" | "K")
}

fn is_shared(word: &str) -> bool {
    matches!(word, "__shared__" | "shared")
}

/// The shared array of this name, where it is declared.
pub fn shared<'a>(source: &'a Source, array: &str) -> Option<&'a Set> {
    source.sets().iter().find(|set| set.declares && set.path == array && source.has(set.at, is_shared))
}

/// Whether a shared array is declared as one of words of four bytes.
pub fn of_words(place: &Location, array: &str) -> bool {
    let source = Source::of(place);
    let of = |word: &str| ["ELEMENT", "float", "int", "unsigned"].contains(&word);
    shared(&source, array).is_some_and(|set| source.has(set.at, of))
}

/// The pointers that are set to a place in an array, such as `As` in `float* As = shared;`.
pub fn pointers(place: &Location, array: &str) -> Vec<String> {
    let source = Source::of(place);
    let points = |set: &&Set| set.sets && set.declares && source.has(set.at, |word| word == "*");
    let is_one = |set: &&Set| points(set) && source.names(&set.value).iter().any(|name| name == array);
    source.sets().iter().filter(is_one).map(|set| set.path.clone()).collect()
}

/// What a place gives a value: `sum` in `sum[m] += a * b`.
pub fn set_by_line(place: &Location) -> Option<Set> {
    let source = Source::of(place);
    let found = source.sets_of(source.access(place)?).find(|set| set.sets);
    found.cloned()
}

/// Whether the new value of what a place sets contains the old one: by `+=`, or because its name is in the value.
pub fn keeps(place: &Location) -> bool {
    set_by_line(place).is_none_or(|set| {
        let names = Source::of(place).names(&set.value);
        set.operator != "=" || names.iter().any(|name| name.split('.').next() == Some(set.root()))
    })
}

/// Whether a variable is set from the numbers of the thread or of its block.
pub fn of_thread(place: &Location, name: &str) -> bool {
    let source = Source::of(place);
    let numbers = ["threadIdx", "thread_idx", "blockIdx", "block_idx"];
    source.sets().iter().any(|set| set.path == name && source.has(set.at, |word| numbers.contains(&word)))
}

/// The lines of a file that have a word of this kind.
pub fn lines_with(place: &Location, is_it: impl Fn(&str) -> bool) -> Vec<u32> {
    let source = Source::of(place);
    (0..source.statements.len()).filter(|&at| source.has(at, &is_it)).map(|at| source.line(at)).collect()
}
