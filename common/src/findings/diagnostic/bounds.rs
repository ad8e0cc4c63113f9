//! An index that leaves a matrix because a comparison lets it: `k <= K`, or `row < N`. The lines around the access give it away.

use simt::Location;

use super::around::{around, guards, of_thread};
use super::texts::help;
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
    lines.extend(place.line.into_iter().chain(guards(place)));
    let file = place.file.as_ref()?;
    // Up to its own row, for instance, a thread may count.
    let is_coordinate = |name: &str| of_thread(place, name);
    lines.into_iter().find_map(|line| wrong(line, code(&places::line(file, line)?), is_coordinate))
}

/// What is wrong with the comparisons in a line.
pub fn wrong(line: u32, code: &str, is_coordinate: impl Fn(&str) -> bool) -> Option<Bound> {
    let bound = |cause, [before, size, right]: [&str; 3]| {
        let words = [("before", before), ("size", size), ("right", right)].map(|(name, word)| (name, word.to_owned()));
        let help = help(cause, &[&words[..], &[("line", line.to_string())]].concat());
        Some(Bound { line, of_other_side: cause == "compared with another side", help })
    };
    let of_name = |part: &str, operator: &str| {
        let size = part.split_once(operator).map(|(_, size)| size.trim_start());
        size.is_some_and(|size| size.starts_with(|c: char| c.is_alphabetic()))
    };
    let compares = |part: &str| of_name(part, "<");
    if code.trim_start().starts_with("if") && code.split("||").filter(|part| compares(part)).count() > 1 {
        return bound("one comparison is enough", [""; 3]);
    }
    // Where a thread returns that is beyond the edge.
    for part in code.split("||").filter(|part| !part.contains(">=")) {
        let (before, after) = part.split_once('>').unwrap_or_default();
        let before = before.trim_end().rsplit(|c| !is_name(c)).next().unwrap_or_default();
        let size = after.trim_start().split(|c| !is_name(c)).next().unwrap_or_default();
        if matches!(size, "M" | "N" | "K") && before.contains(|c: char| c.is_lowercase()) {
            return bound("one too few", [before, size, ""]);
        }
    }
    let leaves = |part: &&str| of_name(part, ">=");
    if code.split("&&").filter(leaves).count() > 1 {
        return bound("every comparison is needed", [""; 3]);
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
        if equal && !less && !is_coordinate(size) && before.contains(|c: char| c.is_lowercase()) {
            let all = after.split([';', ')', '&', '|', '?']).next().unwrap_or_default().trim();
            return bound("one too many", [before, all, ""]);
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
            return bound("compared with another side", [before, size, right]);
        }
    }
    None
}
