//! What everything looks like at one time, for one chosen thread.

use crate::answer::{counts, real, whole};
use crate::effect::{AccessEvent, CopyEvent, first_lane, lanes};
use crate::log::LaunchTape;
use crate::names::element;
use crate::origins::Origins;
use crate::product;
use crate::request::LookRequest;
use crate::run::{A, B, C, Run};
use crate::state::{Block, State};
use serde_json::{Map, Value, json};
use simt::analyses::counters::{Wavefront, Wavefronts};
use simt::analyses::provenance::Store;
use simt::{AccessKind, CopyAccess, Counts, Space};

/// The chosen thread.
#[derive(Debug, Clone, Copy)]
pub struct Chosen {
    pub launch: usize,
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
    let (event, instruction) = (tape.event(number), tape.instruction(number));
    let named = |array: Option<usize>, mask: u32, addresses: &[u32; 32]| {
        by_lane(mask, |lane| element(run, launch, array, addresses[lane]).to_string())
    };
    let array = |array: Option<usize>, mask: u32, addresses: &[u32; 32]| match array {
        Some(array) => tape.arrays[array].name.as_str(),
        None => launch.shared_array(addresses[first_lane(mask)]).map_or("shared", |array| &array.source_name),
    };
    let mut answer = json!({
        "time": number + 1, "now": number + 1 == now, "instruction": event.instruction + launch.first_instruction, "line": instruction.line,
        "counts": counts(tape.counts(number), false), "note": null, "to": null, "fewest": 0, "sectors": [], "wavefronts": [],
    });
    let more = if let Some(access) = tape.access(number) {
        let &AccessEvent { kind, space, lanes: mask, bytes, ref addresses, .. } = access;
        if space == Space::Global {
            answer["sectors"] = sectors(mask, addresses);
        } else if space == Space::Shared {
            // Lanes that take no part go where one does.
            let filled = std::array::from_fn(|lane| {
                addresses[if mask >> lane & 1 != 0 { lane } else { first_lane(mask) }].into()
            });
            let kernel = &launch.program.kernel;
            match Wavefronts::of_access(kernel, event.instruction, kind, mask, bytes, &filled) {
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
        let kind = match kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            _ => "atomic",
        };
        let (space, array, elements) = match space {
            Space::Global => ("global", array(access.array, mask, addresses), named(access.array, mask, addresses)),
            Space::Shared => ("shared", array(None, mask, addresses), named(None, mask, addresses)),
            _ => ("local", "local", by_lane(mask, |lane| format!("local[{}]", addresses[lane] / 4))),
        };
        json!({
            "kind": kind, "space": space, "array": array, "bytes": bytes, "lanes": mask, "elements": elements,
            "addresses": by_lane(mask, |lane| addresses[lane]),
        })
    } else if let Some(copy) = tape.copy(number) {
        let CopyEvent { lanes: mask, bytes, from, to, .. } = copy;
        let reading = copy.reading();
        let base = copy.array.map_or(0, |array| tape.arrays[array].base);
        let found = Wavefronts::of_copy(&CopyAccess {
            warp: event.warp,
            instruction: event.instruction,
            lanes: *mask,
            bytes: *bytes,
            bypass: copy.bypass,
            source_bytes: &copy.source_bytes,
            from: &from.map(|offset| base + u64::from(offset)),
            to: &to.map(u64::from),
        });
        answer["sectors"] = sectors(reading, from);
        answer["to"] = json!({
            "addresses": by_lane(*mask, |lane| to[lane]), "elements": named(None, *mask, to), "array": array(None, *mask, to),
            "wavefronts": wavefronts(&found.passes), "fewest": found.fewest,
        });
        if reading != *mask {
            answer["note"] = json!("lanes without a source write zeros");
        }
        json!({
            "kind": "copy", "space": "global", "array": copy.array.map(|array| &tape.arrays[array].name), "bytes": bytes, "lanes": mask,
            "elements": named(copy.array, reading, from), "addresses": by_lane(reading, |lane| from[lane]),
        })
    } else {
        json!({})
    };
    crate::answer::with(answer, more)
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

/// The sums of the chosen lane that end up in C: of each the latest value that it has at that time.
fn sums(run: &Run, origins: &Origins, chosen: &Chosen, time: u32) -> Value {
    let Some(block) = origins.block(chosen.launch, chosen.block) else { return json!([]) };
    let thread = 32 * chosen.warp + chosen.lane as u32;
    let sum = |(_, store): (u32, &Store)| {
        let [row, column] = run.row_column(C, store.index as u32);
        let sums = block.nodes().formed(store.value).sums;
        let latest = sums.into_iter().find(|&tag| block.event_of(tag) < time);
        let value = latest.map(|tag| real(run.number(block.nodes().value(tag).bits as u32)));
        let register = latest.and_then(|tag| block.register_of(run, tag, chosen.lane));
        let expected = run.expected.get(store.index as usize).map(|&bits| real(run.number(bits)));
        json!({ "row": row, "column": column, "value": value, "expected": expected, "register": register })
    };
    let mut stores: Vec<_> = block.stores().filter(|(_, store)| store.number == thread).collect();
    stores.sort_by_key(|(_, store)| store.index);
    stores.into_iter().map(sum).collect()
}

fn warps(run: &Run, launch: &LaunchTape, own: Option<&Block>, chosen: &Chosen, ended: bool, time: u32) -> Value {
    let tape = &run.tape;
    let (_, end) = launch.spans[chosen.block as usize];
    let events = time.max(launch.events.start)..launch.events.end.min(end.saturating_add(1));
    let first = launch.first_instruction;
    let warp = |number: u32| {
        let next = tape.of_warp((chosen.block, number), if ended { 0..0 } else { events.clone() }).next();
        let next = next.map(|next| tape.event(next).instruction);
        let state = own.and_then(|block| block.warps.get(number as usize));
        let last = state.and_then(|warp| warp.last).map(|last| tape.event(last));
        let gone = ended || state.is_some_and(|warp| warp.ended == u32::MAX);
        let name = match state {
            _ if gone => "done",
            None => "waits",
            Some(warp) if warp.at_barrier => "barrier",
            Some(_) => "runs",
        };
        let at = |instruction: u32| launch.program.instructions.get(instruction as usize).and_then(|known| known.line);
        let at_barrier = if name == "barrier" { last.map(|event| event.instruction) } else { None };
        let here = at_barrier.or(next);
        json!({
            "state": name, "next": next.map(|next| next + first), "line": here.and_then(at),
            "last": last.map(|event| event.instruction + first), "lanes": last.map_or(0, |event| event.lanes),
        })
    };
    (0..launch.warps()).map(warp).collect()
}

/// Row, column, rows and columns, cut off at the edges.
fn cut([row, column, rows, columns]: [u32; 4], [height, width]: [u32; 2]) -> Value {
    json!([row, column, rows.min(height.saturating_sub(row)), columns.min(width.saturating_sub(column))])
}

fn tiles(run: &Run, launch: &LaunchTape, own: Option<&Block>, chosen: &Chosen) -> Value {
    let [m, n, k] = run.size;
    let [width, height] = run.plan.tile;
    let at = launch.grid.index(chosen.block.into());
    let (row, column) = (at.y * height, at.x * width);
    let mut tiles = Map::new();
    tiles.insert("C".into(), cut([row, column, height, width], [m, n]));
    // The pass of the main loop: where the block read A or B last.
    let latest = |input: usize| own.and_then(|block| block.warps.iter().filter_map(|warp| warp.inputs[input]).max());
    let address =
        |number: u32| run.tape.touched(number).find(|touched| touched.array.is_some()).map(|touched| touched.word);
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
        let (event, copy) = (run.tape.event(flight.event), run.tape.copy(flight.event));
        json!({
            "warp": flight.warp, "time": flight.event + 1, "instruction": event.instruction + launch.first_instruction,
            "lanes": event.lanes, "bytes": copy.map_or(0, |copy| copy.bytes), "closed": flight.closed,
        })
    };
    own.flights.iter().map(copy).collect()
}

/// The marks of A, B, C and of shared memory.
struct Marks {
    matrices: [Vec<u32>; 3],
    shared: Vec<u32>,
}

impl Marks {
    /// Marks what a request touches: bits for reading and for writing, for all of its lanes.
    fn request(&mut self, run: &Run, number: u32, own: bool, mask: u32, [reads, writes]: [u32; 2]) {
        for touched in run.tape.touched(number).filter(|touched| mask >> touched.lane & 1 != 0) {
            let words = match touched.array {
                Some(array) => self.matrices.get_mut(array),
                None => own.then_some(&mut self.shared),
            };
            if let Some(mark) = words.and_then(|words| words.get_mut(touched.word as usize)) {
                *mark |= if touched.writes { writes } else { reads };
            }
        }
    }
}

/// A warp's latest request, if the warp still stands on its line.
fn current(run: &Run, warp: &crate::state::Warp) -> Option<u32> {
    let (access, last) = (warp.access?, warp.last?);
    let line = |number: u32| run.tape.instruction(number).line;
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
            let Some(request) = current(run, warp) else { continue };
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
pub fn look(run: &Run, origins: Option<&Origins>, state: &State, own: &State, chosen: &Chosen) -> Looked {
    let tape = &run.tape;
    let time = state.time;
    let Some(launch) = tape.launches.get(chosen.launch) else {
        return Looked { answer: json!({ "time": 0 }), bulk: vec![] };
    };
    let block = own.blocks.get(&chosen.block);
    let (_, end) = launch.spans[chosen.block as usize];
    let ended = end < time;
    let describe = |number: u32| {
        let event = tape.event(number);
        json!({
            "block": event.block, "warp": event.warp, "instruction": event.instruction + launch.first_instruction,
            "line": tape.instruction(number).line, "lanes": event.lanes,
        })
    };
    let event = time.checked_sub(1).filter(|&event| event >= launch.events.start);
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
        "sums": origins.map_or_else(|| json!([]), |origins| sums(run, origins, chosen, time)),
        "copies": copies(run, launch, block),
        "product": product::latest(run, launch, block, (chosen.block, chosen.warp), time),
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
