//! Loads and stores of shared memory, and the runs that load from it.

use super::elements::{addresses, data, get_lane, load_element, parts, set_lane, write_words};
use super::request::{At, check_shared, show};
use crate::ast::Space;
use crate::error::AccessKind;
use crate::exec::context::{Checked, Context};
use crate::exec::isa::Isa;
use crate::exec::pattern::{Arrangement, Pattern, Summary};
use crate::exec::registers::Registers;
use crate::lanes::each;
use crate::lower::inst::{BASES, NONE, Run};
use crate::observe::{Access, SharedLoads};

/// A load; `window` is where shared memory starts in the addresses of this instruction.
#[inline(always)]
pub(crate) fn load_shared<I: Isa>(context: &mut Context, at: At, window: u64) -> Checked<()> {
    let (shape, addresses) = at.addresses(window);
    let At { inst, r, lanes, .. } = at;
    let access = at.request(AccessKind::Load, Space::Shared, &addresses);
    check_shared::<I>(context, &access)?;
    show(context, &access);
    let words = &*context.shared;
    if shape.bytes == 4 && !shape.wide {
        let mut index = [0u32; 32];
        for (index, address) in index.iter_mut().zip(&addresses) {
            *index = *address as u32 / 4;
        }
        for (part, register) in data(inst).into_iter().enumerate().take(shape.count as usize) {
            if register != NONE {
                r.gather(register, lanes, &words[part..], &index);
            }
        }
        return Ok(());
    }
    for lane in each(lanes) {
        for (register, before) in parts(inst, shape) {
            let at = (addresses[lane] + u64::from(before)) as usize;
            set_lane(r, register, shape.wide, lane, load_element(|word| words[word], at, shape));
        }
    }
    Ok(())
}

/// A store; `window` as for loads.
#[inline(always)]
pub(crate) fn store_shared<I: Isa>(context: &mut Context, at: At, window: u64) -> Checked<()> {
    let (shape, addresses) = at.addresses(window);
    let data = at.stored(context);
    let access = Access { data: data.as_ref(), ..at.request(AccessKind::Store, Space::Shared, &addresses) };
    check_shared::<I>(context, &access)?;
    show(context, &access);
    for lane in each(at.lanes) {
        for (register, before) in parts(at.inst, shape) {
            let place = (addresses[lane] + u64::from(before)) as usize;
            write_words(&mut context.shared, place, shape.bytes, get_lane(at.r, register, shape.wide, lane));
        }
    }
    Ok(())
}

/// Checks all loads of a run at once; none when one of them would be a fault (or might be, for a wide address), which
/// the instructions one by one will find.
#[inline(always)]
pub(crate) fn bases<I: Isa>(context: &Context, run: &Run, r: Registers) -> Option<[Pattern; BASES]> {
    let mut patterns = [Pattern { index: [0; 32], kind: Arrangement::Scattered }; BASES];
    for (base, pattern) in run.bases.iter().zip(&mut patterns) {
        let addresses = addresses(r, base.register, base.wide, 0, u32::MAX);
        let Summary { low, high, bits, same, next } = I::summary(&addresses);
        // Positions beyond 4 GiB are outside without further sums.
        let inside = high < 1 << 32
            && low as i64 + i64::from(base.low) >= 0
            && high as i64 + i64::from(base.high) <= i64::from(context.launch.shared_bytes);
        if !inside || bits & u64::from(base.align - 1) != 0 {
            return None;
        }
        pattern.kind = match (same, next) {
            (true, _) => Arrangement::Broadcast,
            (_, true) => Arrangement::Contiguous,
            _ => Arrangement::Scattered,
        };
        for (index, address) in pattern.index.iter_mut().zip(&addresses) {
            *index = *address as u32 / 4;
        }
    }
    Some(patterns)
}

/// Shows an observer the loads of a run.
#[inline(never)]
pub(crate) fn show_run(context: &mut Context, run: &Run, bases: &[Pattern; BASES], warp: u32) {
    let bases = bases.each_ref().map(|base| &base.index);
    let loads = SharedLoads { warp, loads: &run.loads, bases: &bases[..run.bases.len()] };
    context.tell(|observer| observer.shared_loads(&loads));
}
