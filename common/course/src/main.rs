//! The learner's program. `cargo course --help`.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use course::{book, compare, difference, doctor, lab, standing};

/// Where you stand in the course, its labs, and how the steps compare.
#[derive(Parser)]
#[command(name = "cargo course", bin_name = "cargo course", disable_help_subcommand = true)]
struct Cli {
    /// What to do; without it, where you stand
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Begin a lab, or have your kernel graded
    Lab(lab::Options),
    /// Show how one step's kernel differs from another's: cargo course diff 4 5
    Diff(difference::Options),
    /// Run all steps on the same data, in turns: a table for each size; or show two saved comparisons
    Compare(compare::Options),
    /// Say what this machine can do: GPU, driver, NVRTC, cuBLAS, PTX
    Doctor,
    /// Build the book and open it in a browser
    Book(book::Options),
}

fn main() -> ExitCode {
    let matches = Cli::command().try_get_matches();
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => common::output::finish(match cli.command {
            None => standing::run(),
            Some(Command::Lab(options)) => lab::run(&options),
            Some(Command::Diff(options)) => difference::run(&options),
            Some(Command::Compare(options)) => compare::run(&options),
            Some(Command::Doctor) => doctor::run(),
            Some(Command::Book(options)) => book::run(&options),
        }),
        Err(error) => match common::cli::sentence(&error) {
            (help, 0) => common::output::finish(common::output::print(&help).map(|()| true)),
            (sentence, status) => {
                // If standard error is closed too, the exit status is all there is left to say.
                let _ = std::io::stderr().write_all(sentence.as_bytes());
                ExitCode::from(status)
            }
        },
    }
}
