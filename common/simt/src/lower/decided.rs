//! Which instructions run only because of what an atomic operation has given back, as in "who counts to the end resets the
//! counter".
//!
//! A value depends on it if it is computed from the result, if it is set where only some threads come because of the result, or if
//! it is loaded from shared memory and a value that depends has been stored there. An instruction is decided if its guard depends,
//! or a branch that leads to it or past it.

use super::flow::Graph;
use super::inst::{NONE, Op};
use super::raw::{Decoded, Raw};

/// Steps after which nothing counts as decided. Compiled kernels take a few for each instruction.
const MOST_STEPS: usize = 1 << 22;

/// For each instruction, whether it is decided by the result of an atomic operation.
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
    /// By value, whether it depends.
    values: Vec<bool>,
    instructions: Vec<bool>,
    /// By block, whether its branch depends.
    branches: Vec<bool>,
    /// A value that depends is in shared memory.
    shared: bool,
    /// The last round has found more.
    changed: bool,
    steps: usize,
}

impl Decided {
    fn depends(&self, raw: &Raw) -> bool {
        raw.effect().uses.into_iter().any(|value| self.values[value as usize])
    }

    /// What an instruction sets depends.
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

    /// If the branch at the end of a block depends, all blocks up to where its ways meet are decided.
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
