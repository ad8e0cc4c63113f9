//! Other times: the next instruction, line, barrier, hazard, access, or so much work.

use crate::log::Effect;
use crate::matrices::C;
use crate::request::{Goal, SeekRequest};
use crate::run::Run;
use crate::step::{computes, visit};
use std::ops::Range;

/// The nearest of some times.
fn nearest(request: &SeekRequest, mut times: impl DoubleEndedIterator<Item = u32>) -> Option<u32> {
    if request.back { times.rfind(|&time| time < request.from) } else { times.find(|&time| time > request.from) }
}

/// The events of the launch that runs, on the way that is gone.
fn way(run: &Run, request: &SeekRequest) -> Option<Range<u32>> {
    let &SeekRequest { from, back, .. } = request;
    let all = &run.tape.launches.get(run.tape.launch_of(from.saturating_sub(u32::from(back))))?.events;
    Some(if back { all.start..all.end.min(from) } else { all.start.max(from)..all.end })
}

/// The time that is asked for, if there is one.
pub fn seek(run: &Run, request: &SeekRequest) -> Option<u32> {
    let tape = &run.tape;
    let request = &SeekRequest { from: request.from.min(tape.length()), ..request.clone() };
    let own = || Some(tape.of_warp((request.block, request.warp), way(run, request)?));
    match request.to {
        Goal::Instruction => nearest(request, own()?.map(|event| event + 1)),
        Goal::Line => line(run, request),
        Goal::Step => {
            // Visit after visit, until one has done something.
            let next = |&from: &u32| {
                line(run, &SeekRequest { from, line: None, ..request.clone() }).filter(|&time| time != from)
            };
            std::iter::successors(next(&request.from), next).find(|&time| acts(run, request, time))
        }
        Goal::First => {
            let first = tape.launches.get(tape.launch_of(request.from))?.events.start;
            let fetches = |event: &u32| {
                tape.event(*event).block == request.block
                    && tape.touched(*event).any(|touched| touched.array.is_some_and(|array| array < C))
            };
            let event = (first..tape.length()).find(fetches)?;
            let warp = tape.event(event).warp;
            line(run, &SeekRequest { from: event, back: false, line: None, warp, ..request.clone() })
        }
        Goal::Access => {
            let wanted = |event: &u32| {
                (request.line.is_none() || request.line == tape.instruction(*event).line)
                    && tape.accesses(*event, request.array.as_deref())
            };
            nearest(request, own()?.filter(wanted).map(|event| event + 1))
        }
        Goal::Barrier => {
            let events = way(run, request)?;
            let own = tape.opened.iter().filter(|opened| opened.block == request.block);
            nearest(request, own.filter(|opened| events.contains(&opened.event)).map(|opened| opened.event + 1))
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

/// To the end of the chosen warp's visit to a line: its latest event is of one line and its next one of another.
fn line(run: &Run, request: &SeekRequest) -> Option<u32> {
    let (tape, way) = (&run.tape, way(run, request)?);
    let events: Vec<u32> = tape.of_warp((request.block, request.warp), way.clone()).collect();
    let place_of = |event: u32| tape.instruction(event).place();
    // Times, each with the event that comes next.
    let between = events.windows(2).filter(|pair| place_of(pair[0]) != place_of(pair[1]));
    let between = between.map(|pair| (pair[0] + 1, Some(pair[1])));
    let start = request.back.then(|| (way.start, events.first().copied()));
    let end = events.last().filter(|_| !request.back).map(|last| (last + 1, None));
    let all = start.into_iter().chain(between).chain(end);
    let fits = |next: Option<u32>| request.line.is_none() || next.and_then(|next| place_of(next).0) == request.line;
    nearest(request, all.filter(|(_, next)| fits(*next)).map(|(time, _)| time))
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
