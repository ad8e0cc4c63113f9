//! Asynchronous copies from global to shared memory. They are read when they start, and written when a thread waits for them.
//!
//! A bulk copy is started by one thread and has any size. Its bytes arrive at a barrier in shared memory. It lands as late as
//! possible: when a thread asks the barrier or arrives there, and the barrier waits for nothing but bulk copies.

use super::plain::place;
use super::request::{At, addresses, check_global, check_shared, check_within, read_element, write_words};
use crate::exec::context::{Checked, Context};
use crate::exec::warp::{Flight, Warp};
use crate::lanes::{each, select};
use crate::observe::{Access, BulkCopy, CopyAccess, CopyLanded};
use ptx::error::{AccessKind, FaultKind};
use ptx::lower::inst::{Copy, CopyCount, NONE, Shape};
use ptx::lower::{COUNT_BITS, SHARED_WINDOW};
use ptx::place::Space;
use std::sync::atomic::Ordering::Relaxed;

#[inline(never)]
pub(crate) fn copy_async(context: &mut Context, at: At, warp: &mut Warp) -> Checked<()> {
    let At { inst, r, lanes, .. } = at;
    let copy = context.code.copies[inst.imm as usize];
    if let Some(barrier) = copy.bulk {
        return start_bulk(context, at, barrier);
    }
    let to = addresses(r, inst.a, copy.wide_to, copy.to_offset, lanes);
    let from = addresses(r, inst.b, true, copy.from_offset, lanes);
    let mut source = [copy.bytes; 32];
    if inst.c != NONE {
        for (lane, source) in source.iter_mut().enumerate() {
            let asked = match copy.count {
                CopyCount::Ignore if warp.predicates[inst.c as usize] >> lane & 1 != 0 => 0,
                CopyCount::Ignore => copy.bytes,
                CopyCount::WideBytes => r.lane::<u64>(inst.c, lane).min(u64::from(u32::MAX)) as u32,
                CopyCount::Bytes => r.lane(inst.c, lane),
            };
            if asked > copy.bytes && lanes >> lane & 1 != 0 {
                let text = format!("asynchronous copy of {asked} bytes into {} bytes,", copy.bytes);
                return Err(context.fault(FaultKind::Other(text), inst.pc, warp.number, Some(lane as u32)));
            }
            *source = asked;
        }
    }
    let by = (warp.number, inst.pc, lanes);
    let reading = Access::new(by, (AccessKind::CopySource, Space::Global), copy.bytes, &from);
    let writing = Access::new(by, (AccessKind::CopyDestination, Space::Shared), copy.bytes, &to);
    check_shared(context, &writing)?;
    let mut cache = None;
    if each(lanes).all(|lane| source[lane] == copy.bytes) {
        cache = check_global(context, &reading)?.0;
    } else {
        for lane in each(lanes) {
            // Lanes that read nothing may name any source, but it must be aligned all the same.
            let outside = source[lane] > 0 && context.launch.memory.holding(from[lane], source[lane]).is_none();
            if outside || !from[lane].is_multiple_of(u64::from(copy.bytes)) {
                return Err(context.bad_access(Access { lanes: 1 << lane, ..reading }, |_| false));
            }
        }
    }
    let (Copy { bytes, bypass, .. }, instruction, source_bytes) = (copy, inst.pc, &source);
    let started =
        CopyAccess { warp: warp.number, instruction, lanes, bytes, bypass, source_bytes, from: &from, to: &to };
    context.tell(|observer| observer.copy(&started));
    // Each lane is simulated and checked on its own, which takes longer than most instructions of a whole warp.
    context.launch.progress.besides.fetch_add(u64::from(lanes.count_ones() * bytes / 16), Relaxed);
    let to = to.map(|address| address as u32);
    let mut flight = Flight { instruction, lanes, bytes, to, data: [[0; 4]; 32] };
    for lane in each(select(lanes, |lane| source[lane] > 0)) {
        let (words, at) = place(context, cache, from[lane]);
        for (part, word) in (0..bytes / 4).zip(&mut flight.data[lane]) {
            let left = source[lane].saturating_sub(4 * part);
            if left > 0 {
                let value = words[at / 4 + part as usize].load(Relaxed);
                *word = if left >= 4 { value } else { value & ((1 << (8 * left)) - 1) };
            }
        }
    }
    warp.flights.start(flight, |flight, lanes| write(context, warp.number, instruction, flight, lanes));
    Ok(())
}

/// Writes the data of the copies of some lanes.
fn write(context: &mut Context, warp: u32, at: u32, flight: &Flight, lanes: u32) {
    let &Flight { instruction, bytes, ref to, ref data, .. } = flight;
    let words = bytes as usize / 4;
    for lane in each(lanes) {
        context.shared[to[lane] as usize / 4..][..words].copy_from_slice(&data[lane][..words]);
    }
    context.tell(|observer| observer.copy_landed(&CopyLanded { warp, instruction, at, lanes, bytes, to }));
}

/// Lands copies at a wait: see [`Flights::land`](crate::exec::warp::Flights::land).
#[inline(never)]
pub(crate) fn land(context: &mut Context, warp: &mut Warp, at: u32, lanes: u32, keep: Option<u32>) {
    warp.flights.land(lanes, keep, |flight, lanes| write(context, warp.number, at, flight, lanes));
}

/// The most bulk copies that may be under way to one barrier. A kernel that never waits must not fill the host's memory.
const MOST_UNDER_WAY: usize = 1 << 16;

/// Starts bulk copies. Operand `c` of the instruction holds the lanes' sizes.
fn start_bulk(context: &mut Context, at: At, (offset, wide): (i64, bool)) -> Checked<()> {
    let At { inst, r, warp, lanes } = at;
    let copy = context.code.copies[inst.imm as usize];
    let to = addresses(r, inst.a, copy.wide_to, copy.to_offset, lanes);
    let from = addresses(r, inst.b, true, copy.from_offset, lanes);
    let at = addresses(r, inst.e, wide, offset, lanes);
    let sizes: [u32; 32] = r.read(inst.c);
    let by = (warp, inst.pc, lanes);
    let shared = u64::from(context.launch.shared_bytes);
    check_within(context, &Access::new(by, (AccessKind::Atomic, Space::Shared), 8, &at), shared)?;
    for lane in each(lanes) {
        let (bytes, unit) = (sizes[lane], copy.bytes);
        if !bytes.is_multiple_of(unit) {
            let text = format!("bulk copy of {bytes} bytes, which is no multiple of {unit},");
            return Err(context.fault(FaultKind::Other(text), inst.pc, warp, Some(lane as u32)));
        }
        if bytes == 0 {
            continue;
        }
        let writing = Access::new((warp, inst.pc, 1 << lane), (AccessKind::CopyDestination, Space::Shared), unit, &to);
        let reading = Access::new((warp, inst.pc, 1 << lane), (AccessKind::CopySource, Space::Global), unit, &from);
        // Both its first and its last unit must be inside.
        for start in [0, u64::from(bytes - unit)] {
            let [to, from] = [to, from].map(|all| all.map(|address| address.wrapping_add(start)));
            check_within(context, &Access { addresses: &to, ..writing }, shared)?;
            let inside = |address: u64| context.launch.memory.holding(address, unit).is_some();
            if !from[lane].is_multiple_of(unit.into()) || !inside(from[lane]) {
                return Err(context.bad_access(Access { addresses: &from, ..reading }, inside));
            }
        }
        let (thread, instruction, from) = (warp * 32 + lane as u32, inst.pc, from[lane]);
        if context.launch.memory.holding(from, bytes).is_none() {
            // It begins in one allocation and ends in another.
            let end = [from + u64::from(bytes) - 16; 32];
            return Err(context.bad_access(Access { addresses: &end, ..reading }, |_| false));
        }
        let copy = BulkCopy { thread, instruction, bytes, from, to: to[lane] as u32, barrier: at[lane] as u32 };
        context.tell(|observer| observer.bulk_copy(&copy));
        // A warp copies 512 bytes with one instruction, so a bulk copy counts as much towards the limit.
        context.executed += u64::from(bytes / 512);
        let under_way = &mut context.transactions.entry(copy.barrier).or_default().under_way;
        if under_way.len() < MOST_UNDER_WAY {
            under_way.push(copy);
        }
    }
    Ok(())
}

/// Lands bulk copies when a thread asks a barrier whether its phase is complete.
#[inline(never)]
pub(crate) fn settle(context: &mut Context, At { inst, r, lanes, .. }: At) {
    if context.transactions.is_empty() {
        return;
    }
    let wide = Shape::unpack(inst.sub).wide_address;
    for lane in each(lanes) {
        let address = addresses(r, inst.a, wide, inst.imm.into(), lanes)[lane];
        let barrier = if wide && address >= SHARED_WINDOW { address - SHARED_WINDOW } else { address };
        if let Ok(barrier) = u32::try_from(barrier) {
            land_bulk(context, barrier);
        }
    }
}

/// Lets a barrier wait for more bytes, before an arrival. Returns how many it waits for now.
pub(super) fn expect(context: &mut Context, barrier: u32, bytes: i64) -> u64 {
    land_bulk(context, barrier);
    if bytes == 0 && !context.transactions.contains_key(&barrier) {
        return 0;
    }
    let awaited = &mut context.transactions.entry(barrier).or_default().bytes;
    *awaited = awaited.saturating_add(bytes);
    *awaited as u64
}

/// Lands the bulk copies of a barrier if it waits for nothing else.
fn land_bulk(context: &mut Context, barrier: u32) {
    let Some(awaited) = context.transactions.get_mut(&barrier).filter(|awaited| !awaited.under_way.is_empty()) else {
        return;
    };
    let state = read_element(|word| context.shared[word], barrier as usize, 8);
    let bytes = || awaited.under_way.iter().map(|copy| i64::from(copy.bytes)).sum::<i64>();
    if state & ((1 << COUNT_BITS) - 1) != 0 || awaited.bytes != bytes() {
        return;
    }
    awaited.bytes = 0;
    for copy in std::mem::take(&mut awaited.under_way) {
        let (words, at) = place(context, None, copy.from);
        let source = words[at / 4..][..copy.bytes as usize / 4].iter().map(|word| word.load(Relaxed));
        context.shared[copy.to as usize / 4..].iter_mut().zip(source).for_each(|(to, from)| *to = from);
        context.tell(|observer| observer.bulk_landed(&copy));
    }
    write_words(&mut context.shared, barrier as usize, 8, arrive(state, 0, 0, 0));
}

/// Returns a barrier's state after `by` arrivals. The next phase begins if no arrivals are pending and `bytes` is zero. Later
/// phases wait for `drop` fewer arrivals.
pub(super) fn arrive(old: u64, by: u64, drop: u64, bytes: u64) -> u64 {
    let ones = (1 << COUNT_BITS) - 1;
    let (pending, expected, phase) = (old & ones, old >> COUNT_BITS & ones, old >> (2 * COUNT_BITS));
    let (pending, expected) = (pending.saturating_sub(by), expected.saturating_sub(drop));
    let (pending, phase) = if pending == 0 && bytes == 0 { (expected, phase + 1) } else { (pending, phase) };
    pending | expected << COUNT_BITS | phase << (2 * COUNT_BITS)
}
