//! `cargo course grade`: what a class has handed in, graded one by one: a table, a CSV file and a page.
//!
//! Hand-ins are untrusted. Each is read up to a size, copied into a separate folder, and graded in a child process whose time and
//! memory are limited, so a bad one can only spoil its own row.

mod answer;
mod class;
mod hand_in;
pub(crate) mod page;
pub(crate) mod seal;
mod unpack;

use std::collections::BTreeSet;
use std::fs::{DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use common::basics::files::hand_over;
use common::basics::{Progress, host, io_reason, output, process, workspace};
use common::code::{find_nvrtc, find_rustc};
use common::measure::provenance::now;
use compile::nvrtc;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::files::{self, parse_file, parse_seed};
use crate::lab::{ENDLESS, Graded, Lab, Next, fresh_seed};
use crate::mine;
use crate::secret::Secret;
use class::{Class, Row};
use hand_in::HandIn;

#[derive(clap::Args)]
pub struct Options {
    /// The folder with the hand-ins: every .cu and .rs file in it, in the folders of the students and in zip files; or a zip of it all
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The lab, as for cargo course lab; by default each file's name tells, such as step04.cu
    #[arg(long)]
    lab: Option<String>,
    /// Write a page of the class, without kernels: who passed what, the spread of the points, and what went wrong most often
    #[arg(long, value_name = "FILE.html", value_parser = parse_file())]
    out: Option<PathBuf>,
    /// On that page, call the learners by numbers and not by their names
    #[arg(long, requires = "out")]
    numbers: bool,
    /// Write an answer for each learner into this folder, as a page and as Markdown: points and why, findings, what to try
    #[arg(long, value_name = "DIR")]
    answers: Option<PathBuf>,
    /// Write a table for a spreadsheet
    #[arg(long, value_name = "FILE.csv", value_parser = parse_file())]
    csv: Option<PathBuf>,
    /// How many hand-ins are graded at the same time; at most as many as there are cores
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Repeat a grading: the hidden shapes and the matrices, the same for all, follow from its seed
    #[arg(long, value_name = "S", value_parser = parse_seed)]
    seed: Option<u64>,
    /// Grade transfer tasks that cargo course secret has drawn from this file: each learner's own
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,
    /// End with status 1 if a required task of a kernel has not passed
    #[arg(long)]
    strict: bool,
    /// Grade host programs, too: they are native code and run as you, with limits of time and memory; docs/src/teach.md says more
    #[arg(long)]
    run_programs: bool,
    /// Warp instructions after which a launch is stopped, as for cargo course lab
    #[arg(long, value_name = "N")]
    instruction_limit: Option<u64>,
}

/// Runs the command. Wrong kernels do not make it fail, unless somebody wants that.
pub fn run(options: &Options) -> Result<bool> {
    let only = options.lab.as_deref().map(Lab::find).transpose()?;
    let secret = options.secret.as_deref().map(Secret::read).transpose()?;
    let mut hand_ins = hand_in::all(&options.folder, only.as_ref(), secret.as_ref())?;
    let place = |file: &PathBuf| {
        let folder = files::folder_of(file);
        let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder)).ok()?;
        Some((folder, file.file_name()?.to_owned()))
    };
    let places = [&options.out, &options.csv].map(|file| file.as_ref().and_then(place));
    let apart = places[0].is_none() || places[0] != places[1];
    ensure!(apart, "--out and --csv name one file; give the page and the table a file each");
    let of_page = format!("{}{}", page::BEGIN, page::CLASS);
    for (file, begin) in [(&options.out, &*of_page), (&options.csv, class::BEGIN)] {
        file.as_deref().map_or(Ok(()), |file| seal::check(file, begin))?;
    }
    if let Some(folder) = &options.answers {
        let who: BTreeSet<&str> = hand_ins.iter().map(|one| &*one.who).collect();
        answer::check(folder, &answer::names(who.into_iter()))?;
    }
    if !options.run_programs {
        let message =
            "it is a host program, which is native code and would run as you; read it, and give --run-programs";
        hand_ins.iter_mut().filter(|one| is_program(one)).for_each(|one| one.kernel = Err(message.to_owned()));
        ensure!(
            hand_ins.iter().any(|one| one.kernel.is_ok() || !is_program(one)),
            "host programs are native code, which would run as you; read them, and grade them with --run-programs (docs/src/teach.md says what is limited)"
        );
    }
    for kind in ["cu", "rs"] {
        // A host program compiles a kernel in CUDA C when it runs.
        let needs = |one: &HandIn| if is_program(one) { Some("cu") } else { files::kind(one.file.as_ref()) };
        let is_one = |one: &HandIn| one.kernel.as_ref().is_ok() && needs(one) == Some(kind);
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
    let date = now().split('T').next().unwrap_or_default().to_owned();
    let class = Class { rows, seed, date };
    output::print(&class::terminal(&class))?;
    if let Some(file) = &options.csv {
        seal::write(file, class::BEGIN, &class::csv(&class))?;
    }
    if let Some(file) = &options.out {
        seal::write(file, &of_page, &page::html(&class, options.numbers))?;
        output::print(&format!("\nthe page of the class: {}\n", workspace::display(file)))?;
    }
    if let Some(folder) = &options.answers {
        let count = answer::write(folder, &class)?;
        output::print(&format!("\nthe answers to the learners ({count}): {}\n", workspace::display(folder)))?;
    }
    ensure!(
        lost == 0,
        "{lost} of the kernels could not be graded on this machine; their rows say why, and --seed repeats it"
    );
    let passed = |row: &Row| row.worth().is_some_and(|[.., passed, of]| passed >= of);
    Ok(!options.strict || class.rows.iter().all(passed))
}

/// Whether it is a host program and no kernel.
fn is_program(one: &HandIn) -> bool {
    one.lab.as_ref().is_some_and(|lab| lab.host)
}

/// Grades all of them, some at a time. The number is of those that this machine could not grade.
fn grade(hand_ins: Vec<HandIn>, seed: u64, options: &Options) -> Result<(Vec<Row>, usize)> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    // More at a time than there are cores only take each other's minutes.
    let jobs = usize::from(options.jobs).min(cores);
    sweep(&std::env::temp_dir());
    let folder = tempfile::Builder::new().prefix(PREFIX).tempdir();
    let folder = folder.context("no folder for the grading can be made; check the folder for temporary files")?;
    hand_over(&folder.path().join(MARK), MARK.as_bytes()).map_err(|error| {
        anyhow!("nothing can be written for the grading ({}); make room on the disk", io_reason(&error))
    })?;
    let progress = Progress::new("grading, kernels", hand_ins.len() as u64);
    let graded = |one: &HandIn, threads: usize| {
        let text = one.kernel.as_ref().map_err(Clone::clone)?;
        let own = tempfile::tempdir_in(&folder).map_err(anyhow::Error::from);
        own.and_then(|own| self::graded(one, text, own.path(), seed, options, threads)).map_err(|error| {
            error
                .downcast_ref::<io::Error>()
                .map_or_else(|| format!("{error:#}"), |error| format!("{UNFIT} ({})", io_reason(error)))
        })
    };
    let row = |hand_in: HandIn| {
        let graded = graded(&hand_in, (cores / jobs).max(1));
        progress.add(1);
        Row { hand_in, graded }
    };
    let at_a_time = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().context("use fewer --jobs")?;
    let mut rows: Vec<Row> = at_a_time.install(|| hand_ins.into_par_iter().map(row).collect());
    let mut lost = 0;
    for row in rows.iter_mut().filter(|row| row.hand_in.kernel.is_ok() && may_be_the_machine(&row.graded)) {
        // Once more, alone.
        row.graded = graded(&row.hand_in, cores);
        let lacks = lacks(folder.path()).filter(|_| may_be_the_machine(&row.graded));
        let unfit = row.graded.as_ref().err().filter(|why| why.starts_with(UNFIT)).cloned();
        if let Some(why) = lacks.or(unfit) {
            row.graded = Err(format!("not graded, because {why}; free memory and disk, and grade it again"));
            lost += 1;
        }
    }
    Ok((rows, lost))
}

/// What is said of a machine on which a grading cannot be begun.
const UNFIT: &str = "this machine could not do it";

/// Whether a grading may have ended like this for a lack of time, memory or disk: it broke off, the compiler said nothing about the kernel's
/// lines, or a launch took too long.
fn may_be_the_machine(graded: &Result<Graded, String>) -> bool {
    let suspicious = |finding: &Next| match &*finding.kind {
        "does not compile" => finding.places.is_empty(),
        kind => kind == ENDLESS || kind == "cannot be run",
    };
    graded.as_ref().map_or(true, |graded| graded.findings.iter().any(suspicious))
}

/// Bytes that a grading needs in its folder, and in memory.
const ROOM: usize = 8 << 20;
const FREE: u64 = 512 << 20;

/// What this machine lacks now.
fn lacks(folder: &Path) -> Option<String> {
    let probe = folder.join("probe");
    let written = hand_over(&probe, &vec![1; ROOM]);
    let _ = std::fs::remove_file(&probe);
    let full = written.err().map(|error| format!("the folder for temporary files has no room ({})", io_reason(&error)));
    full.or_else(|| (host::available_bytes() < FREE).then(|| "this machine has no memory left".to_owned()))
}

/// How the names of the folders begin in which classes are graded, and the file in them that says so.
const PREFIX: &str = "course-grade-";
const MARK: &str = "this-is-a-grading";

/// Removes what is left of gradings that were interrupted. In the folder of one that goes on, something is made at least every
/// [`SECONDS`].
fn sweep(folder: &Path) {
    let left = |entry: &DirEntry| {
        let old = entry.metadata().and_then(|data| data.modified()).ok().and_then(|time| time.elapsed().ok());
        entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && std::fs::read(entry.path().join(MARK)).is_ok_and(|mark| mark == MARK.as_bytes())
            && old.is_some_and(|age| age > Duration::from_secs(10 * SECONDS))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // What another user has left stays.
    entries.filter(left).for_each(|entry| drop(std::fs::remove_dir_all(entry.path())));
}

/// Seconds that a grading may take; one of lab 4 takes one.
const SECONDS: u64 = 60;
/// The same for a host program, which is built and run a dozen times.
const SECONDS_OF_A_PROGRAM: u64 = 300;
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
    for (name, header) in &one.headers {
        hand_over(&folder.join(name), header.as_bytes())?;
    }
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
    // A host program is built by a compiler that needs more, and is limited when it runs.
    let seconds = if lab.host { SECONDS_OF_A_PROGRAM } else { SECONDS };
    #[cfg(target_os = "linux")]
    if !lab.host {
        limit(&child);
    }
    let Some(status) = process::wait(&mut child, Duration::from_secs(seconds))? else {
        bail!("it was stopped because its grading took more than {seconds} seconds");
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
        for name in ["course-grade-old", "course-grade-new", "of-others", "course-grade-lab2"] {
            std::fs::create_dir_all(at(name).join("within")).unwrap();
            if name != "course-grade-lab2" {
                std::fs::write(at(name).join(MARK), MARK).unwrap();
            }
            let age = if name.ends_with("new") { 1 } else { 11 * SECONDS };
            let time = std::time::SystemTime::now() - Duration::from_secs(age);
            File::open(at(name)).unwrap().set_modified(time).unwrap();
        }
        sweep(folder.path());
        assert_eq!(["old", "new"].map(|end| at(&format!("{PREFIX}{end}")).exists()), [false, true]);
        // Somebody may have called the folder of the hand-ins like that.
        assert!(at("of-others").exists() && at("course-grade-lab2").exists());
    }

    #[test]
    fn what_the_machine_lacks_is_told_from_what_is_wrong_with_a_kernel() {
        let graded = |kind: &str, places: usize| -> Result<Graded, String> {
            let place = serde_json::json!({ "line": 1, "span": [0, 1], "label": "" });
            let finding =
                serde_json::json!({ "kind": kind, "text": "", "places": vec![place; places], "command": null });
            let graded = serde_json::json!({ "format": 1, "lab": "4", "kernel": "", "seed": 1, "tasks": [], "points": 0.0,
                "of": 1.0, "findings": [finding], "fingerprint": null, "seconds": 0.0 });
            Ok(serde_json::from_value(graded).unwrap())
        };
        assert!(may_be_the_machine(&Err("it broke off".into())) && may_be_the_machine(&graded(ENDLESS, 1)));
        assert!(may_be_the_machine(&graded("does not compile", 0)));
        assert!(!may_be_the_machine(&graded("does not compile", 1)) && !may_be_the_machine(&graded("data race", 1)));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(lacks(folder.path()), None);
        assert!(lacks(&folder.path().join("none")).unwrap().starts_with("the folder for temporary files has no room"));
    }
}
