//! The learner's program. `cargo course --help`.

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use course::{compare, difference, doctor, lab, progress};

/// Where you stand in the course, its labs, and how the steps compare.
#[derive(Parser)]
#[command(name = "cargo course", disable_help_subcommand = true)]
struct Cli {
    /// What to do; without it, where you stand
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Begin a lab, or have your kernel graded
    Lab(lab::Options),
    /// Show the difference between two steps' kernels, e.g. cargo course diff 4 5
    Diff(difference::Options),
    /// Run all steps on the same data, in turns: a table for each size, and a record
    Compare(compare::Options),
    /// Compare two records: another GPU, or before and after a change
    CompareRecords(compare::RecordsOptions),
    /// Say what this machine can do: GPU, driver, NVRTC, cuBLAS, PTX
    Doctor,
}

fn main() -> ExitCode {
    let matches = Cli::command().try_get_matches();
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => common::exit::finish(match cli.command {
            None => progress::show(),
            Some(Command::Lab(options)) => lab::run(&options),
            Some(Command::Diff(options)) => difference::run(&options),
            Some(Command::Compare(options)) => compare::run(&options),
            Some(Command::CompareRecords(options)) => compare::records(&options),
            Some(Command::Doctor) => doctor::run(),
        }),
        Err(error) => match common::cli::sentence(&error) {
            (help, 0) => common::exit::finish(common::output::print(&help).map(|()| true)),
            (sentence, status) => {
                eprint!("{sentence}");
                ExitCode::from(status)
            }
        },
    }
}
