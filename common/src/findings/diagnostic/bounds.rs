//! An index that leaves a matrix because a comparison lets it: `k <= K`, or `row < N`. The lines around the access give it away.

use simt::Location;

use super::around::around;
use super::underline::{code, is_name};
use crate::code::places;

/// A comparison that is wrong.
pub struct Bound {
    pub line: u32,
    /// It takes the size of another side of the matrix.
    pub of_other_side: bool,
    /// What to do.
    pub help: String,
}

/// What to do about an access out of bounds, if a comparison in its line, or in a condition or loop around it, is wrong.
pub fn remedy(place: &Location) -> Option<Bound> {
    let mut lines = around(place, &["for", "while", "if"]);
    lines.extend(place.line);
    let file = place.file.as_ref()?;
    lines.into_iter().find_map(|line| wrong(line, code(&places::line(file, line)?)))
}

/// What is wrong with the comparisons in a line.
fn wrong(line: u32, code: &str) -> Option<Bound> {
    let bound = |of_other_side, help| Some(Bound { line, of_other_side, help });
    let compares = |part: &str| part.contains("< M") || part.contains("< N") || part.contains("< K");
    if code.trim_start().starts_with("if") && code.split("||").filter(|part| compares(part)).count() > 1 {
        let help = format!(
            "write && in place of || in line {line}: an element lies inside the matrix only if all of this is true"
        );
        return bound(false, help);
    }
    for (at, _) in code.match_indices('<') {
        let before = code[..at].trim_end().rsplit(|c| !is_name(c)).next().unwrap_or_default();
        let after = &code[at + 1..];
        let (equal, after) = after.strip_prefix('=').map_or((false, after), |rest| (true, rest));
        let size = after.trim_start().split(|c| !is_name(c)).next().unwrap_or_default();
        if size.is_empty() || size.starts_with(|c: char| c.is_ascii_digit()) || code[..at].ends_with('<') {
            continue;
        }
        let less = after.trim_start()[size.len()..].trim_start().starts_with('-');
        if equal && !less && before.contains(|c: char| c.is_lowercase()) {
            let help = format!(
                "write {before} < {size} in line {line}: with <= the last {before} is {size}, and the last element is that of {size} - 1"
            );
            return bound(false, help);
        }
        if !matches!(size, "M" | "N" | "K") || equal {
            continue;
        }
        let right = match before {
            _ if before.contains("row") => "M",
            _ if before.contains("col") => "N",
            _ if before == "k" || before == "k0" => "K",
            _ => continue,
        };
        if size != right {
            let help = format!(
                "compare {before} with {right} and not with {size} in line {line}: A has M rows and K columns, B K rows and N columns"
            );
            return bound(true, help);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_wrong_if_it_lets_the_index_reach_the_size_or_compares_with_another_one() {
        for (code, words) in [
            ("for (int k = 0; k <= K; ++k)", Some("write k < K")),
            ("if (row < N && col < M) {", Some("compare row with M and not with N")),
            ("if (row < M && col<M)", Some("compare col with N")),
            ("for (int k0 = 0; k0 < M; k0 += TILE)", Some("compare k0 with K")),
            ("if (row < M || col < N)", Some("write && in place of ||")),
            ("As[y][x] = k0 <= a_end ? *a_from : 0;", Some("write k0 < a_end")),
            ("for (int k = 0; k <= K - 1; ++k)", None),
            ("if (row < M && col < N)", None),
            ("const int a_end = row < M ? K - x : 0;", None),
            ("for (int k = 0; k < TILE; ++k)", None),
        ] {
            let said = wrong(7, code).map(|bound| bound.help);
            assert_eq!(said.is_some(), words.is_some(), "{code}: {said:?}");
            assert!(said.unwrap_or_default().contains(words.unwrap_or_default()), "{code}");
        }
    }
}
