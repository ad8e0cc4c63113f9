//! An edit of a source, and what it changes line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Serialize;

/// A piece of the source, by its bytes, and what stands there instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Change {
    /// The first byte.
    pub from: usize,
    /// The byte behind the last one.
    pub to: usize,
    /// The new text.
    pub new: String,
}

impl Change {
    /// Replaces these bytes.
    pub fn new(span: Range<usize>, new: impl Into<String>) -> Self {
        Self { from: span.start, to: span.end, new: new.into() }
    }
}

/// A small edit of a kernel: one or more changes that do not overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced, in the order of the source.
    pub changes: Vec<Change>,
    /// How unlikely it is to be what the kernel needs: 1 for the likeliest. They are tried in this order.
    pub tier: u32,
    /// How much it changes, for the choice among edits that all work.
    pub cost: u32,
    /// What it does, the same for edits that do the same at different places.
    pub what: String,
}

impl Edit {
    /// The edited source; none if the changes overlap.
    pub fn apply(&self, text: &str) -> Option<String> {
        let (mut out, mut at) = (String::with_capacity(text.len() + 64), 0);
        for Change { from, to, new } in &self.changes {
            out += text.get(at..*from)?;
            out += new;
            at = *to;
        }
        out += text.get(at..)?;
        Some(out)
    }

    /// Both edits; none if they overlap or are the same.
    pub fn with(&self, other: &Self) -> Option<Self> {
        let mut changes = [&self.changes[..], &other.changes].concat();
        changes.sort();
        let apart = changes.windows(2).all(|pair| pair[0].to <= pair[1].from && pair[0] != pair[1]);
        let what = if self.what == other.what { self.what.clone() } else { format!("{}; {}", self.what, other.what) };
        apart.then(|| Self { changes, tier: self.tier.max(other.tier) + 1, cost: self.cost + other.cost + 1, what })
    }

    /// The lines that it changes, counted from 1, each with what it was and what it becomes. The new text may have several lines,
    /// and none if the line is deleted.
    pub fn lines(&self, text: &str) -> Vec<LineEdit> {
        let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let line_of = |at: usize| starts.partition_point(|&start| start <= at) - 1;
        let end_of = |line: usize| starts.get(line + 1).map_or(text.len(), |next| next - 1);
        // Lines that one change spans belong together.
        let mut groups: BTreeMap<usize, (usize, Vec<&Change>)> = BTreeMap::new();
        for change in &self.changes {
            let (first, last) = (line_of(change.from), line_of(change.to.max(change.from + 1) - 1));
            match groups.last_entry().filter(|entry| entry.get().0 >= first) {
                Some(mut entry) => {
                    entry.get_mut().0 = entry.get().0.max(last);
                    entry.get_mut().1.push(change);
                }
                None => {
                    groups.insert(first, (last, vec![change]));
                }
            }
        }
        let mut edits = vec![];
        for (first, (last, changes)) in groups {
            let (start, end) = (starts[first], end_of(last));
            let (mut new, mut at) = (String::new(), start);
            for change in changes {
                new += &text[at..change.from];
                new += &change.new;
                at = change.to;
            }
            new += text.get(at..end).unwrap_or_default();
            let old: Vec<&str> = text[start..end].lines().collect();
            let is_blank = new.trim().is_empty();
            if !is_blank && new.matches('\n').count() + 1 == old.len() {
                let pairs = old.iter().zip(new.lines()).enumerate().filter(|(_, (old, new))| *old != new);
                edits.extend(pairs.map(|(at, (old, new))| LineEdit::new(first + at + 1, old, new)));
                continue;
            }
            let new = if is_blank { String::new() } else { new.trim_end().to_owned() };
            edits.push(LineEdit::new(first + 1, old.first().copied().unwrap_or_default(), &new));
            let rest = old.iter().enumerate().skip(1);
            edits.extend(rest.map(|(at, old)| LineEdit::new(first + at + 1, old, "")));
        }
        edits
    }
}

/// Edits of a source that are kept; of the likeliest ones, four times as many.
const MOST_PROPOSED: usize = 8192;

/// Edits as they are proposed, each once.
#[derive(Debug, Default)]
pub struct Proposals {
    /// All of them.
    pub edits: Vec<Edit>,
    known: BTreeSet<Vec<Change>>,
}

impl Proposals {
    /// Proposes an edit.
    pub fn add(&mut self, mut changes: Vec<Change>, tier: u32, cost: u32, what: String) {
        changes.sort();
        // The unlikely ones of a long source would never be tried.
        if self.edits.len() >= MOST_PROPOSED && tier > 1 || self.edits.len() >= 4 * MOST_PROPOSED {
            return;
        }
        if changes.windows(2).all(|pair| pair[0].to <= pair[1].from) && self.known.insert(changes.clone()) {
            self.edits.push(Edit { changes, tier, cost, what });
        }
    }

    /// Proposes to replace one piece.
    pub fn replace(&mut self, span: Range<usize>, new: impl Into<String>, tier: u32, cost: u32, what: String) {
        self.add(vec![Change::new(span, new)], tier, cost, what);
    }
}

/// A line of a kernel and what it becomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineEdit {
    /// The line, counted from 1.
    pub line: usize,
    /// What it is.
    pub old: String,
    /// What it becomes: nothing if it is deleted, several lines if some are put in.
    pub new: String,
}

impl LineEdit {
    fn new(line: usize, old: &str, new: &str) -> Self {
        Self { line, old: old.to_owned(), new: new.to_owned() }
    }
}

/// A change of the launch: what is not given stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LaunchEdit {
    /// Threads of a block in x and y, as `--block` takes them.
    pub block: String,
    /// Columns and rows of C that a block computes, as `--tile` takes them.
    pub tile: String,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

/// What makes a kernel right: it was tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// Lines of the kernel that change.
    pub edits: Vec<LineEdit>,
    /// The launch, if that is what changes.
    pub launch: Option<LaunchEdit>,
}

impl Repair {
    /// Where it changes something, in a sentence that does not say what.
    pub fn place(&self) -> String {
        let lines: Vec<String> = self.edits.iter().map(|edit| edit.line.to_string()).collect();
        match &lines[..] {
            [] => "tried: the kernel is right as it is with another launch".into(),
            [one] => format!("tried: a small edit of line {one} makes the kernel right"),
            [all @ .., last] => {
                format!("tried: a small edit of lines {} and {last} makes the kernel right", all.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(changes: &[(usize, usize, &str)]) -> Edit {
        let changes = changes.iter().map(|&(from, to, new)| Change { from, to, new: new.into() }).collect();
        Edit { changes, tier: 1, cost: 1, what: String::new() }
    }

    #[test]
    fn an_edit_says_what_each_line_becomes() {
        let text = "one;\ntwo;\nthree;\n";
        let lines = |edit: &Edit| -> Vec<(usize, String, String)> {
            edit.lines(text).into_iter().map(|it| (it.line, it.old, it.new)).collect()
        };
        let owned = |line: usize, old: &str, new: &str| (line, old.to_owned(), new.to_owned());
        let name = edit(&[(5, 8, "2"), (10, 15, "3")]);
        assert_eq!(name.apply(text).unwrap(), "one;\n2;\n3;\n");
        assert_eq!(lines(&name), [owned(2, "two;", "2;"), owned(3, "three;", "3;")]);
        let moved = edit(&[(0, 4, ""), (9, 9, "\none;")]);
        assert_eq!(moved.apply(text).unwrap(), "\ntwo;\none;\nthree;\n");
        assert_eq!(lines(&moved), [owned(1, "one;", ""), owned(2, "two;", "two;\none;")]);
        let overlapping = name.with(&edit(&[(6, 7, "x")]));
        assert_eq!(overlapping, None);
        assert_eq!(name.with(&name), None);
        assert_eq!(edit(&[(5, 8, "2")]).with(&edit(&[(0, 3, "1")])).unwrap().apply(text).unwrap(), "1;\n2;\nthree;\n");
    }
}
