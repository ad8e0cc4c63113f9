//! The latest product of a warpgroup that a warp took part in, and what is in the registers that it works on.

use crate::answer::real;
use crate::effect::Effect;
use crate::instructions::{Program, operands};
use crate::run::{Chosen, Run};
use crate::state::Warp;
use serde_json::{Value, json};
use simt::WarpgroupProduct;

/// What the instructions of a launch multiply, by their numbers.
pub fn shapes(program: &Program) -> Value {
    let shape = |(number, product): (&u32, &WarpgroupProduct)| {
        let WarpgroupProduct { columns, length, sums, left, by_column } = product;
        let shape = json!({ "columns": columns, "length": length, "by_column": by_column, "sums": sums, "left": left });
        (number.to_string(), shape)
    };
    Value::Object(program.products.iter().map(shape).collect())
}

/// The latest product of the chosen warp at a time; null before the first one.
pub fn latest(run: &Run, chosen: &Chosen<'_>, warp: &Warp, time: u32) -> Value {
    let (tape, program) = (&run.tape, &chosen.launch.program);
    if program.products.is_empty() {
        return Value::Null;
    }
    let is_product = |event: &u32| program.products.contains_key(&tape.event(*event).instruction);
    let events = chosen.launch.events.start..time;
    let Some(event) = tape.of_warp((chosen.block, chosen.warp), events).rfind(is_product) else { return Value::Null };
    let instruction = tape.event(event).instruction;
    let product = &program.products[&instruction];
    let held = |name: &&str| {
        let known = program.registers.iter().zip(&warp.registers).find(|(register, _)| register.name == *name);
        let single = |&bits: &u64| real(f64::from(f32::from_bits(bits as u32)));
        let values = known.map(|(_, values)| values.iter().map(single).collect::<Value>());
        json!({ "register": name, "values": values })
    };
    let names = operands(&tape.instruction(event).text);
    let (sums, rest) = names.split_at(product.sums.len().min(names.len()));
    let pieces = tape.event(event).effects.iter().find_map(|effect| match effect {
        Effect::Product(pieces) => Some(pieces),
        _ => None,
    });
    json!({
        "instruction": instruction, "pieces": pieces,
        "sums": sums.iter().map(held).collect::<Value>(),
        "left": rest.iter().take(product.left.len()).map(held).collect::<Value>(),
    })
}
