//! What a host driver is asked for: by the command line, or by an option that needs the driver's run once more.

use std::cell::{RefCell, RefMut};

use anyhow::{Result, anyhow, ensure};
use serde::Serialize;

use crate::code::{Code, Source, file_of};
use crate::device::{self, Choice, Device, FirstRun, SimOptions};
use crate::program::cli::Args;
use crate::program::report::Report;
use plan::info::{DeviceInfo, Kind};
use plan::{OwnLaunch, Plan, Problem, Step, Variant};

/// A host driver: computes C = A·B, verifies C, times the kernel, and reports.
///
/// It is called once, or more often if an option needs that: at other elements of A and B for the second half of a check, or at other
/// sizes in search of a cause.
pub type Driver = fn(&Asked) -> Result<Report>;

/// The step, its variant, the command line and the driver.
#[derive(Clone, Copy)]
pub(super) struct Options<'a> {
    pub step: &'a Step,
    pub variant: Option<&'a Variant>,
    pub args: &'a Args,
    pub driver: Driver,
}

/// Why the driver runs.
pub(super) enum Purpose<'a> {
    /// The user's product is computed.
    Product,
    /// The product of other elements is computed first, because the check of the user's needs it.
    Twin(Problem),
    /// An option asks what happens at this problem on a simulator that it lends.
    Trial(Trial<'a>),
}

/// A run on a simulator that watches what the user's run did not show.
#[derive(Clone, Copy)]
pub(super) struct Trial<'a> {
    pub problem: Problem,
    /// The source of the user's run.
    pub source: &'a Source,
    /// The plan and the code of the user's run, for the case that this one has the same constants.
    pub plan: &'a Plan,
    pub code: &'a Code,
}

/// What a host driver is asked for.
pub struct Asked<'a> {
    pub(super) options: Options<'a>,
    pub(super) purpose: Purpose<'a>,
    /// The device, from its first use on.
    device: RefCell<Option<Box<dyn Device>>>,
    pub(super) first_run: FirstRun,
}

impl<'a> Asked<'a> {
    /// What the command line asks.
    pub(super) fn new(options: Options<'a>) -> Self {
        Self { options, purpose: Purpose::Product, device: RefCell::new(None), first_run: FirstRun::default() }
    }

    /// What an option asks on a simulator that it lends.
    pub(super) fn trial(options: Options<'a>, trial: Trial<'a>, device: Box<dyn Device>) -> Self {
        Self { purpose: Purpose::Trial(trial), device: RefCell::new(Some(device)), ..Self::new(options) }
    }

    /// The device that was opened or lent.
    pub(super) fn into_device(self) -> Option<Box<dyn Device>> {
        self.device.into_inner()
    }

    /// The device that the command line chooses, which is opened at the first call.
    pub(super) fn device(&self) -> Result<RefMut<'_, Box<dyn Device>>> {
        let mut device = self.device.try_borrow_mut().map_err(|_| anyhow!("the device is open; open it once"))?;
        if device.is_none() {
            *device = Some(self.options.open()?);
        }
        RefMut::filter_map(device, Option::as_mut).map_err(|_| anyhow!("no device was opened; choose another --device"))
    }

    /// The problem that the user wants solved, on this kind of device.
    pub(super) fn problem(&self, kind: Kind) -> Problem {
        match &self.purpose {
            Purpose::Trial(trial) => trial.problem,
            _ => self.options.args.problem(self.options.step.default_size.on(kind)),
        }
    }
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

impl Options<'_> {
    /// The launches that the run would make on the device that the command line chooses, as JSON.
    pub fn planned(&self) -> Result<String> {
        let device = self.open()?;
        let (source, problem) = (self.source()?, self.args.problem(self.step.default_size.on(device.info().kind)));
        let planned = Planned {
            step: self.step.name,
            variant: self.variant.map(|variant| variant.name),
            source: &source.display,
            device: device.info(),
            problem: &problem,
            plan: &self.plan(&source, &problem, device.info())?,
        };
        Ok(serde_json::to_string_pretty(&planned)? + "\n")
    }

    /// Opens the device, which is the simulator if the user asks for something that only the simulator can show.
    fn open(&self) -> Result<Box<dyn Device>> {
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
        device::open(choice, &options)
    }

    /// The source of the step's kernel, of its variant, or of the learner's kernel.
    pub fn source(&self) -> Result<Source> {
        let file = file_of(self.step, self.variant);
        match &self.args.kernel {
            Some(kernel) => Ok(Source::read(kernel)?.with_headers_of(&file)),
            None => Source::read(&file),
        }
    }

    /// The step's plan, or for the learner's own kernel the launch that options or the file describe.
    pub fn plan(&self, source: &Source, problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
        match self.launch(source)? {
            None => self.step.plan_of(self.variant)(problem, device),
            Some(launch) => self.plan_with(source, problem, device, launch),
        }
    }

    /// What the options and the file of the learner's kernel say about its launch; none of a kernel of the course.
    pub fn launch(&self, source: &Source) -> Result<Option<OwnLaunch>> {
        let Args { kernel: Some(_), block, tile, shared, .. } = *self.args else { return Ok(None) };
        Ok(Some(OwnLaunch { block, tile, shared }.or(OwnLaunch::of(&source.display, &source.text)?)))
    }

    /// The plan for the learner's own kernel with this launch.
    pub fn plan_with(
        &self,
        source: &Source,
        problem: &Problem,
        device: &DeviceInfo,
        launch: OwnLaunch,
    ) -> Result<Plan> {
        // A variant may leave a product to another kernel that is faster, but never on the simulator.
        let steps = self.step.plan_of(self.variant)(problem, &DeviceInfo { kind: Kind::Sim, ..device.clone() });
        launch.plan(&source.text, problem, steps)
    }
}
