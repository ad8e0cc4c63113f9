//! Lines of Rust of each part of the course beside its budget, tests included, to show how much a change adds.

use std::path::Path;

use anyhow::Result;
use common::basics::{grouped, print, workspace};
use course::files::{below, read};

/// A part: its name, the beginnings of the paths of its files, its budget of lines, and why it may have more; without a reason the
/// check fails. A file counts for the longest beginning that fits.
type Budget = (&'static str, &'static [&'static str], usize, &'static str);

const BUDGETS: [Budget; 11] = [
    (
        "simt, ptx",
        &["common/simt/"],
        24_500,
        "a load is judged when its value matters, so values with doubts are followed",
    ),
    (
        "compile, system",
        &["common/compile/", "common/system/"],
        1_600,
        "outputs fit a terminal, and no compiler outlives the program that asked for it",
    ),
    ("findings", &["common/findings/"], 2_500, ""),
    ("driver", &["common/driver/"], 2_500, "it has 233 functions of the driver, and finds the faults of their callers"),
    ("check", &["common/check/"], 1_200, "it reads arguments of all types, and writes reports in four formats"),
    (
        "plan, verify, gpu",
        &["common/plan/", "common/verify/", "common/gpu/"],
        3_000,
        "A and B are checked after a run as well",
    ),
    ("why", &["common/why/"], 3_500, "edits of all kinds are tried, and each needs lines of its own"),
    ("common", &["common/"], 7_500, ""),
    ("the steps", &["step"], 2_000, ""),
    ("beyond", &["step06_prefetch/beyond/"], 5_000, ""),
    (
        "the programs",
        &["common/course/", "common/explorer/", "common/maintain/"],
        13_000,
        "a class is graded, with a secret, by host programs as well, and each learner gets an answer",
    ),
];
/// The budget of all together, and why there may be more.
const TOTAL: usize = 64_000;
const TOTAL_REASON: &str = "the driver answers more than was planned, and the tried edits are of more kinds";

/// Prints the table. Returns `false` if a budget is exceeded without a reason.
pub fn check() -> Result<bool> {
    let mut found = vec![];
    for entry in std::fs::read_dir(workspace::root())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "common" || name.starts_with("step") {
            for file in below(&entry.path(), "rs") {
                found.push((workspace::display(&file), read(&file)?.lines().count()));
            }
        }
    }
    // The fuzzer's build folder is inside its crate.
    found.retain(|(file, _)| !Path::new(file).iter().any(|part| part == "target"));
    let (text, ok) = table(&BUDGETS, &found);
    print(&text)?;
    Ok(ok)
}

fn table(budgets: &[Budget], files: &[(String, usize)]) -> (String, bool) {
    let of = |file: &str| {
        let starts = budgets.iter().flat_map(|budget| budget.1.iter().map(move |start| (start.len(), budget.0, start)));
        starts.filter(|(.., start)| file.starts_with(**start)).max().map(|(_, name, _)| name)
    };
    let counted = budgets.iter().map(|&(name, _, most, reason)| {
        (name, files.iter().filter(|(file, _)| of(file) == Some(name)).map(|(_, lines)| lines).sum(), most, reason)
    });
    let mut rows: Vec<(&str, usize, usize, &str)> = counted.collect();
    rows.push(("all", rows.iter().map(|row| row.1).sum(), TOTAL, TOTAL_REASON));
    let mut text = String::from("lines of Rust\n");
    for &(name, count, most, reason) in &rows {
        let over = match reason {
            _ if count <= most => "",
            "" => "too many; take something out (a part may have a reason instead, in common/maintain/src/budget.rs)",
            reason => reason,
        };
        let row = format!("{name:<20}{:>8} of {:>6}  {over}", grouped(count as u64), grouped(most as u64));
        text += &(row.trim_end().to_owned() + "\n");
    }
    (text, rows.iter().all(|&(_, count, most, reason)| count <= most || !reason.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_once_and_too_many_lines_need_a_reason() {
        let files = [("step06_prefetch/src/lib.rs", 100), ("step06_prefetch/beyond/src/lib.rs", 7)];
        let files = files.map(|(file, lines)| (file.to_owned(), lines));
        let beyond: Budget = ("beyond", &["step06_prefetch/beyond/"], 7, "");
        let of = |most, reason| table(&[("the steps", &["step"], most, reason), beyond], &files);
        let (text, ok) = of(100, "");
        assert!(ok && text.contains("beyond                     7 of      7\n"), "{text}");
        assert!(text.ends_with("all                      107 of 64,000\n"), "{text}");
        let (text, ok) = of(99, "");
        assert!(!ok && text.contains("the steps                100 of     99  too many; take"), "{text}");
        let (text, ok) = of(99, "two ideas");
        assert!(ok && text.contains("  two ideas\n"), "{text}");
    }
}
