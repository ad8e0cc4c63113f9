//! How precise the answers to the table of mistakes are, by the record that the tests of `course` compare with: the line that is wrong is
//! the first that a finding shows, one of the others, or none of them.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use common::basics::{print, workspace};
use course::files::read;

/// Where the record is.
const RECORD: &str = "common/course/tests/mistakes/shown.txt";
/// Lines that a finding shows at most on average.
const MOST_LINES: f64 = 3.0;

/// Prints the figures. Returns `false` if a finding shows more lines than it should.
pub fn check() -> Result<bool> {
    let (text, ok) = figures(&read(&workspace::root().join(RECORD))?)?;
    print(&text)?;
    Ok(ok)
}

/// Each line of a record is `NAME: PLACE LINES`.
fn figures(record: &str) -> Result<(String, bool)> {
    let (mut counts, mut lines, mut all) = ([0_usize; 3], 0_usize, 0_usize);
    for line in record.lines() {
        let parts = line.rsplit_once(": ").and_then(|(_, seen)| seen.split_once(' '));
        let (place, shown) = parts.with_context(|| format!("{RECORD} has a line that is not understood: {line}"))?;
        let at = ["first", "shown", "missed"].iter().position(|known| *known == place);
        counts[at.with_context(|| format!("{RECORD} knows no place {place}"))?] += 1;
        lines += shown.parse::<usize>()?;
        all += 1;
    }
    ensure!(all > 0, "{RECORD} is empty; SNAPSHOTS=overwrite cargo test -p course -- --ignored slow::mistake fills it");
    let share = |count: usize| 100.0 * count as f64 / all as f64;
    let average = lines as f64 / all as f64;
    let mut text = format!("{all} mistakes, without a trial\n");
    for (what, count) in
        ["the wrong line is the first", "it is one of the others", "it is not shown"].iter().zip(counts)
    {
        let _ = writeln!(text, "{what:<28}{count:>5} {:>5.1} %", share(count));
    }
    let _ = writeln!(text, "lines shown on average      {average:>5.1} (at most {MOST_LINES})");
    Ok((text, average <= MOST_LINES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_summed_up_and_too_many_lines_fail() {
        let (text, ok) = figures("a: first 1\nb: shown 3\nc: missed 2\n").unwrap();
        assert!(
            ok && text.contains("3 mistakes") && text.contains("    1  33.3 %") && text.contains("  2.0 ("),
            "{text}"
        );
        assert!(!figures("a: first 4\n").unwrap().1);
        assert!(figures("").is_err() && figures("a: nowhere 1\n").is_err());
    }
}
