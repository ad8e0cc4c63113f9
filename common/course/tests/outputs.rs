//! What learners see, held by files: `outputs/*.trycmd` are commands and what they print.
//!
//! After a change on purpose, `TRYCMD=overwrite cargo test -p course --test outputs` writes them again; read the
//! difference before it is committed.

mod support;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use common::basics::workspace;
use course::mine;
use libtest_mimic::Arguments;
use trycmd::TestCases;

use support::{PROGRAM, trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // Where a learner stands, too: cargo starts tests in their package's folder.
    if let Err(error) = std::env::set_current_dir(workspace::root()) {
        eprintln!("the course's folder cannot be entered: {error}");
        return ExitCode::FAILURE;
    }
    let mut trials = vec![support::needs_nvrtc(trial("a_lab_is_begun_failed_and_passed", lab))];
    for name in ["standing", "help", "diff", "compare", "doctor", "errors", "hints", "grade"] {
        trials.push(trial(name, move || outputs(name)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs the commands of a file, with a folder for the learner's files. A difference is a panic, which the harness shows.
fn run(file: &str, folder: &Path) -> Result<()> {
    let cases = TestCases::new();
    cases
        .register_bin("course", Path::new(PROGRAM))
        .insert_var("[MINE]", workspace::display(folder))
        .context("the name of a folder cannot be elided")?
        .env(mine::VARIABLE, folder.display().to_string())
        // Neither the width of a terminal nor what it can show may change what is compared.
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .env("CLICOLOR_FORCE", "0");
    cases.case(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/outputs/{file}.trycmd"))).run();
    Ok(())
}

fn outputs(name: &str) -> Result<()> {
    let folder = support::mine(&format!("outputs-{name}"))?;
    if name == "errors" {
        // A file as the folder for the learner's files.
        std::fs::remove_dir(&folder)?;
        std::fs::write(&folder, "")?;
    }
    run(name, &folder)
}

/// The learner's copy is made and fails as it is; then somebody writes the step's own kernel into it.
fn lab() -> Result<()> {
    let folder = support::mine("outputs-lab")?;
    run("lab/begun", &folder)?;
    std::fs::copy(workspace::root().join("step02_gpu_naive/kernel.cu"), folder.join("step02.cu"))?;
    run("lab/passed", &folder)
}
