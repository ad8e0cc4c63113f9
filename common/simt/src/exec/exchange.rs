//! Instructions that exchange values between the lanes of a warp: shuffles, votes, matches, reductions.

use super::alu::set;
use super::context::{Checked, Context};
use super::registers::Registers;
use super::warp::Warp;
use crate::error::FaultKind;
use crate::lanes::{each, select};
use crate::lower::inst::{Inst, NONE, Op, sub};
use crate::observe::Observer;

/// Shows an observer which lanes meet here: those that name the same lanes.
fn show<O: Observer>(context: &mut Context<'_, '_, O>, inst: &Inst, named: [u32; 32], warp: u32, mask: u32) {
    let exchange = inst.op != Op::WarpSync || inst.imm != 0;
    let mut left = mask;
    while left != 0 {
        let name = named[left.trailing_zeros() as usize];
        let same = select(left, |lane| named[lane] == name);
        context.observer.warp_sync(warp, inst.pc, same, name, exchange);
        left &= !same;
    }
}

/// Instructions that exchange values between the lanes of a warp.
#[inline(never)]
pub(super) fn exchange<O: Observer>(
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
        let named: u32 = r.lane(register, first);
        // `bar.warp.sync` may stand in both branches of a condition; the others exchange values and need all lanes.
        let plain_sync = inst.op == Op::WarpSync && inst.imm == 0;
        if named & warp.live & !mask != 0 && !plain_sync {
            let kind = FaultKind::MissingLanes { named, present: mask };
            return Err(context.fault(kind, inst.pc, warp.number, Some(first as u32)));
        }
        let came = mask | named & warp.waiting_lanes;
        if O::ACTIVE {
            // Those who have waited came with the same mask.
            let mut names: [u32; 32] = r.read(register);
            each(came & !mask).for_each(|lane| names[lane] = named);
            show(context, inst, names, warp.number, if plain_sync { came } else { mask });
        }
        if plain_sync {
            let missing = named & warp.live & !came;
            if missing == 0 {
                warp.waiting_lanes &= !named;
            } else if mask == warp.active {
                warp.wait_for(missing);
            }
        }
    }
    match inst.op {
        Op::ActiveMask => r.write(inst.d, mask, &[mask; 32]),
        Op::Shfl => {
            let [value, b, c] = [inst.a, inst.b, inst.c].map(|register| r.read::<u32>(register));
            let mut out = [0; 32];
            let mut inside = 0;
            for lane in each(mask) {
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
            set(&mut warp.predicates, inst.e, mask, inside);
        }
        Op::Vote => {
            let named = r.lane::<u32>(inst.b, first) & mask;
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
                set(&mut warp.predicates, inst.d, mask, if holds { u32::MAX } else { 0 });
            }
        }
        Op::Match => {
            let named = r.lane::<u32>(inst.b, first) & mask;
            let values: [u64; 32] = if inst.imm != 0 { r.read(inst.a) } else { r.read(inst.a).map(|x: u32| x.into()) };
            let mut out = [0; 32];
            for lane in each(mask) {
                out[lane] = select(named, |other| values[other] == values[lane]);
            }
            if inst.sub == 1 {
                let same = out[first] == named;
                r.write(inst.d, mask, &[if same { named } else { 0 }; 32]);
                set(&mut warp.predicates, inst.e, mask, if same { u32::MAX } else { 0 });
            } else {
                r.write(inst.d, mask, &out);
            }
        }
        Op::Redux => {
            let named = r.lane::<u32>(inst.b, first) & mask;
            let value: [u32; 32] = r.read(inst.a);
            let result = each(named).map(|lane| value[lane]).reduce(|a, b| match inst.sub {
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
