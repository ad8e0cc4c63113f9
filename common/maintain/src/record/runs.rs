//! The runs of the acceptance table: every kernel at every size, several at a time, each in a process of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;
use common::basics::output::print;
use common::basics::{host, nvidia_smi};
use common::code::{Source, file_of, folder_of};
use common::device;
use common::program::report::Report;
use course::record;
use course::steps::{Kernel, Role, STEPS};
use plan::{DeviceInfo, Dtype, Problem, Step};
use rayon::iter::{ParallelBridge as _, ParallelIterator as _};

use super::acceptance::{Acceptance, Run, RunOutcome, SIZES};
use crate::programs::{self, timed_run};

/// Of the sizes, the first ones, which a simulator does in seconds.
const SIM_SIZES: usize = 3;
/// Seconds that one run may take.
const RUN_SECONDS: u64 = 100;

struct Task {
    program: PathBuf,
    host: bool,
    /// The step has said that it cannot.
    limit: bool,
    run: Run,
}

/// Makes all runs on a device that is named as a step's program takes it (cuda, cuda:N or sim), so many at a time and begun before `end`,
/// and says whether what has to be right is.
pub fn all(on: &str, jobs: usize, commit: Option<String>, end: Instant) -> Result<(Acceptance, bool)> {
    let sim = on == "sim";
    let info = device::cuda_devices().ok().and_then(|devices| devices.into_iter().next()).filter(|_| !sim);
    let mut table = Acceptance {
        format: record::FORMAT,
        date: record::now(),
        commit: commit.or_else(record::commit),
        device: info.as_ref().map_or_else(|| "the simulator".to_owned(), |info| info.name.clone()),
        driver: nvidia_smi::driver().filter(|_| !sim),
        kernels: BTreeMap::new(),
        runs: Vec::new(),
    };
    let sizes = if sim { &SIZES[..SIM_SIZES] } else { &SIZES[..] };
    let device = info.unwrap_or_else(|| DeviceInfo::simulated(host::total_bytes()));
    let problems: Vec<Problem> = sizes.iter().copied().map(Problem::uniform).collect();
    let mut tasks = Vec::new();
    for &step in STEPS {
        match of_step(step, &device, &problems) {
            Ok((hash, more)) => {
                table.kernels.insert(step.name.to_owned(), hash);
                tasks.extend(more);
            }
            Err(error) => print(&format!("{} is left out: {error:#}\n", step.name))?,
        }
    }
    // What counts most comes first, should the time run out; the longest of it early, to share the cores at the end.
    let long = |task: &Task| task.host && task.run.size == SIZES[9];
    tasks.sort_by_key(|task| (task.run.variant.is_some(), !long(task), task.run.dtype == Dtype::I32));
    let workers = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
    let one = |task: &Task| one_run(task, on, end);
    table.runs = workers.install(|| tasks.iter().par_bridge().map(one).collect());
    let fine = |run: &Run| {
        matches!(run.outcome, RunOutcome::Verified | RunOutcome::Limit)
            || run.outcome == RunOutcome::NotRun && run.variant.is_some()
            || run.counter_example
    };
    let right = table.runs.iter().all(fine);
    Ok((table, right))
}

/// The hash of a step's kernel, and the runs of all its kernels.
fn of_step(step: &'static Step, device: &DeviceInfo, problems: &[Problem]) -> Result<(String, Vec<Task>)> {
    let host = step.host.is_some();
    let own = file_of(step, None);
    let source = Source::read(&if host { folder_of(step).join("src/lib.rs") } else { own })?;
    let mut tasks = Vec::new();
    for kernel in Kernel::of(step) {
        let program = programs::path(kernel.package())?;
        let variant = kernel.variant_name().map(str::to_owned);
        let counter_example = kernel.role() == Role::CounterExample;
        // Integers are the steps' own kernels' only.
        for &dtype in if variant.is_some() { &[Dtype::F32][..] } else { &[Dtype::F32, Dtype::I32] } {
            for problem in problems {
                // A rung or a counter-example may have limits of its own.
                let limit = kernel.plan(problem, device).is_err();
                let size = [problem.m, problem.n, problem.k];
                let (step, variant) = (step.name.to_owned(), variant.clone());
                let run = Run { step, variant, size, dtype, counter_example, ..Run::default() };
                tasks.push(Task { program: program.clone(), host, limit, run });
            }
        }
    }
    Ok((source.hash, tasks))
}

fn one_run(task: &Task, device: &str, end: Instant) -> Run {
    let begin = Instant::now();
    let mut run = task.run.clone();
    let left = end.saturating_duration_since(begin);
    if left < Duration::from_secs(2) {
        return run;
    }
    let [m, n, k] = run.size;
    let mut command = Command::new(&task.program);
    command.args(["--json", "--samples", "1", "--size", &format!("{m}x{n}x{k}"), "--dtype", &run.dtype.to_string()]);
    if let Some(variant) = &run.variant {
        command.args(["--variant", variant]);
    }
    if !task.host {
        command.args(["--device", device]);
    }
    let worker = rayon::current_thread_index().unwrap_or_default();
    let output = std::env::temp_dir().join(format!("course-run-{}-{worker}.txt", std::process::id()));
    let status = timed_run(command, left.min(Duration::from_secs(RUN_SECONDS)), &output);
    run.seconds = begin.elapsed().as_secs_f64();
    let text = std::fs::read_to_string(&output).unwrap_or_default();
    let _ = std::fs::remove_file(&output);
    let json = text.find('{').and_then(|start| serde_json::from_str::<Report>(text[start..].trim()).ok());
    let sentence = || {
        text.lines().find_map(|line| line.strip_prefix("error: ")).or_else(|| text.lines().last()).unwrap_or_default()
    };
    (run.outcome, run.note) = match status {
        Ok(Some(exit)) => {
            run.exit = Some(exit);
            let outcome = match (exit, &json) {
                (0, Some(_)) => RunOutcome::Verified,
                (1, Some(_)) => RunOutcome::Wrong,
                (1, None) => RunOutcome::Fault,
                (2, _) if task.limit => RunOutcome::Limit,
                _ => RunOutcome::Error,
            };
            let note = if let Some(report) = json {
                run.method = Some(report.verification.method.words().to_owned());
                run.worst_bound_share = report.verification.worst_bound_share;
                run.origin = Some(report.kernel.origin);
                report.verification.diagnosis
            } else {
                Some(sentence().to_owned())
            };
            (outcome, note)
        }
        Ok(None) => (RunOutcome::Timeout, Some(format!("stopped after {:.0} s", run.seconds))),
        Err(error) => (RunOutcome::Error, Some(format!("{error:#}"))),
    };
    run
}
