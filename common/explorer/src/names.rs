//! Elements of matrices and of shared arrays by name, alone and as blocks: `A[1][0..31]`.

use crate::log::LaunchTape;
use crate::run::{A, B, C, Run};
use serde_json::{Value, json};
use std::fmt;

/// An element of an array. One of shared memory that belongs to no array has no name and its place in bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Element {
    pub array: String,
    /// Its index, the slowest dimension first.
    pub index: Vec<u32>,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.array)?;
        self.index.iter().try_for_each(|index| write!(f, "[{index}]"))
    }
}

/// The element at an address: of an array of global memory, or of shared memory.
pub fn element(run: &Run, launch: &LaunchTape, array: Option<usize>, address: u32) -> Element {
    let element = |name: &str, index: Vec<u32>| Element { array: name.to_owned(), index };
    let Some(array) = array else {
        let Some(found) = launch.shared_array(address) else {
            return element("", vec![address]);
        };
        let mut rest = (address - found.offset) / 4;
        let known = run.extents.iter().find(|(name, _)| *name == found.source_name);
        let mut index = vec![];
        for &extent in known.iter().flat_map(|(_, known)| known.extents.iter().skip(1).rev()) {
            index.push(rest % extent.max(1));
            rest /= extent.max(1);
        }
        index.push(rest);
        index.reverse();
        return element(&found.source_name, index);
    };
    let [_, n, k] = run.size;
    let (name, index) = (run.tape.arrays.get(array).map_or("", |array| array.name.as_str()), address / 4);
    match array {
        A => element(name, vec![index / k, index % k]),
        B | C => element(name, vec![index / n, index % n]),
        _ => element(name, vec![index]),
    }
}

/// A block of elements, both ends included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    first: Element,
    last: Vec<u32>,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.first.array)?;
        self.first.index.iter().zip(&self.last).try_for_each(|(first, last)| {
            if first == last { write!(f, "[{first}]") } else { write!(f, "[{first}..{last}]") }
        })
    }
}

impl Range {
    pub fn array(&self) -> &str {
        &self.first.array
    }

    /// For the page.
    pub fn value(&self) -> Value {
        json!({ "array": self.first.array, "first": self.first.index, "last": self.last })
    }

    /// Puts another one behind it, along one dimension, if it continues this one.
    fn join(&mut self, other: &Self, along: usize) -> bool {
        let joins = |at: usize| {
            let same = (self.first.index[at], self.last[at]) == (other.first.index[at], other.last[at]);
            if at == along { other.first.index[at] == self.last[at] + 1 } else { same }
        };
        let fits = self.first.array == other.first.array && self.last.len() == other.last.len();
        let fits = fits && (0..self.last.len()).all(joins);
        if fits {
            self.last.clone_from(&other.last);
        }
        fits
    }
}

/// Elements as blocks, row-major, each element once.
pub fn ranges(mut elements: Vec<Element>) -> Vec<Range> {
    elements.sort();
    elements.dedup();
    let dimensions = elements.iter().map(|element| element.index.len()).max().unwrap_or(0);
    let single = |first: Element| Range { last: first.index.clone(), first };
    let mut ranges: Vec<Range> = elements.into_iter().map(single).collect();
    for along in (0..dimensions).rev() {
        let mut joined: Vec<Range> = vec![];
        for range in ranges {
            // Blocks beside each other have others between them, but not many.
            if !joined.iter_mut().rev().take(64).any(|before| before.join(&range, along)) {
                joined.push(range);
            }
        }
        ranges = joined;
    }
    ranges
}

/// The first ones by name, and how many more there are.
pub fn named(ranges: &[Range]) -> String {
    let mut names: Vec<String> = ranges.iter().take(3).map(Range::to_string).collect();
    if ranges.len() > 3 {
        names.push(format!("{} more places", ranges.len() - 3));
    }
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_beside_each_other_are_one_block() {
        let element = |array: &str, index: &[u32]| Element { array: array.into(), index: index.to_vec() };
        let row = |row: u32| (0..32).map(move |column| (row, column));
        let of = |places: Vec<(u32, u32)>| {
            named(&ranges(places.into_iter().map(|(row, column)| element("A", &[row, column])).collect()))
        };
        assert_eq!(of(row(1).rev().chain(row(1)).collect()), "A[1][0..31]");
        assert_eq!(of(row(1).chain(row(2)).collect()), "A[1..2][0..31]");
        assert_eq!(of(row(1).chain(row(3)).collect()), "A[1][0..31] and A[3][0..31]");
        assert_eq!(of((0..4).map(|row| (row, 7)).collect()), "A[0..3][7]");
        assert_eq!(of((0..5).map(|row| (2 * row, 7)).collect()), "A[0][7], A[2][7], A[4][7] and 2 more places");
        let deep = [[0, 1, 2], [0, 1, 3], [1, 1, 2], [1, 1, 3]].map(|index| element("As", &index));
        assert_eq!(named(&ranges(deep.to_vec())), "As[0..1][1][2..3]");
        assert_eq!(named(&ranges(vec![element("", &[132]), element("B", &[0])])), "[132] and B[0]");
    }
}
