//! Compares every instruction that computes, with every type and modifier that the simulator accepts, with a GPU. The forms come from
//! the table of instructions and from what the decoder accepts, so the test also fails for a form that is not recorded.
//!
//! `results.txt.gz` has a line for each form and each statement of `statements.txt`: [`cases::hashes`] of its results, one for 128
//! results each, and the GPU that gave the same. `SIMT_BLESS=1` records what the simulator computes; `ask_gpu.py --record` asks a GPU
//! about it, and marks what it gave as well.

mod cases;
mod matrices;
mod warpgroups;

use super::{marks, sections};
use cases::{COUNT, Case, GROUP, format, hashes};
use flate2::{Compression, write::GzEncoder};
use simt::{Error, InstructionSet, Module};
use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;

type Function = fn(f64) -> f64;

/// Functions that the host's library computes. On another host the last digit may differ, so they are not compared with the record.
const FUNCTIONS: [(&str, Function); 5] =
    [("sin", f64::sin), ("cos", f64::cos), ("lg2", f64::log2), ("ex2", f64::exp2), ("tanh", f64::tanh)];

/// Returns the number that these bits represent in a floating-point format.
fn number(bits: u64, (fraction, exponent): (u32, u32)) -> f64 {
    let (digits, power) = (bits & ((1 << fraction) - 1), bits >> fraction & ((1 << exponent) - 1));
    let least = 2 - (1 << (exponent - 1));
    let magnitude = match power {
        0 => digits as f64 * 2f64.powi(least - fraction as i32),
        power if power == (1 << exponent) - 1 && digits == 0 => f64::INFINITY,
        power if power == (1 << exponent) - 1 => f64::NAN,
        power => (digits + (1 << fraction)) as f64 * 2f64.powi(least + power as i32 - 1 - fraction as i32),
    };
    if bits >> (fraction + exponent) & 1 == 1 { -magnitude } else { magnitude }
}

/// Whether a result differs from the value of a function by at most one unit in the last place.
fn is_near(case: &Case, function: Function, operand: u64, found: u64) -> bool {
    let kind = case.types[0].as_str();
    let shape = format(kind).unwrap();
    let least = 2f64.powi(2 - (1 << (shape.1 - 1)));
    let flushed = |value: f64| if case.opcode.contains(".ftz") && value.abs() < least { 0.0 } else { value };
    let one = |operand: u64, found: u64| {
        let (value, found) = (function(flushed(number(operand, shape))), number(found, shape));
        let value = if value.abs() >= 4.0 / least { value * f64::INFINITY } else { value };
        let unit = 2f64.powi(value.abs().max(least).log2().floor() as i32 - shape.0 as i32);
        let near = |value: f64| {
            found.total_cmp(&value).is_eq() || (found - value).abs() <= unit || found.is_nan() && value.is_nan()
        };
        near(value) || near(flushed(value))
    };
    one(operand, found) && (!kind.ends_with("x2") || one(operand >> 16, found >> 16))
}

/// Returns what is wrong with the results of a case, if anything. `recorded` are the recorded hashes.
fn wrong(case: &Case, recorded: &str, results: &[u64]) -> Option<String> {
    let name = case.opcode.split('.').next();
    if let Some((_, function)) = FUNCTIONS.iter().find(|known| name == Some(known.0)) {
        let [operands, ..] = case.operands();
        let far = (0..COUNT).find(|&at| !is_near(case, *function, operands[at], results[at]))?;
        return Some(format!("{} of {:#x} is {:#x}", case.key(), operands[far], results[far]));
    }
    let found = hashes(results);
    let group = (0..COUNT / GROUP).find(|at| recorded.get(4 * at..4 * at + 4) != found.get(4 * at..4 * at + 4))?;
    let operands = case.operands().map(|values| values[GROUP * group]);
    Some(format!("{}: of the {GROUP} operands from {operands:x?} on, some results are not as recorded", case.key()))
}

#[test]
fn every_form_of_every_instruction() {
    let cases = cases::all();
    assert!(cases.len() > 1500, "{}", cases.len());
    let text = sections::text("instructions/results.txt");
    let plain_text = marks::unmarked(&text);
    let mut recorded: HashMap<&str, &str> = plain_text.lines().filter_map(|line| line.split_once('\t')).collect();
    if std::env::var_os("SIMT_BLESS").is_some() {
        let mut found: String = text.split_inclusive('\n').filter(|line| line.starts_with('#')).collect();
        for case in &cases {
            let (key, results) = (case.key(), case.run(InstructionSet::Plain).unwrap());
            // What another host computes with its own library is near enough.
            let known = recorded.get(&*key).filter(|known| wrong(case, known, &results).is_none());
            found += &format!("{key}\t{}\n", known.map_or_else(|| hashes(&results), |known| (*known).to_owned()));
        }
        let found = marks::kept(&found, &text);
        if found != text {
            let file = File::create(sections::path("instructions/results.txt.gz")).unwrap();
            GzEncoder::new(file, Compression::best()).write_all(found.as_bytes()).unwrap();
        }
        return;
    }
    let (plain, mut messages) = (simt::forms(), vec![]);
    for case in &cases {
        let Some(hashes) = recorded.remove(&*case.key()) else {
            messages.push(format!("{}: nobody has recorded it", case.key()));
            continue;
        };
        // The other families have only one implementation for all instruction sets of the host.
        let everywhere = case.opcode.contains('%') || plain.iter().any(|form| form.opcode == case.opcode);
        let sets = [InstructionSet::Best, InstructionSet::Avx2, InstructionSet::Plain];
        for set in &sets[..if everywhere { 3 } else { 1 }] {
            let message =
                case.run(*set).map_or_else(|error| Some(error.to_string()), |found| wrong(case, hashes, &found));
            messages.extend(message.map(|message| format!("{message} ({set:?})")));
        }
    }
    messages.extend(recorded.keys().map(|key| format!("{key}: recorded, but not accepted any more")));
    assert!(messages.is_empty(), "{} of {} forms\n{}", messages.len(), cases.len(), messages.join("\n"));
}

/// The comparison must be able to fail: it notices one wrong bit in one of a thousand results.
#[test]
fn a_wrong_bit_is_noticed() {
    let cases = cases::all();
    for (opcode, bit) in [("fma.rz.f64", 1), ("sin.approx.f32", 2)] {
        let case = cases.iter().find(|case| case.opcode == opcode).unwrap();
        let mut results = case.run(InstructionSet::Best).unwrap();
        let recorded = hashes(&results);
        assert_eq!(wrong(case, &recorded, &results), None);
        results[COUNT - 1] ^= bit;
        assert!(wrong(case, &recorded, &results).is_some(), "{opcode}");
    }
}

/// Constants have the values that the assembler gives them, which are in `constants.txt`.
#[test]
fn constants() {
    for line in include_str!("constants.txt").lines() {
        let Some((constant, number)) = line.rsplit_once(" = ").filter(|_| !line.starts_with('#')) else { continue };
        let whole = number.strip_prefix("0x").map_or_else(|| number.parse(), |digits| i64::from_str_radix(digits, 16));
        // A number of single precision is just that in double precision.
        let all = match (whole, number.parse::<f64>()) {
            (Ok(number), _) => vec![("b64", number as u64)],
            (_, number) => number.map(|x| vec![("f32", (x as f32).to_bits().into()), ("f64", x.to_bits())]).unwrap(),
        };
        for (kind, bits) in all {
            let case = Case::new(&format!("mov.{kind} %d, {constant};"), &[kind, kind]);
            assert_eq!(case.run(InstructionSet::Best).unwrap(), [bits; COUNT], "{line}");
        }
    }
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

/// What the assembler refuses is called no PTX, with what is wrong about it; what is only not supported is not.
#[test]
fn statements_that_are_refused() {
    let refused = include_str!("refused.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let wrong: Vec<_> = refused
        .filter_map(|line| {
            let (statement, says) = line.split_once(" | ").expect("a statement and what is said of it");
            let error = Module::parse(&cases::file(statement)).and_then(|module| module.kernel("k")).err();
            let right = match &error {
                Some(Error::Parse { message, .. }) => message.contains(says),
                Some(error) => says.starts_with("supported by the simulator") && error.to_string().contains(says),
                None => false,
            };
            (!right).then(|| format!("{line}: {error:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
