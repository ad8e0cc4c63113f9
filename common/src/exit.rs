//! The exit status of a program of the course: 0 right, 1 wrong product or a fault of the kernel, 2 bad usage or
//! environment.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;

use crate::fault::KernelFault;

/// The exit status of a program of the course, with the error's sentence on standard error.
pub fn finish(result: Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            // If standard error is closed too, the exit status is all there is left to say.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(if error.chain().any(<dyn std::error::Error>::is::<KernelFault>) { 1 } else { 2 })
        }
    }
}
