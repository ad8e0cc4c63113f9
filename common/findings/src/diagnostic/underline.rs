//! Which part of a statement is underlined. The compiler tells the line and the column at which a statement starts; the
//! access in it is found by its array's name.

use std::ops::Range;

use simt::{Array, Place, Space};

use super::source::{Source, is_assignment};
use super::spot::{Spot, code};
use super::statements::{is_name, is_word};

/// A place in the kernel, and who did what there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The place.
    pub spot: Spot,
    /// The element that is accessed, such as `As[3][17]`, if its array has a name.
    pub element: Option<simt::Place>,
    /// The element is written there.
    pub writes: bool,
    /// Of two accesses that are alike, the second one is meant.
    pub second: bool,
    /// Who did what.
    pub label: String,
    /// It only helps to understand the other marks, and is underlined differently.
    pub aside: bool,
    /// Of lines that set variables only a few are shown, those with the smallest rank; others have the rank 0.
    pub rank: usize,
}

/// A use of an array, `As[y][k]`, as tokens of its line.
pub struct Use {
    pub tokens: Range<usize>,
    pub reads: bool,
    pub writes: bool,
}

/// How many lines a statement may take. A longer search would find the access of another statement.
const LINES: u32 = 6;

/// The line and the bytes of it to underline: the access of a mark by the statement that starts at its line and column.
pub fn access(mark: &Mark) -> (u32, Range<usize>) {
    let Mark { spot: source, element, writes, .. } = mark;
    let line = source.at.line.unwrap_or_default();
    let own = source.own_line();
    let begins = source.on_from().next();
    // Of `As.load(y, k)` the compiler of Rust tells the column of `load`.
    let start = begins.map(|at| if at > own.start + 1 && source.text(at - 1) == "." { at - 2 } else { at });
    let is_last = |at: usize| source.line_of(at + 1) != source.line_of(at);
    let ends = |at: &usize| matches!(source.text(*at), ";" | "{" | "}") && is_last(*at);
    let all = source.on_lines(line, LINES);
    let end = all.clone().find(ends).unwrap_or(all.end);
    let array = element.as_ref().and_then(array_name);
    let found = array.map(|array| source.uses(start.unwrap_or(own.end)..end, array));
    let index = element.as_ref().map(Place::index).unwrap_or_default();
    let value = |found: &Use| {
        let direction = if *writes { found.writes } else { found.reads };
        (direction, agrees(source.written(&found.tokens), &index))
    };
    let all: Vec<Use> = found.into_iter().flatten().collect();
    // Among equals, the one that comes first in the line, or the last one.
    let best = if mark.second { all.into_iter().max_by_key(value) } else { all.into_iter().rev().max_by_key(value) };
    match best {
        Some(Use { tokens, .. }) => (source.line_of(tokens.start), source.bytes(&tokens)),
        None if !own.is_empty() => (line, source.bytes(&whole(source, start.unwrap_or(own.start)..own.end))),
        // It has nothing but a line for the preprocessor.
        None => {
            let text = source.lines.get(line as usize - 1).map_or("", |line| code(line)).trim_end_matches(';');
            (line, text.len() - text.trim_start().len()..text.len())
        }
    }
}

/// Whether no index that is written as a number contradicts the element: `As[1][x]` is no access to `As[0][5]`.
fn agrees(access: &str, element: &[u64]) -> bool {
    let index = |text: &str| text.split(']').next()?.trim().parse::<u64>().ok();
    access.split('[').skip(1).zip(element).all(|(one, other)| index(one).is_none_or(|one| one == *other))
}

/// The first statement of these tokens, without its semicolon.
fn whole(source: &Source, Range { start, end }: Range<usize>) -> Range<usize> {
    let mut depth = 0_i32;
    let ends = |at: &usize| {
        depth += i32::from(source.text(*at) == "(") - i32::from(source.text(*at) == ")");
        source.text(*at) == ";" && depth <= 0 && *at > start
    };
    start..(start..end).find(ends).unwrap_or(end)
}

impl Spot {
    /// The uses of an array in the line.
    pub fn accesses(&self, array: &str) -> Vec<Use> {
        self.uses(self.own_line(), array)
    }

    /// Whether the line has such a word.
    pub fn has_word(&self, is_it: impl Fn(&str) -> bool) -> bool {
        self.words(&self.own_line()).iter().any(|word| is_it(&word.text))
    }
}

impl Source {
    /// The uses of an array that begin in these tokens, and end in their lines.
    pub fn uses(&self, of: Range<usize>, array: &str) -> Vec<Use> {
        let named = of.filter(|&at| self.text(at) == array);
        let in_line = |found: &Use| self.line_of(found.tokens.start) == self.line_of(found.tokens.end - 1);
        named.filter_map(|at| self.one_use(at)).filter(in_line).collect()
    }

    /// The use that begins with an array's name: a call of a method, or the name with its indices.
    fn one_use(&self, name: usize) -> Option<Use> {
        let mut end = name + 1;
        let mut indexed = false;
        loop {
            let is_member = is_word(self.text(end + 1)) && !matches!(self.text(end + 2), "(" | "::" | "<");
            match self.text(end) {
                "[" => (end, indexed) = (self.behind(end, self.tokens.len()), true),
                "." | "->" if is_member => end += 2,
                _ => break,
            }
        }
        if self.text(name + 1) == "." && !indexed {
            let open = (name + 2..self.tokens.len()).find(|&at| self.text(at) == "(")?;
            // `pair.x = f(y)` sets a component of a vector, and is not a call of a method.
            let of_call = |at| self.text(at).chars().all(|c| is_name(c) || ":<>".contains(c));
            let reads = ["load", "get"].iter().any(|begin| self.text(name + 2).starts_with(begin));
            let tokens = name..self.behind(open, self.tokens.len());
            return (name + 2..open).all(of_call).then_some(Use { tokens, reads, writes: !reads });
        }
        let (before, after) = (if name > 0 { self.text(name - 1) } else { "" }, self.text(end));
        let set = after == "=";
        let changed = is_assignment(after) && !set || [before, after].iter().any(|it| matches!(*it, "++" | "--"));
        // The address is taken here, and used elsewhere.
        let address = before == "&";
        let (reads, writes) = (changed || address || !set, changed || address || set);
        indexed.then_some(Use { tokens: name..end, reads, writes })
    }
}

/// An element of an array; without an index any of them.
pub fn element_of(name: &str, space: Space, index: Vec<u64>) -> Place {
    Place::Element { array: Array { name: name.to_owned(), space }, index, bytes: 0 }
}

/// The name of the array of a place; of a member of a structure, that of the variable.
pub fn array_name(place: &Place) -> Option<&str> {
    place.array()?.name.split(['[', '.']).next().map(unmangled)
}

/// The name of a static variable as the source has it: `sum` for `_ZZ6matmulE3sum`.
pub fn unmangled(name: &str) -> &str {
    let of_function = name.strip_prefix("_ZZ").and_then(|rest| rest.rsplit_once('E'));
    of_function.map_or(name, |(_, name)| name.trim_start_matches(|c: char| c.is_ascii_digit()))
}
