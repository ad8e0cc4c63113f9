//! The model of instructions on integers and bits, in 128 bits.

use super::cases::Case;

/// Bits of a type, and whether it has a sign.
fn shape(kind: &str) -> (u32, bool) {
    let bits = match kind {
        "pred" => 1,
        kind if kind.ends_with("x2") => 32,
        kind => kind.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(64),
    };
    (bits, kind.starts_with('s'))
}

/// The number that bits of a type stand for.
pub fn number(bits: u64, kind: &str) -> i128 {
    let (width, signed) = shape(kind);
    let value = i128::from(bits) & ((1 << width) - 1);
    if signed && value >> (width - 1) == 1 { value - (1 << width) } else { value }
}

/// The smallest and the largest number of a type.
pub fn limits(kind: &str) -> (i128, i128) {
    let (width, signed) = shape(kind);
    if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

/// Bit `at` of a word; zero outside.
fn bit(word: u64, at: i64) -> u64 {
    if (0..64).contains(&at) { word >> at & 1 } else { 0 }
}

/// A word made bit by bit.
fn word(width: u32, bit: impl Fn(i64) -> u64) -> u64 {
    (0..i64::from(width)).fold(0, |sum, at| sum | (bit(at) & 1) << at)
}

/// Byte `at` of the two words of a permutation.
fn byte(a: u64, b: u64, at: i64) -> u64 {
    (b << 32 | a).to_le_bytes()[at.rem_euclid(8) as usize].into()
}

/// Part `at` of a word, in parts of this width.
fn part(word: u64, at: u32, width: u32, kind: &str) -> i128 {
    let name = format!("{}{width}", &kind[..1]);
    number(word >> (at * width), &name)
}

pub fn model(case: &Case, [a, b, c, d]: [u64; 4]) -> Option<u64> {
    let words: Vec<&str> = case.opcode.split('.').collect();
    let has = |word: &str| words[1..].contains(&word);
    let own = words.iter().rev().find(|word| word.len() > 1 && shape_known(word)).copied().unwrap_or("b32");
    let (width, signed) = shape(own);
    let [x, y, z] = [a, b, c].map(|bits| number(bits, own));
    let fit = |value: i128| {
        let (low, high) = limits(own);
        if has("sat") { value.clamp(low, high) as u64 } else { value as u64 }
    };
    let upper = |value: (i128, i128)| {
        // The high half of a product of 64 bits, which may not fit 127 bits: schoolbook.
        let (x, y) = value;
        if width < 64 {
            return (x * y) >> width;
        }
        let (xl, yl) = (x & 0xffff_ffff, y & 0xffff_ffff);
        let (xh, yh) = (x >> 32, y >> 32);
        let middle = ((xl * yl) >> 32) + ((xh * yl) & 0xffff_ffff) + ((xl * yh) & 0xffff_ffff);
        xh * yh + ((xh * yl) >> 32) + ((xl * yh) >> 32) + (middle >> 32)
    };
    let product = || x.wrapping_mul(y);
    let low24 = |value: i128| number(value as u64 & 0xff_ffff, if signed { "s24" } else { "u24" });
    let product24 = || (low24(x) * low24(y)) >> if has("hi") { 16 } else { 0 };
    // What counts of a field's start and length. The 64-bit forms are no instructions of the hardware.
    let place = if width == 64 { u64::from(u32::MAX) } else { 255 };
    Some(match words[0] {
        "add" => fit(x + y),
        "sub" => fit(x - y),
        "mul" if has("hi") => upper((x, y)) as u64,
        "mul" if has("lo") || has("wide") => product() as u64,
        "mad" if has("hi") => fit(upper((x, y)) + z),
        "mad" if has("wide") => (product() + i128::from(c)) as u64,
        "mad" if has("lo") => product().wrapping_add(z) as u64,
        "mul24" => product24() as u64,
        "mad24" => fit(product24() + z),
        "sad" => ((x - y).abs() + z) as u64,
        // Without meaning in the manual; what the hardware gives.
        "div" | "rem" if y == 0 => u64::MAX,
        "div" => (x / y) as u64,
        "rem" => (x % y) as u64,
        "abs" => x.unsigned_abs() as u64,
        "neg" => -x as u64,
        "min" => x.min(y) as u64,
        "max" => x.max(y) as u64,
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "not" => !a,
        "cnot" => u64::from(a == 0),
        "shl" => word(width, |at| bit(a, at - b as i64)),
        "shr" => word(width, |at| {
            let from = at + b as i64;
            if from < i64::from(width) { bit(a, from) } else { u64::from(signed) & bit(a, i64::from(width) - 1) }
        }),
        "lop3" => {
            let table = u64::from(case.number?);
            word(32, |at| bit(table, (bit(a, at) << 2 | bit(b, at) << 1 | bit(c, at)) as i64))
        }
        "shf" => {
            let by = if has("wrap") { c & 31 } else { c.min(32) } as i64;
            let both = b << 32 | a;
            word(32, |at| bit(both, if has("l") { at + 32 - by } else { at + by }))
        }
        "popc" => (0..64).map(|at| bit(a, at)).sum(),
        "clz" => (0..i64::from(width)).rev().take_while(|&at| bit(a, at) == 0).count() as u64,
        "bfind" => {
            let sign = if signed { bit(a, i64::from(width) - 1) } else { 0 };
            match (0..i64::from(width)).rev().find(|&at| bit(a, at) != sign) {
                None => u64::MAX,
                Some(at) if has("shiftamt") => u64::from(width) - 1 - at as u64,
                Some(at) => at as u64,
            }
        }
        "brev" => word(width, |at| bit(a, i64::from(width) - 1 - at)),
        "bfe" => {
            let (start, length, last) = ((b & place) as i64, (c & place) as i64, i64::from(width) - 1);
            let sign = if signed && length > 0 { bit(a, (start + length - 1).min(last)) } else { 0 };
            word(width, |at| if at < length && start + at <= last { bit(a, start + at) } else { sign })
        }
        "bfi" => {
            let (start, length) = ((c & place) as i64, (d & place) as i64);
            word(width, |at| if at >= start && at < start + length { bit(a, at - start) } else { bit(b, at) })
        }
        "bmsk" => {
            let large = has("clamp") && a > 31;
            let (start, length) = ((a & 31) as i64, if has("clamp") && b > 31 { 32 } else { (b & 31) as i64 });
            word(32, |at| u64::from(!large && at >= start && at < start + length))
        }
        "szext" => {
            let length = if has("clamp") { b.min(32) } else { b & 31 } as i64;
            let sign = if signed && length > 0 { bit(a, length - 1) } else { 0 };
            if length == 0 { 0 } else { word(32, |at| if at < length { bit(a, at) } else { sign }) }
        }
        // Without meaning in the manual; what the hardware gives.
        "fns" if c & 0xffff_ffff == 1 << 31 => 0,
        "fns" => {
            let (base, offset) = (b as i64, i64::from(c as i32));
            let places: Vec<i64> = if offset >= 0 { (base..32).collect() } else { (0..=base.min(31)).rev().collect() };
            let places = if (0..32).contains(&base) { places } else { vec![] };
            let mut set = places.into_iter().filter(|&at| bit(a, at) == 1);
            let found = if offset == 0 {
                set.next().filter(|&at| at == base)
            } else {
                set.nth(offset.unsigned_abs() as usize - 1)
            };
            found.map_or(u64::MAX, |at| at as u64)
        }
        "prmt" => {
            let from = |at: i64| {
                let c = c as i64;
                match words[1] {
                    "f4e" => byte(a, b, (c & 3) + at),
                    "b4e" => byte(a, b, (c & 3) - at),
                    "rc8" => byte(a, b, c & 3),
                    "ecl" => byte(a, b, at.max(c & 3)),
                    "ecr" => byte(a, b, at.min(c & 3)),
                    "rc16" => byte(a, b, 2 * (c & 1) + at % 2),
                    _ => {
                        let selector = c >> (4 * at) & 15;
                        let byte = byte(a, b, selector & 7);
                        if selector < 8 { byte } else { byte / 128 * 255 }
                    }
                }
            };
            (0..4).map(|at| from(at) << (8 * at)).sum()
        }
        "dp4a" | "dp2a" => {
            let (first, second) = (words[words.len() - 2], words[words.len() - 1]);
            let sum: i128 = if words[0] == "dp4a" {
                (0..4).map(|at| part(a, at, 8, first) * part(b, at, 8, second)).sum()
            } else {
                let skip = if has("hi") { 2 } else { 0 };
                (0..2).map(|at| part(a, at, 16, first) * part(b, at + skip, 8, second)).sum()
            };
            (sum + i128::from(c)) as u64
        }
        "vabsdiff4" => {
            let apart = |at| (part(a, at, 8, "u32") - part(b, at, 8, "u32")).unsigned_abs() as u64;
            if has("add") { (0..4).map(apart).sum::<u64>() + c } else { (0..4).map(|at| apart(at) << (8 * at)).sum() }
        }
        "mov" => a,
        "selp" if c & 1 == 1 => a,
        "slct" if number(c, "s32") >= 0 => a,
        "selp" | "slct" => b,
        "setp" | "set" => {
            let from = case.types[1].as_str();
            let holds = relation(words[1], number(a, from).cmp(&number(b, from)))?;
            super::floats::truth(case, combined(&words, holds, c))
        }
        "cvt" => {
            let (to, from) = (words[words.len() - 2], words[words.len() - 1]);
            let value = number(a, from);
            let (low, high) = limits(to);
            let value = if has("sat") { value.clamp(low, high) } else { value };
            number(value as u64, to) as u64
        }
        _ => return None,
    })
}

fn shape_known(word: &str) -> bool {
    word[1..].parse::<u32>().is_ok() && matches!(&word[..1], "b" | "u" | "s") || word == "pred"
}

/// Whether a relation of ordered values holds.
pub fn relation(name: &str, order: std::cmp::Ordering) -> Option<bool> {
    Some(match name {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "lt" | "lo" => order.is_lt(),
        "le" | "ls" => order.is_le(),
        "gt" | "hi" => order.is_gt(),
        "ge" | "hs" => order.is_ge(),
        _ => return None,
    })
}

/// The result of a comparison with a third operand.
pub fn combined(words: &[&str], holds: bool, c: u64) -> bool {
    let other = c & 1 == 1;
    match words {
        words if words.contains(&"and") => holds && other,
        words if words.contains(&"or") => holds || other,
        words if words.contains(&"xor") => holds != other,
        _ => holds,
    }
}
