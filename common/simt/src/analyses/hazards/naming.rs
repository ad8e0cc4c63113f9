//! Findings to hazards with words: arrays and elements by name, threads by index, instructions by source line.

use super::finding::{Finding, Found, Place, Side};
use super::plan::Plan;
use crate::analyses::declarations::Extents;
use crate::analyses::report::{Hazard, HazardKind, Party};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// What names are made from.
pub(super) struct Naming<'a> {
    pub plan: &'a Plan,
    /// Extents of shared arrays by source name.
    pub extents: &'a HashMap<String, Extents>,
}

impl Naming<'_> {
    /// The hazards in words, in the order of their kinds.
    pub(super) fn hazards(&self, found: &Found) -> Vec<Hazard> {
        let hazard = |(kind, finding): (HazardKind, Finding)| {
            let sides = [Some(finding.first), finding.second].into_iter().flatten();
            let parties = sides.map(|side| self.party(side)).collect();
            Hazard { kind, place: self.place(finding.place), parties, count: finding.count, time: finding.time }
        };
        self.by_line(found).into_iter().map(hazard).collect()
    }

    /// One finding for each pair of source lines and array, whichever came first: an unrolled loop is one line to the reader.
    fn by_line(&self, found: &Found) -> Vec<(HazardKind, Finding)> {
        let line = |side: Side| self.plan.kernel.source_line(side.instruction).unwrap_or((u32::MAX, side.instruction));
        let array = |place: Place| match place {
            Place::Shared(address) => (0, self.plan.shared_array(address).map_or(0, |(index, _)| index as u64 + 1)),
            Place::Global(address) => (1, self.plan.arrays.iter().filter(|array| array.base <= address).count() as u64),
            Place::Register(number) => (2, u64::from(number)),
            Place::Barrier(id) => (3, u64::from(id)),
            Place::Local(_) => (4, 0),
            Place::Mask(_) => (5, 0),
            // The reader sees one array.
            Place::Accumulator(_) => (6, 0),
        };
        let mut merged: BTreeMap<_, Finding> = BTreeMap::new();
        for (kind, &finding) in found.iter() {
            let (a, b) = (line(finding.first), finding.second.map(line));
            let key = (kind, array(finding.place), a.min(b.unwrap_or(a)), b.map(|b| b.max(a)));
            merged.entry(key).and_modify(|known| known.join(finding)).or_insert(finding);
        }
        merged.into_iter().map(|((kind, ..), finding)| (kind, finding)).collect()
    }

    fn party(&self, side: Side) -> Party {
        Party {
            block: self.plan.grid.index(side.block),
            thread: self.plan.block.index(u64::from(side.thread)),
            action: side.action.words(),
            location: self.plan.kernel.location(side.instruction),
        }
    }

    fn place(&self, place: Place) -> String {
        match place {
            Place::Register(number) => {
                let name = self.plan.doubtful_registers().get(number as usize);
                format!("register {}", name.map_or("?", String::as_str))
            }
            Place::Accumulator(number) => {
                let name = self.plan.products().registers.get(number as usize);
                format!("register {}", name.map_or("?", String::as_str))
            }
            Place::Barrier(id) => format!("barrier {id}"),
            Place::Local(address) => format!("local memory + {address} bytes"),
            Place::Mask(lanes) => format!("mask {lanes:#010x}"),
            Place::Shared(address) => {
                let Some((_, array)) = self.plan.shared_array(address) else {
                    return format!("shared memory + {address} bytes");
                };
                let offset = address - array.offset;
                let name = &array.source_name;
                match self.extents.get(name) {
                    Some(known) => element(name, offset, known),
                    None => format!("{name} + {offset} bytes"),
                }
            }
            Place::Global(address) => {
                let Some(array) = self.plan.arrays.iter().find(|array| array.holds(address)) else {
                    return format!("address {address:#x}");
                };
                let (offset, size) = (address - array.base, u64::from(array.element_bytes));
                format!("{}[{}]{}", array.name, offset / size, inside(offset % size))
            }
        }
    }
}

/// The element of an array with known extents: `As[3][17]`.
fn element(name: &str, offset: u32, known: &Extents) -> String {
    let size = known.element_bytes.max(1);
    let mut index = offset / size;
    let mut indices = vec![];
    for (dimension, &extent) in known.extents.iter().enumerate().rev() {
        // The slowest index is left as it is, so that a place past the end shows as such.
        let extent = if dimension == 0 { u32::MAX } else { extent.max(1) };
        indices.push(index % extent);
        index /= extent;
    }
    let mut text = name.to_string();
    for index in indices.iter().rev() {
        let _ = write!(text, "[{index}]");
    }
    text + &inside(u64::from(offset % size))
}

/// A position inside an element, unless it is its start.
fn inside(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!(" + {bytes} bytes") }
}
