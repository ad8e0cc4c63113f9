//! Graphs of operations, made node by node or captured from streams.

use crate::entry::{Guard, api};
use crate::errors::{
    Answer, ILLEGAL_STATE, INVALID_VALUE, STREAM_CAPTURE_INVALIDATED, STREAM_CAPTURE_UNJOINED,
    STREAM_CAPTURE_UNMATCHED, STREAM_CAPTURE_WRONG_THREAD,
};
use crate::launch::{Size, prepare};
use crate::op::{Copy, Fill, Op, Side};
use crate::queue::{add_node, enqueue};
use crate::raw::{Callback, In, Out};
use crate::state::{Capture, Node, State};
use crate::watch;
use std::collections::{HashMap, HashSet};

/// The modes of a capture: which threads may do what it forbids.
const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;
/// Flags of an executable graph: it may be launched from the device; it frees what it allocated.
const DEVICE_LAUNCH: u64 = 4;
const KNOWN_FLAGS: u64 = 15;

fn begin(guard: &mut Guard, stream: u64, mode: u32) -> Answer {
    let legacy = stream <= 1;
    let stream = guard.stream(stream)?;
    if mode > RELAXED {
        return Err(INVALID_VALUE);
    }
    if legacy {
        return Err(crate::errors::STREAM_CAPTURE_UNSUPPORTED);
    }
    if guard.streams.get(stream)?.capture.is_some() {
        return Err(ILLEGAL_STATE);
    }
    let (graph, capture) = (guard.handle(), guard.handle());
    guard.graphs.put(graph, vec![]);
    let thread = std::thread::current().id();
    guard.captures.put(capture, Capture { graph, origin: stream, thread, mode, invalid: false });
    guard.streams.get_mut(stream)?.capture = Some((capture, vec![]));
    Ok(())
}

fn end(guard: &mut Guard, stream: u64, out: Out<u64>) -> Answer {
    let stream = guard.stream(stream)?;
    let (capture, last) = guard.streams.get(stream)?.capture.clone().ok_or(ILLEGAL_STATE)?;
    let Capture { graph, origin, thread, mode, invalid } = *guard.captures.get(capture)?;
    if origin != stream {
        return Err(STREAM_CAPTURE_UNMATCHED);
    }
    if mode <= THREAD_LOCAL && thread != std::thread::current().id() {
        return Err(STREAM_CAPTURE_WRONG_THREAD);
    }
    let state: &mut State = guard;
    let of_capture = |stream: &crate::state::Stream| stream.capture.as_ref().is_some_and(|(of, _)| *of == capture);
    // Work of other streams must have been waited for: it is among what comes before the last nodes.
    let mut before: HashSet<u64> = HashSet::new();
    let mut open = last;
    while let Some(node) = open.pop() {
        if before.insert(node) {
            open.extend(&state.nodes.get(node)?.after);
        }
    }
    let mut joined = true;
    for stream in state.streams.which(of_capture) {
        let (_, nodes) = state.streams.get_mut(stream)?.capture.take().unwrap_or_default();
        joined &= nodes.iter().all(|node| before.contains(node));
    }
    state.captures.remove(capture)?;
    for event in state.events.which(|event| event.captured.as_ref().is_some_and(|(of, _)| *of == capture)) {
        state.events.get_mut(event)?.captured = None;
    }
    if invalid || !joined {
        destroy(state, graph)?;
        out.set_if(0);
        return Err(if invalid { STREAM_CAPTURE_INVALIDATED } else { STREAM_CAPTURE_UNJOINED });
    }
    out.set(graph)
}

fn destroy(state: &mut State, graph: u64) -> Answer {
    for node in state.graphs.remove(graph)? {
        state.nodes.remove(node)?;
    }
    Ok(())
}

/// The operations of a graph in an order that is right, or an error if it goes in circles.
fn ordered(state: &State, graph: u64) -> Answer<Vec<u64>> {
    let nodes = state.graphs.get(graph)?;
    let (mut order, mut done) = (vec![], HashSet::<u64>::new());
    while order.len() < nodes.len() {
        let ready = |node: &&u64| {
            !done.contains(*node)
                && state.nodes.get(**node).is_ok_and(|node| node.after.iter().all(|before| done.contains(before)))
        };
        let next: Vec<u64> = nodes.iter().filter(ready).copied().collect();
        if next.is_empty() {
            return Err(INVALID_VALUE);
        }
        done.extend(&next);
        order.extend(next);
    }
    Ok(order)
}

fn instantiate(state: &mut State, out: Out<u64>, graph: u64, flags: u64) -> Answer {
    if flags & !KNOWN_FLAGS != 0 || flags & DEVICE_LAUNCH != 0 {
        return Err(INVALID_VALUE);
    }
    let order = ordered(state, graph)?;
    let ops = order.iter().map(|&node| Ok(state.nodes.get(node)?.op.clone())).collect::<Answer<Vec<_>>>()?;
    let handle = state.handle();
    state.executables.put(handle, (ops, flags));
    out.set(handle)
}

fn launch(state: &mut State, graph: u64, stream: u64) -> Answer {
    let stream = state.stream(stream)?;
    let (ops, _) = state.executables.get(graph)?.clone();
    for op in ops {
        match &op {
            Op::Copy(copy) => watch::copies(state, stream, copy)?,
            Op::Fill(fill) => watch::fills(state, stream, fill)?,
            _ => {}
        }
        enqueue(state, stream, op)?;
    }
    Ok(())
}

/// Adds a node and writes its handle.
fn node(state: &mut State, out: Out<u64>, graph: u64, after: (In<u64>, u64), op: Op) -> Answer {
    let after = after.0.list(after.1 as usize)?;
    let known = state.graphs.get(graph)?;
    if after.iter().any(|node| !known.contains(node)) {
        return Err(INVALID_VALUE);
    }
    let node = add_node(state, graph, op, after)?;
    out.set(node)
}

/// What describes the launch of a node: function, grid, block, shared memory, arguments.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelParams {
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    pointers: In<u64>,
    extra: In<u64>,
}

fn kernel(state: &mut State, params: In<KernelParams>) -> Answer<Op> {
    let KernelParams { function, grid, block, shared, pointers, extra } = params.get()?;
    prepare(state, function, &Size { grid, block, shared, cooperative: false }, (pointers, extra)).map(Op::Launch)
}

/// What describes a fill: place, pitch, value, size of the value, width, rows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Memset {
    to: u64,
    pitch: u64,
    value: u32,
    bytes: u32,
    width: u64,
    rows: u64,
}

fn memset(params: In<Memset>) -> Answer<Op> {
    let Memset { to, pitch, value, bytes, width, rows } = params.get()?;
    if !matches!(bytes, 1 | 2 | 4) {
        return Err(INVALID_VALUE);
    }
    Ok(Op::Fill(Fill { to, pitch, value, bytes: bytes.into(), width, rows }))
}

fn memcpy(params: In<[u64; 25]>) -> Answer<Op> {
    let list = params.get()?;
    let side = |list: &[u64]| {
        let (start, pitch) = (if list[4] & 0xffff_ffff == 1 { list[5] } else { list[6] }, list[9]);
        let slice = pitch * list[10];
        Side { address: start + list[2] * slice + list[1] * pitch + list[0], pitch, slice }
    };
    Ok(Op::Copy(Copy {
        from: side(&list[..11]),
        to: side(&list[11..22]),
        width: list[22],
        rows: list[23],
        slices: list[24],
    }))
}

fn host(params: In<[u64; 2]>) -> Answer<Op> {
    let [function, data] = params.get()?;
    Ok(Op::Host(Callback { function, data, stream: None }))
}

/// Gives a node another operation of the same kind.
fn replace(state: &mut State, node: u64, op: Op) -> Answer {
    let known = state.nodes.get_mut(node)?;
    if std::mem::discriminant(&known.op) != std::mem::discriminant(&op) {
        return Err(INVALID_VALUE);
    }
    known.op = op;
    Ok(())
}

/// Gives a node of an executable graph another operation: the one at its place in the order of the graph.
fn replace_in(state: &mut State, executable: u64, node: u64, op: Op) -> Answer {
    let graph = state.nodes.get(node)?.graph;
    let at = ordered(state, graph)?.iter().position(|&other| other == node).ok_or(INVALID_VALUE)?;
    *state.executables.get_mut(executable)?.0.get_mut(at).ok_or(INVALID_VALUE)? = op;
    Ok(())
}

/// Writes a list, or its length if there is no place for one.
fn write(out: Out<u64>, count: Out<u64>, list: &[u64]) -> Answer {
    if out.is_null() {
        return count.set(list.len() as u64);
    }
    let room = count.get()?;
    (0..room as usize).try_for_each(|at| out.at(at).set(list.get(at).copied().unwrap_or(0)))?;
    count.set(room.min(list.len() as u64))
}

fn clone(state: &mut State, graph: u64) -> Answer<u64> {
    let nodes = state.graphs.get(graph)?.clone();
    let copy = state.handle();
    state.graphs.put(copy, vec![]);
    let mut new: HashMap<u64, u64> = HashMap::new();
    for node in nodes {
        let Node { op, after, .. } = state.nodes.get(node)?.clone();
        let after = after.iter().filter_map(|before| new.get(before).copied()).collect();
        new.insert(node, add_node(state, copy, op, after)?);
    }
    Ok(copy)
}

/// Whether a stream is captured: 0 no, 1 yes, 2 in vain.
fn status(state: &State, stream: u64) -> Answer<(u32, u64)> {
    Ok(match state.streams.get(stream)?.capture {
        None => (0, 0),
        Some((capture, _)) => (if state.captures.get(capture)?.invalid { 2 } else { 1 }, capture),
    })
}

/// Writes what is known about the capture of a stream.
fn info(guard: &mut Guard, stream: u64, known: Out<u32>, id: Out<u64>, graph: Out<u64>, count: Out<u64>) -> Answer {
    let stream = guard.stream(stream)?;
    let (is, capture) = status(guard, stream)?;
    known.set(is)?;
    if is == 1 {
        id.set_if(capture);
        graph.set_if(guard.captures.get(capture)?.graph);
        count.set_if(guard.streams.get(stream)?.capture.as_ref().map_or(0, |(_, nodes)| nodes.len() as u64));
    }
    Ok(())
}

api! {
    fn cuStreamBeginCapture_v2(guard, stream: u64, mode: u32) { begin(guard, stream, mode) }
    fn cuStreamEndCapture(guard, stream: u64, graph: Out<u64>) { end(guard, stream, graph) }
    fn cuStreamIsCapturing(guard, stream: u64, known: Out<u32>) {
        let stream = guard.stream(stream)?;
        known.set(status(guard, stream)?.0)
    }
    fn cuStreamGetCaptureInfo(guard, stream: u64, known: Out<u32>, id: Out<u64>) {
        let none: Out<u64> = Out::none();
        info(guard, stream, known, id, none, none)
    }
    fn cuStreamGetCaptureInfo_v2(guard, stream: u64, known: Out<u32>, id: Out<u64>, graph: Out<u64>, list: Out<u64>, count: Out<u64>) {
        list.set_if(0);
        info(guard, stream, known, id, graph, count)
    }
    fn cuGraphCreate(guard, out: Out<u64>, flags: u32) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let graph = guard.handle();
        guard.graphs.put(graph, vec![]);
        out.set(graph)
    }
    fn cuGraphDestroy(guard, graph: u64) { destroy(guard, graph) }
    fn cuGraphClone(guard, out: Out<u64>, graph: u64) {
        let copy = clone(guard, graph)?;
        out.set(copy)
    }
    fn cuGraphAddKernelNode(guard, out: Out<u64>, graph: u64, after: In<u64>, count: u64, params: In<KernelParams>) {
        let op = kernel(guard, params)?;
        node(guard, out, graph, (after, count), op)
    }
    fn cuGraphAddKernelNode_v2(guard, out: Out<u64>, graph: u64, after: In<u64>, count: u64, params: In<KernelParams>) {
        let op = kernel(guard, params)?;
        node(guard, out, graph, (after, count), op)
    }
    fn cuGraphAddMemcpyNode(guard, out: Out<u64>, graph: u64, after: In<u64>, count: u64, params: In<[u64; 25]>, _context: u64) {
        node(guard, out, graph, (after, count), memcpy(params)?)
    }
    fn cuGraphAddMemsetNode(guard, out: Out<u64>, graph: u64, after: In<u64>, count: u64, params: In<Memset>, _context: u64) {
        node(guard, out, graph, (after, count), memset(params)?)
    }
    fn cuGraphAddHostNode(guard, out: Out<u64>, graph: u64, after: In<u64>, count: u64, params: In<[u64; 2]>) {
        node(guard, out, graph, (after, count), host(params)?)
    }
    fn cuGraphAddEmptyNode(guard, out: Out<u64>, graph: u64, after: In<u64>, count: u64) {
        node(guard, out, graph, (after, count), Op::Nothing)
    }
    fn cuGraphAddEventRecordNode(guard, out: Out<u64>, graph: u64, after: In<u64>, count: u64, event: u64) {
        guard.events.get(event)?;
        node(guard, out, graph, (after, count), Op::Record(event))
    }
    fn cuGraphAddEventWaitNode(guard, out: Out<u64>, graph: u64, after: In<u64>, count: u64, event: u64) {
        guard.events.get(event)?;
        node(guard, out, graph, (after, count), Op::Wait(event))
    }
    fn cuGraphAddDependencies(guard, graph: u64, from: In<u64>, to: In<u64>, count: u64) {
        guard.graphs.get(graph)?;
        for (from, to) in from.list(count as usize)?.into_iter().zip(to.list(count as usize)?) {
            guard.nodes.get(from)?;
            guard.nodes.get_mut(to)?.after.push(from);
        }
        Ok(())
    }
    fn cuGraphRemoveDependencies(guard, graph: u64, from: In<u64>, to: In<u64>, count: u64) {
        guard.graphs.get(graph)?;
        for (from, to) in from.list(count as usize)?.into_iter().zip(to.list(count as usize)?) {
            guard.nodes.get_mut(to)?.after.retain(|&before| before != from);
        }
        Ok(())
    }
    fn cuGraphDestroyNode(guard, node: u64) {
        let graph = guard.nodes.remove(node)?.graph;
        guard.graphs.get_mut(graph)?.retain(|&other| other != node);
        for other in guard.graphs.get(graph)?.clone() {
            guard.nodes.get_mut(other)?.after.retain(|&before| before != node);
        }
        Ok(())
    }
    fn cuGraphGetNodes(guard, graph: u64, out: Out<u64>, count: Out<u64>) {
        write(out, count, guard.graphs.get(graph)?)
    }
    fn cuGraphGetRootNodes(guard, graph: u64, out: Out<u64>, count: Out<u64>) {
        let is_root = |node: &&u64| guard.nodes.get(**node).is_ok_and(|node| node.after.is_empty());
        let roots: Vec<u64> = guard.graphs.get(graph)?.iter().filter(is_root).copied().collect();
        write(out, count, &roots)
    }
    fn cuGraphGetEdges(guard, graph: u64, from: Out<u64>, to: Out<u64>, count: Out<u64>) {
        let (mut froms, mut tos) = (vec![], vec![]);
        for &node in guard.graphs.get(graph)? {
            for &before in &guard.nodes.get(node)?.after {
                froms.push(before);
                tos.push(node);
            }
        }
        if !to.is_null() {
            let room = count.get()?;
            (0..room as usize).try_for_each(|at| to.at(at).set(tos.get(at).copied().unwrap_or(0)))?;
        }
        write(from, count, &froms)
    }
    fn cuGraphNodeGetDependencies(guard, node: u64, out: Out<u64>, count: Out<u64>) {
        write(out, count, &guard.nodes.get(node)?.after)
    }
    fn cuGraphNodeGetType(guard, node: u64, kind: Out<u32>) { kind.set(guard.nodes.get(node)?.kind) }
    fn cuGraphKernelNodeSetParams_v2(guard, node: u64, params: In<KernelParams>) {
        let op = kernel(guard, params)?;
        replace(guard, node, op)
    }
    fn cuGraphExecKernelNodeSetParams_v2(guard, graph: u64, node: u64, params: In<KernelParams>) {
        let op = kernel(guard, params)?;
        replace_in(guard, graph, node, op)
    }
    fn cuGraphExecMemcpyNodeSetParams(guard, graph: u64, node: u64, params: In<[u64; 25]>, _context: u64) {
        replace_in(guard, graph, node, memcpy(params)?)
    }
    fn cuGraphExecMemsetNodeSetParams(guard, graph: u64, node: u64, params: In<Memset>, _context: u64) {
        replace_in(guard, graph, node, memset(params)?)
    }
    fn cuGraphInstantiateWithFlags(guard, out: Out<u64>, graph: u64, flags: u64) { instantiate(guard, out, graph, flags) }
    fn cuGraphInstantiate_v2(guard, out: Out<u64>, graph: u64, _error: Out<u64>, _log: Out<u8>, _room: u64) {
        instantiate(guard, out, graph, 0)
    }
    fn cuGraphInstantiateWithParams(guard, out: Out<u64>, graph: u64, params: Out<u64>) {
        instantiate(guard, out, graph, params.get()? & !2)
    }
    fn cuGraphExecUpdate_v2(guard, executable: u64, graph: u64, result: Out<u32>) {
        let order = ordered(guard, graph)?;
        let ops = order.iter().map(|&node| Ok(guard.nodes.get(node)?.op.clone())).collect::<Answer<Vec<_>>>()?;
        let known = &mut guard.executables.get_mut(executable)?.0;
        let same = known.len() == ops.len()
            && known.iter().zip(&ops).all(|(a, b)| std::mem::discriminant(a) == std::mem::discriminant(b));
        result.set_if(if same { 0 } else { 2 });
        if !same {
            return Err(crate::errors::GRAPH_EXEC_UPDATE_FAILURE);
        }
        *known = ops;
        Ok(())
    }
    fn cuGraphUpload(guard, graph: u64, stream: u64) {
        guard.executables.get(graph)?;
        guard.stream(stream).map(|_| ())
    }
    fn cuGraphLaunch(guard, graph: u64, stream: u64) { launch(guard, graph, stream) }
    fn cuGraphExecDestroy(guard, graph: u64) { guard.executables.remove(graph).map(|_| ()) }
    fn cuGraphExecGetFlags(guard, graph: u64, flags: Out<u64>) { flags.set(guard.executables.get(graph)?.1) }
}
