//! What observers must know about registers: which ones some path reads before it sets them, and how an instruction passes on a value
//! that may not be there. Products of a warpgroup also work on registers while the warp goes on. For these, all instructions that
//! touch them are noted.

use super::code::{Code, Flow, Home, ProductUse, Products};
use super::inst::{Combine, Inst, NONE, Op};
use super::matrix::Product;
use super::raw::{Decoded, Effect, Raw, Value};
use crate::ast::Type;
use std::collections::HashMap;

/// Returns where a warp keeps a value, given its place.
pub(super) fn home(value: &Value, at: u32) -> Home {
    match value.slots() {
        _ if value.kind == Type::Pred => Home::Predicate(at),
        2 => Home::Double(at),
        _ => Home::Word(at),
    }
}

/// Notes the registers that some path reads before it sets them. `of` holds the places of values.
pub(super) fn unset(decoded: &mut Decoded, maybe_unset: Vec<u32>, of: &[u32]) {
    let Decoded { values, code, .. } = decoded;
    let named = maybe_unset.into_iter().map(|value| (value, &values[value as usize]));
    let named = named.filter(|(_, value)| value.preset.is_none() && !value.name.is_empty());
    code.maybe_unset = named.map(|(at, value)| (value.name.clone(), home(value, of[at as usize]))).collect();
}

/// Returns how the result of an instruction depends on operands that may have no value.
pub fn flow(inst: &Inst, code: &Code) -> Flow {
    match inst.op {
        Op::Selp32 | Op::Selp64 => Flow::Select,
        Op::PredAnd => Flow::Both { decides: false },
        Op::PredOr => Flow::Both { decides: true },
        Op::Setp if inst.c != NONE => {
            let detail = &code.details[inst.imm as usize];
            match detail.combine {
                Combine::And => Flow::Compare { decides: detail.negate },
                Combine::Or => Flow::Compare { decides: !detail.negate },
                _ => Flow::Any,
            }
        }
        Op::Shfl => Flow::Shuffle { mode: inst.sub },
        Op::Vote | Op::Match | Op::Redux => Flow::Lanes,
        Op::Mov32 | Op::Mov64 | Op::PredMov => Flow::Moves,
        op if op.computes() => Flow::Any,
        _ => Flow::Decides,
    }
}

/// Returns the registers that warpgroup products use, and the instructions that touch them.
pub(super) fn products(decoded: &Decoded, effects: &[Effect]) -> Products {
    let mut products = Products::default();
    let mut number_of: HashMap<u32, u32> = HashMap::new();
    for raw in decoded.raws.iter().filter(|raw| product(decoded, raw).is_some()) {
        for &(value, _) in raw.more.iter().filter(|(value, _)| decoded.values[*value as usize].preset.is_none()) {
            let next = products.registers.len() as u32;
            if *number_of.entry(value).or_insert(next) == next {
                products.registers.push(decoded.values[value as usize].name.clone());
            }
        }
    }
    if number_of.is_empty() {
        return products;
    }
    for ((instruction, raw), effect) in (0u32..).zip(&decoded.raws).zip(effects) {
        let mut add = |value: u32, how: ProductUse| {
            if let Some(&number) = number_of.get(&value) {
                products.steps.push((instruction, number, how));
            }
        };
        if let Some(product) = product(decoded, raw) {
            let results = product.result().registers as usize;
            let factors = if product.in_registers { product.left().registers as usize } else { 0 };
            let shape = product.columns << 8 | product.kind as u32;
            raw.more[..results].iter().for_each(|&(value, _)| add(value, ProductUse::Sum { shape }));
            raw.more[results..results + factors].iter().for_each(|&(value, _)| add(value, ProductUse::Factor));
            continue;
        }
        // A guarded write counts as a read when slots are assigned, but it reads nothing.
        let read = effect.uses.iter().filter(|value| !effect.defs.contains(value));
        let moves = raw.inst.op == Op::Mov32;
        read.for_each(|&value| add(value, ProductUse::Access { writes: false, moves }));
        effect.defs.iter().for_each(|&value| add(value, ProductUse::Access { writes: true, moves }));
    }
    products
}

fn product<'a>(decoded: &'a Decoded, raw: &Raw) -> Option<&'a Product> {
    if raw.inst.op == Op::Warpgroup { decoded.code.matrices[raw.inst.imm as usize].op.product() } else { None }
}
