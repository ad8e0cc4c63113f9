//! What a warp did in one visit to a line of the source, as parts with a verb and in words.

use crate::effect::{Effect, lanes};
use crate::instructions::Instruction;
use crate::log::LaunchTape;
use crate::meaning::{Factor, Place, factor};
use crate::names::{Element, Range, element, named, ranges};
use crate::origins::{Followed, Origins};
use crate::run::{A, B, C, Run};
use serde_json::{Value, json};
use simt::{AccessKind, Space};

/// One kind of thing that was done.
#[derive(Debug, Default)]
struct Part {
    verb: &'static str,
    lanes: u32,
    from: Vec<Element>,
    to: Vec<Element>,
    values: Vec<Element>,
    /// Multiply-adds of all lanes.
    count: u32,
}

/// The events of a warp's visit to a line: the one that is under way at a time, or the last one before; and whether it goes on with another line.
pub struct Visit {
    pub events: Vec<u32>,
    /// The warp goes on with another line.
    pub complete: bool,
}

impl Visit {
    /// Of a warp of a block, at a time; none before its first event in the launch that runs then.
    pub fn at(run: &Run, (block, warp): (u32, u32), time: u32) -> Option<Self> {
        let tape = &run.tape;
        let time = time.min(tape.length());
        let all = tape.launches.get(tape.launch_of(time.checked_sub(1)?))?.events.clone();
        let line = |number: u32| tape.instruction(number).line;
        let mut before = tape.of_warp((block, warp), all.start..time).rev().peekable();
        let here = line(*before.peek()?);
        let mut events: Vec<u32> = before.take_while(|&number| line(number) == here).collect();
        events.reverse();
        let next = tape.of_warp((block, warp), time..all.end).next();
        Some(Self { events, complete: next.is_none_or(|next| line(next) != here) })
    }
}

/// Whether an instruction multiplies elements of the matrices or adds them up, as far as its text tells.
pub fn computes(run: &Run, instruction: &Instruction) -> bool {
    let float = run.dtype == plan::Dtype::F32;
    let adds = ["mul.", "add."].iter().any(|start| instruction.text.contains(start));
    if float {
        (instruction.kind == "fma" || adds) && instruction.text.contains(".f")
    } else {
        instruction.kind == "fma"
    }
}

/// Adds to the part of this verb, which may be new.
fn part<'a>(parts: &'a mut Vec<Part>, verb: &'static str, lanes: u32) -> &'a mut Part {
    let at = parts.iter().position(|part| part.verb == verb).unwrap_or(parts.len());
    if at == parts.len() {
        parts.push(Part { verb, ..Part::default() });
    }
    parts[at].lanes |= lanes;
    &mut parts[at]
}

/// What one event adds.
fn event(parts: &mut Vec<Part>, run: &Run, launch: &LaunchTape, block: Option<&Followed>, number: u32) {
    let event = run.tape.event(number);
    let instruction = run.tape.instruction(number);
    let name = |array: Option<usize>, address: u32| element(run, launch, array, address);
    let tags = block.map_or_else(Vec::new, |block| block.written(number, event.lanes, instruction.writes.len()));
    let global = |found: Factor| found.element.map(|(array, index)| name(Some(array), 4 * index));
    let held = |tag: u32| global(factor(run, launch, &block?.nodes().value(tag)));
    for effect in run.tape.effects(number) {
        let touched = effect.touched();
        let places = |writes: bool| {
            let all = touched.iter().filter(move |touched| if writes { touched.writes } else { touched.reads });
            all.map(|touched| name(touched.array, 4 * touched.word))
        };
        match effect {
            Effect::Access(access) => match (access.kind, access.space) {
                (_, Space::Local) => {}
                (AccessKind::Load, Space::Shared) => {
                    let part = part(parts, "read", access.lanes);
                    part.from.extend(places(false));
                    part.values
                        .extend(tags.iter().flat_map(|tags| lanes(access.lanes).filter_map(|lane| held(tags[lane]))));
                }
                (AccessKind::Load, _) => part(parts, "load", access.lanes).from.extend(places(false)),
                (AccessKind::Store, Space::Shared) => {
                    let part = part(parts, "store", access.lanes);
                    part.to.extend(places(true));
                    let placed = block.into_iter().flat_map(|block| block.placed(number..number + 1));
                    part.values.extend(placed.filter_map(|(_, placed)| held(placed.tag)));
                }
                (AccessKind::Store, _) => part(parts, "write", access.lanes).to.extend(places(true)),
                _ => part(parts, "atomic", access.lanes).to.extend(places(true)),
            },
            Effect::Copy(copy) => {
                let part = part(parts, "copy", copy.lanes);
                part.from.extend(places(false));
                part.to.extend(places(true));
            }
            Effect::Commit => drop(part(parts, "commit", event.lanes)),
            Effect::Wait(_) => drop(part(parts, "wait", event.lanes)),
            Effect::Arrive => drop(part(parts, "barrier", event.lanes)),
            Effect::Exit(mask) => drop(part(parts, "end", *mask)),
            Effect::Writes(..) | Effect::Product(_) => {}
        }
    }
    let Some(block) = block else { return };
    for tags in &tags {
        for lane in lanes(event.lanes) {
            let Some(term) = block.nodes().product(tags[lane]).filter(|term| block.event_of(term.tag) == number) else {
                continue;
            };
            let factors = term.factors.map(|value| factor(run, launch, &value));
            if factors.iter().any(|factor| factor.zero) || factors.iter().all(|factor| factor.element.is_none()) {
                continue;
            }
            let part = part(parts, "multiply", 1 << lane);
            part.count += 1;
            part.from.extend(factors.into_iter().filter_map(global));
            part.to.extend(block.goal(tags[lane]).map(|index| name(Some(C), 4 * index)));
        }
    }
}

/// What a warp did, in words, without the warp.
fn words(run: &Run, part: &Part, [from, to, values]: &[Vec<Range>; 3], sums: Option<usize>) -> String {
    let (from_words, to_words, held) = (named(from), named(to), named(values));
    let of = |matrix: usize| {
        let name = &run.tape.arrays[matrix].name;
        named(&from.iter().filter(|range| range.array() == name).cloned().collect::<Vec<_>>())
    };
    match part.verb {
        "load" if to.is_empty() => format!("loads {from_words}"),
        "load" => format!("loads {from_words} into {to_words}"),
        "store" if values.is_empty() => format!("stores to {to_words}"),
        "store" => format!("stores {held} in {to_words}"),
        "read" if values.is_empty() => format!("reads {from_words}"),
        "read" => format!("reads {held} from {from_words}"),
        "copy" if from.is_empty() => format!("starts to fill {to_words} with zeros"),
        "copy" => format!("starts to copy {from_words} to {to_words}"),
        "multiply" if !of(A).is_empty() && !of(B).is_empty() && !to.is_empty() => {
            format!("multiplies {} by {} and adds to {to_words}", of(A), of(B))
        }
        "multiply" => format!("multiplies {from_words}"),
        "write" => match sums {
            Some(count) => format!("stores {to_words}, each the sum of {count} products"),
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
pub fn step(run: &Run, origins: &Origins, (block, warp): (u32, u32), time: u32) -> Value {
    let Some(Visit { events, complete }) = Visit::at(run, (block, warp), time) else {
        return json!({ "line": null, "from": null, "to": null, "complete": null, "instructions": 0, "warp": warp, "lanes": 0, "words": null, "parts": [] });
    };
    let (first, last) = (events[0], events[events.len() - 1]);
    let number = run.tape.launch_of(first);
    let launch = &run.tape.launches[number];
    let place = Place::new(run, origins, number, block);
    let mut parts = vec![];
    let mut mask = 0;
    for &number in &events {
        mask |= run.tape.event(number).lanes;
        event(&mut parts, run, launch, place.map(|place| place.block), number);
    }
    // What is loaded and stored in shared memory in one line is one thing.
    let stored = parts.iter().position(|part| part.verb == "store");
    let loaded = parts.iter().position(|part| part.verb == "load");
    if let (Some(stored), Some(loaded)) = (stored, loaded)
        && !parts[stored].values.is_empty()
        && parts[stored].values.iter().all(|value| parts[loaded].from.contains(value))
    {
        parts[loaded].to = std::mem::take(&mut parts[stored].to);
        parts.remove(stored);
    }
    if parts.is_empty() {
        part(&mut parts, "compute", mask);
    }
    let opened = run.tape.opened.iter().any(|opened| {
        opened.block == block && opened.event >= last && opened.event < time && opened.warps >> warp & 1 != 0
    });
    let sums = place.and_then(|place| {
        let mut counts = place
            .block
            .stores()
            .filter(|(event, _)| events.contains(event))
            .map(|(_, store)| place.products(store.value));
        let first = counts.next().filter(|&count| count > 0)?;
        counts.all(|count| count == first).then_some(first)
    });
    let parts: Vec<Value> = parts
        .into_iter()
        .map(|mut part| {
            let places = [&mut part.from, &mut part.to, &mut part.values].map(|all| ranges(std::mem::take(all)));
            let [from, to, values] = places.each_ref().map(|all| all.iter().map(Range::value).collect::<Vec<_>>());
            let count = if part.verb == "write" { json!(sums) } else { json!(part.count) };
            json!({
                "verb": part.verb, "lanes": part.lanes, "from": from, "to": to, "values": values, "count": count,
                "open": opened, "words": words(run, &part, &places, sums),
            })
        })
        .collect();
    let told: Vec<&str> = parts.iter().filter_map(|part| part["words"].as_str()).collect();
    json!({
        "line": run.tape.instruction(first).line, "from": first, "to": last + 1, "complete": complete, "instructions": events.len(), "warp": warp,
        "lanes": mask, "words": format!("warp {warp} {}", told.join("; ")), "parts": parts,
    })
}
