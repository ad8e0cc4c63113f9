//! The course's own program: what concerns several steps at once. `cargo course --help`.

mod book;
mod compare;
mod counters;
mod doctor;
mod figures;
mod launches;
mod links;
mod ptx;
mod record;
mod registers;
mod steps;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

/// Run, compare and check the steps of the course.
#[derive(Parser)]
#[command(name = "cargo course", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what this machine can do: GPU, driver, NVRTC, cuBLAS, PTX
    Doctor,
    /// Make the generated parts of the book anew: outputs, counters, differences, figures
    Book(book::Options),
    /// Compare the simulator's counters with those read on a GPU, and make the book's page of both
    Counters(counters::Options),
    /// List the launches whose counters are recorded with Nsight Compute
    Launches,
    /// Make the committed PTX of all steps anew, with the pinned NVRTC
    Ptx(ptx::Options),
    /// Run all steps on the same data, in turns: a table for each size, and a record
    Compare(compare::Options),
    /// Compare two records: another GPU, or before and after a change
    CompareRecords(compare::RecordsOptions),
}

fn main() -> ExitCode {
    let matches = Cli::command().try_get_matches();
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => common::run::finish(match cli.command {
            Command::Counters(options) => counters::run(&options),
            Command::Doctor => doctor::run(),
            Command::Book(options) => book::run(&options),
            Command::Launches => launches::run(),
            Command::Ptx(options) => ptx::run(&options),
            Command::Compare(options) => compare::run(&options),
            Command::CompareRecords(options) => compare::records(&options),
        }),
        Err(error) => match common::cli::sentence(&error) {
            (help, 0) => common::run::finish(common::report::print(&help).map(|()| true)),
            (sentence, status) => {
                eprint!("{sentence}");
                ExitCode::from(status)
            }
        },
    }
}
