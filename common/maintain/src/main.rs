//! The maintainers' program, which generates, measures and checks. `cargo x --help` lists what it does.

mod budget;
mod charts;
mod check;
mod counters;
mod explore;
mod generated;
mod pages;
mod programs;
mod ptx;
#[cfg(test)]
mod structure;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// Make what the explorer's page needs and is committed, or check it: the engine, and PTX with smaller tiles
    Explorer(explore::Options),
    /// Compare the simulator's counters with those that were read on a GPU
    Counters(counters::Options),
    /// Check all that is committed: lines of Rust, PTX, pages, the explorer, counters, the book
    Check,
}

fn main() -> ExitCode {
    common::program::exit::start(Cli::try_parse(), |cli| match &cli.command {
        Command::Ptx(options) => ptx::run(options),
        Command::Pages(options) => pages::run(options),
        Command::Explorer(options) => explore::run(options),
        Command::Counters(options) => counters::run(options),
        Command::Check => check::run(),
    })
}
