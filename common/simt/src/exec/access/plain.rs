//! Loads and stores of every memory.

use super::request::{
    At, check_global, check_shared, check_within, load_element, parts, set_lane, show, write_atomic, write_words,
};
use crate::exec::context::{Cache, Checked, Context};
use crate::exec::warp::LocalMemory;
use crate::lanes::{each, select};
use crate::observe::Access;
use ptx::error::AccessKind;
use ptx::lower::inst::{NONE, Shape};
use ptx::lower::{LOCAL_WINDOW, SHARED_WINDOW};
use ptx::place::Space;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Loads lane by lane. `element` returns what a lane finds at a number of bytes after its address.
#[inline(always)]
fn load_lanes(At { inst, r, lanes, .. }: At, shape: Shape, element: impl Fn(usize, usize) -> u64) {
    for lane in each(lanes) {
        for (register, before) in parts(inst, shape) {
            set_lane(r, register, shape.wide, lane, element(lane, before as usize));
        }
    }
}

/// Stores lane by lane. `element` writes what a lane stores at a number of bytes after its address.
#[inline(always)]
fn store_lanes(At { inst, r, lanes, .. }: At, shape: Shape, mut element: impl FnMut(usize, usize, u64)) {
    for lane in each(lanes) {
        for (register, before) in parts(inst, shape) {
            element(lane, before as usize, r.bits(register, shape.wide, lane));
        }
    }
}

/// Loads from shared memory. `window` is where it starts in the addresses of this instruction.
#[inline(always)]
pub(crate) fn load_shared(context: &mut Context, at: At, window: u64) -> Checked<()> {
    let (shape, addresses) = at.addresses(window);
    let access = at.request(AccessKind::Load, Space::Shared, &addresses);
    check_shared(context, &access)?;
    show(context, &access);
    let words = &*context.shared;
    if shape.bytes == 4 && !shape.wide {
        let mut index = [0u32; 32];
        for (index, address) in index.iter_mut().zip(&addresses) {
            *index = *address as u32 / 4;
        }
        for (part, register) in at.inst.data().into_iter().enumerate().take(shape.count as usize) {
            if register != NONE {
                at.r.gather(register, at.lanes, &words[part..], &index);
            }
        }
        return Ok(());
    }
    load_lanes(at, shape, |lane, before| load_element(|word| words[word], addresses[lane] as usize + before, shape));
    Ok(())
}

/// Stores to shared memory. `window` is where it starts in the addresses of this instruction.
#[inline(always)]
pub(crate) fn store_shared(context: &mut Context, at: At, window: u64) -> Checked<()> {
    let (shape, addresses) = at.addresses(window);
    let data = at.stored(context);
    let access = Access { data: data.as_ref(), ..at.request(AccessKind::Store, Space::Shared, &addresses) };
    check_shared(context, &access)?;
    show(context, &access);
    store_lanes(at, shape, |lane, before, value| {
        write_words(&mut context.shared, addresses[lane] as usize + before, shape.bytes, value);
    });
    Ok(())
}

/// Returns the words of the allocation that holds a checked address, and the byte in it.
#[inline]
pub(super) fn place<'a>(context: &Context<'a>, cache: Option<Cache<'a>>, address: u64) -> (&'a [AtomicU32], usize) {
    if let Some(cache) = cache {
        return (cache.words, (address - cache.base) as usize);
    }
    match context.launch.memory.holding(address, 1) {
        Some(allocation) => (&allocation.words, (address - allocation.base.0) as usize),
        None => (&[], 0),
    }
}

#[inline(always)]
pub(crate) fn load_global(context: &mut Context, at: At) -> Checked<()> {
    let (shape, addresses) = at.addresses(0);
    let access = at.request(AccessKind::Load, Space::Global, &addresses);
    let (cache, summary) = check_global(context, &access)?;
    show(context, &access);
    if let (4, false, Some(cache)) = (shape.bytes, shape.wide, cache) {
        let first = ((addresses[0] - cache.base) / 4) as usize;
        for (register, part) in at.inst.data().into_iter().zip(0..shape.count as usize) {
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
            at.r.write(register, at.lanes, &out);
        }
        return Ok(());
    }
    load_lanes(at, shape, |lane, before| {
        let (words, start) = place(context, cache, addresses[lane]);
        load_element(|word| words[word].load(Relaxed), start + before, shape)
    });
    Ok(())
}

#[inline(always)]
pub(crate) fn store_global(context: &mut Context, at: At) -> Checked<()> {
    let (shape, addresses) = at.addresses(0);
    let data = at.stored(context);
    let access = Access { data: data.as_ref(), ..at.request(AccessKind::Store, Space::Global, &addresses) };
    let (cache, _) = check_global(context, &access)?;
    show(context, &access);
    store_lanes(at, shape, |lane, before, value| {
        let (words, start) = place(context, cache, addresses[lane]);
        write_atomic(words, start + before, shape.bytes, value);
    });
    Ok(())
}

/// Loads from or stores to the local memory of a warp, which holds the lanes' areas one after the other. `window` is where it
/// starts in the addresses of this instruction.
#[inline(never)]
pub(crate) fn local(context: &mut Context, at: At, memory: &mut LocalMemory, window: u64, load: bool) -> Checked<()> {
    let (shape, addresses) = at.addresses(window);
    let size = u64::from(context.code.local_bytes);
    let access = at.request(if load { AccessKind::Load } else { AccessKind::Store }, Space::Local, &addresses);
    check_within(context, &access, size)?;
    show(context, &access);
    let place = |lane: usize, before: usize| lane * size as usize + addresses[lane] as usize + before;
    if load {
        load_lanes(at, shape, |lane, before| load_element(|word| memory.words[word], place(lane, before), shape));
    } else {
        store_lanes(at, shape, |lane, before, value| {
            let place = place(lane, before);
            write_words(memory.at(place), place, shape.bytes, value);
        });
    }
    Ok(())
}

/// Loads from the parameter area, at addresses that the kernel computed.
#[inline(never)]
pub(crate) fn load_param(context: &Context, at: At) -> Checked<()> {
    let (shape, addresses) = at.addresses(0);
    let params = &context.launch.params;
    check_within(context, &at.request(AccessKind::Load, Space::Parameter, &addresses), params.len() as u64)?;
    let byte = |at: usize| params.get(at).copied().unwrap_or(0);
    let word = |word: usize| u32::from_le_bytes(std::array::from_fn(|at| byte(4 * word + at)));
    load_lanes(at, shape, |lane, before| load_element(word, addresses[lane] as usize + before, shape));
    Ok(())
}

/// Executes a load or store whose addresses say which memory each lane means, one memory after the other. A load may overwrite
/// address registers, but not in the lanes of the memories that follow.
#[inline(never)]
pub(crate) fn generic(context: &mut Context, at: At, memory: &mut LocalMemory, load: bool) -> Checked<()> {
    let (_, addresses) = at.addresses(0);
    let window = |start: u64| select(at.lanes, |lane| (start..start + (1 << 32)).contains(&addresses[lane]));
    let (shared, own) = (window(SHARED_WINDOW), window(LOCAL_WINDOW));
    let [global, shared, own] = [at.lanes & !shared & !own, shared, own].map(|lanes| At { lanes, ..at });
    if global.lanes != 0 {
        if load { load_global(context, global)? } else { store_global(context, global)? }
    }
    if shared.lanes != 0 {
        let access = if load { load_shared } else { store_shared };
        access(context, shared, SHARED_WINDOW)?;
    }
    if own.lanes != 0 { local(context, own, memory, LOCAL_WINDOW, load) } else { Ok(()) }
}
