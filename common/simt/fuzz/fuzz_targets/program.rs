//! A program as lines of words. Its kernel is the one of the frame, which declares every name that lines put into it may use.

use crate::attempt::Random;
use std::collections::HashMap;
use std::ops::Range;

/// The program that all others grow from.
pub const FRAME: &str = include_str!("frame.ptx");
const KERNEL: &str = ".entry k(";

/// The memory spaces whose variables are named by their first letters.
const SPACES: [&str; 4] = ["shared", "global", "local", "const"];

/// Splits a line into names, numbers, and single other characters. Joined, they are the line.
pub fn words(line: &str) -> Vec<&str> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    let mut words = vec![];
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = if part(first) { rest.find(|c| !part(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, after) = rest.split_at(length);
        words.push(word);
        rest = after;
    }
    words
}

/// Whether a word occurs after a dot, in an opcode or a declaration.
fn says(words: &[&str], word: &str) -> bool {
    words.windows(2).any(|pair| pair == [".", word])
}

/// Returns the letter by which the frame names registers of this register's kind.
fn register(word: &str) -> Option<&str> {
    let name = word.strip_prefix('%').filter(|name| name.ends_with(|c: char| c.is_ascii_digit()))?;
    match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "rs" => Some("h"),
        "rd" => Some("d"),
        "fd" => Some("x"),
        own @ ("p" | "h" | "r" | "f" | "d" | "x") => Some(own),
        _ => None,
    }
}

/// Returns the place of the address in a line that accesses a memory space.
fn address(line: &str, space: &str) -> Option<Range<usize>> {
    let (from, to) = (line.find('[')? + 1, line.find(']')?);
    (from <= to && says(&words(line), space)).then_some(from..to)
}

pub struct Program {
    pub lines: Vec<String>,
}

impl Program {
    /// Reads a text as a program. One that has another kernel than the frame becomes the frame with its statements.
    pub fn read(text: &str, random: &mut Random) -> Self {
        let known = text.contains(KERNEL);
        let mut program = Self { lines: if known { text } else { FRAME }.lines().map(Into::into).collect() };
        if !known {
            program.insert(&statements(text), random);
        }
        program
    }

    /// Returns the range of the kernel's statements.
    pub fn body(&self) -> Range<usize> {
        let entry = self.lines.iter().position(|line| line.contains(KERNEL)).unwrap_or(0);
        let statement = |line: &String| !line.starts_with('.');
        let declarations = self.lines[entry + 1..].iter().position(statement).unwrap_or(0);
        let start = entry + 1 + declarations;
        start..self.lines.iter().rposition(|line| line == "}").unwrap_or(start).max(start)
    }

    /// Returns another name for a word that is a register, a label, a parameter, or a variable of a real kernel.
    pub fn name(&self, words: &[&str], at: usize, random: &mut Random) -> Option<String> {
        let word = words[at];
        if let Some(letter) = register(word) {
            return Some(format!("%{letter}{}", random.below(9)));
        }
        if at > 0 && words[at - 1] == "." {
            return None;
        }
        if word.starts_with(['$', 'L']) || word == "END" {
            let labels: Vec<&str> = self.lines.iter().filter_map(|line| line.strip_suffix(':')).collect();
            return random.pick(&labels).map(ToString::to_string);
        }
        if !word.starts_with("_Z") && !word.contains("_param_") && !matches!(word, "a" | "b") {
            return None;
        }
        let names = match SPACES.iter().find(|space| says(words, space)) {
            Some(space) => &[&space[..1]][..],
            None if !says(words, "param") => &["s", "g"],
            None if ["u64", "s64", "b64"].iter().any(|wide| says(words, wide)) => &["a", "b"],
            None => &["n"],
        };
        random.pick(names).map(ToString::to_string)
    }

    /// Inserts a piece into the body. The piece's registers, labels, variables and addresses become those of the kernel.
    pub fn insert(&mut self, piece: &[String], random: &mut Random) {
        let body = self.body();
        let place = body.start + random.below(body.len() + 1);
        let labels = piece.iter().filter_map(|line| line.strip_suffix(':'));
        let mut renamed: HashMap<&str, String> =
            labels.map(|label| (label, format!("L{}", random.below(100_000)))).collect();
        for (number, line) in piece.iter().enumerate() {
            let words = words(line);
            let mut new = String::new();
            for (at, &word) in words.iter().enumerate() {
                if !renamed.contains_key(word)
                    && let Some(name) = self.name(&words, at, random)
                {
                    renamed.insert(word, name);
                }
                new += renamed.get(word).map_or(word, String::as_str);
            }
            // An address that the kernel already uses is more likely to be valid than any other.
            let space = SPACES.iter().find_map(|space| Some((space, address(&new, space)?)));
            if let Some((space, range)) = space
                && !random.once_in(3)
            {
                let used = self.lines.iter().filter_map(|line| Some(&line[address(line, space)?]));
                let used: Vec<&str> = used.collect();
                let used = random.pick(&used).map_or(new[range.clone()].to_string(), ToString::to_string);
                new.replace_range(range, &used);
            }
            if new.ends_with(';') && !new.starts_with(['@', '{']) && random.once_in(16) {
                let not = if random.once_in(2) { "!" } else { "" };
                new = format!("@{not}%p{} {new}", random.below(9));
            }
            self.lines.insert(place + number, new);
        }
    }
}

/// Returns the lines of a program that are complete: no declarations, and no braces that other lines close.
pub fn statements(text: &str) -> Vec<String> {
    let whole = |line: &&str| {
        !line.is_empty()
            && !line.starts_with(['.', '/', '(', ')', '{', '}'])
            && line.ends_with([';', ':'])
            && line.matches('{').count() == line.matches('}').count()
            && !line.contains("call")
    };
    text.lines().map(str::trim).filter(whole).map(Into::into).collect()
}
