//! A row multiplied by the wrong size: `C[row * M + col]`. The index as it is written gives it away.

use std::ops::Range;

use simt::Location;

use super::around::{and_callers, is_size};
use super::source::Source;
use super::texts::{help, words};
use super::underline::uses;

/// What to do about a line in which a matrix of A·B has an index with another size than its own columns.
pub fn of_product(place: &Location, array: &str) -> Option<String> {
    let (element, columns) = match array {
        "A" => ("A[row * K + k]", "K"),
        "B" => ("B[k * N + col]", "N"),
        "C" => ("C[row * N + col]", "N"),
        _ => return None,
    };
    remedy(place, array, columns, &format!("{array} has {columns} columns, so its elements are {element}"))
}

/// What to do about such a line, or a call that leads there, for a matrix with these columns, which is laid out as the last words
/// say.
pub fn remedy(place: &Location, array: &str, columns: &str, layout: &str) -> Option<String> {
    let source = Source::of(place);
    let wrong = |at: Location| {
        let own = source.on_lines(at.line?, 1);
        let indexed = uses(&at, array).into_iter().map(|found| found.tokens);
        // Of a pointer into the array, what is added to it.
        let ends = |at: &usize| matches!(source.text(*at), "," | ";" | "?" | ":");
        let added = own.clone().filter(|&at| source.text(at) == array && source.text(at + 1) == "+");
        let added = added.map(|at| at..(at..own.end).find(ends).unwrap_or(own.end));
        indexed.chain(added).find_map(|tokens| wrong_factor(&source, &tokens, columns))
    };
    let wrong = and_callers(place).find_map(wrong)?;
    Some(help("row times another size", &words([("columns", columns), ("wrong", wrong), ("layout", layout)])))
}

/// What to do about a call, or a macro, that is told another size than the columns of a matrix.
pub fn of_call(place: &Location, wrong: &str, columns: &str, layout: &str) -> Option<String> {
    let source = Source::of(place);
    let is_between = |before: &str, after: &str| matches!((before, after), ("," | "(", "," | ")"));
    let is_argument =
        |at: usize| at > 0 && source.text(at) == wrong && is_between(source.text(at - 1), source.text(at + 1));
    let mut lines = and_callers(place).filter_map(|place| place.line);
    let line = lines.find(|line| source.on_lines(*line, 1).any(is_argument))?.to_string();
    let words = words([("wrong", wrong), ("line", &line), ("columns", columns), ("layout", layout)]);
    Some(help("call with another size", &words))
}

/// What to do about an index behind a pointer to vectors that counts elements.
pub fn of_vector(place: &Location) -> Option<String> {
    let source = Source::of(place);
    let own = source.on_lines(place.line?, 1);
    let is_vector = |word: &str| word.starts_with("float") && word.ends_with(['2', '4']);
    let vector = source.words(&own).iter().find(|token| is_vector(&token.text))?;
    let index = own.clone().find(|&at| source.text(at) == ")" && source.text(at + 1) == "[")? + 1;
    // An index that goes on in the next line is not read.
    let index = Some(index + 1..source.behind(index, own.end) - 1).filter(|index| !index.is_empty())?;
    let divides = source.words(&index).iter().any(|token| matches!(&token.text[..], "/" | ">>"));
    let (vector, index) = (&vector.text, source.written(&index));
    let words = words([("index", index), ("line", &place.line?.to_string()), ("by", &vector[5..]), ("vector", vector)]);
    (!divides).then(|| help("index of vectors", &words))
}

/// The size by which an index multiplies, if it is not this one.
fn wrong_factor<'a>(source: &'a Source, tokens: &Range<usize>, columns: &str) -> Option<&'a str> {
    let times = tokens.clone().filter(|&at| source.text(at) == "*");
    let factors = times.flat_map(|at| [at - 1, at + 1]).map(|at| source.text(at));
    let sizes: Vec<&str> = factors.filter(|word| is_size(word)).collect();
    if sizes.contains(&columns) { None } else { sizes.first().copied() }
}
