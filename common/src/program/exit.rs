//! The exit status of a program of the course: 0 right, 1 wrong product or a fault of the kernel, 2 bad usage or environment.

use std::num::NonZero;
use std::process::ExitCode;

use anyhow::Result;

use crate::basics::line::sentence;
use crate::basics::output::complain;
use crate::basics::{escape, print, process};
use findings::diagnostic::Diagnostic;
use findings::{KernelFault, diagnostic};

/// Runs what the command line asks for. `--help` is printed; a command line that cannot be read gives one sentence.
pub fn start<T>(arguments: Result<T, clap::Error>, run: impl FnOnce(&T) -> Result<bool>) -> ExitCode {
    if let Some(compiled) = compile::answer() {
        return compiled;
    }
    process::heed_leash();
    match arguments.map_err(|error| sentence(&error)) {
        Ok(arguments) => {
            start_threads();
            finish(run(&arguments))
        }
        Err((help, 0)) => finish(print(&help).map(|()| true)),
        Err((sentence, status)) => {
            complain(&as_given(sentence));
            ExitCode::from(status)
        }
    }
}

/// Starts rayon's threads, which make operands and check products: at most one per core, even if more are asked for. If the system
/// gives none, this thread does all the work.
fn start_threads() {
    let cores = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|number| number.parse().ok());
    let threads = asked.unwrap_or(cores).min(cores).get();
    if rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().is_err() {
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    }
}

/// The sentence with line breaks in arguments escaped, so that it stays on one line.
fn as_given(sentence: String) -> String {
    let arguments = std::env::args_os().skip(1).flat_map(|argument| {
        let argument = argument.to_string_lossy().into_owned();
        let value = argument.split_once('=').map(|(_, value)| value.to_owned());
        [Some(argument), value].into_iter().flatten()
    });
    let broken = arguments.filter(|argument| argument.trim().contains(['\n', '\r']));
    escape(&broken.fold(sentence, |sentence, argument| {
        sentence.replace(&argument, &argument.replace('\n', "\\n").replace('\r', "\\r"))
    }))
}

/// The exit status: 0 right, 1 wrong product or a fault of the kernel, 2 bad usage or environment. Writes the error's sentence to
/// standard error.
pub fn finish(result: Result<bool>) -> ExitCode {
    let error = match result {
        Ok(right) => return ExitCode::from(u8::from(!right)),
        Err(error) => error,
    };
    let fault = KernelFault::behind(&error);
    let diagnostic = fault.and_then(KernelFault::diagnostic);
    let text = diagnostic.map_or_else(
        || as_given(format!("error: {error:#}\n")),
        |diagnostic| {
            let slow = "a kernel that ends but needs more instructions takes a larger --instruction-limit";
            let note = fault.and_then(|fault| fault.stopped.as_ref()).map(|_| slow.to_owned());
            diagnostic::render(&Diagnostic { note: note.or_else(|| diagnostic.note.clone()), ..diagnostic.clone() })
        },
    );
    complain(&text);
    ExitCode::from(if fault.is_some() { 1 } else { 2 })
}
