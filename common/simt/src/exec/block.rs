//! A block: its warps take turns, each running to its next barrier.

use super::barrier::release;
use super::context::{BARRIERS, Barrier, Cache, Context, Launch, Outcome};
use super::presets::set_presets;
use super::registers::{Plane, Registers};
use super::step::{Level, Stop, step};
use super::warp::Warp;
use crate::error::{Fault, FaultKind};
use crate::observe::{BlockInfo, Observer};
use std::sync::atomic::Ordering;

/// Warp instructions a warp may run before another gets its turn, so that a warp that waits for another's flag in
/// memory does not wait for ever.
const QUANTUM: u64 = 1 << 20;
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
}

impl<'a> Worker<'a> {
    pub fn new(launch: &'a Launch<'a>) -> Self {
        let code = &launch.kernel.code;
        let threads = launch.config.block.count() as u32;
        let count = threads.div_ceil(32);
        let mut worker = Self {
            launch,
            level: Level::detect(launch.config.instruction_set),
            planes: vec![Plane([0; 32]); (code.planes * count) as usize],
            warps: (0..count).map(|number| Warp::new(number, threads, code)).collect(),
            shared: vec![GARBAGE; launch.shared_bytes.div_ceil(4) as usize],
            caches: vec![Cache { base: 1, bytes: 0, words: &[] }; code.facts.len()],
        };
        set_presets(launch, &mut worker.planes, None);
        worker
    }

    /// Runs one block.
    pub fn run<O: Observer>(&mut self, info: &BlockInfo, observer: &mut O) -> Result<(), Outcome> {
        let code = &self.launch.kernel.code;
        set_presets(self.launch, &mut self.planes, Some(info));
        self.shared.fill(GARBAGE);
        for planes in self.planes.chunks_exact_mut((code.planes as usize).max(1)) {
            planes[code.preset_planes as usize..].fill(Plane([0; 32]));
        }
        // Not together with their registers: a kernel may have none.
        self.warps.iter_mut().for_each(Warp::reset);
        let mut barriers = [Barrier::default(); BARRIERS];
        let mut context = Context {
            launch: self.launch,
            code,
            observer,
            shared: &mut self.shared,
            caches: &mut self.caches,
            barriers: &mut barriers,
            info: *info,
            executed: 0,
        };
        let mut result = Ok(());
        'block: loop {
            let mut progress = false;
            let mut running = false;
            for index in 0..self.warps.len() {
                if self.warps[index].waiting_at.is_some() || self.warps[index].done {
                    continue;
                }
                progress = true;
                let planes = index * code.planes as usize..(index + 1) * code.planes as usize;
                let registers = Registers::new(&mut self.planes[planes]);
                let used = context.launch.executed.load(Ordering::Relaxed);
                let limit = context.launch.config.instruction_limit;
                let quantum = QUANTUM.min(limit.saturating_sub(used).saturating_add(1));
                context.executed = 0;
                let stop = step(self.level, &mut self.warps[index], registers, &mut context, quantum as i64);
                let used = context.launch.executed.fetch_add(context.executed, Ordering::Relaxed) + context.executed;
                // A barrier is no way around the limit: a loop that never ends may well wait in each of its turns.
                if used > limit && matches!(stop, Ok(Stop::Yield | Stop::Barrier)) {
                    let warp = &self.warps[index];
                    let at = code.insts.get(warp.pc as usize).map_or(0, |inst| inst.pc);
                    let at = if warp.waiting_at.is_some() { warp.waiting_pc } else { at };
                    result = Err(Outcome::Limit(context.launch.kernel.location(at)));
                    break 'block;
                }
                match stop {
                    Ok(Stop::Yield) => running = true,
                    Ok(Stop::Barrier | Stop::Done) => release(&mut self.warps, &mut context, &mut self.planes),
                    Err(outcome) => {
                        result = Err(*outcome);
                        break 'block;
                    }
                }
            }
            if self.warps.iter().all(|warp| warp.done) {
                break;
            }
            if !progress && !running {
                result = Err(deadlock(&self.warps, &context));
                break;
            }
        }
        result
    }
}

fn deadlock<O>(warps: &[Warp], context: &Context<'_, '_, O>) -> Outcome {
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
