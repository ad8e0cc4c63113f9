//! How the stand-in behaves, as environment variables say. `cargo simt run` sets them.
//!
//! | variable | meaning |
//! |---|---|
//! | `SIMT_CHECK` | `1`: look for faults of the program and for hazards of its kernels |
//! | `SIMT_COUNTERS` | `1`: count what each kernel does |
//! | `SIMT_LOG` | a file to which each thing that the program does is appended as a line of JSON (see [`crate::log`]) |
//! | `SIMT_GPU` | which GPU to be: a name of `gpus.txt`, or a part of one, in any case; `H100` if not set |
//! | `SIMT_DEVICES` | how many GPUs there are, 1 to 16; 1 if not set |
//! | `SIMT_REPORT` | a file to which each finding is appended as a line of JSON (see [`crate::report`]); else they are printed |

use std::path::PathBuf;

/// What the environment variables say.
#[derive(Debug, Default, Clone)]
#[allow(missing_docs)] // The table above says it.
pub struct Options {
    pub check: bool,
    pub counters: bool,
    pub gpu: String,
    pub devices: usize,
    pub report: Option<PathBuf>,
    pub log: Option<PathBuf>,
}

impl Options {
    /// Reads the variables.
    pub fn read() -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let on = |name: &str| text(name).is_some_and(|value| value != "0");
        Self {
            check: on("SIMT_CHECK"),
            counters: on("SIMT_COUNTERS"),
            gpu: text("SIMT_GPU").unwrap_or_else(|| "H100".into()),
            devices: text("SIMT_DEVICES").and_then(|value| value.parse().ok()).unwrap_or(1).clamp(1, 16),
            report: text("SIMT_REPORT").map(PathBuf::from),
            log: text("SIMT_LOG").map(PathBuf::from),
        }
    }
}
