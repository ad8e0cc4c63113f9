//! Other times: the next instruction, line, barrier, hazard, access, or so much work.

use crate::effect::Effect;
use crate::log::Event;
use crate::request::{Goal, SeekRequest};
use crate::run::{C, Run};
use crate::step::{Visit, computes};
use simt::Space;

/// The time that is asked for, if there is one.
pub fn seek(run: &Run, request: &SeekRequest) -> Option<u32> {
    let tape = &run.tape;
    let from = request.from.min(tape.length());
    match request.to {
        Goal::Instruction => nearest(run, request, |number, _| Some(number + 1)),
        Goal::Line => line(run, request),
        Goal::Step => {
            // Visit after visit, until one has done something.
            let next = |&from: &u32| {
                line(run, &SeekRequest { from, line: None, ..request.clone() }).filter(|&time| time != from)
            };
            std::iter::successors(next(&from), next).find(|&time| acts(run, request, time))
        }
        Goal::First => {
            let first = tape.launches.get(tape.launch_of(from))?.events.0;
            let fetches = |number: &u32| {
                let array = tape.access(*number).map_or_else(|| tape.copy(*number)?.array, |access| access.array);
                tape.events[*number as usize].block() == request.block && array.is_some_and(|array| array < C)
            };
            let event = (first..tape.length()).find(fetches)?;
            line(
                run,
                &SeekRequest {
                    from: event,
                    back: false,
                    line: None,
                    warp: tape.events[event as usize].warp(),
                    ..request.clone()
                },
            )
        }
        Goal::Access => {
            nearest(run, request, |number, event| accesses(run, request, number, event).then_some(number + 1))
        }
        Goal::Barrier => {
            let launch = tape.launch_of(from.saturating_sub(u32::from(request.back)));
            let (first, end) = tape.launches.get(launch)?.events;
            let times =
                tape.opened.iter().filter(|opened| opened.block == request.block).map(|opened| opened.event + 1);
            let mut times = times.filter(|&time| time > first && time <= end);
            if request.back { times.rfind(|&time| time < from) } else { times.find(|&time| time > from) }
        }
        Goal::Hazard => {
            let times = run.hazards.iter().map(|found| found.time);
            if request.back { times.filter(|&time| time < from).max() } else { times.filter(|&time| time > from).min() }
        }
        Goal::Work => work(run, request),
    }
}

/// The nearest time that `at` gives for an event of the chosen warp.
fn nearest(run: &Run, request: &SeekRequest, at: impl Fn(u32, &Event) -> Option<u32>) -> Option<u32> {
    let tape = &run.tape;
    let from = request.from.min(tape.length());
    let launch = tape.launch_of(if request.back { from.saturating_sub(1) } else { from });
    let (first, end) = tape.launches.get(launch)?.events;
    let own = |&number: &u32| {
        let event = &tape.events[number as usize];
        (event.block(), event.warp()) == (request.block, request.warp)
    };
    let time = |number: u32| at(number, &tape.events[number as usize]);
    if request.back {
        // Time `from` itself is right after event `from - 1`.
        (first..from.min(end)).rev().filter(own).filter_map(time).find(|&time| time < from)
    } else {
        (from.max(first)..end.min(tape.length())).filter(own).find_map(time)
    }
}

/// Whether an event accesses what is asked for.
fn accesses(run: &Run, request: &SeekRequest, number: u32, event: &Event) -> bool {
    let tape = &run.tape;
    let of_launch = &tape.launches[tape.launch_of(number)];
    let instruction = &of_launch.program.instructions[event.instruction as usize];
    if request.line.is_some() && request.line != instruction.line {
        return false;
    }
    let arrays = of_launch.program.kernel.shared_arrays();
    let shared = |position: u32| {
        arrays.iter().rfind(|array| array.offset <= position).map_or("shared", |array| array.source_name.as_str())
    };
    let wanted = |name: &str| request.array.as_deref().is_none_or(|array| array == name);
    let first = |lanes: u32| lanes.trailing_zeros() as usize & 31;
    let mut effects = tape.effects(&of_launch.program, event, |_, _| {});
    effects.any(|effect| match effect {
        Effect::Access(access) => match access.array {
            Some(array) => wanted(&tape.arrays[array].name),
            None if access.space == Space::Shared => wanted(shared(access.addresses[first(access.lanes)])),
            None => wanted("local"),
        },
        Effect::Copy(copy) => {
            copy.array.is_some_and(|array| wanted(&tape.arrays[array].name))
                || wanted(shared(copy.to[first(copy.lanes)]))
        }
        _ => false,
    })
}

/// Whether the chosen warp's visit to a line that ends at a time did more than to compute numbers.
fn acts(run: &Run, request: &SeekRequest, time: u32) -> bool {
    let tape = &run.tape;
    let acts = |&number: &u32| {
        let event = &tape.events[number as usize];
        let program = &tape.launches[tape.launch_of(number)].program;
        let mut effects = tape.effects(program, event, |_, _| {});
        computes(run, &program.instructions[event.instruction as usize])
            || effects.any(|effect| !matches!(effect, Effect::Writes(..) | Effect::Product(_)))
    };
    Visit::at(run, (request.block, request.warp), time).is_some_and(|visit| visit.events.iter().any(acts))
}

/// To the end of the chosen warp's visit to a line: its latest event is of one line and its next one of another.
fn line(run: &Run, request: &SeekRequest) -> Option<u32> {
    let tape = &run.tape;
    let launch = tape.launch_of(request.from.saturating_sub(u32::from(request.back)));
    let of_launch = tape.launches.get(launch)?;
    let (first, end) = (of_launch.events.0, of_launch.events.1.min(tape.length()));
    let of_warp = |number: &u32| {
        let event = &tape.events[*number as usize];
        (event.block(), event.warp()) == (request.block, request.warp)
    };
    let line_of = |number: u32| of_launch.program.instructions[tape.events[number as usize].instruction as usize].line;
    let fits = |next: Option<u32>| match (request.line, next) {
        (Some(line), next) => next == Some(line),
        (None, _) => true,
    };
    if request.back {
        let mut next: Option<u32> = None;
        for number in (first..end.min(request.from)).rev().filter(of_warp) {
            let changes = next.is_some_and(|next| line_of(next) != line_of(number));
            if changes && number + 1 < request.from && fits(next.and_then(line_of)) {
                return Some(number + 1);
            }
            next = Some(number);
        }
        return (request.from > first && (request.line.is_none() || fits(next.and_then(line_of)))).then_some(first);
    }
    let mut events = (request.from.max(first)..end).filter(of_warp);
    let mut latest = events.next()?;
    for number in events {
        if line_of(number) != line_of(latest) && fits(line_of(number)) {
            return Some(latest + 1);
        }
        latest = number;
    }
    request.line.is_none().then_some(latest + 1)
}

/// The first time at which the wanted number of multiply-adds has been done, or the wanted share of all.
fn work(run: &Run, request: &SeekRequest) -> Option<u32> {
    let tape = &run.tape;
    let of = |event: &Event| {
        let counts = tape.counts(event);
        let program = &tape.launches.last()?.program;
        let fma = program.instructions.get(event.instruction as usize).is_some_and(|i| i.kind == "fma");
        Some(if counts.fma_threads > 0 {
            counts.fma_threads
        } else {
            u64::from(fma) * u64::from(event.lanes.count_ones())
        })
    };
    let all: u64 = tape.events.iter().filter_map(of).sum();
    let wanted =
        request.work.or_else(|| request.share.map(|share| (share.clamp(0.0, 1.0) * all as f64).round() as u64))?;
    if wanted == 0 {
        return Some(0);
    }
    if wanted >= all && request.share.is_some() {
        return Some(tape.length());
    }
    let mut done = 0;
    let at = tape.events.iter().position(|event| {
        done += of(event).unwrap_or(0);
        done >= wanted
    })?;
    Some(at as u32 + 1)
}
