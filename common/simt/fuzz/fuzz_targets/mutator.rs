//! Changes a text as a PTX program, so that most of the changed programs still run. It inserts pieces (statements of every form,
//! idioms, and lines of real kernels) with names that the kernel has, and it replaces registers, words and numbers by others
//! of their kind.

use crate::attempt::Random;
use crate::program::{Program, Word, kind, words};
use flate2::read::GzDecoder;
use libfuzzer_sys::fuzzer_mutate;
use std::sync::LazyLock;

/// Rows of words that may replace each other in instructions. The first row has numbers.
static WORDS: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| {
    let rows = include_str!("words.txt").lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| row.split(' ').collect()).collect()
});

/// Replaces a text that is not a program.
const FRAME: &str = include_str!("frame.ptx");

/// Changes the first `size` bytes in place, and returns the new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random(seed.into());
    if random.once_in(64) {
        return fuzzer_mutate(data, size, max_size);
    }
    let text = String::from_utf8_lossy(&data[..size]);
    let program = Program::read(&text, &mut random).or_else(|| Program::read(FRAME, &mut random));
    let Some(mut program) = program else { return size };
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
    let body = program.body.clone();
    let (at, other) = (body.start + random.below(body.len()), body.start + random.below(body.len()));
    match random.below(16) {
        0..=4 => program.insert(&piece(random), random.below(body.len() + 1), random),
        5 => surround(program, at.min(other), at.max(other), random),
        6 | 7 => {
            remove(program, random);
        }
        8 if !body.is_empty() && movable(&program.lines[at]) && movable(&program.lines[other]) => {
            program.lines.swap(at, other);
        }
        9 if !body.is_empty() && movable(&program.lines[at]) => program.add(other, program.lines[at].clone()),
        10 if !body.is_empty() && movable(&program.lines[at]) => guard(program, at, random),
        // This changes any line, including declarations and the head of the kernel.
        11 => {
            let any = random.below(program.lines.len());
            replace(program, any, random);
        }
        _ if !body.is_empty() => replace(program, at, random),
        _ => {}
    }
}

/// Whether a line is a complete statement.
fn movable(line: &str) -> bool {
    line.trim_end().ends_with(';') && !line.trim_start().starts_with(['.', '{', '}', '('])
}

/// Tries some places for a statement of the body to remove, and returns whether it removed one.
fn remove(program: &mut Program, random: &mut Random) -> bool {
    let body = program.body.clone();
    let mut places = (0..16).map(|_| body.start + random.below(body.len()));
    let found = places.find(|&at| body.contains(&at) && movable(&program.lines[at]));
    if let Some(at) = found {
        program.lines.remove(at);
        program.body.end -= 1;
    }
    found.is_some()
}

/// Turns some lines into the body of a loop or of a condition.
fn surround(program: &mut Program, first: usize, last: usize, random: &mut Random) {
    let label = program.new_label(random);
    let predicate = program.register(0, random);
    let counter = program.register(2, random);
    let from_end = program.body.end.saturating_sub(last);
    let before = |program: &mut Program, line: String| {
        let at = first.clamp(program.body.start, program.body.end);
        program.add(at, line);
    };
    let after =
        |program: &mut Program, line: String| program.add(program.body.end - from_end.min(program.body.len()), line);
    if random.once_in(2) {
        before(program, format!("{label}:"));
        after(program, format!("add.u32 {counter}, {counter}, {};", 1 + random.below(5)));
        after(program, format!("setp.lt.u32 {predicate}, {counter}, {};", random.below(9)));
        after(program, format!("@{predicate} bra {label};"));
    } else {
        before(program, format!("@{predicate} bra {label};"));
        after(program, format!("{label}:"));
    }
}

/// Adds a guard to a statement, or removes it.
fn guard(program: &mut Program, at: usize, random: &mut Random) {
    let line = program.lines[at].trim().to_string();
    program.lines[at] = match line.strip_prefix('@').and_then(|guarded| guarded.split_once(char::is_whitespace)) {
        Some((_, statement)) => statement.into(),
        None => {
            let predicate = program.register(0, random);
            format!("@{}{predicate} {line}", if random.once_in(2) { "!" } else { "" })
        }
    };
}

/// Replaces a register, a number or a word of a line.
fn replace(program: &mut Program, at: usize, random: &mut Random) {
    let Some(line) = program.lines.get(at).cloned() else { return };
    let Some((numbers, rows)) = WORDS.split_first() else { return };
    let words = words(&line);
    let choices: Vec<usize> = (0..words.len())
        .filter(|&at| match kind(&words, at) {
            Word::Register(_) | Word::Label | Word::Number => true,
            Word::Modifier => rows.iter().any(|row| row.contains(&words[at])),
            _ => false,
        })
        .collect();
    let Some(&chosen) = random.pick(&choices) else { return };
    let word = words[chosen];
    let length = program.lines.len();
    let new = match kind(&words, chosen) {
        Word::Register(kind) => program.register(kind, random),
        Word::Label => program.label(random).unwrap_or_else(|| word.into()),
        Word::Number => match (word.parse::<u64>(), random.below(4)) {
            (Ok(number), 0) => number.wrapping_add(1).to_string(),
            (Ok(number), 1) => number.wrapping_sub(1).to_string(),
            (Ok(number), 2) => number.wrapping_mul(2).to_string(),
            _ => random.pick(numbers).map_or(String::new(), ToString::to_string),
        },
        _ => {
            let row = rows.iter().find(|row| row.contains(&word)).filter(|_| !random.once_in(12));
            let row = row.or_else(|| random.pick(rows));
            row.and_then(|row| random.pick(row)).map_or(String::new(), ToString::to_string)
        }
    };
    let text: String = words.iter().enumerate().map(|(at, &word)| if at == chosen { &new } else { word }).collect();
    // A declaration may have been added above, which moves the line.
    let at = at + program.lines.len() - length;
    program.lines[at] = text;
}

/// Lines that belong together.
type Piece = Vec<String>;

const IDIOMS: &str = include_str!("idioms.ptx");
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

/// Whether the simulator accepts a statement, in a kernel that declares what the statements in `OTHERS` use.
fn is_known(statement: &str) -> bool {
    let text = include_str!("statement.ptx").replace("STATEMENT", statement);
    simt::Module::parse(&text).and_then(|module| module.kernel("k")).is_ok()
}

/// Statements that compute, from the table by which the simulator decodes them, and one or more statements of every other family.
static STATEMENTS: LazyLock<[Vec<String>; 2]> = LazyLock::new(|| {
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
    let others = OTHERS.lines().filter_map(|line| line.strip_prefix("+ "));
    let others = others.filter(|line| !line.starts_with(['.', '{']) && !line.contains("LOCAL") && is_known(line));
    [computing.collect(), others.map(Into::into).collect()]
});

static IDIOM_LIST: LazyLock<Vec<Piece>> = LazyLock::new(|| {
    let lines = |idiom: &str| idiom.lines().filter(|line| !line.starts_with("//")).map(Into::into).collect();
    IDIOMS.split("\n\n").map(lines).filter(|idiom: &Piece| !idiom.is_empty()).collect()
});

/// Lines of real kernels that are complete: no declarations, and no braces that other lines close.
static REAL_LINES: LazyLock<Piece> = LazyLock::new(|| {
    let whole = |line: &&str| {
        !line.is_empty()
            && !line.starts_with(['.', '/', '(', ')', '{', '}'])
            && line.ends_with([';', ':'])
            && line.matches('{').count() == line.matches('}').count()
            && !line.contains("call")
    };
    let texts = REAL.iter().map(|packed| std::io::read_to_string(GzDecoder::new(*packed)).expect("it was packed"));
    let lines = |text: String| text.lines().map(str::trim).filter(whole).map(Into::into).collect::<Piece>();
    texts.flat_map(lines).collect()
});

fn piece(random: &mut Random) -> Piece {
    match random.below(8) {
        0 => random.pick(&STATEMENTS[0]).into_iter().cloned().collect(),
        1..=3 => random.pick(&STATEMENTS[1]).into_iter().cloned().collect(),
        4 | 5 => random.pick(&IDIOM_LIST).cloned().unwrap_or_default(),
        _ => {
            let first = random.below(REAL_LINES.len());
            let length = 1 + random.below(12);
            REAL_LINES[first..].iter().take(length).cloned().collect()
        }
    }
}
