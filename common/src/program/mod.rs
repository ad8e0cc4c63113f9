//! A step's program: the command line, the run on a device or on the host, the report and the exit status.

pub mod cli;
pub mod exit;
mod on_device;
mod on_host;
pub mod report;
mod run;

pub use on_device::run as run_on_device;
pub use run::{execute, run};
