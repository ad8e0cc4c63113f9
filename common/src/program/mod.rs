//! A step's program: the command line, the run on a device or on the host, the report, the exit status.

pub mod cli;
pub mod exit;
pub mod on_device;
pub mod on_host;
pub mod report;
mod run;

pub use run::{execute, run};
