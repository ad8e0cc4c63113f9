//! Every instruction that computes, with every type and modifier that the simulator accepts, against an exact model: integers
//! in 128 bits, floating-point numbers in LLVM's software arithmetic. The forms come from the table of instructions and from
//! what the decoder accepts, so one that the model does not know is a failure too.
//! What takes more than one instruction is in `statements`.

#![allow(clippy::float_cmp)] // Results are compared exactly.

mod cases;
mod floats;
mod integers;
mod matrices;
mod statements;
mod warpgroups;

use cases::{COUNT, Case};
use simt::{Error, InstructionSet, Module};

/// What a result must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expected {
    /// These bits.
    Bits(u64),
    /// A single- or double-precision number, which the host's mathematical functions know to a few units in the last place.
    Near(f64),
}

/// The model: the operands hold no more bits than their registers.
fn model(case: &Case, operands: [u64; 4]) -> Option<Expected> {
    floats::model(case, operands).or_else(|| integers::model(case, operands).map(Expected::Bits))
}

fn cut(value: u64, register: &str) -> u64 {
    match register {
        "pred" => value & 1,
        "b16" => value & 0xffff,
        "b32" => value & 0xffff_ffff,
        _ => value,
    }
}

/// Whether a result is what the model says.
fn fits(case: &Case, found: u64, expected: Expected) -> bool {
    match expected {
        Expected::Bits(bits) if case.is_pair() => found & 1 | (found >> 32 & 1) << 1 == bits,
        Expected::Bits(bits) => found == cut(bits, case.registers[0]),
        Expected::Near(value) => {
            let number = floats::number(found, &case.types[0]);
            number == value
                || number.is_nan() && value.is_nan()
                || (number - value).abs() <= floats::unit(value, &case.types[0])
        }
    }
}

/// The first result that is not what the model says.
fn wrong(case: &Case, set: InstructionSet, model: impl Fn(&Case, [u64; 4]) -> Option<Expected>) -> Option<String> {
    let name = format!("{} in {}", case.statement(), case.registers.join(" "));
    let found = match case.run(set) {
        Ok(found) => found,
        Err(error) => return Some(format!("{name}: {error}")),
    };
    let operands = case.operands();
    (0..COUNT).find_map(|index| {
        let values: [u64; 4] = std::array::from_fn(|which| {
            case.registers.get(which + 1).map_or(0, |register| cut(operands[which][index], register))
        });
        let Some(expected) = model(case, values) else { return Some(format!("{name}: no model")) };
        let found = found[index];
        (!fits(case, found, expected)).then(|| format!("{name} of {values:x?}: {found:#x}, expected {expected:x?}"))
    })
}

#[test]
fn every_form_of_every_instruction() {
    let cases = cases::all();
    assert!(cases.len() > 1500, "{}", cases.len());
    let mut messages: Vec<_> = cases.iter().filter_map(|case| wrong(case, InstructionSet::Best, model)).collect();
    let plain = simt::forms();
    let again = cases.iter().filter(|case| plain.iter().any(|form| form.opcode == case.opcode));
    messages.extend(again.filter_map(|case| wrong(case, InstructionSet::Plain, model)));
    assert!(messages.is_empty(), "{} of {} forms\n{}", messages.len(), cases.len(), messages.join("\n"));
}

/// What the assembler takes is never called no PTX, even where the simulator does not support it.
#[test]
fn statements_that_the_assembler_takes() {
    let wrong: Vec<_> = cases::others()
        .into_iter()
        .filter_map(|(line, file)| {
            let error = Module::parse(&file).and_then(|module| module.kernel("k")).err();
            let called_invalid = matches!(error, Some(Error::Parse { .. }));
            (line.starts_with('+') && called_invalid).then(|| format!("{line}: {error:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the assembler refuses is called no PTX, with what is wrong about it.
#[test]
fn statements_that_the_assembler_refuses() {
    let refused = include_str!("refused.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let wrong: Vec<_> = refused
        .filter_map(|line| {
            let (statement, says) = line.split_once(" | ").expect("a statement and what is said of it");
            let error = Module::parse(&cases::file(statement)).and_then(|module| module.kernel("k")).err();
            let right = matches!(&error, Some(Error::Parse { message, .. }) if message.contains(says));
            (!right).then(|| format!("{line}: {error:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The comparison can fail: one value in a thousand that is off by one bit is noticed.
#[test]
fn a_wrong_bit_is_noticed() {
    let cases = cases::all();
    let case = cases.iter().find(|case| case.opcode == "fma.rz.f64").unwrap();
    let (found, operands) = (case.run(InstructionSet::Best).unwrap(), case.operands());
    let values = std::array::from_fn(|which| operands[which][COUNT - 1]);
    let expected = model(case, values).unwrap();
    assert!(fits(case, found[COUNT - 1], expected) && !fits(case, found[COUNT - 1] ^ 1, expected));
}
