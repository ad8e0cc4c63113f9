//! Grades one hand-in in a child process whose time and memory are limited.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use common::basics::files::hand_over;
use common::basics::{process, workspace};
use common::code::nvrtc;

use super::hand_in::Kernel;
use crate::files;
use crate::lab::graded::Graded;
use crate::mine;

/// Seconds that a grading may take; one of lab 4 takes one.
const SECONDS: u64 = 60;
/// Bytes of memory that a grading may ask for; one of lab 4 touches a fortieth.
#[cfg(target_os = "linux")]
const MEMORY: u64 = 4 << 30;
/// Bytes that a grading may print, and those of a sentence of it.
const OUTPUT: u64 = 4 << 20;
const SENTENCE: usize = 400;

/// Grades a kernel in this folder. The error says in a sentence why it got no points.
pub fn grade(
    kernel: &Kernel,
    folder: &Path,
    seed: u64,
    instruction_limit: Option<u64>,
    threads: usize,
) -> Result<Graded> {
    // Under the name that a learner's own copy has: whatever the file was called reaches no compiler and no message.
    let file = kernel.lab.copy().with_extension(kernel.kind);
    let file = folder.join(file.file_name().unwrap_or_default());
    let (out, err) = (folder.join("out"), folder.join("err"));
    hand_over(&file, kernel.text.as_bytes())?;
    let mut command = Command::new(std::env::current_exe().context("this program is gone; start it again")?);
    command.args(["lab", kernel.lab.name(), "--json", "--seed", &seed.to_string(), "--kernel"]);
    command.arg(file.file_name().unwrap_or_default()).current_dir(folder);
    command.args(instruction_limit.iter().flat_map(|limit| ["--instruction-limit".to_owned(), limit.to_string()]));
    command.env(mine::VARIABLE, folder).env("RAYON_NUM_THREADS", threads.to_string());
    if let Ok(nvrtc) = nvrtc::find() {
        command.env(nvrtc::PATH_VARIABLE, workspace::resolved(&nvrtc.path));
    }
    command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
    let mut child = command.spawn().context("no process can be started; use fewer --jobs")?;
    limit(&child);
    let Some(status) = process::wait(&mut child, Duration::from_secs(SECONDS))? else {
        bail!("it was stopped because its grading took more than {SECONDS} seconds");
    };
    if status.success() {
        let graded = files::text(&out).ok().and_then(|text| serde_json::from_str(&text).ok());
        return graded.context("its grading gave no result");
    }
    let said = files::text(&err).unwrap_or_default();
    let sentence = said.lines().find_map(|line| line.strip_prefix("error: ")).map(escaped);
    let broke = || format!("its grading broke off ({status}); does it take too much memory?");
    bail!(sentence.filter(|_| status.code() == Some(2)).unwrap_or_else(broke))
}

fn escaped(sentence: &str) -> String {
    workspace::escaped(Path::new(sentence)).chars().take(SENTENCE).collect()
}

/// Limits a process's memory and time. If the system refuses, the parent still limits the time.
#[cfg(target_os = "linux")]
fn limit(child: &Child) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    for (resource, most) in [(Resource::As, MEMORY), (Resource::Fsize, OUTPUT)] {
        let most = Rlimit { current: Some(most), maximum: Some(most) };
        let _ = prlimit(Some(Pid::from_child(child)), resource, most);
    }
}

#[cfg(not(target_os = "linux"))]
fn limit(_: &Child) {}
