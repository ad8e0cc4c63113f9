//! How far the learner has come: `progress.json` beside their kernels.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use common::basics::output::io_reason;
use common::basics::workspace;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{files, mine};

/// Version of the file's format. Files of the first version may lack the number.
const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    #[serde(default = "first_format")]
    format: u32,
    /// By the lab's name: its step, and the kernel beyond the course in `STEP/KERNEL`.
    #[serde(default)]
    pub labs: BTreeMap<String, LabProgress>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LabProgress {
    #[serde(default)]
    pub passed: Vec<bool>,
    /// How many hints have been shown, by task.
    #[serde(default)]
    pub hints: Vec<usize>,
}

const fn first_format() -> u32 {
    1
}

impl Default for Progress {
    fn default() -> Self {
        Self { format: FORMAT, labs: BTreeMap::new() }
    }
}

impl Progress {
    /// Reads the learner's file. A file that this program does not understand is kept under another name, which a
    /// sentence on standard error says, and progress begins again.
    pub fn read() -> Result<Self> {
        let (progress, note) = Self::read_from(&file())?;
        if let Some(note) = note {
            let _ = writeln!(std::io::stderr(), "{note}");
        }
        Ok(progress)
    }

    fn read_from(path: &Path) -> Result<(Self, Option<String>)> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Self::default(), None)),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(files::not_a_folder(path.parent().unwrap_or(path)));
            }
            Err(error) => {
                let name = workspace::display(path);
                return Err(anyhow!("{name} cannot be read ({}); check its permissions", io_reason(&error)));
            }
        };
        let why = match Self::parse(&bytes) {
            Ok(progress) => return Ok((progress, None)),
            Err(why) => why,
        };
        let kept = files::free_name(path)?;
        // Its name is asked for while it is there: a path is shown by where its file lies.
        let name = workspace::display(path);
        files::rename(path, &kept)?;
        let note = format!("{name} {why}; it is kept as {}, and progress begins again", workspace::display(&kept));
        Ok((Self::default(), Some(note)))
    }

    /// The error says in words what is wrong with the file.
    fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(bytes).map_err(|_| "is not a text file")?;
        let value: Value = serde_json::from_str(text).map_err(|_| "is damaged")?;
        // Nothing but the number is known of a newer file.
        if value["format"].as_u64().is_some_and(|format| format > u64::from(FORMAT)) {
            return Err("was written by a newer version of the course");
        }
        serde_json::from_value(value).map_err(|_| "is damaged")
    }

    pub fn write(&self) -> Result<()> {
        files::write(&file(), &(serde_json::to_string_pretty(self)? + "\n"))
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

fn file() -> PathBuf {
    mine::folder().join("progress.json")
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

    #[test]
    fn a_file_that_is_not_understood_is_kept_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.json");
        let cases: [(&[u8], &str); 4] = [
            (b"{\"labs\": {\"caf\xe9\": {}}}", "is not a text file"),
            (b"{\"format\": 2, \"labs\": []}", "was written by a newer version of the course"),
            (b"{\"labs\": ", "is damaged"),
            (b"{\"format\": 1, \"labs\": 3}", "is damaged"),
        ];
        for (number, (bytes, why)) in cases.into_iter().enumerate() {
            fs::write(&path, bytes).unwrap();
            let (progress, note) = Progress::read_from(&path).unwrap();
            assert_eq!(progress, Progress::default());
            let note = note.unwrap();
            assert!(note.contains(why) && note.lines().count() == 1, "{note}");
            let kept = folder.path().join(format!("progress.{}.json", number + 1));
            assert_eq!(fs::read(kept).unwrap(), bytes);
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_file_without_a_number_is_of_the_first_format() {
        let progress = Progress::parse(b"{\"labs\": {\"step04_tiled\": {\"passed\": [true]}}}").unwrap();
        assert!(progress.has_passed("step04_tiled", 0));
        assert!(serde_json::to_string(&progress).unwrap().starts_with("{\"format\":1,"));
    }
}
