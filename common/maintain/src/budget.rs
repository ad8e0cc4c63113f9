//! Lines of Rust by crate beside their budgets, tests included: everybody sees what a change adds.

use std::path::Path;

use anyhow::Result;
use common::basics::output::print;
use common::basics::units::grouped;
use common::basics::workspace;
use course::files::{below, read};

struct Budget {
    /// How the paths of its files begin; a file counts where the longest of these fits.
    start: &'static str,
    lines: usize,
    /// Why it may have more; without a reason the check fails.
    reason: Option<&'static str>,
}

const fn budget(start: &'static str, lines: usize) -> Budget {
    Budget { start, lines, reason: None }
}

const BUDGETS: [Budget; 9] = [
    budget("step", 1_500),
    budget("step06_prefetch/beyond/", 6_000),
    budget("common/", 10_500),
    budget("common/plan/", 1_000),
    budget("common/gpu/", 300),
    budget("common/simt/", 26_000),
    budget("common/explorer/", 3_500),
    budget("common/course/", 6_500),
    budget("common/maintain/", 4_600),
];
/// All of them may have a little more than the sum.
const TOTAL: usize = 60_000;

/// Prints the table; `false` if a budget is exceeded without a reason.
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
    // What a fuzzer builds lies in its own folder.
    found.retain(|(file, _)| !Path::new(file).iter().any(|part| part == "target"));
    let (text, ok) = table(&BUDGETS, &found);
    print(&text)?;
    Ok(ok)
}

fn table(budgets: &[Budget], files: &[(String, usize)]) -> (String, bool) {
    let mut lines = vec![0; budgets.len()];
    for (file, count) in files {
        let fitting = budgets.iter().enumerate().filter(|(_, budget)| file.starts_with(budget.start));
        if let Some((at, _)) = fitting.max_by_key(|(_, budget)| budget.start.len()) {
            lines[at] += count;
        }
    }
    let mut ok = true;
    let mut row = |name: &str, count: usize, most: usize, reason: Option<&str>| {
        let over = match reason {
            _ if count <= most => "",
            Some(reason) => reason,
            None => "too many; take something out, or write the reason down in common/maintain/src/budget.rs",
        };
        ok &= count <= most || reason.is_some();
        format!("{name:<26}{:>8} of {:>6}  {over}", grouped(count as u64), grouped(most as u64)).trim_end().to_owned()
            + "\n"
    };
    let mut text = String::from("lines of Rust\n");
    for (budget, &count) in budgets.iter().zip(&lines) {
        let name = if budget.start == "step" { "the steps" } else { budget.start.trim_end_matches('/') };
        text += &row(name, count, budget.lines, budget.reason);
    }
    text += &row("all", lines.iter().sum(), TOTAL, None);
    (text, ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_once_and_too_many_lines_need_a_reason() {
        let files =
            [("step06_prefetch/src/lib.rs", 100), ("step06_prefetch/beyond/src/lib.rs", 7), ("common/src/a.rs", 20)];
        let files = files.map(|(file, lines)| (file.to_owned(), lines));
        let of = |steps, reason| {
            let budgets = [
                Budget { reason, ..budget("step", steps) },
                budget("step06_prefetch/beyond/", 7),
                budget("common/", 20),
            ];
            table(&budgets, &files)
        };
        let (text, ok) = of(100, None);
        assert!(ok && text.contains("step06_prefetch/beyond           7 of      7\n"), "{text}");
        assert!(text.ends_with("all                            127 of 60,000\n"), "{text}");
        let (text, ok) = of(99, None);
        assert!(!ok && text.contains("the steps                      100 of     99  too many; take"), "{text}");
        let (text, ok) = of(99, Some("two ideas"));
        assert!(ok && text.contains("  two ideas\n"), "{text}");
    }
}
