//! A block: its warps take turns, each running to its next barrier.

use super::Launch;
use super::registers::{Plane, Registers};
use super::warp::{Stop, Warp};
use crate::lower::{Code, Preset, Special};
use crate::observe::Observer;
use crate::{BlockInfo, Fault, FaultKind, InstructionSet, Location};
use std::sync::atomic::{AtomicU32, Ordering};

/// Warp instructions a warp may run before another gets its turn, so that a warp that waits for another's flag in
/// memory does not wait for ever.
const QUANTUM: u64 = 1 << 20;
/// Hardware barriers of a block.
pub(crate) const BARRIERS: usize = 16;
/// What shared memory holds before a kernel writes it: a NaN that shows in every result it reaches.
const GARBAGE: u32 = 0xffff_ffff;

/// How a block failed.
pub(crate) enum Outcome {
    Fault(Box<Fault>),
    Limit(Location),
}

impl Outcome {
    /// Whether this outcome, of block `number`, is reported rather than `old`, of block `first`.
    pub fn before(&self, number: u64, old: &Self, first: u64) -> bool {
        match (self, old) {
            (Self::Fault(_), Self::Limit(_)) => true,
            (Self::Limit(_), Self::Fault(_)) => false,
            _ => number < first,
        }
    }
}

/// The instruction set to run with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The best this processor has, up to what is asked for.
    fn detect(asked: InstructionSet) -> Self {
        #[cfg(target_arch = "x86_64")]
        if asked != InstructionSet::Plain && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            return if avx512 && asked == InstructionSet::Best { Self::Avx512 } else { Self::Avx2 };
        }
        let _ = asked;
        Self::Plain
    }
}

/// The latest allocation an instruction touched.
#[derive(Clone, Copy)]
pub(crate) struct Cache<'a> {
    pub base: u64,
    pub bytes: u64,
    pub words: &'a [AtomicU32],
}

/// A named barrier of the block.
#[derive(Clone, Copy, Default)]
pub(crate) struct Barrier {
    /// Warps that wait.
    pub waiting: u32,
    /// Warps that arrived, those that do not wait included (a count: a warp may arrive without waiting).
    pub arrived: u32,
    /// Threads that must arrive; zero means all.
    pub expected: u32,
    /// Reduction so far: and, or, count.
    pub all: bool,
    pub any: bool,
    pub count: u32,
}

/// Everything of a block but its warps.
pub(crate) struct Context<'a, 'b, O> {
    pub launch: &'a Launch<'a>,
    pub code: &'a Code,
    pub observer: &'b mut O,
    pub shared: &'b mut [u32],
    pub caches: &'b mut [Cache<'a>],
    pub barriers: &'b mut [Barrier; BARRIERS],
    pub info: BlockInfo,
    pub executed: u64,
}

/// Runs blocks one after the other, keeping its buffers.
pub(crate) struct Worker<'a> {
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
        worker.presets(None);
        worker
    }

    /// Sets what is known before a warp starts: everything (no block given), or what changes with the block.
    fn presets(&mut self, block: Option<&BlockInfo>) {
        let code = &self.launch.kernel.code;
        let size = self.launch.config.block;
        for (number, planes) in (0u64..).zip(self.planes.chunks_exact_mut((code.planes as usize).max(1))) {
            let registers = Registers::new(planes);
            for &(offset, wide, preset) in &code.presets {
                let changes = matches!(preset, Preset::Special(Special::Ctaid(_)));
                if changes != block.is_some() {
                    continue;
                }
                let constant = self.launch.constant(preset);
                for lane in 0..32usize {
                    let thread = size.index(number * 32 + lane as u64);
                    let axis = |index: crate::Dim3, axis: u8| u64::from([index.x, index.y, index.z][axis as usize % 3]);
                    let value = constant.unwrap_or_else(|| match preset {
                        Preset::Special(special) => match special {
                            Special::Tid(dimension) => axis(thread, dimension),
                            Special::Ctaid(dimension) => block.map_or(0, |block| axis(block.index, dimension)),
                            Special::LaneId => lane as u64,
                            Special::WarpId => number,
                            Special::LaneMaskEq => 1 << lane,
                            Special::LaneMaskLt => (1 << lane) - 1,
                            Special::LaneMaskLe => (2 << lane) - 1,
                            Special::LaneMaskGt => 0xffff_ffff & !((2 << lane) - 1),
                            Special::LaneMaskGe => 0xffff_ffff & !((1 << lane) - 1),
                            _ => 0,
                        },
                        _ => 0,
                    });
                    if wide {
                        registers.set64(offset, lane, value);
                    } else {
                        registers.set(offset, lane, value as u32);
                    }
                }
            }
        }
    }

    /// Runs one block.
    pub fn run<O: Observer>(&mut self, info: &BlockInfo, observer: &mut O) -> Result<(), Outcome> {
        let code = &self.launch.kernel.code;
        self.presets(Some(info));
        self.shared.fill(GARBAGE);
        for (warp, planes) in self.warps.iter_mut().zip(self.planes.chunks_exact_mut((code.planes as usize).max(1))) {
            planes[code.preset_planes as usize..].fill(Plane([0; 32]));
            warp.reset(code);
        }
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
                match stop {
                    Ok(Stop::Yield) => {
                        running = true;
                        if used > limit {
                            let pc = self.warps[index].pc;
                            let at = code.insts.get(pc as usize).map_or(0, |inst| inst.pc);
                            result = Err(Outcome::Limit(context.launch.kernel.location(at)));
                            break 'block;
                        }
                    }
                    Ok(Stop::Barrier | Stop::Done) => {
                        release(&mut self.warps, &mut context, &mut self.planes);
                    }
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

/// Opens every barrier that is complete.
fn release<O: Observer>(warps: &mut [Warp], context: &mut Context<'_, '_, O>, planes: &mut [Plane]) {
    let per_warp = context.code.planes as usize;
    let running: u32 = warps.iter().filter(|warp| !warp.done).map(|warp| 1 << warp.number).sum();
    for id in 0..BARRIERS {
        let barrier = context.barriers[id];
        if barrier.waiting == 0 && barrier.arrived == 0 {
            continue;
        }
        let complete = if barrier.expected == 0 {
            barrier.waiting & running == running
        } else {
            barrier.arrived * 32 >= barrier.expected
        };
        if !complete {
            continue;
        }
        context.barriers[id] = Barrier::default();
        for warp in warps.iter_mut().filter(|warp| barrier.waiting >> warp.number & 1 != 0) {
            warp.waiting_at = None;
            let start = warp.number as usize * per_warp;
            warp.reduced(&barrier, Registers::new(&mut planes[start..start + per_warp]));
        }
        if O::ACTIVE {
            context.observer.barrier_release(id as u32, barrier.waiting);
        }
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

fn step<O: Observer>(
    level: Level,
    warp: &mut Warp,
    registers: Registers,
    context: &mut Context<'_, '_, O>,
    quantum: i64,
) -> Result<Stop, Box<Outcome>> {
    // SAFETY: `Level::detect` found the instruction set on this processor.
    unsafe {
        match level {
            Level::Plain => super::warp::plain(warp, registers, context, quantum),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => super::warp::avx2(warp, registers, context, quantum),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => super::warp::avx512(warp, registers, context, quantum),
        }
    }
}
