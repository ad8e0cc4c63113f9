//! The maintainers' program: what is generated, measured and checked. `cargo x --help`.

mod accuracy;
mod chapters;
mod charts;
mod check;
mod counters;
mod explore;
mod figures;
mod generated;
mod many;
mod one_kernel;
mod pages;
mod picture;
mod programs;
mod ptx;
mod record;
mod shapes;
#[cfg(test)]
mod structure;
mod table;

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
    /// Make the explorer's page, with its engine, or check it
    Explorer(explore::Options),
    /// Compare the simulator's counters with those that were read on a GPU
    Counters(counters::Options),
    /// On a machine with a GPU: measure all there is to measure, in one go
    Record(record::Options),
    /// On a machine with a GPU: the kernel for every shape at random shapes, and the figures of its rule
    Shapes(shapes::Options),
    /// On a machine with a GPU: how accurate and how fast products on tensor cores are, beside the FP32 units and cuBLAS
    Accuracy(accuracy::Options),
    /// Check all that is committed: PTX, pages, counters, the book
    Check,
}

fn main() -> ExitCode {
    common::program::exit::start(Cli::try_parse(), |cli| match &cli.command {
        Command::Ptx(options) => ptx::run(options),
        Command::Pages(options) => pages::run(options),
        Command::Explorer(options) => explore::run(options),
        Command::Counters(options) => counters::run(options),
        Command::Record(options) => record::run(options),
        Command::Shapes(options) => shapes::run(options),
        Command::Accuracy(options) => accuracy::run(options),
        Command::Check => check::run(),
    })
}
