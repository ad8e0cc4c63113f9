//! What a compiler is given, and what it gives.

use serde::{Deserialize, Serialize};

use crate::includes::Headers;

/// What is compiled, by NVRTC or rustc.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Unit {
    /// CUDA C, or Rust.
    pub source: String,
    /// What messages and line information call the source.
    pub name: String,
    /// The compiler's options.
    pub options: Vec<String>,
    /// The kernel's headers; for a kernel in Rust its crates, each after those that it uses.
    pub headers: Headers,
    /// Whether an error holds the compiler's log to its end; otherwise it holds the first errors.
    #[serde(default)]
    pub whole_log: bool,
}

/// What a compilation gave.
#[derive(Debug, Serialize, Deserialize)]
pub struct Compiled {
    /// PTX text.
    pub ptx: String,
    /// Machine code, when the target was a real one (`sm_90`) and not a virtual one (`compute_90`).
    pub cubin: Option<Vec<u8>>,
}

/// The first `most` lines of a log: later errors mostly follow from earlier ones.
pub fn first_errors(log: &str, most: usize) -> String {
    let lines: Vec<&str> = log.trim_end().lines().collect();
    let more = lines.len().saturating_sub(most);
    let shown = lines[..lines.len() - more].join("\n");
    if more == 0 { shown } else { format!("{}\n... and {more} more lines", shown.trim_end()) }
}
