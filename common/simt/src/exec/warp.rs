//! A warp: 32 lanes in lockstep. Where they part, one side runs to the meeting point before the other starts.

use super::access::{self, Checked, Pending};
use super::block::{BARRIERS, Barrier, Context};
#[cfg(target_arch = "x86_64")]
use super::isa::{Avx2, Avx512};
use super::isa::{Isa, Plain};
use super::registers::Registers;
use crate::FaultKind;
use crate::lower::Code;
use crate::lower::inst::{GUARD_NEGATED, Inst, NO_GUARD, NONE, Op, sub};
use crate::observe::Observer;

/// Why a warp stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its turn is over.
    Yield,
    /// It waits, or another may now go on.
    Barrier,
    /// All its threads have ended.
    Done,
}

/// Lanes that go on somewhere else later.
#[derive(Debug, Clone, Copy)]
struct Parked {
    pc: u32,
    lanes: u32,
    /// Where they meet others: the index of the `Enter` there.
    join: u32,
}

/// The state of a warp between two turns.
pub(crate) struct Warp {
    pub number: u32,
    /// Lanes that exist: the last warp of a block may be short.
    full: u32,
    /// Lanes whose threads have not ended.
    pub live: u32,
    /// Lanes that run now.
    active: u32,
    pub pc: u32,
    join: u32,
    stack: Vec<Parked>,
    pub predicates: Vec<u32>,
    pub local: Vec<u32>,
    pub done: bool,
    /// Barrier it waits at.
    pub waiting_at: Option<u32>,
    /// Instruction number of that barrier.
    pub waiting_pc: u32,
    /// Where the reduction of `bar.red` goes: register or predicate, kind.
    reduction: Option<(u32, bool, u8)>,
    pub pending: Vec<Pending>,
    /// Groups of copies each lane has closed.
    pub groups: [u32; 32],
}

impl Warp {
    pub fn new(number: u32, threads: u32, code: &Code) -> Self {
        let count = (threads - number * 32).min(32);
        Self {
            number,
            full: if count == 32 { u32::MAX } else { (1 << count) - 1 },
            live: 0,
            active: 0,
            pc: 0,
            join: NONE,
            stack: vec![],
            predicates: vec![0; code.predicates as usize],
            local: vec![0; code.local_bytes as usize * 8],
            done: false,
            waiting_at: None,
            waiting_pc: 0,
            reduction: None,
            pending: vec![],
            groups: [0; 32],
        }
    }

    /// Ready to run a new block.
    pub fn reset(&mut self, _code: &Code) {
        self.live = self.full;
        self.active = self.full;
        self.pc = 0;
        self.join = NONE;
        self.stack.clear();
        self.predicates.fill(0);
        self.local.fill(0);
        self.done = false;
        self.waiting_at = None;
        self.reduction = None;
        self.pending.clear();
        self.groups = [0; 32];
    }

    /// The barrier has opened: takes the result of its reduction.
    pub fn reduced(&mut self, barrier: &Barrier, registers: Registers) {
        let Some((to, predicate, kind)) = self.reduction.take() else { return };
        let value = match kind {
            sub::AND => u32::from(barrier.all),
            sub::OR => u32::from(barrier.any),
            _ => barrier.count,
        };
        if predicate {
            let bits = if value != 0 { self.active } else { 0 };
            let old = &mut self.predicates[to as usize];
            *old = *old & !self.active | bits;
        } else {
            registers.write(to, self.active, &[value; 32]);
        }
    }

    /// Goes on with parked lanes; false when there are none left.
    fn resume(&mut self) -> bool {
        while let Some(parked) = self.stack.pop() {
            let lanes = parked.lanes & self.live;
            if lanes != 0 {
                self.active = lanes;
                self.pc = parked.pc;
                self.join = parked.join;
                return true;
            }
        }
        false
    }

    /// Ends the threads of the lanes; true when others go on.
    fn end(&mut self, lanes: u32) -> bool {
        self.live &= !lanes;
        self.active &= !lanes;
        if self.active != 0 {
            return true;
        }
        if self.resume() {
            return true;
        }
        self.done = true;
        // Copies nobody waited for never land.
        self.pending.clear();
        false
    }

    /// Lanes part: `taken` go to `target`, the rest goes on at the next instruction; they meet at `meeting`.
    fn part(&mut self, taken: u32, target: u32, meeting: u32) {
        let rest = self.active & !taken;
        let next = self.pc;
        // Lanes already on their way to the same meeting point need no second entry for it; where they never meet again,
        // there is nothing to come back to.
        if self.join != meeting && meeting != NONE {
            self.stack.push(Parked { pc: meeting, lanes: self.active, join: self.join });
        }
        let outer = if meeting == NONE { self.join } else { meeting };
        if target == meeting {
            self.active = rest;
        } else if next == meeting {
            self.active = taken;
            self.pc = target;
        } else {
            self.stack.push(Parked { pc: next, lanes: rest, join: outer });
            self.active = taken;
            self.pc = target;
        }
        self.join = outer;
    }
}

macro_rules! instance {
    ($name:ident, $isa:ident $(, $feature:literal)?) => {
        /// Runs a warp with this instruction set.
        ///
        /// # Safety
        /// The processor must have the instruction set.
        $(#[target_feature(enable = $feature)])?
        pub(crate) unsafe fn $name<O: Observer>(
            warp: &mut Warp,
            registers: Registers,
            context: &mut Context<'_, '_, O>,
            quantum: i64,
        ) -> Checked<Stop> {
            // SAFETY: the caller vouches for the instruction set.
            unsafe { run::<$isa, O>(warp, registers, context, quantum) }
        }
    };
}
instance!(plain, Plain);
#[cfg(target_arch = "x86_64")]
instance!(avx2, Avx2, "avx2,fma");
#[cfg(target_arch = "x86_64")]
instance!(avx512, Avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma");

#[inline(always)]
unsafe fn run<I: Isa, O: Observer>(
    warp: &mut Warp,
    r: Registers,
    context: &mut Context<'_, '_, O>,
    quantum: i64,
) -> Checked<Stop> {
    let code = context.code;
    let insts = &code.insts[..];
    let mut budget = quantum;
    let stop = loop {
        let inst = &insts[warp.pc as usize];
        let here = warp.pc;
        warp.pc += 1;
        let mut mask = warp.active;
        if inst.guard != NO_GUARD {
            let bits = warp.predicates[(inst.guard & !GUARD_NEGATED) as usize];
            mask &= if inst.guard & GUARD_NEGATED == 0 { bits } else { !bits };
            if O::ACTIVE {
                context.observer.guarded(warp.number, inst.pc, mask);
            }
            if mask == 0 && inst.op != Op::Bra {
                continue;
            }
        }
        match inst.op {
            Op::Enter => {
                if here == warp.join {
                    // All that met here so far wait for the others.
                    if warp.resume() {
                        continue;
                    }
                    warp.done = true;
                    break Stop::Done;
                }
                if budget <= 0 {
                    warp.pc = here;
                    break Stop::Yield;
                }
                budget -= i64::from(inst.imm).max(1);
                if O::ACTIVE {
                    context.observer.enter(warp.number, inst.d, inst.pc, inst.pc + inst.imm as u32, mask);
                }
            }
            Op::Run => {
                let run = &code.runs[inst.d as usize];
                if mask == u32::MAX
                    && let Some(bases) = access::bases::<I, O>(context, run, r)
                {
                    if O::ACTIVE {
                        access::watch_run(context, run, &bases, warp.number);
                    }
                    // SAFETY: the caller vouches for the instruction set, and `bases` has checked the loads.
                    unsafe { I::run(&run.steps, &bases, context.shared, r) };
                    warp.pc += inst.imm as u32;
                }
            }
            Op::LdShared => access::load_shared::<I, O>(context, inst, r, warp.number, mask, 0)?,
            Op::StShared => access::store_shared::<I, O>(context, inst, r, warp.number, mask, 0)?,
            Op::LdGlobal => access::load_global::<I, O>(context, inst, r, warp.number, mask)?,
            Op::StGlobal => access::store_global::<I, O>(context, inst, r, warp.number, mask)?,
            Op::Bra => {
                if O::ACTIVE && inst.guard != NO_GUARD {
                    context.observer.branch(warp.number, inst.pc, mask, warp.active & !mask);
                }
                if mask == warp.active {
                    warp.pc = inst.d;
                } else if mask != 0 {
                    warp.part(mask, inst.d, inst.e);
                }
            }
            Op::Exit => {
                if O::ACTIVE {
                    context.observer.exit(warp.number, inst.pc, mask);
                }
                if !warp.end(mask) {
                    break Stop::Done;
                }
            }
            Op::Bar | Op::BarRed => {
                if barrier(warp, context, inst, r, mask)? {
                    break Stop::Barrier;
                }
            }
            Op::LdLocal => access::local(context, inst, r, warp, mask, 0, true)?,
            Op::StLocal => access::local(context, inst, r, warp, mask, 0, false)?,
            Op::LdGeneric => access::generic::<I, O>(context, inst, r, warp, mask, true)?,
            Op::StGeneric => access::generic::<I, O>(context, inst, r, warp, mask, false)?,
            Op::LdParam => access::load_param(context, inst, r, warp.number, mask)?,
            Op::Atom => access::atomic::<I, O>(context, inst, r, warp.number, mask)?,
            Op::CopyAsync => {
                let predicates = std::mem::take(&mut warp.predicates);
                let result = access::copy_async::<I, O>(context, inst, r, &predicates, warp, mask);
                warp.predicates = predicates;
                result?;
            }
            Op::CopyCommit => {
                for (lane, group) in warp.groups.iter_mut().enumerate() {
                    *group += mask >> lane & 1;
                }
                if O::ACTIVE {
                    context.observer.copy_commit(warp.number, inst.pc, mask);
                }
            }
            Op::CopyWait | Op::CopyWaitAll => {
                let keep = (inst.op == Op::CopyWait).then_some(inst.imm as u32);
                access::land(context.shared, warp, mask, keep);
                if O::ACTIVE {
                    context.observer.copy_wait(warp.number, inst.pc, mask, keep);
                }
            }
            Op::Shfl | Op::Vote | Op::Match | Op::Redux | Op::ActiveMask | Op::WarpSync => {
                warp_wide(warp, context, inst, r, mask)?;
            }
            Op::Clock => clock(context, inst, r, mask, (quantum - budget) as u64),
            Op::Fence => {
                if O::ACTIVE {
                    context.observer.fence(warp.number, inst.pc, mask);
                }
            }
            Op::Trap => {
                let lane = mask.trailing_zeros();
                return Err(context.fault(FaultKind::Trap, inst.pc, warp.number, Some(lane)));
            }
            Op::Brx => indexed(warp, context, inst, r)?,
            Op::Nop => {}
            // SAFETY: the caller vouches for the instruction set.
            _ => unsafe { I::alu(inst, r, &mut warp.predicates, &code.details, mask) },
        }
    };
    context.executed += (quantum - budget) as u64;
    Ok(stop)
}

/// An indexed branch: the lanes of each target in turn, from the last to the first.
#[inline(never)]
fn indexed<O: Observer>(warp: &mut Warp, context: &mut Context<'_, '_, O>, inst: &Inst, r: Registers) -> Checked<()> {
    let targets = &context.code.tables[inst.imm as usize];
    let index = r.read(inst.a);
    let (all, meeting) = (warp.active, inst.e);
    let mut sides: Vec<(u32, u32)> = vec![];
    for lane in (0..32).filter(|lane| all >> lane & 1 != 0) {
        let Some(&target) = targets.get(index[lane] as usize) else {
            let text = format!("indexed branch to target {} of {},", index[lane], targets.len());
            return Err(context.fault(FaultKind::Other(text), inst.pc, warp.number, Some(lane as u32)));
        };
        match sides.iter_mut().find(|side| side.0 == target) {
            Some(side) => side.1 |= 1 << lane,
            None => sides.push((target, 1 << lane)),
        }
    }
    if O::ACTIVE && sides.len() > 1 {
        context.observer.branch(warp.number, inst.pc, sides[0].1, all & !sides[0].1);
    }
    if let [(target, _)] = sides[..] {
        warp.pc = target;
        return Ok(());
    }
    if meeting != NONE && warp.join != meeting {
        warp.stack.push(Parked { pc: meeting, lanes: all, join: warp.join });
        warp.join = meeting;
    }
    // Lanes whose target is the meeting point are there already.
    let join = warp.join;
    warp.stack.extend(sides.iter().filter(|side| side.0 != meeting).map(|&(pc, lanes)| Parked { pc, lanes, join }));
    // With two targets or more at least one is not the meeting point.
    warp.resume();
    Ok(())
}

/// Arrives at a barrier; true when the warp must stop.
#[inline(never)]
fn barrier<O: Observer>(
    warp: &mut Warp,
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    mask: u32,
) -> Checked<bool> {
    let lane = mask.trailing_zeros() as usize;
    let reduce = inst.op == Op::BarRed;
    let waits = reduce || inst.sub == 0;
    let id = r.lane(inst.a, lane);
    if id as usize >= BARRIERS {
        let kind = FaultKind::Other(format!("barrier {id}: a block has barriers 0 to 15,"));
        return Err(context.fault(kind, inst.pc, warp.number, Some(lane as u32)));
    }
    if mask != warp.live {
        let missing = (warp.live & !mask).trailing_zeros();
        let kind = FaultKind::DivergentBarrier { reached: mask.count_ones(), expected: warp.live.count_ones() };
        return Err(context.fault(kind, inst.pc, warp.number, Some(missing)));
    }
    let expected = if inst.b == NONE { 0 } else { r.lane(inst.b, lane) };
    if inst.b != NONE && (expected == 0 || expected % 32 != 0) {
        let kind = FaultKind::Other(format!("barrier for {expected} threads: the number must be a multiple of 32,"));
        return Err(context.fault(kind, inst.pc, warp.number, Some(lane as u32)));
    }
    if O::ACTIVE {
        context.observer.barrier_arrive(warp.number, inst.pc, id, mask, waits);
    }
    let barrier = &mut context.barriers[id as usize];
    if barrier.arrived == 0 {
        *barrier = Barrier { all: true, ..Barrier::default() };
    }
    if expected != 0 {
        barrier.expected = expected;
    }
    barrier.arrived += 1;
    if reduce {
        let mut bits = warp.predicates[inst.c as usize];
        if inst.imm != 0 {
            bits = !bits;
        }
        barrier.all &= bits & mask == mask;
        barrier.any |= bits & mask != 0;
        barrier.count += (bits & mask).count_ones();
        let predicate = inst.sub != sub::POPC;
        warp.reduction = Some((inst.d, predicate, inst.sub));
    }
    if waits {
        barrier.waiting |= 1 << warp.number;
        warp.waiting_at = Some(id);
        warp.waiting_pc = inst.pc;
    }
    // A warp that only arrives stops too, so that the barrier can open.
    Ok(true)
}

/// Instructions that exchange values between the lanes of a warp.
#[inline(never)]
fn warp_wide<O: Observer>(
    warp: &mut Warp,
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    mask: u32,
) -> Checked<()> {
    let first = mask.trailing_zeros() as usize;
    let named = match inst.op {
        Op::WarpSync => Some(inst.a),
        Op::Vote | Op::Match | Op::Redux => Some(inst.b),
        _ => None,
    };
    if let Some(register) = named {
        let named = r.lane(register, first);
        // `bar.warp.sync` may stand in both branches of a condition; the others exchange values and need all lanes.
        let plain_sync = inst.op == Op::WarpSync && inst.imm == 0;
        if named & warp.live & !mask != 0 && !plain_sync {
            let kind = FaultKind::MissingLanes { named, present: mask };
            return Err(context.fault(kind, inst.pc, warp.number, Some(first as u32)));
        }
        if O::ACTIVE {
            context.observer.warp_sync(warp.number, inst.pc, mask & named);
        }
    }
    let lanes = || (0..32usize).filter(|lane| mask >> lane & 1 != 0);
    let set = |warp: &mut Warp, to: u32, bits: u32| {
        if to != NONE {
            let old = &mut warp.predicates[to as usize];
            *old = *old & !mask | bits & mask;
        }
    };
    match inst.op {
        Op::ActiveMask => r.write(inst.d, mask, &[mask; 32]),
        Op::Shfl => {
            let (value, b, c) = (r.read(inst.a), r.read(inst.b), r.read(inst.c));
            let mut out = [0; 32];
            let mut inside = 0;
            for lane in lanes() {
                let (clamp, segment) = ((c[lane] & 31) as i32, (c[lane] >> 8 & 31) as i32);
                let (by, me) = ((b[lane] & 31) as i32, lane as i32);
                let max = me & segment | clamp & !segment;
                let min = me & segment;
                let (mut from, ok) = match inst.sub {
                    sub::UP => (me - by, me - by >= max),
                    sub::DOWN => (me + by, me + by <= max),
                    sub::BFLY => (me ^ by, me ^ by <= max),
                    _ => (min | by & !segment, min | by & !segment <= max),
                };
                if !ok {
                    from = me;
                }
                inside |= u32::from(ok) << lane;
                out[lane] = value[from as usize & 31];
            }
            if inst.d != NONE {
                r.write(inst.d, mask, &out);
            }
            set(warp, inst.e, inside);
        }
        Op::Vote => {
            let named = r.lane(inst.b, first) & mask;
            let mut bits = warp.predicates[inst.a as usize];
            if inst.imm != 0 {
                bits = !bits;
            }
            let bits = bits & named;
            let holds = match inst.sub {
                sub::ALL => bits == named,
                sub::ANY => bits != 0,
                sub::UNI => bits == 0 || bits == named,
                _ => false,
            };
            if inst.sub == sub::BALLOT {
                r.write(inst.d, mask, &[bits; 32]);
            } else {
                set(warp, inst.d, if holds { u32::MAX } else { 0 });
            }
        }
        Op::Match => {
            let named = r.lane(inst.b, first) & mask;
            let value =
                |lane: usize| if inst.imm != 0 { r.lane64(inst.a, lane) } else { u64::from(r.lane(inst.a, lane)) };
            let values: Vec<u64> = (0..32).map(|lane| if mask >> lane & 1 != 0 { value(lane) } else { 0 }).collect();
            let mut out = [0; 32];
            for lane in lanes() {
                out[lane] = lanes()
                    .filter(|&other| named >> other & 1 != 0 && values[other] == values[lane])
                    .fold(0, |m, other| m | 1 << other);
            }
            if inst.sub == 1 {
                let same = out[first] == named;
                r.write(inst.d, mask, &[if same { named } else { 0 }; 32]);
                set(warp, inst.e, if same { u32::MAX } else { 0 });
            } else {
                r.write(inst.d, mask, &out);
            }
        }
        Op::Redux => {
            let named = r.lane(inst.b, first) & mask;
            let value = r.read(inst.a);
            let result =
                lanes().filter(|lane| named >> lane & 1 != 0).map(|lane| value[lane]).reduce(|a, b| match inst.sub {
                    sub::ADD => a.wrapping_add(b),
                    sub::MIN_S => (a as i32).min(b as i32) as u32,
                    sub::MAX_S => (a as i32).max(b as i32) as u32,
                    sub::MIN_U => a.min(b),
                    sub::MAX_U => a.max(b),
                    sub::AND => a & b,
                    sub::OR => a | b,
                    _ => a ^ b,
                });
            r.write(inst.d, mask, &[result.unwrap_or(0); 32]);
        }
        _ => {}
    }
    Ok(())
}

/// Clocks count executed instructions: the same in every run.
#[inline(never)]
fn clock<O>(context: &Context<'_, '_, O>, inst: &Inst, r: Registers, mask: u32, now: u64) {
    let now = context.executed + now;
    let value = if matches!(inst.sub, 1 | 3) { now >> 32 } else { now };
    if inst.imm != 0 {
        r.write64(inst.d, mask, &[value; 32]);
    } else {
        r.write(inst.d, mask, &[value as u32; 32]);
    }
}
