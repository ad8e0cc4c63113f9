//! A model of time: when each warp of a block would issue its recorded instructions, from stated latencies. Not a measurement.

use crate::effect::{Effect, lanes};
use crate::instructions::Program;
use crate::request::StripsRequest;
use crate::run::Run;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};

/// What a warp does in a clock cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Issue,
    Memory,
    Barrier,
    Other,
}

const NAMES: [&str; 4] = ["issue", "memory", "barrier", "other"];
/// Segments of a warp at most.
const SEGMENTS: u64 = 400;

/// When something is there, and what who waits for it waits for.
type Ready = (u64, What);

fn later(one: Ready, other: Ready) -> Ready {
    if other.0 > one.0 { other } else { one }
}

/// A warp on its way through its events.
struct Warp {
    events: VecDeque<u32>,
    /// By register.
    registers: Vec<Ready>,
    /// When the copies of each closed group have landed, and those of the open one.
    groups: VecDeque<u64>,
    open: u64,
    /// When its next instruction may be issued; never, while it waits at a barrier that has not opened.
    next: Option<Ready>,
    segments: Vec<(u64, u64, What)>,
    end: u64,
}

impl Warp {
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

    /// The segments, so coarse that there are not too many: of equal pieces of time each shows what it has most of.
    fn coarse(&self) -> Vec<(u64, u64, What)> {
        let piece = self.end.div_ceil(SEGMENTS).max(1);
        if piece == 1 || (self.segments.len() as u64) <= SEGMENTS {
            return self.segments.clone();
        }
        let mut coarse = Self { segments: vec![], end: 0, ..Self::new(0) };
        let mut all = self.segments.iter().copied().peekable();
        while coarse.end < self.end {
            let until = (coarse.end + piece).min(self.end);
            let mut most = [0; 4];
            while let Some(&(from, to, what)) = all.peek() {
                most[what as usize] += to.min(until) - from.max(coarse.end);
                if to > until {
                    break;
                }
                all.next();
            }
            let whats = [What::Issue, What::Memory, What::Barrier, What::Other];
            let what = whats.into_iter().max_by_key(|&what| most[what as usize]).unwrap_or(What::Other);
            coarse.goes_on(until, what);
        }
        coarse.segments
    }

    fn new(registers: usize) -> Self {
        Self {
            events: VecDeque::new(),
            registers: vec![(0, What::Other); registers],
            groups: VecDeque::new(),
            open: 0,
            next: Some((0, What::Other)),
            segments: vec![],
            end: 0,
        }
    }
}

/// The registers that each instruction reads, by number.
fn reads(program: &Program) -> Vec<Vec<usize>> {
    let names: HashMap<&str, usize> =
        program.registers.iter().enumerate().map(|(number, register)| (register.name.as_str(), number)).collect();
    let of = |instruction: &crate::instructions::Instruction| {
        let words = instruction.text.split(|c: char| !(c.is_alphanumeric() || "%_$".contains(c)));
        let mut all: Vec<usize> = words.filter_map(|word| names.get(word).copied()).collect();
        // What it writes stands there once more than it is read.
        for written in &instruction.writes {
            all.iter().position(|register| register == written).map(|at| all.remove(at));
        }
        all
    };
    program.instructions.iter().map(of).collect()
}

/// The strips of a block.
pub fn strips(run: &Run, request: &StripsRequest) -> Result<Value, String> {
    let &StripsRequest { block, launch, global, shared, fma, schedulers, time } = request;
    if schedulers == 0 || [global, shared, fma].iter().any(|&clocks| clocks > 1_000_000) {
        return Err("no SM is like that; give at least one scheduler and latencies up to 1,000,000 clock cycles".into());
    }
    let tape = &run.tape;
    let of_launch = tape.launches.get(launch).ok_or("there is no such launch; the run's answer lists them")?;
    let program = &of_launch.program;
    let reads = reads(program);
    let mut warps: Vec<Warp> = (0..of_launch.warps()).map(|_| Warp::new(program.registers.len())).collect();
    // By opening of a barrier: who waits for it, and how many have come.
    let mut barriers: HashMap<usize, (u32, u32)> = HashMap::new();
    let openings: Vec<_> = tape.opened.iter().enumerate().filter(|(_, opened)| opened.block == block).collect();
    for (number, warp) in (0..).zip(&mut warps) {
        warp.events.extend(tape.of_warp((block, number), of_launch.events.clone()));
    }
    // When the registers are there that a warp's next instruction reads.
    let needed = |warp: &Warp, from: Ready| {
        let next = warp.events.front().map(|&number| tape.event(number).instruction);
        let registers = next.iter().flat_map(|&instruction| &reads[instruction as usize]);
        registers.fold(from, |ready, &register| later(ready, warp.registers[register]))
    };
    let (mut clock, mut issued, mut cursor) = (0, 0_u32, None);
    while warps.iter().any(|warp| !warp.events.is_empty() && warp.next.is_some()) {
        for scheduler in 0..schedulers as usize {
            let ready = |warp: &Warp| !warp.events.is_empty() && warp.next.is_some_and(|(ready, _)| ready <= clock);
            let own = (scheduler..warps.len()).step_by(schedulers as usize).filter(|&warp| ready(&warps[warp]));
            // The one that has waited longest.
            let Some(chosen) = own.min_by_key(|&warp| (warps[warp].next.map(|(ready, _)| ready), warp)) else {
                continue;
            };
            let warp = &mut warps[chosen];
            let (Some(number), Some((ready, what))) = (warp.events.pop_front(), warp.next) else { continue };
            warp.goes_on(ready, what);
            warp.goes_on(clock, What::Other);
            warp.goes_on(clock + 1, What::Issue);
            issued += 1;
            if time.is_some_and(|time| number < time) {
                cursor = cursor.max(Some((number, clock)));
            }
            let instruction = tape.instruction(number);
            let result = match instruction.kind {
                "load" | "atomic" if instruction.text.contains(".shared") => (clock + shared, What::Memory),
                "load" | "atomic" => (clock + global, What::Memory),
                _ => (clock + fma, What::Other),
            };
            instruction.writes.iter().for_each(|&register| warp.registers[register] = result);
            let mut next = (clock + 1, What::Other);
            let mut opening = None;
            if matches!(instruction.kind, "copy" | "commit" | "wait" | "barrier") {
                for effect in &tape.event(number).effects {
                    match effect {
                        Effect::Request(_) => warp.open = clock + global,
                        Effect::Commit => warp.groups.push_back(std::mem::take(&mut warp.open)),
                        Effect::Wait(pending) => {
                            let keep = pending.map_or(0, |pending| pending as usize);
                            let open = if pending.is_none() { std::mem::take(&mut warp.open) } else { 0 };
                            let landed = warp.groups.drain(..warp.groups.len().saturating_sub(keep)).max().unwrap_or(0);
                            next = later(next, (landed.max(open), What::Memory));
                        }
                        Effect::Arrive => {
                            opening = openings
                                .iter()
                                .find(|(_, opened)| opened.event >= number && opened.warps >> chosen & 1 != 0);
                        }
                        _ => {}
                    }
                }
            }
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
    let told = |warp: &Warp| {
        let sum = |what: What| {
            warp.segments.iter().filter(|segment| segment.2 == what).map(|(from, to, _)| to - from).sum::<u64>()
        };
        let segments: Vec<Value> =
            warp.coarse().iter().map(|&(from, to, what)| json!([from, to, NAMES[what as usize]])).collect();
        json!({
            "segments": segments, "issue": sum(What::Issue), "memory": sum(What::Memory), "barrier": sum(What::Barrier),
            "other": sum(What::Other), "end": warp.end,
        })
    };
    let clocks = warps.iter().map(|warp| warp.end).max().unwrap_or(0);
    Ok(json!({
        "clocks": clocks, "issued": issued, "cursor": cursor.map(|(_, clock)| clock), "warps": warps.iter().map(told).collect::<Vec<_>>(),
    }))
}
