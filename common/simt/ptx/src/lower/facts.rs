//! Facts about a kernel for messages and observers: what kind of instructions it has and where they are in the source, whether
//! threads and blocks may learn of each other during a launch, and which array an address was computed from. Sums and copies
//! of an address keep its origin.

use super::code::{Code, Facts, Merged, Role, Start, Traffic};
use super::decided::decided;
use super::flow::Graph;
use super::inst::{Atomic, AtomicOp, Function, Inst, NONE, Op, Preset, Shape};
use super::matrix::MatrixOp;
use super::merging::merged;
use super::raw::{Decoded, Raw};
use super::speculated::{speculated, unread};
use crate::ast::Type;
use crate::place::Space;
use std::collections::HashSet;

pub(super) fn facts(decoded: &Decoded, graph: &Graph) -> Vec<Facts> {
    let mut speculated = speculated(decoded, graph).into_iter();
    let mut unread = unread(decoded).into_iter();
    let facts = |(((raw, shared_origin), merged), (decides, decided)): (((&Raw, Option<u32>), Merged), _)| Facts {
        speculated: speculated.next().unwrap_or(false),
        unread: unread.next().unwrap_or(0),
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
        decides,
        decided,
        flop: flop_of(&raw.inst, &decoded.code),
        kinds: Facts::kinds_of(&raw.inst, |value| match &decoded.values[value as usize] {
            value if value.kind == Type::Pred => 1,
            value => 1 + value.slots() as u16,
        }),
        merged: if raw.order.barrier { Merged::Joins } else { merged },
    };
    let all = decoded.raws.iter().zip(shared_origins(decoded)).zip(merged(decoded, &graph.blocks));
    all.zip(decided(decoded, graph)).map(facts).collect()
}

pub(super) fn narrow(raws: &[Raw]) -> bool {
    let memory =
        |op| matches!(op, Op::LdGlobal | Op::StGlobal | Op::LdShared | Op::StShared | Op::LdGeneric | Op::StGeneric);
    raws.iter().any(|raw| memory(raw.inst.op) && Shape::unpack(raw.inst.sub).bytes < 4)
}

/// Returns for each instruction the shared array that its address was computed from, if there is only one.
fn shared_origins(decoded: &Decoded) -> impl Iterator<Item = Option<u32>> {
    let array = |preset| if let Preset::Shared { array, .. } = preset { Some(array) } else { None };
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

/// Returns an instruction's floating-point operations per lane, and whether they are one multiply-add in single precision.
fn flop_of(inst: &Inst, code: &Code) -> (u16, bool) {
    match inst.op {
        Op::Generic => {
            let function = code.details[inst.imm as usize].function;
            (function.flops().into(), function == Function::FmaSingle)
        }
        Op::Matrix | Op::Warpgroup => match &code.matrices[inst.imm as usize].op {
            // The lanes of the warp share the work.
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

/// Whether a thread may see in global memory what another thread does during the launch: by a strong load, or by an atomic
/// operation whose result is used.
pub(super) fn communicates(Decoded { raws, code, .. }: &Decoded) -> bool {
    let global = |inst: &Inst| code.atomics[inst.imm as usize].space != Space::Shared;
    let results: HashSet<u32> =
        raws.iter().filter(|raw| raw.inst.op == Op::Atom && global(&raw.inst)).map(|raw| raw.inst.d).collect();
    let uses = |raw: &Raw| {
        let read = raw.inst.values().filter(|&(_, written)| !written).map(|(value, _)| value);
        read.chain(raw.guard.map(|guard| guard.0)).any(|value| results.contains(&value))
    };
    let strong = |raw: &Raw| raw.order.is_strong() && matches!(raw.inst.op, Op::LdGlobal | Op::LdGeneric);
    raws.iter().any(|raw| strong(raw) || !results.is_empty() && uses(raw))
}

/// Whether a thread may wait in a loop for what another thread writes.
pub(super) fn polls(Decoded { raws, code, .. }: &Decoded) -> bool {
    raws.iter().any(|raw| poll(raw, &code.atomics) || raw.inst.op == Op::Atom && raw.inst.d != NONE)
}

/// Whether an instruction may be part of such a loop: a strong load, or an atomic operation that takes locks or only reads.
pub(super) fn poll(Raw { inst, order, .. }: &Raw, atomics: &[Atomic]) -> bool {
    match inst.op {
        Op::LdGlobal | Op::LdGeneric | Op::LdShared => order.is_strong(),
        Op::Atom => {
            let Atomic { op, leaves, .. } = atomics[inst.imm as usize];
            inst.d != NONE && (leaves || matches!(op, AtomicOp::Cas | AtomicOp::Exch))
        }
        _ => false,
    }
}

/// Whether another thread may wait for what a store writes. For an atomic operation, only execution can tell.
pub(super) fn tells(Raw { inst, order, .. }: &Raw) -> bool {
    order.is_strong() && matches!(inst.op, Op::StGlobal | Op::StGeneric | Op::StShared)
}

/// Returns the arrays that a kernel's loads and its writes of global memory access.
pub(super) fn traffic(decoded: &Decoded) -> Traffic {
    let base = |preset| match preset {
        Preset::Param { offset, bytes: 8, .. } => Some(Start::Param(offset)),
        Preset::Variable { number, .. } => Some(Start::Variable(number)),
        _ => None,
    };
    let mut start = sources(decoded, base);
    // A pointer that is loaded from memory may point anywhere.
    for inst in decoded.raws.iter().map(|raw| raw.inst) {
        if matches!(inst.op, Op::LdGlobal | Op::LdGeneric | Op::LdShared | Op::LdLocal | Op::LdParam) {
            inst.data().into_iter().filter(|&to| to != NONE).for_each(|to| start[to as usize] = Origin::Several);
        }
    }
    let origins = origins(decoded, start);
    let mut traffic = Traffic::default();
    let Code { atomics, matrices, .. } = &decoded.code;
    for (pc, Inst { op, a, b, imm, .. }) in (0..).zip(decoded.raws.iter().map(|raw| raw.inst)) {
        let start = |address: u32| origins[address as usize].only();
        let moved = |store: bool| match matrices[imm as usize].op {
            MatrixOp::Move { space, store: stores, .. } => space != Space::Shared && stores == store,
            _ => false,
        };
        match op {
            Op::LdGlobal | Op::LdGeneric => traffic.loads.push((pc, start(a))),
            Op::CopyAsync => traffic.loads.push((pc, start(b))),
            Op::Matrix if moved(false) => traffic.loads.push((pc, start(a))),
            Op::Atom if atomics[imm as usize].space == Space::Shared => {}
            Op::StGlobal | Op::StGeneric | Op::Atom => _ = traffic.writes.insert(start(a)),
            Op::Matrix if moved(true) => _ = traffic.writes.insert(start(a)),
            _ => {}
        }
    }
    traffic
}

/// The source that a value was computed from. What counts as a source depends on the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin<T> {
    Nothing,
    Of(T),
    Several,
}

impl<T: Copy + PartialEq> Origin<T> {
    /// Returns the source if there is only one.
    pub fn only(self) -> Option<T> {
        if let Self::Of(source) = self { Some(source) } else { None }
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, other) => other,
            (this, Self::Nothing) => this,
            (this, other) if this == other => this,
            _ => Self::Several,
        }
    }
}

/// Returns for each value its origin if it is a source itself. `source` says which presets are sources.
pub(super) fn sources<T>(decoded: &Decoded, source: impl Fn(Preset) -> Option<T>) -> Vec<Origin<T>> {
    let origin = |preset: Option<Preset>| preset.and_then(&source).map_or(Origin::Nothing, Origin::Of);
    decoded.values.iter().map(|value| origin(value.preset)).collect()
}

/// Returns the origin of every value, given those of the sources.
pub(super) fn origins<T: Copy + PartialEq>(decoded: &Decoded, mut origins: Vec<Origin<T>>) -> Vec<Origin<T>> {
    // Pairs of a value and one that is computed from it.
    let mut steps: Vec<(u32, u32)> = vec![];
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
        steps.extend(sources.into_iter().filter(|&source| source != NONE).map(|source| (source, inst.d)));
    }
    steps.sort_unstable();
    // This ends, because a value changes at most twice: from nothing to one source, and from one to several.
    let mut changed: Vec<u32> = (0..origins.len() as u32).filter(|&v| origins[v as usize] != Origin::Nothing).collect();
    while let Some(value) = changed.pop() {
        let first = steps.partition_point(|step| step.0 < value);
        for &(_, to) in steps[first..].iter().take_while(|step| step.0 == value) {
            let joined = origins[to as usize].join(origins[value as usize]);
            if joined != origins[to as usize] {
                origins[to as usize] = joined;
                changed.push(to);
            }
        }
    }
    origins
}
