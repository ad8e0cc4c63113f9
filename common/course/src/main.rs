//! The course's own program: what concerns several steps at once. `cargo course --help`.

mod acceptance;
mod book;
mod charts;
mod check_time;
mod compare;
mod counters;
mod difference;
mod doctor;
mod figures;
mod generate;
mod lab;
mod lab_grade;
mod launches;
mod links;
mod progress;
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
    /// What to do; without it, where you stand
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Say what this machine can do: GPU, driver, NVRTC, cuBLAS, PTX
    Doctor,
    /// Begin a lab, or have your kernel graded
    Lab(lab::Options),
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
    /// Add to a record what the simulator counts of its kernels' traffic, for the roofline
    Traffic(compare::TrafficOptions),
    /// Show the difference between two steps' kernels, e.g. cargo course diff 4 5
    Diff(difference::Options),
    /// Draw the charts of a record: ladder, speed over size, saw-tooth, roofline
    Chart(generate::ChartOptions),
    /// Make all generated parts anew: tables and charts from the records in docs/results, and what `book` makes
    Generate(generate::Options),
    /// On a machine with a GPU: all there is to measure, in one go
    Record(acceptance::Options),
    /// Time the check of a product on this host
    CheckTime(check_time::Options),
}

fn main() -> ExitCode {
    let matches = Cli::command().try_get_matches();
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => common::exit::finish(match cli.command {
            None => progress::show(),
            Some(Command::Lab(options)) => lab::run(&options),
            Some(Command::Counters(options)) => counters::run(&options),
            Some(Command::Doctor) => doctor::run(),
            Some(Command::Book(options)) => book::run(&options),
            Some(Command::Launches) => launches::run(),
            Some(Command::Ptx(options)) => ptx::run(&options),
            Some(Command::Compare(options)) => compare::run(&options),
            Some(Command::CompareRecords(options)) => compare::records(&options),
            Some(Command::Traffic(options)) => compare::traffic(&options),
            Some(Command::Diff(options)) => difference::run(&options),
            Some(Command::Chart(options)) => generate::chart(&options),
            Some(Command::Generate(options)) => generate::run(&options),
            Some(Command::Record(options)) => acceptance::run(&options),
            Some(Command::CheckTime(options)) => check_time::run(&options),
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
