//! Records of comparisons as files, the only source of the figures in README and docs: their provenance, and the records that the course
//! keeps.

#[allow(missing_docs, reason = "what has no sentence is said by its name")]
mod format;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use common::basics::{io_reason, json, workspace};
use common::code::Source;
pub(crate) use common::measure::provenance::{commit, now, provenance};

use crate::files;
pub use format::{CUBLAS, Entry, FORMAT, Outcome, Record, SizeRecord, StepRecord, Traffic, rounded, size_words, times};

impl Record {
    /// Reads a record.
    pub fn read(path: &Path) -> Result<Self> {
        let name = workspace::display(path);
        let text = files::text(path).map_err(|error| {
            anyhow!("{name} cannot be read ({}); give a file that cargo course compare --save wrote", io_reason(&error))
        })?;
        let record: Self = serde_json::from_str(&text).with_context(|| {
            format!("{name} is not a saved comparison; make one with cargo course compare --save FILE.json")
        })?;
        ensure!(
            record.format == FORMAT,
            "{name} has format {} and this program reads {FORMAT}; make it again with cargo course compare --save",
            record.format
        );
        Ok(record)
    }

    /// Writes the record, over another one or where there is nothing.
    pub fn write(&self, path: &Path) -> Result<()> {
        // A kernel at a size takes a line.
        files::replace(path, &json::lines(self, 4)?, is_record, ELSEWHERE)
    }

    /// Fails if a record cannot be written there: said before anything is measured.
    pub fn check_place(path: &Path) -> Result<()> {
        files::check_replaceable(path, is_record, ELSEWHERE)
    }

    /// The record's provenance in a sentence: device, versions, day and commit.
    pub fn provenance(&self) -> String {
        let versions =
            [("driver", &self.driver), ("CUDA", &self.cuda), ("NVRTC", &self.nvrtc), ("cuBLAS", &self.cublas)];
        provenance(&self.device.name, &versions, &self.date, &self.commit)
    }

    /// Steps whose source has changed since the record was made, or is gone.
    pub fn outdated(&self) -> Vec<&str> {
        let changed = |step: &&StepRecord| {
            let now = Source::read(&workspace::root().join(&step.source));
            now.map_or(true, |source| source.hash != step.hash)
        };
        self.steps.iter().filter(changed).map(|step| step.name.as_str()).collect()
    }
}

const ELSEWHERE: &str = "name another file with --save";

fn is_record(text: &str) -> bool {
    serde_json::from_str::<Record>(text).is_ok()
}

/// Where the course keeps its records.
pub fn folder() -> PathBuf {
    workspace::root().join("docs/results")
}

/// All comparisons of steps that are kept, each with the name of its file without the ending.
pub fn all() -> Result<Vec<(String, Record)>> {
    within(&folder())
}

/// The comparisons of a folder, each with the name of its file without the ending.
pub fn within(folder: &Path) -> Result<Vec<(String, Record)>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    files.sort();
    let names = files.iter().filter_map(|file| file.strip_suffix(".json"));
    let record = |name: &str| Ok((name.to_owned(), Record::read(&folder.join(format!("{name}.json")))?));
    names.map(record).collect()
}

/// A record with two steps and cuBLAS at two sizes.
#[cfg(test)]
pub(crate) fn example() -> Record {
    Record::read(&common::basics::workspace::root().join("common/course/tests/record.json")).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_its_file_and_one_of_other_sources_is_outdated() {
        let record = example();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        record.write(&path).unwrap();
        let read = Record::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(&record).unwrap());
        assert_eq!(read.outdated(), ["step02_one", "step04_two"]);
        assert!(Record::read(&path).unwrap_err().to_string().contains("cannot be read"));
    }
}
