//! Turns decoded instructions into the code that is executed: values get places, labels become entries of blocks, and consecutive
//! shared loads and multiply-adds become one run, which is executed in one go.

use super::code::Code;
use super::facts::{communicates, facts, narrow, poll, polls, tells, traffic};
use super::flow::{Block, Graph, end_early};
use super::inst::{BASES, Base, GUARD_NEGATED, Inst, Micro, NONE, Op, Run, Shape, SharedLoad};
use super::places::places;
use super::raw::{Decoded, Raw};
use super::speculated::loops;
use super::ways::ways;
use crate::error::Error;

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
    decoded.code.loops = loops(&graph);
    decoded.code.ways = ways(&decoded.raws, &graph);
    let leaves = |(block, own): (&Block, &u32)| {
        block.exits || block.next.iter().any(|&next| decoded.code.loops[next as usize] != *own)
    };
    decoded.code.leave = graph.blocks.iter().zip(&decoded.code.loops).map(leaves).collect();
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

/// Replaces the numbers of values in an instruction by their places.
fn place(raw: &mut Raw, of: &[u32]) {
    let Inst { d, a, b, c, e, .. } = &mut raw.inst;
    for field in [d, a, b, c, e].into_iter().filter(|field| **field != NONE) {
        *field = of[*field as usize];
    }
    if let Some((value, negated)) = raw.guard {
        raw.inst.guard = of[value as usize] as u16 | if negated { GUARD_NEGATED } else { 0 };
    }
}

/// How many instructions a poll takes off the turn of its warp, because a warp that polls waits for another warp's turn.
const POLL: u32 = 2048;

/// Puts the instructions into the order of execution, and fills the runs and tables that they refer to by number.
fn stream(raws: &[Raw], Graph { blocks, block_of, meeting }: &Graph, code: &mut Code) {
    let Code { insts, runs, tables, .. } = code;
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
            if let Some(run) = run(&raws[index..block.end as usize]) {
                let count = run.steps.len();
                let (d, pc) = (runs.len() as u32, raws[index].inst.pc);
                insts.push(Inst { d, imm: count as i32, pc, ..Inst::new(Op::Run) });
                insts.extend(raws[index..index + count].iter().map(|raw| raw.inst));
                runs.push(run);
                index += count;
                continue;
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

/// Returns the run of shared loads and multiply-adds at the start of `raws`, if there are at least two.
pub(super) fn run(raws: &[Raw]) -> Option<Run> {
    let mut run = Run { bases: vec![], steps: vec![], loads: vec![] };
    for raw in raws {
        let inst = &raw.inst;
        if raw.guard.is_some() {
            break;
        }
        let written = match inst.op {
            Op::FmaF32 | Op::Mad32 => [inst.d, NONE, NONE, NONE],
            Op::LdShared => inst.data(),
            _ => break,
        };
        let mut base = None;
        if inst.op == Op::LdShared {
            let shape = Shape::unpack(inst.sub);
            let bytes = shape.bytes * shape.count;
            let end = inst.imm.checked_add(bytes as i32);
            let (Some(end), 4, false, 0) = (end, shape.bytes, shape.wide, inst.imm % bytes as i32) else { break };
            let known = run.bases.iter().position(|base| (base.register, base.wide) == (inst.a, shape.wide_address));
            let number = known.unwrap_or(run.bases.len());
            if number == BASES {
                break;
            }
            base = Some((number, shape, end, bytes));
        }
        // A load that writes its own or another load's address register ends the run before it.
        let register = base.map(|(_, shape, ..)| (inst.a, shape.wide_address));
        let bases = run.bases.iter().map(|base| (base.register, base.wide)).chain(register);
        let overlaps = |(start, wide): (u32, bool)| {
            let end = start + if wide { 64 } else { 32 };
            written.iter().any(|&to| to != NONE && to + 32 > start && to < end)
        };
        if bases.into_iter().any(overlaps) {
            break;
        }
        let Some((number, shape, end, bytes)) = base else {
            let operands = [inst.d, inst.a, inst.b, inst.c];
            run.steps.push(if inst.op == Op::Mad32 { Micro::Mad(operands) } else { Micro::Fma(operands) });
            continue;
        };
        if number == run.bases.len() {
            run.bases.push(Base { register: inst.a, wide: shape.wide_address, low: inst.imm, high: end, align: bytes });
        }
        let used = &mut run.bases[number];
        used.low = used.low.min(inst.imm);
        used.high = used.high.max(end);
        used.align = used.align.max(bytes);
        let (base, offset) = (number as u32, inst.imm / 4);
        run.loads.push(SharedLoad { instruction: inst.pc, base, offset: inst.imm, bytes });
        run.steps.push(if shape.count == 1 && inst.d != NONE {
            Micro::Load1 { to: inst.d, base, offset }
        } else {
            Micro::LoadN { to: written, base, offset }
        });
    }
    (run.steps.len() > 1).then_some(run)
}
