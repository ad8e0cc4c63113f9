//! The words of an opcode, and what those mean that several families of instructions share.

use crate::ast::{Space, Statement};
use crate::lower::inst::{Combine, Compare, Rounding};

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
        match (0..self.words.len()).find(|&index| !self.used[index] && self.words[index] == word) {
            Some(index) => {
                self.used[index] = true;
                true
            }
            None => false,
        }
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
            let hint = matches!(
                word.as_str(),
                "ca" | "cg"
                    | "cs"
                    | "cv"
                    | "lu"
                    | "wb"
                    | "wt"
                    | "nc"
                    | "volatile"
                    | "weak"
                    | "relaxed"
                    | "acquire"
                    | "release"
                    | "acq_rel"
                    | "cta"
                    | "gpu"
                    | "sys"
                    | "cluster"
                    | "mmio"
                    | "uni"
                    | "full"
                    | "sc"
            ) || word.starts_with("L1::")
                || word.starts_with("L2::");
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

pub(super) fn rounding(word: &str) -> Option<Rounding> {
    Some(match word {
        "rn" => Rounding::Nearest,
        "rz" => Rounding::Zero,
        "rm" => Rounding::Down,
        "rp" => Rounding::Up,
        "rni" => Rounding::IntNearest,
        "rzi" => Rounding::IntZero,
        "rmi" => Rounding::IntDown,
        "rpi" => Rounding::IntUp,
        _ => return None,
    })
}

pub(super) fn compare(word: &str) -> Option<Compare> {
    Some(match word {
        "eq" => Compare::Eq,
        "ne" => Compare::Ne,
        "lt" | "lo" => Compare::Lt,
        "le" | "ls" => Compare::Le,
        "gt" | "hi" => Compare::Gt,
        "ge" | "hs" => Compare::Ge,
        "equ" => Compare::Equ,
        "neu" => Compare::Neu,
        "ltu" => Compare::Ltu,
        "leu" => Compare::Leu,
        "gtu" => Compare::Gtu,
        "geu" => Compare::Geu,
        "num" => Compare::Num,
        "nan" => Compare::Nan,
        _ => return None,
    })
}

pub(super) fn combine(word: &str) -> Option<Combine> {
    Some(match word {
        "and" => Combine::And,
        "or" => Combine::Or,
        "xor" => Combine::Xor,
        _ => return None,
    })
}

pub(super) fn space(word: &str) -> Option<Space> {
    Some(match word.split("::").next().unwrap_or(word) {
        "global" => Space::Global,
        "shared" => Space::Shared,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" => Space::Param,
        _ => return None,
    })
}
