//! A place for every value: presets first, then the registers that live at a time, and predicates by themselves.

use super::allocate::liveness;
use super::code::Write;
use super::flow::Block;
use super::follow::{follow, home, products};
use super::inst::{GUARD_NEGATED, NONE};
use super::raw::{Decoded, Effect, Raw, Value};
use crate::ast::Type;
use crate::error::Error;

/// Registers and constants of a thread, in words: many times what a GPU has, and 128 MiB for a block of 1,024 threads.
const MOST_PLANES: u32 = 1 << 15;

/// The place of each value: the offset of a register in words, or the number of a predicate; [`NONE`] for a value nobody
/// uses. What execution must know of them is set in the code.
pub(super) fn places(decoded: &mut Decoded, blocks: &[Block]) -> Result<Vec<u32>, Error> {
    let effects: Vec<Effect> = decoded.raws.iter().map(Raw::effect).collect();
    decoded.code.products = products(decoded, &effects);
    let Decoded { values, code, .. } = &mut *decoded;
    let liveness = liveness(&effects, blocks, values.len());

    // Presets first: they are written once and never change.
    let mut of = vec![NONE; values.len()];
    for (value, place) in values.iter().zip(&mut of) {
        if let Some(preset) = value.preset {
            *place = code.preset_planes * 32;
            code.presets.push((*place, value.slots() == 2, preset));
            code.preset_planes += value.slots();
        }
    }
    let value = |number: u32| &values[number as usize];
    let is_data = |number| value(number).preset.is_none() && value(number).kind != Type::Pred;
    let is_predicate = |number| value(number).kind == Type::Pred;
    let (slots, planes) = liveness.assign(code.preset_planes, |number| value(number).slots(), is_data);
    let (bits, predicates) = liveness.assign(0, |_| 1, is_predicate);
    for (number, place) in of.iter_mut().enumerate() {
        if slots[number] != NONE {
            *place = slots[number] * 32;
        } else if bits[number] != NONE {
            *place = bits[number];
        }
    }
    if predicates >= u32::from(GUARD_NEGATED) - 1 || planes > MOST_PLANES {
        let reason = format!("kernels with {planes} registers and constants in use at a time, more than {MOST_PLANES}");
        return Err(Error::unsupported(1, "", reason));
    }
    (code.planes, code.predicates) = (planes, predicates);
    code.writes = writes(values, &effects, &of);
    follow(decoded, &effects, &liveness, &of);
    Ok(of)
}

/// The registers that instructions write, as far as anything reads them.
fn writes(values: &[Value], effects: &[Effect], of: &[u32]) -> Vec<Write> {
    let mut writes = vec![];
    for (instruction, effect) in (0u32..).zip(effects) {
        for &number in effect.defs.iter().filter(|&&number| of[number as usize] != NONE) {
            let (value, at) = (&values[number as usize], of[number as usize]);
            let float = matches!(value.kind, Type::F32 | Type::F64);
            writes.push(Write { instruction, name: value.name.clone(), home: home(value, at), float });
        }
    }
    writes
}
