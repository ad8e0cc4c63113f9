//! Runs other programs, for what they print or for a limited time.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// What a program prints, without blanks around it; `None` if it does not start or fails.
pub fn printed(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The variable of a child that ends when its standard input does, because its parent is gone.
pub const LEASH: &str = "COURSE_LEASH";

/// Ends this process with its standard input, if its parent asks for that.
pub fn heed_leash() {
    if std::env::var_os(LEASH).is_some() {
        let end = || {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            std::process::exit(2)
        };
        let _ = std::thread::Builder::new().spawn(end);
    }
}

/// Waits for a process. One that takes longer than `limit` is ended and has no status.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    loop {
        match child.try_wait()? {
            None if begin.elapsed() < limit => std::thread::sleep(Duration::from_millis(2)),
            None => {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            status => return Ok(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_program_that_does_not_end_is_ended() {
        let mut child = Command::new("sleep").arg("30").spawn().unwrap();
        let begin = Instant::now();
        assert_eq!(wait(&mut child, Duration::from_millis(100)).unwrap(), None);
        assert!(begin.elapsed() < Duration::from_secs(10) && child.try_wait().unwrap().is_some());
        let mut child = Command::new("true").spawn().unwrap();
        assert!(wait(&mut child, Duration::from_secs(10)).unwrap().is_some_and(|status| status.success()));
    }
}
