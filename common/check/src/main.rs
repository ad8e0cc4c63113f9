//! `cargo simt`: `check` runs one kernel of a file on the simulator, `run` a whole program on a simulated GPU.

mod argument;
mod finding;
mod kernel;
mod number;
mod program;
mod report;
mod source;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use system::line;

/// A GPU that is not there: runs and checks programs and kernels that use CUDA
#[derive(Debug, Parser)]
#[command(name = "cargo simt", bin_name = "cargo simt", version, disable_help_subcommand = true)]
struct Line {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Check(kernel::Check),
    Run(program::Run),
    /// Print what a shell needs to complete the words of cargo-simt
    Completions(line::Completions),
}

/// What is said of a command line without words.
const NOTHING: &str = "say what to do: cargo simt check FILE, or cargo simt run -- COMMAND; --help shows more";

fn main() -> ExitCode {
    if let Some(compiled) = compile::answer() {
        return compiled;
    }
    // Cargo passes the name of its subcommand on.
    let mut words: Vec<_> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "simt") {
        words.remove(1);
    }
    let result = match line::read(words) {
        Ok(Line { action: Action::Check(check) }) => {
            kernel::check(&check).map(|clean| ExitCode::from(u8::from(!clean)))
        }
        Ok(Line { action: Action::Run(run) }) => program::run(&run),
        Ok(Line { action: Action::Completions(shell) }) => shell.print::<Line>("cargo-simt").map(|_| ExitCode::SUCCESS),
        Err(error) => match line::sentence(&error) {
            (help, 0) => system::print(&help).map(|()| ExitCode::SUCCESS),
            _ if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Err(anyhow::anyhow!(NOTHING)),
            (sentence, _) => Err(anyhow::anyhow!(sentence.trim_start_matches("error: ").trim_end().to_owned())),
        },
    };
    result.unwrap_or_else(|error| {
        let text: Vec<String> = format!("{error:#}").lines().map(system::escape).collect();
        system::output::complain(&format!("error: {}\n", text.join("\n")));
        ExitCode::from(2)
    })
}
