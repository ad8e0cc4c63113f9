//! `cargo simt run`: a program on a simulated GPU, and what is found in it.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use system::{escape, escaped, io_reason};

use cargo_simt::standin;

use crate::finding::Finding;
use crate::report;

/// Runs a program, and all that it starts, on a simulated GPU in place of the CUDA driver.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cargo simt run -- cargo test             your tests, without a GPU
  cargo simt run --check -- cargo test     ... finds races and misuse of CUDA
  cargo simt run --gpu A100 --devices 2 -- ./program

Exit status: the command's own; 1 if it ended well and something was found; 2 if it could not be run.")]
pub struct Run {
    /// Look for hazards of kernels and for faults of the program that launches them
    #[arg(long)]
    check: bool,

    /// Count what each kernel does
    #[arg(long)]
    counters: bool,

    /// The GPU to be: a name or a part of one; H100 if not given
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,

    /// How many GPUs there are
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    devices: Option<u32>,

    /// Write the findings to a file: .json, .sarif or .xml (JUnit); `annotations` for a workflow
    #[arg(long, value_name = "FILE")]
    report: Vec<PathBuf>,

    /// Write what the program did to a file: a line of JSON for each allocation, copy, launch, event and error
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command. Returns its status, or 1 if it ended well and something was found.
pub fn run(run: &Run) -> Result<ExitCode> {
    let [program, arguments @ ..] = &run.command[..] else {
        bail!("there is no COMMAND; say what to run behind --, as in cargo simt run -- cargo test");
    };
    for file in &run.report {
        report::check(file)?;
    }
    ensure!(
        run.check || run.report.is_empty(),
        "--report has nothing to write without --check; add it, so that something is looked for"
    );
    if let Some(gpu) = &run.gpu {
        let all = standin::gpus();
        let known = all.iter().any(|name| name.to_lowercase().contains(&gpu.to_lowercase()));
        ensure!(known || all.is_empty(), "no GPU is called {}; choose among {}", escape(gpu), all.join(", "));
    }
    let library = standin::library()?;
    let folder = tempfile::tempdir().context("there is no folder for temporary files; set TMPDIR to one")?;
    let lines = folder.path().join("findings");
    let mut command = Command::new(program);
    command.args(arguments).envs(standin::environment(&library, folder.path())?);
    for (variable, on) in [("SIMT_CHECK", run.check), ("SIMT_COUNTERS", run.counters)] {
        command.env(variable, if on { "1" } else { "0" });
    }
    if let Some(log) = &run.log {
        // A new file, by a path that holds in every folder that the command works in.
        let written = std::fs::write(log, "").and_then(|()| std::path::absolute(log));
        let log = written.map_err(|error| {
            anyhow!("--log {} cannot be written ({}); name another file", escaped(log), io_reason(&error))
        })?;
        command.env("SIMT_LOG", log);
    } else {
        command.env_remove("SIMT_LOG");
    }
    command.env("SIMT_GPU", run.gpu.clone().unwrap_or_default());
    command.env("SIMT_DEVICES", run.devices.unwrap_or(1).to_string()).env("SIMT_REPORT", &lines);
    let name = escape(&program.to_string_lossy());
    let words: Vec<_> = run.command.iter().map(|word| word.to_string_lossy()).collect();
    let status = command.status().map_err(|error| match error.kind() {
        ErrorKind::NotFound => anyhow!("there is no program {name}; name a file, or a program on the path"),
        _ => anyhow!("{name} cannot be run ({}); name a file that is a program", io_reason(&error)),
    })?;
    let (findings, counters) = read(&lines)?;
    for text in counters {
        system::output::complain(&text);
    }
    for finding in &findings {
        system::output::complain(&format!("{}\n", finding.text));
    }
    let errors = findings.iter().filter(|finding| !finding.warning).count();
    if run.check {
        let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let warnings = findings.len() - errors;
        let warned = if warnings == 0 { String::new() } else { format!(" and {}", count(warnings, "warning")) };
        let found = if errors + warnings == 0 {
            "nothing wrong found".to_owned()
        } else {
            format!("{}{warned} found", count(errors, "error"))
        };
        system::output::complain(&format!("simt: {found}\n"));
    }
    for file in &run.report {
        report::write(file, &escape(&words.join(" ")), &findings)?;
    }
    Ok(match code(status) {
        0 if errors > 0 => ExitCode::FAILURE,
        code => ExitCode::from(code),
    })
}

/// What the stand-in has written in all processes of the command: findings, and the counters of each launch.
fn read(lines: &Path) -> Result<(Vec<Finding>, Vec<String>)> {
    let text = match std::fs::read_to_string(lines) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((vec![], vec![])),
        Err(error) => bail!("the findings in {} cannot be read ({})", escaped(lines), io_reason(&error)),
    };
    let (mut findings, mut counters): (Vec<Finding>, Vec<String>) = (vec![], vec![]);
    // Files are named as seen from here, as compilers name them.
    let here = std::env::current_dir().map(|here| format!("{}{MAIN_SEPARATOR}", here.display())).unwrap_or_default();
    for line in text.lines() {
        let unknown = "a finding of the stand-in cannot be read; build both again";
        let written: serde_json::Value = serde_json::from_str(line).context(unknown)?;
        if let (Some(kernel), Some(text)) = (written["counters"].as_str(), written["text"].as_str()) {
            counters.push(format!("counters of {}\n{text}", escape(kernel)));
            continue;
        }
        let mut finding: Finding = serde_json::from_value(written).context(unknown)?;
        finding.text = finding.text.replace(&here, "");
        for file in finding.places.iter_mut().filter_map(|site| site.file.as_mut()) {
            *file = file.replace(&here, "");
        }
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    Ok((findings, counters))
}

#[cfg(unix)]
fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    // As a shell says that a signal has ended a program.
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).map_or(1, |code| code as u8)
}

#[cfg(not(unix))]
fn code(status: ExitStatus) -> u8 {
    status.code().map_or(1, |code| if code == 0 { 0 } else { (code as u8).max(1) })
}
