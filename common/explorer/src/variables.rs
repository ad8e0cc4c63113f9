//! Which variable of the source a register most likely holds. PTX does not say; the lines of its instructions do, mostly.

use crate::instructions::{Program, Register, operands};
use std::collections::HashMap;

/// The variable that a line assigns to: of `float sum = 0;` and `sum += a * b;` it is `sum`, and whether it adds to it.
fn assigned(line: &str) -> Option<(&str, bool)> {
    let line = line.split("//").next()?.trim();
    // Of a loop it is the variable that counts.
    let line = line.strip_prefix("for").map_or(line, |rest| rest.trim_start_matches([' ', '(']));
    let at = line.find('=')?;
    if line[at + 1..].starts_with('=') || line[..at].ends_with(['!', '<', '>', '=']) {
        return None;
    }
    let adds = line[..at].ends_with('+');
    let left = line[..at].trim_end_matches(['+', '-', '*', '/', '|', '&', ' ']);
    let name = left.rsplit([' ', '*', '&']).next()?;
    let name = name.split('[').next()?;
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    // An element of an array in memory is stored and has no register; an array of sums has many.
    (is_name && (adds || !left.contains('['))).then_some((name, adds))
}

/// Whether a register can hold the variable that a line declares: a pointer, a whole number, or something else.
fn fits(line: &str, register: &Register) -> bool {
    let line = line.trim().trim_start_matches("for").trim_start_matches([' ', '(']).trim_start_matches("const ");
    let declared = line.split('=').next().unwrap_or("");
    match declared.split_whitespace().next() {
        Some("int" | "unsigned" | "bool") => !register.float && register.bytes == 4,
        Some("float") => register.float,
        _ if declared.contains("* ") || declared.contains(" *") => register.bytes == 8,
        _ => register.bytes > 0,
    }
}

/// The variable of each register, as far as the source tells.
pub fn variables(program: &Program, source: &[String]) -> Vec<Option<String>> {
    let mut named: HashMap<usize, &str> = HashMap::new();
    let same_line: Vec<_> = program.instructions.chunk_by(|one, other| one.line == other.line).collect();
    let mut sure: HashMap<u32, usize> = HashMap::new();
    for (number, instructions) in same_line.iter().enumerate() {
        sure.extend(instructions.first().and_then(|first| first.line).map(|line| (line, number)));
    }
    for (number, instructions) in same_line.iter().enumerate() {
        let Some(at) = instructions.first().and_then(|first| first.line) else { continue };
        let Some(line) = source.get((at as usize).wrapping_sub(1)) else { continue };
        let Some((name, adds)) = assigned(line) else { continue };
        let can_hold = |number: &&usize| fits(line, &program.registers[**number]);
        let registers: Vec<usize> = if adds {
            let sums = instructions.iter().filter(|instruction| {
                instruction.kind == "fma"
                    || instruction.text.starts_with("add") && operands(&instruction.text).len() == 3
            });
            sums.filter_map(|instruction| instruction.writes.first()).filter(can_hold).copied().collect()
        } else if sure.get(&at) == Some(&number) {
            let written = instructions.iter().rev().flat_map(|instruction| &instruction.writes);
            written.filter(can_hold).take(1).copied().collect()
        } else {
            // The compiler has spread the line; only its last part is sure to end with the variable.
            continue;
        };
        for register in registers {
            named.entry(register).or_insert(name);
        }
    }
    let name = |number: usize| named.get(&number).map(|&name| name.to_owned());
    (0..program.registers.len()).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_variable_that_it_sets() {
        for (line, expected) in [
            ("    ELEMENT sum = 0;", Some(("sum", false))),
            ("  sum += As[y][k] * Bs[k][x];", Some(("sum", true))),
            ("sums[i][j] += a[i] * b[j]; // the sums", Some(("sums", true))),
            ("const int row = blockIdx.y * TILE + y;", Some(("row", false))),
            ("const ELEMENT* a_from = A + (size_t)row * K + x;", Some(("a_from", false))),
            ("for (int k0 = 0; k0 < K; k0 += TILE) {", Some(("k0", false))),
            ("As[y][x] = k0 < a_end ? *a_from : 0;", None),
            ("if (row <= M && col != N)", None),
            ("return;", None),
            ("C[row * N + col] = sum;", None),
        ] {
            assert_eq!(assigned(line), expected, "{line}");
        }
    }
}
