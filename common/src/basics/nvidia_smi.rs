//! What `nvidia-smi` tells of the GPUs, where there is one to ask.

use std::process::Command;

/// The first line of its answer; `None` without it.
pub fn first_line(args: &[&str]) -> Option<String> {
    let output = Command::new("nvidia-smi").args(args).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// The driver's version.
pub fn driver() -> Option<String> {
    first_line(&["--query-gpu=driver_version", "--format=csv,noheader"])
}
