//! A kernel that is being graded: its launches, its code, and its runs on the simulator.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use common::basics::matrix::Operands;
use common::basics::mix::mix;
use common::code::{Code, Source};
use common::device::session::Session;
use common::device::{self, Choice, Device, SimOptions};
use common::findings::analysis::{Counters, HazardReport};
use common::program::describe::Request;
use common::program::own_launch::{OwnLaunch, without_own_constants};
use common::verify::Verification;
use common::verify::on_device::verify_on;
use common::{DeviceInfo, Dtype, Fill, Plan, Problem};

use crate::files;
use crate::lab::data::Lab;
use crate::steps::{Kernel, StepFolder};

pub struct Candidate {
    step: StepFolder,
    /// The variant of the step whose launches it has, if they are not the step's own.
    variant: Option<String>,
    pub source: Source,
    /// The launch that the kernel asks for.
    launch: OwnLaunch,
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

impl Candidate {
    /// Reads the learner's kernel. An error is a failure of the machinery (a missing NVRTC, say) or of the launch line.
    pub fn read(lab: &Lab, kernel: &Path, seed: u64) -> Result<Self> {
        let source = Source::read(kernel)?.with_headers_of(&lab.step.path);
        let launch = OwnLaunch::of(&source)?;
        if !source.is_ptx() {
            common::code::nvrtc::find()?.try_out()?;
        }
        let variant = lab.data.launched_as.clone().or_else(|| lab.beyond.clone());
        Self::new(lab.step.clone(), variant, source, launch, seed)
    }

    /// A kernel of the course, launched as the course launches it.
    pub fn of_the_course(kernel: Kernel, seed: u64) -> Result<Self> {
        let source = Source::read(&kernel.source())?;
        Self::new(kernel.step, kernel.variant, source, OwnLaunch::default(), seed)
    }

    fn new(step: StepFolder, variant: Option<String>, source: Source, launch: OwnLaunch, seed: u64) -> Result<Self> {
        let device = device::open(Choice::Sim, &SimOptions::default())?.info().clone();
        Ok(Self { step, variant, source, launch, plans: RefCell::default(), codes: RefCell::default(), device, seed })
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
        let plans = self.steps_plans(&self.device, sizes)?;
        self.plans.borrow_mut().extend(sizes.iter().copied().zip(plans));
        Ok(())
    }

    fn steps_plans(&self, device: &DeviceInfo, sizes: &[[u64; 3]]) -> Result<Vec<Result<Plan, String>>> {
        let problems = sizes.iter().map(|&size| self.problem(size)).collect();
        let request =
            Request { device: Some(device.clone()), problems, variant: self.variant.clone(), ..Request::default() };
        Ok(self.step.describe(&request)?.plans)
    }

    /// The step's own launch, or the one that the kernel asks for.
    pub fn plan(&self, size: [u64; 3]) -> Result<Plan> {
        let own = self.plans.borrow().get(&size).cloned().context("this size was not planned")?;
        self.own_plan(size, own)
    }

    /// The plan for another device than the simulator.
    pub fn plan_on(&self, device: &DeviceInfo, size: [u64; 3]) -> Result<Plan> {
        let own = self.steps_plans(device, &[size])?.into_iter().next().context("the step plans nothing")?;
        self.own_plan(size, own)
    }

    /// Why a device cannot run the kernels that have this one's launch.
    pub fn limit_of(&self, device: &DeviceInfo, size: [u64; 3]) -> Result<Option<String>> {
        Ok(self.steps_plans(device, &[size])?.into_iter().next().and_then(Result::err))
    }

    fn own_plan(&self, size: [u64; 3], steps: Result<Plan, String>) -> Result<Plan> {
        let mut plan = self.launch.plan(&self.problem(size), steps).map_err(|error| anyhow!("{error}"))?;
        plan.specialisation = without_own_constants(plan.specialisation, &self.source.text);
        Ok(plan)
    }

    /// Whether the learner's file asks for a launch.
    pub fn has_own_launch(&self) -> bool {
        self.launch != OwnLaunch::default()
    }

    /// The folder of the step's committed PTX.
    pub fn committed(&self) -> PathBuf {
        self.step.path.join("ptx")
    }

    /// The command with which the learner sees for themselves what the kernel does at a size.
    pub fn command(&self, [m, n, k]: [u64; 3], options: &str) -> String {
        let (step, kernel) = (&self.step.name, files::from_here(&self.source.path));
        let variant = self.variant.as_ref().map_or_else(String::new, |name| format!(" --variant {name}"));
        format!("cargo run --release -p {step} -- --kernel {kernel}{variant} --size {m}x{n}x{k} {options}")
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
        let mut device = device::open(Choice::Sim, options)?;
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
