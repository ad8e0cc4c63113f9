//! Lines of Rust of each crate beside its budget, tests included, to show how much a change adds.

use std::path::Path;

use anyhow::Result;
use common::basics::{grouped, print, workspace};
use course::files::{below, read};

/// The beginning of the paths of a crate's files, its budget of lines, and why it may have more; without a reason the check fails.
/// A file counts for the longest beginning that fits.
type Budget = (&'static str, usize, &'static str);

const BUDGETS: [Budget; 15] = [
    ("step", 1_500, ""),
    ("step06_prefetch/beyond/", 6_000, ""),
    ("common/", 7_500, ""),
    ("common/check/", 1_200, "it reads arguments of all types, and writes reports in four formats"),
    ("common/compile/", 1_200, ""),
    ("common/findings/", 2_500, "what reads a kernel's lines stays until findings take them from a second compilation"),
    ("common/system/", 400, ""),
    ("common/why/", 3_500, ""),
    ("common/plan/", 1_000, "what an element's bits and a launch's arguments mean is told here, once for three crates"),
    ("common/gpu/", 300, ""),
    ("common/verify/", 2_000, ""),
    ("common/simt/", 26_000, ""),
    ("common/explorer/", 3_500, "meanings, pictures of hazards, witnesses and strips come from here"),
    ("common/course/", 6_500, "a class is graded (grade), and tasks are drawn that are solved nowhere (lab/task)"),
    ("common/maintain/", 4_600, ""),
];
/// The budget of all crates together, which nothing excuses.
const TOTAL: usize = 60_000;

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
        let fitting = budgets.iter().map(|budget| budget.0).filter(|start| file.starts_with(start));
        fitting.max_by_key(|start| start.len())
    };
    let counted = budgets.iter().map(|&(start, most, reason)| {
        let lines = files.iter().filter(|(file, _)| of(file) == Some(start)).map(|(_, lines)| lines).sum();
        (if start == "step" { "the steps" } else { start.trim_end_matches('/') }, lines, most, reason)
    });
    let mut rows: Vec<(&str, usize, usize, &str)> = counted.collect();
    rows.push(("all", rows.iter().map(|row| row.1).sum(), TOTAL, ""));
    let mut text = String::from("lines of Rust\n");
    for &(name, count, most, reason) in &rows {
        let over = match reason {
            _ if count <= most => "",
            "" => "too many; take something out (a crate may have a reason instead, in common/maintain/src/budget.rs)",
            reason => reason,
        };
        let row = format!("{name:<26}{:>8} of {:>6}  {over}", grouped(count as u64), grouped(most as u64));
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
        let of = |most, reason| table(&[("step", most, reason), ("step06_prefetch/beyond/", 7, "")], &files);
        let (text, ok) = of(100, "");
        assert!(ok && text.contains("step06_prefetch/beyond           7 of      7\n"), "{text}");
        assert!(text.ends_with("all                            107 of 60,000\n"), "{text}");
        let (text, ok) = of(99, "");
        assert!(!ok && text.contains("the steps                      100 of     99  too many; take"), "{text}");
        let (text, ok) = of(99, "two ideas");
        assert!(ok && text.contains("  two ideas\n"), "{text}");
    }
}
