//! The whole state at one time, as the page shows it for one chosen thread.

use crate::answer::{counts, real, whole, with};
use crate::instructions::{Register, operands};
use crate::log::{Effect, LaunchTape, first_lane, lanes};
use crate::matrices::{A, B, C};
use crate::names::element;
use crate::request::LookRequest;
use crate::run::{Chosen, Run};
use crate::state::{Block, GARBAGE, State, Warp};
use crate::step::step;
use serde_json::{Value, json};
use simt::analyses::counters::{Wavefront, Wavefronts};
use simt::{Access, AccessKind, CopyAccess, Space};
use std::collections::BTreeSet;

const READ_BY_LANE: u32 = 1;
const READ_BY_WARP: u32 = 2;
const WRITTEN_BY_LANE: u32 = 4;
const WRITTEN_BY_WARP: u32 = 8;
const OTHER_WARP: u32 = 16;
const OTHER_BLOCK: u32 = 32;
const ON_ITS_WAY: u32 = 64;
const HAS_BEEN_WRITTEN: u32 = 128;

/// The place of the marks of shared memory, behind those of A, B and C.
const SHARED: usize = 3;

/// A value for each lane of a mask, null for the others.
fn by_lane<T: Into<Value>>(mask: u32, value: impl Fn(usize) -> T) -> Value {
    (0..32).map(|lane| if mask >> lane & 1 != 0 { value(lane).into() } else { Value::Null }).collect()
}

/// One side of a request: the addresses of its lanes in one memory, and the sectors or passes that they take there.
fn side(
    run: &Run,
    launch: &LaunchTape,
    (space, array): (Space, Option<usize>),
    (mask, addresses): (u32, &[u32; 32]),
    found: Option<&Wavefronts>,
) -> Value {
    let in_global = if array.is_some() { mask } else { 0 };
    let sectors: BTreeSet<u32> = lanes(in_global).map(|lane| addresses[lane] / 32).collect();
    let passes = found.map_or(&[][..], |found| &found.passes);
    let wavefront = |pass: &Wavefront| json!({ "lanes": pass.lanes, "banks": pass.words });
    let name = match (space, array) {
        (Space::Local, _) => "local",
        (_, Some(array)) => run.tape.arrays[array].name.as_str(),
        _ => launch.shared_array(addresses[first_lane(mask)]).map_or("shared", |array| &array.source_name),
    };
    let named = |lane: usize| match space {
        Space::Local => format!("local[{}]", addresses[lane] / 4),
        _ => element(run, launch, array, addresses[lane]).to_string(),
    };
    json!({
        "array": name, "addresses": by_lane(mask, |lane| addresses[lane]), "elements": by_lane(mask, named),
        "sectors": sectors,
        "wavefronts": passes.iter().map(wavefront).collect::<Value>(), "fewest": found.map_or(0, |found| found.fewest),
    })
}

/// The chosen warp's latest request.
fn request(run: &Run, launch: &LaunchTape, number: u32, now: u32) -> Value {
    let Some(request) = run.tape.request(number) else { return Value::Null };
    let (event, line) = (run.tape.event(number), run.tape.instruction(number).line);
    let mask = request.asking();
    // Lanes that take no part go where one does.
    let filled = |lane: usize| request.addresses[if mask >> lane & 1 != 0 { lane } else { first_lane(mask) }].into();
    let found = (request.space == Space::Shared).then(|| {
        let (kernel, filled) = (&launch.program.kernel, std::array::from_fn(filled));
        let by = (event.warp, event.instruction, mask);
        Wavefronts::of_access(kernel, &Access::new(by, (request.kind, request.space), request.bytes, &filled))
    });
    let (mut to, mut note) = (Value::Null, None);
    if let Some(copy) = &request.copy {
        let base = request.array.map_or(0, |array| run.tape.arrays[array].base);
        let found = Wavefronts::of_copy(&CopyAccess {
            warp: event.warp,
            instruction: event.instruction,
            lanes: request.lanes,
            bytes: request.bytes,
            bypass: copy.bypass,
            source_bytes: &copy.source_bytes,
            from: &request.addresses.map(|offset| base + u64::from(offset)),
            to: &copy.to.map(u64::from),
        });
        to = side(run, launch, (Space::Shared, None), (request.lanes, &copy.to), Some(&found));
        note = (mask != request.lanes).then_some("lanes without a source write zeros");
    } else if let Some(None) = found {
        note = Some("the assembler merges this load with its neighbour: the wider one is counted there");
    }
    let (kind, space) = (request.kind, request.space);
    let more = json!({
        "now": number + 1 == now, "line": line, "bytes": request.bytes, "to": to, "note": note,
        "kind": match kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic => "atomic",
            _ => "copy",
        },
        "space": space.to_string(),
    });
    with(side(run, launch, (space, request.array), (mask, &request.addresses), found.flatten().as_ref()), more)
}

fn number(register: &Register, bits: u64) -> Value {
    match (register.float, register.bytes) {
        (true, 8) => real(f64::from_bits(bits)),
        (true, _) => real(f64::from(f32::from_bits(bits as u32))),
        (false, 4) => json!(bits as i32),
        (false, _) => whole(bits),
    }
}

fn registers(chosen: &Chosen<'_>, warp: &Warp, now: u32) -> Value {
    let all = chosen.launch.program.registers.iter().zip(&warp.registers).zip(&warp.times);
    let register = |((register, values), &time): ((&Register, &[u64; 32]), &u32)| json!({ "name": register.name, "value": number(register, values[chosen.lane]), "now": time == now });
    all.filter(|(_, time)| **time > 0).map(register).collect()
}

fn warps(run: &Run, chosen: &Chosen<'_>, block: Option<&Block>, time: u32) -> Value {
    let (tape, launch) = (&run.tape, chosen.launch);
    let events = time.max(launch.events.start)..launch.events.end;
    let warp = |number: u32| {
        let warp = block.and_then(|block| block.warps.get(number as usize));
        let name = match warp {
            None => "waits",
            Some(warp) if warp.has_ended() => "done",
            Some(warp) if warp.at_barrier => "barrier",
            Some(_) => "runs",
        };
        let last = warp.and_then(|warp| warp.last);
        let here = match name {
            "done" => None,
            "barrier" => last,
            _ => tape.of_warp((chosen.block, number), events.clone()).next(),
        };
        let last = last.map(|last| tape.event(last).instruction);
        json!({ "state": name, "line": here.and_then(|here| tape.instruction(here).line), "last": last })
    };
    (0..launch.warps()).map(warp).collect()
}

/// Row, column, rows and columns, cut off at the edges.
fn cut([row, column, rows, columns]: [u32; 4], [height, width]: [u32; 2]) -> Value {
    json!([row, column, rows.min(height.saturating_sub(row)), columns.min(width.saturating_sub(column))])
}

fn tiles(run: &Run, chosen: &Chosen<'_>, time: u32) -> Value {
    let [m, n, k] = run.size;
    let ([width, height], tile_k) = (run.plan.tile, run.plan.tile_k);
    let at = chosen.launch.grid.index(chosen.block.into());
    let (row, column) = (at.y * height, at.x * width);
    // The pass of the main loop: where the block read A or B last.
    let events = chosen.launch.events.start..time;
    let own = events.filter(|&event| run.tape.event(event).block == chosen.block);
    let latest = |input: usize| {
        let read = |event: u32| run.tape.touched(event).find(|touched| touched.array == Some(input) && touched.reads);
        own.clone().rev().find_map(read).map(|touched| touched.word)
    };
    let pass = |k: u32| k / tile_k * tile_k;
    let of_a = latest(A).map(|at| cut([row, pass(at % k), height, tile_k], [m, k]));
    let of_b = latest(B).map(|at| cut([pass(at / n), column, tile_k, width], [k, n]));
    let all = [("C", Some(cut([row, column, height, width], [m, n]))), ("A", of_a), ("B", of_b)];
    all.into_iter().filter_map(|(name, tile)| Some((name, tile?))).collect()
}

/// The marks of A, B, C and of shared memory.
fn marks(run: &Run, state: &State, chosen: &Chosen<'_>) -> [Vec<u32>; 4] {
    let [a, b, c] = [A, B, C].map(|array| vec![0; state.arrays[array].len()]);
    let mut marks = [a, b, c, vec![0; chosen.launch.shared_bytes.div_ceil(4) as usize]];
    // Marks the words that some lanes of a request touch, with one bit for reading and one for writing.
    let mut mark = |event: u32, own: bool, mask: u32, [reads, writes]: [u32; 2]| {
        for touched in run.tape.touched(event).filter(|touched| mask >> touched.lane & 1 != 0) {
            let known = touched.array.map_or(own.then_some(SHARED), |array| (array <= C).then_some(array));
            if let Some(mark) = known.and_then(|array| marks[array].get_mut(touched.word as usize)) {
                *mark |= if touched.writes { writes } else { reads };
            }
        }
    };
    let line = |number: u32| run.tape.instruction(number).line;
    for (&number, block) in state.blocks.iter().filter(|(_, block)| !block.has_ended()) {
        for (warp_number, warp) in (0u32..).zip(&block.warps) {
            // Its latest request, if the warp has not left its line.
            let is_here = |&access: &u32| warp.last.is_some_and(|last| access == last || line(access) == line(last));
            let Some(request) = warp.access.filter(is_here) else { continue };
            let of_block = number == chosen.block;
            if of_block && warp_number == chosen.warp {
                mark(request, true, 1 << chosen.lane, [READ_BY_LANE, WRITTEN_BY_LANE]);
                mark(request, true, u32::MAX, [READ_BY_WARP, WRITTEN_BY_WARP]);
            } else {
                let bit = if of_block { OTHER_WARP } else { OTHER_BLOCK };
                mark(request, of_block, u32::MAX, [bit; 2]);
            }
        }
    }
    let block = state.blocks.get(&chosen.block);
    for flight in block.iter().flat_map(|block| &block.flights) {
        mark(flight.event, true, u32::MAX, [ON_ITS_WAY; 2]);
    }
    for (word, mark) in (0u32..).zip(&mut marks[SHARED]) {
        let is_written = block.is_some_and(|block| block.held(word).is_some());
        *mark |= if is_written { HAS_BEEN_WRITTEN } else { 0 };
    }
    for (mark, &writes) in marks[C].iter_mut().zip(state.touched[C][1].iter()) {
        *mark |= if writes > 0 { HAS_BEEN_WRITTEN } else { 0 };
    }
    marks
}

/// The latest product of the chosen warp at a time; null before the first one.
fn product(run: &Run, chosen: &Chosen<'_>, warp: &Warp, time: u32) -> Value {
    let (tape, program) = (&run.tape, &chosen.launch.program);
    if program.products.is_empty() {
        return Value::Null;
    }
    let is_product = |event: &u32| program.products.contains_key(&tape.event(*event).instruction);
    let events = chosen.launch.events.start..time;
    let Some(event) = tape.of_warp((chosen.block, chosen.warp), events).rfind(is_product) else { return Value::Null };
    let instruction = tape.event(event).instruction;
    let product = &program.products[&instruction];
    let held = |name: &&str| {
        let known = program.registers.iter().zip(&warp.registers).find(|(register, _)| register.name == *name);
        let single = |&bits: &u64| real(f64::from(f32::from_bits(bits as u32)));
        let values = known.map(|(_, values)| values.iter().map(single).collect::<Value>());
        json!({ "register": name, "values": values })
    };
    let names = operands(&tape.instruction(event).text);
    let (sums, rest) = names.split_at(product.sums.len().min(names.len()));
    let of = |effect: &Effect| if let Effect::Product(pieces) = effect { Some(pieces.clone()) } else { None };
    let pieces = tape.event(event).effects.iter().find_map(of);
    json!({
        "instruction": instruction, "pieces": pieces,
        "sums": sums.iter().map(held).collect::<Value>(),
        "left": rest.iter().take(product.left.len()).map(held).collect::<Value>(),
    })
}

/// The answer at the state's time, and the arrays that go with it.
pub fn look(run: &Run, state: &State, request: &LookRequest) -> Result<(Value, Vec<Vec<u32>>), String> {
    let chosen = &Chosen::new(run, state.launch, request)?;
    let (launch, time) = (chosen.launch, state.time);
    let block = state.blocks.get(&chosen.block).map(|block| &**block);
    let warp = block.and_then(|block| block.warps.get(chosen.warp as usize));
    let event = time.checked_sub(1).filter(|&event| event >= launch.events.start).map(|event| run.tape.event(event));
    let begun = |number: u32| state.blocks.get(&number).map_or(0, |block| 1 + u32::from(block.has_ended()));
    let by_line = run.tape.by_line(&state.lines).map(|(name, line)| (name.clone(), counts(line, false)));
    let answer = json!({
        "time": time, "launch": state.launch, "block": chosen.block, "warp": chosen.warp, "lane": chosen.lane,
        "event": event.map(|event| json!({ "block": event.block, "warp": event.warp })),
        "step": step(run, (chosen.block, chosen.warp), time),
        "blocks": (0..launch.blocks()).map(begun).collect::<Vec<u32>>(),
        "warps": warps(run, chosen, block, time),
        "tiles": if run.is_free() { json!({}) } else { tiles(run, chosen, time) },
        "request": warp.and_then(|warp| warp.access).map(|number| self::request(run, launch, number, time)),
        "registers": warp.map_or_else(|| json!([]), |warp| registers(chosen, warp, time)),
        "product": warp.map(|warp| product(run, chosen, warp, time)),
        "totals": counts(&state.totals, true),
        "by_line": Value::Object(by_line.collect()),
        "hazards": run.hazards.iter().filter(|found| found.time <= time).count(),
    });
    let [on_a, on_b, on_c, on_shared] = marks(run, state, chosen);
    let shared = block.map_or_else(|| vec![GARBAGE; on_shared.len()], |block| block.shared.clone());
    let words = |array: usize| state.arrays[array].to_vec();
    let touched = |array: usize, how: usize| state.touched[array][how].to_vec();
    let mut bulk = vec![words(A), words(B), words(C), run.expected.clone()];
    bulk.extend([touched(A, 0), touched(B, 0), touched(C, 1), on_a, on_b, on_c, shared, on_shared]);
    Ok((answer, bulk))
}
