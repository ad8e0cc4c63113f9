//! A block: its warps take turns, each running to its next barrier. Blocks take turns too where they may wait for each other.

use super::barrier::release;
use super::context::{BARRIERS, Barrier, Cache, Context, Launch, Outcome, Transactions};
use super::presets::set_presets;
use super::registers::{Plane, Registers};
use super::step::{Level, Stop};
use super::warp::Warp;
use super::warpgroup::complete;
use crate::error::{Fault, FaultKind};
use crate::observe::{BlockInfo, Observer};
use std::sync::atomic::Ordering;

/// Warp instructions a warp may run before another gets its turn, so that a warp that waits for another's flag in
/// memory does not wait for ever.
const QUANTUM: u64 = 1 << 20;
/// How many of them where threads poll: these may wait for another warp, another block, or parked lanes of their own warp. What a block
/// waits for it must see before the other block has done the next thing, too, which a check would take for waited for.
const SHORT_QUANTUM: u64 = 64;
/// What shared memory holds before a kernel writes it: a NaN that shows in every result it reaches.
const GARBAGE: u32 = 0xffff_ffff;

/// Runs blocks one after the other, keeping its buffers.
pub(super) struct Worker<'a> {
    launch: &'a Launch<'a>,
    level: Level,
    planes: Vec<Plane>,
    warps: Vec<Warp>,
    shared: Vec<u32>,
    caches: Vec<Cache<'a>>,
    barriers: [Barrier; BARRIERS],
    transactions: Transactions,
    info: BlockInfo,
    /// The warps that are still to have their turns, the next one last.
    queue: Vec<usize>,
    /// Warp instructions that the block has executed: its clock.
    clock: u64,
}

/// Why a block has stopped.
pub(super) enum Turn {
    /// All its threads have ended.
    Ended,
    /// Others may run: some of its warps have used up their time.
    Over,
    /// Others should run: they may wait for what one of its warps has just done.
    Told,
    /// Others may run, because all that this number of warps did was to ask whether something has happened.
    Idle(u64),
}

impl<'a> Worker<'a> {
    /// Ready to run a block.
    pub fn new(launch: &'a Launch<'a>, info: BlockInfo) -> Self {
        let code = &launch.kernel.code;
        let threads = launch.config.block.count() as u32;
        let count = threads.div_ceil(32);
        let mut worker = Self {
            launch,
            level: Level::detect(launch.config.instruction_set, launch.steps),
            planes: vec![Plane([0; 32]); (code.planes * count) as usize],
            warps: (0..count).map(|number| Warp::new(number, threads, code)).collect(),
            shared: vec![GARBAGE; launch.shared_bytes.div_ceil(4) as usize],
            caches: vec![Cache { base: 1, bytes: 0, words: &[] }; code.facts.len()],
            barriers: [Barrier::default(); BARRIERS],
            transactions: Transactions::default(),
            info,
            queue: vec![],
            clock: 0,
        };
        set_presets(launch, &mut worker.planes, None);
        worker.start(info);
        worker
    }

    pub fn number(&self) -> u64 {
        self.info.number
    }

    /// Warp instructions that the block has executed.
    pub fn executed(&self) -> u64 {
        self.clock
    }

    /// Whether one of its warps has asked for what others do.
    pub fn asks(&self) -> bool {
        self.warps.iter().any(|warp| warp.asks)
    }

    /// Ready to run another block.
    pub fn start(&mut self, info: BlockInfo) {
        let code = &self.launch.kernel.code;
        self.info = info;
        self.clock = 0;
        self.queue.clear();
        self.barriers = [Barrier::default(); BARRIERS];
        self.transactions.clear();
        set_presets(self.launch, &mut self.planes, Some(&info));
        self.shared.fill(GARBAGE);
        for planes in self.planes.chunks_exact_mut((code.planes as usize).max(1)) {
            planes[code.preset_planes as usize..].fill(Plane([0; 32]));
        }
        // Not together with their registers: a kernel may have none.
        self.warps.iter_mut().for_each(Warp::reset);
    }

    /// Runs the block until it ends, or until others should get their turn; or only those of its warps that ask for what others do.
    pub fn turn<'b>(&'b mut self, observer: Option<&'b mut dyn Observer>, asking: bool) -> Result<Turn, Outcome> {
        let code = &self.launch.kernel.code;
        let longest = if code.polls { SHORT_QUANTUM } else { QUANTUM };
        let Launch { config, .. } = self.launch;
        let longest = if config.turn > 0 { longest.min(config.turn) } else { longest };
        let mut context = Context {
            launch: self.launch,
            code,
            observer,
            shared: &mut self.shared,
            caches: &mut self.caches,
            barriers: &mut self.barriers,
            transactions: &mut self.transactions,
            info: self.info,
            executed: 0,
            told: false,
            clock: self.clock,
        };
        let reversed = self.launch.reversed;
        let others = code.communicates || config.resident > 1;
        let count = self.warps.len();
        loop {
            let mut over = false;
            // Warps that did nothing but ask whether something has happened.
            let mut idle = 0;
            let mut later = if asking { std::mem::take(&mut self.queue) } else { vec![] };
            if self.queue.is_empty() {
                self.queue.extend((0..count).map(|turn| if reversed { turn } else { count - 1 - turn }));
            }
            // Those at its end that only look whether what they wait for has happened.
            let mut looking = if asking { count } else { 0 };
            let mut told = false;
            while let Some(index) = self.queue.pop() {
                let looks = looking > 0;
                looking -= usize::from(looks);
                let warp = &self.warps[index];
                if warp.waiting_at.is_some() || warp.done || looks && !warp.asks {
                    continue;
                }
                let planes = index * code.planes as usize..(index + 1) * code.planes as usize;
                let registers = Registers::new(&mut self.planes[planes]);
                let used = context.launch.used();
                let limit = context.launch.config.instruction_limit;
                let quantum = longest.min(limit.saturating_sub(used).saturating_add(1));
                (context.executed, context.told) = (0, false);
                let stop = self.level.step(&mut self.warps[index], registers, &mut context, quantum as i64);
                context.launch.executed.fetch_add(context.executed, Ordering::Relaxed);
                let used = context.launch.used();
                context.clock += context.executed;
                self.clock = context.clock;
                // A barrier is no way around the limit: a loop that never ends may well wait in each of its turns.
                let over_limit = used > limit || context.launch.config.is_over();
                if over_limit && !matches!(stop, Ok(Stop::Done) | Err(_)) {
                    let warp = &self.warps[index];
                    let at = code.insts.get(warp.pc as usize).map_or(0, |inst| inst.pc);
                    let at = if warp.waiting_at.is_some() { warp.waiting_pc } else { at };
                    return Err(Outcome::Limit(context.launch.kernel.location(at)));
                }
                let tells = matches!(stop, Ok(Stop::Told));
                self.warps[index].asks = matches!(stop, Ok(Stop::Idle | Stop::Asked));
                match stop {
                    Ok(stop @ (Stop::Yield | Stop::Idle | Stop::Asked | Stop::Told)) => {
                        over = true;
                        idle += u64::from(stop == Stop::Idle);
                    }
                    Ok(Stop::Barrier | Stop::Done) => release(&mut self.warps, &mut context, &mut self.planes),
                    Err(outcome) => return Err(*outcome),
                }
                // Whoever waits in this block looks first, then those in others.
                if !looks && tells {
                    let asking = (0..count).filter(|&warp| self.warps[warp].asks);
                    let before = self.queue.len();
                    self.queue.extend(asking);
                    looking = self.queue.len() - before;
                    told |= others;
                }
                if told && looking == 0 {
                    break;
                }
            }
            self.queue.append(&mut later);
            if self.warps.iter().all(|warp| warp.done) {
                complete(&self.warps, &context)?;
                return Ok(Turn::Ended);
            }
            let running = self.warps.iter().filter(|warp| !warp.done && warp.waiting_at.is_none()).count() as u64;
            if running == 0 {
                return Err(deadlock(&self.warps, &context));
            }
            match (over, others) {
                _ if told => return Ok(Turn::Told),
                _ if asking => return Ok(Turn::Over),
                (true, true) if idle == running => return Ok(Turn::Idle(idle)),
                (true, true) => return Ok(Turn::Over),
                (true, false) if idle == running => self.launch.waits(idle),
                _ => {}
            }
        }
    }
}

fn deadlock(warps: &[Warp], context: &Context) -> Outcome {
    let mut words = vec![];
    let mut pc = 0;
    for warp in warps.iter().filter(|warp| !warp.done) {
        if let Some(id) = warp.waiting_at {
            pc = warp.waiting_pc;
            let location = context.launch.kernel.location(pc);
            words.push(format!("warp {} waits at barrier {id}, {location}", warp.number));
        }
    }
    words.truncate(8);
    Outcome::Fault(Box::new(Fault {
        kind: FaultKind::Deadlock { waiting: words.join("; ") },
        location: context.launch.kernel.location(pc),
        block: context.info.index,
        thread: None,
    }))
}
