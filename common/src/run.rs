//! A step's program, from the command line to the exit status.

use std::io::Write as _;
use std::num::Wrapping;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};

use crate::analysis::Observations;
use crate::baseline::Baseline;
use crate::cli::Args;
use crate::code::{Code, Registers, Source};
use crate::device::{self, Choice, Device, DeviceInfo, Kind, SimOptions};
use crate::exec::{Session, poison};
use crate::fault::KernelFault;
use crate::matrix::Operands;
use crate::memory;
use crate::occupancy::{self, BlockNeeds, Occupancy};
use crate::plan::{Plan, Specialisation};
use crate::problem::{Dtype, Problem};
use crate::report::{self, DeviceReport, KernelReport, LaunchReport, Report};
use crate::step::{HostProduct, Step, Variant};
use crate::timing::{self, Cache, Spread, Timing};
use crate::verify::{self, HostRows, Rows, Shape, Verification};

/// Runs a step's program and returns its exit status: 0 verified, 1 wrong product or a fault of the kernel, 2 bad usage
/// or environment.
pub fn run(step: &Step) -> ExitCode {
    let about = format!("{}: {}. Multiplies two matrices, verifies the product, and times it.", step.name, step.title);
    let args = match Args::read(step.name, about) {
        Ok(args) => args,
        Err((help, 0)) => return finish(report::print(&help).map(|()| true)),
        Err((sentence, _)) => {
            // Where standard error is closed too, the exit status is all there is left to say.
            let _ = std::io::stderr().write_all(sentence.as_bytes());
            return ExitCode::from(2);
        }
    };
    finish(execute(step, &args))
}

/// The exit status of a program of the course, with the error's sentence on standard error.
pub fn finish(result: Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(if error.chain().any(<dyn std::error::Error>::is::<KernelFault>) { 1 } else { 2 })
        }
    }
}

fn execute(step: &Step, args: &Args) -> Result<bool> {
    if args.list_variants {
        return report::print(&list_variants(step)?).map(|()| true);
    }
    if let Some(request) = &args.describe {
        return report::print(&describe(step, request)?).map(|()| true);
    }
    let variant = args.variant.as_deref().map(|name| find_variant(step, name)).transpose()?;
    let on_host = args.device == Choice::Auto && args.kernel.is_none() && variant.is_none() && !args.analyses();
    let host = step.host.filter(|_| on_host);
    if let Some(host) = host {
        let report = run_on_host(step, args, host)?;
        return show(&report, args);
    }

    let source = Source::read(&args.kernel.clone().unwrap_or_else(|| step.source_path(variant)))?;
    let mut device = open(args)?;
    let problem = problem(args, (step.default_size)(device.info()));
    let device = device.as_mut();
    let plan = plan(step, variant, args, &problem, device.info())?;
    memory::ensure_fits(&problem, Some(&plan), device)?;
    let committed = source.committed_folder();
    let code = source.code(&plan.specialisation, device.info(), committed.as_deref())?;
    let session = Session::new(device, &problem, plan, &code)?;
    let operands = Operands::new(&problem)?;
    let verified = verify_on(device, &session, &problem, &operands);
    let mut observations = device.observations();
    let verification = match verified {
        // A fault is what --check looks for, and a program that reads JSON wants it there.
        Err(error) if args.check || args.json => failed(&problem, &mut observations, error)?,
        verified => verified?,
    };
    let timed = verification.ok && device.info().kind == Kind::Cuda;
    let mut cache = if args.flush_l2 && timed { Cache::flushed(device)? } else { Cache::warm() };
    let timing =
        timed.then(|| timing::time(device, &session, &operands, &problem, args.samples, &mut cache)).transpose()?;
    let baseline = args
        .baseline
        .map(|_| Baseline::run(device, &session, &problem, &operands, args.samples, &mut cache, timing.as_ref()));
    let occupancy = occupancy(device, &session, committed.as_deref(), &code);
    let launches = &session.plan().launches;
    let report = Report {
        step: step.name.into(),
        title: step.title.into(),
        variant: args.variant.clone(),
        device: DeviceReport::from(device.info()),
        problem,
        kernel: KernelReport {
            source: source.display.clone(),
            hash: source.hash.clone(),
            origin: code.origin.clone(),
            defines: session.plan().specialisation.defines.clone(),
        },
        launch: launches.first().map(|launch| LaunchReport {
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            launches: launches.len(),
        }),
        occupancy,
        counters: observations.counters,
        hazards: observations.hazards,
        trace: observations.trace,
        verification,
        timing,
        baseline,
    };
    show(&report, args)
}

/// The verdict on a product that a fault of the kernel ended; any other error is passed on.
fn failed(problem: &Problem, observations: &mut Observations, error: anyhow::Error) -> Result<Verification> {
    let fault = error.downcast::<KernelFault>()?;
    // What a run that broke off has counted, or left unwritten, says nothing.
    observations.counters = None;
    if let Some(hazards) = &mut observations.hazards {
        hazards.retain(|hazard| hazard.kind != simt::HazardKind::NeverWritten.name());
        hazards.splice(0..0, fault.hazard);
    }
    Ok(Verification::failed(problem, fault.text))
}

/// Opens the device; what only the simulator can show takes the simulator.
fn open(args: &Args) -> Result<Box<dyn Device>> {
    ensure!(
        !args.analyses() || !matches!(args.device, Choice::Cuda(_)),
        "--counters, --check and --trace come from the simulator; take --device sim, or leave --device out"
    );
    let choice = if args.analyses() { Choice::Sim } else { args.device };
    let options = SimOptions {
        instruction_limit: args.instruction_limit,
        counters: args.counters.is_some() || args.json,
        check: args.check,
        trace: args.trace.clone(),
    };
    device::open(choice, &options)
}

/// The occupancy of the first launch; registers from the driver, else as the assembler counted them for committed PTX.
fn occupancy(device: &dyn Device, session: &Session, committed: Option<&Path>, code: &Code) -> Option<Occupancy> {
    let (kernel, launch) = (session.main_kernel()?, session.plan().launches.first()?);
    let resources = device.resources(kernel);
    let recorded = || Registers::read(committed?).of(code.committed.as_deref()?, &launch.entry);
    let needs = BlockNeeds {
        threads: launch.block.iter().product(),
        registers: resources.registers.or_else(recorded),
        shared_bytes: resources.static_shared_bytes + launch.shared_bytes,
    };
    Some(occupancy::occupancy(needs, &device.info().sm, device.resident_blocks(kernel, launch)))
}

fn show(report: &Report, args: &Args) -> Result<bool> {
    report::print(&if args.json { report.json()? } else { report.text(args.counters) })?;
    Ok(report.verification.ok && report.hazards.as_ref().is_none_or(Vec::is_empty))
}

fn problem(args: &Args, default: [u64; 3]) -> Problem {
    let [m, n, k] = args.size.unwrap_or(default);
    Problem { m, n, k, dtype: args.dtype, fill: args.fill, seed: args.seed }
}

/// The step's plan, or the launch that the learner describes for their own kernel.
fn plan(step: &Step, variant: Option<&Variant>, args: &Args, problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    let own = step.plan_of(variant)(problem, device);
    // The learner's kernel may know nothing of the step's bands.
    let own = if args.kernel.is_some() { own.map(Plan::without_bands) } else { own };
    if args.block.is_none() && args.tile.is_none() && args.shared.is_none() {
        return own;
    }
    // The step's limits (one block, say) are not those of the learner's kernel.
    let (specialisation, block, tile_k) = match &own {
        Ok(own) => {
            let block = own.launches.first().map_or([32, 32], |launch| [launch.block[0], launch.block[1]]);
            (own.specialisation.clone(), block, own.tile_k)
        }
        Err(_) => (Specialisation::single(problem.dtype, &[]), [32, 32], 1),
    };
    let mut plan = match (args.block, args.tile) {
        (None, None) => own?,
        (given, tile) => {
            let block = given.unwrap_or(block);
            Plan::tiled(problem, specialisation, block, tile.unwrap_or(block))
        }
    };
    plan.tile_k = tile_k;
    Ok(match args.shared {
        Some(bytes) => plan.with_shared_bytes(bytes),
        None => plan,
    })
}

fn find_variant<'a>(step: &'a Step, name: &str) -> Result<&'a Variant> {
    step.variants.iter().find(|variant| variant.name == name).ok_or_else(|| {
        let names: Vec<&str> = step.variants.iter().map(|variant| variant.name).collect();
        match names.as_slice() {
            [] => anyhow!("{} has no variants; leave --variant out", step.name),
            names => anyhow!("{} has no variant {name:?}; choose {}", step.name, names.join(", ")),
        }
    })
}

/// A line for each variant: its name and the first comment of its file.
fn list_variants(step: &Step) -> Result<String> {
    let mut text = String::new();
    for variant in step.variants {
        let source = Source::read(&step.source_path(Some(variant)))?;
        let comment: Vec<&str> = source.text.lines().map_while(|line| line.strip_prefix("//")).map(str::trim).collect();
        text += &format!("{:<24}{}\n", variant.name, comment.join(" "));
    }
    if text.is_empty() {
        text = format!("{} has no variants\n", step.name);
    }
    Ok(text)
}

/// Rows of C on a device.
struct DeviceRows<'a> {
    device: &'a mut dyn Device,
    session: &'a Session,
    n: u64,
}

impl Rows for DeviceRows<'_> {
    fn read(&mut self, first: u64, words: &mut [u32]) -> Result<()> {
        self.device.read(self.session.c, first * self.n * 4, bytemuck::cast_slice_mut(words))
    }
}

/// Runs the product on the device and checks it; the operands are on the device afterwards.
pub fn verify_on(
    device: &mut dyn Device,
    session: &Session,
    problem: &Problem,
    operands: &Operands,
) -> Result<Verification> {
    let shape = Shape { tile: session.plan().tile, tile_k: session.plan().tile_k };
    let mut check = |problem: &Problem, operands: &Operands| {
        session.upload(device, operands)?;
        // Analyses tell of the last run: the problem's own and not its twin's.
        device.observations();
        session.run(device)?;
        verify::verify(problem, operands, shape, &mut DeviceRows { device: &mut *device, session, n: problem.n })
    };
    let mut seconds = 0.0;
    if let Some(twin) = verify::twin(problem) {
        let found = check(&twin, &Operands::new(&twin)?)?;
        seconds = found.seconds;
        if !found.ok {
            return Ok(found);
        }
    }
    let mut found = check(problem, operands)?;
    found.seconds += seconds;
    Ok(found)
}

/// Seconds that samples on the host take at most.
const HOST_SECONDS: f64 = 2.0;
const HOST_SAMPLES: usize = 5;

/// Computes on the host, `samples` times or as often as time allows, and verifies; milliseconds of each run.
fn time_on_host(problem: &Problem, host: HostProduct, samples: Option<usize>) -> Result<(Verification, Vec<f64>)> {
    let operands = Operands::new(problem)?;
    let size = [problem.m as usize, problem.n as usize, problem.k as usize];
    let elements = problem.c_elements() as usize;
    let (mut c_f32, mut c_i32) = match problem.dtype {
        Dtype::F32 => (crate::matrix::vec_of::<f32>(elements)?, Vec::new()),
        Dtype::I32 => (Vec::new(), crate::matrix::vec_of::<Wrapping<i32>>(elements)?),
    };
    let poison = poison(problem.dtype);
    c_f32.fill(f32::from_bits(poison));
    c_i32.fill(Wrapping(poison as i32));
    let mut product = || {
        let begin = Instant::now();
        match &operands {
            Operands::F32 { a, b } => (host.f32)(a, b, &mut c_f32, size),
            Operands::I32 { a, b } => (host.i32)(a, b, &mut c_i32, size),
        }
        begin.elapsed().as_secs_f64() * 1e3
    };
    let first = product();
    let wanted = samples.unwrap_or_else(|| ((HOST_SECONDS * 1e3 / first.max(1e-6)) as usize).clamp(1, HOST_SAMPLES));
    // The first run is a sample where there is time for no other; else it was the warm-up.
    let samples: Vec<f64> = if wanted == 1 { vec![first] } else { (0..wanted).map(|_| product()).collect() };
    let words: &[u32] =
        if problem.dtype == Dtype::F32 { bytemuck::cast_slice(&c_f32) } else { bytemuck::cast_slice(&c_i32) };
    let shape = Shape { tile: [problem.n as u32, problem.m as u32], tile_k: 1 };
    let verification = verify::verify(problem, &operands, shape, &mut HostRows { words, n: problem.n })?;
    Ok((verification, samples))
}

/// Computes once on the host and verifies.
pub fn host_product(problem: &Problem, host: HostProduct) -> Result<Verification> {
    time_on_host(problem, host, Some(1)).map(|(verification, _)| verification)
}

fn run_on_host(step: &Step, args: &Args, host: HostProduct) -> Result<Report> {
    let info = DeviceInfo { kind: Kind::Host, name: host_name(), ..DeviceInfo::simulated(memory::total_bytes()) };
    let problem = problem(args, (step.default_size)(&info));
    memory::ensure_fits_host(&problem)?;
    let source = Source::read(&step.path().join("src/lib.rs"))?;
    let (verification, samples) = time_on_host(&problem, host, args.samples)?;
    let spread = Spread::of(&samples).context("no sample was taken; choose --samples from 1 on")?;
    let timing = verification.ok.then(|| Timing::on_host(&problem, spread, samples.len()));
    let baseline = args.baseline.map(|_| {
        Baseline::missing("this step runs on the host and cuBLAS on a CUDA device; compare a later step with it")
    });
    Ok(Report {
        step: step.name.into(),
        title: step.title.into(),
        variant: None,
        device: DeviceReport::from(&info),
        problem,
        kernel: KernelReport {
            source: source.display.clone(),
            hash: source.hash.clone(),
            origin: source.display,
            defines: Vec::new(),
        },
        launch: None,
        occupancy: None,
        counters: None,
        hazards: None,
        trace: None,
        verification,
        timing,
        baseline,
    })
}

fn host_name() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("the host's processor ({}, one of {cores} cores)", std::env::consts::ARCH)
}

/// What the course's own program asks a step.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Request {
    /// The device to plan for.
    pub device: Option<DeviceInfo>,
    /// The problems to plan.
    #[serde(default)]
    pub problems: Vec<Problem>,
    /// The variant to plan, or the step itself.
    #[serde(default)]
    pub variant: Option<String>,
}

/// What a step answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct Description {
    /// The step's name.
    pub name: String,
    /// The step in one line.
    pub title: String,
    /// Whether the step runs on the host.
    pub host: bool,
    /// Names of its variants.
    pub variants: Vec<String>,
    /// Every source (its path within the step's folder) with every specialisation for which PTX is committed.
    pub sources: Vec<(String, Vec<Specialisation>)>,
    /// M, N, K where no size is given, on the device of the request.
    pub default_size: [u64; 3],
    /// The plans of the request's problems, or why there is none.
    pub plans: Vec<Result<Plan, String>>,
}

fn describe(step: &Step, request: &str) -> Result<String> {
    let request: Request = match request {
        "" => Request::default(),
        text => {
            serde_json::from_str(text).context("--describe takes a request of the course's program; leave it out")?
        }
    };
    let device = request.device.unwrap_or_else(|| DeviceInfo::simulated(memory::total_bytes()));
    let variant = request.variant.as_deref().map(|name| find_variant(step, name)).transpose()?;
    let plan = step.plan_of(variant);
    let mut sources = vec![("kernel.cu".to_owned(), step.committed_of(None))];
    let variants = step.variants.iter();
    sources.extend(variants.map(|variant| (format!("variants/{}.cu", variant.name), step.committed_of(Some(variant)))));
    let host = if step.host.is_some() { Kind::Host } else { device.kind };
    let description = Description {
        name: step.name.into(),
        title: step.title.into(),
        host: step.host.is_some(),
        variants: step.variants.iter().map(|variant| variant.name.to_owned()).collect(),
        sources,
        default_size: (step.default_size)(&DeviceInfo { kind: host, ..device.clone() }),
        plans: request
            .problems
            .iter()
            .map(|problem| plan(problem, &device).map_err(|error| format!("{error:#}")))
            .collect(),
    };
    Ok(serde_json::to_string(&description)? + "\n")
}
