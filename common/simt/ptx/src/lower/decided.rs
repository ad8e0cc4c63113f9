//! Finds instructions that run only because of the result of an atomic operation, as in "the last thread to count resets the
//! counter".
//!
//! Which of them decides matters: the last thread to count knows the counter, but not the sum that all added to before they counted.
//!
//! A value depends on such a result if it is computed from it, if it is set by an instruction that only some threads reach because
//! of it, or if it is loaded from shared memory after a dependent value was stored there. An instruction is decided if its guard
//! depends on such a result, or if a branch that may skip it does.

use super::flow::Graph;
use super::inst::{NONE, Op};
use super::raw::{Decoded, Raw};

/// If the search takes more steps, no instruction counts as decided. Compiled kernels take a few steps for each instruction.
const MOST_STEPS: usize = 1 << 22;

/// Returns for each instruction the bit of its result if it is an atomic operation with a result, and the bits of those whose results
/// decide whether it runs. All but a kernel's first 63 atomic operations share a bit.
pub(super) fn decided(decoded: &Decoded, graph: &Graph) -> Vec<(u64, u64)> {
    let mut count = 0;
    let bit = |raw: &Raw| {
        let has_result = raw.inst.op == Op::Atom && raw.inst.d != NONE;
        count += u32::from(has_result);
        if has_result { 1 << (count - 1).min(63) } else { 0 }
    };
    let bits: Vec<u64> = decoded.raws.iter().map(bit).collect();
    let deciders = deciders(decoded, graph, &bits);
    bits.into_iter().zip(deciders).collect()
}

fn deciders(decoded: &Decoded, graph: &Graph, bits: &[u64]) -> Vec<u64> {
    let mut found = Decided {
        values: vec![0; decoded.values.len()],
        instructions: vec![0; decoded.raws.len()],
        branches: vec![0; graph.blocks.len()],
        shared: 0,
        changed: true,
        steps: 0,
    };
    decoded.raws.iter().zip(bits).for_each(|(raw, &bit)| found.sets(raw, bit));
    if found.values.iter().all(|&bits| bits == 0) {
        return found.instructions;
    }
    while std::mem::take(&mut found.changed) {
        for (index, raw) in decoded.raws.iter().enumerate() {
            found.compute(index, raw);
        }
        for block in 0..graph.blocks.len() {
            found.branch(decoded, graph, block);
        }
        if found.steps > MOST_STEPS {
            return vec![0; decoded.raws.len()];
        }
    }
    found.instructions
}

/// The results that things depend on, a bit for each.
struct Decided {
    values: Vec<u64>,
    instructions: Vec<u64>,
    /// For each block, those of the branch at its end.
    branches: Vec<u64>,
    /// Those of what is in shared memory.
    shared: u64,
    /// Whether the current round has found more.
    changed: bool,
    steps: usize,
}

impl Decided {
    fn depends(&self, raw: &Raw) -> u64 {
        raw.effect().uses.into_iter().fold(0, |bits, value| bits | self.values[value as usize])
    }

    /// Notes that all values an instruction sets depend on these results.
    fn sets(&mut self, raw: &Raw, bits: u64) {
        for value in raw.effect().defs {
            self.changed |= adds(&mut self.values[value as usize], bits);
        }
    }

    fn compute(&mut self, index: usize, raw: &Raw) {
        self.steps += 1;
        self.instructions[index] |= raw.guard.map_or(0, |(value, _)| self.values[value as usize]);
        let loaded = if matches!(raw.inst.op, Op::LdShared | Op::LdGeneric) { self.shared } else { 0 };
        let bits = self.instructions[index] | loaded | self.depends(raw);
        self.sets(raw, bits);
        if matches!(raw.inst.op, Op::StShared | Op::StGeneric) {
            self.changed |= adds(&mut self.shared, bits);
        }
    }

    /// If the branch at the end of a block depends on a result, all blocks up to its meeting point are decided.
    fn branch(&mut self, decoded: &Decoded, graph: &Graph, number: usize) {
        let raw = &decoded.raws[graph.blocks[number].end as usize - 1];
        let branches = matches!(raw.inst.op, Op::Bra | Op::Brx | Op::Exit);
        let bits = self.depends(raw);
        if !branches || !adds(&mut self.branches[number], bits) {
            return;
        }
        self.changed = true;
        let mut seen = vec![false; graph.blocks.len()];
        let mut ahead = graph.blocks[number].next.clone();
        self.steps += seen.len() / 64;
        while let Some(block) = ahead.pop() {
            if block == graph.meeting[number] || std::mem::replace(&mut seen[block as usize], true) {
                continue;
            }
            let block = &graph.blocks[block as usize];
            self.instructions[block.start as usize..block.end as usize].iter_mut().for_each(|known| *known |= bits);
            self.steps += (block.end - block.start) as usize + block.next.len();
            ahead.extend(&block.next);
            if self.steps > MOST_STEPS {
                return;
            }
        }
    }
}

/// Adds bits, and returns whether some of them are new.
fn adds(known: &mut u64, bits: u64) -> bool {
    let before = *known;
    *known |= bits;
    *known != before
}
