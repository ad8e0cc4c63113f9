//! Instructions that exchange values between the lanes of a warp: shuffles, votes, matches, reductions.

use super::access::At;
use super::alu::{get, set};
use super::context::{Checked, Context};
use super::warp::Warp;
use crate::lanes::{each, select};
use ptx::error::FaultKind;
use ptx::lower::inst::{NONE, Op, sub};

/// Groups the lanes of `mask` by what they name. Returns what each group names, and its lanes.
pub(super) fn groups(names: [u32; 32], mask: u32) -> impl Iterator<Item = (u32, u32)> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let &name = names.get(left.trailing_zeros() as usize)?;
        let same = select(left, |lane| names[lane] == name);
        left &= !same;
        Some((name, same))
    })
}

/// Returns the lane that a shuffle reads, and whether it is in the segment. If it is not, the lane reads its own value.
pub(crate) fn source(mode: u8, lane: usize, by: u32, bounds: u32) -> (usize, bool) {
    let (clamp, segment) = ((bounds & 31) as i32, (bounds >> 8 & 31) as i32);
    let (by, me) = ((by & 31) as i32, lane as i32);
    let max = me & segment | clamp & !segment;
    let (from, inside) = match mode {
        sub::UP => (me - by, me - by >= max),
        sub::DOWN => (me + by, me + by <= max),
        sub::BFLY => (me ^ by, me ^ by <= max),
        _ => (me & segment | by & !segment, me & segment | by & !segment <= max),
    };
    (if inside { from as usize & 31 } else { lane }, inside)
}

/// Executes an instruction that exchanges values between the lanes of a warp.
#[inline(never)]
pub(super) fn exchange(warp: &mut Warp, context: &mut Context, at: At) -> Checked<()> {
    let At { inst, r, lanes: mask, .. } = at;
    let named = match inst.op {
        Op::WarpSync => Some(inst.a),
        Op::Vote | Op::Match | Op::Redux => Some(inst.b),
        _ => None,
    };
    let mut names: [u32; 32] = named.map_or([0; 32], |register| r.read(register));
    if named.is_some() {
        // `bar.warp.sync` may be in both branches of a condition. The others exchange values, so they need all lanes at once.
        let plain_sync = inst.op == Op::WarpSync && inst.imm == 0;
        let (mut came, mut missing) = (mask, 0);
        for (name, same) in groups(names, mask) {
            let absent = name & warp.live & !mask;
            if absent != 0 && !plain_sync && mask == warp.active && warp.gather(name, &context.code.insts) {
                return Ok(());
            }
            if absent != 0 && !plain_sync {
                let kind = FaultKind::MissingLanes { named: name, present: mask };
                return Err(context.fault(kind, inst.pc, warp.number, Some(same.trailing_zeros())));
            }
            // Lanes that already wait came with the same mask.
            let waited = absent & warp.waiting_lanes;
            each(waited).for_each(|lane| names[lane] = name);
            came |= waited;
            missing |= absent & !waited;
        }
        if context.is_watched() {
            // A match orders its lanes: NVIDIA's `cuda::pipeline` relies on it when its last thread destroys the barriers.
            let orders = plain_sync || inst.op == Op::Match && inst.sub != sub::ELECT;
            for (name, same) in groups(names, if plain_sync { came } else { mask }) {
                context.tell(|observer| observer.warp_sync(warp.number, inst.pc, same, name, !orders));
            }
        }
        if plain_sync && missing == 0 {
            groups(names, mask).for_each(|(name, _)| warp.waiting_lanes &= !name);
        } else if plain_sync && mask == warp.active {
            warp.wait_for(missing);
        }
    }
    match inst.op {
        Op::ActiveMask => r.write(inst.d, mask, &[mask; 32]),
        Op::Shfl => {
            let [value, b, c] = [inst.a, inst.b, inst.c].map(|register| r.read::<u32>(register));
            let mut out = [0; 32];
            let (mut inside, mut absent) = (0, 0);
            for lane in each(mask) {
                let (from, ok) = source(inst.sub, lane, b[lane], c[lane]);
                inside |= u32::from(ok) << lane;
                absent |= (!mask >> from & 1) << lane;
                out[lane] = value[from];
            }
            if inst.d != NONE {
                r.write(inst.d, mask, &out);
            }
            set(&mut warp.predicates, inst.e, mask, inside);
            if absent != 0 {
                context.tell(|observer| observer.absent(warp.number, inst.pc, absent));
                context.ask();
            }
        }
        Op::Vote => {
            let bits = get(&warp.predicates, inst.a, inst.imm != 0);
            for (name, same) in groups(names, mask) {
                let voters = name & mask;
                let bits = bits & voters;
                let holds = match inst.sub {
                    sub::ALL => bits == voters,
                    sub::ANY => bits != 0,
                    sub::UNI => bits == 0 || bits == voters,
                    _ => false,
                };
                if inst.sub == sub::BALLOT {
                    r.write(inst.d, same, &[bits; 32]);
                } else {
                    set(&mut warp.predicates, inst.d, same, if holds { u32::MAX } else { 0 });
                }
            }
        }
        Op::Match => {
            let values: [u64; 32] = if inst.imm != 0 { r.read(inst.a) } else { r.read(inst.a).map(|x: u32| x.into()) };
            for (name, same) in groups(names, mask) {
                let compared = name & mask;
                if inst.sub == sub::ELECT {
                    // A GPU may choose any lane; here it is the first one.
                    let leader = compared.trailing_zeros();
                    if inst.d != NONE {
                        r.write(inst.d, same, &[leader; 32]);
                    }
                    // If there are no lanes to choose from, none is chosen.
                    set(&mut warp.predicates, inst.e, same, 1_u32.checked_shl(leader).unwrap_or(0));
                    continue;
                }
                let alike = |lane: usize| select(compared, |other| values[other] == values[lane]);
                if inst.sub == sub::ALL {
                    let all = alike(same.trailing_zeros() as usize) == compared;
                    r.write(inst.d, same, &[if all { compared } else { 0 }; 32]);
                    set(&mut warp.predicates, inst.e, same, if all { u32::MAX } else { 0 });
                } else {
                    let mut out = [0; 32];
                    each(same).for_each(|lane| out[lane] = alike(lane));
                    r.write(inst.d, same, &out);
                }
            }
        }
        Op::Redux => {
            let value: [u32; 32] = r.read(inst.a);
            for (name, same) in groups(names, mask) {
                let result = each(name & mask).map(|lane| value[lane]).reduce(|a, b| match inst.sub {
                    sub::ADD => a.wrapping_add(b),
                    sub::MIN_S => (a as i32).min(b as i32) as u32,
                    sub::MAX_S => (a as i32).max(b as i32) as u32,
                    sub::MIN_U => a.min(b),
                    sub::MAX_U => a.max(b),
                    sub::AND => a & b,
                    sub::OR => a | b,
                    _ => a ^ b,
                });
                r.write(inst.d, same, &[result.unwrap_or(0); 32]);
            }
        }
        _ => {}
    }
    Ok(())
}
