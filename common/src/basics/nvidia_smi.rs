//! Asks `nvidia-smi` about the GPUs, if it is there.

use std::process::Command;

use super::process::printed;

/// The first line of its answer; `None` if it is missing or fails.
pub fn first_line(args: &[&str]) -> Option<String> {
    let text = printed(Command::new("nvidia-smi").args(args))?;
    text.lines().next().map(|line| line.trim().to_owned())
}

/// The driver's version.
pub fn driver() -> Option<String> {
    first_line(&["--query-gpu=driver_version", "--format=csv,noheader"])
}
