//! How much two kernels compute alike: a sketch of what a kernel's instructions compute, in which names, comments, macros, the layout and
//! the order of independent instructions leave no trace, and the share that two sketches have in common.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use common::basics::mix::mix;

/// How many instructions back a value is followed.
const DEPTH: usize = 4;
/// Hashes that a sketch keeps: the smallest, which are a sample of all.
const KEPT: usize = 512;

/// An instruction: its operation, whether its operands may be exchanged, what it sets, and what it reads.
struct Instruction<'a> {
    operation: String,
    turns: bool,
    sets: Option<&'a str>,
    reads: Vec<&'a str>,
}

/// The sketch of a kernel's PTX: hexadecimal numbers of eight digits, sorted.
pub fn sketch(ptx: &str) -> String {
    let (instructions, arrays) = instructions(ptx);
    let text = |text: &str| text.bytes().fold(1, |hash, byte| mix(hash ^ u64::from(byte)));
    let mut values = BTreeMap::<&str, u64>::new();
    let mut hashes = vec![];
    for _ in 0..DEPTH {
        let value = |word: &&str| match word.rsplit_once("_param_") {
            // A parameter has a place, whatever it is called.
            Some((_, place)) => text(place),
            None if word.starts_with('%') && !word.contains('.') => values.get(word).copied().unwrap_or_default(),
            None if arrays.contains(word) => 7,
            None => text(word),
        };
        let of = |one: &Instruction| {
            let mut reads: Vec<u64> = one.reads.iter().map(value).collect();
            if one.turns {
                reads.sort_unstable();
            } else if one.operation.starts_with("fma") || one.operation.starts_with("mad") {
                let factors = reads.len().min(2);
                reads[..factors].sort_unstable();
            }
            // A move computes nothing.
            let begin = if one.operation.is_empty() { 0 } else { mix(text(&one.operation)) };
            match &reads[..] {
                [only] if begin == 0 => *only,
                reads => reads.iter().fold(begin, |hash, read| mix(hash ^ read)),
            }
        };
        hashes = instructions.iter().map(of).collect::<Vec<u64>>();
        let mut next = BTreeMap::<&str, u64>::new();
        for (one, hash) in instructions.iter().zip(&hashes) {
            // What is set in several places, as in a loop, is the sum of them.
            one.sets.map(|name| next.entry(name).and_modify(|sum| *sum = sum.wrapping_add(*hash)).or_insert(*hash));
        }
        values = next;
    }
    let mut seen = BTreeMap::<u64, u64>::new();
    let computed = instructions.iter().zip(hashes).filter(|(one, _)| !one.operation.is_empty());
    let numbered = computed.map(|(_, hash)| {
        let count = seen.entry(hash).or_default();
        *count += 1;
        mix(hash ^ *count << 48) as u32
    });
    let all: BTreeSet<u32> = numbered.collect();
    all.into_iter().take(KEPT).fold(String::new(), |sketch, hash| sketch + &format!("{hash:08x}"))
}

/// The numbers of a sketch.
pub fn numbers(sketch: &str) -> BTreeSet<u32> {
    let parts = sketch.as_bytes().chunks(8).filter_map(|part| std::str::from_utf8(part).ok());
    parts.filter_map(|part| u32::from_str_radix(part, 16).ok()).collect()
}

/// The part of what two kernels compute that both compute, from 0 to 1.
pub fn share(one: &BTreeSet<u32>, other: &BTreeSet<u32>) -> f64 {
    // Beyond the last of a full sketch nothing is known of it.
    let end = [one, other].into_iter().filter(|all| all.len() >= KEPT).filter_map(|all| all.last()).min().copied();
    let is_known = |part: &&u32| end.is_none_or(|end| **part <= end);
    let both = one.intersection(other).filter(is_known).count();
    let any = one.union(other).filter(is_known).count();
    if any == 0 { 0.0 } else { both as f64 / any as f64 }
}

/// The instructions of a kernel, and the names of its arrays in shared memory.
fn instructions(ptx: &str) -> (Vec<Instruction<'_>>, HashSet<&str>) {
    let apart = |c: char| !(c.is_alphanumeric() || "_$%.-".contains(c));
    let (mut all, mut arrays, mut depth) = (vec![], HashSet::new(), 0_usize);
    for line in ptx.lines().map(str::trim) {
        // Outside of functions, the rest describes source lines.
        if depth == 0 && line.starts_with(".section") {
            break;
        }
        depth = (depth + line.matches('{').count()).saturating_sub(line.matches('}').count());
        let line = line.split("//").next().unwrap_or_default().trim();
        let (guard, rest) = match line.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
            Some((guard, rest)) => (Some(guard.trim_start_matches('!')), rest.trim()),
            None => (None, line),
        };
        let mut words = rest.split(apart).filter(|word| !word.is_empty());
        let Some(name) = words.next() else { continue };
        if name.starts_with('.') {
            arrays.extend(words.filter(|word| !word.starts_with('.') && word.contains(char::is_alphabetic)));
            continue;
        }
        if depth == 0 || name.starts_with('$') || !rest.ends_with(';') {
            continue;
        }
        let kind = name.split('.').next().unwrap_or(name);
        let branches = kind == "bra" || kind == "ret";
        let mut operands: Vec<&str> = words.filter(|word| !branches && !word.starts_with('$')).collect();
        let has_result = !matches!(kind, "st" | "bar" | "barrier" | "bra" | "ret" | "red" | "cp");
        let sets = (has_result && !operands.is_empty()).then(|| operands.remove(0));
        operands.extend(guard);
        // Whether a comparison is for less or for greater depends on how it is written.
        let operation = match kind {
            "mov" | "cvta" => String::new(),
            "setp" => "setp".into(),
            _ => name.to_owned(),
        };
        let turns = matches!(kind, "add" | "mul" | "and" | "or" | "xor" | "min" | "max" | "setp");
        all.push(Instruction { operation, turns, sets, reads: operands });
    }
    (all, arrays)
}
