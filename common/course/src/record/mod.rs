//! What a comparison found, as a file: the only source of the figures in README and docs.

mod file;
#[allow(missing_docs, reason = "what has no sentence is said by its name")]
mod format;
mod statistics;

pub use common::measure::provenance::{commit, now, provenance};
pub use file::{all, folder};
pub use format::{CUBLAS, Entry, FORMAT, Outcome, Record, SizeRecord, StepRecord, Traffic, rounded};
pub use statistics::{size_words, times};

/// A record with two steps and cuBLAS at two sizes.
#[cfg(test)]
pub(crate) fn example() -> Record {
    Record::read(&common::basics::workspace::root().join("common/course/tests/record.json")).unwrap()
}
