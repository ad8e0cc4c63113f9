//! The loop that executes a warp's instructions, compiled once for each instruction set of the host.

use super::access::{self, At};
use super::alu::get;
use super::barrier::{arrive, arrive_early, takes_one_by_one};
use super::context::{Checked, Context};
use super::exchange::{exchange, groups};
#[cfg(target_arch = "x86_64")]
use super::isa::{Avx2, Avx512};
use super::isa::{Isa, Plain};
use super::registers::{Registers, WarpRegisters};
use super::system::system;
use super::warp::{Parked, Warp};
use super::warpgroup::warpgroup;
use crate::config::InstructionSet;
use crate::lanes::each;
use crate::observe::{Executed, Observer};
use ptx::error::FaultKind;
use ptx::lower::inst::{GUARD_NEGATED, Inst, NO_GUARD, NONE, Op};

/// The loop for an instruction set that this processor was found to have.
#[derive(Clone, Copy)]
pub(super) struct Level(unsafe fn(&mut Warp, Registers<'_>, &mut Context<'_>, &mut Turn) -> Checked<Stop>);

impl Level {
    /// Returns the best loop up to what is asked for, or the plain one if observers are told of every instruction.
    pub fn detect(asked: InstructionSet, steps: bool) -> Self {
        if steps {
            return Self(stepping);
        }
        #[cfg(target_arch = "x86_64")]
        if asked != InstructionSet::Plain && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            return if avx512 && asked == InstructionSet::Best { Self(avx512_loop) } else { Self(avx2_loop) };
        }
        let _ = asked;
        Self(plain)
    }

    /// Runs a warp until its turn is over, it arrives at a barrier, or all its threads have ended.
    pub fn step(self, warp: &mut Warp, registers: Registers, context: &mut Context, quantum: i64) -> Checked<Stop> {
        let turn = context.launch.config.turn;
        let left = if turn > 0 { turn } else { u64::MAX };
        let mut turn = Turn { quantum, budget: quantum, left, over: Stop::Yield };
        context.follows = warp.follows;
        let stop = loop {
            // SAFETY: `Level::detect` found the instruction set on this processor, and every processor has the plain ones.
            let stop = unsafe {
                if context.follows {
                    stepping(warp, registers, context, &mut turn)
                } else {
                    self.0(warp, registers, context, &mut turn)
                }
            };
            if !matches!(stop, Ok(Stop::Changes)) {
                break stop;
            }
        };
        warp.follows = context.follows;
        if stop.is_ok() {
            context.executed += (turn.quantum - turn.budget) as u64;
        }
        stop
    }
}

/// What is left of a warp's turn.
struct Turn {
    quantum: i64,
    budget: i64,
    /// Instructions that the turn has left, if observers are told of each.
    left: u64,
    /// What the turn ends with when its time is over.
    over: Stop,
}

/// Why a warp stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Its turn is over.
    Yield,
    /// It gives the rest of its turn to others.
    Idle,
    /// It has polled for what others do.
    Asked,
    /// Others may wait for what it has just done.
    Told,
    Barrier,
    Done,
    /// It goes on in another loop, because observers want to be told of every instruction from now on, or no longer.
    Changes,
}

macro_rules! instance {
    ($name:ident, $isa:ident, $steps:literal $(, $feature:literal)?) => {
        /// Runs a warp with this instruction set.
        ///
        /// # Safety
        /// The processor must have the instruction set.
        $(#[target_feature(enable = $feature)])?
        unsafe fn $name(
            warp: &mut Warp,
            registers: Registers,
            context: &mut Context,
            turn: &mut Turn,
        ) -> Checked<Stop> {
            // SAFETY: the caller vouches for the instruction set.
            unsafe { run::<$isa, $steps>(warp, registers, context, turn) }
        }
    };
}
instance!(plain, Plain, false);
instance!(stepping, Plain, true);
#[cfg(target_arch = "x86_64")]
instance!(avx2_loop, Avx2, false, "avx2,fma");
#[cfg(target_arch = "x86_64")]
instance!(avx512_loop, Avx512, false, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma");

/// The loop itself. It is inlined into each instance, so that all of it uses the instance's instructions.
///
/// # Safety
/// The processor must have the instruction set.
#[inline(always)]
unsafe fn run<I: Isa, const STEPS: bool>(
    warp: &mut Warp,
    r: Registers,
    context: &mut Context,
    turn: &mut Turn,
) -> Checked<Stop> {
    let code = context.code;
    let insts = &code.insts[..];
    let Turn { mut quantum, mut budget, mut left, mut over } = *turn;
    let stop = loop {
        // After an access that makes observers want to be told of what comes next, another loop goes on.
        macro_rules! follows {
            () => {
                if !STEPS && context.follows {
                    break Stop::Changes;
                }
            };
        }
        let inst = &insts[warp.pc as usize];
        let here = warp.pc;
        if STEPS && context.launch.steps && !inst.op.is_note() {
            if left == 0 || warp.ahead == Some(0) {
                break Stop::Yield;
            }
            left -= 1;
            warp.ahead = warp.ahead.map(|ahead| ahead - 1);
        }
        warp.pc += 1;
        let mut mask = warp.active;
        if STEPS && context.follows && !inst.op.is_note() {
            follow(warp, context, inst, r, mask);
        }
        if inst.guard != NO_GUARD {
            mask &= get(&warp.predicates, (inst.guard & !GUARD_NEGATED).into(), inst.guard & GUARD_NEGATED != 0);
            context.tell(|observer| observer.guarded(warp.number, inst.pc, mask));
            if mask == 0 && inst.op != Op::Bra {
                executed::<STEPS>(warp, context, inst, r, 0);
                continue;
            }
        }
        let number = warp.number;
        let at = || At { inst, r, warp: number, lanes: mask };
        match inst.op {
            Op::Enter => {
                if here == warp.join {
                    // The lanes that have met here wait for the others.
                    if warp.resume() {
                        continue;
                    }
                    warp.done = true;
                    break Stop::Done;
                }
                if budget <= 0 {
                    warp.pc = here;
                    if code.polls {
                        warp.take_turns();
                    }
                    break over;
                }
                budget -= i64::from(inst.imm).max(1) + i64::from(inst.c);
                quantum -= i64::from(inst.c);
                if inst.c != 0 {
                    over = Stop::Asked;
                }
                context.tell(|observer| observer.enter(warp.number, inst.d, inst.pc, inst.pc + inst.imm as u32, mask));
                if context.changes(STEPS) {
                    break Stop::Changes;
                }
            }
            // An observer that is told of every instruction sees those that the run stands for.
            Op::Run if STEPS => continue,
            Op::Run => {
                let run = &code.runs[inst.d as usize];
                if mask == u32::MAX
                    && let Some(bases) = access::bases(context, run, r)
                {
                    if context.is_watched() {
                        access::show_run(context, run, &bases, (warp.number, inst.pc + inst.imm as u32));
                    }
                    // SAFETY: the caller vouches for the instruction set, and `bases` has checked the loads.
                    unsafe { I::run(&run.steps, &bases, &context.shared, r) };
                    warp.pc += inst.imm as u32;
                    follows!();
                }
            }
            Op::LdShared => {
                access::load_shared(context, at(), 0)?;
                follows!();
            }
            Op::StShared => access::store_shared(context, at(), 0)?,
            Op::LdGlobal => {
                access::load_global(context, at())?;
                follows!();
            }
            Op::StGlobal => access::store_global(context, at())?,
            Op::Bra => {
                if inst.guard != NO_GUARD {
                    context.tell(|observer| observer.branch(warp.number, inst.pc, mask, warp.active & !mask));
                }
                if mask == warp.active {
                    warp.pc = inst.d;
                } else if mask != 0 {
                    warp.part(mask, inst.d, inst.e);
                }
            }
            Op::Exit => {
                context.tell(|observer| observer.exit(warp.number, inst.pc, mask));
                if !warp.end(mask) {
                    executed::<STEPS>(warp, context, inst, r, mask);
                    break Stop::Done;
                }
            }
            Op::Bar | Op::BarRed => {
                if takes_one_by_one(inst) {
                    if mask != warp.live && arrive_early(warp, context, at())? {
                        executed::<STEPS>(warp, context, inst, r, mask);
                        continue;
                    }
                } else if warp.gather(warp.live, &code.insts) {
                    continue;
                }
                arrive(warp, context, at())?;
                executed::<STEPS>(warp, context, inst, r, mask);
                break Stop::Barrier;
            }
            Op::LdLocal | Op::StLocal => {
                access::local(context, at(), &mut warp.local, 0, inst.op == Op::LdLocal)?;
                follows!();
            }
            Op::LdGeneric | Op::StGeneric => {
                access::generic(context, at(), &mut warp.local, inst.op == Op::LdGeneric)?;
                follows!();
            }
            Op::CopyCommit => {
                warp.flights.commit(mask);
                context.tell(|observer| observer.copy_commit(warp.number, inst.pc, mask));
            }
            Op::CopyWait | Op::CopyWaitAll => {
                let keep = (inst.op == Op::CopyWait).then_some(inst.imm as u32);
                context.tell(|observer| observer.copy_wait(warp.number, inst.pc, mask, keep));
                access::land(context, warp, inst.pc, mask, keep);
            }
            Op::Clock => clock(context, inst, r, mask, (quantum - budget) as u64),
            Op::Fence => {
                context.tell(|observer| observer.fence(warp.number, inst.pc, mask));
            }
            Op::Brx => indexed(warp, context, inst, r)?,
            Op::Tell => {
                if inst.imm != 0 || context.told {
                    break Stop::Told;
                }
                continue;
            }
            Op::Yield => {
                // The rest of its turn does not count as executed.
                quantum -= budget.max(0);
                budget = budget.min(0);
                over = Stop::Idle;
                if inst.a != NONE {
                    access::settle(context, at());
                }
            }
            Op::Nop => {}
            // SAFETY: the caller vouches for the instruction set.
            op if op.computes() => unsafe { I::alu(inst, r, &mut warp.predicates, &code.details, mask) },
            _ => {
                seldom(warp, context, at())?;
                follows!();
            }
        }
        executed::<STEPS>(warp, context, inst, r, mask);
    };
    *turn = Turn { quantum, budget, left, over };
    Ok(stop)
}

impl Context<'_> {
    /// Asks, when a warp starts a basic block, whether the observers want to be told of its instructions. Returns whether another
    /// loop must go on than the present one, which tells them if it `steps`.
    #[inline(always)]
    fn changes(&mut self, steps: bool) -> bool {
        if !self.is_watched() {
            return false;
        }
        self.follows = self.observers.iter().any(|observer| observer.follows());
        self.follows != steps && !self.launch.steps
    }
}

/// Tells the observers which instruction a warp is about to execute.
#[inline(never)]
fn follow(warp: &Warp, context: &mut Context, inst: &Inst, r: Registers, lanes: u32) {
    told(warp, context, inst, r, lanes, |observer, step| observer.follow(step));
}

/// Tells the observers of an instruction, if they want to know of each.
#[inline(always)]
fn executed<const STEPS: bool>(warp: &Warp, context: &mut Context, inst: &Inst, r: Registers, lanes: u32) {
    if STEPS && inst.op != Op::Enter && context.launch.steps {
        told(warp, context, inst, r, lanes, |observer, step| observer.executed(step));
    }
}

/// Shows the observers what the registers hold.
fn told(
    warp: &Warp,
    context: &mut Context,
    inst: &Inst,
    r: Registers,
    lanes: u32,
    event: fn(&mut dyn Observer, &Executed<'_>),
) {
    let registers = WarpRegisters { registers: r, planes: context.code.planes, predicates: &warp.predicates };
    let (shared, memory) = (&*context.shared, context.launch.memory);
    let step = Executed { warp: warp.number, instruction: inst.pc, lanes, inst, shared, memory, registers: &registers };
    context.observers.iter_mut().for_each(|observer| event(&mut **observer, &step));
}

/// Executes what kernels do seldom. It is out of line, so that the loop above stays small.
#[inline(never)]
fn seldom(warp: &mut Warp, context: &mut Context, at: At) -> Checked<()> {
    let inst = at.inst;
    if matches!(inst.op, Op::Matrix | Op::Warpgroup) && warp.gather(warp.live, &context.code.insts) {
        return Ok(());
    }
    match inst.op {
        Op::LdParam => access::load_param(context, at),
        Op::Atom => access::atomic(context, at),
        Op::CopyAsync => access::copy_async(context, at, warp),
        Op::Matrix => access::matrix(context, at),
        Op::Warpgroup => warpgroup(warp, context, at),
        Op::System => system(warp, context, at),
        Op::Trap => Err(context.fault(FaultKind::Trap, inst.pc, warp.number, Some(at.lanes.trailing_zeros()))),
        _ => exchange(warp, context, at),
    }
}

/// Executes an indexed branch: the lanes of each target run in turn, from the last target to the first.
#[inline(never)]
fn indexed(warp: &mut Warp, context: &mut Context, inst: &Inst, r: Registers) -> Checked<()> {
    let targets = &context.code.tables[inst.imm as usize];
    let index: [u32; 32] = r.read(inst.a);
    let (all, meeting) = (warp.active, inst.e);
    if let Some(lane) = each(all).find(|&lane| index[lane] as usize >= targets.len()) {
        let text = format!("indexed branch to target {} of {},", index[lane], targets.len());
        return Err(context.fault(FaultKind::Other(text), inst.pc, warp.number, Some(lane as u32)));
    }
    let to = index.map(|index| targets.get(index as usize).copied().unwrap_or(0));
    let sides: Vec<(u32, u32)> = groups(to, all).collect();
    if sides.len() > 1 {
        context.tell(|observer| observer.branch(warp.number, inst.pc, sides[0].1, all & !sides[0].1));
    }
    if let [(target, _)] = sides[..] {
        warp.pc = target;
        return Ok(());
    }
    if meeting != NONE && warp.join != meeting {
        warp.stack.push(Parked { pc: meeting, lanes: all, join: warp.join });
        warp.join = meeting;
    }
    // Lanes whose target is the meeting point are already there.
    let join = warp.join;
    warp.stack.extend(sides.iter().filter(|side| side.0 != meeting).map(|&(pc, lanes)| Parked { pc, lanes, join }));
    // Of two or more targets, at least one is not the meeting point.
    warp.resume();
    Ok(())
}

/// Reads a clock. Clocks count the instructions that the block has executed, so they are the same in every run.
#[inline(never)]
fn clock(context: &Context, inst: &Inst, r: Registers, mask: u32, now: u64) {
    let now = context.clock + context.executed + now;
    let value = if matches!(inst.sub, 1 | 3) { now >> 32 } else { now };
    r.write_bits(inst.d, inst.imm != 0, mask, &[value; 32]);
}
