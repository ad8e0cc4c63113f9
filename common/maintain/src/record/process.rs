//! A program that is given a limited time.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use wait_timeout::ChildExt as _;

/// Runs a program for at most `limit`, its output into a file; its exit status, or `None` if it was stopped.
pub fn timed_run(mut command: Command, limit: Duration, output: &Path) -> Result<Option<i32>> {
    let file = File::create(output)
        .with_context(|| format!("{} cannot be written; choose another place", output.display()))?;
    let mut child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
    let status = child.wait_timeout(limit)?;
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(status.map(|status| status.code().unwrap_or(-1)))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_program_that_does_not_end_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("output.txt");
        let mut command = Command::new("sleep");
        command.arg("30");
        let begin = Instant::now();
        assert_eq!(timed_run(command, Duration::from_millis(100), &output).unwrap(), None);
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert_eq!(timed_run(Command::new("true"), Duration::from_secs(10), &output).unwrap(), Some(0));
    }
}
