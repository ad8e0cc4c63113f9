//! Finds the registers that observers follow while a warp runs, and the instructions that matter for them.
//!
//! Followed are registers that some path reads before it sets them, those that a shuffle sets, and those computed from either,
//! until an instruction needs their value. Products of a warpgroup also work on registers while the warp goes on. For these, all
//! instructions that touch them are noted.

use super::code::{Code, Flow, Home, ProductUse, Products, Step};
use super::inst::{Combine, NONE, Op};
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

fn flow(raw: &Raw, code: &Code) -> Flow {
    match raw.inst.op {
        Op::Selp32 | Op::Selp64 => Flow::Select,
        Op::PredAnd => Flow::Both { decides: false },
        Op::PredOr => Flow::Both { decides: true },
        Op::Setp if raw.inst.c != NONE => {
            let detail = &code.details[raw.inst.imm as usize];
            match detail.combine {
                Combine::And => Flow::Compare { decides: detail.negate },
                Combine::Or => Flow::Compare { decides: !detail.negate },
                _ => Flow::Any,
            }
        }
        Op::Shfl => Flow::Shuffle { mode: raw.inst.sub },
        Op::Vote | Op::Match | Op::Redux => Flow::Lanes,
        op if op.computes() => Flow::Any,
        _ => Flow::Decides,
    }
}

/// Fills in which registers are followed, and how. `of` holds the places of values.
pub(super) fn follow(decoded: &mut Decoded, effects: &[Effect], maybe_unset: Vec<u32>, of: &[u32]) {
    let Decoded { raws, values, code } = decoded;
    let name = |value: u32| &values[value as usize].name;
    let mut followed = maybe_unset;
    followed.retain(|&value| values[value as usize].preset.is_none() && !name(value).is_empty());
    code.doubtful = followed.len() as u32;
    // A shuffle may read from a lane that has ended.
    let shuffled = raws.iter().filter(|raw| raw.inst.op == Op::Shfl && raw.inst.d != NONE).map(|raw| raw.inst.d);
    for value in shuffled {
        if !followed.contains(&value) {
            followed.push(value);
        }
    }
    code.maybe_unset = followed.iter().map(|&value| name(value).clone()).collect();
    let flows: Vec<Flow> = raws.iter().map(|raw| flow(raw, code)).collect();
    let mut users = vec![vec![]; values.len()];
    for (index, effect) in effects.iter().enumerate().filter(|(index, _)| flows[*index] != Flow::Decides) {
        effect.uses.iter().for_each(|&value| users[value as usize].push(index));
    }
    let mut number = vec![NONE; values.len()];
    (0u32..).zip(&followed).for_each(|(count, &value)| number[value as usize] = count);
    let mut next = 0;
    while let Some(&value) = followed.get(next) {
        next += 1;
        for &to in users[value as usize].iter().flat_map(|&index: &usize| &effects[index].defs) {
            if number[to as usize] == NONE {
                number[to as usize] = followed.len() as u32;
                followed.push(to);
            }
        }
    }
    code.followed = followed.len() as u32;
    let home_of = |value: u32| home(&values[value as usize], of[value as usize]);
    for ((pc, raw), flow) in (0u32..).zip(&*raws).zip(flows) {
        let number = |value: u32| if value == NONE { NONE } else { number[value as usize] };
        let inst = &raw.inst;
        let mut effect = Raw { guard: None, ..raw.clone() }.effect();
        let values: &[u32] = match flow {
            Flow::Select | Flow::Compare { .. } => &[inst.c],
            Flow::Both { .. } => &[inst.a, inst.b],
            Flow::Shuffle { .. } => &[inst.b, inst.c],
            _ => &[],
        };
        // A product may ignore the old sums. Only its predicate tells whether it does.
        if inst.op == Op::Warpgroup && inst.c != NONE {
            let Effect { uses, defs } = &mut effect;
            uses.retain(|value| !defs.contains(value));
        }
        if !values.is_empty() {
            effect.uses = vec![inst.a, inst.b, inst.c];
        }
        let guard = raw.guard.map(|(value, negated)| (number(value), home_of(value), negated));
        let list = |list: &[u32]| list.iter().map(|&value| number(value)).collect::<Vec<_>>();
        let (mut uses, mut defs) = (list(&effect.uses), list(&effect.defs));
        defs.retain(|&number| number != NONE);
        if values.is_empty() {
            uses.retain(|&number| number != NONE);
        }
        let any = uses.iter().chain(&guard.map(|guard| guard.0)).any(|&number| number != NONE);
        if any || !defs.is_empty() {
            let values = values.iter().map(|&value| home_of(value)).collect();
            code.steps.push(Step { instruction: pc, flow, guard, uses, defs, values });
        }
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
