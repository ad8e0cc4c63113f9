//! Assigns a place to every value. Presets come first, then registers; predicates are separate.
//!
//! A compiler's PTX names thousands of registers, but only some dozens of them live at a time. Because they share slots, a warp's
//! registers stay in the host's first-level cache.

use super::code::Register;
use super::flow::Block;
use super::follow::{home, products, unset};
use super::inst::{GUARD_NEGATED, NONE};
use super::raw::{Decoded, Effect, Raw, Value};
use crate::ast::Type;
use crate::error::Error;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Most registers and constants of a thread, in words: far more than a GPU has, and 128 MiB for a block of 1,024 threads.
const MOST_PLANES: u32 = 1 << 15;

/// Returns the place of each value: the offset of a register in words, or the number of a predicate; [`NONE`] if it is not used.
/// Also notes in the code what execution must know about places.
pub(super) fn places(decoded: &mut Decoded, blocks: &[Block]) -> Result<Vec<u32>, Error> {
    let effects: Vec<Effect> = decoded.raws.iter().map(Raw::effect).collect();
    decoded.code.products = products(decoded, &effects);
    let Decoded { values, code, .. } = &mut *decoded;
    let liveness = liveness(&effects, blocks, values.len());

    // Presets come first, because they are written once and never change.
    let mut of = vec![NONE; values.len()];
    for (value, place) in values.iter().zip(&mut of) {
        if let Some(preset) = value.preset {
            *place = code.preset_planes * 32;
            code.presets.push((*place, value.slots() == 2, preset));
            code.preset_planes += value.slots();
        }
    }
    let value = |number: u32| &values[number as usize];
    let is_data = |number| value(number).preset.is_none() && value(number).kind != Type::Pred;
    let is_predicate = |number| value(number).kind == Type::Pred;
    let (slots, planes) = liveness.assign(code.preset_planes, |number| value(number).slots(), is_data);
    let (bits, predicates) = liveness.assign(0, |_| 1, is_predicate);
    for (number, place) in of.iter_mut().enumerate() {
        if slots[number] != NONE {
            *place = slots[number] * 32;
        } else if bits[number] != NONE {
            *place = bits[number];
        }
    }
    if predicates >= u32::from(GUARD_NEGATED) - 1 || planes > MOST_PLANES {
        let reason = format!("kernels with {planes} registers and constants in use at a time, more than {MOST_PLANES}");
        return Err(Error::unsupported(1, "", reason));
    }
    (code.planes, code.predicates) = (planes, predicates);
    code.writes = writes(values, &effects, &of);
    unset(decoded, liveness.maybe_unset, &of);
    Ok(of)
}

/// Returns the registers that instructions write. Registers that nobody reads are left out.
fn writes(values: &[Value], effects: &[Effect], of: &[u32]) -> Vec<Register> {
    let mut writes = vec![];
    for (instruction, effect) in (0u32..).zip(effects) {
        for &number in effect.defs.iter().filter(|&&number| of[number as usize] != NONE) {
            let (value, at) = (&values[number as usize], of[number as usize]);
            let float = matches!(value.kind, Type::F32 | Type::F64);
            writes.push(Register { instruction, name: value.name.clone(), home: home(value, at), float });
        }
    }
    writes
}

/// The time during which a value is live, in half instructions. Reads have even numbers, writes have odd ones.
#[derive(Debug, Clone, Copy)]
struct Interval {
    start: u32,
    end: u32,
}

/// If the analysis takes more steps than this, each value keeps a slot to itself. A kernel of a million instructions takes a tenth
/// of it; a thousand values that live in each of a hundred thousand blocks take all of it.
const MOST_STEPS: usize = 1 << 28;

pub(super) struct Liveness {
    intervals: Vec<Option<Interval>>,
    /// Values that some path reads before it writes them.
    pub maybe_unset: Vec<u32>,
}

/// Finds when each of `count` values is live. A write under a guard must also be in `uses`, because it keeps some lanes' values.
///
/// Works on one value at a time, backwards from the blocks that read it before they write it to those that write it.
pub(super) fn liveness(effects: &[Effect], blocks: &[Block], count: usize) -> Liveness {
    let mut intervals: Vec<Option<Interval>> = vec![None; count];
    let mut extend = |value: u32, at: u32| {
        let interval = intervals[value as usize].get_or_insert(Interval { start: at, end: at });
        interval.start = interval.start.min(at);
        interval.end = interval.end.max(at);
    };
    // For each value, the blocks that read it before they write it, and the blocks that write it.
    let (mut readers, mut writers) = (vec![vec![]; count], vec![vec![]; count]);
    for (number, block) in (0u32..).zip(blocks) {
        for (index, effect) in (block.start..).zip(&effects[block.start as usize..block.end as usize]) {
            for &value in &effect.uses {
                extend(value, 2 * index);
                let known = |list: &[Vec<u32>]| list[value as usize].last() == Some(&number);
                if !known(&writers) && !known(&readers) {
                    readers[value as usize].push(number);
                }
            }
            for &value in &effect.defs {
                extend(value, 2 * index + 1);
                if writers[value as usize].last() != Some(&number) {
                    writers[value as usize].push(number);
                }
            }
        }
    }
    let mut before: Vec<Vec<u32>> = vec![vec![]; blocks.len()];
    for (number, block) in (0u32..).zip(blocks) {
        block.next.iter().for_each(|&next| before[next as usize].push(number));
    }
    let mut maybe_unset = vec![];
    // For each block, the last value that was found to be live at its start, and the last that it was found to write.
    let (mut live, mut writes) = (vec![NONE; blocks.len()], vec![NONE; blocks.len()]);
    let mut steps = 0;
    for (value, (mut waiting, writers)) in (0u32..).zip(readers.into_iter().zip(writers)) {
        for &block in &writers {
            writes[block as usize] = value;
        }
        for &block in &waiting {
            live[block as usize] = value;
        }
        while let Some(number) = waiting.pop() {
            extend(value, 2 * blocks[number as usize].start);
            if number == 0 {
                maybe_unset.push(value);
            }
            for &from in &before[number as usize] {
                extend(value, 2 * blocks[from as usize].end);
                if writes[from as usize] != value && live[from as usize] != value {
                    live[from as usize] = value;
                    waiting.push(from);
                }
            }
            steps += 1 + before[number as usize].len();
        }
        if steps > MOST_STEPS {
            let all = Interval { start: 0, end: u32::MAX };
            return Liveness { intervals: vec![Some(all); count], maybe_unset: vec![] };
        }
    }
    Liveness { intervals, maybe_unset }
}

impl Liveness {
    /// Assigns slots, from `first` on, to the used values among `candidates`. `size` returns 1 or 2 slots. Returns the slot of each
    /// value and the end of the used slots.
    pub fn assign(&self, first: u32, size: impl Fn(u32) -> u32, candidates: impl Fn(u32) -> bool) -> (Vec<u32>, u32) {
        let mut slots = vec![NONE; self.intervals.len()];
        let mut order: Vec<(Interval, u32)> = (0u32..)
            .zip(&self.intervals)
            .filter(|(value, _)| candidates(*value))
            .filter_map(|(value, interval)| interval.map(|interval| (interval, value)))
            .collect();
        order.sort_by_key(|(interval, value)| (interval.start, *value));
        let mut active: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
        let mut free: [Vec<u32>; 2] = [vec![], vec![]];
        let mut end = first;
        for (interval, value) in order {
            while let Some(&Reverse((last, old))) = active.peek()
                && last < interval.start
            {
                active.pop();
                free[size(old) as usize - 1].push(slots[old as usize]);
            }
            let size = size(value);
            slots[value as usize] = free[size as usize - 1].pop().unwrap_or_else(|| {
                let slot = end;
                end += size;
                slot
            });
            active.push(Reverse((interval.end, value)));
        }
        (slots, end)
    }
}
