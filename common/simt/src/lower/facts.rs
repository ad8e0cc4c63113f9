//! Facts about instructions that messages and observers ask for: where they stand, how they work, on what array.

use super::code::{Code, Facts, Merged, Role};
use super::decided::decided;
use super::flow::Graph;
use super::inst::{AtomicOp, Function, Inst, NONE, Op, Shape};
use super::matrix::MatrixOp;
use super::merging::merged;
use super::origins::{origins, sources};
use super::preset::Preset;
use super::raw::{Decoded, Raw};

/// The facts of every instruction, in order.
pub(super) fn facts(decoded: &Decoded, graph: &Graph) -> Vec<Facts> {
    let facts = |(((raw, shared_origin), merged), decided): (((&Raw, Option<u32>), Merged), bool)| Facts {
        position: raw.position,
        shared_origin,
        role: match raw.inst.op {
            Op::Atom if decoded.code.atomics[raw.inst.imm as usize].op == AtomicOp::Exch => Role::Exchange,
            Op::Atom => Role::Atomic,
            Op::CopyAsync if decoded.code.copies[raw.inst.imm as usize].bulk.is_some() => Role::BulkCopy,
            Op::CopyAsync => Role::Copy,
            Op::Bar | Op::BarRed if raw.inst.b != NONE => Role::CountedBarrier,
            _ => Role::Plain,
        },
        order: raw.order,
        guarded: raw.guard.is_some(),
        decided,
        flop: flop_of(&raw.inst, &decoded.code),
        merged: if raw.order.barrier { Merged::Joins } else { merged },
    };
    let all = decoded.raws.iter().zip(shared_origins(decoded)).zip(merged(decoded, &graph.blocks));
    all.zip(decided(decoded, graph)).map(facts).collect()
}

/// Whether some access to memory is narrower than a word.
pub(super) fn narrow(raws: &[Raw]) -> bool {
    let memory =
        |op| matches!(op, Op::LdGlobal | Op::StGlobal | Op::LdShared | Op::StShared | Op::LdGeneric | Op::StGeneric);
    raws.iter().any(|raw| memory(raw.inst.op) && Shape::unpack(raw.inst.sub).bytes < 4)
}

/// For each instruction the shared array that its shared address comes from, when it is one.
fn shared_origins(decoded: &Decoded) -> impl Iterator<Item = Option<u32>> {
    let array = |preset| match preset {
        Preset::Shared { array, .. } => Some(array),
        _ => None,
    };
    let origins = origins(decoded, sources(decoded, array));
    decoded.raws.iter().map(move |raw| match raw.inst.op {
        Op::LdShared | Op::StShared | Op::Atom | Op::CopyAsync | Op::LdGeneric | Op::StGeneric | Op::Matrix
            if raw.inst.a != NONE =>
        {
            origins[raw.inst.a as usize].only()
        }
        _ => None,
    })
}

/// Floating-point operations of an instruction on a lane, and whether it is a multiply-add in single precision.
fn flop_of(inst: &Inst, code: &Code) -> (u16, bool) {
    match inst.op {
        Op::Generic => {
            let function = code.details[inst.imm as usize].function;
            (function.flops().into(), function == Function::FmaSingle)
        }
        Op::Matrix | Op::Warpgroup => match &code.matrices[inst.imm as usize].op {
            // The lanes share the work.
            MatrixOp::Multiply([d, a, ..], _) if !d.kind.is_integer() => {
                (2 * (d.rows * d.columns * a.columns / 32) as u16, false)
            }
            op => {
                let product = op.product().filter(|product| !product.sum.is_integer());
                (product.map_or(0, |product| (product.columns * product.length()) as u16), false)
            }
        },
        op => (op.flops().into(), op == Op::FmaF32),
    }
}
