//! Where, when and with which versions something was measured, by git and the clock.

use std::process::Command;
use std::time::SystemTime;

use crate::basics::process::printed;
use crate::basics::workspace;

/// The device, the versions that are known, the day and the commit, in a sentence.
pub fn provenance(device: &str, versions: &[(&str, &Option<String>)], date: &str, commit: &Option<String>) -> String {
    let known = versions.iter().filter_map(|(name, value)| Some(format!(", {name} {}", value.as_ref()?)));
    let commit = commit.as_deref().map(|commit| format!(", commit {}", commit.get(..10).unwrap_or(commit)));
    let (versions, day) = (known.collect::<String>(), date.get(..10).unwrap_or(date));
    format!("{device}{versions}, {day}{}", commit.unwrap_or_default())
}

/// The commit of the course, followed by `+` if tracked files have changed since.
pub fn commit() -> Option<String> {
    let git = |args: &[&str]| printed(Command::new("git").args(args).current_dir(workspace::root()));
    let commit = git(&["rev-parse", "HEAD"]).filter(|commit| !commit.is_empty())?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|changes| !changes.is_empty());
    Some(commit + if changed { "+" } else { "" })
}

/// The present time in UTC, such as `2026-11-21T01:38:12Z`.
pub fn now() -> String {
    // A clock that was never set may stand before 1970, which the format cannot say.
    humantime::format_rfc3339_seconds(SystemTime::now().max(SystemTime::UNIX_EPOCH)).to_string()
}
