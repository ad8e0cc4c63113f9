//! Fusion: shared loads and multiply-adds that follow each other become one run, which execution does in one go.

use super::inst::{BASES, Base, Micro, NONE, Op, Run, Shape, SharedLoad};
use super::raw::Raw;

/// The run of shared loads and multiply-adds that `raws` starts with, if it is worth one.
pub(super) fn run(raws: &[Raw]) -> Option<Run> {
    let mut run = Run { bases: vec![], steps: vec![], loads: vec![] };
    for raw in raws {
        let inst = &raw.inst;
        if raw.guard.is_some() {
            break;
        }
        let written = match inst.op {
            Op::FmaF32 | Op::Mad32 => [inst.d, NONE, NONE, NONE],
            Op::LdShared => [inst.d, inst.b, inst.c, inst.e],
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
