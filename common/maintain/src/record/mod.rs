//! `cargo x record`: on a machine with a GPU, whether every kernel gives the right product at every shape.
//!
//! It needs neither cargo nor a network: this program and those of the steps may be carried there, with the workspace. What fails or
//! takes too long is written down, and the rest goes on. Times are recorded by `cargo course compare --rungs --save`.

pub mod acceptance;
mod runs;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use common::basics::json;
use common::basics::output::print;
use course::doctor;
use course::files::write;

#[derive(clap::Args)]
pub struct Options {
    /// The folder for acceptance.json and acceptance.md
    out: PathBuf,
    /// Minutes after which no more is begun
    #[arg(long, value_name = "M", default_value_t = 9.0)]
    minutes: f64,
    /// Runs at a time
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Where to run: cuda, cuda:N or sim (then only small sizes)
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: String,
    /// The commit for the record, if git cannot tell it
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
}

/// Runs the command; `false` if a kernel that is no counter-example is wrong somewhere.
pub fn run(options: &Options) -> Result<bool> {
    let Options { out, minutes, jobs, device, commit } = options;
    let end = Instant::now() + Duration::from_secs_f64(minutes.clamp(0.1, 600.0) * 60.0);
    print(&doctor::text())?;
    let (table, right) = runs::all(device, usize::from(*jobs), commit.clone(), end)?;
    write(&out.join("acceptance.json"), &json::lines(&table, 2)?)?;
    write(&out.join("acceptance.md"), &acceptance::markdown(&table))?;
    print(if right { "acceptance: all right\n" } else { "acceptance: not all right, see acceptance.md\n" })?;
    Ok(right)
}
