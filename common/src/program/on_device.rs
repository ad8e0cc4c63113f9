//! Runs a step's kernel, or the learner's own, on a device: opens the device, computes, verifies, times and reports.

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;

use crate::basics::Operands;
use crate::code::{Code, Source, file_of};
use crate::device::{self, Choice, Device, Product as _, Session, SimOptions};
use crate::measure::{self, Baseline, Cache, Gpu, Timing, capacity, timing};
use crate::program::cli::Args;
use crate::program::report::{LaunchReport, Report};
use crate::verify::{MOST_FOLLOWED, Verification, beside, cause, follow, multiply, verify_on};
use findings::{HazardReport, KernelFault, Observations};
use plan::info::{DeviceInfo, Kind};
use plan::{OwnLaunch, Plan, Problem, Step, Variant};

/// Runs the kernel on the device that the command line chooses.
pub fn run(step: &Step, variant: Option<&Variant>, args: &Args) -> Result<Report> {
    let asked = Asked { step, variant, args };
    let mut run = Run::open(asked)?;
    let operands = Operands::new(&run.problem)?;
    let (verification, observations) = run.verify(asked, &operands)?;
    let why = run.why(&args.why)?;
    let (timing, baseline) = run.time(args, &operands, verification.ok)?;
    let occupancy = run.session.occupancy(run.device.as_ref());
    let works = observations.works.as_ref().filter(|_| observations.counters.is_some() && verification.ok);
    let least_time = works.map(|works| measure::least_time(&run.session, &gpu(args), works));
    let plan = &run.session.plan;
    let mut report = Report {
        variant: args.variant.clone(),
        launch: LaunchReport::of(plan),
        occupancy,
        counters: observations.counters,
        hazards: observations.hazards,
        trace: observations.trace,
        why,
        timing,
        baseline,
        least_time,
        ..Report::new(step, run.device.info(), run.problem, run.source, verification)
    };
    report.kernel.origin = run.code.origin;
    report.kernel.defines.clone_from(&plan.specialisation.defines);
    Ok(report)
}

/// The step, the variant and the options that the user asks for.
#[derive(Clone, Copy)]
struct Asked<'a> {
    step: &'a Step,
    variant: Option<&'a Variant>,
    args: &'a Args,
}

/// The launches that a run would make, of which kernel and where.
#[derive(Serialize)]
struct Planned<'a> {
    step: &'a str,
    variant: Option<&'a str>,
    source: &'a str,
    device: &'a DeviceInfo,
    problem: &'a Problem,
    plan: &'a Plan,
}

/// The launches that the run would make on the device that the command line chooses, as JSON.
pub fn planned(step: &Step, variant: Option<&Variant>, args: &Args) -> Result<String> {
    let (device, source, problem, plan) = Asked { step, variant, args }.open()?;
    let planned = Planned {
        step: step.name,
        variant: variant.map(|variant| variant.name),
        source: &source.display,
        device: device.info(),
        problem: &problem,
        plan: &plan,
    };
    Ok(serde_json::to_string_pretty(&planned)? + "\n")
}

/// A kernel on an open device, ready to compute.
struct Run {
    device: Box<dyn Device>,
    problem: Problem,
    source: Source,
    code: Code,
    session: Session,
}

impl Run {
    fn open(asked: Asked) -> Result<Self> {
        let (mut device, source, problem, plan) = asked.open()?;
        capacity::ensure_fits(&problem, Some(&plan), device.as_ref(), 0)?;
        let code = source.code(&plan.specialisation, device.info())?;
        let analyses = device.analyses_bytes(&problem, &plan, &code);
        capacity::ensure_fits(&problem, Some(&plan), device.as_ref(), analyses)?;
        let session = Session::new(device.as_mut(), &problem, plan, &code)?;
        Ok(Self { device, problem, source, code, session })
    }

    /// Computes the product and checks it.
    fn verify(&mut self, asked: Asked, operands: &Operands) -> Result<(Verification, Observations)> {
        let args = asked.args;
        let device = self.device.as_mut();
        let verified = verify_on(device, &self.session, &self.problem, operands);
        let mut observations = device.observations();
        // Where the launch does not end, following its values would not either.
        let ends = |error| KernelFault::behind(error).is_none_or(|fault| fault.stopped.is_none());
        let explains = args.check && verified.as_ref().err().is_none_or(ends);
        let verification = match verified {
            // A fault belongs into the JSON report and, if the user asked for hazards, among them.
            Err(error) => {
                observations.forget_coverage();
                // Whether `--check` has something to show about a launch that stopped early.
                let shows = |hazards: &Vec<HazardReport>| {
                    !hazards.is_empty() || KernelFault::behind(&error).is_some_and(|fault| fault.hazard.is_some())
                };
                if !args.json && !observations.hazards.as_ref().is_some_and(shows) {
                    return Err(error);
                }
                failed(&self.problem, &mut observations, error)?
            }
            Ok(verification) => verification,
        };
        let mut observations = beside(observations, &verification);
        if explains && !verification.ok {
            let hazards = observations.hazards.get_or_insert_default();
            let raced = hazards.iter().any(HazardReport::leads_astray);
            let mut small = small(&self.problem).into_iter();
            let cause = small.find_map(|problem| self.cause(asked, &problem, raced));
            let cause = cause.filter(|cause| why::leads(cause, hazards));
            hazards.splice(0..0, cause);
        }
        Ok((verification, observations))
    }

    /// The reason why the product of a problem is wrong, if one is found.
    fn cause(&self, asked: Asked, problem: &Problem, raced: bool) -> Option<HazardReport> {
        let plan = asked.plan(&self.source, problem, self.device.info()).ok()?;
        let same = plan.specialisation == self.session.plan.specialisation;
        let compile = || self.source.compiled(&plan.specialisation, self.device.info()).ok();
        let code = if same { self.code.clone() } else { compile()? };
        cause(&why::Asked::product(problem), raced, |device| multiply(device, problem, &plan, &code))
    }

    /// For each of these elements of C, what formed it, in words.
    fn why(&self, elements: &[[u64; 2]]) -> Result<Vec<String>> {
        if elements.is_empty() {
            return Ok(vec![]);
        }
        let Problem { m, n, k, .. } = self.problem;
        ensure!(
            self.problem.multiply_adds() <= MOST_FOLLOWED.into(),
            "--why follows every value of the run, and {m}×{n}×{k} are too many; choose a smaller --size, such as 64"
        );
        for [row, col] in elements {
            let inside = *row < m && *col < n;
            ensure!(inside, "C has no element [{row}][{col}]; give a row below {m} and a column below {n}");
        }
        let origins = follow(0, |device| multiply(device, &self.problem, &self.session.plan, &self.code))?;
        let origins =
            origins.context("--why follows one launch, and this plan has several; choose another kernel or size")?;
        let asked = why::Asked::product(&self.problem);
        Ok(elements.iter().map(|&element| why::listing(&origins, &asked, element)).collect())
    }

    /// Times the product, if it is right and the device has a clock, and the baseline, if the user asks for one.
    fn time(&mut self, args: &Args, operands: &Operands, right: bool) -> Result<(Option<Timing>, Option<Baseline>)> {
        let device = self.device.as_mut();
        let timed = right && device.info().kind == Kind::Cuda;
        let mut cache = if args.flush_l2 && timed { Cache::flushed(device)? } else { Cache::warm() };
        let timing =
            timed.then(|| timing::time(device, &self.session, operands, args.samples, &mut cache)).transpose()?;
        let matrices = self.session.matrices();
        let run = |_| Baseline::run(device, matrices, operands, args.samples, &mut cache, timing.as_ref());
        let baseline = args.baseline.as_ref().map(run);
        Ok((timing, baseline))
    }
}

/// Problems in which the mistake of a larger problem may show, the smallest first.
fn small(problem: &Problem) -> Vec<Problem> {
    let at_most =
        |[m, n, k]: [u64; 3]| Problem { m: problem.m.min(m), n: problem.n.min(n), k: problem.k.min(k), ..*problem };
    let mut all = [[37, 50, 45], [64, 96, 128], [130, 150, 70], [u64::MAX; 3]].map(at_most).to_vec();
    all.retain(|problem| problem.multiply_adds() <= MOST_FOLLOWED.into());
    all.dedup();
    all
}

/// The GPU whose least time is shown: that of `--gpu`, else the one in this machine unless the simulator is chosen.
fn gpu(args: &Args) -> Gpu {
    let here = || {
        let device = device::open(args.device, &SimOptions::default()).ok()?;
        Some(Gpu::of(device.info(), &device.figures()?))
    };
    args.gpu.clone().or_else(here).unwrap_or_default()
}

impl Asked<'_> {
    /// Opens the device, which is the simulator if the user asks for something that only the simulator can show, and plans what
    /// runs there.
    fn open(self) -> Result<(Box<dyn Device>, Source, Problem, Plan)> {
        let args = self.args;
        ensure!(
            !args.analyses() || !matches!(args.device, Choice::Cuda(_)),
            "--counters, --check, --trace and --why come from the simulator; take --device sim, or leave --device out"
        );
        let choice = if args.analyses() { Choice::Sim } else { args.device };
        let options = SimOptions {
            instruction_limit: args.instruction_limit,
            counters: args.counters.is_some() || args.json,
            silent: args.json,
            check: args.check,
            trace: args.trace.clone(),
            ..SimOptions::default()
        };
        let device = device::open(choice, &options)?;
        let (source, problem) = (self.source()?, args.problem(self.step.default_size.on(device.info().kind)));
        let plan = self.plan(&source, &problem, device.info())?;
        Ok((device, source, problem, plan))
    }

    /// The source of the step's kernel, of its variant, or of the learner's kernel.
    fn source(self) -> Result<Source> {
        let file = file_of(self.step, self.variant);
        match &self.args.kernel {
            Some(kernel) => Ok(Source::read(kernel)?.with_headers_of(&file)),
            None => Source::read(&file),
        }
    }

    /// The step's plan, or for the learner's own kernel the launch that options or the file describe.
    fn plan(self, source: &Source, problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
        let (args, plan) = (self.args, self.step.plan_of(self.variant));
        if args.kernel.is_none() {
            return plan(problem, device);
        }
        // A variant may leave a product to another kernel that is faster, but never on the simulator.
        let steps = plan(problem, &DeviceInfo { kind: Kind::Sim, ..device.clone() });
        let options = OwnLaunch { block: args.block, tile: args.tile, shared: args.shared };
        options.or(OwnLaunch::of(&source.display, &source.text)?).plan(&source.text, problem, steps)
    }
}

/// The verdict on a product that a fault of the kernel ended. Any other error is returned.
fn failed(problem: &Problem, observations: &mut Observations, error: anyhow::Error) -> Result<Verification> {
    let fault = error.downcast::<KernelFault>()?;
    // The counts of a run that stopped early mean nothing.
    observations.counters = None;
    if let Some(hazards) = &mut observations.hazards {
        hazards.splice(0..0, fault.hazard);
    }
    Ok(Verification::failed(problem, fault.text))
}
