//! What lies around a line of a kernel, by how it is written: the loops and conditions that it stands in, and the lines that
//! set what it uses.

use simt::Location;

use super::underline::{code, has_word, is_name, uses};
use crate::code::places;

/// The lines up to one of them, from there upwards, with their numbers.
fn numbered(lines: &[String], last: u32) -> impl Iterator<Item = (u32, &String)> {
    lines.iter().take(last as usize).enumerate().rev().map(|(at, text)| (at as u32 + 1, text))
}

/// The numbers of the lines around a place that begin with one of these words, the innermost first; then those around the call
/// of its function.
pub fn around(place: &Location, words: &[&str]) -> Vec<u32> {
    let lines = &places::lines_of(place);
    let calls = place.calls.iter().map(|(line, _)| *line);
    place.line.into_iter().chain(calls).flat_map(|line| around_line(lines, line, words)).collect()
}

/// The conditions that a place is under: those around it, and those above in its function under which a thread returns.
pub fn guards(place: &Location) -> Vec<u32> {
    let lines = &places::lines_of(place);
    let mut found = around(place, &["if"]);
    let own = place.line.and_then(|line| lines.get(line as usize - 1)).map(|text| code(text));
    found.extend(place.line.filter(|_| own.is_some_and(|text| has_word(text, |word| word == "if"))));
    let above =
        place.line.into_iter().flat_map(|line| numbered(lines, line)).take_while(|(_, text)| !text.starts_with('}'));
    for (number, _) in above.filter(|(_, text)| has_word(code(text), |word| word == "return")) {
        let there = Location { line: Some(number), ..Location::default() };
        let under = if code(&lines[number as usize - 1]).trim_start().starts_with("if") {
            Some(number)
        } else {
            around(&Location { file: place.file.clone(), ..there }, &["if"]).first().copied()
        };
        found.extend(under);
    }
    found
}

fn around_line(lines: &[String], line: u32, words: &[&str]) -> Vec<u32> {
    let indent = |text: &str| text.len() - text.trim_start().len();
    let begins = |text: &str| {
        words.iter().any(|word| text.trim_start().strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_name)))
    };
    let Some(start) = lines.get(line as usize - 1) else { return vec![] };
    let mut most = indent(start) + usize::from(begins(start));
    let mut found = vec![];
    for (number, text) in numbered(lines, line) {
        let text = code(text);
        if text.trim().is_empty() || text.starts_with('#') || indent(text) >= most {
            continue;
        }
        most = indent(text);
        let ends = |(_, below): &(u32, &String)| indent(below) == most && below.trim_start().starts_with("} while");
        if text.trim_start().starts_with("do {") && words.contains(&"while") {
            found.extend((number + 1..).zip(lines.iter().skip(number as usize)).find(ends).map(|(end, _)| end));
        }
        found.extend(begins(text).then_some(number));
    }
    found
}

/// The names that a line uses, but for those of the kernel's parameters, of constants and of what CUDA brings.
fn names(code: &str) -> Vec<&str> {
    const KNOWN: [&str; 10] =
        ["const", "int", "size_t", "unsigned", "float", "for", "if", "while", "threadIdx", "blockIdx"];
    let mut names: Vec<&str> = vec![];
    for word in code.split(|c| !is_name(c) && c != '.') {
        let word = word.split('.').next().unwrap_or_default();
        let own = word.contains(|c: char| c.is_lowercase()) && !word.starts_with(|c: char| c.is_ascii_digit());
        if own && !KNOWN.contains(&word) && !names.contains(&word) {
            names.push(word);
        }
    }
    names
}

/// Whether a line gives the name a value.
fn sets(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = &code[..at];
        let mut rest = &code[at + name.len()..];
        if before.ends_with(is_name) || before.ends_with('.') || rest.starts_with(is_name) {
            return false;
        }
        while let Some(inside) = rest.trim_start().strip_prefix('[') {
            rest = inside.split_once(']').map_or("", |(_, after)| after);
        }
        let rest = rest.trim_start();
        ["+=", "-=", "++"].iter().any(|operator| rest.starts_with(operator))
            || rest.starts_with('=') && !rest.starts_with("==") && !rest[1..].trim_start().starts_with('[')
    })
}

/// The lines that set what a line uses, and what those use, each with the name: at most so many, those first that tell most of
/// where an element lies. Of a line that stores only what stands before the `=` counts.
pub fn setters(place: &Location, stores: bool, most: usize) -> Vec<(String, u32)> {
    let (Some(file), Some(line)) = (&place.file, place.line) else { return vec![] };
    let lines = &places::lines(file);
    let start = lines.iter().take(line as usize).rposition(|text| text.contains("__global__")).unwrap_or(0);
    let numbered = (1..).zip(lines.iter().map(|text| code(text))).skip(start);
    let function: Vec<(u32, &str)> =
        numbered.take_while(|(number, text)| *number <= line || !text.starts_with('}')).collect();
    let text = |number: u32| function.iter().find(|(known, _)| *known == number).map_or("", |(_, text)| *text);
    let mut found: Vec<(String, u32)> = vec![];
    let mut waiting = vec![line];
    for _ in 0..2 {
        let part = |number: u32| match [" = ", " += "].iter().find_map(|set| text(number).split_once(set)) {
            Some((index, _)) if stores && number == line => index,
            Some((_, value)) if number == line => value,
            _ => text(number),
        };
        let used: Vec<String> = waiting.drain(..).flat_map(|number| names(part(number))).map(str::to_owned).collect();
        for name in used {
            // Not how a tile is filled, nor loops over something else than the matrix.
            let filled = format!("{name}[");
            let counts = |text: &str| {
                let number =
                    text.split_once(" = ").is_some_and(|(_, from)| from.starts_with(|c: char| c.is_ascii_digit()));
                let loops = text.trim_start().starts_with("for") && number && (stores || !of_matrix(text));
                !(loops || name.starts_with(char::is_uppercase) && text.contains(&filled))
            };
            let set: Vec<&(u32, &str)> =
                function.iter().filter(|(number, text)| *number != line && sets(text, &name) && counts(text)).collect();
            // Of several variables of one name it is the one declared last before the line.
            let nearest =
                set.iter().rfind(|(number, text)| *number < line && declares(text, &name)).map(|(number, _)| *number);
            let own = set.into_iter().filter(|(number, text)| Some(*number) == nearest || !declares(text, &name));
            for &(number, _) in own {
                if found.iter().all(|(_, known)| *known != number) {
                    found.push((name.clone(), number));
                    waiting.push(number);
                }
            }
        }
    }
    // Sizes and blocks decide which part of a matrix it is; what does not is further away.
    let tells = |number: u32| of_matrix(text(number)) || text(number).contains("blockIdx");
    found.sort_by_key(|(_, number)| (!tells(*number), line.abs_diff(*number)));
    found.truncate(most);
    found
}

/// Whether a line names a size of the matrices.
fn of_matrix(text: &str) -> bool {
    has_word(text, |word| matches!(word, "M" | "N" | "K"))
}

/// Whether a line declares a variable of this name: a type stands before it.
fn declares(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let alone = !text[at + name.len()..].starts_with(is_name);
        alone && text[..at].ends_with([' ', '*']) && text[..at].trim_end().ends_with(|c| is_name(c) || c == '*')
    })
}

/// The line that declares a shared array.
pub fn shared_declaration(place: &Location, array: &str) -> Option<u32> {
    let lines = places::lines_of(place);
    let declares = |text: &str| text.contains("__shared__") && has_word(text, |word| word == array);
    (1..).zip(lines.iter()).find(|(_, text)| declares(code(text))).map(|(line, _)| line)
}

/// Whether a shared array is declared as one of words of four bytes.
pub fn of_words(place: &Location, array: &str) -> bool {
    let lines = places::lines_of(place);
    let declares = |text: &str| text.contains("__shared__") && has_word(text, |word| word == array);
    let of = |text: &str| has_word(text, |word| ["ELEMENT", "float", "int", "unsigned"].contains(&word));
    lines.iter().map(|text| code(text)).any(|text| declares(text) && of(text))
}

/// The pointers that are set to a place in an array, such as `As` in `float* As = shared;`.
pub fn pointers(place: &Location, array: &str) -> Vec<String> {
    let lines = places::lines_of(place);
    let sets = |text: &String| {
        let (left, right) = code(text).split_once(" = ")?;
        let of_array = has_word(right, |word| word == array) && left.contains('*');
        set_by_line(code(text)).filter(|_| of_array).map(str::to_owned)
    };
    lines.iter().filter_map(sets).collect()
}

/// What stands behind the head of a loop or a condition in one line.
fn statement(text: &str) -> &str {
    let head = ["for", "while", "if"]
        .iter()
        .find_map(|word| text.trim_start().strip_prefix(word)?.trim_start().strip_prefix('('));
    let mut depth = 1;
    let end = head.and_then(|head| {
        head.char_indices().find_map(|(at, c)| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            (depth == 0).then_some(&head[at + 1..])
        })
    });
    end.filter(|rest| rest.contains('=')).unwrap_or(text)
}

/// The name that a line gives a value: `sum` in `sum[m] += a * b`.
pub fn set_by_line(text: &str) -> Option<&str> {
    let text = statement(text);
    let left = ["+=", "-=", "="].iter().find_map(|operator| text.split_once(operator)).map(|(left, _)| left)?;
    left.split('[').next()?.trim_end().rsplit(|c| !is_name(c)).next().filter(|name| !name.is_empty())
}

/// The other lines of a function that give a name a value, the first six.
pub fn lines_that_set(place: &Location, name: &str) -> Vec<u32> {
    let Some(line) = place.line else { return vec![] };
    let lines = places::lines_of(place);
    let start = lines.iter().take(line as usize).rposition(|text| text.starts_with('}')).map_or(0, |at| at + 1);
    let function = (1..).zip(lines.iter()).skip(start).take_while(|(_, text)| !text.starts_with('}'));
    let others = function.filter(|(number, text)| *number != line && sets(code(text), name));
    others.map(|(number, _)| number).take(6).collect()
}

/// The line that declares what a line adds to or sets, `sum` in `sum[m] += a * b`, with its name.
pub fn declaration(place: &Location) -> Option<(String, u32)> {
    let (file, line) = (place.file.as_ref()?, place.line?);
    let lines = &places::lines(file);
    let text = code(lines.get(line as usize - 1)?);
    let name = set_by_line(text)?;
    let above = numbered(lines, line).find(|(_, text)| declares(code(text), name));
    above.map(|(number, _)| (name.to_owned(), number))
}

/// The lines of a file that store to an array, the first two.
pub fn stores_of(place: &Location, array: &str) -> Vec<u32> {
    let lines = places::lines_of(place);
    let stores = |text: &str| uses(code(text), array).iter().any(|found| found.writes) && !text.contains("__shared__");
    let others = (1..).zip(lines.iter()).filter(|(number, _)| Some(*number) != place.line);
    others.filter(|(_, text)| stores(text)).map(|(number, _)| number).take(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
