//! A row multiplied by the wrong size: `C[row * M + col]`. The index as it is written gives it away.

use super::underline::{is_name, uses};

/// An element of a matrix by its row and column, and the size that its row is multiplied by.
fn element(array: &str) -> Option<(&'static str, &'static str)> {
    match array {
        "A" => Some(("A[row * K + k]", "K")),
        "B" => Some(("B[k * N + col]", "N")),
        "C" => Some(("C[row * N + col]", "N")),
        _ => None,
    }
}

/// What to do about a line of code in which a matrix has an index with another size than its own columns.
pub fn remedy(code: &str, array: &str) -> Option<String> {
    let (element, columns) = element(array)?;
    let wrong = uses(code, array).iter().find_map(|found| wrong_factor(&code[found.span.clone()], columns))?;
    Some(format!(
        "multiply the row by {columns} and not by {wrong}: {array} has {columns} columns, so its elements are {element}"
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_in_an_index_is_the_matrix_s_columns_or_is_named() {
        for (code, array, wrong) in [
            ("C[row * M + col] = sum;", "C", Some("M")),
            ("C[(size_t)row * K + col] = sum;", "C", Some("K")),
            ("C[M*row+col] = sum;", "C", Some("M")),
            ("C[(size_t)row * N + col] = sum;", "C", None),
            ("C[col * N + row] = sum;", "C", None),
            ("sum += A[row * K + k] * B[k * K + col];", "B", Some("K")),
            ("sum += A[row * K + k] * B[k * K + col];", "A", None),
            ("As[y][x] = A[row * N + k0 + x];", "A", Some("N")),
            ("Bs[y][x] = k0 + y < K ? B[(k0 + y) * M + col] : 0;", "B", Some("M")),
            // Nothing is said of what is not written there, nor of other arrays.
            ("C[place] = sum;", "C", None),
            ("*out = sum;", "C", None),
            ("C[2 * MAX + col] = sum;", "C", None),
            ("As[y * M + x] = 0;", "As", None),
        ] {
            let said = remedy(code, array);
            assert_eq!(said.is_some(), wrong.is_some(), "{code}: {said:?}");
            let words = wrong.map(|wrong| format!("and not by {wrong}:")).unwrap_or_default();
            assert!(said.unwrap_or_default().contains(&words), "{code}");
        }
    }
}
