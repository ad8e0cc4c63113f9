//! A block: its warps take turns, each running to its next barrier. Blocks take turns too where they may wait for each other.

use super::arguments::set_presets;
use super::barrier::release;
use super::context::{Context, Launch, Outcome};
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

/// Runs blocks one after the other, keeping its buffers.
pub(super) struct Worker<'a> {
    context: Context<'a>,
    level: Level,
    planes: Vec<Plane>,
    warps: Vec<Warp>,
    /// The warps that are still to have their turns, the next one last.
    queue: Vec<usize>,
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
    /// Not ready yet.
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

    pub fn number(&self) -> u64 {
        self.context.info.number
    }

    /// Warp instructions that the block has executed.
    pub fn clock(&self) -> u64 {
        self.context.clock
    }

    /// Whether one of its warps has asked for what others do.
    pub fn asks(&self) -> bool {
        self.warps.iter().any(|warp| warp.asks)
    }

    /// Ready to run a block, the first one or another.
    pub fn start(&mut self, info: BlockInfo, observers: Vec<Box<dyn Observer>>) {
        let code = self.context.code;
        self.queue.clear();
        self.context.restart(info, observers);
        set_presets(self.context.launch, &mut self.planes, Some(&info));
        for planes in self.planes.chunks_exact_mut((code.planes as usize).max(1)) {
            planes[code.preset_planes as usize..].fill(Plane([0; 32]));
        }
        // Not together with their registers: a kernel may have none.
        self.warps.iter_mut().for_each(Warp::reset);
    }

    /// The block has ended or failed.
    pub fn end(&mut self) {
        self.context.observers.drain(..).for_each(Observer::end);
    }

    /// Runs the block until it ends, or until others should get their turn; or only those of its warps that ask for what others do.
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
            // Warps that did nothing but ask whether something has happened.
            let mut idle = 0;
            let mut later = if asking { std::mem::take(queue) } else { vec![] };
            if queue.is_empty() {
                queue.extend((0..count).map(|turn| if launch.reversed { turn } else { count - 1 - turn }));
            }
            // Those at its end that only look whether what they wait for has happened.
            let mut looking = if asking { count } else { 0 };
            let mut told = false;
            while let Some(index) = queue.pop() {
                let looks = looking > 0;
                looking -= usize::from(looks);
                let warp = &warps[index];
                if warp.waiting_at.is_some() || warp.done || looks && !warp.asks {
                    continue;
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
                // A barrier is no way around the limit: a loop that never ends may well wait in each of its turns.
                let over_limit = used > limit || config.is_over();
                if over_limit && !matches!(stop, Ok(Stop::Done) | Err(_)) {
                    let warp = &warps[index];
                    let at = code.insts.get(warp.pc as usize).map_or(0, |inst| inst.pc);
                    let at = if warp.waiting_at.is_some() { warp.waiting_pc } else { at };
                    return Err(Outcome::Limit(launch.kernel.location(at)));
                }
                let tells = matches!(stop, Ok(Stop::Told));
                warps[index].asks = matches!(stop, Ok(Stop::Idle | Stop::Asked));
                match stop {
                    Ok(stop @ (Stop::Yield | Stop::Idle | Stop::Asked | Stop::Told)) => {
                        over = true;
                        idle += u64::from(stop == Stop::Idle);
                    }
                    Ok(Stop::Barrier | Stop::Done) => release(warps, context, planes),
                    Err(outcome) => return Err(*outcome),
                }
                // Whoever waits in this block looks first, then those in others.
                if !looks && tells {
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
