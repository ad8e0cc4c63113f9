//! Runs a compiler in a child process, with limits on its time and its memory: a few lines of macros or templates can keep it busy
//! for ever. The child is this program again, started with a private argument.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};

use super::folder::Folder;
use super::nvrtc::Nvrtc;
use super::rustc::{self, Rustc};
use super::unit::{Compiled, Unit};
use system::files::{LARGEST, hand_over};
use system::io_reason;
use system::process::wait;

const ARGUMENT: &str = "--compile-for-its-parent";
/// A kernel of the course takes a third of a second and 100 MiB.
const SECONDS: u64 = 20;
const MEMORY_GIB: u64 = 2;

/// There is no process for a compiler, whatever the kernel is.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotStarted(String);

/// Whether this program handles the argument. Test programs do not, so they compile in their own process.
static ANSWERS: AtomicBool = AtomicBool::new(false);

/// What is to be compiled, and by which compiler.
#[derive(Serialize, Deserialize)]
pub enum Job {
    /// CUDA C, by the NVRTC library of this path.
    Cuda(PathBuf, Unit),
    /// Rust.
    Rust(Rustc, Unit),
}

impl Job {
    /// Compiles it in this process, without a time limit.
    fn run(&self) -> Result<Compiled> {
        match self {
            Self::Cuda(library, unit) => Nvrtc::open(library)?.compile(unit),
            Self::Rust(rustc, unit) => rustc.compile(unit),
        }
    }
}

/// If this process was started as a compiler's child, compiles what the parent asks for.
pub fn answer() -> Option<ExitCode> {
    let argument = std::env::args_os().nth(1).unwrap_or_default();
    if argument == rustc::ARGUMENT {
        limit();
        return Some(rustc::become_it());
    }
    if argument != ARGUMENT {
        ANSWERS.store(true, Ordering::Relaxed);
        return None;
    }
    limit();
    rustc::end_with_this_process();
    let compile = || -> Result<Compiled> { serde_json::from_reader::<_, Job>(std::io::stdin().lock())?.run() };
    let answer = compile().map_err(|error| format!("{error:#}"));
    let written = serde_json::to_writer(std::io::stdout().lock(), &answer);
    Some(ExitCode::from(u8::from(written.is_err())))
}

/// Limits this process, so that it ends even if its parent is gone.
#[cfg(unix)]
fn limit() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let (memory, answer) = ((Resource::As, MEMORY_GIB << 30), (Resource::Fsize, 8 * LARGEST));
    for (resource, most) in [memory, answer, (Resource::Cpu, SECONDS + 1), (Resource::Core, 0)] {
        // If the system refuses, the parent still limits the time.
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

#[cfg(not(unix))]
fn limit() {}

/// Compiles a kernel within the limits.
pub fn compile(job: &Job) -> Result<Compiled> {
    if !ANSWERS.load(Ordering::Relaxed) {
        return job.run();
    }
    let (compiler, name) = match job {
        Job::Cuda(_, unit) => ("NVRTC", &unit.name),
        Job::Rust(_, unit) => ("rustc", &unit.name),
    };
    let no_process = |error: std::io::Error| {
        let reason = io_reason(&error);
        NotStarted(format!(
            "{compiler} runs in a process of its own, which does not start ({reason}); end other programs, or free room in the folder for temporary files"
        ))
    };
    let job = serde_json::to_vec(job)?;
    // If the child is killed, its temporary files are removed with this folder.
    let folder = Folder::new().map_err(no_process)?;
    let program = std::env::current_exe().map_err(no_process)?;
    let mut command = Command::new(program);
    let mut run = || -> std::io::Result<_> {
        let [asked, answered] = ["asked", "answered"].map(|name| folder.path().join(name));
        hand_over(&asked, &job)?;
        command.arg(ARGUMENT).stdin(File::open(asked)?).stdout(File::create(&answered)?).stderr(Stdio::null());
        let ended = wait(&mut command.env("TMPDIR", folder.path()).spawn()?, Duration::from_secs(SECONDS))?;
        let mut answer = Vec::new();
        File::open(answered)?.take(8 * LARGEST).read_to_end(&mut answer)?;
        Ok(ended.map(|_| answer))
    };
    let answer = run().map_err(no_process)?;
    let too_much = |of: &str, kind: &str| {
        anyhow!("{name} takes {compiler} more than {of}; look for macros, templates or {kind} that grow without end")
    };
    let answer = answer.ok_or_else(|| too_much(&format!("{SECONDS} seconds"), "constants"))?;
    match serde_json::from_slice(&answer) {
        Ok(answer) => Result::<Compiled, String>::map_err(answer, anyhow::Error::msg),
        Err(_) => Err(too_much(&format!("{MEMORY_GIB} GiB of memory, or breaks it"), "arrays")),
    }
}
