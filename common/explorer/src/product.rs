//! The latest product of a warpgroup that a warp took part in, and what is in the registers that it works on.

use crate::effect::Effect;
use crate::instructions::{Program, operands};
use crate::log::LaunchTape;
use crate::run::Run;
use crate::state::Block;
use serde_json::{Map, Value, json};
use simt::WarpgroupProduct;

/// Row and column of each lane's element, register by register.
fn places(registers: &[[(u32, u32); 32]]) -> Value {
    registers.iter().map(|lanes| lanes.iter().map(|(row, column)| json!([row, column])).collect::<Value>()).collect()
}

/// What the instructions of a launch multiply, by their numbers from `first` on.
pub fn shapes(program: &Program, first: usize) -> Map<String, Value> {
    let shape = |(number, product): (&u32, &WarpgroupProduct)| {
        let WarpgroupProduct { columns, length, sums, left, by_column } = product;
        let shape = json!({
            "columns": columns, "length": length, "by_column": by_column, "sums": places(sums), "left": places(left),
        });
        ((*number as usize + first).to_string(), shape)
    };
    program.products.iter().map(shape).collect()
}

/// The latest product of a warp at a time; null before the first one.
pub fn latest(run: &Run, launch: &LaunchTape, own: Option<&Block>, (block, warp): (u32, u32), time: u32) -> Value {
    let program = &launch.program;
    let Some(own) = own.and_then(|own| own.warps.get(warp as usize)).filter(|_| !program.products.is_empty()) else {
        return Value::Null;
    };
    let is_product = |number: &u32| program.products.contains_key(&run.tape.event(*number).instruction);
    let Some(number) = run.tape.of_warp((block, warp), launch.events.start..time).rfind(is_product) else {
        return Value::Null;
    };
    let (event, instruction) = (run.tape.event(number), run.tape.instruction(number));
    let product = &program.products[&event.instruction];
    let (sums, left) = (product.sums.len(), product.left.len());
    let held = |name: &&str| {
        let register = program.registers.iter().find(|register| register.name == *name);
        let values = register.map(|register| {
            let values = own.registers[32 * register.place..].iter().take(32);
            values.map(|&bits| crate::answer::real(f64::from(f32::from_bits(bits)))).collect::<Vec<_>>()
        });
        json!({ "register": name, "values": values })
    };
    let names = operands(&instruction.text);
    let pieces = run.tape.effects(number).iter().find_map(|effect| match effect {
        Effect::Product(pieces) => Some(pieces),
        _ => None,
    });
    json!({
        "time": number + 1, "now": number + 1 == time, "line": instruction.line,
        "instruction": event.instruction + launch.first_instruction,
        "sums": names.iter().take(sums).map(held).collect::<Vec<_>>(),
        "left": names.iter().skip(sums).take(left).map(held).collect::<Vec<_>>(),
        "pieces": pieces,
    })
}
