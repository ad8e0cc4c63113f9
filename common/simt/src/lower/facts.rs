//! Facts about instructions that messages and observers ask for: where they stand, how they work, on what array.

use super::code::{Code, Facts, Merged, Role};
use super::flow::Block;
use super::fragment::MatrixOp;
use super::inst::{Function, Inst, NONE, Op, Shape};
use super::merging::merged;
use super::preset::Preset;
use super::raw::{Decoded, Raw};
use crate::ast::Space;
use std::collections::HashSet;

/// The facts of every instruction, in order.
pub(super) fn facts(decoded: &Decoded, blocks: &[Block]) -> Vec<Facts> {
    let facts = |((raw, shared_origin), merged): ((&Raw, Option<u32>), Merged)| Facts {
        position: raw.position,
        shared_origin,
        role: match raw.inst.op {
            Op::Atom => Role::Atomic,
            Op::CopyAsync => Role::Copy,
            Op::Bar | Op::BarRed if raw.inst.b != NONE => Role::CountedBarrier,
            _ => Role::Plain,
        },
        order: raw.order,
        guarded: raw.guard.is_some(),
        flop: flop_of(&raw.inst, &decoded.code),
        merged,
    };
    decoded.raws.iter().zip(origins(decoded)).zip(merged(decoded, blocks)).map(facts).collect()
}

/// Whether some access to memory is narrower than a word.
pub(super) fn narrow(raws: &[Raw]) -> bool {
    let memory =
        |op| matches!(op, Op::LdGlobal | Op::StGlobal | Op::LdShared | Op::StShared | Op::LdGeneric | Op::StGeneric);
    raws.iter().any(|raw| memory(raw.inst.op) && Shape::unpack(raw.inst.sub).bytes < 4)
}

/// Whether a thread learns from global memory what another one does meanwhile: by a strong load, or by an atomic operation
/// whose result it uses.
pub(super) fn communicates(Decoded { raws, code, .. }: &Decoded) -> bool {
    let global = |inst: &Inst| code.atomics[inst.imm as usize].space != Space::Shared;
    let results: HashSet<u32> =
        raws.iter().filter(|raw| raw.inst.op == Op::Atom && global(&raw.inst)).map(|raw| raw.inst.d).collect();
    let uses = |raw: &Raw| {
        let Inst { op, d, a, b, c, e, .. } = raw.inst;
        let read = [d, a, b, c, e].into_iter().zip(op.writes()).filter(|(_, written)| !written).map(|(value, _)| value);
        let mut all = read.chain(raw.guard.map(|guard| guard.0)).filter(|&value| value != NONE);
        all.any(|value| results.contains(&value))
    };
    let strong = |raw: &Raw| raw.order.strong && matches!(raw.inst.op, Op::LdGlobal | Op::LdGeneric);
    raws.iter().any(|raw| strong(raw) || !results.is_empty() && uses(raw))
}

/// What an address was computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Nothing,
    Array(u32),
    Several,
}

impl Origin {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, other) => other,
            (this, Self::Nothing) => this,
            (this, other) if this == other => this,
            _ => Self::Several,
        }
    }
}

/// For each instruction the shared array that its shared address comes from, when it is one: sums and copies of an
/// array's address stay in the array.
fn origins(decoded: &Decoded) -> Vec<Option<u32>> {
    let mut origins: Vec<Origin> = decoded
        .values
        .iter()
        .map(|value| match value.preset {
            Some(Preset::Shared { array, .. }) => Origin::Array(array),
            _ => Origin::Nothing,
        })
        .collect();
    // By value: where it goes to. What an array's address reaches is followed from there.
    let mut goes_to: Vec<Vec<u32>> = vec![vec![]; origins.len()];
    for raw in &decoded.raws {
        let inst = &raw.inst;
        let sources = match inst.op {
            Op::Add32 | Op::Add64 | Op::Or32 | Op::Or64 | Op::Selp32 | Op::Selp64 => [inst.a, inst.b],
            Op::Sub32 | Op::Sub64 | Op::Mov32 | Op::Mov64 | Op::Truncate | Op::ZeroExtend | Op::SignExtend => {
                [inst.a, NONE]
            }
            Op::Mad32 | Op::Mad64 | Op::MadWideS32 | Op::MadWideU32 => [inst.c, NONE],
            Op::Generic => match decoded.code.details[inst.imm as usize].function {
                Function::Offset | Function::Cvt => [inst.a, NONE],
                _ => continue,
            },
            _ => continue,
        };
        for source in sources.into_iter().filter(|&source| source != NONE && inst.d != NONE) {
            goes_to[source as usize].push(inst.d);
        }
    }
    let mut waiting: Vec<usize> = (0..origins.len()).filter(|&value| origins[value] != Origin::Nothing).collect();
    while let Some(value) = waiting.pop() {
        for &to in &goes_to[value] {
            let joined = origins[to as usize].join(origins[value]);
            if joined != origins[to as usize] {
                origins[to as usize] = joined;
                waiting.push(to as usize);
            }
        }
    }
    let of = |raw: &Raw| match raw.inst.op {
        Op::LdShared | Op::StShared | Op::Atom | Op::CopyAsync | Op::LdGeneric | Op::StGeneric | Op::Matrix
            if raw.inst.a != NONE =>
        {
            match origins[raw.inst.a as usize] {
                Origin::Array(array) => Some(array),
                _ => None,
            }
        }
        _ => None,
    };
    decoded.raws.iter().map(of).collect()
}

/// Floating-point operations of an instruction on a lane, and whether it is a multiply-add in single precision.
fn flop_of(inst: &Inst, code: &Code) -> (u16, bool) {
    match inst.op {
        Op::Generic => {
            let function = code.details[inst.imm as usize].function;
            (function.flops().into(), function == Function::FmaSingle)
        }
        Op::Matrix => match &code.matrices[inst.imm as usize].op {
            // The lanes share the work.
            MatrixOp::Multiply([d, a, ..]) if !d.kind.is_integer() => {
                (2 * (d.rows * d.columns * a.columns / 32) as u16, false)
            }
            _ => (0, false),
        },
        op => (op.flops().into(), op == Op::FmaF32),
    }
}
