//! The verdict on what a driver has computed, and the reason if it is wrong.

use anyhow::{Error, Result, anyhow};

use crate::device::SimDevice;
use crate::program::asked::{Asked, Options, Purpose, Trial};
use crate::program::gpu::Gpu;
use crate::program::matrix::{Matrix, elements, operands};
use crate::verify::{MOST_FOLLOWED, Verification, beside, cause, host_rows, verify};
use findings::{HazardReport, KernelFault, Observations};
use plan::{Problem, Shape};

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
        let mut observations = self.device.observations();
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
        if explains && !verification.ok {
            self.explain();
        }
        Ok(verification)
    }

    /// Compares C with the product of A and B.
    fn judge(&self, a: &Matrix, b: &Matrix, c: &Matrix) -> Result<Verification> {
        let problem = self.problem();
        let (operands, words) = (operands(a, b)?, elements(&problem, c)?);
        let shape = self.plan.as_ref().map(|plan| Shape { tile: plan.tile, tile_k: plan.tile_k });
        let shape = shape.unwrap_or_else(|| Shape::whole(&problem));
        verify(&problem, operands, shape, &mut host_rows(words, problem.n))
    }

    /// Looks for the cause of a wrong product, and puts it before what else was found.
    fn explain(&mut self) {
        let raced = self.observations.hazards.iter().flatten().any(HazardReport::leads_astray);
        let cause = small(&self.problem).into_iter().find_map(|problem| self.cause(&problem, raced));
        let hazards = self.observations.hazards.get_or_insert_default();
        let cause = cause.filter(|cause| why::leads(cause, hazards));
        hazards.splice(0..0, cause);
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

/// Problems in which the mistake of a larger problem may show, the smallest first.
fn small(problem: &Problem) -> Vec<Problem> {
    let at_most =
        |[m, n, k]: [u64; 3]| Problem { m: problem.m.min(m), n: problem.n.min(n), k: problem.k.min(k), ..*problem };
    let mut all = [[37, 50, 45], [64, 96, 128], [130, 150, 70], [u64::MAX; 3]].map(at_most).to_vec();
    all.retain(|problem| problem.multiply_adds() <= MOST_FOLLOWED.into());
    all.dedup();
    all
}

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
