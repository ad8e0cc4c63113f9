//! The learner's progress: `progress.json` next to their kernels.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::mine;

/// Version of the file's format. Files of the first version may lack the number.
const FORMAT: u32 = 1;
const FILE: &str = "progress.json";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    #[serde(deserialize_with = "known_format")]
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
    /// Reads the learner's file.
    pub fn read() -> Result<Self> {
        mine::read(FILE)
    }

    /// Changes the learner's file.
    pub fn update<T>(change: impl FnOnce(&mut Self) -> T) -> Result<T> {
        mine::update(FILE, change)
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

fn known_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let format = u32::deserialize(deserializer)?;
    if format > FORMAT { Err(D::Error::custom("it is of a newer version of the course")) } else { Ok(format) }
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
    fn the_first_files_lack_the_format_and_newer_ones_are_refused() {
        let read = serde_json::from_str::<Progress>;
        assert_eq!(read("{\"labs\": {}}").unwrap(), Progress::default());
        assert!(read("{\"format\": 2, \"labs\": {}}").unwrap_err().to_string().contains("newer version"));
    }
}
