//! Barriers of a block: warps arrive, and go on when all that are expected have.

use super::context::{BARRIERS, Barrier, Checked, Context};
use super::registers::{Plane, Registers};
use super::warp::Warp;
use crate::error::FaultKind;
use crate::lanes::each;
use crate::lower::inst::{Inst, NONE, Op, sub};
use crate::observe::{Arrival, Observer};

/// Arrives at a barrier. The warp stops, even one that only arrives, so that the barrier can open.
#[inline(never)]
pub(super) fn arrive<O: Observer>(
    warp: &mut Warp,
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    mask: u32,
) -> Checked<()> {
    let lane = mask.trailing_zeros() as usize;
    let reduce = inst.op == Op::BarRed;
    let waits = reduce || inst.sub == 0;
    let id: u32 = r.lane(inst.a, lane);
    let ids: [u32; 32] = r.read(inst.a);
    if let Some(other) = each(mask).find(|&lane| ids[lane] != id) {
        let kind =
            FaultKind::Other(format!("barriers {id} and {} in one warp: its threads must name the same,", ids[other]));
        return Err(context.fault(kind, inst.pc, warp.number, Some(other as u32)));
    }
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
        let (warp, instruction, lanes) = (warp.number, inst.pc, mask);
        let arrival = Arrival { warp, instruction, lanes, id, threads: expected, waits, reduces: reduce };
        context.observer.barrier_arrive(&arrival);
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
    Ok(())
}

/// Opens every barrier that is complete.
pub(super) fn release<O: Observer>(warps: &mut [Warp], context: &mut Context<'_, '_, O>, planes: &mut [Plane]) {
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
