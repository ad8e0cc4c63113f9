//! Contexts: primary ones and others, the current one of each thread, and what belongs to them.

use crate::device::ordinal;
use crate::entry::{Guard, api};
use crate::errors::{
    Answer, CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_VALUE, PEER_ACCESS_ALREADY_ENABLED, PEER_ACCESS_NOT_ENABLED,
    UNSUPPORTED_LIMIT,
};
use crate::execute::free;
use crate::queue::synchronize;
use crate::raw::{In, Out};
use crate::state::{Block, Context, Kind, State, with_stack};

/// The last limit that the interface names; a driver refuses later ones as values that it does not know.
const LAST_LIMIT: u32 = 10;

/// Makes a context of a device.
fn create(state: &mut State, device: usize, flags: u32) -> u64 {
    let (handle, number) = (state.handle(), state.number());
    // Stack, print buffer and heap have their usual sizes.
    let limits = [(0, 1024), (1, 1 << 20), (2, 8 << 20), (3, 2), (4, 2048), (5, 128), (6, 0)].into();
    state.contexts.put(handle, Context { device, flags, number, limits, ..Context::default() });
    let legacy = state.new_stream(handle, 0, 0);
    if let Ok(context) = state.contexts.get_mut(handle) {
        context.legacy = legacy;
    }
    handle
}

/// Makes a context and lets it be current.
fn create_current(guard: &mut Guard, out: Out<u64>, flags: u32, device: i32) -> Answer {
    let device = ordinal(guard, device)?;
    if flags & !0x3f != 0 {
        return Err(INVALID_VALUE);
    }
    let context = create(guard, device, flags);
    with_stack(|stack| stack.push(context));
    out.set(context)
}

/// Ends a context and all that belongs to it.
fn destroy(guard: &mut Guard, context: u64) -> Answer {
    for stream in guard.streams.which(|stream| stream.context == context) {
        let ticket = (stream, guard.streams.get(stream)?.given);
        guard.wait(|state| crate::queue::has_passed(state, ticket));
    }
    let state: &mut State = guard;
    if state.check.is_some() {
        crate::watch::leaks(state, Some(context));
    }
    crate::logged::leaks(state, Some(context));
    // Variables go with their modules.
    let own = |block: &Block| block.context == context && !matches!(block.kind, Kind::Variable);
    let blocks = state.blocks.iter().filter(|(_, block)| own(block));
    for base in blocks.map(|(&base, _)| base).collect::<Vec<_>>() {
        free(state, base);
    }
    for stream in state.streams.which(|stream| stream.context == context) {
        state.streams.remove(stream)?;
    }
    for event in state.events.which(|event| event.context == context) {
        state.events.remove(event)?;
    }
    for module in state.modules.which(|module| module.context == context) {
        crate::module::unload(state, module)?;
    }
    state.contexts.remove(context).map(|_| ())
}

/// The context with a handle.
fn known(state: &State, context: u64) -> Answer {
    state.contexts.get(context).map(|_| ()).map_err(|_| INVALID_CONTEXT)
}

/// The primary context of a device, made if there is none.
fn primary(state: &mut State, device: usize) -> u64 {
    if state.devices[device].primary == 0 || state.contexts.get(state.devices[device].primary).is_err() {
        let flags = state.devices[device].flags;
        state.devices[device].primary = create(state, device, flags);
    }
    state.devices[device].primary
}

/// Writes something of the current context.
fn of_current<T: Copy>(guard: &mut Guard, out: Out<T>, of: impl Fn(&Context) -> T) -> Answer {
    let context = guard.context()?;
    out.set(of(guard.contexts.get(context)?))
}

/// Waits for all streams of a context.
fn synchronize_all(guard: &mut Guard, context: u64) -> Answer {
    known(guard, context)?;
    if let Some(failed) = guard.contexts.get(context)?.failed {
        return Err(failed);
    }
    for stream in guard.streams.which(|stream| stream.context == context) {
        synchronize(guard, stream)?;
    }
    if let Some(check) = &mut guard.check {
        check.waited_for_all();
    }
    crate::logged::waited(guard, None, None);
    Ok(())
}

api! {
    fn cuDevicePrimaryCtxRetain(guard, out: Out<u64>, device: i32) {
        let device = ordinal(guard, device)?;
        let context = primary(guard, device);
        out.set(context)?;
        guard.devices[device].retained += 1;
        Ok(())
    }
    fn cuDevicePrimaryCtxRelease_v2(guard, device: i32) {
        let device = ordinal(guard, device)?;
        match guard.devices[device].retained {
            0 => Err(INVALID_CONTEXT),
            1 => {
                guard.devices[device].retained = 0;
                let context = guard.devices[device].primary;
                destroy(guard, context)
            }
            _ => {
                guard.devices[device].retained -= 1;
                Ok(())
            }
        }
    }
    fn cuDevicePrimaryCtxReset_v2(guard, device: i32) {
        let device = ordinal(guard, device)?;
        let context = guard.devices[device].primary;
        if guard.contexts.get(context).is_ok() {
            destroy(guard, context)?;
        }
        Ok(())
    }
    fn cuDevicePrimaryCtxSetFlags_v2(guard, device: i32, flags: u32) {
        let device = ordinal(guard, device)?;
        if flags & !0x3f != 0 {
            return Err(INVALID_VALUE);
        }
        guard.devices[device].flags = flags;
        let context = guard.devices[device].primary;
        if let Ok(context) = guard.contexts.get_mut(context) {
            context.flags = flags;
        }
        Ok(())
    }
    fn cuDevicePrimaryCtxGetState(guard, device: i32, flags: Out<u32>, active: Out<i32>) {
        let device = ordinal(guard, device)?;
        let is = guard.contexts.get(guard.devices[device].primary).is_ok();
        flags.set(guard.devices[device].flags)?;
        active.set(i32::from(is))
    }
    fn cuCtxCreate_v2(guard, out: Out<u64>, flags: u32, device: i32) {
        create_current(guard, out, flags, device)
    }
    fn cuCtxCreate_v3(guard, out: Out<u64>, _affinity: In<u64>, count: i32, flags: u32, device: i32) {
        if count != 0 {
            return Err(crate::errors::UNSUPPORTED_EXEC_AFFINITY);
        }
        create_current(guard, out, flags, device)
    }
    fn cuCtxCreate_v4(guard, out: Out<u64>, parameters: In<[u64; 2]>, flags: u32, device: i32) {
        if parameters.get().is_ok_and(|[_, count]| count as u32 != 0) {
            return Err(crate::errors::UNSUPPORTED_EXEC_AFFINITY);
        }
        create_current(guard, out, flags, device)
    }
    fn cuCtxDestroy_v2(guard, context: u64) {
        known(guard, context)?;
        if guard.devices.iter().any(|device| device.primary == context) {
            return Err(INVALID_CONTEXT);
        }
        with_stack(|stack| {
            if stack.last() == Some(&context) {
                stack.pop();
            }
        });
        destroy(guard, context)
    }
    fn cuCtxPushCurrent_v2(guard, context: u64) {
        if context == 0 {
            return Err(INVALID_VALUE);
        }
        known(guard, context)?;
        with_stack(|stack| stack.push(context));
        Ok(())
    }
    fn cuCtxPopCurrent_v2(_guard, out: Out<u64>) {
        let context = with_stack(Vec::pop).ok_or(INVALID_CONTEXT)?;
        out.set_if(context);
        Ok(())
    }
    fn cuCtxSetCurrent(guard, context: u64) {
        if context != 0 {
            known(guard, context)?;
        }
        with_stack(|stack| {
            stack.pop();
            if context != 0 {
                stack.push(context);
            }
        });
        Ok(())
    }
    fn cuCtxGetCurrent(_guard, out: Out<u64>) {
        out.set(with_stack(|stack| stack.last().copied()).unwrap_or(0))
    }
    fn cuCtxGetDevice(guard, device: Out<i32>) {
        let context = guard.current()?;
        device.set(guard.contexts.get(context)?.device as i32)
    }
    fn cuCtxGetDevice_v2(guard, device: Out<i32>, context: u64) {
        let context = if context == 0 { guard.current()? } else { context };
        known(guard, context)?;
        device.set(guard.contexts.get(context)?.device as i32)
    }
    fn cuCtxGetFlags(guard, flags: Out<u32>) { of_current(guard, flags, |context| context.flags) }
    fn cuCtxSetFlags(guard, flags: u32) {
        let context = guard.context()?;
        if flags & !0x3f != 0 {
            return Err(INVALID_VALUE);
        }
        guard.contexts.get_mut(context)?.flags = flags;
        Ok(())
    }
    fn cuCtxGetId(guard, context: u64, id: Out<u64>) {
        let context = if context == 0 { guard.context()? } else { context };
        known(guard, context)?;
        id.set(guard.contexts.get(context)?.number)
    }
    fn cuCtxGetApiVersion(guard, context: u64, version: Out<u32>) {
        if context != 0 {
            known(guard, context)?;
        }
        version.set(3020)
    }
    fn cuCtxSynchronize(guard) {
        let context = guard.context()?;
        synchronize_all(guard, context)
    }
    fn cuCtxSynchronize_v2(guard, context: u64) {
        let context = if context == 0 { guard.context()? } else { context };
        synchronize_all(guard, context)
    }
    fn cuCtxGetLimit(guard, value: Out<usize>, limit: u32) {
        let context = guard.context()?;
        if limit > LAST_LIMIT {
            return Err(INVALID_VALUE);
        }
        let known = guard.contexts.get(context)?.limits.get(&limit).copied().ok_or(UNSUPPORTED_LIMIT)?;
        value.set(known)
    }
    fn cuCtxSetLimit(guard, limit: u32, value: usize) {
        let context = guard.context()?;
        let limits = &mut guard.contexts.get_mut(context)?.limits;
        *limits.get_mut(&limit).ok_or(UNSUPPORTED_LIMIT)? = value;
        Ok(())
    }
    fn cuCtxGetCacheConfig(guard, out: Out<u32>) { of_current(guard, out, |context| context.preferences[0]) }
    fn cuCtxSetCacheConfig(guard, config: u32) {
        let context = guard.context()?;
        if config > 3 {
            return Err(INVALID_VALUE);
        }
        guard.contexts.get_mut(context)?.preferences[0] = config;
        Ok(())
    }
    fn cuCtxGetSharedMemConfig(guard, out: Out<u32>) { of_current(guard, out, |context| context.preferences[1].max(1)) }
    fn cuCtxSetSharedMemConfig(guard, config: u32) {
        let context = guard.context()?;
        guard.contexts.get_mut(context)?.preferences[1] = config;
        Ok(())
    }
    fn cuCtxResetPersistingL2Cache(guard) { guard.context().map(|_| ()) }
    fn cuCtxGetStreamPriorityRange(guard, least: Out<i32>, greatest: Out<i32>) {
        guard.context()?;
        least.set_if(0);
        greatest.set_if(-5);
        Ok(())
    }
    fn cuCtxEnablePeerAccess(guard, peer: u64, flags: u32) {
        let context = guard.context()?;
        known(guard, peer)?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        if guard.contexts.get(peer)?.device == guard.contexts.get(context)?.device {
            return Err(crate::errors::PEER_ACCESS_UNSUPPORTED);
        }
        if guard.contexts.get_mut(context)?.peers.insert(peer) { Ok(()) } else { Err(PEER_ACCESS_ALREADY_ENABLED) }
    }
    fn cuCtxDisablePeerAccess(guard, peer: u64) {
        let context = guard.context()?;
        known(guard, peer)?;
        if guard.contexts.get_mut(context)?.peers.remove(&peer) { Ok(()) } else { Err(PEER_ACCESS_NOT_ENABLED) }
    }
    fn cuCtxAttach(guard, out: Out<u64>, flags: u32) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        out.set(guard.current().map_err(|_| CONTEXT_IS_DESTROYED)?)
    }
}
