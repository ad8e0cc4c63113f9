//! From decoded instructions to the code that is executed: places for values, entries of blocks for labels.

use super::blocks::{communicates, poll, polls, tells, traffic};
use super::code::Code;
use super::facts::{facts, narrow};
use super::flow::{Graph, end_early};
use super::fusion;
use super::inst::{GUARD_NEGATED, Inst, NONE, Op};
use super::places::places;
use super::raw::{Decoded, Raw};
use crate::error::Error;

/// Finishes a kernel.
pub(super) fn emit(mut decoded: Decoded) -> Result<Code, Error> {
    end_early(&mut decoded.raws);
    let graph = Graph::new(&decoded.raws)?;
    let of = places(&mut decoded, &graph.blocks)?;
    decoded.code.facts = facts(&decoded, &graph);
    decoded.code.narrow = narrow(&decoded.raws);
    decoded.code.communicates = communicates(&decoded);
    decoded.code.polls = polls(&decoded);
    decoded.code.traffic = traffic(&decoded);
    decoded.code.blocks = graph.blocks.iter().map(|block| block.start..block.end).collect();
    for (pc, raw) in (0u32..).zip(&mut decoded.raws) {
        place(raw, &of);
        if matches!(raw.inst.op, Op::Matrix | Op::Warpgroup) {
            let places = raw.more.iter().map(|&(value, _)| of[value as usize]);
            decoded.code.matrices[raw.inst.imm as usize].registers = places.collect();
        }
        raw.inst.pc = pc;
    }
    stream(&decoded.raws, &graph, &mut decoded.code);
    Ok(decoded.code)
}

/// Puts places where the instruction has numbers of values.
fn place(raw: &mut Raw, of: &[u32]) {
    let Inst { d, a, b, c, e, .. } = &mut raw.inst;
    for field in [d, a, b, c, e].into_iter().filter(|field| **field != NONE) {
        *field = of[*field as usize];
    }
    if let Some((value, negated)) = raw.guard {
        raw.inst.guard = of[value as usize] as u16 | if negated { GUARD_NEGATED } else { 0 };
    }
}

/// Instructions by which a poll shortens the turn of its warp: who polls waits for another's turn.
const POLL: u32 = 2048;

/// Puts the instructions in the order of execution, with the runs and the tables they name by number.
fn stream(raws: &[Raw], Graph { blocks, block_of, meeting }: &Graph, code: &mut Code) {
    let Code { insts, runs, tables, steps, .. } = code;
    let mut asks = steps.iter().filter(|step| step.asks()).map(|step| step.instruction as usize).peekable();
    insts.reserve(raws.len() + blocks.len());
    let mut entry_of = vec![0; blocks.len()];
    let mut branches = vec![];
    for (number, block) in blocks.iter().enumerate() {
        entry_of[number] = insts.len() as u32;
        let (d, imm) = (number as u32, (block.end - block.start) as i32);
        let polls = raws[block.start as usize..block.end as usize].iter().any(|raw| poll(raw, &code.atomics));
        let c = if polls { POLL } else { 0 };
        insts.push(Inst { c, d, imm, pc: block.start, ..Inst::new(Op::Enter) });
        let mut index = block.start as usize;
        while index < block.end as usize {
            if let Some(run) = fusion::run(&raws[index..block.end as usize]) {
                let count = run.steps.len();
                let (d, pc) = (runs.len() as u32, raws[index].inst.pc);
                insts.push(Inst { d, imm: count as i32, pc, ..Inst::new(Op::Run) });
                insts.extend(raws[index..index + count].iter().map(|raw| raw.inst));
                runs.push(run);
                index += count;
                continue;
            }
            if asks.next_if_eq(&index).is_some() {
                insts.push(Inst { pc: index as u32, ..Inst::new(Op::Follow) });
            }
            if !raws[index].targets.is_empty() {
                branches.push((insts.len(), index));
            }
            insts.push(raws[index].inst);
            let store = tells(&raws[index]);
            if code.polls && (store || raws[index].inst.op == Op::Atom) {
                insts.push(Inst { imm: store.into(), pc: index as u32, ..Inst::new(Op::Tell) });
            }
            index += 1;
        }
    }
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
}
