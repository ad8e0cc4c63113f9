//! How far the learner has come: `progress.json` beside their kernels.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use common::basics::output::{self, io_reason};
use common::basics::workspace;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{files, mine};

/// Version of the file's format. Files of the first version may lack the number.
const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    format: u32,
    /// By the lab's name: its step, and the kernel beyond the course in `STEP/KERNEL`.
    pub labs: BTreeMap<String, LabProgress>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabProgress {
    pub passed: Vec<bool>,
    /// How many hints have been shown, by task.
    pub hints: Vec<usize>,
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
        let _lock = files::lock(&mine::folder());
        Self::read_from(&file())
    }

    /// Changes the learner's file, which other programs of the course may be changing, too.
    pub fn update<T>(change: impl FnOnce(&mut Self) -> T) -> Result<T> {
        // The folder may not be there yet, and what stands in its way is said when it is needed.
        let _ = fs::create_dir_all(mine::folder());
        let _lock = files::lock(&mine::folder());
        let mut progress = Self::read_from(&file())?;
        let result = change(&mut progress);
        let text = serde_json::to_string_pretty(&progress)? + "\n";
        let remedy = "move it away";
        files::replace(&file(), &text, |old| Self::parse(old).is_ok(), remedy).map(|()| result)
    }

    fn read_from(path: &Path) -> Result<Self> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(files::not_a_folder(path.parent().unwrap_or(path)));
            }
            _ => {}
        }
        let name = workspace::display(path);
        let why = match files::text(path).map_err(|error| io_reason(&error)) {
            Ok(text) => match Self::parse(&text) {
                Ok(progress) => return Ok(progress),
                Err(why) => why.to_owned(),
            },
            Err(why) if path.is_file() && why.starts_with("it ") => why[3..].to_owned(),
            Err(why) => return Err(anyhow!("{name} cannot be read ({why}); check its permissions, or move it away")),
        };
        let kept = files::keep(path)?;
        fs::remove_file(path)?;
        let kept = workspace::display(&kept);
        output::note(&format!("{name} {why}; it is kept as {kept}, and progress begins again"));
        Ok(Self::default())
    }

    /// The error says in words what is wrong with the file.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let value: Value = serde_json::from_str(text).map_err(|_| "is damaged")?;
        // Nothing but the number is known of a newer file.
        if value["format"].as_u64().is_some_and(|format| format > u64::from(FORMAT)) {
            return Err("was written by a newer version of the course");
        }
        serde_json::from_value(value).map_err(|_| "is damaged")
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
        let cases: [&[u8]; 4] = [
            b"{\"labs\": {\"caf\xe9\": {}}}",
            b"{\"format\": 2, \"labs\": []}",
            b"{\"labs\": ",
            b"{\"format\": 1, \"labs\": 3}",
        ];
        for (number, bytes) in cases.into_iter().enumerate() {
            fs::write(&path, bytes).unwrap();
            assert_eq!(Progress::read_from(&path).unwrap(), Progress::default());
            let kept = folder.path().join(format!("progress.{}.json", number + 1));
            assert_eq!(fs::read(kept).unwrap(), bytes);
            assert!(!path.exists());
        }
        // Neither an editor's mark nor a missing number is damage.
        fs::write(&path, "\u{feff}{\"labs\": {\"step\": {\"passed\": [true]}}}").unwrap();
        let progress = Progress::read_from(&path).unwrap();
        assert!(progress.has_passed("step", 0) && progress.format == 1);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = Progress::read_from(&path).unwrap_err().to_string();
        assert!(error.contains("it is not a file") && error.ends_with("or move it away"), "{error}");
    }
}
