//! A block: its warps take turns, and each runs until its next barrier. The host threads share the blocks out. Blocks that may wait
//! for each other take turns, too.

use super::arguments::set_presets;
use super::barrier::release;
use super::context::{Context, Launch, Manner, Outcome};
use super::registers::{Plane, Registers};
use super::step::{Level, Stop};
use super::warp::Warp;
use super::warpgroup::complete;
use crate::locked::lock;
use crate::observe::{Analysis, BlockInfo, Observer};
use ptx::error::{Fault, FaultKind};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The most warp instructions that a warp runs before another one gets its turn. Without it, a warp that polls a flag of another
/// warp would poll for ever.
const QUANTUM: u64 = 1 << 16;
/// The limit for kernels whose threads poll, because they may wait for another warp, another block, or parked lanes of their own
/// warp. If a block ran on for long after it set a flag, a check would take what it did next for ordered by the flag, too.
const SHORT_QUANTUM: u64 = 64;

/// How many turns in a row an undisturbed warp or block has had.
#[derive(Default)]
struct Alone(u32);

impl Alone {
    /// Turns after which it lets others run, because it may wait for them.
    const PATIENCE: u32 = 64;

    /// Whether what has just had a turn has the next one, too, if it only `could` let others run.
    fn stays(&mut self, manner: Manner, could: bool) -> bool {
        let stays = manner == Manner::Undisturbed && could && self.0 < Self::PATIENCE;
        self.0 = if stays { self.0 + 1 } else { 0 };
        stays
    }
}

/// Runs blocks one after the other, in the same buffers.
pub(super) struct Worker<'a> {
    context: Context<'a>,
    level: Level,
    planes: Vec<Plane>,
    warps: Vec<Warp>,
    /// The warps that have not had their turn yet. The next one is last.
    queue: Vec<usize>,
}

/// Why a block's turn is over.
pub(super) enum Turn {
    Ended,
    /// Some of its warps have used up their time, so other blocks may run.
    Over,
    /// One of its warps has just done something that other blocks may wait for, so these should run.
    Told,
    /// All its running warps, this many, only polled for something that has not happened, so other blocks may run.
    Idle(u64),
}

impl<'a> Worker<'a> {
    /// Makes a worker. [`Self::start`] must follow before its first turn.
    pub fn new(launch: &'a Launch<'a>, info: BlockInfo) -> Self {
        let code = &launch.kernel.code;
        let count = info.threads.div_ceil(32);
        let mut planes = vec![Plane([0; 32]); (code.planes * count) as usize];
        set_presets(launch, &mut planes, None);
        Self {
            context: Context::new(launch, info),
            level: Level::detect(launch.config.instruction_set, launch.steps),
            planes,
            warps: (0..count).map(|number| Warp::new(number, info.threads, code)).collect(),
            queue: vec![],
        }
    }

    /// Whether one of its warps polls for something that others do.
    pub fn asks(&self) -> bool {
        self.warps.iter().any(|warp| warp.asks)
    }

    /// Prepares for a block, the first one or a later one.
    pub fn start(&mut self, info: BlockInfo, observers: Vec<Box<dyn Observer>>) {
        let code = self.context.code;
        self.queue.clear();
        self.context.restart(info, observers);
        set_presets(self.context.launch, &mut self.planes, Some(&info));
        for planes in self.planes.chunks_exact_mut((code.planes as usize).max(1)) {
            planes[code.preset_planes as usize..].fill(Plane([0; 32]));
        }
        // The loop above does nothing if the kernel has no registers, so warps are not reset there.
        self.warps.iter_mut().for_each(Warp::reset);
        let held = self.context.launch.config.held.filter(|held| held.block.is_none_or(|block| block == info.number));
        if let Some((held, warp)) = held.and_then(|held| Some((held, self.warps.get_mut(held.warp as usize)?))) {
            warp.ahead = Some(held.after);
        }
    }

    /// Runs the block until it ends or other blocks should get their turn. If `asking`, runs only those of its warps that poll.
    pub fn turn(&mut self, asking: bool) -> Result<Turn, Outcome> {
        let Self { context, level, planes, warps, queue } = self;
        let (launch, code) = (context.launch, context.code);
        let config = launch.config;
        let longest = if code.polls { SHORT_QUANTUM } else { QUANTUM };
        let longest = if config.turn > 0 { longest.min(config.turn) } else { longest };
        let others = code.communicates || config.resident > 1;
        let (count, per_warp) = (warps.len(), code.planes as usize);
        loop {
            let mut over = false;
            // Warps that only polled.
            let mut idle = 0;
            let mut later = if asking { std::mem::take(queue) } else { vec![] };
            if queue.is_empty() {
                queue.extend((0..count).map(|turn| if launch.reversed { turn } else { count - 1 - turn }));
            }
            // How many warps at the end of the queue only check whether what they wait for has happened.
            let mut looking = if asking { count } else { 0 };
            let mut told = false;
            let mut alone = Alone::default();
            while let Some(index) = queue.pop() {
                let looks = looking > 0;
                looking -= usize::from(looks);
                let warp = &mut warps[index];
                if warp.waiting_at.is_some() || warp.done || looks && !warp.asks {
                    continue;
                }
                if !looks && warp.rests > 0 {
                    warp.rests -= 1;
                    over = true;
                    continue;
                }
                if warp.ahead == Some(0) {
                    if !launch.progress.released.load(Ordering::Relaxed) {
                        (over, idle) = (true, idle + 1);
                        continue;
                    }
                    warp.ahead = None;
                }
                let registers = Registers::new(&mut planes[index * per_warp..(index + 1) * per_warp]);
                let used = launch.used();
                let limit = config.instruction_limit;
                let quantum = longest.min(limit.saturating_sub(used).saturating_add(1));
                (context.executed, context.told) = (0, false);
                let stop = level.step(&mut warps[index], registers, context, quantum as i64);
                launch.progress.executed.fetch_add(context.executed, Ordering::Relaxed);
                let used = launch.used();
                context.clock += context.executed;
                // The limit holds at barriers, too, because an endless loop may wait at a barrier in each of its turns.
                let over_limit = used > limit || config.is_over();
                if over_limit && !matches!(stop, Ok(Stop::Done) | Err(_)) {
                    let warp = &warps[index];
                    let at = code.insts.get(warp.pc as usize).map_or(0, |inst| inst.pc);
                    let at = if warp.waiting_at.is_some() { warp.waiting_pc } else { at };
                    return Err(Outcome::Limit(launch.kernel.location(at)));
                }
                let tells = matches!(stop, Ok(Stop::Told));
                warps[index].asks = matches!(stop, Ok(Stop::Idle | Stop::Asked));
                if tells && launch.manner == Manner::Polite {
                    warps[index].rests = rest(context, index);
                }
                match stop {
                    Ok(stop @ (Stop::Yield | Stop::Idle | Stop::Asked | Stop::Told | Stop::Changes)) => {
                        over = true;
                        idle += u64::from(stop == Stop::Idle);
                    }
                    Ok(Stop::Barrier | Stop::Done) => release(warps, context, planes),
                    Err(outcome) => return Err(*outcome),
                }
                // Warps of this block that poll check first, then other blocks get their turn.
                if alone.stays(launch.manner, !looks && tells) {
                    queue.push(index);
                } else if !looks && tells {
                    let asking = (0..count).filter(|&warp| warps[warp].asks);
                    let before = queue.len();
                    queue.extend(asking);
                    looking = queue.len() - before;
                    told |= others;
                }
                if told && looking == 0 {
                    break;
                }
            }
            queue.append(&mut later);
            if warps.iter().all(|warp| warp.done) {
                complete(warps, context)?;
                return Ok(Turn::Ended);
            }
            let running = warps.iter().filter(|warp| !warp.done && warp.waiting_at.is_none()).count() as u64;
            if running == 0 {
                return Err(deadlock(warps, context));
            }
            match (over, others) {
                _ if told => return Ok(Turn::Told),
                _ if asking => return Ok(Turn::Over),
                (true, true) if idle == running => return Ok(Turn::Idle(idle)),
                (true, true) => return Ok(Turn::Over),
                (true, false) if idle == running => launch.waits(idle),
                _ => {}
            }
        }
    }
}

/// Returns how many turns a polite warp lets pass. It differs between warps and from one time to the next: if all rested for equally
/// long, they would go on in the order in which they came.
fn rest(context: &Context, warp: usize) -> u32 {
    let place = context.info.number % 8 + warp as u64;
    4 + ((context.clock + 5 * place) % 8) as u32
}

fn deadlock(warps: &[Warp], context: &Context) -> Outcome {
    let location = |warp: &Warp| context.launch.kernel.location(warp.waiting_pc);
    let mut waiting = warps.iter().filter_map(|warp| Some((warp, warp.waiting_at.filter(|_| !warp.done)?)));
    let words = |(warp, id): (&Warp, u32)| format!("warp {} waits at barrier {id}, {}", warp.number, location(warp));
    Outcome::Fault(Box::new(Fault {
        kind: FaultKind::Deadlock { waiting: waiting.clone().take(8).map(words).collect::<Vec<_>>().join("; ") },
        location: waiting.next_back().map_or_else(|| context.launch.kernel.location(0), |(warp, _)| location(warp)),
        block: context.info.index,
        thread: None,
    }))
}

/// What the host threads share.
struct Grid<'a> {
    launch: &'a Launch<'a>,
    /// The numbers of the blocks to run, in order, or `None` for all.
    only: Option<&'a [u64]>,
    /// How many blocks run.
    count: u64,
    /// Blocks start in order, so that a block may wait for the work of earlier ones.
    next: AtomicU64,
    /// No block with a higher number needs to run.
    last: AtomicU64,
    failure: Mutex<Option<(u64, Outcome)>>,
}

/// Runs all blocks, or only those with these numbers. Returns the failure to report: a fault if there is one, of the first block.
pub(super) fn run(
    launch: &Launch,
    analysis: &dyn Analysis,
    only: Option<&[u64]>,
    ended: &(dyn Fn() + Sync),
) -> Option<(u64, Outcome)> {
    // Blocks that may wait for each other take turns in a fixed order, whatever the speed of the host threads.
    let in_order = analysis.in_order() || launch.kernel.code.communicates;
    let count = only.map_or(launch.config.grid.count(), |only| only.len() as u64);
    let workers = launch.config.workers(in_order, count) as usize;
    // If the system gives no more threads, this one does the work.
    let pool = if workers > 1 { pool(workers) } else { None };
    let (next, last) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
    let grid = Grid { launch, only, count, next, last, failure: Mutex::new(None) };
    match pool {
        None => grid.work(analysis, ended),
        Some(pool) => {
            pool.install(|| (0..workers).into_par_iter().with_max_len(1).for_each(|_| grid.work(analysis, ended)));
        }
    }
    lock(&grid.failure).take()
}

/// So many host threads, which stay for later launches: starting them takes longer than a small launch.
fn pool(workers: usize) -> Option<Arc<rayon::ThreadPool>> {
    static POOLS: Mutex<Vec<Arc<rayon::ThreadPool>>> = Mutex::new(vec![]);
    let mut pools = lock(&POOLS);
    if let Some(known) = pools.iter().find(|pool| pool.current_num_threads() == workers) {
        return Some(known.clone());
    }
    let new = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(workers).build().ok()?);
    pools.push(new.clone());
    Some(new)
}

impl<'a> Grid<'a> {
    /// Runs blocks until none are left, and calls `ended` after each.
    fn work(&self, analysis: &dyn Analysis, ended: &(dyn Fn() + Sync)) {
        let most = self.launch.kernel.resident_blocks(self.launch.config);
        // Blocks that have started and not ended. They may wait for others.
        let mut waiting = VecDeque::new();
        let mut idle = None;
        // Turns in a row in which blocks only polled.
        let mut nothing = 0;
        // How many blocks at the front of `waiting` only check whether what they wait for has happened.
        let mut looking = 0;
        let mut alone = Alone::default();
        loop {
            let looks = looking > 0;
            looking -= usize::from(looks);
            let new =
                if !looks && alone.0 == 0 && waiting.len() < most { self.take(analysis, &mut idle) } else { None };
            let Some(mut worker) = new.or_else(|| waiting.pop_front()) else { break };
            let before = worker.context.clock;
            let stopped = worker.context.info.number > self.last.load(Ordering::Relaxed);
            let turn = if stopped { Ok(Turn::Ended) } else { worker.turn(looks) };
            if let Ok(Turn::Idle(warps)) = turn {
                nothing += 1;
                if nothing > waiting.len() {
                    self.launch.waits(warps);
                } else {
                    self.launch.progress.spared.fetch_add(worker.context.clock - before, Ordering::Relaxed);
                }
            } else {
                nothing = 0;
            }
            if !looks && matches!(turn, Ok(Turn::Told | Turn::Ended)) {
                waiting.make_contiguous().sort_by_key(|worker: &Worker| !worker.asks());
                looking = waiting.iter().filter(|worker| worker.asks()).count();
            }
            let stays = alone.stays(self.launch.manner, matches!(turn, Ok(Turn::Over)));
            match turn {
                Ok(Turn::Over) if stays => waiting.push_front(worker),
                Ok(Turn::Over | Turn::Idle(_) | Turn::Told) => waiting.push_back(worker),
                Ok(Turn::Ended) | Err(_) => {
                    worker.context.observers.drain(..).for_each(Observer::end);
                    ended();
                    if let Err(outcome) = turn {
                        self.fail(worker.context.info.number, outcome);
                    }
                    idle = Some(worker);
                }
            }
        }
    }

    /// Returns a worker that has started the next block, or `None` if there is no block left.
    fn take(&self, analysis: &dyn Analysis, idle: &mut Option<Worker<'a>>) -> Option<Worker<'a>> {
        let config = self.launch.config;
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        if turn >= self.count {
            return None;
        }
        let turn = if self.launch.reversed { self.count - 1 - turn } else { turn };
        let number = self.only.map_or(turn, |only| only[turn as usize]);
        if number > self.last.load(Ordering::Relaxed) {
            return None;
        }
        let info = BlockInfo { index: config.grid.index(number), number, threads: config.block.count() as u32 };
        let mut worker = idle.take().unwrap_or_else(|| Worker::new(self.launch, info));
        worker.start(info, analysis.block(&info));
        Some(worker)
    }

    fn fail(&self, number: u64, outcome: Outcome) {
        self.last.fetch_min(number, Ordering::Relaxed);
        let mut failure = lock(&self.failure);
        if failure.as_ref().is_none_or(|(first, old)| outcome.before(number, old, *first)) {
            *failure = Some((number, outcome));
        }
    }
}
