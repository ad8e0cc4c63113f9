//! The command line of all steps, tried on step 4, for cases that a file of outputs cannot hold: a closed pipe, an argument with a
//! line break, an edit, a compiler that may be missing.

use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use common::code::find_nvrtc;
use compile::nvrtc;
use libtest_mimic::Trial;

use super::{folder, needing, program, root, trial};

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("nobody_who_reads_is_no_error", nobody_who_reads_is_no_error),
        trial("a_line_break_stays_on_one_line", a_line_break_stays_on_one_line),
    ];
    let compiles = [
        trial("a_syntax_error_names_file_and_line", a_syntax_error_names_file_and_line),
        trial("an_edit_takes_effect_without_a_build", an_edit_takes_effect_without_a_build),
    ];
    trials.extend(needing("NVRTC", find_nvrtc().map(drop), compiles));
    let parted = trial("an_incomplete_nvrtc_is_not_the_kernels_fault", an_incomplete_nvrtc_is_not_the_kernels_fault);
    trials.extend(needing("an NVRTC of which no library is installed for all programs", only_beside(), [parted]));
    trials
}

/// A run of a kernel on the simulator.
fn run(kernel: &str) -> Command {
    let mut command = program();
    command.args(["--device", "sim", "--size", "70", "--kernel", kernel]);
    command
}

/// The error of a run, which must end with status 2, have these words in its error, and print nothing on standard output.
fn refused(output: &Output, words: &str) -> Result<String> {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(2), "status {:?}: {error}", output.status.code());
    ensure!(error.starts_with("error: ") && error.contains(words) && output.stdout.is_empty(), "{words}: {error}");
    Ok(error)
}

fn one_sentence(output: &Output, words: &str) -> Result<String> {
    let error = refused(output, words)?;
    ensure!(error.trim_end().lines().count() == 1, "not one sentence: {error}");
    Ok(error)
}

fn nobody_who_reads_is_no_error() -> Result<()> {
    let mut child = program().args(["--device", "sim"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    drop(child.stdout.take());
    let output = child.wait_with_output()?;
    ensure!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    Ok(())
}

fn a_line_break_stays_on_one_line() -> Result<()> {
    let output = run("no\nsuch\u{1b}[31m.cu").output()?;
    one_sentence(&output, "no\\nsuch\\u{1b}[31m.cu cannot be read").map(drop)
}

fn a_syntax_error_names_file_and_line() -> Result<()> {
    let output = run("../common/tests/program/kernels/syntax_error.cu").output()?;
    refused(&output, "syntax_error.cu(3): error").map(drop)
}

/// Where the second library of NVRTC is in the loader's list, it is found there, and nothing is incomplete.
fn only_beside() -> Result<()> {
    let (major, minor) = find_nvrtc()?.version;
    let listed = Command::new("ldconfig").arg("-p").output().map(|listed| listed.stdout).unwrap_or_default();
    let library = format!("libnvrtc-builtins.so.{major}.{minor}");
    ensure!(!String::from_utf8_lossy(&listed).contains(&library), "the loader lists {library}");
    Ok(())
}

/// NVRTC without the second library that belongs beside it.
fn an_incomplete_nvrtc_is_not_the_kernels_fault() -> Result<()> {
    let folder = folder("incomplete_nvrtc")?;
    let library = &find_nvrtc()?.path;
    std::fs::copy(library, folder.join(library.file_name().context("NVRTC has no name")?))?;
    let output = run("../common/tests/mistakes/stride_of_a.cu")
        .env(nvrtc::PATH_VARIABLE, &folder)
        .env_remove("LD_LIBRARY_PATH")
        .output()?;
    let error = one_sentence(&output, "is incomplete (failed to open ")?;
    ensure!(error.contains("); pip install ") && !error.contains("stride_of_a"), "the kernel is blamed: {error}");
    Ok(())
}

fn an_edit_takes_effect_without_a_build() -> Result<()> {
    let source = std::fs::read_to_string(root().join("step04_tiled/kernel.cu"))?;
    let kernel = concat!(env!("CARGO_TARGET_TMPDIR"), "/edited.cu");
    std::fs::write(kernel, &source)?;
    ensure!(run(kernel).output()?.status.success(), "the step's own kernel fails");
    std::fs::write(kernel, source.replace("sum += ", "sum -= "))?;
    let output = run(kernel).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.code() == Some(1) && text.contains("wrong sign"), "{text}");
    Ok(())
}
