//! Barriers of a block: warps arrive, and go on once all that are expected have arrived.

use super::access::At;
use super::alu::get;
use super::context::{BARRIERS, Barrier, Checked, Context};
use super::registers::{Plane, Registers};
use super::warp::Warp;
use crate::lanes::each;
use crate::observe::Arrival;
use ptx::error::FaultKind;
use ptx::lower::inst::{Inst, NONE, Op};

/// Whether the lanes of a warp may arrive one by one, which they may at a barrier without `.aligned`.
#[inline]
pub(super) fn takes_one_by_one(inst: &Inst) -> bool {
    inst.op == Op::Bar && inst.imm != 0
}

/// Lets lanes that arrive before the rest of their warp wait, so that the rest goes on. Returns false if all lanes are there, or if
/// no others are on the way.
#[inline(never)]
pub(super) fn arrive_early(warp: &mut Warp, context: &mut Context, at: At) -> Checked<bool> {
    let At { inst, lanes: mask, .. } = at;
    if (mask | warp.early) & warp.live == warp.live {
        return Ok(false);
    }
    let named = named(warp, context, at)?;
    let told = warp.early;
    if !warp.wait_for_warp(mask, named.0) {
        return Ok(false);
    }
    show(context, inst, warp.number, mask & !told, named);
    Ok(true)
}

/// Returns the barrier that lanes of a warp name, and how many threads it is for, or 0 for all.
fn named(warp: &Warp, context: &Context, At { inst, r, lanes: mask, .. }: At) -> Checked<(u32, u32)> {
    let lane = mask.trailing_zeros() as usize;
    let id: u32 = r.lane(inst.a, lane);
    let ids: [u32; 32] = r.read(inst.a);
    let fault = |kind, lane: usize| context.fault(kind, inst.pc, warp.number, Some(lane as u32));
    let early = (warp.early != 0).then_some((lane, warp.early_at));
    if let Some((lane, other)) = each(mask).map(|lane| (lane, ids[lane])).chain(early).find(|other| other.1 != id) {
        return Err(fault(FaultKind::TwoBarriers { one: id, other }, lane));
    }
    if id as usize >= BARRIERS {
        return Err(fault(FaultKind::NoSuchBarrier { id }, lane));
    }
    let expected = if inst.b == NONE { 0 } else { r.lane(inst.b, lane) };
    if inst.b != NONE && (expected == 0 || expected % 32 != 0) {
        return Err(fault(FaultKind::PartsOfWarps { threads: expected }, lane));
    }
    Ok((id, expected))
}

fn show(context: &mut Context, inst: &Inst, warp: u32, lanes: u32, named: (u32, u32)) {
    if lanes != 0 {
        let ((id, threads), instruction, reduces) = (named, inst.pc, inst.op == Op::BarRed);
        let waits = reduces || inst.sub == 0;
        let arrival = Arrival { warp, instruction, lanes, id, threads, waits, reduces };
        context.tell(|observer| observer.barrier_arrive(&arrival));
    }
}

/// Arrives at a barrier. The warp stops even if it does not wait, so that the barrier can open.
#[inline(never)]
pub(super) fn arrive(warp: &mut Warp, context: &mut Context, at: At) -> Checked<()> {
    let At { inst, lanes: mask, .. } = at;
    let reduce = inst.op == Op::BarRed;
    let waits = reduce || inst.sub == 0;
    let (id, expected) = named(warp, context, at)?;
    let early = if takes_one_by_one(inst) { warp.early } else { 0 };
    if (mask | early) & warp.live != warp.live {
        let missing = (warp.live & !mask & !early).trailing_zeros();
        let kind = FaultKind::DivergentBarrier { reached: mask.count_ones(), expected: warp.live.count_ones() };
        return Err(context.fault(kind, inst.pc, warp.number, Some(missing)));
    }
    show(context, inst, warp.number, mask & !early, (id, expected));
    warp.all_have_come();
    let barrier = &mut context.barriers[id as usize];
    if barrier.arrived == 0 {
        *barrier = Barrier { all: true, ..Barrier::default() };
    }
    if expected != 0 {
        barrier.expected = expected;
    }
    barrier.arrived += 1;
    if reduce {
        let bits = get(&warp.predicates, inst.c, inst.imm != 0) & mask;
        barrier.all &= bits == mask;
        barrier.any |= bits != 0;
        barrier.count += bits.count_ones();
        warp.reduction = Some((inst.d, inst.sub));
    }
    if waits {
        barrier.waiting |= 1 << warp.number;
        warp.waiting_at = Some(id);
        warp.waiting_pc = inst.pc;
    }
    Ok(())
}

/// Opens every barrier that is complete.
pub(super) fn release(warps: &mut [Warp], context: &mut Context, planes: &mut [Plane]) {
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
        context.tell(|observer| observer.barrier_release(id as u32, barrier.waiting));
    }
}
