//! What leaves a program of the course: its text on standard output, an error's sentence, and the exit status.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, anyhow};

use crate::diagnostic;
use crate::fault::KernelFault;

/// Writes to standard output, with its colours if that is a terminal that wants them; a closed pipe or a full disk is an
/// error, not a panic.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| {
        anyhow!(
            "standard output cannot be written ({}); send it to a file with room or to a program that reads it",
            io_reason(&error)
        )
    })
}

/// The reason of an I/O error in lower case, without the number of the operating system's error.
pub fn io_reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// The exit status: 0 right, 1 wrong product or a fault of the kernel, 2 bad usage or environment, with the error's
/// sentence on standard error.
pub fn finish(result: Result<bool>) -> ExitCode {
    let error = match result {
        Ok(right) => return ExitCode::from(u8::from(!right)),
        Err(error) => error,
    };
    let fault = KernelFault::behind(&error);
    let diagnostic = fault.and_then(KernelFault::diagnostic);
    let text = diagnostic.map_or_else(|| format!("error: {error:#}\n"), diagnostic::render);
    // If standard error is closed too, the exit status is all there is left to say.
    let _ = anstream::stderr().write_all(text.as_bytes());
    ExitCode::from(if fault.is_some() { 1 } else { 2 })
}
