//! The verdict on what a driver has computed, and the reason if it is wrong.

use anyhow::{Error, Result, anyhow};

use crate::basics::Side;
use crate::device::{SimDevice, observations};
use crate::program::asked::{Asked, Options, Purpose, Trial};
use crate::program::gpu::Gpu;
use crate::program::matrix::{Matrix, elements, operands};
use crate::verify::{MOST_FOLLOWED, Tried, Verification, beside, cause, host_rows, verify};
use findings::diagnostic::Diagnostic;
use findings::hazard_kind::ReportKind;
use findings::{HazardReport, KernelFault, Observations};
use plan::{OwnLaunch, Problem, Shape};
use why::Finding;

impl Gpu<'_> {
    /// Checks whether C is the product of A and B, all of them on the host. With `--check`, looks for the reason if it is not.
    pub fn verify(&mut self, a: &Matrix, b: &Matrix, c: &Matrix) -> Result<Verification> {
        let slip = self.slip();
        let verified = match self.fault.take() {
            Some(fault) => Err(noted(fault, slip.as_ref())),
            None => self.judge(a, b, c),
        };
        if let Purpose::Trial(_) = self.asked.purpose {
            return verified;
        }
        let args = self.asked.options.args;
        let mut observations = observations(self.device.as_mut());
        // Where the launch does not end, following its values would not either.
        let ends = |error| KernelFault::behind(error).is_none_or(|fault| fault.stopped.is_none());
        let explains = args.check && slip.is_none() && verified.as_ref().err().is_none_or(ends);
        let mut verification = match verified {
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
        if let Some(slip) = slip.filter(|_| !verification.ok) {
            // It says more than what follows from it.
            (verification.diagnosis, verification.unclear) = (Some(slip), false);
            observations.forget_coverage();
        }
        self.observations = beside(observations, &verification);
        let mut seen = [self.problem.m, self.problem.n, self.problem.k];
        if explains && !verification.ok {
            seen = self.explain().unwrap_or(seen);
        }
        if args.check {
            self.findings = Some(self.found(&verification, seen, explains));
        }
        Ok(verification)
    }

    /// Compares C with the product of A and B.
    fn judge(&mut self, a: &Matrix, b: &Matrix, c: &Matrix) -> Result<Verification> {
        let problem = self.problem();
        let (operands, words) = (operands(a, b)?, elements(&problem, c)?);
        let shape = self.plan.as_ref().map(|plan| Shape { tile: plan.tile, tile_k: plan.tile_k });
        let shape = shape.unwrap_or_else(|| Shape::whole(&problem));
        let found = verify(&problem, operands, shape, &mut host_rows(words, problem.n))?;
        let (Some(a), Some(b)) = (self.holding(Side::A), self.holding(Side::B)) else { return Ok(found) };
        found.with_inputs(&problem, operands, &mut |side, first, bytes| {
            self.device.read(if side == Side::A { a } else { b }, first, bytes)
        })
    }

    /// Looks for the cause of a wrong product, and puts it before what else was found. Returns the size at which it was seen.
    fn explain(&mut self) -> Option<[u64; 3]> {
        let raced = self.observations.hazards.iter().flatten().any(HazardReport::leads_astray);
        let mut problems = self.alike().into_iter();
        let (problem, cause) = problems.find_map(|problem| Some((problem, self.cause(&problem, raced)?)))?;
        let hazards = self.observations.hazards.get_or_insert_default();
        why::leads(&cause, hazards).then(|| {
            hazards.insert(0, cause);
            [problem.m, problem.n, problem.k]
        })
    }

    /// The problems at which the cause of a wrong product is sought: the user's own, or smaller ones like it.
    fn alike(&self) -> Vec<Problem> {
        let own = self.problem;
        let similar = || self.tried(|tried| tried.similar(&own));
        let sizes = if own.multiply_adds() <= ENOUGH { vec![[own.m, own.n, own.k]] } else { similar() };
        let mut all: Vec<Problem> = sizes.into_iter().map(|[m, n, k]| Problem { m, n, k, ..own }).collect();
        all.retain(|problem| problem.multiply_adds() <= MOST_FOLLOWED.into());
        all
    }

    /// Whether the kernel is the user's, in CUDA C: edits of it can be tried.
    pub(super) fn is_own(&self) -> bool {
        self.asked.options.args.kernel.is_some() && !self.source.is_rust() && !self.source.is_ptx()
    }

    /// The kernel as edits of it are tried.
    fn tried<T>(&self, of: impl FnOnce(&Tried) -> T) -> T {
        let (options, info, source) = (self.asked.options, self.device.info().clone(), &self.source);
        let plan = |problem: &Problem, launch: Option<OwnLaunch>| match launch {
            Some(launch) => options.plan_with(source, problem, &info, launch),
            None => options.plan(source, problem, &info),
        };
        let launch = options.launch(source).ok().flatten().unwrap_or_default();
        of(&Tried { source, plan: &plan, launch, seconds: SECONDS })
    }

    /// One finding for what is wrong with the kernel, with the edit that makes it right if one was found. It was seen at a size.
    fn found(&self, verification: &Verification, seen: [u64; 3], explains: bool) -> Vec<Finding> {
        let hazards = self.observations.hazards.as_deref().unwrap_or_default();
        let first = hazards.iter().find(|hazard| !hazard.diagnostic.warning).cloned();
        // Of some wrong products only the elements are known.
        let unexplained = || HazardReport {
            kind: ReportKind::Cause("wrong product"),
            place: "C".into(),
            threads: vec![],
            count: 1,
            diagnostic: Diagnostic {
                title: format!("wrong product: {}", verification.diagnosis.as_deref().unwrap_or_default()),
                ..Diagnostic::default()
            },
        };
        let Some(first) = first.or_else(|| (!verification.ok).then(unexplained)) else { return vec![] };
        let tries = explains && self.is_own() && !self.asked.options.args.no_trial;
        let tried = if tries { self.tried(|tried| tried.find(&self.problem)) } else { None };
        let Problem { m, n, k, .. } = self.problem;
        let seen = if matches!(first.kind, ReportKind::Cause(_)) { seen } else { [m, n, k] };
        vec![Finding::new(&first, &self.source.display, [m, n, k], seen, tried.as_ref())]
    }

    /// The reason why the product of a problem is wrong, if one is found.
    fn cause(&self, problem: &Problem, raced: bool) -> Option<HazardReport> {
        let trial = self.trial(problem)?;
        let options = self.asked.options;
        cause(&why::Asked::product(problem), raced, |device| again(options, trial, device))
    }

    /// The trial of a problem with this run's kernel.
    pub(super) fn trial(&self, problem: &Problem) -> Option<Trial<'_>> {
        let (plan, code) = (self.plan.as_ref()?, self.code.as_ref()?);
        Some(Trial { problem: *problem, source: &self.source, plan, code })
    }
}

/// Runs the driver once more, on a simulator that is lent to it.
pub(super) fn again(options: Options, trial: Trial, device: &mut SimDevice) -> Result<()> {
    let lent = std::mem::take(device);
    let asked = Asked::trial(options, trial, Box::new(lent));
    let report = (options.driver)(&asked);
    let lent = asked.into_device().and_then(|device| (device as Box<dyn std::any::Any>).downcast().ok());
    *device = *lent.ok_or_else(|| anyhow!("the driver opened no device; begin with Gpu::open"))?;
    report.map(drop)
}

/// A fault of the kernel with what the driver did, which caused it.
fn noted(error: Error, slip: Option<&String>) -> Error {
    match (slip, error.downcast::<KernelFault>()) {
        (Some(slip), Ok(mut fault)) => {
            fault.text = format!("{slip} ({})", fault.text);
            if let Some(hazard) = &mut fault.hazard {
                hazard.diagnostic.help.clone_from(slip);
            }
            fault.into()
        }
        (_, Ok(fault)) => fault.into(),
        (_, Err(error)) => error,
    }
}

/// Multiply-adds of the largest problem at which a cause is sought itself, and not at one like it that is smaller.
const ENOUGH: u128 = 1 << 20;

/// The verdict on a product that a fault of the kernel ended. Any other error is returned.
fn failed(problem: &Problem, observations: &mut Observations, error: Error) -> Result<Verification> {
    let fault = error.downcast::<KernelFault>()?;
    // The counts of a run that stopped early mean nothing.
    observations.counters = None;
    if let Some(hazards) = &mut observations.hazards {
        hazards.splice(0..0, fault.hazard);
    }
    Ok(Verification::failed(problem, fault.text))
}
/// Seconds for which edits are tried at most; most kernels take a tenth of that.
const SECONDS: u64 = 25;
