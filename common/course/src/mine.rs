//! The folder of the learner's own files: `mine/` in the course, which git ignores; and what the course itself keeps there, as JSON: the
//! learner's progress, and when each question was asked.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use common::basics::{io_reason, workspace};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};

use crate::files;

/// The environment variable that names another folder.
pub const VARIABLE: &str = "COURSE_MINE";

pub fn folder() -> PathBuf {
    let elsewhere = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty());
    elsewhere.map_or_else(|| workspace::root().join("mine"), PathBuf::from)
}

/// Reads a file that the course keeps; the default if there is none. A file that this program does not understand stays as it is.
pub(crate) fn read<T: Default + DeserializeOwned>(name: &str) -> Result<T> {
    read_from(&folder().join(name))
}

/// Changes a file that the course keeps. Other programs of the course may be changing it, too.
pub(crate) fn update<T, R>(name: &str, change: impl FnOnce(&mut T) -> R) -> Result<R>
where
    T: Default + Serialize + DeserializeOwned,
{
    let path = folder().join(name);
    // The folder may not exist yet; if something is in its way, that is reported when it is needed.
    let _ = fs::create_dir_all(folder());
    let _lock = files::lock(&folder());
    let mut kept: T = read_from(&path)?;
    let result = change(&mut kept);
    let text = serde_json::to_string_pretty(&kept)? + "\n";
    files::replace(&path, &text, |old| serde_json::from_str::<T>(old).is_ok(), "move it away").map(|()| result)
}

fn read_from<T: Default + DeserializeOwned>(path: &Path) -> Result<T> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(T::default()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(files::not_a_folder(files::folder_of(path)));
        }
        _ => {}
    }
    let text = files::text(path).map_err(|error| io_reason(&error));
    // A list would pass for an object whose fields are missing.
    let is_object = |text: &str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text);
    let kept = |text: String| is_object(&text).and_then(|_| serde_json::from_str(&text));
    let kept = text.and_then(|text| kept(text).map_err(|error| error.to_string()));
    kept.map_err(|why| anyhow!("{} cannot be read ({why}); move it away to begin again", workspace::display(path)))
}

/// The file with the learner's progress.
pub(crate) const PROGRESS: &str = "progress.json";
/// Version of its format. Files of the first version may lack the number.
const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    #[serde(deserialize_with = "known_format")]
    format: u32,
    /// By the lab's name: its step, and the kernel beyond the course in `STEP/KERNEL`.
    pub labs: BTreeMap<String, LabProgress>,
    /// What another version of the course has noted.
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabProgress {
    pub passed: Vec<bool>,
    /// How many hints have been shown, by task.
    pub hints: Vec<usize>,
    /// How many gradings have failed, by the task that failed, as long as it has not passed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<usize>,
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

impl Default for Progress {
    fn default() -> Self {
        Self { format: FORMAT, labs: BTreeMap::new(), others: BTreeMap::new() }
    }
}

impl Progress {
    /// Notes which tasks have passed; what passed once stays passed.
    pub fn note(&mut self, step: &str, passed: &[bool]) {
        let lab = self.labs.entry(step.to_owned()).or_default();
        lab.passed.resize(lab.passed.len().max(passed.len()), false);
        for (noted, &now) in lab.passed.iter_mut().zip(passed) {
            *noted |= now;
        }
    }

    /// Notes that a grading has failed at a task.
    pub fn note_failure(&mut self, step: &str, task: usize) {
        let failed = &mut self.labs.entry(step.to_owned()).or_default().failed;
        failed.resize(failed.len().max(task + 1), 0);
        failed[task] += 1;
    }

    /// How much help the first task that has not passed is worth: a failed grading counts once, and a hint twice.
    pub fn patience(&self, step: &str) -> usize {
        let Some(lab) = self.labs.get(step) else { return 0 };
        let task = lab.passed.iter().position(|passed| !passed).unwrap_or(lab.passed.len());
        let of = |counts: &[usize]| counts.get(task).copied().unwrap_or_default();
        of(&lab.failed) + 2 * of(&lab.hints)
    }

    pub fn has_passed(&self, step: &str, task: usize) -> bool {
        self.labs.get(step).and_then(|lab| lab.passed.get(task)).copied().unwrap_or(false)
    }
}

fn known_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let format = u32::deserialize(deserializer)?;
    if format > FORMAT { Err(D::Error::custom("it is of a newer version of the course")) } else { Ok(format) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_understood_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.json");
        let read = || read_from::<BTreeMap<String, bool>>(&path);
        assert!(read().unwrap().is_empty());
        // A byte order mark, which some editors write, is not damage.
        fs::write(&path, "\u{feff}{\"step\": true}").unwrap();
        assert!(read().unwrap()["step"]);
        for bytes in [&b"{\"caf\xe9\": true}"[..], b"{\"step\": ", b"{\"step\": 3}"] {
            fs::write(&path, bytes).unwrap();
            assert!(read().unwrap_err().to_string().ends_with("; move it away to begin again"));
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        fs::write(&path, "[]").unwrap();
        assert!(read_from::<Progress>(&path).is_err());
    }

    #[test]
    fn what_passed_once_stays_passed() {
        let mut progress = Progress::default();
        progress.note("step", &[true, false]);
        progress.note("step", &[false, false, true]);
        assert!(progress.has_passed("step", 0) && !progress.has_passed("step", 1) && progress.has_passed("step", 2));
        assert!(!progress.has_passed("step", 9) && !progress.has_passed("other", 0));
    }

    #[test]
    fn failed_gradings_and_hints_count_for_their_task() {
        let mut progress = Progress::default();
        assert_eq!(progress.patience("step"), 0);
        progress.note_failure("step", 0);
        assert_eq!(progress.patience("step"), 1);
        progress.labs.entry("step".into()).or_default().hints = vec![1];
        assert_eq!(progress.patience("step"), 3);
        progress.note("step", &[true, false]);
        assert_eq!(progress.patience("step"), 0);
    }

    #[test]
    fn what_another_version_has_noted_is_kept() {
        let text = r#"{"format":1,"labs":{"step":{"passed":[true],"hints":[],"minutes":7}},"name":"Ada"}"#;
        let mut progress: Progress = serde_json::from_str(text).unwrap();
        progress.note("step", &[true, true]);
        let written = serde_json::to_string(&progress).unwrap();
        assert_eq!(written, text.replace("[true]", "[true,true]"));
    }

    #[test]
    fn the_first_files_lack_the_format_and_newer_ones_are_refused() {
        let read = serde_json::from_str::<Progress>;
        assert_eq!(read("{\"labs\": {}}").unwrap(), Progress::default());
        assert!(read("{\"format\": 2, \"labs\": {}}").unwrap_err().to_string().contains("newer version"));
    }
}
