//! The exit status of a program of the course: 0 right, 1 wrong product or a fault of the kernel, 2 bad usage or
//! environment.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;

use crate::basics::output::print;
use crate::findings::diagnostic::{self, Diagnostic};
use crate::findings::fault::KernelFault;
use crate::program::cli::sentence;

/// Runs what a command line asks for, if it can be read: `--help` is printed, and anything else is one sentence.
pub fn start<T>(arguments: Result<T, clap::Error>, run: impl FnOnce(&T) -> Result<bool>) -> ExitCode {
    match arguments.map_err(|error| sentence(&error)) {
        Ok(arguments) => {
            one_thread_if_no_more();
            finish(run(&arguments))
        }
        Err((help, 0)) => finish(print(&help).map(|()| true)),
        Err((sentence, status)) => {
            // If standard error is closed too, the exit status is all there is left to say.
            let _ = std::io::stderr().write_all(sentence.as_bytes());
            ExitCode::from(status)
        }
    }
}

/// Operands are made and products are checked on rayon's threads. Where the system gives none, this one does it all.
fn one_thread_if_no_more() {
    if rayon::ThreadPoolBuilder::new().build().is_err() {
        // It fails only if there are threads already.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    }
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
    let text = diagnostic.map_or_else(
        || format!("error: {error:#}\n"),
        |diagnostic| {
            let slow = "a kernel that ends but needs more instructions takes a larger --instruction-limit";
            let note = fault.and_then(|fault| fault.stopped.as_ref()).map(|_| slow.to_owned());
            diagnostic::render(&Diagnostic { note: note.or_else(|| diagnostic.note.clone()), ..diagnostic.clone() })
        },
    );
    // If standard error is closed too, the exit status is all there is left to say.
    let _ = anstream::stderr().write_all(text.as_bytes());
    ExitCode::from(if fault.is_some() { 1 } else { 2 })
}
