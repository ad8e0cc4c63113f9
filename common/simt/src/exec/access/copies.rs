//! Asynchronous copies from global to shared memory: read when they start, written when somebody waits for them.

use super::bulk;
use super::elements::addresses;
use super::plain::place;
use super::request::{At, check_global, check_shared};
use crate::ast::Space;
use crate::error::{AccessKind, FaultKind};
use crate::exec::context::{Checked, Context};
use crate::exec::flights::Flight;
use crate::exec::warp::Warp;
use crate::lanes::{each, select};
use crate::lower::inst::{Copy, CopyCount, NONE};
use crate::observe::{Access, CopyAccess, CopyLanded};
use std::sync::atomic::Ordering::Relaxed;

#[inline(never)]
pub(crate) fn copy_async(context: &mut Context, at: At, warp: &mut Warp) -> Checked<()> {
    let At { inst, r, lanes, .. } = at;
    let copy = context.code.copies[inst.imm as usize];
    if let Some(barrier) = copy.bulk {
        return bulk::start(context, at, barrier);
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
    let ((warp_number, instruction, lanes), Copy { bytes, bypass, .. }) = (by, copy);
    let started = CopyAccess {
        warp: warp_number,
        instruction,
        lanes,
        bytes,
        bypass,
        source_bytes: &source,
        from: &from,
        to: &to,
    };
    context.tell(|observer| observer.copy(&started));
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

/// Writes what the copies of some lanes bring.
fn write(context: &mut Context, warp: u32, at: u32, flight: &Flight, lanes: u32) {
    let &Flight { instruction, bytes, ref to, ref data, .. } = flight;
    let words = bytes as usize / 4;
    for lane in each(lanes) {
        context.shared[to[lane] as usize / 4..][..words].copy_from_slice(&data[lane][..words]);
    }
    context.tell(|observer| observer.copy_landed(&CopyLanded { warp, instruction, at, lanes, bytes, to }));
}

/// Lands copies at a wait: see [`Flights::land`](crate::exec::flights::Flights::land).
#[inline(never)]
pub(crate) fn land(context: &mut Context, warp: &mut Warp, at: u32, lanes: u32, keep: Option<u32>) {
    warp.flights.land(lanes, keep, |flight, lanes| write(context, warp.number, at, flight, lanes));
}
