//! All steps in one run on the same data: verified first, then timed in turns, so that a drift of the clocks hits all
//! alike. A step that fails is shown as failing and stops no other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use common::check::verify_c;
use common::cli::parse_size;
use common::code::{Code, Source};
use common::cublas_product::CublasProduct;
use common::describe::{Description, Request};
use common::device::{self, Choice, Device, SimOptions};
use common::exec::Session;
use common::matrix::Operands;
use common::output::print;
use common::product::{Matrices, Product};
use common::progress::Progress;
use common::report::{LaunchReport, Report};
use common::timing::{self, Cache};
use common::units::ms;
use common::verify;
use common::{Dtype, Fill, Kind, Plan, Problem, cublas, memory, nvrtc};

use crate::record::{self, CUBLAS, Entry, FORMAT, Outcome, Record, SizeRecord, StepRecord, Traffic};
use crate::steps::{self, StepFolder};

/// Options of `cargo course compare`.
#[derive(clap::Args, Clone)]
pub struct Options {
    /// Where to run: auto (CUDA if there is any, else the simulator), cuda, cuda:N or sim
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = |text: &str| text.parse::<Choice>())]
    pub device: Choice,
    /// Sizes with commas between them, each N or MxNxK; by default cubes and oblong ones that suit the device
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_size, allow_hyphen_values = true)]
    pub size: Vec<[u64; 3]>,
    /// Also 1000 to 1100 in steps of 4, where the last tiles of a row are filled more or less
    #[arg(long)]
    pub saw_tooth: bool,
    /// Rounds in which all kernels take turns
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: u16,
    /// Only these steps (by the start of their names), with commas between them
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    pub steps: Vec<String>,
    /// Seed of A and B
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Empty the L2 cache before each product; without it the product before leaves what fits
    #[arg(long)]
    pub flush_l2: bool,
    /// Write all samples into this file, for README, docs and charts (docs/results/NAME.json)
    #[arg(long, value_name = "FILE.json")]
    pub record: Option<PathBuf>,
    /// The commit for the record, where git cannot tell it
    #[arg(long, value_name = "HASH")]
    pub commit: Option<String>,
    /// For the program itself: go on with this record after a kernel broke the GPU's context
    #[arg(long, value_name = "FILE", hide = true)]
    pub resume: Option<PathBuf>,
}

/// Sizes on a GPU: those of the course's own claims.
const GPU_SIZES: [[u64; 3]; 13] = [
    [32, 32, 128],
    [256; 3],
    [512; 3],
    [1024; 3],
    [2048; 3],
    [4096; 3],
    [8192; 3],
    [1000; 3],
    [1023, 1025, 1027],
    [4095; 3],
    [64, 8192, 1024],
    [8192, 64, 1024],
    [512, 512, 16_384],
];
/// Sizes on the simulator: seconds in all.
const SIM_SIZES: [[u64; 3]; 3] = [[32, 32, 128], [128; 3], [100, 77, 51]];
/// Multiply-adds that a step on the host is asked for at most: seconds of three plain loops.
const HOST_LIMIT: u128 = 1 << 31;
/// Milliseconds of one kernel in one round, about.
const ROUND_MS: f64 = 60.0;
/// Samples of one kernel in one round.
const ROUND_SAMPLES: std::ops::RangeInclusive<usize> = 2..=10;

/// A step that takes part.
struct Participant {
    folder: StepFolder,
    /// What it says of itself, with a plan for each size, or why it does not.
    description: Result<Description, String>,
    source: Result<Source, String>,
    /// Code by specialisation.
    code: BTreeMap<String, Result<Code, String>>,
}

/// A kernel, or the vendor's library, that is ready at the size at hand.
struct Runner {
    entry: usize,
    product: Box<dyn Product>,
}

/// Runs the command; `false` where a product is wrong or a step fails.
pub fn run(options: &Options) -> Result<bool> {
    let mut device = device::open(options.device, &SimOptions::default())?;
    let device = device.as_mut();
    let sizes = sizes(options, device.info().kind);
    let mut record = match &options.resume {
        Some(path) => Record::read(path)?,
        None => new_record(options, device),
    };
    let problems: Vec<Problem> = sizes.iter().map(|&size| record.problem(size)).collect();
    let mut participants = participants(options, device, &problems)?;
    if record.steps.is_empty() {
        record.steps = participants.iter().map(step_record).collect();
    }
    if record.sizes.is_empty() {
        print(&format!("{}\n", record.provenance()))?;
        if device.info().kind == Kind::Cuda {
            match cublas::find() {
                Ok(version) => record.cublas = Some(version),
                Err(error) => print(&format!("no comparison with cuBLAS: {error:#}\n"))?,
            }
        }
        record.clocks_before = clocks(options, device);
    }
    let mut cache =
        if options.flush_l2 && device.info().kind == Kind::Cuda { Cache::flushed(device)? } else { Cache::warm() };
    for (at, problem) in problems.iter().enumerate().skip(record.sizes.len()) {
        match one_size(options, device, &mut participants, &record, at, problem, &mut cache) {
            Ok(size) => {
                print(&table(&record, &size))?;
                record.sizes.push(size);
            }
            // The context is lost with everything on it: a new process goes on without that kernel.
            Err(Broken::Context { name, reason }) => {
                let size = record::size_words([problem.m, problem.n, problem.k]);
                record.faulted.insert(name, format!("at {size}: {reason}"));
                return restart(&record);
            }
            Err(Broken::Other(error)) => return Err(error),
        }
        if let Some(path) = &options.record {
            record.write(path)?;
        }
    }
    record.clocks_after = clocks(options, device);
    record.complete = true;
    if options.record.is_some() {
        add_traffic(&mut record)?;
    }
    if let Some(path) = &options.record {
        record.write(path)?;
    }
    print(&summary(&record))?;
    Ok(record.ok())
}

/// Why a size was not finished.
enum Broken {
    /// A kernel's fault: nothing more can be run in this process.
    Context { name: String, reason: String },
    /// An error that ends the comparison.
    Other(anyhow::Error),
}

impl From<anyhow::Error> for Broken {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

fn sizes(options: &Options, kind: Kind) -> Vec<[u64; 3]> {
    let mut sizes = match (options.size.as_slice(), kind) {
        ([], Kind::Cuda) => GPU_SIZES.to_vec(),
        ([], _) => SIM_SIZES.to_vec(),
        (given, _) => given.to_vec(),
    };
    if options.saw_tooth {
        sizes.extend(record::saw_tooth());
    }
    let mut seen = std::collections::HashSet::new();
    sizes.retain(|size| seen.insert(*size));
    sizes
}

fn new_record(options: &Options, device: &dyn Device) -> Record {
    let cuda = device.info().kind == Kind::Cuda;
    let version = |version: (u32, u32)| format!("{}.{}", version.0, version.1);
    let driver = device::driver_version().filter(|_| cuda);
    Record {
        format: FORMAT,
        date: record::now(),
        commit: options.commit.clone().or_else(record::commit),
        device: device.info().clone(),
        figures: device.figures(),
        driver: cuda.then(record::driver).flatten(),
        cuda: driver.map(|driver| format!("{}.{}", driver / 1000, driver % 1000 / 10)),
        nvrtc: nvrtc::find().ok().filter(|_| cuda).map(|nvrtc| version(nvrtc.version)),
        cublas: None,
        dtype: Dtype::F32,
        fill: Fill::Uniform,
        seed: options.seed,
        l2: if options.flush_l2 { timing::L2::Flushed } else { timing::L2::Warm },
        rounds: options.rounds.into(),
        clocks_before: None,
        clocks_after: None,
        steps: Vec::new(),
        faulted: BTreeMap::new(),
        sizes: Vec::new(),
        complete: false,
    }
}

fn clocks(options: &Options, device: &dyn Device) -> Option<record::Clocks> {
    let index = if let Choice::Cuda(index) = options.device { index } else { 0 };
    (device.info().kind == Kind::Cuda).then(|| record::clocks(index)).flatten()
}

fn participants(options: &Options, device: &dyn Device, problems: &[Problem]) -> Result<Vec<Participant>> {
    let chosen = |step: &StepFolder| {
        options.steps.is_empty() || options.steps.iter().any(|name| step.name.starts_with(name.as_str()))
    };
    let folders: Vec<StepFolder> = steps::find()?.into_iter().filter(chosen).collect();
    ensure!(
        !folders.is_empty(),
        "no step's name starts with {}; leave --steps out to compare all",
        options.steps.join(" or ")
    );
    let request = Request { device: Some(device.info().clone()), problems: problems.to_vec(), variant: None };
    let participant = |folder: StepFolder| {
        let description = folder.describe(&request).map_err(|error| format!("{error:#}"));
        let host = description.as_ref().is_ok_and(|description| description.host);
        let source = Source::read(&folder.path.join(if host { "src/lib.rs" } else { "kernel.cu" }));
        let source = source.map_err(|error| format!("{error:#}"));
        Participant { folder, description, source, code: BTreeMap::new() }
    };
    Ok(folders.into_iter().map(participant).collect())
}

fn step_record(participant: &Participant) -> StepRecord {
    let (source, hash) = match &participant.source {
        Ok(source) => (source.display.clone(), source.hash.clone()),
        Err(_) => (format!("{}/kernel.cu", participant.folder.name), String::new()),
    };
    let description = participant.description.as_ref().ok();
    StepRecord {
        name: participant.folder.name.clone(),
        title: description.map_or_else(String::new, |description| description.title.clone()),
        source,
        hash,
        host: description.is_some_and(|description| description.host),
    }
}

/// The steps of the record that a new process goes on with.
fn restart(record: &Record) -> Result<bool> {
    let path = std::env::temp_dir().join(format!("course-compare-{}.json", std::process::id()));
    record.write(&path)?;
    let program =
        std::env::current_exe().context("the program does not know its own path; start it by its full name")?;
    let mut args: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    if let Some(at) = args.iter().position(|arg| arg == "--resume") {
        args.drain(at..(at + 2).min(args.len()));
    }
    let status = Command::new(program).args(args).arg("--resume").arg(&path).status();
    let _ = std::fs::remove_file(&path);
    Ok(status?.success())
}

impl Participant {
    fn code(&mut self, plan: &Plan, device: &dyn Device) -> Result<Code, String> {
        let source = self.source.clone()?;
        let key = format!("{:?}", plan.specialisation);
        let committed = self.folder.path.join("ptx");
        let make =
            || source.code(&plan.specialisation, device.info(), Some(&committed)).map_err(|error| format!("{error:#}"));
        self.code.entry(key).or_insert_with(make).clone()
    }
}

fn one_size(
    options: &Options,
    device: &mut dyn Device,
    participants: &mut [Participant],
    record: &Record,
    at: usize,
    problem: &Problem,
    cache: &mut Cache,
) -> Result<SizeRecord, Broken> {
    let size = [problem.m, problem.n, problem.k];
    let progress = Progress::new(record::size_words(size), participants.len() as u64);
    let mut entries = Vec::new();
    let mut runners = Vec::new();
    let fits = memory::ensure_fits(problem, None, device);
    let matrices = match fits.and_then(|()| Matrices::allocate(device, problem)) {
        Ok(matrices) => matrices,
        Err(error) => {
            let skipped = |name: &str| Entry::new(name, Outcome::Skipped, Some(format!("{error:#}")));
            entries.extend(record.names().into_iter().map(skipped));
            return Ok(SizeRecord { m: problem.m, n: problem.n, k: problem.k, entries, clocks: None });
        }
    };
    for participant in &mut *participants {
        let name = participant.folder.name.clone();
        match session(record, device, participant, at, &matrices) {
            Ok(Prepared::Session(product, entry)) => {
                runners.push(Runner { entry: entries.len(), product });
                entries.push(entry);
            }
            Ok(Prepared::Entry(entry)) => entries.push(entry),
            Err(error) => entries.push(Entry::new(&name, Outcome::Failed, Some(format!("{error:#}")))),
        }
        progress.add(1);
    }
    if record.cublas.is_some() {
        match (record.faulted.get(CUBLAS), CublasProduct::new(device, &matrices)) {
            (None, Ok(library)) => {
                runners.push(Runner { entry: entries.len(), product: Box::new(library) });
                entries.push(Entry::new(CUBLAS, Outcome::Verified, None));
            }
            (Some(reason), _) => entries.push(Entry::new(CUBLAS, Outcome::Failed, Some(reason.clone()))),
            (None, Err(error)) => entries.push(Entry::new(CUBLAS, Outcome::Failed, Some(format!("{error:#}")))),
        }
    }
    verify_all(device, &runners, &mut entries, &matrices, &progress)?;
    let mut clocks_after = None;
    if device.info().kind == Kind::Cuda {
        runners.retain(|runner| entries[runner.entry].outcome == Outcome::Verified);
        time_all(options, device, &runners, &mut entries, cache, &progress)?;
        let long = problem.multiply_adds() >= 1 << 30 && !record::only_in_saw_tooth(size);
        clocks_after = long.then(|| clocks(options, device)).flatten();
    }
    for runner in runners {
        let entry = &mut entries[runner.entry];
        entry.resources = runner.product.main_kernel().map(|kernel| device.resources(kernel));
        entry.first_launch_ms = runner.product.first_launch_ms().filter(|_| device.info().kind == Kind::Cuda);
        runner.product.close(device)?;
    }
    matrices.release(device)?;
    Ok(SizeRecord { m: problem.m, n: problem.n, k: problem.k, entries, clocks: clocks_after })
}

/// A step at a size: ready to run, or done with.
enum Prepared {
    Session(Box<dyn Product>, Entry),
    Entry(Entry),
}

fn session(
    record: &Record,
    device: &mut dyn Device,
    participant: &mut Participant,
    at: usize,
    matrices: &Matrices,
) -> Result<Prepared> {
    let problem = &matrices.problem;
    let name = participant.folder.name.clone();
    if let Some(reason) = record.faulted.get(&name) {
        return Ok(Prepared::Entry(Entry::new(&name, Outcome::Failed, Some(reason.clone()))));
    }
    let description = participant.description.as_ref().map_err(|error| anyhow!("{error}"))?;
    if description.host {
        return on_host(participant, problem).map(Prepared::Entry);
    }
    let plan =
        description.plans.get(at).context("the step planned fewer problems than it was asked for; build it anew")?;
    let plan = match plan {
        Ok(plan) => plan.clone(),
        Err(limit) => return Ok(Prepared::Entry(Entry::new(&name, Outcome::Impossible, Some(limit.clone())))),
    };
    if let Err(error) = memory::ensure_fits(problem, Some(&plan), device) {
        return Ok(Prepared::Entry(Entry::new(&name, Outcome::Skipped, Some(format!("{error:#}")))));
    }
    let code = participant.code(&plan, device).map_err(|error| anyhow!("{error}"))?;
    let entry = Entry {
        origin: Some(code.origin.clone()),
        defines: plan.specialisation.defines.clone(),
        launch: LaunchReport::of(&plan),
        ..Entry::new(&name, Outcome::Verified, None)
    };
    Ok(Prepared::Session(Box::new(Session::sharing(device, plan, &code, matrices)?), entry))
}

/// A step of the host in its own process, on the same data: the generator is the same.
fn on_host(participant: &Participant, problem: &Problem) -> Result<Entry> {
    let name = &participant.folder.name;
    let size = [problem.m, problem.n, problem.k];
    if problem.multiply_adds() > HOST_LIMIT || record::only_in_saw_tooth(size) {
        let note = "on the host it would take more than a few seconds, or show no tiles".to_owned();
        return Ok(Entry::new(name, Outcome::Skipped, Some(note)));
    }
    let size = format!("{}x{}x{}", problem.m, problem.n, problem.k);
    let output = Command::new(participant.folder.program()?)
        .args(["--json", "--size", &size, "--seed", &problem.seed.to_string(), "--samples", "3"])
        .output()
        .with_context(|| format!("{name} cannot be started; build it anew"))?;
    let report: Report = serde_json::from_slice(&output.stdout)
        .map_err(|_| anyhow!("{}", String::from_utf8_lossy(&output.stderr).trim().trim_start_matches("error: ")))?;
    let verification = &report.verification;
    let outcome = if verification.ok { Outcome::Verified } else { Outcome::Wrong };
    let spread = report.timing.map(|timing| timing.kernel_ms);
    Ok(Entry {
        method: Some(verification.method),
        worst_bound_share: verification.worst_bound_share,
        origin: Some(report.kernel.origin),
        samples_ms: spread
            .map(|spread| [spread.min, spread.median, spread.max].map(record::rounded).to_vec())
            .into_iter()
            .collect(),
        products_per_sample: 1,
        ..Entry::new(name, outcome, verification.diagnosis.clone())
    })
}

/// Runs and checks every kernel: first on the integer twin where the check wants one, then on the problem itself, whose
/// A and B stay on the device.
fn verify_all(
    device: &mut dyn Device,
    runners: &[Runner],
    entries: &mut [Entry],
    matrices: &Matrices,
    progress: &Progress,
) -> Result<(), Broken> {
    for problem in verify::twin(&matrices.problem).iter().chain([&matrices.problem]) {
        let operands = Operands::new(problem)?;
        matrices.upload(device, &operands)?;
        progress.expect(runners.len() as u64);
        for runner in runners {
            progress.add(1);
            let entry = &mut entries[runner.entry];
            if entry.outcome != Outcome::Verified {
                continue;
            }
            if let Err(error) = runner.product.run(device) {
                fail(device, entry, &error)?;
                continue;
            }
            let found = verify_c(device, runner.product.as_ref(), problem, &operands)?;
            entry.method = Some(found.method);
            entry.worst_bound_share = found.worst_bound_share;
            if !found.ok {
                entry.outcome = Outcome::Wrong;
                entry.note = found.diagnosis;
            }
        }
    }
    Ok(())
}

/// Times the kernels in turns.
fn time_all(
    options: &Options,
    device: &mut dyn Device,
    runners: &[Runner],
    entries: &mut [Entry],
    cache: &mut Cache,
    progress: &Progress,
) -> Result<(), Broken> {
    progress.expect(runners.len() as u64 * u64::from(options.rounds));
    let mut samples = vec![0; runners.len()];
    for round in 0..options.rounds {
        for (runner, samples) in runners.iter().zip(&mut samples) {
            progress.add(1);
            let entry = &mut entries[runner.entry];
            if entry.outcome != Outcome::Verified {
                continue;
            }
            let mut timed = || -> Result<Vec<f64>> {
                // The kernel before has left its own traces in the caches.
                let mut warm_up = timing::sample(device, runner.product.as_ref(), cache, 1)?;
                if round == 0 {
                    warm_up = warm_up.min(timing::sample(device, runner.product.as_ref(), cache, 1)?);
                    entry.products_per_sample = cache.products_per_sample(warm_up);
                    let wanted = (ROUND_MS / (warm_up * entry.products_per_sample as f64)) as usize;
                    *samples = wanted.clamp(*ROUND_SAMPLES.start(), *ROUND_SAMPLES.end());
                }
                (0..*samples)
                    .map(|_| timing::sample(device, runner.product.as_ref(), cache, entry.products_per_sample))
                    .collect()
            };
            match timed() {
                Ok(samples) => entry.samples_ms.push(samples.into_iter().map(record::rounded).collect()),
                Err(error) => fail(device, entry, &error)?,
            }
        }
    }
    Ok(())
}

/// Marks a kernel as failing; where its failure has broken the GPU's context, nothing more runs in this process.
fn fail(device: &mut dyn Device, entry: &mut Entry, error: &anyhow::Error) -> Result<(), Broken> {
    // An error of a launch alone is gone by now; a fault of a kernel stays for good.
    if device.synchronize().is_err() {
        return Err(Broken::Context { name: entry.name.clone(), reason: format!("{error:#}") });
    }
    entry.outcome = Outcome::Failed;
    entry.note = Some(format!("{error:#}"));
    entry.samples_ms.clear();
    Ok(())
}

/// The table of a size, for people.
fn table(record: &Record, size: &SizeRecord) -> String {
    let peak = record.figures.map(|figures| figures.fp32_peak_gflops);
    let percent = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0));
    // Beside a simulated kernel, not even the host's own time is shown: they do not compare.
    let timed = record.device.kind == Kind::Cuda && size.entries.iter().any(|entry| entry.spread().is_some());
    let mut rows = vec![if timed {
        ["", "time", "GFLOP/s", "of FP32 peak", "of cuBLAS", "over previous", "spread"].map(ToOwned::to_owned).to_vec()
    } else {
        ["", "product"].map(ToOwned::to_owned).to_vec()
    }];
    for entry in &size.entries {
        let mut row = vec![entry.name.clone()];
        let host = record.steps.iter().any(|step| step.host && step.name == entry.name);
        match (entry.spread().filter(|_| timed), size.gflops(&entry.name)) {
            (Some(spread), Some(gflops)) => row.extend([
                ms(spread.median),
                format!("{gflops:.1}"),
                percent(peak.filter(|_| !host).map(|peak| gflops / peak)),
                percent(size.share_of_cublas(&entry.name)),
                size.over_previous(&entry.name)
                    .filter(|_| entry.name != CUBLAS)
                    .map_or_else(|| "-".to_owned(), |times| format!("{times:.2} ×")),
                format!("{} to {}", ms(spread.min), ms(spread.max)),
            ]),
            _ => row.push(words(entry)),
        }
        rows.push(row);
    }
    let columns = rows[0].len();
    let width = |column: usize| {
        rows.iter().filter(|row| row.len() == columns).map(|row| row[column].chars().count()).max().unwrap_or(0)
    };
    let first = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    let mut text = format!("\n{}\n", size.words());
    for row in &rows {
        text += &format!("  {:first$}", row[0]);
        for (column, cell) in row.iter().enumerate().skip(1) {
            // A sentence takes the rest of its row.
            if row.len() < columns || columns == 2 {
                text += &format!("  {cell}");
            } else {
                let width = width(column);
                text += &format!("  {cell:>width$}");
            }
        }
        text.push('\n');
    }
    text
}

fn words(entry: &Entry) -> String {
    let note = entry.note.clone().unwrap_or_default();
    let mut lines = note.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    // A compiler's words stand below the sentence that announces them.
    let next = lines.find(|line| line.contains("error")).filter(|_| first.ends_with(':'));
    let note = next.map_or_else(|| first.to_owned(), |next| format!("{first} {}", next.trim()));
    match entry.outcome {
        Outcome::Verified => format!("right: {}", entry.method.map_or("checked", verify::Method::words)),
        Outcome::Wrong => format!("WRONG: {note}"),
        Outcome::Failed => format!("FAILS: {note}"),
        Outcome::Impossible => format!("cannot: {note}"),
        Outcome::Skipped => format!("not run: {note}"),
    }
}

/// What all sizes say together.
fn summary(record: &Record) -> String {
    let mut text = String::new();
    for step in &record.steps {
        if let Some((least, mean)) = record.shares_of_cublas(&step.name) {
            text += &format!("  {}: at least {least:.3} × cuBLAS, geometric mean {mean:.3} ×\n", step.name);
        }
    }
    if !text.is_empty() {
        text = format!("\nover all sizes but the saw-tooth's ({})\n{text}", record.l2.words());
    }
    let count = |outcome: Outcome| {
        record.sizes.iter().flat_map(|size| &size.entries).filter(|entry| entry.outcome == outcome).count()
    };
    let (right, wrong, failed) = (count(Outcome::Verified), count(Outcome::Wrong), count(Outcome::Failed));
    text += &format!(
        "\n{right} products right, {wrong} wrong, {failed} failed; every product was checked before it was timed\n"
    );
    if record.device.kind != Kind::Cuda {
        text += "the simulator has no times to compare; on a GPU the same command shows them\n";
    }
    text
}

/// Options of `cargo course traffic`.
#[derive(clap::Args)]
pub struct TrafficOptions {
    /// A record of cargo course compare
    record: PathBuf,
}

/// Runs `cargo course traffic`.
pub fn traffic(options: &TrafficOptions) -> Result<bool> {
    let mut record = Record::read(&options.record)?;
    add_traffic(&mut record)?;
    record.write(&options.record)?;
    let Some(size) = record.ladder_size() else {
        return print("the record has no times, so there is nothing to place in a roofline\n").map(|()| true);
    };
    let mut text = String::new();
    for entry in &size.entries {
        if let Some(traffic) = entry.traffic {
            text += &format!("{:<24}{:>10.2} flop per byte\n", entry.name, traffic.intensity());
        }
    }
    print(&text).map(|()| true)
}

/// Counts the global traffic of each kernel at the size of the ladder: one block of its grid, on the simulator.
fn add_traffic(record: &mut Record) -> Result<()> {
    let ladder = record.ladder_size().filter(|_| record.has_times());
    let Some(size) = ladder.map(|size| [size.m, size.n, size.k]) else { return Ok(()) };
    let problem = record.problem(size);
    let request = Request { device: Some(record.device.clone()), problems: vec![problem], variant: None };
    let mut found = BTreeMap::new();
    for folder in steps::find()?.into_iter().filter(|folder| record.steps.iter().any(|step| step.name == folder.name)) {
        match traffic_of(&folder, &request, &problem) {
            Ok(Some(traffic)) => {
                found.insert(folder.name, traffic);
            }
            Ok(None) => {}
            Err(error) => print(&format!("{} cannot be placed in the roofline: {error:#}\n", folder.name))?,
        }
    }
    let size = record.sizes.iter_mut().find(|record| [record.m, record.n, record.k] == size);
    for entry in size.into_iter().flat_map(|size| &mut size.entries) {
        entry.traffic = found.get(&entry.name).copied();
    }
    Ok(())
}

/// Operations and bytes of the first block of a step's first launch; blocks inside the matrices are all alike.
fn traffic_of(folder: &StepFolder, request: &Request, problem: &Problem) -> Result<Option<Traffic>> {
    let description = folder.describe(request)?;
    let Some(Ok(plan)) = description.plans.first() else { return Ok(None) };
    if description.host {
        return Ok(None);
    }
    let mut plan = plan.clone();
    plan.launches.truncate(1);
    plan.launches.iter_mut().for_each(|launch| launch.grid = [1, 1, 1]);
    let mut device = device::SimDevice::new(SimOptions { counters: true, ..SimOptions::default() });
    let source = Source::read(&folder.source(None))?;
    let code = source.code(&plan.specialisation, device.info(), Some(&folder.path.join("ptx")))?;
    let session = Session::new(&mut device, problem, plan, &code)?;
    session.matrices().buffers().into_iter().try_for_each(|buffer| device.fill(buffer, 0))?;
    session.launch(&mut device)?;
    let counters = device.observations().counters.context("the simulator counted nothing; report this as a defect")?;
    let count = |name: &str| {
        counters
            .total
            .get(name)
            .map(|&count| count as f64)
            .with_context(|| format!("the simulator does not count {name}"))
    };
    Ok(Some(Traffic {
        flop: 2.0 * count("fma_threads")?,
        global_bytes: 32.0 * (count("global_load_sectors")? + count("global_store_sectors")?),
    }))
}

/// Options of `cargo course compare-records`.
#[derive(clap::Args)]
pub struct RecordsOptions {
    /// A record: another GPU, or before a change
    one: PathBuf,
    /// The record to compare it with
    other: PathBuf,
}

/// Shows two records side by side: the second's speed over the first's.
pub fn records(options: &RecordsOptions) -> Result<bool> {
    let read = |path: &Path| Record::read(path);
    print(&side_by_side(&read(&options.one)?, &read(&options.other)?)).map(|()| true)
}

fn side_by_side(one: &Record, other: &Record) -> String {
    let mut text = format!("1: {}\n2: {}\n", one.provenance(), other.provenance());
    let mut names = one.names();
    names.extend(other.names().into_iter().filter(|name| !one.names().contains(name)));
    for name in names {
        let mut rows = String::new();
        for size in &one.sizes {
            let Some(twin) = other.size([size.m, size.n, size.k]) else { continue };
            if let (Some(first), Some(second)) = (size.gflops(name), twin.gflops(name)) {
                let ratio = second / first;
                rows += &format!("  {:>18}  {first:>10.1}  {second:>10.1} GFLOP/s  {ratio:.3} ×\n", size.words());
            }
        }
        let hash = |record: &Record| record.steps.iter().find(|step| step.name == name).map(|step| step.hash.clone());
        let changed = matches!((hash(one), hash(other)), (Some(a), Some(b)) if a != b);
        let note = if changed { " (another kernel)" } else { "" };
        if !rows.is_empty() {
            text += &format!("\n{name}{note}\n{rows}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::example;

    #[test]
    fn a_table_shows_times_and_says_what_failed() {
        let mut record = example();
        record.sizes[1].entries[0] = Entry::new("step02_one", Outcome::Wrong, Some("C equals its transpose".into()));
        let text = table(&record, &record.sizes[1]);
        assert!(text.contains("4096³") && text.contains("WRONG: C equals its transpose"), "{text}");
        let row = text.lines().find(|line| line.contains("step04_two")).unwrap();
        assert!(row.contains("25600.0") && row.contains("38.3 %") && row.contains("50.0 %"), "{row}");
        // There is no earlier step that has a time.
        assert!(!row.contains("4.00 ×"), "{row}");
        let text = table(&record, &record.sizes[0]);
        assert!(text.contains("3.00 ×"), "{text}");
    }

    #[test]
    fn two_records_stand_side_by_side() {
        let (one, mut other) = (example(), example());
        other.steps[0].hash = "1".repeat(64);
        for sample in other.sizes[1].entries[1].samples_ms.iter_mut().flatten() {
            *sample /= 2.0;
        }
        let text = side_by_side(&one, &other);
        assert!(
            text.contains("step02_one (another kernel)") && text.contains("2.000 ×") && text.contains("1.000 ×"),
            "{text}"
        );
    }
}
