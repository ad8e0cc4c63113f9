//! `cargo simt`: `check` runs one kernel of a file on the simulator, `run` a whole program on a simulated GPU.

mod argument;
mod finding;
mod kernel;
mod number;
mod program;
mod report;
mod source;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

/// A GPU that is not there: runs and checks programs and kernels that use CUDA
#[derive(Debug, Parser)]
#[command(name = "cargo simt", bin_name = "cargo simt", version, disable_help_subcommand = true)]
struct Line {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Check(kernel::Check),
    Run(program::Run),
}

fn main() -> ExitCode {
    if let Some(compiled) = compile::answer() {
        return compiled;
    }
    // Cargo passes the name of its subcommand on.
    let mut words: Vec<_> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "simt") {
        words.remove(1);
    }
    let result = match Line::try_parse_from(words) {
        Ok(Line { action: Action::Check(check) }) => {
            kernel::check(&check).map(|clean| ExitCode::from(u8::from(!clean)))
        }
        Ok(Line { action: Action::Run(run) }) => program::run(&run),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            system::print(&error.to_string()).map(|()| ExitCode::SUCCESS)
        }
        Err(error) => Err(anyhow::anyhow!(sentence(&error))),
    };
    result.unwrap_or_else(|error| {
        let text: Vec<String> = format!("{error:#}").lines().map(system::escape).collect();
        system::output::complain(&format!("error: {}\n", text.join("\n")));
        ExitCode::from(2)
    })
}

/// What is wrong with the command line, as one sentence with a remedy.
fn sentence(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "say what to do: cargo simt check FILE, or cargo simt run -- COMMAND; --help shows more".into();
    }
    let text = error.to_string();
    let paragraph: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let text = paragraph.join(" ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let remedy = if text.contains(';') { "" } else { "; --help shows what can be given" };
    format!("{text}{remedy}")
}
