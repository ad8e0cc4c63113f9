//! Elements of matrices and of shared arrays by name, alone and as blocks: `A[1][0..31]`.

use crate::log::LaunchTape;
use crate::matrices::C;
use crate::run::Run;
use serde::Serialize;
use std::fmt;

/// Elements of an array that form a block, and often a single one. Of shared memory that belongs to no array: without a name, and by its
/// place in bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Elements {
    pub array: String,
    /// The first index and the last, the slowest dimension first.
    index: Vec<[u32; 2]>,
}

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.array)?;
        self.index.iter().try_for_each(|[first, last]| {
            if first == last { write!(f, "[{first}]") } else { write!(f, "[{first}..{last}]") }
        })
    }
}

impl Elements {
    pub fn single(array: &str, index: &[u32]) -> Self {
        Self { array: array.to_owned(), index: index.iter().map(|&index| [index, index]).collect() }
    }

    /// Appends `other` along one dimension, if it continues these elements.
    fn join(&mut self, other: &Self, along: usize) -> bool {
        let joins = |at: usize| {
            let (own, others) = (self.index[at], other.index[at]);
            if at == along { others[0] == own[1] + 1 } else { own == others }
        };
        let fits = self.array == other.array && self.index.len() == other.index.len();
        let fits = fits && along < self.index.len() && (0..self.index.len()).all(joins);
        if fits {
            self.index[along][1] = other.index[along][1];
        }
        fits
    }
}

/// The element at an address: of an array of global memory, or of shared memory.
pub fn element(run: &Run, launch: &LaunchTape, array: Option<usize>, address: u32) -> Elements {
    if let Some(array) = array {
        let (name, index) = (&run.tape.arrays[array].name, address / 4);
        let place = run.row_column(array, index);
        return Elements::single(name, if array <= C { &place } else { &place[1..] });
    }
    let Some(found) = launch.shared_array(address) else { return Elements::single("", &[address]) };
    let mut rest = (address - found.offset) / 4;
    let known = run.extents.iter().find(|(name, _)| *name == found.source_name);
    let mut index = vec![];
    for &extent in known.iter().flat_map(|(_, known)| known.extents.iter().skip(1).rev()) {
        index.push(rest % extent.max(1));
        rest /= extent.max(1);
    }
    index.push(rest);
    index.reverse();
    Elements::single(&found.source_name, &index)
}

/// Elements as blocks, row-major, each element once.
pub fn blocks(mut elements: Vec<Elements>) -> Vec<Elements> {
    elements.sort();
    elements.dedup();
    let dimensions = elements.iter().map(|element| element.index.len()).max().unwrap_or(0);
    for along in (0..dimensions).rev() {
        let mut joined: Vec<Elements> = vec![];
        for next in elements {
            // In this order, a few others may be between blocks that adjoin.
            if !joined.iter_mut().rev().take(64).any(|before| before.join(&next, along)) {
                joined.push(next);
            }
        }
        elements = joined;
    }
    elements
}

/// The first ones by name, and how many more there are.
pub fn named(blocks: &[Elements]) -> String {
    let mut names: Vec<String> = blocks.iter().take(3).map(Elements::to_string).collect();
    if blocks.len() > 3 {
        let more = blocks.len() - 3;
        names.push(format!("{more} more {}", if more == 1 { "place" } else { "places" }));
    }
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}
