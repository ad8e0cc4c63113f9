//! The maintainers' program: what is generated, measured and checked. `cargo x --help`.

mod acceptance;
mod book;
mod charts;
mod check_time;
mod counters;
mod figures;
mod generate;
mod house;
mod launches;
mod links;
mod mutants;
mod ptx;
mod registers;
mod targets;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use course::compare;

/// Generate, measure and check what the course is made of.
#[derive(Parser)]
#[command(name = "cargo x", disable_help_subcommand = true)]
struct Cli {
    /// What to do
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the committed PTX of all steps, with the pinned NVRTC, or check it
    Ptx(ptx::Options),
    /// Make the generated parts of the book: outputs, counters, differences, figures
    Book(book::Options),
    /// Compare the simulator's counters with those read on a GPU, and make the book's page of both
    Counters(counters::Options),
    /// List the launches whose counters are recorded with Nsight Compute
    Launches,
    /// Add to a record what the simulator counts of its kernels' traffic, for the roofline
    Traffic(compare::TrafficOptions),
    /// Draw the charts of a record: ladder, speed over size, saw-tooth, roofline
    Chart(generate::ChartOptions),
    /// Make all generated parts: tables and charts from the records in docs/results, and what `book` makes
    Generate(generate::Options),
    /// On a machine with a GPU: all there is to measure, in one go
    Record(acceptance::Options),
    /// Time the check of a product on this host
    CheckTime(check_time::Options),
    /// Plant small faults in verification, plans, counters and hazards: the tests must notice
    Mutants(mutants::Options),
    /// Check that the workspace compiles for Windows, macOS and 64-bit Arm
    Targets,
}

fn main() -> ExitCode {
    let matches = Cli::command().try_get_matches();
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => common::run::finish(match cli.command {
            Command::Ptx(options) => ptx::run(&options),
            Command::Book(options) => book::run(&options),
            Command::Counters(options) => counters::run(&options),
            Command::Launches => launches::run(),
            Command::Traffic(options) => compare::traffic(&options),
            Command::Chart(options) => generate::chart(&options),
            Command::Generate(options) => generate::run(&options),
            Command::Record(options) => acceptance::run(&options),
            Command::CheckTime(options) => check_time::run(&options),
            Command::Mutants(options) => mutants::run(&options),
            Command::Targets => targets::run(),
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
