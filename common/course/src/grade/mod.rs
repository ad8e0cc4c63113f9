//! `cargo course grade`: what a class has handed in, graded one by one: a table, a CSV file and a page.
//!
//! Hand-ins are untrusted. Each is read up to a size, copied into a separate folder, and graded in a child process whose time and
//! memory are limited, so a bad one can only spoil its own row.

mod class;
mod hand_in;
pub(crate) mod page;

use std::fs::{DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use common::basics::files::hand_over;
use common::basics::{Progress, io_reason, output, process, workspace};
use common::code::{find_nvrtc, find_rustc};
use compile::nvrtc;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::files::{self, parse_file, parse_seed};
use crate::lab::{Graded, Lab, fresh_seed};
use crate::mine;
use class::{Class, Row};
use hand_in::HandIn;

#[derive(clap::Args)]
pub struct Options {
    /// The folder with the hand-ins: every .cu and .rs file in it, or in the folders of the students
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The lab, as for cargo course lab; by default each file's name tells, such as step04.cu
    #[arg(long)]
    lab: Option<String>,
    /// Write a page: who passed what, what went wrong most often, and each kernel with its findings underlined
    #[arg(long, value_name = "FILE.html", value_parser = parse_file())]
    out: Option<PathBuf>,
    /// Write a table for a spreadsheet
    #[arg(long, value_name = "FILE.csv", value_parser = parse_file())]
    csv: Option<PathBuf>,
    /// How many hand-ins are graded at the same time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Repeat a grading: the hidden shapes and the matrices, the same for all, follow from its seed
    #[arg(long, value_name = "S", value_parser = parse_seed)]
    seed: Option<u64>,
    /// Warp instructions after which a launch is stopped, as for cargo course lab
    #[arg(long, value_name = "N")]
    instruction_limit: Option<u64>,
}

/// Runs the command. Wrong kernels do not make it fail.
pub fn run(options: &Options) -> Result<bool> {
    let only = options.lab.as_deref().map(Lab::find).transpose()?;
    let mut hand_ins = hand_in::all(&options.folder, only.as_ref())?;
    let place = |file: &PathBuf| {
        let folder = files::folder_of(file);
        let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder)).ok()?;
        Some((folder, file.file_name()?.to_owned()))
    };
    let places = [&options.out, &options.csv].map(|file| file.as_ref().and_then(place));
    let apart = places[0].is_none() || places[0] != places[1];
    ensure!(apart, "--out and --csv name one file; give the page and the table a file each");
    for (file, begin) in [(&options.out, page::BEGIN), (&options.csv, class::BEGIN)] {
        file.as_deref()
            .map_or(Ok(()), |file| files::check_replaceable(file, |old| old.starts_with(begin), ELSEWHERE))?;
    }
    for kind in ["cu", "rs"] {
        let is_one = |one: &HandIn| one.kernel.as_ref().is_ok() && files::kind(one.file.as_ref()) == Some(kind);
        if !hand_ins.iter().any(is_one) {
            continue;
        }
        let compiler = if kind == "cu" { find_nvrtc().and_then(nvrtc::Nvrtc::try_out) } else { find_rustc().map(drop) };
        // Hand-ins in one language do not pay for a compiler of the other that is missing.
        if let Err(error) = compiler {
            let message = format!("{error:#}");
            hand_ins.iter_mut().filter(|one| is_one(one)).for_each(|one| one.kernel = Err(message.clone()));
            ensure!(hand_ins.iter().any(|one| one.kernel.is_ok()), message);
        }
    }
    let seed = options.seed.unwrap_or_else(fresh_seed);
    let (rows, lost) = grade(hand_ins, seed, options)?;
    let class = Class { rows, seed };
    output::print(&class::terminal(&class))?;
    if let Some(file) = &options.csv {
        write(file, class::BEGIN, &class::csv(&class))?;
    }
    if let Some(file) = &options.out {
        write(file, page::BEGIN, &page::html(&class))?;
        output::print(&format!("\nthe page of the class: {}\n", workspace::display(file)))?;
    }
    ensure!(lost == 0, "{lost} of the kernels could not be graded on this machine; their rows say why");
    Ok(true)
}

/// Grades all of them, some at a time. The number is of those that this machine could not grade.
fn grade(hand_ins: Vec<HandIn>, seed: u64, options: &Options) -> Result<(Vec<Row>, usize)> {
    let jobs = usize::from(options.jobs);
    sweep(&std::env::temp_dir());
    let folder = tempfile::Builder::new().prefix(PREFIX).tempdir();
    let folder = folder.context("no folder for the grading can be made; check the folder for temporary files")?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = (cores / jobs).max(1);
    let progress = Progress::new("grading, kernels", hand_ins.len() as u64);
    let lost = AtomicUsize::new(0);
    let row = |hand_in: HandIn| {
        let graded = hand_in.kernel.as_ref().map_err(Clone::clone).and_then(|text| {
            let own = tempfile::tempdir_in(&folder).map_err(anyhow::Error::from);
            let graded = own.and_then(|own| self::graded(&hand_in, text, own.path(), seed, options, threads));
            graded.map_err(|error| {
                let reason = error.downcast_ref::<io::Error>().map(io_reason);
                let Some(reason) = reason else { return format!("{error:#}") };
                lost.fetch_add(1, Ordering::Relaxed);
                format!("this machine could not grade it ({reason}); free memory and disk, or use fewer --jobs")
            })
        });
        progress.add(1);
        Row { hand_in, graded }
    };
    let at_a_time = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().context("use fewer --jobs")?;
    Ok((at_a_time.install(|| hand_ins.into_par_iter().map(row).collect()), lost.into_inner()))
}

/// How the names of the folders begin in which classes are graded.
const PREFIX: &str = "course-grade-";

/// Removes what is left of gradings that were interrupted. In the folder of one that goes on, something is made at least every
/// [`SECONDS`].
fn sweep(folder: &Path) {
    let left = |entry: &DirEntry| {
        let old = entry.metadata().and_then(|data| data.modified()).ok().and_then(|time| time.elapsed().ok());
        entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && old.is_some_and(|age| age > Duration::from_secs(10 * SECONDS))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // What another user has left stays.
    entries.filter(left).for_each(|entry| drop(std::fs::remove_dir_all(entry.path())));
}

const ELSEWHERE: &str = "choose another name";

/// Writes a file that begins like this, in place of nothing or of one that began like it.
pub(crate) fn write(file: &Path, begin: &str, text: &str) -> Result<()> {
    files::replace(file, text, |old| old.starts_with(begin), ELSEWHERE)
}

/// Seconds that a grading may take; one of lab 4 takes one.
const SECONDS: u64 = 60;
/// Bytes of memory that a grading may ask for; one of lab 4 touches a fortieth.
#[cfg(target_os = "linux")]
const MEMORY: u64 = 4 << 30;
/// Bytes that a grading may print, and those of a sentence of it.
const OUTPUT: u64 = 4 << 20;
const SENTENCE: usize = 400;

/// Grades a kernel in this folder, in a child process. The error says in a sentence why it got no points.
fn graded(one: &HandIn, text: &str, folder: &Path, seed: u64, options: &Options, threads: usize) -> Result<Graded> {
    // Under the name that a learner's own copy has: whatever the file was called reaches no compiler and no message.
    let lab = one.lab.as_ref().context("no lab is named")?;
    let file = lab.copy().with_extension(files::kind(one.file.as_ref()).unwrap_or("cu"));
    let file = folder.join(file.file_name().unwrap_or_default());
    let (out, err) = (folder.join("out"), folder.join("err"));
    hand_over(&file, text.as_bytes())?;
    let mut command = Command::new(std::env::current_exe().context("this program is gone; start it again")?);
    command.args(["lab", &lab.name, "--json", "--seed", &seed.to_string(), "--kernel"]);
    command.arg(file.file_name().unwrap_or_default()).current_dir(folder);
    command.args(options.instruction_limit.map(|limit| format!("--instruction-limit={limit}")));
    command.env(mine::VARIABLE, folder).env("RAYON_NUM_THREADS", threads.to_string());
    // If it is stopped, what its compiler has written goes with the folder.
    command.envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, folder)));
    if let Ok(nvrtc) = find_nvrtc() {
        command.env(nvrtc::PATH_VARIABLE, workspace::resolved(&nvrtc.path));
    }
    command.env(process::LEASH, "1").stdin(Stdio::piped()).stdout(File::create(&out)?).stderr(File::create(&err)?);
    let mut child = command.spawn().context("no process can be started; use fewer --jobs")?;
    let _leash = child.stdin.take();
    #[cfg(target_os = "linux")]
    limit(&child);
    let Some(status) = process::wait(&mut child, Duration::from_secs(SECONDS))? else {
        bail!("it was stopped because its grading took more than {SECONDS} seconds");
    };
    if status.success() {
        let graded = files::text(&out).ok().and_then(|text| serde_json::from_str(&text).ok());
        return graded.context("its grading gave no result");
    }
    let said = files::text(&err).unwrap_or_default();
    let sentence = said.lines().find_map(|line| line.strip_prefix("error: "));
    let sentence = sentence.map(|said| workspace::escaped(said.as_ref()).chars().take(SENTENCE).collect());
    let broke = || format!("its grading broke off ({status}); does it take too much memory?");
    bail!(sentence.filter(|_| status.code() == Some(2)).unwrap_or_else(broke))
}

/// Limits a process's memory and time. If the system refuses, the parent still limits the time.
#[cfg(target_os = "linux")]
fn limit(child: &std::process::Child) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    for (resource, most) in [(Resource::As, MEMORY), (Resource::Fsize, OUTPUT)] {
        let most = Rlimit { current: Some(most), maximum: Some(most) };
        let _ = prlimit(Some(Pid::from_child(child)), resource, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn only_old_gradings_are_swept_away() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["course-grade-old", "course-grade-new", "of-others"] {
            std::fs::create_dir_all(at(name).join("within")).unwrap();
            let age = if name.ends_with("new") { 1 } else { 11 * SECONDS };
            let time = std::time::SystemTime::now() - Duration::from_secs(age);
            File::open(at(name)).unwrap().set_modified(time).unwrap();
        }
        sweep(folder.path());
        assert_eq!(["old", "new"].map(|end| at(&format!("{PREFIX}{end}")).exists()), [false, true]);
        assert!(at("of-others").exists());
    }
}
