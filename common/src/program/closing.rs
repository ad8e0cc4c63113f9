//! The end of a driver: times what was launched, and reports.

use anyhow::{Context as _, Result, bail, ensure};

use crate::basics::Side;
use crate::device::{self, Matrices, Session, SimOptions};
use crate::measure::{self, Baseline, Cache, Gpu as Known, Timing, timing};
use crate::program::asked::Purpose;
use crate::program::cli::Args;
use crate::program::gpu::Gpu;
use crate::program::report::{LaunchReport, Report};
use crate::program::verdict::again;
use crate::verify::{MOST_FOLLOWED, Verification, follow};
use plan::info::Kind;
use plan::{Launch, Plan, Problem};

/// The times of a product, as far as the device has a clock and the user asks for them.
#[derive(Default)]
pub struct Times {
    pub(super) timing: Option<Timing>,
    pub(super) baseline: Option<Baseline>,
}

impl Gpu<'_> {
    /// Launches again what was launched, as often as a measurement takes, between events of the device. There are no times of a
    /// wrong product, and none on the simulator, which has no clock.
    pub fn time(&mut self, verification: &Verification) -> Result<Times> {
        let args = self.asked.options.args;
        let timed = verification.ok && self.device.info().kind == Kind::Cuda;
        if self.is_preliminary(verification) || !timed && args.baseline.is_none() {
            return Ok(Times::default());
        }
        let (session, operands) = (self.session()?, self.operands()?);
        let device = self.device.as_mut();
        let mut cache = if args.flush_l2 && timed { Cache::flushed(device)? } else { Cache::warm() };
        let timing = timed.then(|| timing::time(device, &session, &operands, args.samples, &mut cache)).transpose()?;
        let matrices = *device::Product::matrices(&session);
        let run = |_| Baseline::run(device, &matrices, &operands, args.samples, &mut cache, timing.as_ref());
        let baseline = args.baseline.as_ref().map(run);
        Ok(Times { timing, baseline })
    }

    /// What the run was, and what came out.
    pub fn report(&mut self, verification: Verification, times: Times) -> Result<Report> {
        let options = self.asked.options;
        let mut report = Report::new(options.step, self.device.info(), self.problem, self.source.clone(), verification);
        let Some((plan, code)) = self.plan.as_ref().zip(self.code.as_ref()) else { return Ok(report) };
        report.variant.clone_from(&options.args.variant);
        report.kernel.origin.clone_from(&code.origin);
        report.kernel.defines.clone_from(&plan.specialisation.defines);
        report.launch = LaunchReport::of(&self.launched_plan(plan));
        (report.timing, report.baseline) = (times.timing, times.baseline);
        if !self.is_preliminary(&report.verification) {
            report.why = self.why(&options.args.why)?;
            self.watch(&mut report);
        }
        Ok(report)
    }

    /// Whether another run of the driver follows, whose times and details count.
    fn is_preliminary(&self, verification: &Verification) -> bool {
        match self.asked.purpose {
            Purpose::Product => false,
            Purpose::Twin(_) => verification.ok,
            Purpose::Trial(_) => true,
        }
    }

    /// The plan with the launches that the driver made.
    fn launched_plan(&self, plan: &Plan) -> Plan {
        let launches: Vec<Launch> = self.launched.iter().map(|(launch, _)| launch.clone()).collect();
        Plan { launches, ..plan.clone() }
    }

    /// What was launched, to be launched again.
    fn session(&self) -> Result<Session> {
        let again = "there is nothing to launch again; copy A and B to the device, launch, and copy C back before time";
        let arrays = (self.holding(Side::A), self.holding(Side::B), self.copied_back);
        let ((Some(a), Some(b), Some((c, _))), Some(plan), Some(code)) = (arrays, &self.plan, &self.code) else {
            bail!(again)
        };
        ensure!(!self.launched.is_empty(), again);
        let matrices = Matrices { problem: self.problem, a, b, c };
        let started = self.launched.iter().map(|(_, started)| started.clone()).collect();
        Ok(Session::of_driver(self.launched_plan(plan), started, code, &matrices, self.asked.first_run.clone()))
    }

    /// Adds what was seen of the launches.
    fn watch(&mut self, report: &mut Report) {
        let seen = std::mem::take(&mut self.observations);
        if let Ok(session) = self.session() {
            report.occupancy = session.occupancy(self.device.as_ref());
            let works = seen.works.as_ref().filter(|_| seen.counters.is_some() && report.verification.ok);
            let args = self.asked.options.args;
            report.least_time = works.map(|works| measure::least_time(&session, &shown(args), works));
        }
        (report.counters, report.hazards, report.trace) = (seen.counters, seen.hazards, seen.trace);
        (report.findings, report.is_own) = (self.findings.take(), self.is_own());
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
        let trial = self.trial(&self.problem).context("no kernel was compiled; call compile before report")?;
        let origins = follow(0, |device| again(self.asked.options, trial, device))?;
        let origins =
            origins.context("--why follows one launch, and this plan has several; choose another kernel or size")?;
        let asked = why::Asked::product(&self.problem);
        Ok(elements.iter().map(|&element| why::listing(&origins, &asked, element)).collect())
    }
}

/// The GPU whose least time is shown: that of `--gpu`, else the one in this machine unless the simulator is chosen.
fn shown(args: &Args) -> Known {
    let here = || {
        let device = device::open(args.device, &SimOptions::default()).ok()?;
        Some(Known::of(device.info(), &device.figures()?))
    };
    args.gpu.clone().or_else(here).unwrap_or_default()
}
