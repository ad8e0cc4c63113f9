//! Loads and stores of global memory.

use super::elements::{data, get_lane, load_element, parts, set_lane, write_atomic};
use super::request::{At, check_global, show};
use crate::ast::Space;
use crate::error::AccessKind;
use crate::exec::context::{Cache, Checked, Context};
use crate::exec::isa::Isa;
use crate::lanes::each;
use crate::lower::inst::NONE;
use crate::observe::Access;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The words of the allocation that holds an address already checked, and the position in it.
#[inline]
pub(super) fn place<'a>(context: &Context<'a>, cache: Option<Cache<'a>>, address: u64) -> (&'a [AtomicU32], usize) {
    if let Some(cache) = cache {
        return (cache.words, (address - cache.base) as usize);
    }
    match context.launch.memory.holding(address, 1) {
        Some(allocation) => (allocation.words(), (address - allocation.base().0) as usize),
        None => (&[], 0),
    }
}

#[inline(always)]
pub(crate) fn load_global<I: Isa>(context: &mut Context, at: At) -> Checked<()> {
    let (shape, addresses) = at.addresses(0);
    let At { inst, r, lanes, .. } = at;
    let access = at.request(AccessKind::Load, Space::Global, &addresses);
    let (cache, summary) = check_global::<I>(context, &access)?;
    show(context, &access);
    if let (4, false, Some(cache)) = (shape.bytes, shape.wide, cache) {
        let first = ((addresses[0] - cache.base) / 4) as usize;
        for (register, part) in data(inst).into_iter().zip(0..shape.count as usize) {
            if register == NONE {
                continue;
            }
            let mut out = [0u32; 32];
            if summary.same {
                out = [cache.words[first + part].load(Relaxed); 32];
            } else if summary.next {
                for (out, word) in out.iter_mut().zip(&cache.words[first + part..]) {
                    *out = word.load(Relaxed);
                }
            } else {
                for lane in 0..32 {
                    out[lane] = cache.words[(addresses[lane] - cache.base) as usize / 4 + part].load(Relaxed);
                }
            }
            r.write(register, lanes, &out);
        }
        return Ok(());
    }
    for lane in each(lanes) {
        let (words, start) = place(context, cache, addresses[lane]);
        for (register, before) in parts(inst, shape) {
            let value = load_element(|word| words[word].load(Relaxed), start + before as usize, shape);
            set_lane(r, register, shape.wide, lane, value);
        }
    }
    Ok(())
}

#[inline(always)]
pub(crate) fn store_global<I: Isa>(context: &mut Context, at: At) -> Checked<()> {
    let (shape, addresses) = at.addresses(0);
    let data = at.stored(context);
    let access = Access { data: data.as_ref(), ..at.request(AccessKind::Store, Space::Global, &addresses) };
    let (cache, _) = check_global::<I>(context, &access)?;
    show(context, &access);
    for lane in each(at.lanes) {
        let (words, start) = place(context, cache, addresses[lane]);
        for (register, before) in parts(at.inst, shape) {
            write_atomic(words, start + before as usize, shape.bytes, get_lane(at.r, register, shape.wide, lane));
        }
    }
    Ok(())
}
