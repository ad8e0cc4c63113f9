//! Where, when and with what something was measured: what git and the clock say.

use std::process::Command;
use std::time::SystemTime;

use crate::basics::workspace;

/// The device, the versions that are known, the day and the commit, in a sentence.
pub fn provenance(device: &str, versions: &[(&str, &Option<String>)], date: &str, commit: &Option<String>) -> String {
    let part = |(name, value): (&str, &str)| format!(", {name} {value}");
    let known = versions.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
    let commit = commit.as_deref().map(|commit| ("commit", commit.get(..10).unwrap_or(commit)));
    format!(
        "{device}{}, {}{}",
        known.map(part).collect::<String>(),
        date.get(..10).unwrap_or(date),
        commit.map(part).unwrap_or_default()
    )
}

/// The commit of the course, with `+` if tracked files have changed since.
pub fn commit() -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(workspace::root()).output().ok();
        let output = output.filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "HEAD"]).filter(|commit| !commit.is_empty())?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|changes| !changes.is_empty());
    Some(commit + if changed { "+" } else { "" })
}

/// Now, UTC: `2026-11-21T01:38:12Z`.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs())
}

/// Seconds since 1970 as a date. A year is taken to begin in March, so that a leap day is its last one (H. Hinnant,
/// "chrono-compatible low-level date algorithms").
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468; // since March of the year 0
    let (era, day) = (days / 146_097, days % 146_097); // 400 years
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153; // from March on
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (era * 400 + year, month + 3) } else { (era * 400 + year + 1, month - 9) };
    let [hour, minute, second] = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60];
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_a_date() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_507_200, "2026-11-24T08:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }
}
