//! What is shown of a wrong element: the lines that its factors passed, and the words of a finding.

use plan::Problem;
use simt::analyses::provenance::{Arrived, Passage, Value};

use super::element::{Element, Origins, Pair, Place, Side, global};
use super::judge::Verdict;
use crate::code::places::{Sources, index, triple};
use crate::findings::diagnostic::{Mark, set_by};
use crate::findings::hazard_kind::Mistake;

/// What a wrong element is told by: which mistake it is, and everything that is shown.
pub struct Told {
    pub mistake: Mistake,
    pub what: String,
    pub marks: Vec<Mark>,
    pub note: Option<String>,
    pub help: String,
}

/// Tells of one element, and of all that have the same mistake.
pub struct Teller<'a> {
    pub origins: &'a Origins,
    pub problem: &'a Problem,
    /// All elements with the mistake.
    pub alike: &'a [&'a (Element, Verdict)],
    pub element: &'a Element,
}

impl Teller<'_> {
    pub fn line(&self, instruction: u32) -> String {
        self.origins.line(instruction).map_or_else(|| "the kernel".into(), |line| format!("line {line}"))
    }

    pub fn mark(&self, instruction: u32, element: Option<simt::Place>, label: &str) -> Mark {
        Mark { location: self.origins.location(instruction), element, writes: false, label: label.into(), aside: false }
    }

    /// The word of shared memory that a value was read from.
    pub fn cell(&self, value: &Value) -> simt::Place {
        value.shared.map_or(simt::Place::Shared(0), |passage| self.origins.word(passage.position))
    }

    pub fn read(&self, value: &Value, label: &str) -> Vec<Mark> {
        let cell = self.cell(value);
        let mark = |passage: &Passage| self.mark(passage.loaded, Some(cell.clone()), &format!("{cell} {label}"));
        value.shared.iter().map(mark).collect()
    }

    /// The way of a factor to where it is multiplied, the last part first.
    pub fn passage(&self, pair: &Pair, side: Side) -> Vec<Mark> {
        let Some((place, value)) = pair.of(side) else { return vec![] };
        self.way(&side.element(place), side.name(), &value)
    }

    pub fn way(&self, name: &str, array: &str, value: &Value) -> Vec<Mark> {
        let mut marks = vec![];
        if let Some(passage) = value.shared {
            let cell = self.cell(value);
            marks.push(self.mark(passage.loaded, Some(cell.clone()), &format!("{cell} holds {name}")));
            if let Some(stored) = passage.stored {
                let thread = triple(index(self.origins.thread(passage.by)));
                let label = format!("thread {thread} has put {name} there");
                marks.push(Mark { writes: true, ..self.mark(stored, Some(cell), &label) });
            }
        }
        if let Some(loaded) = value.loaded
            && marks.iter().all(|mark| mark.location.line != self.origins.location(loaded).line)
        {
            marks.push(self.mark(loaded, Some(global(array, &[])), &format!("{name} is read here")));
        }
        marks
    }

    /// The lines that set what the line of an instruction uses, but for those that are marked already.
    pub fn set_by(&self, instruction: u32, stores: bool, marks: &mut Vec<Mark>) {
        for mark in set_by(&mut Sources::default(), &self.origins.location(instruction), stores) {
            if marks.iter().all(|known| known.location.line != mark.location.line) {
                marks.push(mark);
            }
        }
    }

    pub fn store_mark(&self, label: &str) -> Option<Mark> {
        let store = self.element.store.as_ref()?;
        Some(Mark { writes: true, ..self.mark(store.instruction, Some(global("C", &[])), label) })
    }

    /// Where an element was put, if it was: nearest to where another one was read in its place.
    pub fn arrival(&self, side: Side, needed: Place, value: &Value) -> Option<Arrived> {
        let block = self.element.store?.block;
        let read = value.shared.map_or(0, |passage| passage.position);
        let arrived = self.origins.arrived(self.problem, block, side).into_iter();
        let there = arrived.filter(|(place, _)| *place == needed).map(|(_, arrived)| arrived);
        there.min_by_key(|arrived| (!self.same_but_for_buffer(read, arrived.position), arrived.position.abs_diff(read)))
    }

    /// Whether two words are the same element of a tile, perhaps in different buffers.
    pub fn same_but_for_buffer(&self, one: u32, other: u32) -> bool {
        let [one, other] = [one, other].map(|position| self.origins.word(position));
        let [mut index, mut same] = [&one, &other].map(simt::Place::index);
        if index.len() == 3 && same.len() == 3 {
            (index[0], same[0]) = (0, 0);
        }
        one.is_beside(&other) && index == same
    }

    /// Whether a word was right in the first step: then what comes later is loaded from the wrong place.
    pub fn moved(&self, side: Side, needed: Place, passage: Passage) -> bool {
        let Some(store) = self.element.store else { return false };
        let arrived = self.origins.arrived(self.problem, store.block, side);
        let mut seen = std::collections::BTreeSet::new();
        let first: Vec<_> = arrived.iter().filter(|(_, arrived)| seen.insert(arrived.position)).collect();
        let steps = first.iter().map(|((_, k), _)| k + 1).max().unwrap_or(1);
        let here = first.iter().find(|(_, arrived)| arrived.position == passage.position);
        here.is_some_and(|((own, k), _)| *own == needed.0 && needed.1 >= steps && (needed.1 - k).is_multiple_of(steps))
    }
}
