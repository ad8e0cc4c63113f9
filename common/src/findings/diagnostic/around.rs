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

/// The numbers of the lines around a place that begin with one of these words, the innermost first; then those around the call
/// of its function.
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

/// The conditions that a place is under: those around it, and those above in its function under which a thread leaves that or a
/// loop around the place.
pub fn guards(place: &Location) -> Vec<u32> {
    let source = Source::of(place);
    let mut found = around(place, &["if"]);
    for own in and_callers(place).filter_map(|place| source.statement(&place)) {
        let own_loops = source.around(own, LOOPS);
        for at in source.function(source.statements[own].function).filter(|&at| at < own) {
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

/// The lines that set what a line uses, and what those use, each with the name: at most so many, those first that tell most of
/// where an element lies. Of a line that stores only what stands before the `=` counts.
pub fn setters(place: &Location, stores: bool, most: usize) -> Vec<(String, u32)> {
    let mut found = setters_in(place, stores, 2);
    found.truncate(most);
    found
}

/// The lines from which the place follows that a thread stores to, if they name the thread.
pub fn set_by_thread(place: &Location) -> Vec<(String, u32)> {
    let source = Source::of(place);
    let mut found = setters_in(place, true, 3);
    let names = |line: u32| {
        let all = (0..source.statements.len()).filter(|&at| source.line(at) == line);
        all.into_iter().any(|at| source.has(at, |word| matches!(word, "threadIdx" | "thread_idx")))
    };
    found.retain(|(_, line)| names(*line));
    found
}

/// Those that so many steps back lead to.
fn setters_in(place: &Location, stores: bool, steps: usize) -> Vec<(String, u32)> {
    let source = Source::of(place);
    let Some(own) = source.access(place) else { return vec![] };
    let function: Vec<usize> = source.function(source.statements[own].function).collect();
    let sets: Vec<(usize, Set)> =
        function.iter().flat_map(|&at| source.sets(at).into_iter().map(move |set| (at, set))).collect();
    let line = source.line(own);
    let mut found: Vec<(String, u32)> = vec![];
    let mut waiting = vec![own];
    for _ in 0..steps {
        let part = |at: usize| -> Range<usize> {
            let Range { start, end } = source.statements[at].tokens;
            match source.sets(at).first().filter(|set| at == own && !set.is_call()) {
                Some(set) if stores => start..set.value - 1,
                Some(set) => set.value.min(end)..end,
                None => start..end,
            }
        };
        let used: Vec<String> = waiting.drain(..).flat_map(|at| source.names(&part(at))).collect();
        for name in used {
            // Not how a tile is filled, nor loops over something else than the matrix.
            let is_local = |(at, set): &(usize, Set)| set.path == name && set.declares && !source.has(*at, is_shared);
            let is_tile = name.starts_with(char::is_uppercase) || !sets.iter().any(is_local);
            let counts = |at: usize, set: &Set| {
                let counter = source.statements[at].keyword == "for" && source.begins_with_number(at);
                let loops = counter && (stores || !source.has(at, is_size));
                let is_matrix = set.declares && !name.contains(char::is_lowercase);
                let is_fill = !set.method.is_empty() || is_tile && set.indexed;
                set.sets && ![loops, is_matrix, is_fill].contains(&true)
            };
            let is_it = |set: &Set| {
                let whole = name.split('.').next() == Some(&set.path);
                set.path == name || whole || set.root() == name && !set.indexed
            };
            // Of several variables of one name it is the one declared last before the line.
            let known = |(at, set): &&(usize, Set)| *at < own && set.declares && is_it(set) && source.is_seen(*at, own);
            let nearest = sets.iter().rfind(known).map(|(at, _)| *at);
            let is_set = |(at, set): &&(usize, Set)| *at != own && is_it(set) && counts(*at, set);
            let of_it = |(at, set): &&(usize, Set)| Some(*at) == nearest || !set.declares;
            for (at, set) in sets.iter().filter(is_set).filter(of_it) {
                if set.line != line && found.iter().all(|(_, known)| *known != set.line) {
                    found.push((set.path.clone(), set.line));
                    waiting.push(*at);
                }
            }
        }
    }
    // Sizes and blocks decide which part of a matrix it is; what does not is further away.
    let tells = |line: u32| {
        let on_line = function.iter().filter(|&&at| source.line(at) == line);
        on_line.into_iter().any(|&at| source.has(at, |word| is_size(word) || word == "blockIdx"))
    };
    found.sort_by_key(|(_, number)| (!tells(*number), line.abs_diff(*number)));
    found
}

/// Whether a word names a size of the matrices.
fn is_size(word: &str) -> bool {
    matches!(word, "M" | "N" | "K")
}

fn is_shared(word: &str) -> bool {
    matches!(word, "__shared__" | "shared")
}

/// What each statement of the file of a place sets, with its number.
fn all_sets(source: &Source) -> impl Iterator<Item = (usize, Set)> {
    (0..source.statements.len()).flat_map(|at| source.sets(at).into_iter().map(move |set| (at, set)))
}

/// The statement that declares a shared array, and its line.
fn shared(source: &Source, array: &str) -> Option<(usize, u32)> {
    let declares = |(at, set): &(usize, Set)| set.declares && set.path == array && source.has(*at, is_shared);
    all_sets(source).find(declares).map(|(at, set)| (at, set.line))
}

/// The line that declares a shared array.
pub fn shared_declaration(place: &Location, array: &str) -> Option<u32> {
    shared(&Source::of(place), array).map(|(_, line)| line)
}

/// Whether a shared array is declared as one of words of four bytes.
pub fn of_words(place: &Location, array: &str) -> bool {
    let source = Source::of(place);
    let of = |word: &str| ["ELEMENT", "float", "int", "unsigned"].contains(&word);
    shared(&source, array).is_some_and(|(at, _)| source.has(at, of))
}

/// The pointers that are set to a place in an array, such as `As` in `float* As = shared;`.
pub fn pointers(place: &Location, array: &str) -> Vec<String> {
    let source = Source::of(place);
    let is_one = |(at, set): &(usize, Set)| {
        let value = set.value..source.statements[*at].tokens.end;
        set.sets
            && set.declares
            && source.has(*at, |word| word == "*")
            && source.names(&value).iter().any(|it| it == array)
    };
    all_sets(&source).filter(is_one).map(|(_, set)| set.path).collect()
}

/// What a place gives a value: `sum` in `sum[m] += a * b`.
pub fn set_by_line(place: &Location) -> Option<Set> {
    let source = Source::of(place);
    let at = source.access(place)?;
    source.sets(at).into_iter().find(|set| set.sets)
}

/// Whether what a place gives a value goes on from the one before: by `+=`, or because it stands in the value, too.
pub fn keeps(place: &Location) -> bool {
    let source = Source::of(place);
    let Some(at) = source.access(place) else { return true };
    let keeps = |set: &Set| {
        let value = set.value..source.statements[at].tokens.end;
        set.operator != "=" || source.names(&value).iter().any(|name| name.split('.').next() == Some(set.root()))
    };
    source.sets(at).iter().find(|set| set.sets).is_none_or(keeps)
}

/// The other lines of a function that give a name a value, the first six.
pub fn lines_that_set(place: &Location, name: &str) -> Vec<u32> {
    let source = Source::of(place);
    let Some(own) = source.access(place) else { return vec![] };
    let others = source.function(source.statements[own].function).filter(|&at| at != own);
    let sets = others.flat_map(|at| source.sets(at)).filter(|set| set.sets && set.root() == name);
    let mut lines: Vec<u32> = sets.map(|set| set.line).filter(|line| Some(*line) != place.line).collect();
    lines.dedup();
    lines.truncate(6);
    lines
}

/// The variable whose value a place stores: `all` in `C[row] = all;`.
pub fn value_of(place: &Location) -> Option<String> {
    let source = Source::of(place);
    let at = source.access(place)?;
    let set = source.sets(at).into_iter().find(|set| set.operator == "=")?;
    let value = set.value..source.statements[at].tokens.end;
    let indexed = source.words(&value).get(1).is_none_or(|after| matches!(after.text.as_str(), "[" | "."));
    source.names(&value).into_iter().next().filter(|_| indexed)
}

/// Whether a variable is set from the numbers of the thread or of its block.
pub fn of_thread(place: &Location, name: &str) -> bool {
    let source = Source::of(place);
    let numbers = ["threadIdx", "thread_idx", "blockIdx", "block_idx"];
    all_sets(&source).any(|(at, set)| set.path == name && source.has(at, |word| numbers.contains(&word)))
}

/// The lines of a file in which lanes exchange values.
pub fn by_shuffles(place: &Location) -> Vec<u32> {
    let source = Source::of(place);
    let all = (0..source.statements.len()).filter(|&at| source.has(at, |word| word.contains("shfl")));
    all.map(|at| source.line(at)).collect()
}

/// Whether a file has a word.
pub fn file_has(place: &Location, word: &str) -> bool {
    let source = Source::of(place);
    (0..source.statements.len()).any(|at| source.has(at, |known| known == word))
}

/// The line that declares what a line adds to or sets, `sum` in `sum[m] += a * b`, with its name.
pub fn declaration(place: &Location) -> Option<(String, u32)> {
    let name = set_by_line(place)?.root().to_owned();
    Some((name.clone(), declared(place, &name)?))
}

/// The line that declares a variable, the last one above a place.
fn declared(place: &Location, name: &str) -> Option<u32> {
    let source = Source::of(place);
    let own = source.access(place)?;
    let above = source.function(source.statements[own].function).filter(|&at| at < own);
    above.flat_map(|at| source.sets(at)).filter(|set| set.declares && set.path == name).last().map(|set| set.line)
}

/// The lines that declare the variables which a place uses without a value, each with the name.
pub fn without_value(place: &Location) -> Vec<(String, u32)> {
    let source = Source::of(place);
    let Some(own) = source.access(place) else { return vec![] };
    let names = source.names(&source.statements[own].tokens);
    let sets: Vec<Set> = source.function(source.statements[own].function).flat_map(|at| source.sets(at)).collect();
    let is_bare = |name: &String| sets.iter().any(|set| set.path == *name && set.declares && !set.sets);
    names.into_iter().filter(is_bare).filter_map(|name| Some((name.clone(), declared(place, &name)?))).collect()
}

/// The lines of a file that store to an array, the first two.
pub fn stores_of(place: &Location, array: &str) -> Vec<u32> {
    let source = Source::of(place);
    let stores = |set: &Set| set.indexed && (set.root() == array || set.last() == array);
    let lines = all_sets(&source).filter(|(_, set)| stores(set)).map(|(_, set)| set.line);
    let mut lines: Vec<u32> = lines.filter(|line| Some(*line) != place.line).collect();
    lines.dedup();
    lines.truncate(2);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::places;

    const KERNEL: &str = "__global__ void k() {\n    const int row = blockIdx.y * T + y;\n    const float* a_from = A + row * K;\n    \
                          int far = 3;\n    for (int k0 = 0; k0 < K; k0 += T) {\n        if (k0)\n            s[y] = *a_from;\n        \
                          a_from += T;\n    }\n}\nvoid other() {\n    a_from = 0;\n}\n";

    #[test]
    fn the_lines_around_and_those_that_set_what_is_used() {
        places::may_be_shown("around.cu", KERNEL);
        let at = |line| Location { file: Some("around.cu".into()), line: Some(line), ..Location::default() };
        assert_eq!(around(&at(7), &["for", "if"]), [6, 5]);
        assert_eq!(around(&at(8), &["for", "if"]), [5]);
        let set = |name: &str, line| (name.to_owned(), line);
        assert_eq!(setters(&at(7), false, 9), [set("a_from", 3), set("row", 2), set("a_from", 8)]);
        assert_eq!(setters(&at(7), true, 9), []);
        assert_eq!(setters(&at(7), false, 1), [set("a_from", 3)]);
    }
}
