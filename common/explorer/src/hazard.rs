//! A hazard as a picture: the two accesses, the cell's value before and after, where a barrier is missing, and the element that goes wrong.

use crate::answer::{real, with};
use crate::instructions::own_line;
use crate::log::{LaunchTape, Touched};
use crate::matrices::{C, shown};
use crate::meaning::FollowedBlock;
use crate::names::element;
use crate::run::{Access, Found, Run, Word};
use serde_json::{Value, json};
use simt::analyses::provenance::{self, Placed, Store, Term};
use simt::{Action, Location, Party};

/// Wrong elements of a block that are looked through.
const MOST: usize = 64;
/// Events around two accesses in which the rest of an update is looked for.
const NEAR: u32 = 4096;
/// Hazards among which the one that says most is looked for.
const LOOKED_AT: usize = 16;

fn told(run: &Run, launch: &LaunchTape, party: &Party) -> Value {
    let (number, thread) = launch.numbers(party);
    json!({
        "block": [party.block.x, party.block.y, party.block.z], "thread": [party.thread.x, party.thread.y, party.thread.z],
        "action": party.action.to_string(), "line": own_line(&party.location, &run.kernel.file), "number": number, "warp": thread / 32,
        "lane": thread % 32,
    })
}

/// Looks for the accesses of each hazard, and for those by which the product goes wrong, so that all that is told of it is told of these.
pub fn look_closer(run: &mut Run) {
    for number in 0..run.hazards.len() {
        let found = &run.hazards[number];
        let seen = if number < LOOKED_AT { seen(run, found) } else { None };
        let is_seen = seen.is_some();
        let (mut accesses, word) = seen.unwrap_or_else(|| listed(run, found));
        accesses.sort_by_key(|&(_, event)| event);
        let found = &mut run.hazards[number];
        let late = found.hazard.time.is_none() && accesses.len() == found.hazard.parties.len();
        if let Some((_, last)) = accesses.last().filter(|_| is_seen || late) {
            found.time = last + 1;
            found.hazard.parties = accesses.iter().map(|(party, _)| party.clone()).collect();
        }
        (found.accesses, found.word) = (accesses, word);
    }
    run.hazards.sort_by_key(|found| found.time);
}

pub fn hazard(run: &Run, found: &Found) -> Value {
    let launch = &run.tape.launches[found.launch];
    let simt::Hazard { kind, place, parties, count, .. } = &found.hazard;
    json!({
        "kind": kind.name(), "warning": kind.is_warning(), "count": count, "time": found.time, "text": found.text,
        "place": found.word.map_or_else(|| place.to_string(), |(array, word)| element(run, launch, array, 4 * word).to_string()),
        "parties": parties.iter().map(|party| told(run, launch, party)).collect::<Value>(),
    })
}

/// The word at a place, if it is one.
fn word(run: &Run, launch: &LaunchTape, place: &simt::Place) -> Option<Word> {
    match place {
        simt::Place::Offset { array, bytes } if bytes % 4 == 0 => {
            let mut arrays = launch.program.kernel.shared_arrays().iter();
            let array = arrays.find(|known| known.source_name == array.name)?;
            Some((None, array.offset / 4 + *bytes as u32 / 4))
        }
        simt::Place::Element { array, index, bytes: 0 } if index.len() == 1 => {
            let at = run.tape.arrays.iter().position(|known| known.name == array.name)?;
            Some((Some(at), index[0] as u32))
        }
        _ => None,
    }
}

/// A cell's value at a time, and its meaning, if the values of its block were followed.
fn held(run: &Run, (block, place): (u32, Option<FollowedBlock<'_>>), (array, word): Word, time: u32) -> Value {
    let mut state = run.tape.start();
    run.tape.seek(&mut state, time);
    let bits = match array {
        Some(array) => state.arrays[array].get(word as usize).copied(),
        None => state.blocks.get(&block).and_then(|block| block.held(word)),
    };
    let place = place.filter(|_| array.is_none());
    let words = place.and_then(|place| Some(place.value(place.placed(word, time)?.1.value).words));
    json!({ "value": bits.map(|bits| real(shown(bits, run.dtype))), "meaning": words })
}

/// The number of the hazard that says most: the first that is between two warps and whose element of C is wrong, or else the first between
/// two, or any.
pub fn worst(run: &Run) -> Option<usize> {
    let between = |&number: &usize| {
        let found = &run.hazards[number];
        let launch = &run.tape.launches[found.launch];
        let warp = |(party, _): &Access| {
            let (block, thread) = launch.numbers(party);
            (block, thread / 32)
        };
        matches!(&found.accesses[..], [first, second] if warp(first) != warp(second))
    };
    let mut all = (0..run.hazards.len().min(LOOKED_AT)).filter(between);
    let spoils = |&number: &usize| picture(run, number).is_ok_and(|picture| picture["wrong"] == true);
    all.clone().find(spoils).or_else(|| all.next()).or((!run.hazards.is_empty()).then_some(0))
}

pub fn picture(run: &Run, number: usize) -> Result<Value, String> {
    let none = || format!("there is no hazard {number}; choose one of {}, from 0 on", run.hazards.len());
    let found = run.hazards.get(number).ok_or_else(none)?;
    let (tape, launch, cell) = (&run.tape, &run.tape.launches[found.launch], found.word);
    let (second, first) = (found.accesses.last(), found.accesses.iter().rev().nth(1));
    let block = second.map_or(0, |(party, _)| launch.numbers(party).0);
    let place = FollowedBlock::new(run, found.launch, block);
    let nothing = || json!({ "value": null, "meaning": null });
    let held = |time: u32| cell.map_or_else(nothing, |cell| held(run, (block, place), cell, time));
    // A copy lands later.
    let landed = |(party, event): &Access| {
        let by = (tape.event(*event).instruction, launch.numbers(party).1);
        let (_, word) = cell.filter(|(array, _)| array.is_none())?;
        let is = |placed: &Placed| placed.address / 4 == word && (placed.stored, placed.by) == by;
        let mut after = place?.block.placed(*event..launch.events.end).filter(|(_, placed)| is(placed));
        after.next().map(|(event, _)| event)
    };
    let coming = |access: &Access| landed(access).is_none().then(|| on_its_way(run, launch, access, cell?.1))?;
    let after = |access: &Access| coming(access).unwrap_or_else(|| held(landed(access).unwrap_or(access.1) + 1));
    let told = |(party, event): &Access| with(told(run, launch, party), json!({ "time": event + 1 }));
    let one = |is: fn(Action) -> bool| found.accesses.iter().rfind(|(party, _)| is(party.action));
    let writer = one(Action::writes);
    let reader = one(|action| matches!(action, Action::Reads | Action::Updates));
    let goal = reader.and_then(|(party, event)| becomes(&place?, (launch.numbers(party).1, *event), cell?.1));
    let missing = first.zip(second).and_then(|(first, second)| {
        let sides = [first, second];
        let anywhere = |what: &str| json!({ "what": what, "where": null, "line": null, "keeps": null });
        if updates(run, launch, place, sides, cell?) {
            return Some(anywhere("an atomic operation"));
        }
        if together(run, launch, sides) {
            return Some(anywhere("a place for each thread, or an if for one,"));
        }
        let waits = coming(first).is_some() || landed(first).is_some_and(|at| at >= second.1);
        let Missing { what, place, keeps } = missing(run, launch, sides, waits)?;
        let (side, line) = place.map_or((None, None), |(side, line)| (Some(side), Some(line)));
        let keeps = ["first", "second"][keeps];
        Some(json!({ "what": what, "where": side, "line": line, "keeps": keeps }))
    });
    Ok(json!({
        "first": first.map(told), "second": second.map(told),
        "cell": cell.map(|(array, word)| json!({ "name": element(run, launch, array, 4 * word).to_string(), "word": word })),
        "old": writer.map(|(_, event)| held(*event)), "new": writer.map(after),
        "missing": missing,
        "element": goal.filter(|_| !run.is_free()).map(|index| run.row_column(C, index)),
        "wrong": goal.is_some_and(|index| run.wrong_at_end().any(|wrong| wrong == index)),
    }))
}

/// The accesses and the word of memory of a hazard as it was found, as far as the tape has them.
fn listed(run: &Run, found: &Found) -> (Vec<Access>, Option<Word>) {
    let (launch, parties) = (&run.tape.launches[found.launch], &found.hazard.parties);
    // The words that a party touches in an event. An asynchronous copy writes shared memory, and reads what it copies.
    let touched = |party: &Party, event: u32| -> Vec<Word> {
        let lane = launch.numbers(party).1 as usize % 32;
        let own = run.tape.touched(event).filter(|touched| touched.lane == lane);
        own.map(|touched| (touched.array, touched.word)).collect()
    };
    // The latest event of a party's instruction before a time that touches one of these words, if there are any.
    let event_of = |party: &Party, before: u32, words: &[Word]| {
        let mut events = run.tape.by(launch, party, launch.events.start..before);
        events.rfind(|&event| words.is_empty() || touched(party, event).iter().any(|word| words.contains(word)))
    };
    let known = word(run, launch, &found.hazard.place);
    // What was found at the end of the launch may have happened later than the instructions began, and the other way round.
    let at = |party: &Party, before: u32, words: &[Word]| {
        event_of(party, before, words).or_else(|| event_of(party, launch.events.end, words))
    };
    let second = parties.last().and_then(|party| Some((party, at(party, found.time, known.as_slice())?)));
    let Some((party, event)) = second else { return (vec![], known) };
    let words = known.map_or_else(|| touched(party, event), |word| vec![word]);
    let first = parties.first().filter(|_| parties.len() == 2);
    let first = first.and_then(|party| Some((party, at(party, event, &words)?)));
    let of_first = first.map(|(party, event)| touched(party, event));
    let word = words.into_iter().find(|word| of_first.as_ref().is_none_or(|all| all.contains(word)));
    (first.into_iter().chain(second).map(|(party, event)| (party.clone(), event)).collect(), word)
}

/// Two accesses in the lines of a race, by two warps, at which an element of C goes wrong, and the word of shared memory.
fn seen(run: &Run, found: &Found) -> Option<(Vec<Access>, Option<Word>)> {
    let (tape, launch) = (&run.tape, &run.tape.launches[found.launch]);
    let party = |writes: bool| found.hazard.parties.iter().find(|party| party.action.writes() == writes);
    let (reader, writer) = (party(false)?, party(true)?);
    let block = launch.numbers(reader).0;
    let place = FollowedBlock::new(run, found.launch, block).filter(|_| reader.block == writer.block)?;
    let line = |location: &Location| own_line(location, &run.kernel.file).unwrap_or(location.ptx_line);
    let is =
        |instruction: u32, party: &Party| line(&launch.program.kernel.location(instruction)) == line(&party.location);
    let of = |party: &Party, thread: u32| {
        Party::new((party.block, launch.block.index(thread.into())), party.action, party.location.clone())
    };
    let wrong: Vec<u32> = run.wrong_at_end().collect();
    let stores = place.block.stores().filter(|(_, store)| wrong.contains(&(store.index as u32)));
    let sums = stores.take(MOST).map(|(_, store)| place.sum(store.value, u32::MAX));
    for term in sums.flat_map(|sum| sum.wrong().copied().collect::<Vec<_>>()) {
        let shared = term.factors.iter().filter_map(|factor| factor.shared);
        for passage in shared.filter(|passage| is(passage.loaded, reader)) {
            let before = launch.events.start..place.block.event_of(term.tag);
            let loads = |number: &u32| tape.event(*number).instruction == passage.loaded;
            let Some(read) = tape.of_warp((block, term.thread / 32), before).rfind(loads) else { continue };
            let near = tape.unseparated(launch, block, read);
            let fits = |&(_, placed): &(u32, &Placed)| {
                placed.address / 4 == passage.address / 4
                    && is(placed.stored, writer)
                    && placed.by / 32 != term.thread / 32
            };
            let before = place.block.placed(near.start..read).rfind(fits);
            let written = before.or_else(|| place.block.placed(read + 1..near.end).find(fits));
            let Some((written, placed)) = written else { continue };
            let sides = vec![(of(writer, placed.by), written), (of(reader, term.thread), read)];
            return Some((sides, Some((None, passage.address / 4))));
        }
    }
    None
}

/// The value that an asynchronous copy that never lands would bring to a word of shared memory; `None` for another access.
fn on_its_way(run: &Run, launch: &LaunchTape, (party, event): &Access, word: u32) -> Option<Value> {
    let request = run.tape.request(*event)?;
    let (copy, lane) = (request.copy.as_ref()?, launch.numbers(party).1 as usize % 32);
    let within = (4 * word).checked_sub(copy.to[lane])?;
    let brings = match request.array.filter(|_| within < copy.source_bytes[lane]) {
        Some(array) => element(run, launch, Some(array), request.addresses[lane] + within).to_string(),
        None => "a zero".into(),
    };
    Some(json!({ "value": null, "meaning": format!("{brings}, on its way") }))
}

/// The element of C to which a value contributes that a thread read from a cell.
fn becomes(place: &FollowedBlock<'_>, (thread, event): (u32, u32), word: u32) -> Option<u32> {
    let tape = &place.run.tape;
    let loaded = tape.event(event).instruction;
    let is_it =
        |value: &provenance::Value| value.shared.is_some_and(|way| (way.address / 4, way.loaded) == (word, loaded));
    let uses =
        |term: &Term| term.thread == thread && place.block.event_of(term.tag) > event && term.factors.iter().any(is_it);
    let nodes = &place.block.origins.nodes;
    let multiplies = |store: &&Store| nodes.formed(store.value).terms.iter().any(uses);
    // Or the cell holds a sum that is part of a larger one, or should hold one.
    let held: Vec<_> = tape.tags(event).map(|tags| tags[thread as usize % 32]).collect();
    let adds = |store: &&Store| {
        let formed = nodes.formed(store.value);
        formed.rest.iter().any(is_it) || formed.sums.iter().any(|tag| held.contains(tag))
    };
    let stores = || place.block.stores().map(|(_, store)| store).filter(|store| store.number == thread);
    stores().find(multiplies).or_else(|| stores().find(adds)).map(|store| store.index as u32)
}

/// Whether two threads of a block write in the same instruction, each as often as the other before: no barrier could lie between.
fn together(run: &Run, launch: &LaunchTape, sides: [&Access; 2]) -> bool {
    let instruction = |event: u32| run.tape.event(event).instruction;
    let times = sides.map(|(party, event)| {
        let (block, thread) = launch.numbers(party);
        let own = run.tape.of_warp((block, thread / 32), launch.events.start..*event);
        (block, own.filter(|&before| instruction(before) == instruction(*event)).count())
    });
    let both = sides.iter().all(|side| side.0.action.writes());
    both && instruction(sides[0].1) == instruction(sides[1].1) && times[0] == times[1]
}

/// Whether both threads add to the word: whatever keeps them in order, one may write over what the other has added.
fn updates(
    run: &Run,
    launch: &LaunchTape,
    place: Option<FollowedBlock<'_>>,
    sides: [&Access; 2],
    (array, word): Word,
) -> bool {
    let last = sides.iter().filter(|side| side.0.action.writes()).map(|side| side.1).max();
    let copies = sides.iter().any(|side| side.0.action == Action::Copies);
    let Some(last) = last.filter(|_| !copies) else { return false };
    // A sum, as far as values are followed.
    let place = place.filter(|_| array.is_none());
    let sum = place.and_then(|place| Some(place.block.origins.nodes.is_sum(place.placed(word, last + 1)?.1.value)));
    let start = launch.events.start.max(sides[0].1.saturating_sub(NEAR));
    let near = start..launch.events.end.min(sides[1].1 + NEAR);
    let does = |(block, thread): (u32, u32), is: fn(&Touched) -> bool| {
        let is = |touched: Touched| {
            is(&touched) && touched.lane == thread as usize % 32 && (touched.array, touched.word) == (array, word)
        };
        run.tape.of_warp((block, thread / 32), near.clone()).any(|event| run.tape.touched(event).any(is))
    };
    let both = |thread| does(thread, |touched| touched.reads) && does(thread, |touched| touched.writes);
    sum != Some(false) && sides.iter().all(|side| both(launch.numbers(&side.0)))
}

/// What would have separated two accesses of a block.
struct Missing {
    /// A barrier, or a wait if the first access is a copy that has not landed.
    what: &'static str,
    /// Before or after which line of the source.
    place: Option<(&'static str, u32)>,
    /// Which of the two accesses it would have kept waiting, 0 or 1.
    keeps: usize,
}

fn missing(run: &Run, launch: &LaunchTape, sides: [&Access; 2], waits: bool) -> Option<Missing> {
    let [one, other] = sides.map(|(party, _)| launch.numbers(party));
    if one.0 != other.0 || (one.1 == other.1 && !waits) {
        return None;
    }
    // Whose line comes first in the program: of two in a loop the one that the other's warp has passed since the latest barrier.
    let tape = &run.tape;
    let [of_first, of_second] = sides.map(|(_, event)| tape.event(*event).instruction);
    let passed = |(_, until): &Access, thread: u32, instruction: u32| {
        let since = tape.unseparated(launch, one.0, *until).start;
        tape.of_warp((one.0, thread / 32), since..*until).any(|event| tape.event(event).instruction == instruction)
    };
    let comes_first = || passed(sides[1], other.1, of_first) || of_first < of_second;
    let in_order = waits || !passed(sides[0], one.1, of_second) && comes_first();
    let keeps = usize::from(in_order);
    let what = match (waits, one.1 == other.1) {
        (true, true) => "a wait for the copy",
        (true, false) => "a wait for the copy, with a barrier,",
        _ if one.1 / 32 == other.1 / 32 => "__syncwarp()",
        _ => "__syncthreads()",
    };
    let (later, _) = sides[keeps];
    let line = || Some(("before", own_line(&later.location, &run.kernel.file)?));
    let place = if waits { line() } else { between(run, launch, sides[keeps]).or_else(line) };
    Some(Missing { what, place, keeps })
}

/// Where a barrier would keep an access of shared memory apart from what its warp did there before: behind the last access of the other
/// kind, or before the first of its own kind after that. Of the two lines the one that is executed less often, because a barrier belongs
/// outside of a loop that only reads, or only writes.
fn between(run: &Run, launch: &LaunchTape, (party, event): &Access) -> Option<(&'static str, u32)> {
    let (tape, (block, thread)) = (&run.tape, launch.numbers(party));
    let near = tape.unseparated(launch, block, *event);
    let of = |events| tape.of_warp((block, thread / 32), events);
    let own = of(near.start..event + 1);
    let does = |event: u32, writes: bool| {
        tape.touched(event)
            .any(|touched| touched.array.is_none() && if writes { touched.writes } else { touched.reads })
    };
    let writes = party.action.writes();
    let last = own.clone().rfind(|&event| does(event, !writes) && !does(event, writes))?;
    let first = own.clone().find(|&event| event > last && does(event, writes))?;
    let line = |event: u32| own_line(&launch.program.kernel.location(tape.event(event).instruction), &run.kernel.file);
    let times = |wanted: u32| of(near.clone()).filter(|&event| line(event) == Some(wanted)).count();
    let (last, first) = (line(last)?, line(first)?);
    Some(if times(last) < times(first) { ("after", last) } else { ("before", first) })
}
