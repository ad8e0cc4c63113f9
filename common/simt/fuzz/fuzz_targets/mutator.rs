//! Changes a text as a PTX program, so that most of the changed programs still run. It inserts pieces (statements of every form,
//! idioms, and lines of real kernels and of the program itself) with names that the kernel has, and it replaces registers, words
//! and numbers by others of their kind.

use crate::attempt::Random;
use crate::program::{FRAME, Program, statements, words};
use flate2::read::GzDecoder;
use libfuzzer_sys::fuzzer_mutate;
use std::sync::LazyLock;

/// Rows of words that may replace each other in instructions. The first row has numbers.
static WORDS: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| {
    let rows = include_str!("words.txt").lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| row.split(' ').collect()).collect()
});

/// Changes the first `size` bytes in place, and returns the new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random(seed.into());
    if random.once_in(64) {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut program = Program::read(&String::from_utf8_lossy(&data[..size]), &mut random);
    for _ in 0..=random.below(4) {
        change(&mut program, &mut random);
    }
    while program.lines.iter().map(|line| line.len() + 1).sum::<usize>() > max_size && remove(&mut program, &mut random)
    {
    }
    let text = program.lines.join("\n");
    let end = text.len().min(max_size).min(data.len());
    data[..end].copy_from_slice(&text.as_bytes()[..end]);
    end
}

fn change(program: &mut Program, random: &mut Random) {
    let body = program.body();
    match random.below(16) {
        0..=5 => program.insert(&piece(program, random), random),
        6..=9 => {
            remove(program, random);
        }
        // This changes any line, including declarations and the head of the kernel.
        10 => replace(program, random.below(program.lines.len()), random),
        _ => replace(program, body.start + random.below(body.len()), random),
    }
}

/// Removes a statement of the body, and returns whether there was one.
fn remove(program: &mut Program, random: &mut Random) -> bool {
    let statements: Vec<usize> = program.body().filter(|&at| !program.lines[at].ends_with(':')).collect();
    let found = random.pick(&statements);
    found.map(|&at| program.lines.remove(at)).is_some()
}

/// Replaces a register, a number or a word of a line.
fn replace(program: &mut Program, at: usize, random: &mut Random) {
    let Some(line) = program.lines.get(at) else { return };
    let words = words(line);
    let choices: Vec<(usize, String)> =
        (0..words.len()).filter_map(|at| Some((at, other(program, &words, at, random)?))).collect();
    if let Some((chosen, new)) = random.pick(&choices) {
        let text = words.iter().enumerate().map(|(at, &word)| if at == *chosen { new } else { word }).collect();
        program.lines[at] = text;
    }
}

/// Returns another word for a number, for a type or modifier, and for a name.
fn other(program: &Program, words: &[&str], at: usize, random: &mut Random) -> Option<String> {
    let (numbers, rows) = WORDS.split_first()?;
    let word = words[at];
    if at > 0 && words[at - 1] == "." {
        let row = rows.iter().find(|row| row.contains(&word))?;
        let row = if random.once_in(12) { random.pick(rows)? } else { row };
        return random.pick(row).map(ToString::to_string);
    }
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return program.name(words, at, random);
    }
    match (word.parse::<u64>(), random.below(4)) {
        (Ok(number), 0) => Some(number.wrapping_add(1).to_string()),
        (Ok(number), 1) => Some(number.wrapping_sub(1).to_string()),
        (Ok(number), 2) => Some(number.wrapping_mul(2).to_string()),
        _ => random.pick(numbers).map(ToString::to_string),
    }
}

const OTHERS: &str = include_str!("../../tests/instructions/others.txt");
const REAL: &[&[u8]] = &[
    include_bytes!("../../tests/corpus/pass.ptx.gz"),
    include_bytes!("../../tests/counters/copy.ptx.gz"),
    include_bytes!("../../tests/counters/pattern.ptx.gz"),
    include_bytes!("../../tests/products.ptx.gz"),
    include_bytes!("../../tests/verdicts/accesses.ptx.gz"),
    include_bytes!("../../tests/verdicts/barriers.ptx.gz"),
    include_bytes!("../../tests/verdicts/copies.ptx.gz"),
    include_bytes!("../../tests/verdicts/counters.ptx.gz"),
    include_bytes!("../../tests/verdicts/flags.ptx.gz"),
    include_bytes!("../../tests/verdicts/locks.ptx.gz"),
    include_bytes!("../../tests/verdicts/warpgroups.ptx.gz"),
    include_bytes!("../../tests/verdicts/warps.ptx.gz"),
];

/// Statements that compute, from the table by which the simulator decodes them; one or more statements of every other family,
/// those that the simulator accepts; and lines of real kernels.
static LINES: LazyLock<[Vec<String>; 3]> = LazyLock::new(|| {
    let operand = |(number, kind): (usize, &&str)| match *kind {
        "number" => "150".into(),
        "pred" => format!("%p{number}"),
        "f32" => format!("%f{number}"),
        "f64" => format!("%x{number}"),
        kind if kind.ends_with("64") => format!("%d{number}"),
        kind if kind.ends_with("32") || kind.ends_with("x2") => format!("%r{number}"),
        _ => format!("%h{number}"),
    };
    let computing = simt::forms().into_iter().map(|form| {
        let operands: Vec<String> = form.operands.iter().enumerate().map(operand).collect();
        format!("{} {};", form.opcode, operands.join(", "))
    });
    let accepted = |statement: &&str| {
        let text = FRAME.replace("END:", &format!("{statement}\nEND:"));
        simt::Module::parse(&text).and_then(|module| module.kernel("k")).is_ok()
    };
    let others = OTHERS.lines().filter_map(|line| line.strip_prefix("+ "));
    let others = others.filter(|line| !line.starts_with(['.', '{']) && !line.contains("LOCAL")).filter(accepted);
    let texts = REAL.iter().map(|packed| std::io::read_to_string(GzDecoder::new(*packed)).expect("it was packed"));
    [computing.collect(), others.map(Into::into).collect(), texts.flat_map(|text| statements(&text)).collect()]
});

static IDIOMS: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    let lines = |idiom: &str| idiom.lines().filter(|line| !line.starts_with("//")).map(Into::into).collect();
    include_str!("idioms.ptx").split("\n\n").map(lines).filter(|idiom: &Vec<String>| !idiom.is_empty()).collect()
});

/// Returns lines that belong together.
fn piece(program: &Program, random: &mut Random) -> Vec<String> {
    let (lines, most) = match random.below(12) {
        0 | 1 => (&LINES[0][..], 1),
        2..=4 => (&LINES[1][..], 1),
        5..=7 => return random.pick(&IDIOMS).cloned().unwrap_or_default(),
        8 | 9 => (&LINES[2][..], 12),
        _ => (&program.lines[program.body()], 2),
    };
    let first = random.below(lines.len());
    lines[first..].iter().take(1 + random.below(most)).cloned().collect()
}
