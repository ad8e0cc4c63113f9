//! The maintainers' program, which generates, measures and checks. `cargo x --help` lists what it does.

mod budget;
mod charts;
mod counters;
mod explore;
mod generated;
mod oldest;
mod pages;
mod precision;
mod programs;
mod ptx;
#[cfg(test)]
mod structure;
mod update;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use common::basics::print;

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
    /// Make what the explorer's page needs and is committed, or check it: PTX with smaller tiles, and for a release the engine
    Explorer(explore::Options),
    /// Compare the simulator's counters with those that were read on a GPU
    Counters(counters::Options),
    /// Bring everything up to date that a change makes stale: PTX, recorded outputs and results, pages; then list what has changed
    Update,
    /// Check all that is committed: lines of Rust, PTX, pages, the explorer, counters, the book
    Check,
}

fn main() -> ExitCode {
    common::program::exit::start(common::basics::line::read(std::env::args_os()), |cli: &Cli| match &cli.command {
        Command::Ptx(options) => ptx::run(options),
        Command::Pages(options) => pages::run(options),
        Command::Explorer(options) => explore::run(options),
        Command::Counters(options) => counters::run(options),
        Command::Update => update::run(),
        Command::Check => check(),
    })
}

/// What must hold, in words, and the function that checks it.
type Check = (&'static str, fn() -> Result<bool>);

/// Checks everything that is committed, once it is built and tested, even after one check has failed. Returns `false` if any has failed.
fn check() -> Result<bool> {
    let checks: [Check; 8] = [
        ("no crate is larger than its budget", budget::check),
        ("findings show few lines, and the one that is wrong", precision::check),
        ("the oldest Rust that is stated is old enough for the locked crates", oldest::check),
        ("committed PTX is what the sources give", || ptx::run(&ptx::Options { check: true, steps: vec![] })),
        ("generated parts of the pages are fresh", || pages::run(&pages::Options { check: true, files: vec![] })),
        ("the explorer's smaller tiles are what their sources give, and its engine is that of a release", || {
            explore::run(&explore::Options { check: true, ..explore::Options::default() })
        }),
        ("the simulator counts what the GPU counted", || counters::run(&counters::Options::default())),
        ("mdBook builds the book", book),
    ];
    let mut failed = Vec::new();
    for (what, check) in checks {
        print(&format!("\n-- {what}\n"))?;
        let ok = check().or_else(|error| print(&format!("error: {error:#}\n")).map(|()| false))?;
        if !ok {
            failed.push(what);
        }
    }
    print(&match failed.as_slice() {
        [] => format!("\nall {} checks hold\n", checks.len()),
        failed => format!("\nthis does not hold: {}\n", failed.join("; ")),
    })?;
    Ok(failed.is_empty())
}

fn book() -> Result<bool> {
    let (built, log) = course::book::build()?;
    let ok = built && !complains(&log);
    print(if ok { "the book is in docs/book\n" } else { &log })?;
    Ok(ok)
}

/// Whether mdBook has reported an error. After an error in a page it goes on and still exits with 0.
fn complains(log: &str) -> bool {
    ["WARN", "ERROR"].iter().any(|word| log.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mdbook_says_counts() {
        assert!(complains("2026-11-21 [WARN] (mdbook::x): a link leads nowhere"));
        assert!(!complains("2026-11-21 [INFO] (mdbook::book): Book building has started"));
    }
}
