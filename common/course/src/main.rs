//! The learner's program. `cargo course --help`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use common::basics::line;
use course::{book, compare, difference, doctor, explore, grade, lab, review, secret, standing};

/// Where you stand in the course, its labs, and how the steps compare.
#[derive(Parser)]
#[command(name = "cargo course", bin_name = "cargo course", version, disable_help_subcommand = true)]
struct Cli {
    /// What to do; without it, where you stand
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Begin a lab, or have your kernel graded
    Lab(lab::Options),
    /// Show how one kernel differs from another: cargo course diff 4 5
    Diff(difference::Options),
    /// Run all steps on the same data, in turns: a table for each size
    Compare(compare::Options),
    /// Write a page on which a kernel runs before your eyes: a file of yours, or a step
    Explore(explore::Options),
    /// Grade what a class has handed in: a table, a CSV file, a page
    Grade(grade::Options),
    /// Answer a few questions on what you have read, again after some days
    Review(review::Options),
    /// Make the secret of a class, from which its tasks and exams are drawn
    Secret(secret::Options),
    /// Say what this machine can do: GPU, driver, NVRTC, cuBLAS, PTX
    Doctor,
    /// Build the book and open it in a browser
    Book(book::Options),
    /// Print what a shell needs to complete the words of the program course
    Completions(line::Completions),
}

fn main() -> ExitCode {
    common::program::exit::start(line::read(std::env::args_os()), |cli: &Cli| match &cli.command {
        None => standing::run(),
        Some(Command::Lab(options)) => lab::run(options),
        Some(Command::Diff(options)) => difference::run(options),
        Some(Command::Compare(options)) => compare::run(options),
        Some(Command::Explore(options)) => explore::run(options),
        Some(Command::Grade(options)) => grade::run(options),
        Some(Command::Review(options)) => review::run(options),
        Some(Command::Secret(options)) => secret::run(options),
        Some(Command::Doctor) => doctor::run(),
        Some(Command::Book(options)) => book::run(options),
        Some(Command::Completions(shell)) => shell.print::<Cli>("course"),
    })
}
