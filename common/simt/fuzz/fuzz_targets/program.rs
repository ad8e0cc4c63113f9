//! A program as lines of words, with the names that its kernel declares, so that inserted lines can use these names.

use crate::attempt::Random;
use std::collections::HashMap;
use std::ops::Range;

/// The kinds of registers: the letters by which NVRTC and our pieces name them, the types with which they are declared, and a
/// declaration for kernels that have none.
const REGISTERS: [(&[&str], &[&str], &str); 6] = [
    (&["p"], &["pred"], ".reg .pred %p<9>;"),
    (&["h", "rs"], &["b16", "u16", "s16", "f16", "bf16"], ".reg .b16 %h<9>;"),
    (&["r"], &["b32", "u32", "s32", "f16x2", "bf16x2"], ".reg .b32 %r<9>;"),
    (&["f"], &["f32"], ".reg .f32 %f<9>;"),
    (&["d", "rd"], &["b64", "u64", "s64"], ".reg .b64 %d<9>;"),
    (&["x", "fd"], &["f64"], ".reg .f64 %x<9>;"),
];

/// The memory spaces of variables, and a declaration for kernels that have none. Parameters have two entries: of 8 bytes, and smaller.
const SPACES: [(&str, &str); 6] = [
    ("shared", ".shared .align 16 .b8 s[512];"),
    ("global", ".global .align 16 .b8 g[256];"),
    ("local", ".local .align 16 .b8 l[64];"),
    ("const", ".const .align 16 .b8 c[16] = {1, 2, 3};"),
    ("param", ""),
    ("param", ""),
];
const PARAM: usize = 4;

/// What a word is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// A register of this kind.
    Register(usize),
    /// A label that is branched to.
    Label,
    /// A variable, and its space if the word or its line shows it.
    Variable(Option<usize>),
    Number,
    /// A type or a modifier.
    Modifier,
    Other,
}

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

/// Returns the index in `SPACES` of the memory space that a line names.
fn space(words: &[&str]) -> Option<usize> {
    let space = SPACES.iter().position(|(space, _)| says(words, space))?;
    let wide = ["u64", "s64", "b64"].iter().any(|word| says(words, word));
    Some(if space == PARAM && !wide { PARAM + 1 } else { space })
}

/// Returns what kind of word the word number `at` is.
pub fn kind(words: &[&str], at: usize) -> Word {
    let word = words[at];
    let before = if at > 0 { words[at - 1] } else { "" };
    let register = || {
        let letters = word.strip_prefix('%')?.trim_end_matches(|c: char| c.is_ascii_digit());
        let numbered = word.ends_with(|c: char| c.is_ascii_digit());
        REGISTERS.iter().position(|(names, ..)| numbered && names.contains(&letters))
    };
    if let Some(kind) = register() {
        Word::Register(kind)
    } else if before == "." {
        Word::Modifier
    } else if word.starts_with(|c: char| c.is_ascii_digit()) {
        Word::Number
    } else if words[..at].contains(&"bra")
        && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '$')
        && word != "uni"
    {
        Word::Label
    } else if word.starts_with("_Z") {
        Word::Variable(space(words))
    } else if word.contains("_param_") || matches!(word, "a" | "b") {
        Word::Variable(space(words).or(Some(PARAM)))
    } else if at > 0
        && let Some(space) = ["s", "g", "l", "c"].iter().position(|name| *name == word)
    {
        Word::Variable(Some(space))
    } else {
        Word::Other
    }
}

/// A program and its kernel, one of them if there are several.
pub struct Program {
    pub lines: Vec<String>,
    /// The line with the kernel's name.
    entry: usize,
    /// The lines between its braces, after its declarations.
    pub body: Range<usize>,
    names: Names,
}

/// What a kernel declares, and the addresses that it uses.
#[derive(Default)]
struct Names {
    registers: [Vec<String>; REGISTERS.len()],
    variables: [Vec<String>; SPACES.len()],
    addresses: [Vec<String>; SPACES.len()],
    labels: Vec<String>,
}

impl Names {
    /// Adds the names that a line declares or uses.
    fn read(&mut self, line: &str) {
        let words = words(line);
        if let Some(label) = line.trim().strip_suffix(':') {
            self.labels.push(label.into());
        } else if says(&words, "reg") {
            self.read_registers(&words);
        } else if let Some(space) = space(&words) {
            let declares = line.trim_start().starts_with('.');
            let end = words.iter().position(|&word| matches!(word, "[" | "=" | ";" | ")")).unwrap_or(words.len());
            let is_name = |word: &&&str| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            match (words[..end].iter().rev().find(is_name), line.find('['), line.find(']')) {
                (Some(&name), ..) if declares => self.variables[space].push(name.into()),
                (_, Some(from), Some(to)) if from < to => self.addresses[space].push(line[from + 1..to].into()),
                _ => {}
            }
        }
    }

    /// Adds the registers of a declaration such as `.reg .b32 %r<9>, %n;`.
    fn read_registers(&mut self, words: &[&str]) {
        let known = |(at, word): (usize, &&str)| {
            let kind = REGISTERS.iter().position(|(_, types, _)| types.contains(word))?;
            (at > 0 && words[at - 1] == ".").then_some((kind, at))
        };
        let Some((kind, at)) = words.iter().enumerate().find_map(known) else { return };
        for (name, after) in (at + 1..words.len()).map(|at| (words[at], &words[at + 1..])) {
            match after {
                ["<", count, ..] if name.starts_with('%') => {
                    let count = count.parse().unwrap_or(0_usize).min(64);
                    self.registers[kind].extend((0..count).map(|number| format!("{name}{number}")));
                }
                [";" | ",", ..] if name.starts_with('%') => self.registers[kind].push(name.into()),
                _ => {}
            }
        }
    }
}

impl Program {
    /// Reads a text as a program, and picks one of its kernels. Returns `None` if it has none.
    pub fn read(text: &str, random: &mut Random) -> Option<Self> {
        let lines: Vec<String> = text.lines().map(Into::into).collect();
        let entries: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].contains(".entry")).collect();
        let entry = *random.pick(&entries)?;
        let first = entry + lines[entry..].iter().position(|line| line.contains('{'))? + 1;
        let mut depth = 1;
        let length = lines[first..].iter().position(|line| {
            depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
            depth <= 0
        })?;
        let end = first + length;
        let statement = |line: &String| !line.trim().is_empty() && !line.trim_start().starts_with(['.', '/']);
        let body = lines[first..end].iter().position(statement).map_or(end, |declarations| first + declarations)..end;
        let mut names = Names::default();
        let outside = lines[..entry].iter().filter(|line| line.starts_with('.') && !line.starts_with(".reg"));
        outside.chain(&lines[entry..end]).for_each(|line| names.read(line));
        Some(Self { lines, entry, body, names })
    }

    pub fn label(&self, random: &mut Random) -> Option<String> {
        random.pick(&self.names.labels).cloned()
    }

    pub fn new_label(&mut self, random: &mut Random) -> String {
        let label = format!("L{}", random.below(100_000));
        self.names.labels.push(label.clone());
        label
    }

    /// Returns a random register of a kind, and declares some if the kernel has none.
    pub fn register(&mut self, kind: usize, random: &mut Random) -> String {
        if self.names.registers[kind].is_empty() {
            self.declare(false, REGISTERS[kind].2);
        }
        random.pick(&self.names.registers[kind]).cloned().unwrap_or_default()
    }

    /// Returns a random variable of a space, and declares one if the kernel has none.
    fn variable(&mut self, space: usize, random: &mut Random) -> Option<String> {
        if self.names.variables[space].is_empty() && space < PARAM {
            self.declare(matches!(SPACES[space].0, "global" | "const"), SPACES[space].1);
        }
        random.pick(&self.names.variables[space]).cloned()
    }

    /// Adds a declaration, before the kernel or before its statements.
    fn declare(&mut self, outside: bool, line: &str) {
        self.names.read(line);
        self.add(if outside { self.entry } else { self.body.start }, line.into());
        self.body.start += usize::from(!outside);
    }

    pub fn add(&mut self, at: usize, line: String) {
        self.entry += usize::from(at <= self.entry);
        self.body.start += usize::from(at < self.body.start);
        self.body.end += 1;
        self.lines.insert(at, line);
    }

    /// Inserts a piece into the body, `from_end` lines before its end. The piece's registers, labels, variables and addresses are
    /// replaced by those of the kernel.
    pub fn insert(&mut self, piece: &[String], from_end: usize, random: &mut Random) {
        if piece.iter().any(|line| line.contains("wgmma")) {
            // No other target has these instructions.
            for line in self.lines.iter_mut().filter(|line| line.starts_with(".target")) {
                *line = ".target sm_90a".into();
            }
        }
        let mut renamed = HashMap::new();
        for label in piece.iter().filter_map(|line| line.strip_suffix(':')) {
            renamed.insert(label.to_string(), self.new_label(random));
        }
        for line in piece {
            if let Some(above) = line.strip_prefix('^') {
                if !self.lines.iter().any(|known| known == above) {
                    self.add(self.entry, above.into());
                }
            } else {
                let line = self.fitted(line, &mut renamed, random);
                self.add(self.body.end - from_end.min(self.body.len()), line);
            }
        }
    }

    fn fitted(&mut self, line: &str, renamed: &mut HashMap<String, String>, random: &mut Random) -> String {
        let words = words(line);
        let mut new = String::new();
        for (at, &word) in words.iter().enumerate() {
            let name = match (kind(&words, at), renamed.get(word)) {
                (_, Some(name)) => Some(name.clone()),
                (Word::Register(kind), _) => Some(self.register(kind, random)),
                (Word::Label, _) => self.label(random),
                (Word::Variable(space), _) => self.variable(space.unwrap_or_else(|| random.below(2)), random),
                _ => None,
            };
            if let Some(name) = &name {
                renamed.insert(word.into(), name.clone());
            }
            new += name.as_deref().unwrap_or(word);
        }
        // An address that the kernel already uses is more likely to be valid than any other.
        if let Some(space) = space(&words)
            && let Some(address) = random.pick(&self.names.addresses[space])
            && let (Some(from), Some(to)) = (new.find('['), new.find(']'))
            && from < to
            && !random.once_in(3)
        {
            new.replace_range(from + 1..to, address);
        }
        new
    }
}
