//! What a comparison found, as a file: the only source of the figures in README and docs.

mod file;
mod format;
mod provenance;
mod sizes;
mod statistics;

pub use file::{all, folder};
pub use format::{CUBLAS, Clocks, Entry, FORMAT, Outcome, Record, SizeRecord, StepRecord, Traffic, rounded};
pub use provenance::{clocks, commit, driver, now};
pub use sizes::{only_in_saw_tooth, saw_tooth, size_words};
