//! A row multiplied by the wrong size: `C[row * M + col]`. The index as it is written gives it away.

use super::texts::help;
use super::underline::{is_name, uses};

/// What to do about a line of code in which a matrix of A·B has an index with another size than its own columns.
pub fn of_product(code: &str, array: &str) -> Option<String> {
    let (element, columns) = match array {
        "A" => ("A[row * K + k]", "K"),
        "B" => ("B[k * N + col]", "N"),
        "C" => ("C[row * N + col]", "N"),
        _ => return None,
    };
    remedy(code, array, columns, &format!("{array} has {columns} columns, so its elements are {element}"))
}

/// The same of a matrix with these columns, which is laid out as the last words say.
pub fn remedy(code: &str, array: &str, columns: &str, layout: &str) -> Option<String> {
    let wrong = uses(code, array).iter().find_map(|found| wrong_factor(&code[found.span.clone()], columns))?;
    let words = [("columns", columns), ("wrong", wrong), ("layout", layout)];
    Some(help("row times another size", &words.map(|(name, word)| (name, word.to_owned()))))
}

/// The size by which an index multiplies, if it is not this one.
fn wrong_factor<'a>(index: &'a str, columns: &str) -> Option<&'a str> {
    let word_before = |text: &'a str| text.trim_end().rsplit(|c| !is_name(c)).next().unwrap_or_default();
    let word_after = |text: &'a str| text.trim_start().split(|c| !is_name(c)).next().unwrap_or_default();
    let around = |at: usize| [word_before(&index[..at]), word_after(&index[at + 1..])];
    let factors: Vec<&str> = index.match_indices('*').flat_map(|(at, _)| around(at)).collect();
    let sizes = factors.into_iter().filter(|word| matches!(*word, "M" | "N" | "K"));
    let sizes: Vec<&str> = sizes.collect();
    if sizes.contains(&columns) { None } else { sizes.first().copied() }
}
