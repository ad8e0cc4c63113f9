//! `cargo x record`: on a machine with a GPU, whether every kernel gives the right product at every shape.
//!
//! It needs neither cargo nor a network: this program and those of the steps may be carried there, with the workspace. What fails or
//! takes too long is written down, and the rest goes on. Times are recorded by `cargo course compare --rungs --save`.

pub mod acceptance;

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use common::basics::output::print;
use common::basics::{host, json, nvidia_smi, process};
use common::device;
use common::program::report::Report;
use course::files::write;
use course::steps::{Kernel, Role, STEPS};
use course::{doctor, record};
use plan::{DeviceInfo, Dtype, Problem};
use rayon::iter::{ParallelBridge as _, ParallelIterator as _};

use crate::programs;
use acceptance::{Acceptance, Run, RunOutcome, SIZES};

#[derive(clap::Args)]
pub struct Options {
    /// The folder for acceptance.json and acceptance.md
    out: PathBuf,
    /// Minutes after which no more is begun
    #[arg(long, value_name = "M", default_value_t = 9.0)]
    minutes: f64,
    /// Runs at a time
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Where to run: cuda, cuda:N or sim (then only small sizes)
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: String,
    /// The commit for the record, if git cannot tell it
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
}

/// Runs the command; `false` if a kernel that is no counter-example is wrong somewhere.
pub fn run(options: &Options) -> Result<bool> {
    let Options { out, minutes, jobs, device, commit } = options;
    let end = Instant::now() + Duration::from_secs_f64(minutes.clamp(0.1, 600.0) * 60.0);
    print(&doctor::text())?;
    let (table, right) = all(device, usize::from(*jobs), commit.clone(), end)?;
    write(&out.join("acceptance.json"), &json::lines(&table, 2)?)?;
    write(&out.join("acceptance.md"), &acceptance::markdown(&table))?;
    print(if right { "acceptance: all right\n" } else { "acceptance: not all right, see acceptance.md\n" })?;
    Ok(right)
}

/// Of the sizes, the first ones, which a simulator does in seconds.
const SIM_SIZES: usize = 3;
/// Seconds that one run may take.
const RUN_SECONDS: u64 = 100;

/// Makes all runs on a device that is named as a step's program takes it (cuda, cuda:N or sim), so many at a time and begun before `end`,
/// and says whether what has to be right is.
fn all(on: &str, jobs: usize, commit: Option<String>, end: Instant) -> Result<(Acceptance, bool)> {
    let sim = on == "sim";
    let info = device::cuda_devices().ok().and_then(|devices| devices.into_iter().next()).filter(|_| !sim);
    let name = info.as_ref().map_or_else(|| "the simulator".to_owned(), |info| info.name.clone());
    let info = info.unwrap_or_else(|| DeviceInfo::simulated(host::total_bytes()));
    let sizes = if sim { &SIZES[..SIM_SIZES] } else { &SIZES[..] };
    let mut tasks: Vec<(Kernel, Run)> = Vec::new();
    for kernel in STEPS.iter().flat_map(|step| Kernel::of(step)) {
        let (step, variant) = (kernel.step.name.to_owned(), kernel.variant_name().map(str::to_owned));
        // Integers are the steps' own kernels' only.
        for &dtype in if variant.is_some() { &[Dtype::F32][..] } else { &[Dtype::F32, Dtype::I32] } {
            let run = Run { step: step.clone(), variant: variant.clone(), dtype, ..Run::default() };
            tasks.extend(sizes.iter().map(|&size| (kernel, Run { size, ..run.clone() })));
        }
    }
    // What counts most comes first, should the time run out; the longest of it early, to share the cores at the end.
    let long = |(kernel, run): &(Kernel, Run)| kernel.is_on_host() && run.size == SIZES[9];
    tasks.sort_by_key(|task| (task.1.variant.is_some(), !long(task), task.1.dtype == Dtype::I32));
    let workers = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
    let one = |(kernel, run): (Kernel, Run)| {
        let run = one_run(kernel, run, &info, (on, end));
        let may_fail =
            kernel.role() == Role::CounterExample || run.outcome == RunOutcome::NotRun && run.variant.is_some();
        (may_fail || matches!(run.outcome, RunOutcome::Verified | RunOutcome::Limit), run)
    };
    let (right, runs): (Vec<bool>, Vec<Run>) =
        workers.install(|| tasks.into_iter().par_bridge().map(one).collect::<Vec<_>>()).into_iter().unzip();
    let driver = nvidia_smi::driver().filter(|_| !sim);
    let table = Acceptance { date: record::now(), commit: commit.or_else(record::commit), device: name, driver, runs };
    Ok((table, right.into_iter().all(|right| right)))
}

fn one_run(kernel: Kernel, mut run: Run, info: &DeviceInfo, (device, end): (&str, Instant)) -> Run {
    let left = end.saturating_duration_since(Instant::now());
    if left < Duration::from_secs(2) {
        return run;
    }
    let said = said(kernel, &run, device, left.min(Duration::from_secs(RUN_SECONDS)));
    (run.outcome, run.note) = match said {
        Ok((Some(exit), text)) => {
            let report = text.find('{').and_then(|start| serde_json::from_str::<Report>(text[start..].trim()).ok());
            // A rung or a counter-example may have limits of its own.
            let limit = kernel.plan(&Problem::uniform(run.size), info).is_err();
            let outcome = match (exit, &report) {
                (0, Some(_)) => RunOutcome::Verified,
                (1, Some(_)) => RunOutcome::Wrong,
                (1, None) => RunOutcome::Fault,
                (2, _) if limit => RunOutcome::Limit,
                _ => RunOutcome::Error,
            };
            run.origin = report.as_ref().map(|report| report.kernel.origin.clone());
            let sentence =
                || text.lines().find_map(|line| line.strip_prefix("error: ")).or_else(|| text.lines().last());
            let note = match report {
                Some(report) => report.verification.diagnosis,
                None => Some(sentence().unwrap_or_default().to_owned()),
            };
            (outcome, note)
        }
        Ok((None, _)) => (RunOutcome::Timeout, Some(format!("stopped after {RUN_SECONDS} s"))),
        Err(error) => (RunOutcome::Error, Some(format!("{error:#}"))),
    };
    run
}

/// The exit status of the step's program, if it has ended in time, and what it has said.
fn said(kernel: Kernel, run: &Run, device: &str, limit: Duration) -> Result<(Option<i32>, String)> {
    let [m, n, k] = run.size;
    let mut command = Command::new(programs::path(kernel.package())?);
    command.args(["--json", "--samples", "1", "--size", &format!("{m}x{n}x{k}"), "--dtype", &run.dtype.to_string()]);
    command.args(run.variant.iter().flat_map(|variant| ["--variant", variant]));
    if kernel.step.host.is_none() {
        command.args(["--device", device]);
    }
    let worker = rayon::current_thread_index().unwrap_or_default();
    let output = std::env::temp_dir().join(format!("course-run-{}-{worker}.txt", std::process::id()));
    let file = File::create(&output)?;
    let mut child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
    let status = process::wait(&mut child, limit)?;
    let text = std::fs::read_to_string(&output).unwrap_or_default();
    let _ = std::fs::remove_file(&output);
    Ok((status.map(|status| status.code().unwrap_or(-1)), text))
}
