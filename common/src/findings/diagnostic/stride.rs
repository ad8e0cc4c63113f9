//! A row multiplied by the wrong size: `C[row * M + col]`. The index as it is written gives it away.

use simt::Location;

use super::around::is_size;
use super::source::Source;
use super::texts::help;
use super::underline::{Use, uses};

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

/// What to do about such a line, for a matrix with these columns, which is laid out as the last words say.
pub fn remedy(place: &Location, array: &str, columns: &str, layout: &str) -> Option<String> {
    let source = Source::of(place);
    let wrong = uses(place, array).iter().find_map(|found| wrong_factor(&source, found, columns))?;
    let words = [("columns", columns), ("wrong", wrong), ("layout", layout)];
    Some(help("row times another size", &words.map(|(name, word)| (name, word.to_owned()))))
}

/// The size by which an index multiplies, if it is not this one.
fn wrong_factor<'a>(source: &'a Source, Use { tokens, .. }: &Use, columns: &str) -> Option<&'a str> {
    let times = tokens.clone().filter(|&at| source.text(at) == "*");
    let factors = times.flat_map(|at| [at - 1, at + 1]).map(|at| source.text(at));
    let sizes: Vec<&str> = factors.filter(|word| is_size(word)).collect();
    if sizes.contains(&columns) { None } else { sizes.first().copied() }
}
