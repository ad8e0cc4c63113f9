//! Turns the findings of the rules into hazards: with names of arrays and elements, thread indices, and source lines.

use super::finding::{Finding, Found, Side, Spot};
use super::hazard::{Hazard, HazardKind, Party};
use super::setup::Setup;
use crate::{Array, Place, Space};
use std::collections::{BTreeMap, HashMap};

/// Extents of a shared array, for messages such as "As\[3\]\[17\]".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extents {
    /// Size of an element in bytes.
    pub element_bytes: u32,
    /// Extents, the slowest-varying index first; `float As[32][33]` has 32 and 33.
    pub extents: Vec<u32>,
}

/// A line of the source: file and number.
type Line = (u32, u32);

/// The kind, the sort of place and number of its array, and the lines of both sides.
type Key = (HazardKind, (u32, u64), Line, Option<Line>);

/// The data that names are made from.
pub(super) struct Naming<'a> {
    pub setup: &'a Setup,
    /// Extents of shared arrays by source name.
    pub extents: &'a HashMap<String, Extents>,
}

impl Naming<'_> {
    /// Returns the hazards, in the order of their kinds. Of those that a later run found, it adds only new ones.
    pub(super) fn hazards(&self, runs: &[Found]) -> Vec<Hazard> {
        let hazard = |(kind, finding): (HazardKind, Finding)| {
            let sides = [Some(finding.first), finding.second].into_iter().flatten();
            let party = |side: Side| Party {
                block: self.setup.grid.index(side.block),
                thread: self.setup.block.index(side.thread.into()),
                action: side.action,
                location: self.setup.kernel.location(side.instruction),
            };
            let parties = sides.map(party).collect();
            Hazard { kind, place: self.place(finding.spot), parties, count: finding.count, time: finding.time }
        };
        let merged: BTreeMap<Key, Finding> = runs.iter().rev().flat_map(|found| self.by_line(found)).collect();
        merged.into_iter().map(|((kind, ..), finding)| hazard((kind, finding))).collect()
    }

    /// Keeps one finding for each kind, array and unordered pair of source lines, because an unrolled loop is one line to the reader.
    fn by_line(&self, found: &Found) -> BTreeMap<Key, Finding> {
        let line = |side: Side| self.setup.kernel.source_line(side.instruction).unwrap_or((u32::MAX, side.instruction));
        let array = |spot: Spot| match spot {
            Spot::Shared(address) => {
                (0, self.setup.code().shared_array(address.into()).map_or(0, |(index, _)| index as u64 + 1))
            }
            Spot::Global(address) => (1, self.setup.arrays.iter().filter(|array| array.base <= address).count() as u64),
            Spot::Register(number) => (2, u64::from(number)),
            Spot::Result(number) => (7, u64::from(number)),
            Spot::Barrier(id) => (3, u64::from(id)),
            Spot::Local(_) => (4, 0),
            Spot::Mask(_) => (5, 0),
            // These registers are one array in the source.
            Spot::Accumulator(_) => (6, 0),
        };
        let mut merged: BTreeMap<Key, Finding> = BTreeMap::new();
        for (kind, &finding) in found.iter() {
            let (a, b) = (line(finding.first), finding.second.map(line));
            let key = (kind, array(finding.spot), a.min(b.unwrap_or(a)), b.map(|b| b.max(a)));
            merged.entry(key).and_modify(|known| known.join(finding)).or_insert(finding);
        }
        merged
    }

    fn place(&self, spot: Spot) -> Place {
        let register = |name: Option<&String>| Place::Register(name.map_or("?", String::as_str).into());
        let code = self.setup.code();
        match spot {
            Spot::Register(number) => register(code.maybe_unset.get(number as usize).map(|(name, _)| name)),
            Spot::Result(number) => register(code.registers_written(number).next().map(|written| &written.name)),
            Spot::Accumulator(number) => register(code.products.registers.get(number as usize)),
            Spot::Barrier(id) => Place::Barrier(id),
            Spot::Local(address) => Place::Local(address.into()),
            Spot::Mask(lanes) => Place::Lanes(lanes),
            Spot::Shared(address) => {
                let Some((_, array)) = self.setup.code().shared_array(address.into()) else {
                    return Place::Shared(address.into());
                };
                let offset = address - array.offset;
                let extents = self.extents.get(&array.source_name);
                let array = Array { name: array.source_name.clone(), space: Space::Shared };
                match extents {
                    Some(known) => element(array, offset, known),
                    None => Place::Offset { array, bytes: offset.into() },
                }
            }
            Spot::Global(address) => {
                let Some(array) = self.setup.arrays.iter().find(|array| array.holds(address)) else {
                    return Place::Address(address);
                };
                let (offset, size) = (address - array.base, u64::from(array.element_bytes));
                Place::Element { array: array.named(), index: vec![offset / size], bytes: offset % size }
            }
        }
    }
}

/// Returns the element at an offset in an array with known extents, such as `As[3][17]`.
fn element(array: Array, offset: u32, known: &Extents) -> Place {
    let size = known.element_bytes.max(1);
    let mut left = offset / size;
    let mut index = vec![];
    for (dimension, &extent) in known.extents.iter().enumerate().rev() {
        // The slowest-varying index is not limited, so that a place past the end is shown as such.
        let extent = if dimension == 0 { u32::MAX } else { extent.max(1) };
        index.push(u64::from(left % extent));
        left /= extent;
    }
    index.reverse();
    Place::Element { array, index, bytes: u64::from(offset % size) }
}
