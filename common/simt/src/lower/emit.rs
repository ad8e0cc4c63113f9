//! From decoded instructions to the code that is executed: places for values, entries of blocks for labels.

use super::code::{BasicBlock, Code};
use super::facts::{facts, narrow};
use super::flow::{Graph, end_early};
use super::fusion;
use super::inst::{GUARD_NEGATED, Inst, NONE, Op, Run};
use super::places::Places;
use super::raw::{Decoded, Raw};
use crate::error::Error;

/// Finishes a kernel.
pub(super) fn emit(mut decoded: Decoded) -> Result<Code, Error> {
    end_early(&mut decoded.raws);
    let graph = Graph::new(&decoded.raws);
    let places = Places::new(&decoded, &graph.blocks)?;
    let facts = facts(&decoded);
    let narrow = narrow(&decoded.raws);
    for (pc, raw) in (0u32..).zip(&mut decoded.raws) {
        place(raw, &places.of);
        raw.inst.pc = pc;
    }
    let Stream { insts, runs, tables } = Stream::new(&decoded.raws, &graph);
    Ok(Code {
        insts,
        runs,
        details: decoded.details,
        atomics: decoded.atomics,
        copies: decoded.copies,
        tables,
        facts,
        blocks: graph.blocks.iter().map(|block| BasicBlock { start: block.start, end: block.end }).collect(),
        presets: places.presets,
        planes: places.planes,
        preset_planes: places.preset_planes,
        predicates: places.predicates,
        static_shared_bytes: decoded.shared_bytes,
        dynamic_shared_offset: decoded.dynamic_offset,
        shared_arrays: decoded.shared,
        local_bytes: decoded.local_bytes,
        param_bytes: decoded.param_bytes,
        variables: decoded.variables,
        maybe_unset: places.unset.names,
        unset_steps: places.unset.steps,
        narrow,
    })
}

/// Puts places where the instruction has numbers of values.
fn place(raw: &mut Raw, of: &[u32]) {
    let inst = &mut raw.inst;
    let fields = [&mut inst.d, &mut inst.a, &mut inst.b, &mut inst.c, &mut inst.e];
    for (bit, field) in fields.into_iter().enumerate() {
        if raw.fields >> bit & 1 != 0 {
            *field = of[*field as usize];
        }
    }
    if let Some((value, negated)) = raw.guard {
        inst.guard = of[value as usize] as u16 | if negated { GUARD_NEGATED } else { 0 };
    }
}

/// The instructions in the order of execution, and the tables they name by number.
struct Stream {
    insts: Vec<Inst>,
    runs: Vec<Run>,
    tables: Vec<Vec<u32>>,
}

impl Stream {
    fn new(raws: &[Raw], graph: &Graph) -> Self {
        let Graph { blocks, block_of, meeting } = graph;
        let mut insts = Vec::with_capacity(raws.len() + blocks.len());
        let mut entry_of = vec![0; blocks.len()];
        let mut runs = vec![];
        let mut branches = vec![];
        for (number, block) in blocks.iter().enumerate() {
            entry_of[number] = insts.len() as u32;
            let mut enter = Inst::new(Op::Enter);
            enter.d = number as u32;
            enter.imm = (block.end - block.start) as i32;
            enter.pc = block.start;
            insts.push(enter);
            let mut index = block.start as usize;
            while index < block.end as usize {
                if let Some(run) = fusion::run(&raws[index..block.end as usize]) {
                    let count = run.steps.len();
                    let mut inst = Inst::new(Op::Run);
                    (inst.d, inst.imm, inst.pc) = (runs.len() as u32, count as i32, raws[index].inst.pc);
                    insts.push(inst);
                    insts.extend(raws[index..index + count].iter().map(|raw| raw.inst));
                    runs.push(run);
                    index += count;
                    continue;
                }
                if !raws[index].targets.is_empty() {
                    branches.push((insts.len(), index));
                }
                insts.push(raws[index].inst);
                index += 1;
            }
        }
        let mut tables = vec![];
        for (at, index) in branches {
            let target = |target: u32| entry_of[block_of[target as usize] as usize];
            let meets = meeting[block_of[index] as usize];
            let inst = &mut insts[at];
            inst.e = if meets == NONE { NONE } else { entry_of[meets as usize] };
            let targets = &raws[index].targets;
            if inst.op == Op::Brx {
                inst.imm = tables.len() as i32;
                tables.push(targets.iter().map(|&t| target(t)).collect());
            } else {
                inst.d = target(targets[0]);
            }
        }
        Self { insts, runs, tables }
    }
}
