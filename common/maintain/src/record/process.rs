//! A program that is given a limited time.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Runs a program for at most `limit`, its output into a file; its exit status, or `None` if it was stopped.
pub fn timed_run(mut command: Command, limit: Duration, output: &Path) -> Result<Option<i32>> {
    let begin = Instant::now();
    let file = File::create(output)
        .with_context(|| format!("{} cannot be written; choose another place", output.display()))?;
    let mut child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code().unwrap_or(-1)));
        }
        if begin.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
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
