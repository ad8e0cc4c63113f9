//! `cargo x record`: on a machine with a GPU, all there is to measure, in one go.
//!
//! It needs neither cargo nor a network: this program, `course` and those of the steps may be carried there, with the
//! workspace. What fails or takes too long is written down, and the rest goes on; the files are there after every part.

pub mod acceptance;
mod process;
mod runs;
mod traffic;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;
use common::basics::json;
use common::basics::output::print;
use course::doctor;
use course::files::write;

use crate::programs;
use acceptance::Acceptance;
use process::timed_run;

#[derive(clap::Args)]
pub struct Options {
    /// The folder for log.txt, compare.json, compare.txt, acceptance.json, acceptance.md and the like
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

/// What is measured: all kernels with a warm L2 cache, the steps at sizes close together, the steps with an empty cache, and whether every
/// kernel is right at every shape.
const PARTS: [&str; 4] = ["compare", "saw-tooth", "flushed", "acceptance"];
/// Seconds of the longest comparison, of the saw-tooth's, and of the one with a flushed cache.
const COMPARE_SECONDS: u64 = 480;
const SAW_TOOTH_SECONDS: u64 = 120;
const FLUSHED_SECONDS: u64 = 60;
/// The option of `cargo course compare` that keeps what it measured.
const SAVE: &str = "--save";

/// Runs the command; `false` if a kernel that is no counter-example is wrong somewhere.
pub fn run(options: &Options) -> Result<bool> {
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(options.minutes.clamp(0.1, 600.0) * 60.0);
    let wanted = |part: &str| options.only.is_empty() || options.only.iter().any(|only| only == part);
    let mut session = Session { options, log: String::new(), begin, end };
    session.log(&doctor::text())?;
    let sim = options.device == "sim";
    let mut ok = true;
    if wanted("compare") {
        ok &= session.compare("compare", COMPARE_SECONDS, &["--rungs"])?;
    }
    if wanted("saw-tooth") && !sim {
        ok &= session.compare("compare-saw-tooth", SAW_TOOTH_SECONDS, &["--size", "1000", "--saw-tooth"])?;
    }
    if wanted("flushed") && !sim {
        let sizes = ["--flush-l2", "--size", "256,512,1024,2048,4096"];
        ok &= session.compare("compare-flushed", FLUSHED_SECONDS, &sizes)?;
    }
    if wanted("acceptance") {
        ok &= session.acceptance()?;
    }
    Ok(ok)
}

struct Session<'a> {
    options: &'a Options,
    /// What was done, on the screen and in a file.
    log: String,
    begin: Instant,
    end: Instant,
}

impl Session<'_> {
    fn log(&mut self, text: &str) -> Result<()> {
        let text = format!("[{:.0} s] {text}", self.begin.elapsed().as_secs_f64());
        print(&text)?;
        self.log += &text;
        write(&self.options.out.join("log.txt"), &self.log)
    }

    /// All steps in turns, and where they stand in the roofline.
    fn compare(&mut self, name: &str, seconds: u64, arguments: &[&str]) -> Result<bool> {
        let file = self.options.out.join(format!("{name}.json"));
        let mut command = Command::new(programs::path("course")?);
        command.args(["compare", "--device", &self.options.device, SAVE]).arg(&file).args(arguments);
        if let Some(commit) = &self.options.commit {
            command.args(["--commit", commit]);
        }
        let limit = self.end.saturating_duration_since(Instant::now()).min(Duration::from_secs(seconds));
        let done = timed_run(command, limit, &self.options.out.join(format!("{name}.txt")));
        let words = match &done {
            Ok(Some(0)) => "all steps right".to_owned(),
            Ok(Some(status)) => format!("exit status {status}, see {name}.txt"),
            Ok(None) => format!("stopped after {seconds} s; what was measured until then is recorded"),
            Err(error) => format!("{error:#}"),
        };
        self.log(&format!("{name}: {words}\n"))?;
        if file.is_file() && self.options.device != "sim" {
            let told = traffic::add(&file).unwrap_or_else(|error| format!("{error:#}\n"));
            self.log(&format!("{name}: operations for each byte, as the simulator counts them\n{told}"))?;
        }
        Ok(matches!(done, Ok(Some(0))))
    }

    fn acceptance(&mut self) -> Result<bool> {
        let Options { out, device, jobs, commit, .. } = self.options;
        let keep = |table: &Acceptance| -> Result<()> {
            write(&out.join("acceptance.json"), &json::lines(table, 2)?)?;
            write(&out.join("acceptance.md"), &acceptance::markdown(table))
        };
        let options = runs::Options { device, jobs: *jobs, commit: commit.clone(), end: self.end };
        let right = runs::all(&options, &keep)?;
        self.log(if right { "acceptance: all right\n" } else { "acceptance: not all right, see acceptance.md\n" })?;
        Ok(right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_kept_by_an_option_that_exists() {
        let help = programs::output("course", &["compare", "--help"]).unwrap().stdout;
        let options = [SAVE, "--rungs", "--saw-tooth", "--flush-l2"];
        assert!(options.iter().all(|option| help.contains(option)), "{help}");
    }
}
