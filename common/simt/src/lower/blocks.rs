//! Whether threads and blocks of a kernel may learn of each other within a launch.

use super::code::{Code, Start, Traffic};
use super::inst::{Atomic, AtomicOp, Inst, NONE, Op};
use super::matrix::MatrixOp;
use super::origins::{Origin, origins, sources};
use super::preset::Preset;
use super::raw::{Decoded, Raw};
use crate::ast::Space;
use std::collections::HashSet;

/// Whether a thread learns from global memory what another one does meanwhile: by a strong load, or by an atomic operation
/// whose result it uses.
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

/// Whether a thread may wait in a loop for what another one writes.
pub(super) fn polls(Decoded { raws, code, .. }: &Decoded) -> bool {
    raws.iter().any(|raw| poll(raw, &code.atomics) || raw.inst.op == Op::Atom && raw.inst.d != NONE)
}

/// Whether an instruction looks like a part of such a loop: a strong load, or an atomic operation that takes locks or only reads.
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

/// Whether another thread may wait for what a store writes. Of an atomic operation only its execution tells.
pub(super) fn tells(Raw { inst, order, .. }: &Raw) -> bool {
    order.is_strong() && matches!(inst.op, Op::StGlobal | Op::StGeneric | Op::StShared)
}

/// Where a kernel's plain loads and its writes of global memory start.
pub(super) fn traffic(decoded: &Decoded) -> Traffic {
    let base = |preset| match preset {
        Preset::Param { offset, bytes: 8, .. } => Some(Start::Param(offset)),
        Preset::Variable { number, .. } => Some(Start::Variable(number)),
        _ => None,
    };
    let mut start = sources(decoded, base);
    // What comes from memory may point anywhere.
    for Inst { op, d, b, c, e, .. } in decoded.raws.iter().map(|raw| raw.inst) {
        if matches!(op, Op::LdGlobal | Op::LdGeneric | Op::LdShared | Op::LdLocal | Op::LdParam) {
            [d, b, c, e].into_iter().filter(|&to| to != NONE).for_each(|to| start[to as usize] = Origin::Several);
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
