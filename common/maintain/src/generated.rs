//! Generated files are written again, or compared with the committed ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use common::basics::{packed, workspace};
use course::files::below;

/// The state of the files that were generated so far.
pub struct Generated {
    check: bool,
    kept: BTreeSet<PathBuf>,
    stale: usize,
    /// A line for each file that is, or was, different from its fresh text.
    pub text: String,
}

impl Generated {
    pub fn new(check: bool) -> Self {
        Self { check, kept: BTreeSet::new(), stale: 0, text: String::new() }
    }

    /// Writes or compares a file. Returns whether the file has its fresh text now.
    pub fn file(&mut self, path: &Path, fresh: &str) -> Result<bool> {
        self.kept.insert(path.to_owned());
        // Git may have changed the line endings.
        let now = packed::read(path).unwrap_or_default().replace("\r\n", "\n");
        if now == fresh {
            return Ok(true);
        }
        self.stale += 1;
        let name = workspace::display(path);
        if self.check {
            self.text += &format!("stale: {name}{}\n", first_difference(&now, fresh));
        } else {
            packed::write(path, fresh)?;
            self.text += &format!("made {name}\n");
        }
        Ok(!self.check)
    }

    /// Removes PTX of a folder that nothing generates any more, or only reports it.
    pub fn left_over(&mut self, folder: &Path) -> Result<()> {
        let all = ["ptx", "gz"].into_iter().flat_map(|extension| below(folder, extension));
        for path in all.filter(|path| !self.kept.contains(path)) {
            self.stale += 1;
            let what = if self.check { "left over:" } else { "removed" };
            self.text += &format!("{what} {}\n", workspace::display(&path));
            if !self.check {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// A sentence on how many files of a kind there are and how many were stale.
    pub fn verdict(&self, kind: &str, verb: &str) -> String {
        let state = match (self.check, self.stale) {
            (true, 0) => "all fresh".to_owned(),
            (true, stale) => format!("{stale} stale; regenerate them with cargo x {verb}"),
            (false, stale) => format!("{stale} changed"),
        };
        format!("{} {kind}, {state}", self.kept.len())
    }

    /// Whether all files are fresh now.
    pub fn ok(&self) -> bool {
        !self.check || self.stale == 0
    }
}

/// The first line at which two texts differ, for a message.
fn first_difference(old: &str, new: &str) -> String {
    let line = old.lines().zip(new.lines()).position(|(old, new)| old != new);
    let line = line.unwrap_or_else(|| old.lines().count().min(new.lines().count()));
    let of = |text: &str| text.lines().nth(line).unwrap_or("(the end)").trim().chars().take(80).collect::<String>();
    format!(" (line {}: {:?} would be {:?})", line + 1, of(old), of(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_file_is_shown_by_its_first_difference() {
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), " (line 2: \"b\" would be \"c\")");
        assert_eq!(first_difference("a\n", "a\nc\n"), " (line 2: \"(the end)\" would be \"c\")");
    }
}
