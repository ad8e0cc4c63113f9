//! What a warp did in one visit to a line of the source, as parts with a verb and in words; and other times: the next instruction, line,
//! barrier, hazard, access, or so much work.

use crate::instructions::Instruction;
use crate::log::{Effect, LaunchTape, Request, Touched, lanes};
use crate::matrices::{A, B, C};
use crate::meaning::{Factor, FollowedBlock};
use crate::names::{Elements, blocks, element, named};
use crate::request::{Goal, SeekRequest};
use crate::run::Run;
use serde_json::{Value, json};
use simt::analyses::provenance::Tag;
use simt::{AccessKind, Space};

/// One kind of thing that was done.
#[derive(Debug, Default)]
struct Part {
    verb: &'static str,
    from: Vec<Elements>,
    to: Vec<Elements>,
    /// The elements of A and B that are moved.
    values: Vec<Elements>,
}

/// The events of a warp's visit to a line, the one that is under way at a time or the last one before; none before its first event in
/// the launch that runs then.
fn visit(run: &Run, place: (u32, u32), time: u32) -> Option<Vec<u32>> {
    let tape = &run.tape;
    let time = time.min(tape.length());
    let start = tape.launches.get(tape.launch_of(time.checked_sub(1)?))?.events.start;
    let line = |number: u32| tape.instruction(number).place();
    let mut before = tape.of_warp(place, start..time).rev().peekable();
    let here = line(*before.peek()?);
    let mut events: Vec<u32> = before.take_while(|&number| line(number) == here).collect();
    events.reverse();
    Some(events)
}

/// Whether an instruction may multiply elements of the matrices or add them up, judged by its text.
fn computes(run: &Run, instruction: &Instruction) -> bool {
    let float = run.dtype == plan::Dtype::F32;
    let adds = ["mul.", "add."].iter().any(|start| instruction.text.contains(start));
    if float { (instruction.is_fma || adds) && instruction.text.contains(".f") } else { instruction.is_fma }
}

/// The part of this verb, which may be new.
fn part<'a>(parts: &'a mut Vec<Part>, verb: &'static str) -> &'a mut Part {
    let at = parts.iter().position(|part| part.verb == verb).unwrap_or(parts.len());
    if at == parts.len() {
        parts.push(Part { verb, ..Part::default() });
    }
    &mut parts[at]
}

/// Adds the parts of one event.
fn event(parts: &mut Vec<Part>, run: &Run, launch: &LaunchTape, place: Option<&FollowedBlock<'_>>, number: u32) {
    let event = run.tape.event(number);
    let name = |array: Option<usize>, address: u32| element(run, launch, array, address);
    let tags: Vec<_> = run.tape.tags(number).collect();
    let global = |found: Factor| found.element.map(|(array, index)| name(Some(array), 4 * index));
    let held = |tag: Tag| global(place?.value(tag));
    let is_zero = |tag: Tag| place.is_some_and(|place| place.value(tag).zero);
    for effect in &event.effects {
        let touched = effect.request().map(Request::touched).unwrap_or_default();
        let verb = match effect {
            Effect::Request(request) => match (request.kind, request.space) {
                (_, Space::Local) => continue,
                (AccessKind::Load, Space::Shared) => "read",
                (AccessKind::Load, _) => "load",
                (AccessKind::Store, Space::Shared) => "store",
                (AccessKind::Store, _) => "write",
                (AccessKind::Atomic, _) => "atomic",
                _ => "copy",
            },
            Effect::Commit => "commit",
            Effect::Wait(_) => "wait",
            Effect::Arrive => "barrier",
            Effect::Exit(_) => "end",
            Effect::Writes(_) | Effect::Product(_) => continue,
        };
        // Beyond an edge of A or B tiles are filled with zeros, and a thread that reads nothing there copies none.
        let (mut values, mut zeros) = (vec![], vec![]);
        if verb == "read" {
            values.extend(tags.iter().flat_map(|tags| lanes(event.lanes).filter_map(|lane| held(tags[lane]))));
        } else if verb == "store" {
            for (_, placed) in place.into_iter().flat_map(|place| place.block.placed(number..number + 1)) {
                zeros.extend(is_zero(placed.value).then_some(placed.address / 4));
                values.extend(held(placed.value));
            }
        } else if let Some(request) = effect.request().filter(|request| request.copy.is_some()) {
            let idle = touched.iter().filter(|touched| touched.writes && request.asking() >> touched.lane & 1 == 0);
            zeros.extend(idle.map(|touched| touched.word));
        }
        let (filled, others): (Vec<_>, Vec<_>) =
            touched.iter().partition(|touched| touched.writes && zeros.contains(&touched.word));
        let cell = |touched: &Touched| name(touched.array, 4 * touched.word);
        if filled.is_empty() || !others.is_empty() {
            let part = part(parts, verb);
            let (written, read): (Vec<_>, Vec<_>) = others.into_iter().partition(|touched: &&Touched| touched.writes);
            part.from.extend(read.into_iter().map(cell));
            part.to.extend(written.into_iter().map(cell));
            part.values.extend(values);
        }
        if !filled.is_empty() {
            let verb = if verb == "copy" { "copied zeros" } else { "zeros" };
            part(parts, verb).to.extend(filled.into_iter().map(cell));
        }
    }
    let Some(place) = place else { return };
    let tags = tags.iter().flat_map(|tags| lanes(event.lanes).map(|lane| tags[lane]));
    let terms = tags.flat_map(|tag| place.block.origins.nodes.products_of(tag));
    for term in terms.filter(|term| place.block.event_of(term.tag) == number) {
        let factors = term.factors.map(|value| place.factor(&value));
        if factors.iter().any(|factor| factor.zero) || factors.iter().all(|factor| factor.element.is_none()) {
            continue;
        }
        let part = part(parts, "multiply");
        part.from.extend(factors.into_iter().filter_map(global));
        part.to.extend(place.block.goal(term.tag).map(|index| name(Some(C), 4 * index)));
    }
}

/// What a warp did, in words, without the warp.
fn words(run: &Run, verb: &str, [from, to, values]: &[Vec<Elements>; 3], sums: Option<usize>) -> String {
    let (from_words, to_words, held) = (named(from), named(to), named(values));
    let of = |matrix: usize| {
        let name = &run.tape.arrays[matrix].name;
        named(&from.iter().filter(|block| block.array == *name).cloned().collect::<Vec<_>>())
    };
    match verb {
        "load" if to.is_empty() => format!("loads {from_words}"),
        "load" => format!("loads {from_words} into {to_words}"),
        "store" if values.is_empty() => format!("stores to {to_words}"),
        "store" => format!("stores {held} in {to_words}"),
        "read" if values.is_empty() => format!("reads {from_words}"),
        "read" => format!("reads {held} from {from_words}"),
        "zeros" => format!("fills {to_words} with zeros"),
        "copied zeros" => format!("starts to fill {to_words} with zeros"),
        "copy" => format!("starts to copy {from_words} to {to_words}"),
        "multiply" if !of(A).is_empty() && !of(B).is_empty() && !to.is_empty() => {
            format!("multiplies {} by {} and adds to {to_words}", of(A), of(B))
        }
        "multiply" => format!("multiplies {from_words}"),
        "write" => match sums {
            Some(count) => format!("stores {to_words}, {count} products an element"),
            None => format!("stores {to_words}"),
        },
        "atomic" => format!("updates {to_words}"),
        "commit" => "closes its group of copies".into(),
        "wait" => "waits for its copies".into(),
        "barrier" => "arrives at the barrier".into(),
        "end" => "ends".into(),
        _ => "computes".into(),
    }
}

/// What a warp did in its visit to a line.
pub fn step(run: &Run, (block, warp): (u32, u32), time: u32) -> Value {
    let Some(events) = visit(run, (block, warp), time) else {
        return json!({ "line": null, "words": null, "parts": [] });
    };
    let number = run.tape.launch_of(events[0]);
    let place = FollowedBlock::new(run, number, block);
    let mut parts = vec![];
    for &event in &events {
        self::event(&mut parts, run, &run.tape.launches[number], place.as_ref(), event);
    }
    // A load whose values are stored in shared memory by the same line becomes one part.
    let of = |verb: &str| parts.iter().position(|part| part.verb == verb);
    if let (Some(stored), Some(loaded)) = (of("store"), of("load"))
        && !parts[stored].values.is_empty()
        && parts[stored].values.iter().all(|value| parts[loaded].from.contains(value))
    {
        parts[loaded].to = std::mem::take(&mut parts[stored].to);
        parts.remove(stored);
    }
    if parts.is_empty() {
        part(&mut parts, "compute");
    }
    let sums = place.and_then(|place| {
        let stores = place.block.stores().filter(|(event, _)| events.contains(event));
        let mut counts = stores.map(|(_, store)| place.sum(store.value, u32::MAX).count());
        let first = counts.next().filter(|&count| count > 0)?;
        counts.all(|count| count == first).then_some(first)
    });
    let (mut told, mut shown) = (vec![], vec![]);
    for Part { verb, from, to, values } in parts {
        let places = [from, to, values].map(blocks);
        shown.push(json!({ "from": places[0], "to": places[1] }));
        told.push(words(run, verb, &places, sums));
    }
    let words = format!("warp {warp} {}", told.join("; "));
    json!({ "line": run.tape.instruction(events[0]).line, "words": words, "parts": shown })
}

/// The nearest of some times.
fn nearest(request: &SeekRequest, mut times: impl DoubleEndedIterator<Item = u32>) -> Option<u32> {
    if request.back { times.rfind(|&time| time < request.from) } else { times.find(|&time| time > request.from) }
}

/// The time that is asked for, if there is one.
pub fn seek(run: &Run, request: &SeekRequest) -> Option<u32> {
    let tape = &run.tape;
    let &SeekRequest { from, back, block, line, .. } = request;
    let way = if back { 0..from.min(tape.length()) } else { from..tape.length() };
    let own = tape.of_warp((block, request.warp), way);
    let is_line = |event: u32| line.is_none() || tape.instruction(event).line == line;
    match request.to {
        Goal::Instruction => nearest(request, own.map(|event| event + 1)),
        Goal::Line | Goal::Step => {
            // The ends of visits, each with the event that comes next: it is of another line, or of another launch.
            let events: Vec<u32> = own.collect();
            let place_of = |event: u32| (tape.launch_of(event), tape.instruction(event).place());
            let between = events.windows(2).filter(|pair| place_of(pair[0]) != place_of(pair[1]));
            let between = between.map(|pair| (pair[0] + 1, Some(pair[1])));
            let start = back.then(|| (0, events.first().copied()));
            let end = events.last().filter(|_| !back).map(|last| (last + 1, None));
            let fits = |&(time, next): &(u32, Option<u32>)| match request.to {
                Goal::Step => acts(run, request, time),
                _ => next.map_or(line.is_none(), is_line),
            };
            nearest(request, start.into_iter().chain(between).chain(end).filter(fits).map(|(time, _)| time))
        }
        Goal::First => {
            let fetches = |event: &u32| {
                tape.event(*event).block == block
                    && tape.touched(*event).any(|touched| touched.array.is_some_and(|array| array < C))
            };
            let from = (from..tape.length()).find(fetches)?;
            seek(run, &SeekRequest { to: Goal::Line, from, warp: tape.event(from).warp, ..request.clone() })
        }
        Goal::Access => {
            let wanted = |event: &u32| is_line(*event) && tape.accesses(*event, request.array.as_deref());
            nearest(request, own.filter(wanted).map(|event| event + 1))
        }
        Goal::Barrier => {
            let own = tape.opened.iter().filter(|opened| opened.block == block);
            nearest(request, own.map(|opened| opened.event + 1))
        }
        Goal::Hazard => nearest(request, run.hazards.iter().map(|found| found.time)),
        Goal::Work => work(run, request),
    }
}

/// Whether the chosen warp's visit to a line that ends at a time did more than to compute numbers.
fn acts(run: &Run, request: &SeekRequest, time: u32) -> bool {
    let acts = |&event: &u32| {
        let mut effects = run.tape.event(event).effects.iter();
        computes(run, run.tape.instruction(event))
            || effects.any(|effect| !matches!(effect, Effect::Writes(_) | Effect::Product(_)))
    };
    visit(run, (request.block, request.warp), time).is_some_and(|events| events.iter().any(acts))
}

/// The first time at which the wanted share of all multiply-adds has been done.
fn work(run: &Run, request: &SeekRequest) -> Option<u32> {
    let tape = &run.tape;
    let of = |event: u32| match tape.event(event).counts.fma_threads {
        0 if tape.instruction(event).is_fma => u64::from(tape.event(event).lanes.count_ones()),
        counted => counted,
    };
    let all: u64 = (0..tape.length()).map(of).sum();
    let wanted = (request.share?.clamp(0.0, 1.0) * all as f64).round() as u64;
    let mut done = 0;
    let mut is_done = |event: u32| {
        done += of(event);
        done >= wanted
    };
    match wanted {
        0 => Some(0),
        // The whole run includes what comes after the last multiply-add.
        _ if wanted == all => Some(tape.length()),
        _ => (0..tape.length()).find(|&event| is_done(event)).map(|event| event + 1),
    }
}
