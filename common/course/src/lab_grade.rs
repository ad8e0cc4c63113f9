//! Grades a learner's kernel on the simulator: right, free of hazards, and its counters as the lab asks.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use common::analysis::{Counters, HazardReport};
use common::check::verify_on;
use common::code::{Code, Source};
use common::describe::Request;
use common::device::{self, Choice, Device, SimOptions};
use common::diagnostic;
use common::exec::Session;
use common::fault::KernelFault;
use common::matrix::Operands;
use common::mix::mix;
use common::own_launch::OwnLaunch;
use common::progress::Progress;
use common::timing::{self, Cache};
use common::verify::Verification;
use common::{DeviceInfo, Dtype, Fill, Plan, Problem, workspace};
use simt::HazardKind;

use crate::lab::{Goal, Lab, Speed};
use crate::steps::{self, StepFolder};

/// What became of a line of the checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As asked.
    Passed,
    /// Not as asked.
    Failed,
    /// Something before it failed.
    NotReached,
    /// This machine cannot do it.
    LeftOut,
}

/// A line of the checklist.
#[derive(Clone, Debug)]
pub struct Line {
    /// Number of its task, from 0.
    pub task: usize,
    /// What is asked.
    pub words: String,
    /// What became of it.
    pub state: State,
    /// What was found, in a few words.
    pub found: Option<String>,
}

/// A graded kernel.
#[derive(Clone, Debug)]
pub struct Grade {
    /// The checklist.
    pub lines: Vec<Line>,
    /// Which tasks have passed.
    pub passed: Vec<bool>,
    /// The one thing to look at next, where a line failed.
    pub next: Option<String>,
    /// Seed of the hidden shapes and of the matrices.
    pub seed: u64,
}

/// Warp instructions that a launch of a lab may take: a loop that never ends is found in a second or two.
const INSTRUCTION_LIMIT: u64 = 30_000_000;

/// A kernel that is being graded.
struct Candidate<'a> {
    step: &'a StepFolder,
    source: Source,
    launch: OwnLaunch,
    /// Plans of the step's own launch, by size; errors say which limit of the step is met.
    plans: RefCell<BTreeMap<[u64; 3], Result<Plan, String>>>,
    codes: RefCell<BTreeMap<String, Code>>,
    device: DeviceInfo,
    seed: u64,
}

/// What a run on the simulator gave.
struct Seen {
    verification: Verification,
    counters: Option<Counters>,
    hazards: Vec<HazardReport>,
    plan: Plan,
}

/// Grades a kernel. An error is a failure of the machinery (a missing NVRTC, say) and not of the kernel.
pub fn grade(lab: &Lab, kernel: &Path, seed: u64) -> Result<Grade> {
    let source = Source::read(kernel)?;
    let launch = OwnLaunch::read(&source.text).map_err(|error| anyhow!("{}: {error}", workspace::display(kernel)))?;
    if !source.is_ptx() {
        common::nvrtc::find()?.try_out()?;
    }
    let device = device::open(Choice::Sim, &SimOptions::default())?.info().clone();
    let candidate = Candidate {
        step: &lab.step,
        source,
        launch: launch.unwrap_or_default(),
        plans: RefCell::default(),
        codes: RefCell::default(),
        device,
        seed,
    };
    let hidden = hidden_shapes(lab, seed);
    let everything: Vec<[u64; 3]> = lab
        .data
        .shapes
        .iter()
        .chain(&hidden)
        .chain(
            lab.data.tasks.iter().flat_map(|task| task.shapes.iter().chain(task.goals.iter().map(|goal| &goal.size))),
        )
        .copied()
        .collect();
    candidate.plan_all(&everything)?;
    let mut sheet = Sheet::new(lab, seed);
    for (number, task) in lab.data.tasks.iter().enumerate() {
        if number == 0 {
            sheet.ask(number, "compiles", || candidate.compiles(&lab.data.shapes));
            sheet.ask(number, &format!("right at {}", names(&lab.data.shapes)), || candidate.right(&lab.data.shapes));
            sheet.ask(number, "right at hidden shapes", || candidate.right(&hidden));
            let small = smallest_ragged(&lab.data.shapes);
            sheet.ask(number, &format!("no hazard at {}", names(&small)), || candidate.safe(&small));
        }
        if !task.shapes.is_empty() {
            sheet.ask(number, &format!("right at {}", names(&task.shapes)), || candidate.right(&task.shapes));
        }
        sheet.goals(number, &task.goals, |goal| candidate.goal(goal));
        if number == lab.last_task_asked_for()
            && let Some(speed) = &lab.data.speed
        {
            sheet.ask(number, &speed_words(speed), || candidate.speed(speed));
        }
    }
    Ok(sheet.grade)
}

fn speed_words(speed: &Speed) -> String {
    let factor =
        if speed.factor > 1.0 { format!("at least {} times as fast as", speed.factor) } else { "as fast as".into() };
    format!("{factor} {} at {} on a GPU", speed.than, names(&[speed.size]))
}

impl Lab {
    /// The last task that is no open challenge.
    fn last_task_asked_for(&self) -> usize {
        self.data.tasks.iter().rposition(|task| !task.open).unwrap_or(0)
    }
}

/// What a line of the checklist is found to be.
enum Verdict {
    Passed(Option<String>),
    /// What was found in a few words, and what to look at next.
    Failed(Option<String>, String),
    LeftOut(String),
}

/// The checklist as it is filled in: after a failure nothing more is asked, but goals of one task are all measured.
struct Sheet {
    grade: Grade,
    open: Vec<bool>,
    progress: Progress,
}

impl Sheet {
    fn new(lab: &Lab, seed: u64) -> Self {
        let tasks = &lab.data.tasks;
        Self {
            grade: Grade { lines: Vec::new(), passed: vec![true; tasks.len()], next: None, seed },
            open: tasks.iter().map(|task| task.open).collect(),
            progress: Progress::new("grading, lines of the checklist", lines(lab) as u64),
        }
    }

    /// Whether nothing that comes before this task's lines has failed.
    fn reached(&self, task: usize) -> bool {
        self.grade.passed[..=task]
            .iter()
            .zip(&self.open)
            .enumerate()
            .all(|(number, (passed, open))| *passed || (*open && number != task))
    }

    fn ask(&mut self, task: usize, words: &str, find: impl FnOnce() -> Verdict) {
        let verdict = self.reached(task).then(find);
        self.note(task, words, verdict);
    }

    fn goals(&mut self, task: usize, goals: &[Goal], find: impl Fn(&Goal) -> Verdict) {
        let reached = self.reached(task);
        for goal in goals {
            self.note(task, &goal.words, reached.then(|| find(goal)));
        }
        if !reached {
            self.grade.passed[task] = false;
        }
    }

    fn note(&mut self, task: usize, words: &str, verdict: Option<Verdict>) {
        let (state, found) = match verdict {
            None => (State::NotReached, None),
            Some(Verdict::Passed(found)) => (State::Passed, found),
            Some(Verdict::LeftOut(why)) => (State::LeftOut, Some(why)),
            Some(Verdict::Failed(found, next)) => {
                self.grade.next.get_or_insert(next);
                (State::Failed, found)
            }
        };
        if matches!(state, State::Failed | State::NotReached) {
            self.grade.passed[task] = false;
        }
        self.progress.add(1);
        self.grade.lines.push(Line { task, words: words.to_owned(), state, found });
    }
}

/// How many lines the checklist will have: four for what every kernel must do, then each task's own.
fn lines(lab: &Lab) -> usize {
    let own = |task: &crate::lab::Task| usize::from(!task.shapes.is_empty()) + task.goals.len();
    4 + lab.data.tasks.iter().map(own).sum::<usize>() + usize::from(lab.data.speed.is_some())
}

fn names(sizes: &[[u64; 3]]) -> String {
    sizes.iter().map(|[m, n, k]| format!("{m}×{n}×{k}")).collect::<Vec<_>>().join(", ")
}

/// The smallest shape that is larger than a warp along two axes at least, for the hazard check; else the largest.
fn smallest_ragged(shapes: &[[u64; 3]]) -> Vec<[u64; 3]> {
    let volume = |shape: &[u64; 3]| shape.iter().product::<u64>();
    let ragged =
        shapes.iter().filter(|[m, n, k]| *m > 1 && *n > 1 && m * n > 32 && (m % 32 != 0 || n % 32 != 0) && *k > 1);
    // The whole tiles of the largest one let warps overtake each other.
    let mut chosen: Vec<[u64; 3]> = ragged.min_by_key(|shape| volume(shape)).into_iter().copied().collect();
    chosen.extend(shapes.iter().max_by_key(|shape| volume(shape).min(600_000)));
    chosen.dedup();
    chosen
}

fn hidden_shapes(lab: &Lab, seed: u64) -> Vec<[u64; 3]> {
    let random = &lab.data.random;
    (0..random.count).map(|i| [0, 1, 2].map(|axis| 1 + mix(seed ^ (i * 3 + axis as u64)) % random.most[axis])).collect()
}

impl Candidate<'_> {
    fn problem(&self, [m, n, k]: [u64; 3]) -> Problem {
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
    fn plan_all(&self, sizes: &[[u64; 3]]) -> Result<()> {
        let problems = sizes.iter().map(|&size| self.problem(size)).collect();
        let request = Request { device: Some(self.device.clone()), problems, variant: None };
        let plans = self.step.describe(&request)?.plans;
        self.plans.borrow_mut().extend(sizes.iter().copied().zip(plans));
        Ok(())
    }

    /// The step's own launch, or the one that the kernel asks for.
    fn plan(&self, size: [u64; 3]) -> Result<Plan> {
        let own = self.plans.borrow().get(&size).cloned().context("this size was not planned")?;
        self.launch.plan(&self.problem(size), own).map_err(|error| anyhow!("{error}"))
    }

    /// The kernel's code for a plan, compiled once for each specialisation.
    fn code(&self, plan: &Plan) -> Result<Code> {
        let key = format!("{:?}", plan.specialisation);
        if let Some(code) = self.codes.borrow().get(&key) {
            return Ok(code.clone());
        }
        let code = self.source.code(&plan.specialisation, &self.device, None)?;
        self.codes.borrow_mut().insert(key, code.clone());
        Ok(code)
    }

    /// Runs a size on the simulator.
    fn run(&self, size: [u64; 3], options: &SimOptions) -> Result<Seen> {
        let plan = self.plan(size)?;
        let code = self.code(&plan)?;
        let options = SimOptions { instruction_limit: Some(INSTRUCTION_LIMIT), ..options.clone() };
        let mut device = device::open(Choice::Sim, &options)?;
        let device: &mut dyn Device = device.as_mut();
        let problem = self.problem(size);
        let session = Session::new(device, &problem, plan.clone(), &code)?;
        let verification = verify_on(device, &session, &problem, &Operands::new(&problem)?)?;
        let observations = device.observations();
        Ok(Seen {
            verification,
            counters: observations.counters,
            hazards: observations.hazards.unwrap_or_default(),
            plan,
        })
    }

    fn compiles(&self, shapes: &[[u64; 3]]) -> Verdict {
        let compiled = shapes.iter().find_map(|&size| self.plan(size).ok()).map(|plan| self.code(&plan));
        match compiled {
            Some(Err(error)) => Verdict::Failed(None, format!("{error:#}")),
            None => Verdict::Failed(
                None,
                "the step has no launch for any of the lab's shapes; say yours: // launch: block 32,32 tile 32,32"
                    .into(),
            ),
            Some(Ok(_)) => Verdict::Passed(None),
        }
    }

    fn right(&self, shapes: &[[u64; 3]]) -> Verdict {
        for &size in shapes {
            let name = names(&[size]);
            let found = match self.run(size, &SimOptions::default()) {
                Ok(seen) if seen.verification.ok => continue,
                Ok(seen) => {
                    let diagnosis = seen.verification.diagnosis.unwrap_or_default();
                    // What comes before any wrong sum says more than the sum.
                    if let Some(hazard) = self.first_hazard(size, is_a_cause) {
                        // What it would say of the cause is beside the point then.
                        let count = diagnosis.split(": ").next().unwrap_or_default();
                        let next = format!("at {name}\n{hazard}\nthe product is wrong, too: {count}");
                        return Verdict::Failed(Some(format!("not at {name}")), next);
                    }
                    let mut next = format!("at {name} {diagnosis}");
                    for mismatch in seen.verification.mismatches.iter().take(3) {
                        let got = match (mismatch.unwritten, mismatch.got) {
                            (true, _) => "was never written".to_owned(),
                            (false, Some(got)) => format!("is {got}"),
                            (false, None) => "is NaN or infinite".to_owned(),
                        };
                        next += &format!(
                            "\nC[{}][{}] {got}, and should be {}",
                            mismatch.row, mismatch.col, mismatch.expected
                        );
                    }
                    next
                }
                Err(error) => {
                    // Threads that do each other's work may take forever; at a small size the hazard behind it shows.
                    let limit = error.to_string().contains("limit reached");
                    let small = smallest_ragged(&[shapes, &[size]].concat());
                    let hazard = small.first().filter(|_| limit).and_then(|&small| self.first_hazard(small, |_| true));
                    match hazard {
                        Some(hazard) => format!(
                            "at {name} the kernel does not end in time, and at {}\n{hazard}",
                            names(&small[..1])
                        ),
                        None => at(&name, &explain(&error)),
                    }
                }
            };
            return Verdict::Failed(Some(format!("not at {name}")), found);
        }
        Verdict::Passed(None)
    }

    /// The first hazard of a kind, at a size.
    fn first_hazard(&self, size: [u64; 3], wanted: fn(&HazardReport) -> bool) -> Option<String> {
        self.checked(size).ok()?.iter().find(|hazard| wanted(hazard)).map(picture)
    }

    /// The hazards of a size.
    fn checked(&self, size: [u64; 3]) -> Result<Vec<HazardReport>> {
        let seen = self.run(size, &SimOptions { check: true, ..SimOptions::default() })?;
        // An element that one thread writes again and again is no hazard by itself; goals in counters see the work.
        Ok(seen.hazards.into_iter().filter(|hazard| hazard.kind != HazardKind::WrittenTwice).collect())
    }

    fn safe(&self, shapes: &[[u64; 3]]) -> Verdict {
        for &size in shapes {
            match self.checked(size) {
                Ok(hazards) => {
                    if let Some(first) = hazards.first() {
                        let more = hazards.len() - 1;
                        let more = if more == 0 { String::new() } else { format!("\n... and {more} more") };
                        return Verdict::Failed(None, format!("at {}\n{}{more}", names(&[size]), picture(first)));
                    }
                }
                Err(error) => return Verdict::Failed(None, at(&names(&[size]), &explain(&error))),
            }
        }
        Verdict::Passed(None)
    }

    fn goal(&self, goal: &Goal) -> Verdict {
        let name = names(&[goal.size]);
        let seen = match self.run(goal.size, &SimOptions { counters: true, ..SimOptions::default() }) {
            Ok(seen) => seen,
            Err(error) => return Verdict::Failed(None, at(&name, &explain(&error))),
        };
        if !seen.verification.ok {
            let diagnosis = seen.verification.diagnosis.unwrap_or_default();
            return Verdict::Failed(None, format!("at {name} the product is wrong: {diagnosis}"));
        }
        let Some(value) = self.measure(goal, &seen) else {
            return Verdict::Failed(
                None,
                format!("the lab asks for a counter {} that does not exist; restore lab.json with git", goal.counter),
            );
        };
        let met = goal.at_most.is_none_or(|most| value <= most * (1.0 + 1e-9))
            && goal.at_least.is_none_or(|least| value >= least * (1.0 - 1e-9));
        let found = Some(format!("{} at {name}", short(value)));
        if met { Verdict::Passed(found) } else { Verdict::Failed(found, format!("at {name}: {}", goal.next)) }
    }

    /// The goal's counter, divided by what it is per; `None` where there is no such counter.
    fn measure(&self, goal: &Goal, seen: &Seen) -> Option<f64> {
        let counters = seen.counters.as_ref()?;
        let [m, n, k] = goal.size.map(|size| size as f64);
        let launch = seen.plan.launches.first()?;
        let threads: u64 = launch.block.iter().map(|&x| u64::from(x)).product();
        let blocks: u64 = launch.grid.iter().map(|&x| u64::from(x)).product();
        let warps = (threads.div_ceil(32) * blocks) as f64;
        let count = |name: &str| counters.total.get(name).map(|&count| count as f64);
        let value = |name: &str| match name {
            "flop_per_byte" => Some(counters.flop_per_byte),
            "flop_per_global_access" => Some(counters.flop_per_global_access),
            "bank_conflicts" => Some(count("shared_load_bank_conflicts")? + count("shared_store_bank_conflicts")?),
            "barriers_per_warp" => Some(count("barriers")? / warps),
            "elements_of_c" => Some(m * n),
            "products" => Some(m * n * k),
            "warp_products" => Some(m * n * k / 32.0),
            "k" => Some(k),
            "shared_bytes" => Some(self.shared_bytes(&seen.plan)),
            "local_arrays" => Some(self.local_arrays(&seen.plan)),
            name => count(name),
        };
        let per = match &goal.per {
            Some(per) => value(per)?,
            None => 1.0,
        };
        Some(value(&goal.counter)? / per)
    }

    /// Shared memory of a block, static and dynamic.
    fn shared_bytes(&self, plan: &Plan) -> f64 {
        let dynamic = plan.launches.first().map_or(0, |launch| u64::from(launch.shared_bytes));
        let ptx = self.code(plan).map(|code| code.ptx).unwrap_or_default();
        let arrays =
            ptx.lines().filter(|line| line.contains(".shared ") && line.contains('[') && !line.contains(".extern"));
        let fixed: u64 =
            arrays.filter_map(|line| line.rsplit_once('[')?.1.split_once(']')?.0.trim().parse::<u64>().ok()).sum();
        (dynamic + fixed) as f64
    }

    /// Arrays of a thread that lie in memory and not in registers.
    fn local_arrays(&self, plan: &Plan) -> f64 {
        let ptx = self.code(plan).map(|code| code.ptx).unwrap_or_default();
        ptx.lines().filter(|line| line.trim_start().starts_with(".local ")).count() as f64
    }

    fn speed(&self, speed: &Speed) -> Verdict {
        if device::cuda_devices().is_err() {
            return Verdict::LeftOut("there is no GPU here".into());
        }
        match self.speeds(speed) {
            Ok((mine, theirs)) => {
                let found = format!("{:.2} times as fast", theirs / mine);
                if mine * speed.factor <= theirs {
                    Verdict::Passed(Some(found))
                } else {
                    Verdict::Failed(
                        Some(found),
                        format!("{mine:.3} ms, and {} takes {theirs:.3} ms; compare their --counters", speed.than),
                    )
                }
            }
            Err(error) => Verdict::Failed(None, format!("{error:#}")),
        }
    }

    /// Milliseconds of this kernel and of another step's, on the GPU, after both are verified.
    fn speeds(&self, speed: &Speed) -> Result<(f64, f64)> {
        let mut device = device::open(Choice::Cuda(0), &SimOptions::default())?;
        let device: &mut dyn Device = device.as_mut();
        let problem = self.problem(speed.size);
        let operands = Operands::new(&problem)?;
        let info = device.info().clone();
        let other = steps::find()?.into_iter().find(|step| step.name == speed.than);
        let other = other.with_context(|| format!("there is no step {}; restore lab.json with git", speed.than))?;
        let theirs = Source::read(&other.source(None))?;
        let mut times = Vec::new();
        for (step, source, launch) in [(self.step, &self.source, self.launch), (&other, &theirs, OwnLaunch::default())]
        {
            let request = Request { device: Some(info.clone()), problems: vec![problem], variant: None };
            let own = step.describe(&request)?.plans.into_iter().next().context("the step plans nothing")?;
            let plan = launch.plan(&problem, own).map_err(|error| anyhow!("{error}"))?;
            let code = source.code(&plan.specialisation, &info, Some(&step.path.join("ptx")))?;
            let session = Session::new(device, &problem, plan, &code)?;
            let verification = verify_on(device, &session, &problem, &operands)?;
            anyhow::ensure!(verification.ok, "{}: {}", source.display, verification.diagnosis.unwrap_or_default());
            let timing = timing::time(device, &session, &operands, None, &mut Cache::warm())?;
            times.push(timing.kernel_ms.median);
            session.close(device)?;
        }
        Ok((times[0], times[1]))
    }
}

/// A size and what was found there: in the same line, or in lines below.
fn at(name: &str, found: &str) -> String {
    let space = if found.starts_with('\n') { "" } else { " " };
    format!("at {name}{space}{found}")
}

/// A hazard with the kernel's lines.
fn picture(hazard: &HazardReport) -> String {
    diagnostic::render(&hazard.diagnostic).trim_end().to_owned()
}

/// An error for people: a fault of the kernel with its lines, if they are known.
fn explain(error: &anyhow::Error) -> String {
    KernelFault::behind(error)
        .and_then(KernelFault::diagnostic)
        .map_or_else(|| format!("{error:#}"), |diagnostic| format!("\n{}", diagnostic::render(diagnostic).trim_end()))
}

/// Whether a hazard is a cause of wrong products that a look at the product does not show.
fn is_a_cause(hazard: &HazardReport) -> bool {
    hazard.kind.hazard().is_some_and(HazardKind::is_hidden_cause)
}

/// A number in a few digits.
fn short(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_shapes_follow_their_seed_and_stay_within_bounds() {
        let step = steps::find().unwrap().into_iter().find(|step| step.name.starts_with("step02")).unwrap();
        let lab = Lab::of(&step).unwrap().unwrap();
        let most = lab.data.random.most;
        assert_eq!(hidden_shapes(&lab, 5), hidden_shapes(&lab, 5));
        assert_ne!(hidden_shapes(&lab, 5), hidden_shapes(&lab, 6));
        for seed in 0..200 {
            for shape in hidden_shapes(&lab, seed) {
                assert!((0..3).all(|axis| (1..=most[axis]).contains(&shape[axis])), "{shape:?}");
            }
        }
    }

    #[test]
    fn the_hazard_check_takes_a_ragged_shape_and_a_large_one() {
        let shapes = [[1, 1, 1], [32, 32, 32], [31, 33, 35], [64, 96, 128]];
        assert_eq!(smallest_ragged(&shapes), [[31, 33, 35], [64, 96, 128]]);
    }
}
