//! Allocations: of a device, of both, of the host, from pools.

use crate::device::ordinal;
use crate::entry::{Guard, api};
use crate::errors::{Answer, HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED, INVALID_VALUE, OUT_OF_MEMORY};
use crate::execute::{charged, free};
use crate::logged;
use crate::op::Op;
use crate::queue::{enqueue, synchronize};
use crate::raw::{In, Out, Pages, adopt};
use crate::state::{Block, Kind, Pool, State};
use crate::watch;

/// Allocates memory that kernels and copies can use.
fn allocate(state: &mut State, bytes: u64, kind: impl FnOnce(&mut State) -> Answer<Kind>, flags: u32) -> Answer<u64> {
    let context = state.context()?;
    if bytes == 0 {
        return Err(INVALID_VALUE);
    }
    let device = state.contexts.get(context)?.device;
    let left = state.gpu.memory - state.devices[device].used;
    if bytes.checked_next_multiple_of(512).is_none_or(|charged| charged > left) {
        watch::refused(state, &format!("an allocation of {bytes} bytes"), vec![], OUT_OF_MEMORY);
        return Err(OUT_OF_MEMORY);
    }
    let kind = kind(state)?;
    let number = state.allocation();
    let name = watch::name(state, number);
    let element = if bytes.is_multiple_of(4) { 4 } else { 1 };
    let base = match &kind {
        Kind::Managed(pages) | Kind::Pinned(pages) => {
            let start = pages.start();
            adopt(&mut state.memory, &name, start, bytes).map_err(|_| OUT_OF_MEMORY)?;
            start
        }
        _ => state.memory.alloc(&name, bytes, element).map_err(|_| OUT_OF_MEMORY)?.0,
    };
    state.devices[device].used += charged(bytes);
    state.blocks.insert(base, Block { bytes, kind, context, device, flags, number });
    watch::allocated(state, base);
    logged::allocation(state, "allocate", &state.blocks[&base]);
    Ok(base)
}

fn pages(bytes: u64) -> Answer<Pages> {
    Pages::new(bytes as usize).ok_or(OUT_OF_MEMORY)
}

/// Frees an allocation that begins at an address and is of some kind.
fn release(guard: &mut Guard, address: u64, is: fn(&Kind) -> bool) -> Answer {
    let context = guard.context()?;
    if address == 0 {
        return Ok(());
    }
    if !guard.blocks.get(&address).is_some_and(|block| is(&block.kind)) {
        watch::bad_free(guard, address);
        return Err(INVALID_VALUE);
    }
    // Freeing waits for all that the device still does.
    for stream in guard.streams.which(|stream| stream.context == context && !stream.is_idle()) {
        synchronize(guard, stream)?;
    }
    watch::freed(guard, address, None)?;
    free(guard, address);
    Ok(())
}

/// The pool with a handle; 0 is the one that the current context's device uses.
fn pool(state: &State, handle: u64) -> Answer<u64> {
    if handle != 0 {
        return state.pools.get(handle).map(|_| handle).map_err(|_| INVALID_VALUE);
    }
    let context = state.context()?;
    Ok(state.devices[state.contexts.get(context)?.device].pools[1])
}

/// The pools of a device, made if there are none.
fn pools(state: &mut State, device: i32) -> Answer<&mut [u64; 2]> {
    let device = ordinal(state, device)?;
    if state.devices[device].pools[0] == 0 {
        let handle = state.handle();
        state.pools.put(handle, Pool { device, ..Pool::default() });
        state.devices[device].pools = [handle; 2];
    }
    Ok(&mut state.devices[device].pools)
}

fn allocate_from(state: &mut State, out: Out<u64>, bytes: u64, from: u64, stream: u64) -> Answer {
    let stream = state.stream(stream)?;
    let context = state.context()?;
    if bytes == 0 {
        return out.set(0);
    }
    let device = state.contexts.get(context)?.device;
    pools(state, device as i32)?;
    let handle = pool(state, from)?;
    let base = allocate(state, bytes, |_| Ok(Kind::Device { pool: handle }), 0)?;
    let pool = state.pools.get_mut(handle)?;
    pool.used += bytes;
    pool.most = pool.most.max(pool.used);
    watch::allocated_in(state, base, stream);
    if state.streams.get(stream)?.capture.is_some() {
        enqueue(state, stream, Op::Nothing)?;
    }
    out.set(base)
}

/// Registers memory of the program.
fn register(state: &mut State, address: u64, bytes: u64, flags: u32) -> Answer {
    let context = state.context()?;
    let (start, end) = (address & !3, address.checked_add(bytes).ok_or(INVALID_VALUE)?);
    if bytes == 0 || address == 0 {
        return Err(INVALID_VALUE);
    }
    let (device, number) = (state.contexts.get(context)?.device, state.allocation());
    let name = watch::name(state, number);
    adopt(&mut state.memory, &name, start, end - start).map_err(|_| HOST_MEMORY_ALREADY_REGISTERED)?;
    let block = Block { bytes: end - start, kind: Kind::Registered, context, device, flags, number };
    state.devices[device].used += charged(block.bytes);
    state.blocks.insert(start, block);
    watch::allocated(state, start);
    logged::allocation(state, "allocate", &state.blocks[&start]);
    Ok(())
}

/// The registered or pinned allocation that holds an address.
fn pinned(state: &State, address: u64) -> Answer<(u64, &Block)> {
    state.block(address).filter(|(_, block)| block.is_host()).ok_or(INVALID_VALUE)
}

api! {
    fn cuMemAlloc_v2(guard, out: Out<u64>, bytes: u64) {
        let base = allocate(guard, bytes, |_| Ok(Kind::Device { pool: 0 }), 0)?;
        out.set(base)
    }
    fn cuMemAllocPitch_v2(guard, out: Out<u64>, pitch: Out<u64>, width: u64, rows: u64, element: u32) {
        if ![4, 8, 16].contains(&element) || width == 0 || rows == 0 {
            return Err(INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(512).ok_or(INVALID_VALUE)?;
        let bytes = row.checked_mul(rows).ok_or(INVALID_VALUE)?;
        let base = allocate(guard, bytes, |_| Ok(Kind::Device { pool: 0 }), 0)?;
        pitch.set(row)?;
        out.set(base)
    }
    fn cuMemAllocManaged(guard, out: Out<u64>, bytes: u64, flags: u32) {
        if !matches!(flags, 1 | 2) {
            return Err(INVALID_VALUE);
        }
        let base = allocate(guard, bytes, |_| pages(bytes).map(Kind::Managed), flags)?;
        out.set(base)
    }
    fn cuMemFree_v2(guard, address: u64) {
        release(guard, address, |kind| matches!(kind, Kind::Device { .. } | Kind::Managed(_)))
    }
    fn cuMemHostAlloc(guard, out: Out<u64>, bytes: u64, flags: u32) {
        if flags & !7 != 0 {
            return Err(INVALID_VALUE);
        }
        // A GPU's driver gives no memory for no bytes, and says that it did.
        if bytes == 0 {
            guard.context()?;
            return out.set(0);
        }
        let base = allocate(guard, bytes, |_| pages(bytes).map(Kind::Pinned), flags)?;
        out.set(base)
    }
    fn cuMemAllocHost_v2(guard, out: Out<u64>, bytes: u64) {
        let base = allocate(guard, bytes, |_| pages(bytes).map(Kind::Pinned), 0)?;
        out.set(base)
    }
    fn cuMemFreeHost(guard, address: u64) {
        release(guard, address, |kind| matches!(kind, Kind::Pinned(_)))
    }
    fn cuMemHostRegister_v2(guard, address: u64, bytes: u64, flags: u32) { register(guard, address, bytes, flags) }
    fn cuMemHostUnregister(guard, address: u64) {
        guard.context()?;
        let registered = |block: &Block| matches!(block.kind, Kind::Registered);
        if !guard.blocks.get(&(address & !3)).is_some_and(registered) {
            return Err(HOST_MEMORY_NOT_REGISTERED);
        }
        watch::freed(guard, address & !3, None)?;
        free(guard, address & !3);
        Ok(())
    }
    fn cuMemHostGetDevicePointer_v2(guard, out: Out<u64>, address: u64, _flags: u32) {
        pinned(guard, address)?;
        out.set(address)
    }
    fn cuMemHostGetFlags(guard, flags: Out<u32>, address: u64) {
        // Drivers add that it is mapped and that every context may use it.
        let known = pinned(guard, address)?.1.flags | 3;
        flags.set(known)
    }
    fn cuMemGetInfo_v2(guard, left: Out<u64>, all: Out<u64>) {
        let context = guard.context()?;
        let used = guard.devices[guard.contexts.get(context)?.device].used;
        left.set(guard.gpu.memory - used)?;
        all.set(guard.gpu.memory)
    }
    fn cuMemGetAddressRange_v2(guard, base: Out<u64>, bytes: Out<u64>, address: u64) {
        guard.context()?;
        let (start, block) = guard.block(address).ok_or(crate::errors::NOT_FOUND)?;
        base.set_if(start);
        bytes.set_if(block.bytes);
        Ok(())
    }
    fn cuMemAllocAsync(guard, out: Out<u64>, bytes: u64, stream: u64) { allocate_from(guard, out, bytes, 0, stream) }
    fn cuMemAllocFromPoolAsync(guard, out: Out<u64>, bytes: u64, pool: u64, stream: u64) {
        if pool == 0 {
            return Err(INVALID_VALUE);
        }
        allocate_from(guard, out, bytes, pool, stream)
    }
    fn cuMemFreeAsync(guard, address: u64, stream: u64) {
        let stream = guard.stream(stream)?;
        if address == 0 {
            return Err(INVALID_VALUE);
        }
        if !guard.blocks.get(&address).is_some_and(|block| matches!(block.kind, Kind::Device { .. })) {
            watch::bad_free(guard, address);
            return Err(INVALID_VALUE);
        }
        if guard.streams.get(stream)?.capture.is_some() {
            // What a graph allocates stays until the context ends, so that the graph can run again.
            return enqueue(guard, stream, Op::Nothing);
        }
        watch::freed(guard, address, Some(stream))?;
        enqueue(guard, stream, Op::Free(address))
    }
    fn cuDeviceGetDefaultMemPool(guard, out: Out<u64>, device: i32) {
        let pool = pools(guard, device)?[0];
        out.set(pool)
    }
    fn cuDeviceGetMemPool(guard, out: Out<u64>, device: i32) {
        let pool = pools(guard, device)?[1];
        out.set(pool)
    }
    fn cuDeviceSetMemPool(guard, device: i32, handle: u64) {
        let handle = if handle == 0 { return Err(INVALID_VALUE) } else { pool(guard, handle)? };
        pools(guard, device)?[1] = handle;
        Ok(())
    }
    fn cuMemPoolCreate(guard, out: Out<u64>, properties: In<[i32; 4]>) {
        let [kind, _, place, device] = properties.get()?;
        if kind != 1 || place != 1 {
            return Err(INVALID_VALUE);
        }
        let (device, handle) = (ordinal(guard, device)?, guard.handle());
        guard.pools.put(handle, Pool { device, ..Pool::default() });
        out.set(handle)
    }
    fn cuMemPoolDestroy(guard, handle: u64) {
        if guard.devices.iter().any(|device| device.pools[0] == handle) {
            return Err(INVALID_VALUE);
        }
        let device = guard.pools.remove(handle).map_err(|_| INVALID_VALUE)?.device;
        let pools = &mut guard.devices[device].pools;
        if pools[1] == handle {
            pools[1] = pools[0];
        }
        Ok(())
    }
    fn cuMemPoolTrimTo(guard, handle: u64, _bytes: u64) { pool(guard, handle).map(|_| ()) }
    fn cuMemPoolGetAttribute(guard, handle: u64, attribute: u32, value: Out<u64>) {
        let pool = guard.pools.get(handle).map_err(|_| INVALID_VALUE)?;
        match attribute {
            1..=3 => value.cast::<u32>().set(pool.attributes.get(&attribute).map_or(1, |&value| value as u32)),
            4 => value.set(pool.attributes.get(&4).copied().unwrap_or(0)),
            5 | 7 => value.set(pool.used),
            6 | 8 => value.set(pool.most),
            _ => Err(INVALID_VALUE),
        }
    }
    fn cuMemPoolSetAttribute(guard, handle: u64, attribute: u32, value: In<u64>) {
        let pool = guard.pools.get_mut(handle).map_err(|_| INVALID_VALUE)?;
        match attribute {
            1..=4 => {
                // The first three are numbers of 4 bytes.
                let mask = if attribute == 4 { u64::MAX } else { 1 };
                pool.attributes.insert(attribute, value.get()? & mask);
            }
            6 | 8 if value.get()? == 0 => pool.most = pool.used,
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    }
    fn cuMemPoolGetAccess(guard, flags: Out<u32>, handle: u64, place: In<[i32; 2]>) {
        let [_, device] = place.get()?;
        let own = guard.pools.get(handle).map_err(|_| INVALID_VALUE)?.device == ordinal(guard, device)?;
        flags.set(if own { 3 } else { 0 })
    }
    fn cuMemPoolSetAccess(guard, handle: u64, _list: In<u64>, _count: u64) { pool(guard, handle).map(|_| ()) }
    fn cuMemPrefetchAsync(guard, address: u64, bytes: u64, _device: i32, stream: u64) {
        prefetch(guard, address, bytes, stream)
    }
    fn cuMemPrefetchAsync_v2(guard, address: u64, bytes: u64, _place: u64, _flags: u32, stream: u64) {
        prefetch(guard, address, bytes, stream)
    }
    fn cuMemAdvise(guard, address: u64, bytes: u64, advice: u32, _device: i32) { advise(guard, address, bytes, advice) }
    fn cuMemAdvise_v2(guard, address: u64, bytes: u64, advice: u32, _place: u64) {
        advise(guard, address, bytes, advice)
    }
    fn cuStreamAttachMemAsync(guard, stream: u64, address: u64, _bytes: u64, flags: u32) {
        let stream = guard.stream(stream)?;
        if !matches!(flags, 1 | 2 | 4) {
            return Err(INVALID_VALUE);
        }
        managed(guard, address, 0)?;
        enqueue(guard, stream, Op::Nothing)
    }
}

/// Refuses what is not all in one managed allocation.
fn managed(state: &State, address: u64, bytes: u64) -> Answer {
    let (base, block) = state.block(address).ok_or(INVALID_VALUE)?;
    let inside = matches!(block.kind, Kind::Managed(_)) && address - base + bytes <= block.bytes;
    if inside { Ok(()) } else { Err(INVALID_VALUE) }
}

fn prefetch(state: &mut State, address: u64, bytes: u64, stream: u64) -> Answer {
    let stream = state.stream(stream)?;
    managed(state, address, bytes)?;
    enqueue(state, stream, Op::Nothing)
}

fn advise(state: &State, address: u64, bytes: u64, advice: u32) -> Answer {
    state.context()?;
    managed(state, address, bytes)?;
    if (1..=6).contains(&advice) { Ok(()) } else { Err(INVALID_VALUE) }
}
