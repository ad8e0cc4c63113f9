//! The course's own program: what concerns several steps at once. `cargo course --help`.

mod doctor;
mod launches;
mod ptx;
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
    /// List the launches whose counters are recorded with Nsight Compute
    Launches,
    /// Make the committed PTX of all steps anew, with the pinned NVRTC
    Ptx(ptx::Options),
}

fn main() -> ExitCode {
    let matches = Cli::command().try_get_matches();
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => common::run::finish(match cli.command {
            Command::Doctor => doctor::run(),
            Command::Launches => launches::run(),
            Command::Ptx(options) => ptx::run(&options),
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
