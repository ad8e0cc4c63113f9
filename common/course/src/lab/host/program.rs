//! A host program: its crate, which is built in a folder of its own, and its runs on the stand-in for the driver, in a process whose time
//! and memory are limited.

use std::ffi::OsString;
use std::fs::File;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use cargo_simt::standin;
use common::basics::{escape, process, workspace};
use serde_json::Value;
use tempfile::TempDir;

use super::case::Case;
use crate::files;

/// The lab's files beside the program: name in the crate, and text. The lock file is the course's own, of which cargo takes what it needs.
pub fn beside() -> Result<[(&'static str, String); 3]> {
    let lock = files::read(&workspace::root().join("Cargo.lock"))?;
    let manifest = include_str!("../../../host/manifest.toml").to_owned();
    Ok([("Cargo.toml", manifest), ("Cargo.lock", lock), ("kernel.cu", KERNEL.to_owned())])
}

/// The kernel that the program launches.
pub const KERNEL: &str = include_str!("../../../host/kernel.cu");

/// Seconds that a run may take, and bytes of memory and of a file.
const SECONDS: u64 = 60;
#[cfg(target_os = "linux")]
const MEMORY: u64 = 4 << 30;
#[cfg(target_os = "linux")]
const FILE: u64 = 64 << 20;
/// The most bytes that are read of what a program prints.
const PRINTED: usize = 16 << 10;

/// A program that has been built.
pub struct Program {
    folder: TempDir,
    environment: Vec<(&'static str, OsString)>,
}

/// What one run has left.
pub struct Run {
    /// In a few words how it ended, unless it ended well; and whether with an error of its own.
    pub failed: Option<String>,
    pub is_error: bool,
    pub is_endless: bool,
    pub out: String,
    /// What it has written into `c.f32`.
    pub written: Option<Vec<f32>>,
    /// What it did, and what was found wrong in it.
    pub log: Vec<Value>,
    pub findings: Vec<Value>,
}

impl Program {
    /// Builds the crate of a program's text, offline, from what the course itself is built from. The inner error is the compiler's.
    pub fn build(text: &str) -> Result<Result<Self, String>> {
        let folder = tempfile::Builder::new().prefix("course-host-").tempdir();
        let folder = folder.context("there is no folder for temporary files; set TMPDIR to one")?;
        let at = |name: &str| folder.path().join(name);
        for (name, text) in beside()? {
            files::write(&at(name), &text)?;
        }
        // All such crates share what they depend on, and the place of the program.
        let target = workspace::root().join("target/host");
        std::fs::create_dir_all(&target).with_context(|| workspace::display(&target))?;
        let _lock = files::lock(&target);
        // To cargo they are one package in several states, and it tells by the time of the file which one it has built. So the file is
        // written when nobody else builds, and what is known of an earlier state is forgotten.
        let known = target.join("debug/.fingerprint");
        let states = std::fs::read_dir(&known).into_iter().flatten().flatten();
        for state in states.filter(|state| state.file_name().as_encoded_bytes().starts_with(b"host-")) {
            let _ = std::fs::remove_dir_all(state.path());
        }
        std::fs::create_dir(at("src"))?;
        files::write(&at("src/main.rs"), text)?;
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--offline", "--quiet", "--color=never", "--target-dir"]).arg(&target);
        for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_BUILD_RUSTFLAGS"] {
            cargo.env_remove(variable);
        }
        // What an earlier build has kept names the files of a folder that is gone.
        cargo.env("CARGO_INCREMENTAL", "0").current_dir(folder.path()).stdin(Stdio::null());
        let output = cargo.output().context("cargo does not start; put it on the path")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            ensure!(
                said.contains("main.rs:"),
                "the lab's crate cannot be built; run cargo fetch in the course's folder once, with a network: {}",
                said.trim()
            );
            return Ok(Err(said));
        }
        let built = target.join("debug").join(format!("host{}", std::env::consts::EXE_SUFFIX));
        std::fs::copy(&built, at("host")).with_context(|| workspace::display(&built))?;
        let place = at("driver");
        std::fs::create_dir(&place)?;
        let environment = standin::environment(&standin::library()?, &place)?;
        Ok(Ok(Self { folder, environment }))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the stand-in has written, with files named as seen from the program's folder.
    fn lines(&self, name: &str) -> Result<Vec<Value>> {
        let Ok(text) = std::fs::read_to_string(self.at(name)) else { return Ok(vec![]) };
        let text = text.replace(&format!("{}{MAIN_SEPARATOR}", self.folder.path().display()), "");
        let line = |line: &str| match serde_json::from_str(line) {
            Ok(value) => Ok(value),
            Err(_) => bail!("what the program did was not written down to its end; does it do very much?"),
        };
        text.lines().map(line).collect()
    }

    /// Runs the program in its folder, with a kernel.
    pub fn run(&self, case: &Case, kernel: &str) -> Result<Run> {
        for name in ["c.f32", "log", "report"] {
            let _ = std::fs::remove_file(self.at(name));
        }
        files::write(&self.at("kernel.cu"), kernel)?;
        for (name, elements) in &case.inputs {
            std::fs::write(self.at(name), bytemuck::cast_slice(elements)).with_context(|| (*name).to_owned())?;
        }
        let mut command = Command::new(self.at("host"));
        command.args(&case.arguments).current_dir(self.folder.path()).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.envs(["SIMT_CHECK", "SIMT_COUNTERS"].map(|name| (name, "1")));
        command.env("SIMT_LOG", self.at("log")).env("SIMT_REPORT", self.at("report"));
        command.envs(["TMPDIR", "TMP", "TEMP", "HOME"].map(|name| (name, self.folder.path())));
        command.envs(std::env::var_os("SystemRoot").map(|value| ("SystemRoot", value)));
        let (out, err) = (self.at("out"), self.at("err"));
        command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
        let mut child = command.spawn().context("the program does not start")?;
        #[cfg(target_os = "linux")]
        limit(&child);
        let status = process::wait(&mut child, Duration::from_secs(SECONDS))?;
        let said = printed(&err);
        let is_error = status.and_then(|status| status.code()).is_some_and(|code| (1..=100).contains(&code));
        let [log, findings] = [self.lines("log")?, self.lines("report")?];
        let failed = match status {
            Some(status) if status.success() => None,
            Some(status) => Some(format!("it ended with {status}: {}{}", said.trim(), answered(&log))),
            None => Some(format!("it was stopped after {SECONDS} seconds")),
        };
        let findings = findings.into_iter().filter(|line| line["title"].is_string()).collect();
        let written = std::fs::read(self.at("c.f32")).ok();
        let word = |word: &[u8]| f32::from_le_bytes(word.try_into().unwrap_or_default());
        let written = written.map(|bytes| bytes.chunks_exact(4).map(word).collect());
        let is_error = is_error && !said.trim().is_empty();
        Ok(Run { failed, is_error, is_endless: status.is_none(), out: printed(&out), written, log, findings })
    }
}

/// The beginning of what a program has printed.
fn printed(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    escape(&String::from_utf8_lossy(&bytes[..bytes.len().min(PRINTED)]))
}

/// The last call of the driver that has failed.
fn answered(log: &[Value]) -> String {
    let Some(line) = log.iter().rfind(|line| line["did"] == "error") else { return String::new() };
    let at = line["at"].as_str().map_or_else(String::new, |at| format!(" ({at})"));
    let [call, code] = ["call", "code"].map(|key| line[key].as_str().unwrap_or_default());
    format!("; {call} answered {code}{at}")
}

/// Limits a program's memory, its files and its processor's time. If the system refuses, the parent still limits the time.
#[cfg(target_os = "linux")]
fn limit(child: &std::process::Child) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    for (resource, most) in
        [(Resource::As, MEMORY), (Resource::Fsize, FILE), (Resource::Cpu, 4 * SECONDS), (Resource::Core, 0)]
    {
        let most = Rlimit { current: Some(most), maximum: Some(most) };
        let _ = prlimit(Some(Pid::from_child(child)), resource, most);
    }
}
