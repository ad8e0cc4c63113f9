//! A model of time: when each warp of a block would issue its recorded instructions, from stated latencies. Not a measurement.

use crate::instructions::{Instruction, Program};
use crate::log::{Effect, Opened, lanes};
use crate::request::StripsRequest;
use crate::run::Run;
use serde::Serialize;
use serde_json::{Value, json};
use simt::{AccessKind, Space};
use std::collections::{HashMap, VecDeque};

/// What a warp does in a clock cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Issue,
    Memory,
    Barrier,
    Other,
}

/// Most segments of a warp.
const SEGMENTS: u64 = 400;

/// When a value is ready, and what a warp waits for until then.
type Ready = (u64, What);

fn later(one: Ready, other: Ready) -> Ready {
    if other.0 > one.0 { other } else { one }
}

/// What a warp does over time, in segments.
#[derive(Default)]
struct Strip {
    segments: Vec<(u64, u64, What)>,
    end: u64,
}

impl Strip {
    /// Does something until a time.
    fn goes_on(&mut self, until: u64, what: What) {
        if until > self.end {
            match self.segments.last_mut().filter(|last| last.2 == what) {
                Some(last) => last.1 = until,
                None => self.segments.push((self.end, until, what)),
            }
            self.end = until;
        }
    }

    /// Reduces a strip to at most [`SEGMENTS`] pieces of equal length; each shows what the warp does in its middle.
    fn coarse(self) -> Self {
        if self.segments.len() <= SEGMENTS as usize {
            return self;
        }
        let mut coarse = Self::default();
        for piece in 1..=SEGMENTS {
            let middle = self.end * (2 * piece - 1) / (2 * SEGMENTS);
            let at = self.segments.partition_point(|&(_, to, _)| to <= middle);
            coarse.goes_on(self.end * piece / SEGMENTS, self.segments[at].2);
        }
        coarse
    }
}

/// A warp on its way through its events.
#[derive(Default)]
struct Warp {
    events: VecDeque<u32>,
    registers: Vec<Ready>,
    /// When the copies of each closed group have landed, and those of the open one.
    groups: VecDeque<u64>,
    open: u64,
    /// When its next instruction may be issued; never, while it waits at a barrier that has not opened.
    next: Option<Ready>,
    strip: Strip,
}

/// The registers that each instruction reads, by number.
fn reads(program: &Program) -> Vec<Vec<usize>> {
    let names: HashMap<&str, usize> =
        program.registers.iter().enumerate().map(|(number, register)| (register.name.as_str(), number)).collect();
    let of = |instruction: &Instruction| {
        let words = instruction.text.split(|c: char| !(c.is_alphanumeric() || "%_$".contains(c)));
        let mut all: Vec<usize> = words.filter_map(|word| names.get(word).copied()).collect();
        // The text names a written register once more than it is read.
        for written in &instruction.writes {
            all.iter().position(|register| register == written).map(|at| all.remove(at));
        }
        all
    };
    program.instructions.iter().map(of).collect()
}

pub fn strips(run: &Run, request: &StripsRequest) -> Result<Value, String> {
    let &StripsRequest { block, launch, global, shared, fma, schedulers, time } = request;
    if schedulers == 0 || [global, shared, fma].iter().any(|&clocks| clocks > 1_000_000) {
        return Err("no SM is like that; give at least one scheduler and latencies up to 1,000,000 clock cycles".into());
    }
    let tape = &run.tape;
    let of_launch = tape.launches.get(launch).ok_or("there is no such launch; the run's answer lists them")?;
    let program = &of_launch.program;
    let reads = reads(program);
    let warp = |number: u32| Warp {
        events: tape.of_warp((block, number), of_launch.events.clone()).collect(),
        registers: vec![(0, What::Other); program.registers.len()],
        next: Some((0, What::Other)),
        ..Warp::default()
    };
    let mut warps: Vec<Warp> = (0..of_launch.warps()).map(warp).collect();
    // By opening of a barrier: who waits for it, and how many have come.
    let mut barriers: HashMap<usize, (u32, u32)> = HashMap::new();
    let openings: Vec<_> = tape.opened.iter().enumerate().filter(|(_, opened)| opened.block == block).collect();
    // When the registers are there that a warp's next instruction reads.
    let needed = |warp: &Warp, from: Ready| {
        let next = warp.events.front().map(|&number| tape.event(number).instruction);
        let registers = next.iter().flat_map(|&instruction| &reads[instruction as usize]);
        registers.fold(from, |ready, &register| later(ready, warp.registers[register]))
    };
    let (mut clock, mut cursor) = (0, None);
    while warps.iter().any(|warp| !warp.events.is_empty() && warp.next.is_some()) {
        for scheduler in 0..schedulers as usize {
            let ready = |warp: &Warp| !warp.events.is_empty() && warp.next.is_some_and(|(ready, _)| ready <= clock);
            let own = (scheduler..warps.len()).step_by(schedulers as usize).filter(|&warp| ready(&warps[warp]));
            // The one that has waited longest.
            let Some(chosen) = own.min_by_key(|&warp| (warps[warp].next.map(|next| next.0), warp)) else { continue };
            let warp = &mut warps[chosen];
            let (Some(number), Some((ready, what))) = (warp.events.pop_front(), warp.next) else { continue };
            warp.strip.goes_on(ready, what);
            warp.strip.goes_on(clock, What::Other);
            warp.strip.goes_on(clock + 1, What::Issue);
            if time.is_some_and(|time| number < time) {
                cursor = cursor.max(Some((number, clock)));
            }
            let mut result = (clock + fma, What::Other);
            let mut next = (clock + 1, What::Other);
            let mut opening = None;
            for effect in &tape.event(number).effects {
                match effect {
                    Effect::Request(request) => match (request.kind, request.space) {
                        (AccessKind::CopySource, _) => warp.open = clock + global,
                        (AccessKind::Load | AccessKind::Atomic, Space::Shared) => {
                            result = (clock + shared, What::Memory);
                        }
                        (AccessKind::Load | AccessKind::Atomic, _) => result = (clock + global, What::Memory),
                        _ => {}
                    },
                    Effect::Commit => warp.groups.push_back(std::mem::take(&mut warp.open)),
                    Effect::Wait(pending) => {
                        let keep = pending.map_or(0, |pending| pending as usize);
                        let open = if pending.is_none() { std::mem::take(&mut warp.open) } else { 0 };
                        let landed = warp.groups.drain(..warp.groups.len().saturating_sub(keep)).max().unwrap_or(0);
                        next = later(next, (landed.max(open), What::Memory));
                    }
                    Effect::Arrive => {
                        let own =
                            |(_, opened): &&(usize, &Opened)| opened.event >= number && opened.warps >> chosen & 1 != 0;
                        opening = openings.iter().find(own);
                    }
                    _ => {}
                }
            }
            tape.instruction(number).writes.iter().for_each(|&register| warp.registers[register] = result);
            warp.next = Some(needed(warp, next));
            if let Some(&(at, opened)) = opening {
                warp.next = None;
                let (come, waiting) = barriers.entry(at).or_default();
                *come |= 1 << chosen;
                *waiting += 1;
                if *waiting == opened.warps.count_ones() {
                    for other in lanes(*come) {
                        warps[other].next = Some(needed(&warps[other], (clock + 1, What::Barrier)));
                    }
                }
            }
        }
        let waiting = warps.iter().filter(|warp| !warp.events.is_empty());
        let soonest = waiting.filter_map(|warp| warp.next).map(|(ready, _)| ready).min();
        clock = soonest.unwrap_or(0).max(clock + 1);
    }
    let clocks = warps.iter().map(|warp| warp.strip.end).max().unwrap_or(0);
    let told = |Warp { strip, .. }: Warp| {
        let sum = |what: What| {
            let own = strip.segments.iter().filter(|segment| segment.2 == what);
            own.map(|(from, to, _)| to - from).sum::<u64>()
        };
        let ([memory, barrier], end) = ([What::Memory, What::Barrier].map(sum), strip.end);
        json!({ "memory": memory, "barrier": barrier, "end": end, "segments": strip.coarse().segments })
    };
    let warps: Value = warps.into_iter().map(told).collect();
    Ok(json!({ "clocks": clocks, "cursor": cursor.map(|(_, clock)| clock), "warps": warps }))
}
