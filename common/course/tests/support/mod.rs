//! What the tests of the program share: where it is, and what it runs with.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
pub use common::testing::trial;
use libtest_mimic::Trial;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_course");

/// The environment variable with which this program runs the step that it names.
pub const STEP: &str = "COURSE_TESTS_STEP";

/// What a program has said on its standard output and on the other one, and its exit status.
pub struct Said {
    pub out: String,
    pub err: String,
    pub status: Option<i32>,
}

impl Said {
    pub fn text(&self) -> String {
        self.out.clone() + &self.err
    }
}

/// Runs the course's program with these variables of the environment. It may ask for an answer.
pub fn course(arguments: &[&str], variables: &[(&str, &Path)], answer: &str) -> Result<Said> {
    said(Command::new(PROGRAM).args(arguments).envs(variables.iter().copied()), answer)
}

pub fn said(command: &mut Command, answer: &str) -> Result<Said> {
    // No line is broken, whatever the length of a folder's name.
    command.env("COLUMNS", "1000");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("the program does not start")?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may have ended without asking.
        let _ = stdin.write_all(answer.as_bytes());
    }
    let output = child.wait_with_output()?;
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let said = Said { out, err, status: output.status.code() };
    ensure!(!said.err.contains("panicked"), "{}", said.text());
    Ok(said)
}

/// The text with one space for each row of blanks and line breaks.
pub fn unbroken(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A folder for the learner's files, empty.
pub fn mine(name: &str) -> Result<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder).or_else(|_| std::fs::remove_file(&folder));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The test, ignored if there is no NVRTC here.
pub fn needs_nvrtc(test: Trial) -> Trial {
    match common::code::find_nvrtc() {
        Ok(_) => test,
        Err(error) => test.with_kind(format!("needs NVRTC: {error}")).with_ignored_flag(true),
    }
}
