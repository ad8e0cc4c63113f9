//! Everything that is to be measured on a machine with a GPU, in one go: `record`.
//!
//! It needs no cargo and no network: the program and those of the steps may be carried there, with the workspace. What
//! fails or takes too long is written down, and the rest goes on; the files are there after every part.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use common::report::{Report, print};
use common::run::Request;
use common::{DeviceInfo, Dtype, Problem, device, json};
use serde::{Deserialize, Serialize};

use course::doctor;
use course::record::{self, size_words, write_whole};
use course::steps::{self, StepFolder};

use crate::generate;

/// Options of `cargo course record`.
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
    /// Only these parts: compare, flushed, acceptance
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    only: Vec<String>,
    /// Where the acceptance runs compute: cuda, cuda:N or sim (then only small sizes)
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: String,
    /// The commit for the record, where git cannot tell it
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
}

/// The sizes at which every kernel must give the right product; the last is the one of more than 2³¹ elements.
const SIZES: [[u64; 3]; 10] = [
    [1, 1, 1],
    [31, 33, 35],
    [32, 32, 32],
    [1000, 777, 513],
    [1024, 1024, 1024],
    [1, 4096, 4096],
    [4096, 1, 4096],
    [4096, 4096, 1],
    [1_100_000, 16, 16],
    [46_400, 46_400, 16],
];
/// Of these, the ones a simulator does in seconds.
const SIM_SIZES: usize = 3;
/// Seconds that one run may take.
const RUN_SECONDS: u64 = 100;
/// Seconds of the longest comparison, and of the one with a flushed cache.
const COMPARE_SECONDS: u64 = 270;
const FLUSHED_SECONDS: u64 = 60;

/// One run of a step's program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The step.
    pub step: String,
    /// The counter-example, or the step itself.
    pub variant: Option<String>,
    /// M, N, K.
    pub size: [u64; 3],
    /// Element type.
    pub dtype: Dtype,
    /// What came of it.
    pub outcome: RunOutcome,
    /// The program's exit status; `null` where it did not end by itself.
    pub exit: Option<i32>,
    /// How the product was checked.
    pub method: Option<String>,
    /// Largest error as a share of its bound.
    pub worst_bound_share: Option<f64>,
    /// How the source became code.
    pub origin: Option<String>,
    /// The diagnosis or the error.
    pub note: Option<String>,
    /// Seconds in all.
    pub seconds: f64,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunOutcome {
    /// The product is right.
    Verified,
    /// The product is wrong.
    Wrong,
    /// The kernel did what no kernel may.
    Fault,
    /// The algorithm cannot do this size, and said so.
    Limit,
    /// Another error.
    Error,
    /// It was stopped.
    Timeout,
    /// There was no time left for it.
    NotRun,
}

impl RunOutcome {
    fn word(self) -> &'static str {
        match self {
            Self::Verified => "right",
            Self::Wrong => "**wrong**",
            Self::Fault => "**fault**",
            Self::Limit => "limit",
            Self::Error => "**error**",
            Self::Timeout => "**stopped**",
            Self::NotRun => "not run",
        }
    }
}

/// The acceptance table as a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Acceptance {
    /// Version of the format.
    pub format: u32,
    /// When it began, UTC.
    pub date: String,
    /// The commit of the course.
    pub commit: Option<String>,
    /// The device's name.
    pub device: String,
    /// Version of the NVIDIA driver.
    pub driver: Option<String>,
    /// SHA-256 of each step's kernel.
    pub kernels: BTreeMap<String, String>,
    /// All runs.
    pub runs: Vec<Run>,
}

/// Runs the command; `false` where a step's own kernel is not right somewhere.
pub fn run(options: &Options) -> Result<bool> {
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(options.minutes.clamp(0.1, 600.0) * 60.0);
    let wanted = |part: &str| options.only.is_empty() || options.only.iter().any(|only| only == part);
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("{} cannot be made; choose another place", options.out.display()))?;
    let mut log = Log { path: options.out.join("log.txt"), text: String::new(), begin };
    log.add(&doctor::text())?;
    log.add(&check_time(&options.out, end))?;
    let mut ok = true;
    let mut comparison = |log: &mut Log, name: &str, seconds: u64, args: &[&str]| -> Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["compare", "--device", &options.device, "--record"])
            .arg(options.out.join(format!("{name}.json")));
        command.args(args);
        if let Some(commit) = &options.commit {
            command.args(["--commit", commit]);
        }
        let left = end.saturating_duration_since(Instant::now()).min(Duration::from_secs(seconds));
        let done = timed_run(command, left, &options.out.join(format!("{name}.txt")));
        let words = match &done {
            Ok(Some(0)) => "all steps right".to_owned(),
            Ok(Some(status)) => format!("exit status {status}"),
            Ok(None) => format!("stopped after {seconds} s; what was measured until then is recorded"),
            Err(error) => format!("{error:#}"),
        };
        ok &= matches!(done, Ok(Some(0)));
        log.add(&format!("{name}: {words}\n"))
    };
    let sim = options.device == "sim";
    if wanted("compare") {
        comparison(&mut log, "compare", COMPARE_SECONDS, if sim { &[] } else { &["--saw-tooth"] })?;
    }
    if wanted("flushed") && !sim {
        comparison(&mut log, "compare-flushed", FLUSHED_SECONDS, &["--flush-l2", "--size", "256,512,1024,2048,4096"])?;
    }
    if wanted("acceptance") {
        let right = acceptance(options, end)?;
        ok &= right;
        log.add(if right { "acceptance: all right\n" } else { "acceptance: not all right, see acceptance.md\n" })?;
    }
    Ok(ok)
}

/// What was done, on the screen and in a file.
struct Log {
    path: PathBuf,
    text: String,
    begin: Instant,
}

impl Log {
    fn add(&mut self, text: &str) -> Result<()> {
        let text = format!("[{:.0} s] {text}", self.begin.elapsed().as_secs_f64());
        print(&text)?;
        self.text += &text;
        write_whole(&self.path, &self.text)
    }
}

/// How long this host takes to check a product of 4096³.
fn check_time(folder: &Path, end: Instant) -> String {
    let output = folder.join("check-time.part");
    let run = || -> Result<String> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("check-time");
        let limit = end.saturating_duration_since(Instant::now()).min(Duration::from_secs(RUN_SECONDS));
        timed_run(command, limit, &output)?;
        Ok(std::fs::read_to_string(&output)?)
    };
    let text = run().unwrap_or_else(|error| format!("{error:#}\n"));
    let _ = std::fs::remove_file(&output);
    format!("the check of a product on this host\n{text}")
}

/// Runs a program for at most `limit`, its output into a file; its exit status, or `None` where it was stopped.
fn timed_run(mut command: Command, limit: Duration, output: &Path) -> Result<Option<i32>> {
    let begin = Instant::now();
    let file = File::create(output)
        .with_context(|| format!("{} cannot be written; choose another place", output.display()))?;
    let mut child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code().unwrap_or(-1)));
        }
        if begin.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A run to be made.
#[derive(Clone)]
struct Task {
    program: PathBuf,
    step: String,
    variant: Option<String>,
    size: [u64; 3],
    dtype: Dtype,
    host: bool,
    /// The step has said that it cannot.
    limit: bool,
}

fn acceptance(options: &Options, end: Instant) -> Result<bool> {
    let sim = options.device == "sim";
    let info = device::cuda_devices().ok().and_then(|devices| devices.into_iter().next()).filter(|_| !sim);
    let mut table = Acceptance {
        format: record::FORMAT,
        date: record::now(),
        commit: options.commit.clone().or_else(record::commit),
        device: info.as_ref().map_or_else(|| "the simulator".to_owned(), |info| info.name.clone()),
        driver: record::driver().filter(|_| !sim),
        kernels: BTreeMap::new(),
        runs: Vec::new(),
    };
    let sizes = if sim { &SIZES[..SIM_SIZES] } else { &SIZES[..] };
    let tasks = tasks(sizes, info.as_ref(), &mut table.kernels)?;
    let next = AtomicUsize::new(0);
    let shared = Mutex::new((table, Instant::now()));
    std::thread::scope(|scope| {
        for worker in 0..options.jobs {
            let (next, shared, tasks) = (&next, &shared, &tasks);
            scope.spawn(move || {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let output = std::env::temp_dir().join(format!("course-run-{}-{worker}.txt", std::process::id()));
                    let run = one_run(task, &options.device, end, &output);
                    let _ = std::fs::remove_file(&output);
                    let Ok(mut shared) = shared.lock() else { return };
                    shared.0.runs.push(run);
                    if shared.1.elapsed() > Duration::from_secs(3) {
                        shared.1 = Instant::now();
                        // A failure shows at the end.
                        let _ = write(options, &shared.0);
                    }
                }
            });
        }
    });
    let table = shared.into_inner().map_err(|_| anyhow::anyhow!("a worker broke off; run again with --jobs 1"))?.0;
    write(options, &table)?;
    let fine = |run: &Run| run.variant.is_some() || matches!(run.outcome, RunOutcome::Verified | RunOutcome::Limit);
    Ok(table.runs.iter().all(fine))
}

fn tasks(sizes: &[[u64; 3]], info: Option<&DeviceInfo>, kernels: &mut BTreeMap<String, String>) -> Result<Vec<Task>> {
    let problem = |&[m, n, k]: &[u64; 3]| Problem { m, n, k, dtype: Dtype::F32, fill: common::Fill::Uniform, seed: 1 };
    let request = Request { device: info.cloned(), problems: sizes.iter().map(problem).collect(), variant: None };
    let mut tasks = Vec::new();
    let mut of_step = |step: &StepFolder| -> Result<()> {
        let (program, description) = (step.program()?, step.describe(&request)?);
        let source = step.path.join(if description.host { "src/lib.rs" } else { "kernel.cu" });
        kernels.insert(step.name.clone(), common::code::Source::read(&source)?.hash);
        for variant in std::iter::once(None).chain(description.variants.iter().cloned().map(Some)) {
            for dtype in [Dtype::F32, Dtype::I32] {
                for (&size, plan) in sizes.iter().zip(&description.plans) {
                    let limit = plan.is_err();
                    let (step, host) = (step.name.clone(), description.host);
                    tasks.push(Task {
                        program: program.clone(),
                        step,
                        variant: variant.clone(),
                        size,
                        dtype,
                        host,
                        limit,
                    });
                }
            }
        }
        Ok(())
    };
    for step in steps::find()? {
        if let Err(error) = of_step(&step) {
            print(&format!("{} is left out: {error:#}\n", step.name))?;
        }
    }
    // What counts most comes first, should the time run out; the longest of it early, to share the cores at the end.
    tasks.sort_by_key(|task| (task.variant.is_some(), !(task.host && task.size == SIZES[9]), task.dtype == Dtype::I32));
    Ok(tasks)
}

fn one_run(task: &Task, device: &str, end: Instant, output: &Path) -> Run {
    let begin = Instant::now();
    let [m, n, k] = task.size;
    let mut run = Run {
        step: task.step.clone(),
        variant: task.variant.clone(),
        size: task.size,
        dtype: task.dtype,
        outcome: RunOutcome::NotRun,
        exit: None,
        method: None,
        worst_bound_share: None,
        origin: None,
        note: None,
        seconds: 0.0,
    };
    let left = end.saturating_duration_since(begin);
    if left < Duration::from_secs(2) {
        return run;
    }
    let mut command = Command::new(&task.program);
    command.args(["--json", "--samples", "1", "--size", &format!("{m}x{n}x{k}"), "--dtype", &task.dtype.to_string()]);
    if let Some(variant) = &task.variant {
        command.args(["--variant", variant]);
    }
    if !task.host {
        command.args(["--device", device]);
    }
    let status = timed_run(command, left.min(Duration::from_secs(RUN_SECONDS)), output);
    run.seconds = begin.elapsed().as_secs_f64();
    let text = std::fs::read_to_string(output).unwrap_or_default();
    let json = text.find('{').and_then(|start| serde_json::from_str::<Report>(text[start..].trim()).ok());
    let sentence = || {
        text.lines().find_map(|line| line.strip_prefix("error: ")).or_else(|| text.lines().last()).unwrap_or_default()
    };
    match status {
        Ok(Some(exit)) => {
            run.exit = Some(exit);
            run.outcome = match (exit, &json) {
                (0, Some(_)) => RunOutcome::Verified,
                (1, Some(_)) => RunOutcome::Wrong,
                (1, None) => RunOutcome::Fault,
                (2, _) if task.limit => RunOutcome::Limit,
                _ => RunOutcome::Error,
            };
            if let Some(report) = json {
                run.method = Some(report.verification.method.words().to_owned());
                run.worst_bound_share = report.verification.worst_bound_share;
                run.origin = Some(report.kernel.origin);
                run.note = report.verification.diagnosis;
            } else {
                run.note = Some(sentence().to_owned());
            }
        }
        Ok(None) => {
            run.outcome = RunOutcome::Timeout;
            run.note = Some(format!("stopped after {:.0} s", run.seconds));
        }
        Err(error) => {
            run.outcome = RunOutcome::Error;
            run.note = Some(format!("{error:#}"));
        }
    }
    run
}

fn write(options: &Options, table: &Acceptance) -> Result<()> {
    write_whole(&options.out.join("acceptance.json"), &json::lines(table, 2)?)?;
    write_whole(&options.out.join("acceptance.md"), &markdown(table))
}

/// The table: a row for each kernel and element type, a column for each size; below it what was not right, in words.
pub fn markdown(table: &Acceptance) -> String {
    let mut sizes: Vec<[u64; 3]> = SIZES.to_vec();
    sizes.retain(|size| table.runs.iter().any(|run| run.size == *size));
    let mut rows: Vec<(&str, Option<&str>, Dtype)> = Vec::new();
    for run in &table.runs {
        let row = (run.step.as_str(), run.variant.as_deref(), run.dtype);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows.sort_by_key(|&(step, variant, dtype)| (step.to_owned(), variant.map(ToOwned::to_owned), dtype == Dtype::I32));
    let mut head = vec!["kernel".to_owned(), "type".to_owned()];
    head.extend(sizes.iter().map(|&size| size_words(size)));
    let mut cells = Vec::new();
    let mut notes = String::new();
    let mut told = Vec::new();
    for (step, variant, dtype) in rows {
        let name = variant.map_or_else(|| step.to_owned(), |variant| format!("{step}, {variant}"));
        let mut row = vec![name.clone(), dtype.to_string()];
        for &size in &sizes {
            let is_it = |run: &&Run| {
                run.step == step && run.variant.as_deref() == variant && run.dtype == dtype && run.size == size
            };
            let run = table.runs.iter().find(is_it);
            row.push(run.map_or("-", |run| run.outcome.word()).to_owned());
            // One example of each kind is enough in words; acceptance.json has them all.
            if let Some(Run { note: Some(note), outcome, .. }) = run
                && *outcome != RunOutcome::Verified
                && !told.contains(&(step, variant, *outcome))
            {
                told.push((step, variant, *outcome));
                let note = note.lines().next().unwrap_or_default();
                notes += &format!("- {name}, {dtype}, {}: {note}\n", size_words(size));
            }
        }
        cells.push(row);
    }
    let driver = table.driver.as_ref().map_or_else(String::new, |driver| format!(", driver {driver}"));
    let commit = table
        .commit
        .as_ref()
        .map_or_else(String::new, |commit| format!(", commit {}", commit.get(..10).unwrap_or(commit)));
    let right = table.runs.iter().filter(|run| run.outcome == RunOutcome::Verified).count();
    let mut origins: BTreeMap<&str, usize> = BTreeMap::new();
    for origin in table.runs.iter().filter_map(|run| run.origin.as_deref()) {
        let kind = if origin.contains("compiled by") {
            origin.split("compiled by ").nth(1).unwrap_or(origin)
        } else if origin.contains("committed") {
            "committed PTX"
        } else {
            "the host's own code"
        };
        *origins.entry(kind).or_default() += 1;
    }
    let origins: Vec<String> = origins.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
    format!(
        "{}{driver}, {}{commit}: {right} of {} runs give the right product. Code: {}.\n\n{}\n{notes}",
        table.device,
        table.date.get(..10).unwrap_or(&table.date),
        table.runs.len(),
        origins.join(", "),
        generate::markdown_table(&head, &cells),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(outcome: RunOutcome, note: Option<&str>) -> Run {
        Run {
            step: "step04_tiled".into(),
            variant: Some("no_edges".into()),
            size: [31, 33, 35],
            dtype: Dtype::F32,
            outcome,
            exit: Some(1),
            method: None,
            worst_bound_share: None,
            origin: Some("step04_tiled/kernel.cu, compiled by NVRTC 13.0 for compute_90".into()),
            note: note.map(ToOwned::to_owned),
            seconds: 1.0,
        }
    }

    #[test]
    fn the_table_says_what_was_not_right_and_why() {
        let table = Acceptance {
            format: 1,
            date: "2026-11-21T00:00:00Z".into(),
            commit: None,
            device: "a GPU".into(),
            driver: None,
            kernels: BTreeMap::new(),
            runs: vec![
                example(RunOutcome::Wrong, Some("the last column is wrong")),
                Run { dtype: Dtype::I32, ..example(RunOutcome::Verified, None) },
            ],
        };
        let text = markdown(&table);
        assert!(text.contains("1 of 2 runs") && text.contains("NVRTC 13.0 for compute_90 (2)"), "{text}");
        assert!(text.contains("| step04_tiled, no_edges | f32 | **wrong** |"), "{text}");
        assert!(text.contains("| step04_tiled, no_edges | i32 | right |"), "{text}");
        assert!(text.contains("f32, 31×33×35: the last column is wrong"), "{text}");
    }

    #[test]
    #[cfg(unix)]
    fn a_program_that_does_not_end_is_stopped() {
        let output = std::env::temp_dir().join(format!("course-timed-{}.txt", std::process::id()));
        let mut command = Command::new("sleep");
        command.arg("30");
        let begin = Instant::now();
        assert_eq!(timed_run(command, Duration::from_millis(100), &output).unwrap(), None);
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert_eq!(timed_run(Command::new("true"), Duration::from_secs(10), &output).unwrap(), Some(0));
        std::fs::remove_file(&output).unwrap();
    }
}
