//! A kernel that is being graded: its launches, its code, and its runs on the simulator.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Result, ensure};
use common::basics::{Operands, mix};
use common::code::{Code, Source};
use common::device::{Device as _, Session, SimDevice, SimOptions};
use common::verify::{Tried, Verification, beside, cause, multiply, verify_on};
use findings::{Counters, HazardReport};
use plan::{DeviceInfo, OwnLaunch, Plan, Problem};
use why::{Asked, Finding};

use super::{Lab, Transfer};
use crate::files;
use crate::steps::Kernel;

/// Figures of a run whose values were followed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ideas {
    /// The share of the factors of C's products that were read from shared memory; 0 if no product is known.
    pub from_shared: f64,
    /// How many sums and products were put into shared memory.
    pub sums_in_shared: f64,
    /// Elements of A and B that the busiest thread put into shared memory, beside the average of its block; 0 if nobody put any there.
    pub busiest_copier: f64,
    /// The share of the elements in shared memory that travelled while their warp made enough floating-point instructions to hide the way.
    pub ahead: f64,
}

/// How much of what was tried a finding shows, beside the facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shows {
    /// Nothing is tried.
    #[default]
    Facts,
    /// The lines that an edit changes which makes the kernel right.
    Line,
    /// The edit.
    Edit,
}

pub struct Candidate {
    /// The kernel of the course whose launches it uses.
    pub kernel: Kernel,
    pub source: Source,
    pub launch: OwnLaunch,
    /// Warp instructions after which a launch is stopped, if the learner says.
    instruction_limit: Option<u64>,
    /// Whether the kernel's `printf` output is dropped.
    pub silent: bool,
    device: DeviceInfo,
    pub seed: u64,
    /// Whether a block gets some threads more than the step gives it.
    spare: bool,
    /// The task, if it is not the course's product.
    pub transfer: Option<Transfer>,
    begun: Instant,
    /// How much of an edit that was tried is shown.
    pub shows: Shows,
    /// Whether it has been told why a product is wrong.
    pub told_why: AtomicBool,
    /// Figures of runs whose values were followed, by size.
    pub followed: Mutex<Vec<([u64; 3], Ideas)>>,
    /// Runs with counters, by size.
    pub counted: Mutex<Vec<([u64; 3], Arc<Seen>)>>,
}

/// A block with threads to spare is as wide as the next multiple of this.
const WIDER: u32 = 8;

/// Seconds after which a grading launches nothing more: a hundred times as many as it takes.
const SECONDS: u64 = 180;

/// The same, if it is graded with others: the rest of the minute is for its answer.
const SECONDS_IN_A_CLASS: u64 = 45;

/// Seconds for which edits are tried.
const SECONDS_FOR_EDITS: u64 = 3;

/// Seconds after which the reason for a wrong product is no longer looked for.
const SECONDS_FOR_WHY: u64 = 25;

pub struct Seen {
    pub verification: Verification,
    pub counters: Option<Counters>,
    /// Hazards; none if they were not asked for.
    pub hazards: Vec<HazardReport>,
    pub plan: Plan,
}

impl Candidate {
    /// Reads the learner's kernel. An error is one of the file or of its launch line.
    pub fn read(lab: &Lab, kernel: &Path, seed: u64, instruction_limit: Option<u64>) -> Result<Self> {
        let source = Source::read(kernel)?.with_headers_of(&lab.kernel.file());
        let launch = OwnLaunch::of(&source.display, &source.text)?;
        let kernel = match &lab.data.launched_as {
            Some(name) => Kernel { variant: Some(lab.kernel.step.variant(name)?), ..lab.kernel },
            None => lab.kernel,
        };
        let transfer = lab.transfer.clone();
        Ok(Self { kernel, source, launch, instruction_limit, transfer, ..Self::of_the_course(kernel, seed)? })
    }

    /// A kernel of the course, launched as the course launches it.
    pub fn of_the_course(kernel: Kernel, seed: u64) -> Result<Self> {
        Ok(Self {
            kernel,
            source: Source::read(&kernel.file())?,
            launch: OwnLaunch::default(),
            instruction_limit: None,
            silent: false,
            device: SimDevice::new(SimOptions::default()).info().clone(),
            seed,
            spare: false,
            transfer: None,
            begun: Instant::now(),
            shows: Shows::Facts,
            told_why: AtomicBool::default(),
            followed: Mutex::default(),
            counted: Mutex::default(),
        })
    }

    /// The same kernel, launched with threads to spare. `None` if it chooses its launch itself.
    pub fn with_spare_threads(&self) -> Option<Self> {
        (self.launch == OwnLaunch::default()).then(|| Self {
            kernel: self.kernel,
            source: self.source.clone(),
            launch: self.launch,
            device: self.device.clone(),
            transfer: self.transfer.clone(),
            told_why: AtomicBool::default(),
            followed: Mutex::default(),
            counted: Mutex::default(),
            spare: true,
            ..*self
        })
    }

    /// The problem of a size; its matrices follow from the seed of the grading.
    pub fn problem(&self, [m, n, k]: [u64; 3]) -> Problem {
        let seed = mix(self.seed ^ m ^ n << 20 ^ k << 40) & 0xFFFF_FFFF;
        Problem { seed, ..Problem::uniform([m, n, k]) }
    }

    /// The step's own launch, or the one that the kernel asks for.
    pub fn plan(&self, size: [u64; 3]) -> Result<Plan> {
        self.plan_on(&self.device, size)
    }

    /// The plan for another device than the simulator.
    pub fn plan_on(&self, device: &DeviceInfo, size: [u64; 3]) -> Result<Plan> {
        let problem = self.problem(size);
        let plan = |problem: &Problem| self.launch.plan(&self.source.text, problem, self.kernel.plan(problem, device));
        let mut plan = self.transfer.as_ref().map_or_else(|| plan(&problem), |drawn| drawn.planned(&problem, plan))?;
        for [x, y, z] in plan.launches.iter_mut().map(|launch| &mut launch.block).filter(|_| self.spare) {
            // Where there is no room, the block stays as it is.
            *x = (*x / WIDER + 1).saturating_mul(WIDER).min((device.max_threads_per_block / (*y * *z)).max(*x));
        }
        Ok(plan)
    }

    /// Why the product of a size is wrong, judged by its pairs; with `always`, only if the order of warps does not matter.
    pub fn cause(&self, size: [u64; 3], always: bool) -> Option<HazardReport> {
        if self.begun.elapsed().as_secs() >= SECONDS_FOR_WHY {
            return None;
        }
        let (problem, plan) = (self.problem(size), self.plan(size).ok()?);
        let code = self.code(&plan).ok()?;
        cause(&self.asked(size), always, |device| match &self.transfer {
            None => multiply(device, &problem, &plan, &code),
            Some(drawn) => drawn.run(device, &problem, plan.clone(), &code).map(drop),
        })
    }

    /// What the lab asks for at a size.
    pub fn asked(&self, size: [u64; 3]) -> Asked {
        let problem = self.problem(size);
        self.transfer.as_ref().map_or_else(|| Asked::product(&problem), |drawn| drawn.asked(&problem))
    }

    /// A finding at a size, with the edit that makes the kernel right, if edits are tried and one was found. Of a drawn task only the
    /// facts are known.
    pub fn finding(&self, size: [u64; 3], found: &HazardReport) -> Finding {
        let plan = |problem: &Problem, launch: Option<OwnLaunch>| {
            let own = self.kernel.plan(problem, &self.device);
            launch.unwrap_or(self.launch).plan(&self.source.text, problem, own)
        };
        let tries = self.shows != Shows::Facts && self.transfer.is_none() && !self.spare;
        let tried = Tried { source: &self.source, plan: &plan, launch: self.launch, seconds: SECONDS_FOR_EDITS };
        let tried = if tries { tried.find(&self.problem(size)) } else { None };
        let mut finding = Finding::new(found, &self.source.display, size, size, tried.as_ref());
        if let Some(repair) = finding.repair.as_ref().filter(|_| self.shows == Shows::Line) {
            finding.diagnostic.help = repair.place();
        }
        finding
    }

    /// The command with which the learner sees for themselves what the kernel does at a size. A step's program knows the
    /// course's product alone.
    pub fn command(&self, [m, n, k]: [u64; 3], options: &str) -> Option<String> {
        if self.transfer.is_some() {
            return None;
        }
        let package = self.kernel.package();
        let kernel = files::from_here(&self.source.path);
        let variant = self.kernel.variant_name().map_or_else(String::new, |name| format!(" --variant {name}"));
        let [x, y, _] =
            self.plan([m, n, k]).ok().and_then(|plan| Some(plan.launches.first()?.block)).unwrap_or_default();
        let launch = if self.spare { format!(" --block {x},{y} --tile {n},{m}") } else { String::new() };
        let options = format!("{launch} --size {m}x{n}x{k} {options}");
        Some(format!("cargo run --release -p {package} -- --kernel {kernel}{variant}{options}"))
    }

    /// The kernel's code for a plan, compiled once for each specialisation.
    pub fn code(&self, plan: &Plan) -> Result<Code> {
        self.source.compiled(&plan.specialisation, &self.device)
    }

    pub fn run(&self, size: [u64; 3], options: &SimOptions) -> Result<Seen> {
        let most = if self.silent { SECONDS_IN_A_CLASS } else { SECONDS };
        let in_time = self.begun.elapsed().as_secs() < most;
        ensure!(
            in_time,
            "nothing more was run, because {most} seconds are over; look for what takes so long, and do less of it"
        );
        let plan = self.plan(size)?;
        let code = self.code(&plan)?;
        let options = SimOptions { instruction_limit: self.instruction_limit, silent: self.silent, ..options.clone() };
        let device = &mut SimDevice::new(options);
        let problem = self.problem(size);
        let verification = if let Some(drawn) = &self.transfer {
            drawn.run(device, &problem, plan.clone(), &code)?
        } else {
            let session = Session::new(device, &problem, plan.clone(), &code)?;
            verify_on(device, &session, &problem, &Operands::new(&problem)?)?
        };
        let observations = beside(device.observations(), &verification);
        let (counters, hazards) = (observations.counters, observations.hazards.unwrap_or_default());
        Ok(Seen { verification, counters, hazards, plan })
    }
}
