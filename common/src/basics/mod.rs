//! What all rooms build on and what knows none of them: where the course lies, what this machine is, the elements of A and B,
//! units, text and progress on the terminal.

pub mod driver;
pub mod files;
pub mod host;
pub mod json;
pub mod nvidia_smi;
pub mod output;
pub mod process;
pub mod table;
pub mod units;
pub mod workspace;

pub use verify::{matrix, mix, progress};
