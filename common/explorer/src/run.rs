//! One run of a kernel, from a request to a tape, with what was found; and a witness of a race: an order of warps in which the product is
//! right, and one in which it is wrong.

use crate::log::{Array, LaunchTape};
use crate::matrices::{self, C};
use crate::planner::Output;
use crate::recorder::Recorder;
use crate::request::{self, LookRequest, Order, RunRequest};
use crate::state::Tape;
use findings::declarations::shared_extents;
use plan::{Dtype, Plan};
use serde_json::{Value, json};
use simt::{
    Analysis, Arg, BlockInfo, DevicePointer, Error, Extents, GlobalMemory, Hazard, Hazards, Held, Kernel, LaunchConfig,
    Launched, Module, Observer, Param, Party, Type,
};
use std::collections::BTreeSet;
use std::ops::Deref;

/// Most warp instructions of a run.
const LIMIT: u64 = 4_000_000;
/// Warp instructions of all runs in other orders together, about, and those that one may make beyond four times as many as usual.
const TRIED: u64 = 64 << 20;
const SPARE: u64 = 1 << 16;
/// Blocks that run side by side, if they do.
const SIDE_BY_SIDE: usize = 4;

/// An access of a hazard: the thread, and the event.
pub type Access = (Party, u32);
/// A word: its array (none for shared memory) and its position in words.
pub type Word = (Option<usize>, u32);

/// A hazard, and when it happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The time right after its second access.
    pub time: u32,
    pub launch: usize,
    /// Once it has been looked at closely, its parties are those by which the product goes wrong, if it does.
    pub hazard: Hazard,
    /// What the simulator says of it.
    pub text: String,
    /// Its accesses, or the second one alone; none before it has been looked at closely.
    pub accesses: Vec<Access>,
    /// The word that it is about.
    pub word: Option<Word>,
}

/// A kernel's launches on A, B and C, ready to run.
#[derive(Debug)]
pub struct Setup {
    pub size: [u32; 3],
    pub dtype: Dtype,
    pub plan: Plan,
    pub kernel: request::KernelCode,
    /// The code; it also names its source files.
    pub module: Module,
    /// Extents of shared arrays.
    pub(crate) extents: Vec<(String, Extents)>,
    /// C as it should be.
    pub(crate) expected: Vec<u32>,
    kernels: Vec<Kernel>,
    arrays: Vec<Array>,
    limit: u64,
}

impl Setup {
    /// Gets a kernel ready. The error is a sentence.
    pub fn new(request: &RunRequest) -> Result<Self, String> {
        let RunRequest { kernel, problem, limit, .. } = request;
        let plan = kernel.planner.plan(problem, &kernel.source)?;
        let said = |error: Error| error.to_string();
        let module = Module::parse(&kernel.ptx).map_err(said)?;
        let kernels = plan.launches.iter().map(|launch| module.kernel(&launch.entry)).collect::<Result<_, _>>();
        let defines = &plan.specialisation.defines;
        let constants: Vec<(&str, i64)> =
            defines.iter().filter_map(|(name, value)| Some((name.as_str(), value.parse().ok()?))).collect();

        // The planner refuses sides that do not fit.
        let (size, dtype) = ([problem.m, problem.n, problem.k].map(|side| side as u32), problem.dtype);
        let [m, n, k] = size;
        let [a, b] = [(1, m * k), (2, k * n)].map(|(seed, count)| matrices::elements(seed, count, dtype, problem.fill));
        let expected = matrices::product(&a, &b, size, dtype);
        let pasted = kernel.planner.launch.as_ref();
        let before = if pasted.is_some_and(|launch| launch.output != Output::Product) { 0 } else { dtype.poison() };
        let filler = if pasted.is_some() { 0 } else { dtype.poison() };
        let workspace = vec![filler; plan.workspace_elements.clamp(1, 1 << 20) as usize];
        let mut memory = GlobalMemory::new();
        let array = |(name, words): (&str, Vec<u32>)| {
            Ok(Array { name: name.into(), base: memory.alloc(name, 4 * words.len() as u64, 4)?.0, words })
        };
        let all = [("A", a), ("B", b), ("C", vec![before; expected.len()]), ("workspace", workspace)];
        Ok(Self {
            size,
            dtype,
            kernel: kernel.clone(),
            extents: shared_extents(&kernel.source, &constants),
            expected,
            kernels: kernels.map_err(said)?,
            arrays: all.into_iter().map(array).collect::<Result<_, _>>().map_err(said)?,
            limit: limit.map_or(LIMIT, |limit| limit.min(LIMIT)),
            module,
            plan,
        })
    }

    /// Memory with A, B and C before the first launch.
    pub fn memory(&self) -> Result<GlobalMemory, Error> {
        let mut memory = GlobalMemory::new();
        for array in &self.arrays {
            let pointer = memory.alloc(&array.name, 4 * array.words.len() as u64, 4)?;
            memory.upload(pointer, 0, &array.words)?;
        }
        Ok(memory)
    }

    /// C may become anything: what it should be is what the run makes of it.
    pub fn is_free(&self) -> bool {
        self.kernel.planner.launch.as_ref().is_some_and(|launch| launch.output == Output::Any)
    }

    pub fn c(&self, memory: &GlobalMemory) -> Result<Vec<u32>, Error> {
        let mut c = vec![0; self.expected.len()];
        memory.download(DevicePointer(self.arrays[C].base), 0, &mut c)?;
        Ok(c)
    }

    /// The search for hazards in a launch.
    pub fn hazards(&self, number: usize) -> Hazards {
        let named = |hazards: Hazards, (name, known): &(String, Extents)| hazards.extents(name, known.clone());
        let hazards = self.extents.iter().fold(Hazards::new(), named);
        // Pasted PTX need not write all of its scratch memory, nor all of a C that may become anything.
        let most =
            self.kernel.planner.launch.as_ref().map_or(2, |launch| usize::from(launch.output == Output::Product));
        let outputs = self.arrays[C..].iter().zip(self.plan.must_write(number)).take(most).filter(|(_, all)| *all);
        outputs.fold(hazards, |hazards, (array, _)| hazards.output(DevicePointer(array.base)))
    }

    /// Runs a launch in an order; `used` instructions have been executed before it.
    pub fn launch(
        &self,
        number: usize,
        (order, used): (Order, u64),
        memory: &mut GlobalMemory,
        watch: &mut dyn Analysis,
    ) -> Result<Launched, Error> {
        let (kernel, launch) = (&self.kernels[number], &self.plan.launches[number]);
        let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| (x, y, z));
        let mut config = LaunchConfig::new(grid, block).with_dynamic_shared(launch.shared_bytes);
        config.instruction_limit = self.limit.saturating_sub(used);
        // The recording depends on the order of execution.
        config.threads = 1;
        config.turn = order.turns.into();
        config.backwards = order.backwards;
        config.held = order.held.filter(|(launch, _)| *launch == number).map(|(_, held)| held);
        config.resident = if order.side_by_side { SIDE_BY_SIDE } else { 0 };
        simt::launch(kernel, memory, &config, &self.arguments(launch, kernel.params()), watch)
    }

    /// Runs all launches in an order, with so many instructions at most; returns C at the end.
    fn again(&self, order: Order, most: u64) -> Result<Vec<u32>, Error> {
        let (mut memory, mut used) = (self.memory()?, self.limit.saturating_sub(most));
        for number in 0..self.kernels.len() {
            used += self.launch(number, (order, used), &mut memory, &mut Steps)?.warp_instructions;
        }
        self.c(&memory)
    }

    fn arguments(&self, launch: &plan::Launch, params: &[Param]) -> Vec<Arg> {
        let pasted = &self.kernel.planner.launch;
        let number = |at: usize, value: i32| {
            let (Some(param), Some(pasted)) = (params.get(at), pasted) else { return Arg::U32(value as u32) };
            // A number of pasted PTX takes the type of its parameter.
            let number = pasted.args.get(at).and_then(Value::as_f64).unwrap_or(value.into());
            Arg::Bytes(match (param.kind, param.bytes as usize) {
                (Type::F32, _) => (number as f32).to_le_bytes().to_vec(),
                (Type::F64, _) => number.to_le_bytes().to_vec(),
                (_, bytes) => (number as i64).to_le_bytes()[..bytes.min(8)].to_vec(),
            })
        };
        let pointer = |array: usize, offset| Arg::Pointer(DevicePointer(self.arrays[array].base + 4 * offset));
        let argument = |(at, argument): (usize, &plan::Arg)| argument.either(pointer, |value| number(at, value));
        launch.args.iter().enumerate().map(argument).collect()
    }

    /// The elements of C that are wrong, if these are its values.
    pub fn wrong<'a>(&'a self, c: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        let pairs = (0..).zip(c.iter().zip(&self.expected));
        let is_wrong = |is: u32, expected: u32| is != expected && !matrices::equal(is, expected, self.dtype);
        pairs.filter_map(move |(at, (&is, &expected))| is_wrong(is, expected).then_some(at))
    }

    /// Row and column of a word of a matrix; row 0 for another array.
    pub fn row_column(&self, array: usize, index: u32) -> [u32; 2] {
        let columns = [self.size[2], self.size[1], self.size[1]].get(array).copied().unwrap_or(u32::MAX);
        [index / columns, index % columns]
    }

    /// The name of an argument of a launch: `A`, or `K`.
    pub fn argument_name(&self, launch: usize, at: usize) -> Option<String> {
        if let Some(name) = self.kernel.planner.launch.as_ref().and_then(|launch| launch.args.get(at)) {
            return Some(name.as_str().map_or_else(|| name.to_string(), str::to_owned));
        }
        let [m, n, k] = self.size.map(|side| side as i32);
        let argument = self.plan.launches.get(launch)?.args.get(at)?;
        let number = |value: i32| match at {
            // As the course's kernels take them; equal sizes do not tell.
            3 if value == m => "M".into(),
            4 if value == n => "N".into(),
            5 if value == k => "K".into(),
            _ => value.to_string(),
        };
        Some(argument.either(|array, _| self.arrays[array].name.clone(), number))
    }
}

/// A hazard counts unless it is about how often elements are written, of which a launch that was stopped says nothing.
pub fn counts(hazard: &Hazard, stopped: Option<&String>) -> bool {
    stopped.is_none() || !hazard.kind.is_coverage()
}

/// Why a launch ended early, if it did; an error if it did not start.
pub fn stopped(outcome: Result<Launched, Error>) -> Result<Option<String>, Error> {
    match outcome {
        Ok(_) => Ok(None),
        Err(error @ (Error::Fault(_) | Error::Limit(_))) => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}

#[derive(Debug)]
pub struct Run {
    setup: Setup,
    pub order: Order,
    pub tape: Tape,
    /// Hazards by time.
    pub hazards: Vec<Found>,
    /// Why the run ended early, if it did.
    pub stopped: Option<String>,
    /// It was stopped because it was too long.
    pub endless: bool,
}

impl Deref for Run {
    type Target = Setup;

    fn deref(&self) -> &Setup {
        &self.setup
    }
}

impl Run {
    /// Runs a kernel: records all launches, until one is stopped. The error is a sentence, and nothing was run.
    pub fn new(request: &RunRequest) -> Result<Self, String> {
        let (mut setup, order) = (Setup::new(request)?, request.order);
        let said = |error: Error| error.to_string();
        let mut memory = setup.memory().map_err(said)?;
        let mut recorder = Recorder::new(setup.arrays.clone(), &setup.kernel.file);
        let (mut found, mut stopped, mut endless) = (vec![], None, false);
        for number in 0..setup.kernels.len() {
            recorder.search(setup.hazards(number));
            let used = recorder.length().into();
            let outcome = setup.launch(number, (order, used), &mut memory, &mut recorder);
            endless = matches!(outcome, Err(Error::Limit(_)));
            stopped = self::stopped(outcome).map_err(said)?;
            let all = recorder.hazards.found().iter().filter(|hazard| counts(hazard, stopped.as_ref()));
            found.extend(all.map(|hazard| (number, hazard.clone())));
            if stopped.is_some() {
                break;
            }
        }
        let tape = Tape::new(recorder.finish());
        if tape.full {
            stopped = Some("the run is too long to be recorded; choose a smaller size".into());
            endless = true;
        }
        if setup.is_free() {
            setup.expected = tape.end.arrays[C].to_vec();
        }
        let at = |(launch, hazard): (usize, Hazard)| {
            let time = hazard.time.map_or_else(|| time_of(&tape, launch, &hazard), |time| time as u32);
            let (time, text) = (time.min(tape.length()), hazard.to_string());
            Found { time, launch, hazard, text, accesses: vec![], word: None }
        };
        let mut hazards: Vec<Found> = found.into_iter().map(at).collect();
        hazards.sort_by_key(|found| found.time);
        Ok(Self { setup, order, tape, hazards, stopped, endless })
    }

    pub(crate) fn c_at_end(&self) -> &[u32] {
        &self.tape.end.arrays[C]
    }

    /// The elements of C that are wrong at the end.
    pub(crate) fn wrong_at_end(&self) -> impl Iterator<Item = u32> {
        self.wrong(self.c_at_end())
    }

    /// Whether the run came to its end, and the product is right.
    pub fn is_right(&self) -> bool {
        self.stopped.is_none() && self.wrong_at_end().next().is_none()
    }
}

/// The thread that the page has chosen.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    pub launch: &'a LaunchTape,
    pub block: u32,
    pub warp: u32,
    pub lane: usize,
}

impl<'a> Chosen<'a> {
    /// The thread that is asked for, with numbers that are too large cut off; an error if nothing was launched.
    pub fn new(run: &'a Run, launch: usize, request: &LookRequest) -> Result<Self, String> {
        let launch = run.tape.launches.get(launch).ok_or("nothing was launched")?;
        let last = |count: u32| count.saturating_sub(1);
        let (block, warp) = (request.block.min(last(launch.blocks())), request.warp.min(last(launch.warps())));
        Ok(Self { launch, block, warp, lane: request.lane.min(31) as usize })
    }
}

/// When a hazard happened that was found only at the end of its launch: when the later of its threads first executed its line's
/// instruction; one without threads shows at the end.
fn time_of(tape: &Tape, launch: usize, hazard: &Hazard) -> u32 {
    let launch = &tape.launches[launch];
    let first = |party: &Party| tape.by(launch, party, launch.events.clone()).next();
    hazard.parties.iter().filter_map(first).max().map_or(launch.events.end, |event| event + 1)
}

/// Watches nothing, but every instruction: so that warps take turns as if they were recorded.
struct Steps;

impl Analysis for Steps {
    fn steps(&self) -> bool {
        true
    }

    fn block(&self, _: &BlockInfo) -> Vec<Box<dyn Observer>> {
        vec![]
    }
}

fn words(run: &Run, order: Order) -> String {
    if let Some((launch, Held { block, warp, after })) = order.held {
        let of = match block {
            None => "each block".to_owned(),
            Some(block) => format!("block {}", run.tape.launches[launch].grid.index(block)),
        };
        let events = run.tape.launches[launch].events.clone();
        let mut own = run.tape.of_warp((block.unwrap_or(0) as u32, warp), events);
        let line = own.nth(after as usize).and_then(|event| run.tape.instruction(event).line);
        let before = line.map_or_else(String::new, |line| format!(" before line {line}"));
        return format!("warp {warp} of {of} waits{before} until the others can go no further");
    }
    let blocks = if order.side_by_side { " of several blocks" } else { "" };
    let last = if order.backwards { ", the last ones first" } else { "" };
    if order.turns {
        return format!("the warps{blocks} take turns of one instruction{last}");
    }
    format!("each warp runs to its next barrier{last}")
}

/// Orders in which a warp of a hazard is overtaken by the others: just before its access, or right after it. So is any other warp of the
/// block that executes the same. What happens within a block happens in all blocks.
fn overtaking(run: &Run) -> Vec<Order> {
    let mut orders: [Vec<Order>; 2] = [vec![], vec![]];
    for found in &run.hazards {
        let launch = &run.tape.launches[found.launch];
        let blocks: BTreeSet<u32> = found.accesses.iter().map(|(party, _)| launch.numbers(party).0).collect();
        for (party, event) in &found.accesses {
            let (number, thread) = launch.numbers(party);
            let instruction = run.tape.event(*event).instruction;
            // The access of each warp that is made as often as the party's had been made.
            let all = |warp: u32| (0..).zip(run.tape.of_warp((number, warp), launch.events.clone()));
            let is = |&(_, event): &(u64, u32)| run.tape.event(event).instruction == instruction;
            let often = all(thread / 32).filter(is).take_while(|at| at.1 < *event).count();
            let block = (blocks.len() > 1).then_some(number.into());
            for warp in 0..launch.warps() {
                let Some((at, _)) = all(warp).filter(is).nth(often) else { continue };
                let own = &mut orders[usize::from(warp != thread / 32)];
                own.extend([at, at + 1].map(|after| Order::holding(found.launch, Held { block, warp, after })));
            }
        }
    }
    let mut all: Vec<Order> = vec![];
    for order in orders.into_iter().flatten() {
        all.extend(Some(order).filter(|order| !all.contains(order)));
    }
    all
}

/// Looks for an order in which the product is right, and for one in which it is wrong.
pub fn witness(run: &Run) -> Value {
    let mut tried = 0;
    let mut known: [Option<Order>; 2] = [None; 2];
    let most = (TRIED / u64::from(run.tape.length().max(1))).clamp(32, 256) as usize;
    for order in Order::plain().chain(overtaking(run)).take(most) {
        let own = order == run.order && run.stopped.is_none();
        let again = || run.again(order, 4 * u64::from(run.tape.length()) + SPARE).ok();
        let c = if own { Some(run.c_at_end().to_vec()) } else { again() };
        tried += 1;
        let Some(c) = c else { continue };
        known[usize::from(run.wrong(&c).next().is_some())].get_or_insert(order);
        if known.iter().all(Option::is_some) {
            break;
        }
    }
    let [lucky, unlucky] = known;
    let [what, right, wrong] =
        if run.is_free() { ["C", "as it is here", "different"] } else { ["the product", "right", "wrong"] };
    let words = match (lucky, unlucky) {
        (Some(lucky), Some(unlucky)) => {
            format!("{what} is {wrong} if {}, and {right} if {}", words(run, unlucky), words(run, lucky))
        }
        (Some(_), None) => {
            let launch = |found: &Found| &run.tape.launches[found.launch];
            let in_step = run.hazards.iter().any(|found| found.hazard.is_within_warp(launch(found).block));
            let why = if in_step { ": the lanes of a warp go in step here, and need not on a GPU" } else { "" };
            format!("{what} was {right} in all {tried} orders that were tried; that does not make a race harmless{why}")
        }
        (None, Some(_)) => {
            format!("{what} was {wrong} in all {tried} orders that were tried; the order alone is not the cause")
        }
        (None, None) => format!("the kernel came to an end in none of the {tried} orders that were tried"),
    };
    let [lucky, unlucky] = known.map(|order| order.map(|order| order.to_string()));
    json!({ "lucky": lucky, "unlucky": unlucky, "words": words })
}
