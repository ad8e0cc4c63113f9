//! The registers that products of a warpgroup work on while the warp goes on, and the instructions that touch them.

use super::code::{ProductUse, Products};
use super::inst::Op;
use super::matrix::Product;
use super::raw::{Decoded, Effect, Raw};
use std::collections::HashMap;

/// What observers must know of them.
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
        // A guarded write counts as a read when slots are given out, but it reads nothing.
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
