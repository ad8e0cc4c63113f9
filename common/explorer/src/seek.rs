//! Other times: the next instruction, line, barrier, hazard, access, or so much work.

use crate::effect::Effect;
use crate::request::{Goal, SeekRequest};
use crate::run::{C, Run};
use crate::step::{Visit, computes};

/// The time that is asked for, if there is one.
pub fn seek(run: &Run, request: &SeekRequest) -> Option<u32> {
    let tape = &run.tape;
    let from = request.from.min(tape.length());
    let beyond = |time: &u32| if request.back { *time < from } else { *time > from };
    match request.to {
        Goal::Instruction => nearest(run, request, |_| true),
        Goal::Line => line(run, request),
        Goal::Step => {
            // Visit after visit, until one has done something.
            let next = |&from: &u32| {
                line(run, &SeekRequest { from, line: None, ..request.clone() }).filter(|&time| time != from)
            };
            std::iter::successors(next(&from), next).find(|&time| acts(run, request, time))
        }
        Goal::First => {
            let first = tape.launches.get(tape.launch_of(from))?.events.start;
            let fetches = |event: &u32| {
                tape.event(*event).block == request.block
                    && tape.touched(*event).any(|touched| touched.array.is_some_and(|array| array < C))
            };
            let event = (first..tape.length()).find(fetches)?;
            let warp = tape.event(event).warp;
            line(run, &SeekRequest { from: event, back: false, line: None, warp, ..request.clone() })
        }
        Goal::Access => nearest(run, request, |event| {
            (request.line.is_none() || request.line == tape.instruction(event).line)
                && tape.accesses(event, request.array.as_deref())
        }),
        Goal::Barrier => {
            let launch = tape.launch_of(from.saturating_sub(u32::from(request.back)));
            let events = tape.launches.get(launch)?.events.clone();
            let own = tape.opened.iter().filter(|opened| opened.block == request.block);
            let mut times = own.filter(|opened| events.contains(&opened.event)).map(|opened| opened.event + 1);
            if request.back { times.rfind(beyond) } else { times.find(beyond) }
        }
        Goal::Hazard => {
            let times = run.hazards.iter().map(|found| found.time).filter(beyond);
            if request.back { times.max() } else { times.min() }
        }
        Goal::Work => work(run, request),
    }
}

/// The time right after the nearest event of the chosen warp that is as wanted.
fn nearest(run: &Run, request: &SeekRequest, wanted: impl Fn(u32) -> bool) -> Option<u32> {
    let tape = &run.tape;
    let from = request.from.min(tape.length());
    let launch = tape.launch_of(if request.back { from.saturating_sub(1) } else { from });
    let events = tape.launches.get(launch)?.events.clone();
    let of_warp = |events| tape.of_warp((request.block, request.warp), events);
    let event = if request.back {
        // Time `from` itself is right after event `from - 1`.
        of_warp(events.start..from.saturating_sub(1).min(events.end)).rev().find(|&event| wanted(event))
    } else {
        of_warp(from.max(events.start)..events.end).find(|&event| wanted(event))
    };
    event.map(|event| event + 1)
}

/// Whether the chosen warp's visit to a line that ends at a time did more than to compute numbers.
fn acts(run: &Run, request: &SeekRequest, time: u32) -> bool {
    let acts = |&event: &u32| {
        let mut effects = run.tape.effects(event).iter();
        computes(run, run.tape.instruction(event))
            || effects.any(|effect| !matches!(effect, Effect::Writes(..) | Effect::Product(_)))
    };
    Visit::at(run, (request.block, request.warp), time).is_some_and(|visit| visit.events.iter().any(acts))
}

/// To the end of the chosen warp's visit to a line: its latest event is of one line and its next one of another.
fn line(run: &Run, request: &SeekRequest) -> Option<u32> {
    let tape = &run.tape;
    let &SeekRequest { from, line, .. } = request;
    let launch = tape.launch_of(from.saturating_sub(u32::from(request.back)));
    let all = tape.launches.get(launch)?.events.clone();
    let of_warp = |events| tape.of_warp((request.block, request.warp), events);
    let line_of = |event: u32| tape.instruction(event).line;
    let fits = |next: Option<u32>| line.is_none() || next == line;
    if request.back {
        let mut next: Option<u32> = None;
        for event in of_warp(all.start..all.end.min(from)).rev() {
            let changes = next.is_some_and(|next| line_of(next) != line_of(event));
            if changes && event + 1 < from && fits(next.and_then(line_of)) {
                return Some(event + 1);
            }
            next = Some(event);
        }
        return (from > all.start && fits(next.and_then(line_of))).then_some(all.start);
    }
    let mut events = of_warp(from.max(all.start)..all.end);
    let mut latest = events.next()?;
    for event in events {
        if line_of(event) != line_of(latest) && fits(line_of(event)) {
            return Some(latest + 1);
        }
        latest = event;
    }
    line.is_none().then_some(latest + 1)
}

/// The first time at which the wanted number of multiply-adds has been done, or the wanted share of all.
fn work(run: &Run, request: &SeekRequest) -> Option<u32> {
    let tape = &run.tape;
    let of = |event: u32| match tape.counts(event).fma_threads {
        0 if tape.instruction(event).kind == "fma" => u64::from(tape.event(event).lanes.count_ones()),
        counted => counted,
    };
    let all: u64 = (0..tape.length()).map(of).sum();
    let share = request.share.map(|share| (share.clamp(0.0, 1.0) * all as f64).round() as u64);
    let wanted = request.work.or(share)?;
    if wanted == 0 {
        return Some(0);
    }
    if wanted >= all && request.share.is_some() {
        return Some(tape.length());
    }
    let mut done = 0;
    let reached = |event: &u32| {
        done += of(*event);
        done >= wanted
    };
    (0..tape.length()).find(reached).map(|event| event + 1)
}
