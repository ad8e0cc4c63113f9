//! What is shown of a wrong element: the lines that its factors passed, and the words of a finding.

use std::collections::{BTreeMap, BTreeSet};

use simt::analyses::provenance::{Arrived, Passage, Source, Value};

use super::asked::{Asked, Place, Side};
use super::element::{Element, Origins, Pair, global};
use super::judge::Verdict;
use super::rule;
use crate::code::places::{index, triple};
use crate::findings::diagnostic::{Mark, code_at, of_kind, set_by, set_by_line, uses};
use crate::findings::hazard_kind::Mistake;

/// What a wrong element is told by: which mistake it is, and everything that is shown.
pub struct Told {
    pub mistake: Mistake,
    pub what: String,
    pub marks: Vec<Mark>,
    pub note: Option<String>,
    pub help: String,
}

impl Told {
    pub fn new(mistake: Mistake, what: impl Into<String>, marks: Vec<Mark>, help: impl Into<String>) -> Self {
        Self { mistake, what: what.into(), marks, note: None, help: help.into() }
    }

    /// With the help that the kind of mistake has, for what is seen in this line.
    pub fn of_kind(mistake: Mistake, what: impl Into<String>, marks: Vec<Mark>, line: &str) -> Self {
        Self::new(mistake, what, marks, of_kind(mistake.name(), &[("line", line)]).1)
    }
}

/// Tells of one element, and of all that have the same mistake.
pub struct Teller<'a> {
    pub origins: &'a Origins,
    pub asked: &'a Asked,
    /// All elements with the mistake.
    pub alike: &'a [&'a (Element, Verdict)],
    pub element: &'a Element,
    /// How the sums lie in C, if all are whole and lie elsewhere by one rule: row, column and start.
    pub moved: Option<[i64; 3]>,
}

impl Teller<'_> {
    pub fn line(&self, instruction: u32) -> String {
        self.origins.line(instruction).map_or_else(|| "the kernel".into(), |line| format!("line {line}"))
    }

    pub fn mark(&self, instruction: u32, element: Option<simt::Place>, label: impl Into<String>) -> Mark {
        Mark { location: self.origins.location(instruction), element, writes: false, label: label.into(), aside: false }
    }

    /// An instruction that stores.
    pub fn stores(&self, instruction: u32, element: Option<simt::Place>, label: impl Into<String>) -> Mark {
        Mark { writes: true, ..self.mark(instruction, element, label) }
    }

    /// The word of shared memory that a value was read from.
    pub fn cell(&self, value: &Value) -> simt::Place {
        value.shared.map_or(simt::Place::Shared(0), |passage| self.word(passage.address))
    }

    /// The element of a shared array that a word is. In memory that the launch asks for it is named as in the line that stores
    /// there.
    pub fn word(&self, address: u32) -> simt::Place {
        let place = self.origins.word(address);
        if !self.origins.is_dynamic(address) {
            return place;
        }
        // By instruction: the first address, and the bytes of an element.
        let mut begins: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        for (_, arrived) in Side::BOTH.into_iter().flat_map(|side| self.arrived(side)) {
            let known = begins.entry(arrived.stored).or_insert((arrived.address, 4));
            *known = (arrived.address.min(known.0), if arrived.address.is_multiple_of(4) { known.1 } else { 2 });
        }
        let before =
            begins.into_iter().filter(|(_, (begin, _))| *begin <= address).max_by_key(|(_, (begin, _))| *begin);
        let named = before.and_then(|(stored, (begin, size))| {
            let name = set_by_line(&code_at(&self.origins.location(stored)))?.to_owned();
            let array = simt::Array { name, space: simt::Space::Shared };
            Some(simt::Place::Element { array, index: vec![u64::from((address - begin) / size)], bytes: 0 })
        });
        named.unwrap_or(place)
    }

    /// The elements of an operand that the block of this element put into shared memory, in order.
    pub fn arrived(&self, side: Side) -> Vec<(Place, Arrived)> {
        self.element.store.map(|store| self.origins.arrived(self.asked, store.block, side)).unwrap_or_default()
    }

    /// The value, read in the line that multiplies it if that names the array: the compiler reads once for several lines.
    pub fn seen(&self, pair: &Pair, side: Side, value: Value) -> Value {
        let product = pair.term.instruction;
        let names = |at| !uses(&code_at(&self.origins.location(at)), self.asked.array(side)).is_empty();
        let loaded = value.loaded.map(|loaded| if value.shared.is_none() && names(product) { product } else { loaded });
        Value { loaded, ..value }
    }

    pub fn read(&self, value: &Value, label: &str) -> Vec<Mark> {
        let cell = self.cell(value);
        let mark = |passage: &Passage| self.mark(passage.loaded, Some(cell.clone()), format!("{cell} {label}"));
        value.shared.iter().map(mark).collect()
    }

    /// The way of a factor to where it is multiplied, the last part first.
    pub fn passage(&self, pair: &Pair, side: Side) -> Vec<Mark> {
        let Some((place, value)) = pair.of(side) else { return vec![] };
        self.way(&self.asked.name(side, place), self.asked.array(side), &self.seen(pair, side, value))
    }

    pub fn passages(&self, pair: &Pair) -> Vec<Mark> {
        Side::BOTH.into_iter().flat_map(|side| self.passage(pair, side)).collect()
    }

    pub fn way(&self, name: &str, array: &str, value: &Value) -> Vec<Mark> {
        let mut marks = vec![];
        if let Some(passage) = value.shared {
            let cell = self.cell(value);
            marks.push(self.mark(passage.loaded, Some(cell.clone()), format!("{cell} holds {name}")));
            if let Some(stored) = passage.stored {
                let thread = triple(index(self.origins.thread(passage.by)));
                marks.push(self.stores(stored, Some(cell), format!("thread {thread} has put {name} there")));
            }
        }
        if let Some(loaded) = value.loaded {
            let (element, how) = match value.source {
                Source::Computed => (None, "computed"),
                _ => (Some(global(array, &[])), "read"),
            };
            add(&mut marks, self.mark(loaded, element, format!("{name} is {how} here")));
        }
        marks
    }

    /// The lines that set what the line of an instruction uses, but for those that are marked already.
    pub fn set_by(&self, instruction: u32, stores: bool, marks: &mut Vec<Mark>) {
        for mark in set_by(&self.origins.location(instruction), stores) {
            add(marks, mark);
        }
    }

    pub fn store_mark(&self, label: &str) -> Option<Mark> {
        self.element.store.map(|store| self.stores(store.instruction, Some(global("C", &[])), label))
    }

    /// The store of the element, and the lines that set what it uses.
    pub fn store_marks(&self, label: &str, marks: &mut Vec<Mark>) {
        marks.extend(self.store_mark(label));
        self.element.store.inspect(|store| self.set_by(store.instruction, true, marks));
    }

    /// Where an element was put, if it was: nearest to where another one was read in its place.
    pub fn arrival(&self, side: Side, needed: Place, value: &Value) -> Option<Arrived> {
        let read = value.shared.map_or(0, |passage| passage.address);
        let arrived = self.arrived(side).into_iter();
        let there = arrived.filter(|(place, _)| *place == needed).map(|(_, arrived)| arrived);
        there.min_by_key(|arrived| (!self.same_but_for_buffer(read, arrived.address), arrived.address.abs_diff(read)))
    }

    /// Whether two words are the same element of a tile, perhaps in different buffers.
    pub fn same_but_for_buffer(&self, one: u32, other: u32) -> bool {
        let [one, other] = [one, other].map(|address| self.origins.word(address));
        let [mut index, mut same] = [&one, &other].map(simt::Place::index);
        if index.len() == 3 && same.len() == 3 {
            (index[0], same[0]) = (0, 0);
        }
        one.is_beside(&other) && index == same
    }

    /// Whether a word was right in the first step: then what comes later is loaded from the wrong place.
    pub fn moved(&self, side: Side, needed: Place, passage: Passage) -> bool {
        let arrived = self.arrived(side);
        let mut seen = BTreeSet::new();
        let first: Vec<_> = arrived.iter().filter(|(_, arrived)| seen.insert(arrived.address)).collect();
        let steps = first.iter().map(|((_, k), _)| k + 1).max().unwrap_or(1);
        let here = first.iter().find(|(_, arrived)| arrived.address == passage.address);
        here.is_some_and(|((own, k), _)| *own == needed.0 && needed.1 >= steps && (needed.1 - k).is_multiple_of(steps))
    }

    /// Whether the block keeps every element of an operand that it puts into shared memory.
    pub fn is_stored_once(&self, side: Side) -> bool {
        let mut seen = BTreeSet::new();
        self.arrived(side).iter().all(|(_, arrived)| seen.insert(arrived.address))
    }

    /// Whether the tile of an operand lies in shared memory with fixed strides, as each word was filled first: then it is what
    /// is read that is wrong, and not how it was stored.
    pub fn is_laid_out(&self, side: Side) -> bool {
        let mut seen = BTreeSet::new();
        let arrived = self.arrived(side).into_iter().filter(|(_, arrived)| seen.insert(arrived.address));
        rule::affine(&arrived.map(|(place, arrived)| (place, arrived.address.into())).collect::<Vec<_>>()).is_some()
    }
}

/// Adds a mark, if its line has none.
pub fn add(marks: &mut Vec<Mark>, mark: Mark) {
    if marks.iter().all(|known| known.location.line != mark.location.line) {
        marks.push(mark);
    }
}

/// `line 3` or `lines 3 and 5`
pub fn listed(lines: &BTreeSet<u32>) -> String {
    let all: Vec<String> = lines.iter().map(u32::to_string).collect();
    format!("line{} {}", if all.len() == 1 { "" } else { "s" }, all.join(" and "))
}
