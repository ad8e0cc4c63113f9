//! A kernel that is being graded: its launches, its code, and its runs on the simulator.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use common::analysis::{Counters, HazardReport};
use common::check::verify_on;
use common::code::{Code, Source};
use common::describe::Request;
use common::device::{self, Choice, Device, SimOptions};
use common::exec::Session;
use common::matrix::Operands;
use common::mix::mix;
use common::own_launch::OwnLaunch;
use common::verify::Verification;
use common::{DeviceInfo, Dtype, Fill, Plan, Problem, workspace};

use crate::steps::StepFolder;

/// Warp instructions that a launch of a lab may take: a loop that never ends is found in a second or two.
const INSTRUCTION_LIMIT: u64 = 30_000_000;

pub struct Candidate<'a> {
    pub step: &'a StepFolder,
    pub source: Source,
    /// The launch that the kernel asks for.
    pub launch: OwnLaunch,
    /// Plans of the step's own launch, by size; errors say which limit of the step is met.
    plans: RefCell<BTreeMap<[u64; 3], Result<Plan, String>>>,
    codes: RefCell<BTreeMap<String, Code>>,
    device: DeviceInfo,
    seed: u64,
}

pub struct Seen {
    pub verification: Verification,
    pub counters: Option<Counters>,
    /// Hazards; none if they were not asked for.
    pub hazards: Vec<HazardReport>,
    pub plan: Plan,
}

impl<'a> Candidate<'a> {
    /// Reads the kernel. An error is a failure of the machinery (a missing NVRTC, say) or of the launch line.
    pub fn read(step: &'a StepFolder, kernel: &Path, seed: u64) -> Result<Self> {
        let source = Source::read(kernel)?;
        let launch =
            OwnLaunch::read(&source.text).map_err(|error| anyhow!("{}: {error}", workspace::display(kernel)))?;
        if !source.is_ptx() {
            common::nvrtc::find()?.try_out()?;
        }
        let device = device::open(Choice::Sim, &SimOptions::default())?.info().clone();
        Ok(Self {
            step,
            source,
            launch: launch.unwrap_or_default(),
            plans: RefCell::default(),
            codes: RefCell::default(),
            device,
            seed,
        })
    }

    /// The problem of a size; its matrices follow from the seed of the grading.
    pub fn problem(&self, [m, n, k]: [u64; 3]) -> Problem {
        Problem {
            m,
            n,
            k,
            dtype: Dtype::F32,
            fill: Fill::Uniform,
            seed: mix(self.seed ^ m ^ n << 20 ^ k << 40) & 0xFFFF_FFFF,
        }
    }

    /// Asks the step for its own launches, all in one go.
    pub fn plan_all(&self, sizes: &[[u64; 3]]) -> Result<()> {
        let problems = sizes.iter().map(|&size| self.problem(size)).collect();
        let request = Request { device: Some(self.device.clone()), problems, variant: None };
        let plans = self.step.describe(&request)?.plans;
        self.plans.borrow_mut().extend(sizes.iter().copied().zip(plans));
        Ok(())
    }

    /// The step's own launch, or the one that the kernel asks for.
    pub fn plan(&self, size: [u64; 3]) -> Result<Plan> {
        let own = self.plans.borrow().get(&size).cloned().context("this size was not planned")?;
        self.launch.plan(&self.problem(size), own).map_err(|error| anyhow!("{error}"))
    }

    /// The kernel's code for a plan, compiled once for each specialisation.
    pub fn code(&self, plan: &Plan) -> Result<Code> {
        let key = format!("{:?}", plan.specialisation);
        if let Some(code) = self.codes.borrow().get(&key) {
            return Ok(code.clone());
        }
        let code = self.source.code(&plan.specialisation, &self.device, None)?;
        self.codes.borrow_mut().insert(key, code.clone());
        Ok(code)
    }

    pub fn run(&self, size: [u64; 3], options: &SimOptions) -> Result<Seen> {
        let plan = self.plan(size)?;
        let code = self.code(&plan)?;
        let options = SimOptions { instruction_limit: Some(INSTRUCTION_LIMIT), ..options.clone() };
        let mut device = device::open(Choice::Sim, &options)?;
        let device: &mut dyn Device = device.as_mut();
        let problem = self.problem(size);
        let session = Session::new(device, &problem, plan.clone(), &code)?;
        let verification = verify_on(device, &session, &problem, &Operands::new(&problem)?)?;
        let observations = device.observations().beside(&verification);
        Ok(Seen {
            verification,
            counters: observations.counters,
            hazards: observations.hazards.unwrap_or_default(),
            plan,
        })
    }
}
