//! Atomic operations on shared and global memory.

use super::copies::{arrive, expect};
use super::plain::place;
use super::request::{At, addresses, check, fill, read_element, set_lane, show, write_atomic, write_words};
use crate::exec::context::{Checked, Context};
use crate::exec::convert::extend;
use crate::exec::real::{Format, Real, canonical, canonical64, flush};
use crate::lanes::{each, select};
use crate::locked::lock;
use crate::observe::Access;
use ptx::ast::Type;
use ptx::error::AccessKind;
use ptx::lower::SHARED_WINDOW;
use ptx::lower::inst::{AtomicOp, NONE, Rounding};
use ptx::place::Space;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Executes an atomic operation. If the addresses are generic, lanes in shared memory go before those in global memory.
#[inline(never)]
pub(crate) fn atomic(context: &mut Context, at: At) -> Checked<()> {
    let At { inst, r, lanes, .. } = at;
    let atomic = context.code.atomics[inst.imm as usize];
    let all = addresses(r, inst.a, true, atomic.offset, lanes);
    let bytes = atomic.kind.bytes();
    let wide = bytes == 8;
    let (shared, window) = match atomic.space {
        Space::Shared => (lanes, 0),
        Space::Generic => {
            let in_window = |lane: usize| (SHARED_WINDOW..SHARED_WINDOW + (1 << 32)).contains(&all[lane]);
            (select(lanes, in_window), SHARED_WINDOW)
        }
        _ => (0, 0),
    };
    // Only a compare-and-swap may fail and write nothing.
    let mask = if wide { u64::MAX } else { 0xffff_ffff };
    let fails = |old: u64, b: u64| atomic.op == AtomicOp::Cas && (old ^ b) & mask != 0;
    let arrives = matches!(atomic.op, AtomicOp::Arrive | AtomicOp::ArriveDrop);
    let parts = [(Space::Shared, shared, window), (Space::Global, lanes & !shared, 0)];
    for (space, lanes, window) in parts.into_iter().filter(|part| part.1 != 0) {
        let mut addresses = all.map(|address| address.wrapping_sub(window));
        fill(&mut addresses, lanes);
        let at = At { lanes, ..at };
        let access = Access { bytes, ..at.request(AccessKind::Atomic, space, &addresses) };
        let cache = check(context, &access)?;
        let mut written = lanes;
        for lane in each(lanes) {
            let get = |register| if register == NONE { 0 } else { r.bits(register, wide, lane) };
            let (b, c) = (get(inst.b), get(inst.c));
            let old = if space == Space::Shared {
                let at = addresses[lane] as usize;
                let c = if arrives { expect(context, at as u32, c as i64) } else { c };
                let old = read_element(|word| context.shared[word], at, bytes);
                let new = combine(atomic.op, atomic.kind, old, b, c, false);
                // An arrival at a barrier does not count, because threads that wait for a phase wait for all arrivals.
                context.told |= !arrives && new != old;
                write_words(&mut context.shared, at, bytes, new);
                old
            } else {
                let (words, at) = place(context, cache, addresses[lane]);
                let old = update(context, words, at, bytes, |old| combine(atomic.op, atomic.kind, old, b, c, true));
                context.told |= !atomic.leaves && !fails(old, b);
                old
            };
            written &= !(u32::from(fails(old, b)) << lane);
            set_lane(r, inst.d, wide, lane, old);
        }
        show(context, &Access { written, ..access });
    }
    Ok(())
}

/// Updates an element of global memory in one step, and returns the old one.
fn update(context: &Context, words: &[AtomicU32], at: usize, bytes: u32, new: impl Fn(u64) -> u64) -> u64 {
    if bytes == 8 {
        let _lock = lock(&context.launch.progress.atomic);
        let old = read_element(|word| words[word].load(Relaxed), at, 8);
        write_atomic(words, at, 8, new(old));
        return old;
    }
    // An element of 16 bits is only part of a word.
    let (shift, ones) = if bytes == 2 { (8 * (at as u32 & 2), 0xffff) } else { (0, u32::MAX) };
    let element = |word: u32| u64::from(word >> shift & ones);
    let update = |word: u32| Some(word & !(ones << shift) | (new(element(word)) as u32 & ones) << shift);
    match words[at / 4].fetch_update(Relaxed, Relaxed, update) {
        Ok(old) | Err(old) => element(old),
    }
}

fn half_sum(kind: Type, x: u64, y: u64) -> u64 {
    let format = Format::of(kind);
    let [x, y] = [x, y].map(|bits| Real::read(bits, format, false));
    x.plus(y, Rounding::Nearest).round(format, Rounding::Nearest)
}

/// Returns what an atomic operation leaves in memory. Single-precision sums flush subnormal numbers in global memory only.
fn combine(op: AtomicOp, kind: Type, old: u64, b: u64, c: u64, global: bool) -> u64 {
    let mask = u64::MAX >> (64 - 8 * kind.bytes());
    let (old, b, c) = (old & mask, b & mask, c & mask);
    let value = match (op, kind) {
        (AtomicOp::Add, Type::F32) => {
            let [x, y] = [old, b].map(|bits| flush(f32::from_bits(bits as u32), global));
            u64::from(canonical(flush(x + y, global)))
        }
        (AtomicOp::Add, Type::F64) => canonical64(f64::from_bits(old) + f64::from_bits(b)),
        (AtomicOp::Add, kind) if kind.is_packed() => half_sum(kind, old >> 16, b >> 16) << 16 | half_sum(kind, old, b),
        (AtomicOp::Add, kind) if kind.is_half() => half_sum(kind, old, b),
        (AtomicOp::Add, _) => old.wrapping_add(b),
        (AtomicOp::Min, _) => extend(old, kind).min(extend(b, kind)) as u64,
        (AtomicOp::Max, _) => extend(old, kind).max(extend(b, kind)) as u64,
        (AtomicOp::Exch, _) => b,
        (AtomicOp::Cas, _) if old == b => c,
        (AtomicOp::Cas, _) => old,
        (AtomicOp::And, _) => old & b,
        (AtomicOp::Or, _) => old | b,
        (AtomicOp::Xor, _) => old ^ b,
        (AtomicOp::Inc, _) if old >= b => 0,
        (AtomicOp::Inc, _) => old + 1,
        (AtomicOp::Dec, _) if old == 0 || old > b => b,
        (AtomicOp::Dec, _) => old - 1,
        (AtomicOp::Arrive, _) => arrive(old, b, 0, c),
        (AtomicOp::ArriveDrop, _) => arrive(old, b, b, c),
    };
    value & mask
}
