//! The sums of a thread that end up in C: followed backwards from the stores, through what the warp really executed.

use crate::effect::Effect;
use crate::instructions::{Program, operands};
use crate::run::{C, Run};
use simt::AccessKind;
use std::collections::HashMap;

/// One sum of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    /// Its element of C.
    pub element: u32,
    /// When it changed and which register held it from then on: right after these events, the latest first.
    pub steps: Vec<(u32, usize)>,
}

/// The sums of all lanes of a warp.
pub type Sums = Vec<Vec<Sum>>;

/// What an instruction took its sum from: the register that it adds to, or copies.
fn source(program: &Program, instruction: u32) -> Option<&str> {
    let text = program.instructions.get(instruction as usize)?.text.as_str();
    let kind = program.instructions[instruction as usize].kind;
    let bare = if text.starts_with('@') { text.split_once(' ')?.1 } else { text };
    let all = operands(text);
    let from = match kind {
        "fma" => all.get(3),
        _ if bare.starts_with("mov.") => all.get(1),
        _ if bare.starts_with("add.f32") => all.get(1),
        _ => None,
    }?;
    from.starts_with('%').then_some(*from)
}

/// Follows the sums of a warp of a block.
pub fn sums(run: &Run, launch: usize, block: u32, warp: u32) -> Sums {
    let tape = &run.tape;
    let mut all: Sums = vec![vec![]; 32];
    let Some(of_launch) = tape.launches.get(launch) else { return all };
    let program = &of_launch.program;
    let number_of: HashMap<&str, usize> =
        program.registers.iter().enumerate().map(|(number, register)| (register.name.as_str(), number)).collect();
    let (first, end) = of_launch.spans.get(block as usize).copied().unwrap_or((0, 0));
    let end = end.min(tape.length().saturating_sub(1));
    if first > end {
        return all;
    }
    // By register: the sums that are in it at this time, as lane and number.
    let mut held: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
    for number in (first..=end).rev() {
        let event = tape.events[number as usize];
        if (event.block(), event.warp()) != (block, warp) {
            continue;
        }
        let instruction = &program.instructions[event.instruction as usize];
        if instruction.kind == "store" {
            let effects = tape.effects(program, &event, |_, _| {});
            for effect in effects {
                let Effect::Access(access) = effect else { continue };
                if access.array != Some(C) || access.kind != AccessKind::Store {
                    continue;
                }
                let stored = operands(&instruction.text);
                for (part, name) in stored.iter().skip(1).enumerate() {
                    let Some(&register) = number_of.get(name) else { continue };
                    for lane in crate::bits::lanes(access.lanes) {
                        let element = access.addresses[lane] / 4 + part as u32;
                        all[lane].push(Sum { element, steps: vec![] });
                        held.entry(register).or_default().push((lane, all[lane].len() - 1));
                    }
                }
            }
        }
        for register in &instruction.writes {
            let Some(sums) = held.get_mut(register) else { continue };
            let written = |(lane, _): &(usize, usize)| event.lanes >> lane & 1 != 0;
            let (changed, kept): (Vec<_>, Vec<_>) = sums.iter().copied().partition(written);
            *sums = kept;
            for &(lane, sum) in &changed {
                all[lane][sum].steps.push((number, *register));
            }
            if let Some(&from) = source(program, event.instruction).and_then(|name| number_of.get(name)) {
                held.entry(from).or_default().extend(changed);
            }
        }
    }
    for sums in &mut all {
        sums.sort_by_key(|sum| sum.element);
    }
    all
}
