//! `cargo x record`: on a machine with a GPU, all there is to measure, in one go.
//!
//! It needs neither cargo nor a network: this program, `course` and those of the steps may be carried there, with the
//! workspace. What fails or takes too long is written down, and the rest goes on; the files are there after every part.

pub mod acceptance;
mod runs;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;
use common::basics::json;
use common::basics::output::print;
use course::doctor;
use course::files::write;

use crate::programs::{self, timed_run};

#[derive(clap::Args)]
pub struct Options {
    /// The folder for compare.json, compare.txt, acceptance.json and acceptance.md
    out: PathBuf,
    /// Minutes after which no more is begun
    #[arg(long, value_name = "M", default_value_t = 9.0)]
    minutes: f64,
    /// Runs of the acceptance table at a time
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Only these parts, with commas between them
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_parser = PARTS)]
    only: Vec<String>,
    /// Where the acceptance runs compute: cuda, cuda:N or sim (then only small sizes)
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: String,
    /// The commit for the record, if git cannot tell it
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
}

/// What is measured: all kernels, and whether every kernel is right at every shape.
const PARTS: [&str; 2] = ["compare", "acceptance"];
/// Seconds of the comparison.
const COMPARE_SECONDS: u64 = 480;
/// Options of `cargo course compare`: what keeps what it measured, and what takes the rungs along.
const SAVE: &str = "--save";
const RUNGS: &str = "--rungs";

/// Runs the command; `false` if a kernel that is no counter-example is wrong somewhere.
pub fn run(options: &Options) -> Result<bool> {
    let end = Instant::now() + Duration::from_secs_f64(options.minutes.clamp(0.1, 600.0) * 60.0);
    let wanted = |part: &str| options.only.is_empty() || options.only.iter().any(|only| only == part);
    print(&doctor::text())?;
    let compared = !wanted("compare") || compare(options, end)?;
    Ok((!wanted("acceptance") || accept(options, end)?) && compared)
}

/// All steps in turns.
fn compare(options: &Options, end: Instant) -> Result<bool> {
    let mut command = Command::new(programs::path("course")?);
    command.args(["compare", "--device", &options.device, RUNGS, SAVE]).arg(options.out.join("compare.json"));
    if let Some(commit) = &options.commit {
        command.args(["--commit", commit]);
    }
    let limit = end.saturating_duration_since(Instant::now()).min(Duration::from_secs(COMPARE_SECONDS));
    let output = options.out.join("compare.txt");
    fs::create_dir_all(&options.out)?;
    let done = timed_run(command, limit, &output)?;
    let words = match done {
        Some(0) => "all steps right".to_owned(),
        Some(status) => format!("exit status {status}, see {}", output.display()),
        None => format!("stopped after {} s; what was measured until then is recorded", limit.as_secs()),
    };
    print(&format!("compare: {words}\n"))?;
    Ok(done == Some(0))
}

/// Every kernel at every size.
fn accept(options: &Options, end: Instant) -> Result<bool> {
    let Options { out, device, jobs, commit, .. } = options;
    let (table, right) = runs::all(device, usize::from(*jobs), commit.clone(), end)?;
    write(&out.join("acceptance.json"), &json::lines(&table, 2)?)?;
    write(&out.join("acceptance.md"), &acceptance::markdown(&table))?;
    print(if right { "acceptance: all right\n" } else { "acceptance: not all right, see acceptance.md\n" })?;
    Ok(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_asked_for_by_options_that_exist() {
        let help = programs::output("course", &["compare", "--help"]).unwrap().stdout;
        assert!([SAVE, RUNGS].iter().all(|option| help.contains(option)), "{help}");
    }
}
