//! The order of streams. An operation runs when its stream is asked for it, on the program's thread, which is an order that CUDA
//! allows; it waits in a queue only behind a function of the program that has not returned, or if it must wait for such a stream.

use crate::entry::{Guard, in_callback, progress};
use crate::errors::{
    Answer, STREAM_CAPTURE_IMPLICIT, STREAM_CAPTURE_INVALIDATED, STREAM_CAPTURE_ISOLATION, STREAM_CAPTURE_UNSUPPORTED,
};
use crate::execute::{execute, holds};
use crate::op::{Op, Ticket};
use crate::raw::Callback;
use crate::state::{Node, State};
use std::time::Instant;

/// Kinds of nodes, as `cuGraphNodeGetType` says them.
fn node_kind(op: &Op) -> u32 {
    match op {
        Op::Launch(_) => 0,
        Op::Copy(_) => 1,
        Op::Fill(_) => 2,
        Op::Host(_) => 3,
        Op::Wait(_) => 6,
        Op::Record(_) => 7,
        _ => 5,
    }
}

/// Adds a node to a graph.
pub fn add_node(state: &mut State, graph: u64, op: Op, after: Vec<u64>) -> Answer<u64> {
    let node = state.handle();
    state.graphs.get_mut(graph)?.push(node);
    let kind = node_kind(&op);
    Ok(state.nodes.put(node, Node { graph, op, after, kind }))
}

/// Whether a stream has come to a point.
pub fn has_passed(state: &State, (stream, count): Ticket) -> bool {
    state.streams.get(stream).map_or(true, |stream| stream.done >= count)
}

/// Gives a stream something to do: at once, in its queue, or as a node of the graph that it is captured into.
pub fn enqueue(state: &mut State, stream: u64, op: Op) -> Answer {
    if let Some((capture, after)) = state.streams.get(stream)?.capture.clone() {
        let graph = state.captures.get(capture)?.graph;
        if state.captures.get(capture)?.invalid {
            return Err(STREAM_CAPTURE_INVALIDATED);
        }
        match op {
            Op::Wait(event) => match state.events.get(event)?.captured.clone() {
                Some((of, nodes)) if of == capture => {
                    let own = state.streams.get_mut(stream)?;
                    own.capture = Some((capture, [after, nodes].concat()));
                    return Ok(());
                }
                _ => {
                    state.captures.get_mut(capture)?.invalid = true;
                    return Err(STREAM_CAPTURE_ISOLATION);
                }
            },
            Op::Record(event) => {
                let event = state.events.get_mut(event)?;
                (event.captured, event.recorded) = (Some((capture, after)), None);
                return Ok(());
            }
            op => {
                let node = add_node(state, graph, op, after)?;
                state.streams.get_mut(stream)?.capture = Some((capture, vec![node]));
                return Ok(());
            }
        }
    }
    if let Op::Wait(event) = op
        && let Some((capture, nodes)) = state.events.get(event)?.captured.clone()
    {
        // The stream joins the capture.
        state.streams.get_mut(stream)?.capture = Some((capture, nodes));
        return Ok(());
    }
    order_with_legacy(state, stream)?;
    if let Op::Record(event) = op {
        let count = state.streams.get(stream)?.given + 1;
        let event = state.events.get_mut(event)?;
        (event.recorded, event.captured) = (Some((stream, count)), None);
    }
    if let Op::Wait(event) = op {
        let Some(ticket) = state.events.get(event)?.recorded else { return Ok(()) };
        if has_passed(state, ticket) && state.streams.get(stream)?.is_idle() {
            let time = state.events.get(event)?.time;
            let own = state.streams.get_mut(stream)?;
            own.tail = own.tail.max(time);
            return Ok(());
        }
        return give(state, stream, Op::After(vec![ticket]));
    }
    give(state, stream, op)
}

/// Hands over an operation that needs no other one before it.
fn give(state: &mut State, stream: u64, op: Op) -> Answer {
    let idle = state.streams.get(stream)?.is_idle();
    state.streams.get_mut(stream)?.given += 1;
    if idle && can_run(state, &op) {
        return run(state, stream, op);
    }
    if idle {
        state.active += 1;
    }
    state.streams.get_mut(stream)?.queue.push_back(op);
    Ok(())
}

/// Lets the legacy stream wait for the blocking streams of its context, and them for it.
fn order_with_legacy(state: &mut State, stream: u64) -> Answer {
    let own = state.streams.get(stream)?;
    let (context, blocking) = (own.context, own.is_blocking());
    let legacy = state.contexts.get(context)?.legacy;
    if !blocking {
        return Ok(());
    }
    let captured = |state: &State, of: u64| state.streams.get(of).is_ok_and(|stream| stream.capture.is_some());
    if stream == legacy {
        let others = state.streams.which(|other| other.context == context && other.is_blocking());
        if let Some(&captured) = others.iter().find(|&&other| captured(state, other)) {
            let capture = state.streams.get(captured)?.capture.as_ref().map_or(0, |(capture, _)| *capture);
            state.captures.get_mut(capture)?.invalid = true;
            return Err(STREAM_CAPTURE_IMPLICIT);
        }
        let time = others.iter().filter_map(|&other| state.streams.get(other).ok()).map(|other| other.tail);
        let time = time.fold(0.0, f64::max);
        state.streams.get_mut(stream)?.tail = time;
        if state.active > 0 {
            let ticket = |&other: &u64| state.streams.get(other).ok().map(|stream| (other, stream.given));
            let tickets = others.iter().filter(|&&other| other != stream).filter_map(ticket).collect();
            give(state, stream, Op::After(tickets))?;
        }
    } else {
        let other = state.streams.get(legacy)?;
        let (ticket, time, idle) = ((legacy, other.given), other.tail, other.is_idle());
        let own = state.streams.get_mut(stream)?;
        own.tail = own.tail.max(time);
        if !idle {
            give(state, stream, Op::After(vec![ticket]))?;
        }
    }
    Ok(())
}

fn can_run(state: &State, op: &Op) -> bool {
    match op {
        Op::After(tickets) => tickets.iter().all(|&ticket| has_passed(state, ticket)),
        Op::WaitValue { address, value, bytes, flags } => holds(state, *address, *value, *bytes, *flags),
        _ => true,
    }
}

/// Runs an operation of a stream that can run now.
fn run(state: &mut State, stream: u64, op: Op) -> Answer {
    if let Op::Host(callback) = op {
        let own = state.streams.get_mut(stream)?;
        if !own.busy && own.queue.is_empty() {
            state.active += 1;
        }
        state.streams.get_mut(stream)?.busy = true;
        std::thread::spawn(move || call(stream, callback));
        return Ok(());
    }
    let start = Instant::now();
    let begins = state.now().max(state.streams.get(stream)?.tail);
    let result = execute(state, stream, &op);
    if matches!(op, Op::Copy(_) | Op::Fill(_) | Op::Launch(_)) {
        state.worked(start.elapsed());
    }
    let mut time = begins + result.unwrap_or(0.0);
    match op {
        Op::Record(event) => {
            if let Ok(event) = state.events.get_mut(event) {
                event.time = begins;
            }
        }
        Op::After(tickets) => {
            let tail = |(stream, _): &Ticket| state.streams.get(*stream).map_or(0.0, |stream| stream.tail);
            time = tickets.iter().map(tail).fold(begins, f64::max);
        }
        _ => {}
    }
    let own = state.streams.get_mut(stream)?;
    (own.done, own.tail) = (own.done + 1, time);
    if state.active > 0 {
        advance(state);
    }
    result.map(|_| ())
}

/// Calls a function of the program on a thread of its own, and goes on with the stream.
fn call(stream: u64, callback: Callback) {
    in_callback(|| callback.call());
    let mut guard = Guard::lock();
    if let Ok(own) = guard.streams.get_mut(stream) {
        (own.busy, own.done) = (false, own.done + 1);
        if own.queue.is_empty() {
            guard.active -= 1;
        }
    }
    advance(&mut guard);
    progress();
}

/// Runs what can run now of all that waits.
pub fn advance(state: &mut State) {
    loop {
        let heads = state.streams.which(|stream| !stream.busy && !stream.queue.is_empty());
        let ready = heads.into_iter().find(|&stream| {
            let head = state.streams.get(stream).ok().and_then(|stream| stream.queue.front());
            head.is_some_and(|op| can_run(state, op))
        });
        let Some(stream) = ready else { break };
        let Ok(own) = state.streams.get_mut(stream) else { break };
        let Some(op) = own.queue.pop_front() else { break };
        if own.queue.is_empty() {
            state.active -= 1;
        }
        let before = std::mem::replace(&mut state.log.later, true);
        // Nobody is there to be told what a later operation answers; faults are kept in the context.
        let _ = run(state, stream, op);
        state.log.later = before;
        let gone = state.streams.get(stream).is_ok_and(|stream| stream.destroyed && stream.is_idle());
        if gone {
            let _ = state.streams.remove(stream);
        }
        progress();
    }
}

/// Refuses what would wait for a stream that is captured.
pub fn refuse_capturing(state: &mut State, stream: u64) -> Answer {
    let Some((capture, _)) = state.streams.get(stream)?.capture else { return Ok(()) };
    state.captures.get_mut(capture)?.invalid = true;
    Err(STREAM_CAPTURE_UNSUPPORTED)
}

/// Waits until a stream has done all that it was given by now.
pub fn synchronize(guard: &mut Guard, stream: u64) -> Answer {
    refuse_capturing(guard, stream)?;
    let ticket = (stream, guard.streams.get(stream)?.given);
    wait_for(guard, ticket)
}

/// Waits until a stream has come to a point, and answers for a kernel that failed.
pub fn wait_for(guard: &mut Guard, ticket: Ticket) -> Answer {
    guard.wait(|state| {
        if state.active > 0 {
            advance(state);
        }
        has_passed(state, ticket)
    });
    if let Ok(stream) = guard.streams.get(ticket.0) {
        let (tail, context) = (stream.tail, stream.context);
        guard.catch_up(tail);
        return guard.surface(context);
    }
    Ok(())
}
