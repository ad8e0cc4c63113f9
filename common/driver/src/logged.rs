//! What is written into the log of a program's calls: see [`crate::log`], which says what each line holds.

use crate::errors::Code;
use crate::op::{Copy, Fill, Launch};
use crate::ranges::Ranges;
use crate::raw;
use crate::state::{Block, Kind, State};
use crate::touched::Bytes;
use serde_json::{Map, Value, json};
use simt::{Arg, Counters, DevicePointer, Error};

const fn kind(block: &Block) -> &'static str {
    match block.kind {
        Kind::Device { .. } | Kind::Variable => "device",
        Kind::Managed(_) => "managed",
        Kind::Pinned(_) => "pinned",
        Kind::Registered => "registered",
    }
}

/// Something was done with an allocation.
pub fn allocation(state: &State, did: &str, block: &Block) {
    if state.log.is_on() && !matches!(block.kind, Kind::Variable) {
        let fields = json!({ "allocation": block.number, "bytes": block.bytes, "memory": kind(block) });
        state.log.write(did, fields);
    }
}

/// What a context, or the whole program, ends with.
pub fn leaks(state: &State, context: Option<u64>) {
    let left = state.blocks.values().filter(|block| context.is_none_or(|context| context == block.context));
    left.for_each(|block| allocation(state, "leak", block));
}

/// A module was loaded.
pub fn loaded(state: &State, module: u64, kernels: &[&str]) {
    state.log.write("load", json!({ "module": module, "kernels": kernels }));
}

/// A call has failed.
pub fn failed(state: &State, code: Code) {
    state.log.write("error", json!({ "code": code.name() }));
}

/// The number of a stream.
fn number(state: &State, stream: u64) -> u64 {
    let Ok(own) = state.streams.get(stream) else { return 0 };
    let legacy = state.contexts.get(own.context).is_ok_and(|context| context.legacy == stream);
    if legacy { 0 } else { own.number }
}

/// A stream records an event or waits for it.
pub fn event(state: &State, did: &str, stream: u64, event: u64) {
    state.log.write(did, json!({ "stream": number(state, stream), "event": event }));
}

/// The host has waited: for a stream, for an event, or for all.
pub fn waited(state: &State, stream: Option<u64>, event: Option<u64>) {
    let fields = match (stream, event) {
        (Some(stream), _) => json!({ "stream": number(state, stream) }),
        (_, Some(event)) => json!({ "event": event }),
        _ => json!({ "all": true }),
    };
    state.log.write("synchronize", fields);
}

/// The time between two events was asked for.
pub fn elapsed(state: &State, events: [u64; 2], ms: f64) {
    state.log.write("elapsed", json!({ "events": events, "ms": ms }));
}

fn place(state: &State, address: u64) -> Value {
    state.block(address).map_or_else(
        || json!({ "memory": "host" }),
        |(base, block)| json!({ "memory": kind(block), "allocation": block.number, "offset": address - base }),
    )
}

/// The FNV-1a hashes of all words, added up.
fn sum(bytes: &[u8]) -> u64 {
    let of_byte = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    bytes.chunks(4).map(|word| word.iter().fold(0xcbf2_9ce4_8422_2325, of_byte)).fold(0, u64::wrapping_add)
}

/// Writes what a stream has done, with its clock.
fn done(state: &mut State, did: &str, stream: u64, mut fields: Value) {
    fields["stream"] = number(state, stream).into();
    if let Some((actor, clock)) = state.check.as_mut().map(|check| check.stamp(stream)) {
        fields["actor"] = actor.into();
        fields["clock"] = clock.list().into();
    }
    state.log.write(did, fields);
}

/// A copy was made.
pub fn copied(state: &mut State, stream: u64, copy: &Copy) {
    if !state.log.is_on() {
        return;
    }
    let mut total = 0_u64;
    for (to, _) in copy.rows() {
        let bytes = match state.block(to) {
            None => sum(raw::host(to, copy.width as usize)),
            Some(_) => state.memory.bytes_mut(DevicePointer(to), copy.width as usize).map_or(0, |bytes| sum(bytes)),
        };
        total = total.wrapping_add(bytes);
    }
    let [from, to] = [copy.from, copy.to].map(|side| place(state, side.address));
    let bytes = copy.width * copy.rows * copy.slices;
    done(state, "copy", stream, json!({ "bytes": bytes, "from": from, "to": to, "sum": total }));
}

/// Memory was filled.
pub fn filled(state: &mut State, stream: u64, fill: &Fill) {
    if state.log.is_on() {
        let (to, bytes) = (place(state, fill.to), fill.width * fill.bytes * fill.rows);
        done(state, "fill", stream, json!({ "bytes": bytes, "to": to }));
    }
}

/// A kernel has run: how many instructions, or why it has failed.
pub fn launched(
    state: &mut State,
    stream: u64,
    launch: &Launch,
    result: &Result<u64, Error>,
    (counters, bytes): (Option<&Counters>, &Bytes),
) {
    if !state.log.is_on() {
        return;
    }
    let argument = |arg: &Arg| {
        let Arg::Bytes(bytes) = arg else { return Value::Null };
        let mut word = [0; 8];
        let Some(number) = word.get_mut(..bytes.len()) else { return json!({ "bytes": bytes.len() }) };
        number.copy_from_slice(bytes);
        let number = u64::from_le_bytes(word);
        if bytes.len() == 8 && state.block(number).is_some() { place(state, number) } else { number.into() }
    };
    let (config, kernel) = (&launch.config, &launch.kernel);
    let three = |size: simt::Dim3| [size.x, size.y, size.z];
    let mut fields = json!({
        "kernel": kernel.name(), "module": launch.module, "grid": three(config.grid), "block": three(config.block),
        "shared": [kernel.static_shared_bytes(), config.dynamic_shared_bytes],
        "arguments": launch.args.iter().map(argument).collect::<Vec<_>>(),
    });
    match result {
        Ok(instructions) => fields["instructions"] = (*instructions).into(),
        Err(error) => fields["fault"] = error.to_string().into(),
    }
    if let Some(counters) = counters {
        let entries = counters.total().entries();
        fields["counters"] =
            entries.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect::<Map<_, _>>().into();
    }
    if state.check.is_some() {
        let of = |ranges: &Ranges| -> Vec<[u64; 2]> {
            let bytes = |part: &Ranges| part.list().iter().map(|(start, end)| end - start).sum();
            let parts = state.split(ranges).into_iter();
            parts.filter_map(|(base, part)| Some([state.blocks.get(&base)?.number, bytes(&part)])).collect()
        };
        let mut writes = bytes.written.clone();
        writes.add(&bytes.updated);
        (fields["reads"], fields["writes"]) = (json!(of(&bytes.read)), json!(of(&writes)));
    }
    done(state, "launch", stream, fields);
}
