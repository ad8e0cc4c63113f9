//! What everything looks like at one time, for one chosen thread.

use crate::answer::{counts, real, whole};
use crate::bits::lanes;
use crate::effect::{AccessEvent, CopyEvent};
use crate::log::{Event, LaunchTape};
use crate::names::element;
use crate::request::LookRequest;
use crate::run::{A, B, C, Run};
use crate::state::{Block, State};
use crate::sums::{Sum, Sums};
use serde_json::{Map, Value, json};
use simt::analyses::counters::{Wavefront, Wavefronts};
use simt::{AccessKind, CopyAccess, Counts, Space};

/// The chosen thread.
#[derive(Debug, Clone, Copy)]
pub struct Chosen {
    /// The launch that runs.
    pub launch: usize,
    /// Its block.
    pub block: u32,
    /// The warp in the block.
    pub warp: u32,
    /// The lane in the warp.
    pub lane: usize,
}

impl Chosen {
    /// What is asked for, or the last there is.
    pub fn new(run: &Run, state: &State, request: &LookRequest) -> Self {
        let launch = run.tape.launch_of(state.time.min(run.tape.length().saturating_sub(1)));
        let last = |count: u32| count.saturating_sub(1);
        let (blocks, warps) =
            run.tape.launches.get(launch).map_or((1, 1), |launch| (launch.spans.len() as u32, launch.warps()));
        Self {
            launch,
            block: request.block.min(last(blocks)),
            warp: request.warp.min(last(warps)),
            lane: request.lane.min(31) as usize,
        }
    }
}

/// An answer, and the arrays beside it.
pub struct Looked {
    /// The answer.
    pub answer: Value,
    /// The arrays, by number.
    pub bulk: Vec<Vec<u32>>,
}

/// Bits of marks.
const READ_BY_LANE: u32 = 1;
const READ_BY_WARP: u32 = 2;
const WRITTEN_BY_LANE: u32 = 4;
const WRITTEN_BY_WARP: u32 = 8;
const OTHER_WARP: u32 = 16;
const OTHER_BLOCK: u32 = 32;
const ON_ITS_WAY: u32 = 64;
const HAS_BEEN_WRITTEN: u32 = 128;

/// The shared array that a position lies in.
fn shared_name(launch: &LaunchTape, position: u32) -> String {
    let arrays = launch.program.kernel.shared_arrays();
    arrays.iter().rfind(|array| array.offset <= position).map_or("shared".into(), |array| array.source_name.clone())
}

/// A value for each lane of a mask, null for the others.
fn by_lane<T: Into<Value>>(mask: u32, value: impl Fn(usize) -> T) -> Value {
    (0..32).map(|lane| if mask >> lane & 1 != 0 { value(lane).into() } else { Value::Null }).collect()
}

fn sectors(mask: u32, addresses: &[u32; 32]) -> Value {
    let mut all: Vec<u32> = lanes(mask).map(|lane| addresses[lane] / 32).collect();
    all.sort_unstable();
    all.dedup();
    let of = |sector: u32| {
        lanes(mask).filter(|&lane| addresses[lane] / 32 == sector).fold(0_u32, |mask, lane| mask | 1 << lane)
    };
    all.into_iter().map(|sector| json!({ "sector": sector, "lanes": of(sector) })).collect()
}

fn wavefronts(passes: &[Wavefront]) -> Value {
    passes.iter().map(|pass| json!({ "lanes": pass.lanes, "banks": pass.words })).collect()
}

/// The chosen warp's latest request.
fn request(run: &Run, launch: &LaunchTape, number: u32, now: u32) -> Value {
    let tape = &run.tape;
    let event = &tape.events[number as usize];
    let instruction = &launch.program.instructions[event.instruction as usize];
    let first = |mask: u32| mask.trailing_zeros() as usize & 31;
    let mut answer = json!({
        "time": number + 1, "now": number + 1 == now, "instruction": event.instruction + launch.first_instruction, "line": instruction.line,
        "counts": counts(tape.counts(event), false), "note": null, "to": null, "fewest": 0, "sectors": [], "wavefronts": [],
    });
    if let Some(access) = tape.access(number) {
        let AccessEvent { kind, space, array, lanes: mask, bytes, addresses, .. } = access;
        answer["kind"] = json!(match kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            _ => "atomic",
        });
        answer["space"] = json!(space_name(space));
        answer["array"] = match (array, space) {
            (Some(array), _) => json!(tape.arrays[array].name),
            (None, Space::Shared) => json!(shared_name(launch, addresses[first(mask)])),
            _ => json!("local"),
        };
        answer["bytes"] = json!(bytes);
        answer["lanes"] = json!(mask);
        answer["addresses"] = by_lane(mask, |lane| addresses[lane]);
        answer["elements"] = by_lane(mask, |lane| match space {
            Space::Local => format!("local[{}]", addresses[lane] / 4),
            _ => element(run, launch, array, addresses[lane]).to_string(),
        });
        if space == Space::Global {
            answer["sectors"] = sectors(mask, &addresses);
        } else if space == Space::Shared {
            let kernel = &launch.program.kernel;
            let wide = filled(mask, &addresses);
            match Wavefronts::of_access(kernel, event.instruction, kind, mask, bytes, &wide) {
                Some(found) => {
                    answer["wavefronts"] = wavefronts(&found.passes);
                    answer["fewest"] = json!(found.fewest);
                }
                None => {
                    answer["note"] =
                        json!("the assembler merges this load with its neighbour: the wider one is counted there");
                }
            }
        }
    } else if let Some(copy) = tape.copy(number) {
        let CopyEvent { array, lanes: mask, bytes, bypass, source_bytes, from, to } = copy;
        let reading = reading(&copy);
        answer["kind"] = json!("copy");
        answer["space"] = json!("global");
        answer["array"] = json!(array.map(|array| &tape.arrays[array].name));
        answer["bytes"] = json!(bytes);
        answer["lanes"] = json!(mask);
        answer["addresses"] = by_lane(reading, |lane| from[lane]);
        answer["elements"] = by_lane(reading, |lane| element(run, launch, array, from[lane]).to_string());
        answer["sectors"] = sectors(reading, &from);
        let base = array.map_or(0, |array| tape.arrays[array].base);
        let found = Wavefronts::of_copy(&CopyAccess {
            warp: event.warp(),
            instruction: event.instruction,
            lanes: mask,
            bytes,
            bypass,
            source_bytes: &source_bytes,
            from: &from.map(|offset| base + u64::from(offset)),
            to: &to.map(u64::from),
        });
        answer["to"] = json!({
            "addresses": by_lane(mask, |lane| to[lane]), "elements": by_lane(mask, |lane| element(run, launch, None, to[lane]).to_string()),
            "array": shared_name(launch, to[first(mask)]), "wavefronts": wavefronts(&found.passes), "fewest": found.fewest,
        });
        if reading != mask {
            answer["note"] = json!("lanes without a source write zeros");
        }
    }
    answer
}

/// The lanes of a copy that read something.
fn reading(copy: &CopyEvent) -> u32 {
    lanes(copy.lanes).filter(|&lane| copy.source_bytes[lane] > 0).fold(0, |mask, lane| mask | 1 << lane)
}

/// The addresses, with those of lanes that take no part set to one that does.
fn filled(mask: u32, addresses: &[u32; 32]) -> [u64; 32] {
    let first = u64::from(addresses[mask.trailing_zeros() as usize & 31]);
    std::array::from_fn(|lane| if mask >> lane & 1 != 0 { u64::from(addresses[lane]) } else { first })
}

fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global => "global",
        Space::Shared => "shared",
        _ => "local",
    }
}

/// The value of a register in a lane.
fn value(float: bool, bytes: u32, low: u32, high: u32) -> (Value, &'static str) {
    match (float, bytes) {
        (_, 0) => (json!(low), "pred"),
        (true, 8) => (real(f64::from_bits(u64::from(high) << 32 | u64::from(low))), "f64"),
        (true, _) => (real(f64::from(f32::from_bits(low))), "f32"),
        (false, 8) => (whole(u64::from(high) << 32 | u64::from(low)), "u64"),
        (false, _) => (json!(low as i32), "s32"),
    }
}

fn registers(launch: &LaunchTape, block: &Block, chosen: &Chosen, now: u32) -> Value {
    let Some(warp) = block.warps.get(chosen.warp as usize) else { return json!([]) };
    let written = launch.program.registers.iter().zip(&warp.times).filter(|(_, time)| **time > 0);
    let register = written.map(|(register, &time)| {
        let at = 32 * register.place + chosen.lane;
        let high = if register.bytes == 8 { warp.registers[at + 32] } else { 0 };
        let (value, kind) = value(register.float, register.bytes, warp.registers[at], high);
        json!({ "name": register.name, "type": kind, "value": value, "time": time, "now": time == now })
    });
    register.collect()
}

/// The value of an event's register in a lane, as a number of C's kind.
fn sum_value(run: &Run, launch: &LaunchTape, number: u32, register: usize, lane: usize) -> f64 {
    let event = &run.tape.events[number as usize];
    let mut bits = 0;
    run.tape.effects(&launch.program, event, |written, (low, _)| {
        if written == register {
            bits = low[lane];
        }
    });
    run.number(bits)
}

fn sums(run: &Run, launch: &LaunchTape, state: &State, chosen: &Chosen, sums: &Sums) -> Value {
    let columns = run.size[1];
    let of_lane = sums.get(chosen.lane).map_or(&[][..], Vec::as_slice);
    let sum = |sum: &Sum| {
        // The latest first.
        let step = sum.steps.iter().find(|(number, _)| *number < state.time);
        let value = step.map(|&(number, register)| real(sum_value(run, launch, number, register, chosen.lane)));
        let register = step.map(|&(_, register)| launch.program.registers[register].name.clone());
        let expected = run.expected.get(sum.element as usize).map(|&bits| real(run.number(bits)));
        json!({
            "row": sum.element / columns, "column": sum.element % columns, "value": value, "expected": expected, "register": register,
        })
    };
    of_lane.iter().map(sum).collect()
}

fn warps(run: &Run, launch: &LaunchTape, own: Option<&Block>, chosen: &Chosen, ended: bool, time: u32) -> Value {
    let tape = &run.tape;
    let events = launch.events.0..launch.events.1.min(tape.length());
    let mut next: Vec<Option<u32>> = vec![None; launch.warps() as usize];
    let mut missing = if ended { 0 } else { next.len() };
    let (_, end) = launch.spans[chosen.block as usize];
    for number in time.max(events.start)..events.end.min(end.saturating_add(1)) {
        if missing == 0 {
            break;
        }
        let event = &tape.events[number as usize];
        if event.block() == chosen.block
            && let Some(slot @ None) = next.get_mut(event.warp() as usize)
        {
            *slot = Some(event.instruction);
            missing -= 1;
        }
    }
    let first = launch.first_instruction;
    let warp = |number: usize| {
        let state = own.and_then(|block| block.warps.get(number));
        let last = state.and_then(|warp| warp.last).map(|last| tape.events[last as usize]);
        let gone = ended || state.is_some_and(|warp| warp.ended == u32::MAX);
        let name = match state {
            _ if gone => "done",
            None => "waits",
            Some(warp) if warp.barrier.is_some() => "barrier",
            Some(_) => "runs",
        };
        let at = |instruction: u32| launch.program.instructions.get(instruction as usize).and_then(|known| known.line);
        let at_barrier = if name == "barrier" { last.map(|event| event.instruction) } else { None };
        let here = at_barrier.or(next[number]);
        json!({
            "state": name, "next": next[number].map(|next| next + first), "line": here.and_then(at),
            "last": last.map(|event| event.instruction + first), "lanes": last.map_or(0, |event| event.lanes),
        })
    };
    (0..launch.warps() as usize).map(warp).collect()
}

/// Row, column, rows and columns, cut off at the edges.
fn cut([row, column, rows, columns]: [u32; 4], [height, width]: [u32; 2]) -> Value {
    json!([row, column, rows.min(height.saturating_sub(row)), columns.min(width.saturating_sub(column))])
}

fn tiles(run: &Run, launch: &LaunchTape, own: Option<&Block>, chosen: &Chosen) -> Value {
    let [m, n, k] = run.size;
    let [width, height] = run.plan.tile;
    let [x, y, _] = launch.grid;
    let (row, column) = (chosen.block / x % y * height, chosen.block % x * width);
    let mut tiles = Map::new();
    tiles.insert("C".into(), cut([row, column, height, width], [m, n]));
    // The pass of the main loop: where the block read A or B last.
    let latest = |input: usize| own.and_then(|block| block.warps.iter().filter_map(|warp| warp.inputs[input]).max());
    let address = |number: u32| {
        let access = run.tape.access(number).map(|access| (access.lanes, access.addresses));
        let reads = |copy: CopyEvent| (reading(&copy), copy.from);
        let (mask, addresses) = access.or_else(|| run.tape.copy(number).map(reads))?;
        Some(addresses[mask.trailing_zeros() as usize & 31] / 4)
    };
    let pass = |k: u32| k / run.plan.tile_k * run.plan.tile_k;
    if let Some(at) = latest(A).and_then(address) {
        tiles.insert("A".into(), cut([row, pass(at % k), height, run.plan.tile_k], [m, k]));
    }
    if let Some(at) = latest(B).and_then(address) {
        tiles.insert("B".into(), cut([pass(at / n), column, run.plan.tile_k, width], [k, n]));
    }
    Value::Object(tiles)
}

fn copies(run: &Run, launch: &LaunchTape, own: Option<&Block>) -> Value {
    let Some(own) = own else { return json!([]) };
    let copy = |flight: &crate::state::Flight| {
        let event = &run.tape.events[flight.event as usize];
        let copy = run.tape.copy(flight.event);
        json!({
            "warp": flight.warp, "time": flight.event + 1, "instruction": event.instruction + launch.first_instruction,
            "lanes": event.lanes, "bytes": copy.map_or(0, |copy| copy.bytes), "closed": flight.closed,
        })
    };
    own.flights.iter().map(copy).collect()
}

/// The chosen warp's latest product of a warpgroup.
fn product(run: &Run, launch: &LaunchTape, own: Option<&Block>, chosen: &Chosen, time: u32) -> Value {
    let mut product = crate::product::latest(run, launch, own, (chosen.block, chosen.warp), time);
    if let Some(number) = product["instruction"].as_u64() {
        product["instruction"] = json!(number + u64::from(launch.first_instruction));
    }
    product
}

/// The marks of A, B, C and of shared memory.
struct Marks {
    matrices: [Vec<u32>; 3],
    shared: Vec<u32>,
}

impl Marks {
    fn mark(&mut self, array: Option<usize>, address: u32, bytes: u32, bits: u32) {
        let words = match array {
            Some(array) => self.matrices.get_mut(array),
            None => Some(&mut self.shared),
        };
        let Some(words) = words else { return };
        for word in address / 4..(address + bytes).div_ceil(4) {
            if let Some(mark) = words.get_mut(word as usize) {
                *mark |= bits;
            }
        }
    }

    /// Marks what a request touches: bits for reading and for writing, for all of its lanes.
    fn request(&mut self, run: &Run, number: u32, own: bool, mask: u32, [reads, writes]: [u32; 2]) {
        if let Some(access) = run.tape.access(number) {
            let bits = if access.kind == AccessKind::Load { reads } else { writes };
            for lane in lanes(access.lanes & mask) {
                match access.space {
                    Space::Global => self.mark(access.array, access.addresses[lane], access.bytes, bits),
                    Space::Shared if own => self.mark(None, access.addresses[lane], access.bytes, bits),
                    _ => {}
                }
            }
        } else if let Some(copy) = run.tape.copy(number) {
            for lane in lanes(copy.lanes & mask) {
                if copy.array.is_some() {
                    self.mark(copy.array, copy.from[lane], copy.source_bytes[lane], reads);
                }
                if own {
                    self.mark(None, copy.to[lane], copy.bytes, writes);
                }
            }
        }
    }
}

/// A warp's latest request, if the warp still stands on its line.
fn current(run: &Run, launch: &LaunchTape, warp: &crate::state::Warp) -> Option<u32> {
    let (access, last) = (warp.access?, warp.last?);
    let line = |number: u32| launch.program.instructions[run.tape.events[number as usize].instruction as usize].line;
    (access == last || line(access) == line(last)).then_some(access)
}

fn marks(run: &Run, launch: &LaunchTape, state: &State, own: Option<&Block>, chosen: &Chosen) -> Marks {
    let words = |array: usize| state.arrays.get(array).map_or(0, |words| words.len());
    let mut marks = Marks {
        matrices: [A, B, C].map(|array| vec![0; words(array)]),
        shared: vec![0; launch.shared_bytes.div_ceil(4) as usize],
    };
    for (&number, block) in &state.blocks {
        for (warp_number, warp) in (0u32..).zip(&block.warps) {
            let Some(request) = current(run, launch, warp) else { continue };
            let of_block = number == chosen.block;
            if of_block && warp_number == chosen.warp {
                marks.request(run, request, true, 1 << chosen.lane, [READ_BY_LANE, WRITTEN_BY_LANE]);
                marks.request(run, request, true, u32::MAX, [READ_BY_WARP, WRITTEN_BY_WARP]);
            } else {
                let bit = if of_block { OTHER_WARP } else { OTHER_BLOCK };
                marks.request(run, request, of_block, u32::MAX, [bit; 2]);
            }
        }
    }
    if let Some(own) = own {
        for flight in &own.flights {
            marks.request(run, flight.event, true, u32::MAX, [ON_ITS_WAY; 2]);
        }
        for (word, mark) in marks.shared.iter_mut().enumerate() {
            if own.written[word / 32] >> (word % 32) & 1 != 0 {
                *mark |= HAS_BEEN_WRITTEN;
            }
        }
    }
    if let Some([_, writes]) = state.touched.get(C) {
        for (mark, &count) in marks.matrices[C].iter_mut().zip(writes.iter()) {
            *mark |= if count > 0 { HAS_BEEN_WRITTEN } else { 0 };
        }
    }
    marks
}

fn by_line(run: &Run, lines: &[Counts]) -> Value {
    let named = run.tape.keys.names.iter().zip(lines).filter(|(_, line)| **line != Counts::default());
    Value::Object(named.map(|(name, line)| (name.clone(), counts(line, false))).collect())
}

/// Everything at the state's time. `own` is the state in which the chosen block is shown: its last one if it has ended.
pub fn look(run: &Run, state: &State, own: &State, chosen: &Chosen, all_sums: &Sums) -> Looked {
    let tape = &run.tape;
    let time = state.time;
    let Some(launch) = tape.launches.get(chosen.launch) else {
        return Looked { answer: json!({ "time": 0 }), bulk: vec![] };
    };
    let block = own.blocks.get(&chosen.block);
    let (_, end) = launch.spans[chosen.block as usize];
    let ended = end < time;
    let describe = |event: &Event| {
        let line = launch.program.instructions.get(event.instruction as usize).and_then(|known| known.line);
        json!({
            "block": event.block(), "warp": event.warp(), "instruction": event.instruction + launch.first_instruction, "line": line,
            "lanes": event.lanes,
        })
    };
    let event = time.checked_sub(1).filter(|&event| event >= launch.events.0).map(|event| &tape.events[event as usize]);
    let blocks = launch.spans.iter().map(|&(first, end)| if first >= time { 0 } else { 1 + u32::from(end < time) });
    let latest = block.and_then(|block| block.warps.get(chosen.warp as usize)).and_then(|warp| warp.access);
    let answer = json!({
        "time": time, "launch": chosen.launch, "block": chosen.block, "warp": chosen.warp, "lane": chosen.lane,
        "event": event.map(describe),
        "blocks": blocks.collect::<Vec<u32>>(),
        "warps": warps(run, launch, block, chosen, ended, time),
        "tiles": tiles(run, launch, block, chosen),
        "request": latest.map(|number| request(run, launch, number, time)),
        "registers": block.map_or_else(|| json!([]), |block| registers(launch, block, chosen, time)),
        "sums": sums(run, launch, state, chosen, all_sums),
        "copies": copies(run, launch, block),
        "product": product(run, launch, block, chosen, time),
        "totals": counts(&state.totals, true),
        "by_line": by_line(run, &state.lines),
        "hazards": run.hazards.iter().filter(|found| found.time <= time).count(),
    });
    let marks = marks(run, launch, state, if ended { None } else { block }, chosen);
    let words = |array: usize| state.arrays.get(array).map_or_else(Vec::new, |words| words.to_vec());
    let touched =
        |array: usize, how: usize| state.touched.get(array).map_or_else(Vec::new, |counts| counts[how].to_vec());
    let [a, b, c] = marks.matrices;
    let shared = block.map_or_else(
        || vec![crate::state::GARBAGE; launch.shared_bytes.div_ceil(4) as usize],
        |block| block.shared.clone(),
    );
    let bulk = vec![
        words(A),
        words(B),
        words(C),
        run.expected.clone(),
        touched(A, 0),
        touched(B, 0),
        touched(C, 1),
        a,
        b,
        c,
        shared,
        marks.shared,
    ];
    Looked { answer, bulk }
}
