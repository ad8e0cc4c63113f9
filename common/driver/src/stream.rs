//! Streams and events.

use crate::entry::{Guard, api};
use crate::errors::{
    Answer, CAPTURED_EVENT, INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, NOT_READY, STREAM_CAPTURE_UNSUPPORTED,
};
use crate::logged;
use crate::op::Op;
use crate::queue::{enqueue, has_passed, refuse_capturing, synchronize, wait_for};
use crate::raw::{Callback, In, Out};
use crate::state::{Event, State};
use crate::watch;

/// Flags of an event: it has no time.
const NO_TIME: u32 = 2;
/// Flags of a capture's thread: others may do what a capture forbids.
const RELAXED: u32 = 2;

fn create(guard: &mut Guard, out: Out<u64>, flags: u32, priority: i32) -> Answer {
    let context = guard.context()?;
    if flags > 1 {
        return Err(INVALID_VALUE);
    }
    let stream = guard.new_stream(context, flags, priority.clamp(-5, 0));
    out.set(stream)
}

/// Whether an event has happened; one that was never recorded has.
fn happened(state: &State, event: u64) -> Answer<bool> {
    let event = state.events.get(event)?;
    if event.captured.is_some() {
        return Err(CAPTURED_EVENT);
    }
    Ok(event.recorded.is_none_or(|ticket| has_passed(state, ticket)))
}

/// Ends the capture that an event belongs to, because somebody asked for it.
fn refuse_captured(state: &mut State, event: u64) -> Answer {
    let Some((capture, _)) = state.events.get(event)?.captured else { return Ok(()) };
    if let Ok(capture) = state.captures.get_mut(capture) {
        capture.invalid = true;
    }
    Err(CAPTURED_EVENT)
}

fn elapsed(state: &State, out: Out<f32>, from: u64, to: u64) -> Answer {
    let (start, end) = (state.events.get(from)?, state.events.get(to)?);
    if (start.flags | end.flags) & NO_TIME != 0 || start.recorded.is_none() || end.recorded.is_none() {
        return Err(INVALID_HANDLE);
    }
    if !happened(state, from)? || !happened(state, to)? {
        return Err(NOT_READY);
    }
    logged::elapsed(state, [from, to], end.time - start.time);
    out.set((end.time - start.time) as f32)
}

/// Lets a stream call a function of the program.
fn call(guard: &mut Guard, stream: u64, callback: Callback) -> Answer {
    let stream = guard.stream(stream)?;
    if callback.function == 0 {
        return Err(INVALID_VALUE);
    }
    enqueue(guard, stream, Op::Host(callback))
}

/// Lets a stream wait for a value in memory, or write one.
fn value(guard: &mut Guard, stream: u64, (address, value, bytes): (u64, u64, usize), flags: Option<u32>) -> Answer {
    let stream = guard.stream(stream)?;
    let inside = guard.block(address).is_some_and(|(base, block)| address - base + bytes as u64 <= block.bytes);
    if !inside || !address.is_multiple_of(bytes as u64) {
        return Err(INVALID_VALUE);
    }
    if let Some(flags) = flags {
        return enqueue(guard, stream, Op::WaitValue { address, value, bytes, flags });
    }
    let fill = |at: u64, value: u64| {
        Op::Fill(crate::op::Fill { to: at, pitch: 0, value: value as u32, bytes: 4, width: 1, rows: 1 })
    };
    enqueue(guard, stream, fill(address, value))?;
    if bytes == 8 { enqueue(guard, stream, fill(address + 4, value >> 32)) } else { Ok(()) }
}

fn of<T: Copy>(guard: &mut Guard, handle: u64, out: Out<T>, of: impl Fn(&State, u64) -> Answer<T>) -> Answer {
    let stream = guard.stream(handle)?;
    out.set(of(guard, stream)?)
}

api! {
    fn cuStreamCreate(guard, out: Out<u64>, flags: u32) { create(guard, out, flags, 0) }
    fn cuStreamCreateWithPriority(guard, out: Out<u64>, flags: u32, priority: i32) { create(guard, out, flags, priority) }
    fn cuStreamDestroy_v2(guard, handle: u64) {
        if handle <= 2 {
            return Err(INVALID_HANDLE);
        }
        let stream = guard.stream(handle)?;
        if let Some((capture, _)) = guard.streams.get(stream)?.capture
            && let Ok(capture) = guard.captures.get_mut(capture)
        {
            capture.invalid = true;
        }
        let known = guard.streams.get_mut(stream)?;
        known.destroyed = true;
        if known.is_idle() {
            guard.streams.remove(stream)?;
        }
        Ok(())
    }
    fn cuStreamSynchronize(guard, stream: u64) {
        let stream = guard.stream(stream)?;
        synchronize(guard, stream)?;
        watch::synchronized(guard, stream);
        logged::waited(guard, Some(stream), None);
        Ok(())
    }
    fn cuStreamQuery(guard, stream: u64) {
        let stream = guard.stream(stream)?;
        refuse_capturing(guard, stream)?;
        if !guard.streams.get(stream)?.is_idle() {
            crate::queue::advance(guard);
            return Err(NOT_READY);
        }
        watch::synchronized(guard, stream);
        logged::waited(guard, Some(stream), None);
        let (tail, context) = (guard.streams.get(stream)?.tail, guard.streams.get(stream)?.context);
        guard.catch_up(tail);
        guard.surface(context)
    }
    fn cuStreamWaitEvent(guard, stream: u64, event: u64, _flags: u32) {
        let stream = guard.stream(stream)?;
        guard.events.get(event)?;
        watch::waits(guard, stream, event);
        enqueue(guard, stream, Op::Wait(event))?;
        logged::event(guard, "wait", stream, event);
        Ok(())
    }
    fn cuStreamGetFlags(guard, stream: u64, flags: Out<u32>) {
        of(guard, stream, flags, |state, stream| Ok(state.streams.get(stream)?.flags))
    }
    fn cuStreamGetPriority(guard, stream: u64, priority: Out<i32>) {
        of(guard, stream, priority, |state, stream| Ok(state.streams.get(stream)?.priority))
    }
    fn cuStreamGetId(guard, stream: u64, id: Out<u64>) {
        of(guard, stream, id, |state, stream| Ok(state.streams.get(stream)?.number))
    }
    fn cuStreamGetCtx(guard, stream: u64, context: Out<u64>) {
        of(guard, stream, context, |state, stream| Ok(state.streams.get(stream)?.context))
    }
    fn cuStreamGetDevice(guard, stream: u64, device: Out<i32>) {
        of(guard, stream, device, |state, stream| {
            Ok(state.contexts.get(state.streams.get(stream)?.context).map_err(|_| INVALID_CONTEXT)?.device as i32)
        })
    }
    fn cuLaunchHostFunc(guard, stream: u64, function: u64, data: u64) {
        call(guard, stream, Callback { function, data, stream: None })
    }
    fn cuStreamAddCallback(guard, stream: u64, function: u64, data: u64, flags: u32) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let own = guard.stream(stream)?;
        if guard.streams.get(own)?.capture.is_some() {
            return refuse_capturing(guard, own).and(Err(STREAM_CAPTURE_UNSUPPORTED));
        }
        call(guard, stream, Callback { function, data, stream: Some(stream) })
    }
    fn cuStreamWriteValue32_v2(guard, stream: u64, address: u64, number: u32, _flags: u32) {
        value(guard, stream, (address, number.into(), 4), None)
    }
    fn cuStreamWriteValue64_v2(guard, stream: u64, address: u64, number: u64, _flags: u32) {
        value(guard, stream, (address, number, 8), None)
    }
    fn cuStreamWaitValue32_v2(guard, stream: u64, address: u64, number: u32, flags: u32) {
        value(guard, stream, (address, number.into(), 4), Some(flags))
    }
    fn cuStreamWaitValue64_v2(guard, stream: u64, address: u64, number: u64, flags: u32) {
        value(guard, stream, (address, number, 8), Some(flags))
    }
    fn cuEventCreate(guard, out: Out<u64>, flags: u32) {
        let context = guard.context()?;
        // An event for other processes must not have a time, and there are no other processes.
        if flags & !7 != 0 || flags & 4 != 0 {
            return Err(INVALID_VALUE);
        }
        let handle = guard.handle();
        guard.events.put(handle, Event { context, flags, ..Event::default() });
        out.set(handle)
    }
    fn cuEventDestroy_v2(guard, event: u64) { guard.events.remove(event).map(|_| ()) }
    fn cuEventRecord(guard, event: u64, stream: u64) { record(guard, event, stream) }
    fn cuEventRecordWithFlags(guard, event: u64, stream: u64, _flags: u32) { record(guard, event, stream) }
    fn cuEventQuery(guard, event: u64) {
        let context = guard.events.get(event)?.context;
        guard.contexts.get(context).map_err(|_| INVALID_CONTEXT)?.failed.map_or(Ok(()), Err)?;
        refuse_captured(guard, event)?;
        if !happened(guard, event)? {
            crate::queue::advance(guard);
            return Err(NOT_READY);
        }
        watch::event_seen(guard, event);
        logged::waited(guard, None, Some(event));
        guard.surface(context)
    }
    fn cuEventSynchronize(guard, event: u64) {
        let context = guard.events.get(event)?.context;
        guard.contexts.get(context).map_err(|_| INVALID_CONTEXT)?.failed.map_or(Ok(()), Err)?;
        refuse_captured(guard, event)?;
        if let Some(ticket) = guard.events.get(event)?.recorded {
            wait_for(guard, ticket)?;
        }
        watch::event_seen(guard, event);
        logged::waited(guard, None, Some(event));
        Ok(())
    }
    fn cuEventElapsedTime(guard, out: Out<f32>, from: u64, to: u64) { elapsed(guard, out, from, to) }
    fn cuEventElapsedTime_v2(guard, out: Out<f32>, from: u64, to: u64) { elapsed(guard, out, from, to) }
    fn cuThreadExchangeStreamCaptureMode(_guard, mode: Out<u32>) {
        if mode.get()? > RELAXED { Err(INVALID_VALUE) } else { mode.set(0) }
    }
    fn cuStreamCopyAttributes(guard, to: u64, from: u64) {
        guard.stream(to)?;
        guard.stream(from).map(|_| ())
    }
    fn cuStreamGetAttribute(guard, stream: u64, _which: u32, out: Out<[u64; 8]>) {
        guard.stream(stream)?;
        out.set([0; 8])
    }
    fn cuStreamSetAttribute(guard, stream: u64, _which: u32, value: In<[u64; 8]>) {
        guard.stream(stream)?;
        value.get().map(|_| ())
    }
}

fn record(guard: &mut Guard, event: u64, stream: u64) -> Answer {
    let stream = guard.stream(stream)?;
    if guard.events.get(event)?.context != guard.streams.get(stream)?.context {
        return Err(INVALID_HANDLE);
    }
    enqueue(guard, stream, Op::Record(event))?;
    watch::recorded(guard, stream, event);
    logged::event(guard, "record", stream, event);
    Ok(())
}
