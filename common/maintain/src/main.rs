//! The maintainers' program: what is generated, measured and checked. `cargo x --help`.

mod chapters;
mod charts;
mod check;
mod commands;
mod counters;
mod figures;
mod house;
mod links;
mod mutants;
mod pages;
mod picture;
mod programs;
mod ptx;
mod record;
mod table;
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
    /// Regenerate the committed PTX of all steps, with the pinned NVRTC, or check it
    Ptx(ptx::Options),
    /// Regenerate all generated parts of README, book and chapters, or check them: outputs, counters, differences, figures,
    /// tables and charts of records
    Pages(pages::Options),
    /// Compare the simulator's counters with those that were read on a GPU
    Counters(counters::Options),
    /// On a machine with a GPU: measure all there is to measure, in one go
    Record(record::Options),
    /// Plant small faults in verification, plans, counters and hazards: the tests must notice
    Mutants(mutants::Options),
    /// Check that the workspace compiles for Windows, macOS and 64-bit Arm
    Targets,
    /// Check all that is committed: PTX, pages, links, the commands they show, counters, the book
    Check,
    /// A part of `record`: add to a record what the simulator counts of its kernels' traffic, for the roofline
    #[command(hide = true)]
    Traffic(compare::TrafficOptions),
    /// A part of `record`: time the check of a product on this host
    #[command(hide = true)]
    CheckTime(record::check_time::Options),
}

fn main() -> ExitCode {
    let matches = Cli::command().try_get_matches();
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => common::output::finish(match cli.command {
            Command::Ptx(options) => ptx::run(&options),
            Command::Pages(options) => pages::run(&options),
            Command::Counters(options) => counters::run(&options),
            Command::Record(options) => record::run(&options),
            Command::Check => check::run(),
            Command::Traffic(options) => compare::traffic(&options),
            Command::CheckTime(options) => record::check_time::run(&options),
            Command::Mutants(options) => mutants::run(&options),
            Command::Targets => targets::run(),
        }),
        Err(error) => match common::cli::sentence(&error) {
            (help, 0) => common::output::finish(common::output::print(&help).map(|()| true)),
            (sentence, status) => {
                eprint!("{sentence}");
                ExitCode::from(status)
            }
        },
    }
}
