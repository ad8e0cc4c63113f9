//! The words of an opcode, and what those mean that several families of instructions share.

use crate::ast::{Space, Statement};

/// Words that only advise the hardware, and those that begin with `L1::` or `L2::`.
const HINTS: [&str; 22] = [
    "ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc", "volatile", "weak", "relaxed", "acquire", "release", "acq_rel",
    "cta", "gpu", "sys", "cluster", "mmio", "uni", "full", "sc",
];

/// The words after the opcode.
#[derive(Clone)]
pub(super) struct Words<'a> {
    words: &'a [String],
    used: Vec<bool>,
}

impl<'a> Words<'a> {
    pub fn new(statement: &'a Statement) -> Self {
        let words = &statement.words[1..];
        Self { words, used: vec![false; words.len()] }
    }

    /// Takes a word if it is there.
    pub fn take(&mut self, word: &str) -> bool {
        self.pick(|other| (other == word).then_some(())).is_some()
    }

    /// Takes the first word that is among these; gives what stands beside it.
    pub fn one_of<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        self.pick(|word| choices.iter().find(|choice| choice.0 == word).map(|choice| choice.1))
    }

    /// Takes the first word that `f` understands.
    pub fn pick<T>(&mut self, f: impl Fn(&str) -> Option<T>) -> Option<T> {
        for (index, word) in self.words.iter().enumerate() {
            if !self.used[index]
                && let Some(value) = f(word)
            {
                self.used[index] = true;
                return Some(value);
            }
        }
        None
    }

    /// Takes the words that only advise the hardware.
    pub fn hints(&mut self) {
        for (index, word) in self.words.iter().enumerate() {
            let hint = HINTS.contains(&word.as_str()) || word.starts_with("L1::") || word.starts_with("L2::");
            self.used[index] |= hint;
        }
    }

    /// The words that nobody has taken.
    pub fn left(&self) -> impl Iterator<Item = &'a str> {
        self.words.iter().zip(&self.used).filter(|(_, used)| !**used).map(|(word, _)| word.as_str())
    }

    /// The first of them.
    pub fn rest(&self) -> Option<&'a str> {
        self.left().next()
    }
}

/// The memory space that a word such as `shared::cta` names.
pub(super) fn space(word: &str) -> Option<Space> {
    Space::named(word.split("::").next().unwrap_or(word))
}
