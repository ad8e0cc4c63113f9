//! Finds instructions that run only because of the result of an atomic operation, as in "the last thread to count resets the
//! counter".
//!
//! A value depends on such a result if it is computed from it, if it is set by an instruction that only some threads reach because
//! of it, or if it is loaded from shared memory after a dependent value was stored there. An instruction is decided if its guard
//! depends on such a result, or if a branch that may skip it does.

use super::flow::Graph;
use super::inst::{NONE, Op};
use super::raw::{Decoded, Raw};

/// If the search takes more steps, no instruction counts as decided. Compiled kernels take a few steps for each instruction.
const MOST_STEPS: usize = 1 << 22;

/// Returns for each instruction whether the result of an atomic operation decides if it runs.
pub(super) fn decided(decoded: &Decoded, graph: &Graph) -> Vec<bool> {
    let mut found = Decided {
        values: vec![false; decoded.values.len()],
        instructions: vec![false; decoded.raws.len()],
        branches: vec![false; graph.blocks.len()],
        shared: false,
        changed: true,
        steps: 0,
    };
    let results = decoded.raws.iter().filter(|raw| raw.inst.op == Op::Atom && raw.inst.d != NONE);
    results.for_each(|raw| found.sets(raw));
    if !found.values.contains(&true) {
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
            return vec![false; decoded.raws.len()];
        }
    }
    found.instructions
}

struct Decided {
    /// For each value, whether it depends on a result.
    values: Vec<bool>,
    instructions: Vec<bool>,
    /// For each block, whether the branch at its end depends on a result.
    branches: Vec<bool>,
    /// Whether a dependent value is in shared memory.
    shared: bool,
    /// Whether the current round has found more.
    changed: bool,
    steps: usize,
}

impl Decided {
    fn depends(&self, raw: &Raw) -> bool {
        raw.effect().uses.into_iter().any(|value| self.values[value as usize])
    }

    /// Notes that all values an instruction sets depend on a result.
    fn sets(&mut self, raw: &Raw) {
        for value in raw.effect().defs {
            self.changed |= !std::mem::replace(&mut self.values[value as usize], true);
        }
    }

    fn compute(&mut self, index: usize, raw: &Raw) {
        self.steps += 1;
        self.instructions[index] |= raw.guard.is_some_and(|(value, _)| self.values[value as usize]);
        let loaded = self.shared && matches!(raw.inst.op, Op::LdShared | Op::LdGeneric);
        if !(self.instructions[index] || loaded || self.depends(raw)) {
            return;
        }
        self.sets(raw);
        if matches!(raw.inst.op, Op::StShared | Op::StGeneric) {
            self.changed |= !std::mem::replace(&mut self.shared, true);
        }
    }

    /// If the branch at the end of a block depends on a result, all blocks up to its meeting point are decided.
    fn branch(&mut self, decoded: &Decoded, graph: &Graph, number: usize) {
        let raw = &decoded.raws[graph.blocks[number].end as usize - 1];
        let branches = matches!(raw.inst.op, Op::Bra | Op::Brx | Op::Exit);
        if !branches || self.branches[number] || !self.depends(raw) {
            return;
        }
        self.branches[number] = true;
        self.changed = true;
        let mut seen = vec![false; graph.blocks.len()];
        let mut ahead = graph.blocks[number].next.clone();
        self.steps += seen.len() / 64;
        while let Some(block) = ahead.pop() {
            if block == graph.meeting[number] || std::mem::replace(&mut seen[block as usize], true) {
                continue;
            }
            let block = &graph.blocks[block as usize];
            self.instructions[block.start as usize..block.end as usize].fill(true);
            self.steps += (block.end - block.start) as usize + block.next.len();
            ahead.extend(&block.next);
            if self.steps > MOST_STEPS {
                return;
            }
        }
    }
}
