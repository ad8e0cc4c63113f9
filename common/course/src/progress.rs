//! How far the learner has come: a file beside their kernels, in `mine/`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use common::{output, workspace};
use serde::{Deserialize, Serialize};

use crate::lab::Lab;
use crate::{files, steps};

/// Everything that is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// By the step's name.
    #[serde(default)]
    pub labs: BTreeMap<String, LabProgress>,
}

/// What is kept of one lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LabProgress {
    /// Which tasks have passed at some time.
    #[serde(default)]
    pub passed: Vec<bool>,
    /// How many hints have been shown, by task.
    #[serde(default)]
    pub hints: Vec<usize>,
}

/// The environment variable that names another folder for the learner's own files.
pub const FOLDER_VARIABLE: &str = "COURSE_MINE";

/// The folder of the learner's own files: `mine/` in the course, which git ignores.
pub fn folder() -> PathBuf {
    let elsewhere = std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty());
    elsewhere.map_or_else(|| workspace::root().join("mine"), PathBuf::from)
}

fn file() -> PathBuf {
    folder().join("progress.json")
}

impl Progress {
    /// Reads the file; nothing is known where there is none.
    pub fn read() -> Result<Self> {
        let Ok(text) = fs::read_to_string(file()) else { return Ok(Self::default()) };
        serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged; delete it to begin anew", workspace::display(&file())))
    }

    /// Writes the file.
    pub fn write(&self) -> Result<()> {
        // Whole or not at all: an interrupted write must not lose what was there.
        let part = file().with_extension("part");
        files::write(&part, &(serde_json::to_string_pretty(self)? + "\n"))?;
        fs::rename(&part, file()).with_context(|| {
            format!("{} cannot be written; check the folder's permissions", workspace::display(&file()))
        })
    }

    /// Notes which tasks have passed; what passed once stays passed.
    pub fn note(&mut self, step: &str, passed: &[bool]) {
        let lab = self.labs.entry(step.to_owned()).or_default();
        lab.passed.resize(lab.passed.len().max(passed.len()), false);
        for (noted, &now) in lab.passed.iter_mut().zip(passed) {
            *noted |= now;
        }
    }

    /// Whether a task has passed.
    pub fn has_passed(&self, step: &str, task: usize) -> bool {
        self.labs.get(step).and_then(|lab| lab.passed.get(task)).copied().unwrap_or(false)
    }
}

/// `cargo course` without a command: where the learner stands, and how to go on.
pub fn show() -> Result<bool> {
    let progress = Progress::read()?;
    let mut text = String::from("your way through the course\n\n");
    let mut next = None;
    for step in steps::find()? {
        let Some(lab) = Lab::of(&step)? else { continue };
        let begun = lab.copy().is_file();
        let _ =
            writeln!(text, "  {}  {}", step.name, if begun { workspace::display(&lab.copy()) } else { String::new() });
        for (number, task) in lab.data.tasks.iter().enumerate() {
            let passed = progress.has_passed(&step.name, number);
            if !passed && !task.open && next.is_none() {
                next = Some((lab.number.clone(), begun));
            }
            let state = match (passed, task.open) {
                (true, _) => "passed",
                (false, true) => "open challenge",
                (false, false) => "to do",
            };
            let _ = writeln!(text, "    {state:<16}{}. {}", number + 1, task.name);
        }
    }
    let _ = match next {
        Some((number, true)) => writeln!(text, "\ngo on with cargo course lab {number}"),
        Some((number, false)) => writeln!(text, "\nbegin with cargo course lab {number}"),
        None => writeln!(text, "\nall tasks are done; the open challenges, and docs/src/next.md, are what is left"),
    };
    text.push_str("all commands: cargo course --help\n");
    output::print(&text)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passed_once_stays_passed() {
        let mut progress = Progress::default();
        progress.note("step", &[true, false]);
        progress.note("step", &[false, false, true]);
        assert!(progress.has_passed("step", 0) && !progress.has_passed("step", 1) && progress.has_passed("step", 2));
        assert!(!progress.has_passed("step", 9) && !progress.has_passed("other", 0));
    }
}
