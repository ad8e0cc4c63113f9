//! What is shown of a wrong element: the lines that its factors passed, where the elements that it needs are, and the finding itself.

use std::collections::{BTreeMap, BTreeSet};

use simt::Location;
use simt::analyses::provenance::{Arrived, Passage, Source, Value};

use super::asked::{Asked, Place, Side};
use super::element::{Element, Factor, Origins, Pair};
use super::judge::Verdict;
use super::mistake::Mistake;
use super::rule;
use findings::analysis::{HazardReport, HazardThread};
use findings::diagnostic::{Diagnostic, Mark, with_calls};
use findings::hazard_kind::ReportKind;
use findings::places::index;

/// The most lines that a finding shows.
pub const LINES: usize = 3;

/// Writes the finding about one element, and about all others with the same mistake.
pub struct Teller<'a> {
    pub origins: &'a Origins,
    pub asked: &'a Asked,
    /// All elements with the mistake.
    pub alike: &'a [&'a (Element, Verdict)],
    pub element: &'a Element,
    /// If all sums are complete and displaced by one rule, that rule: factors of row and column, and the start.
    pub moved: Option<[i64; 3]>,
    /// How many elements have the mistake, of how many.
    pub count: u64,
    pub looked_at: u64,
}

impl Teller<'_> {
    /// The finding: what happens, the places that show it, those first that say most, and what else was seen.
    pub fn told(&self, mistake: Mistake, what: &str, marks: Vec<Mark>, notes: Vec<String>) -> HazardReport {
        let Self { element: Element { name, store, .. }, count, looked_at, .. } = self;
        let (block, thread) = store.map_or(([0; 3], [0; 3]), |store| (index(store.block), index(store.thread)));
        let mut shown: Vec<Mark> = vec![];
        for mark in marks {
            let at = &mark.spot.at;
            let is_new = shown.iter().all(|known| known.spot.at.line != at.line);
            if at.line.is_some() && is_new && shown.len() < LINES {
                shown.push(mark);
            }
        }
        for (at, mark) in shown.iter_mut().enumerate() {
            mark.aside = at > 0;
        }
        let side = |mark: &Mark| HazardThread::at(&mark.spot.at, block, thread, mark.label.clone());
        let threads = shown.iter().map(side).collect();
        let all = format!("so it is in {count} of {looked_at} elements of C; {name} is shown");
        let mut marks = with_calls(shown);
        marks.truncate(LINES);
        let diagnostic = Diagnostic {
            title: format!("{}: {what}", mistake.name()),
            marks,
            note: Some(notes.into_iter().chain(self.origins.flat()).chain([all]).collect::<Vec<_>>().join("; ")),
            ..Diagnostic::default()
        };
        HazardReport { kind: ReportKind::from(mistake), place: name.clone(), threads, count: *count, diagnostic }
    }

    /// The line of an instruction.
    pub fn line(&self, instruction: u32) -> String {
        self.origins.line(instruction).map_or_else(|| "the kernel".into(), |line| format!("line {line}"))
    }

    pub fn place(&self, instruction: u32) -> Location {
        self.origins.location(instruction)
    }

    /// The instruction that stores the element.
    pub fn store(&self) -> Option<u32> {
        self.element.store.map(|store| store.instruction)
    }

    /// `line 3 multiplies A[1][2] by B[2][4]`
    pub fn product(&self, pair: &Pair) -> String {
        let [one, other] = self.factors(pair);
        format!("{} multiplies {one} by {other}", self.line(pair.term.instruction))
    }

    pub fn factors(&self, pair: &Pair) -> [String; 2] {
        pair.factors.map(|(factor, _)| factor.name(self.asked))
    }

    pub fn mark(&self, instruction: u32, element: Option<simt::Place>, label: impl Into<String>) -> Mark {
        Mark { element, ..Mark::at(&self.place(instruction), label) }
    }

    /// An instruction that stores.
    pub fn stores(&self, instruction: u32, element: Option<simt::Place>, label: impl Into<String>) -> Mark {
        Mark { writes: true, ..self.mark(instruction, element, label) }
    }

    /// Where the products of a sum are added.
    pub fn adds(&self, instruction: u32) -> Mark {
        self.mark(instruction, None, "the products are added here")
    }

    /// The store of the element.
    pub fn store_mark(&self, label: &str) -> Option<Mark> {
        self.store().map(|store| self.stores(store, None, label))
    }

    /// The word of shared memory that a value was read from.
    pub fn cell(&self, value: &Value) -> simt::Place {
        value.shared.map_or(simt::Place::Shared(0), |passage| self.word(passage.address))
    }

    /// The element of a shared array that a word is.
    pub fn word(&self, address: u32) -> simt::Place {
        self.origins.word(address)
    }

    /// The elements of an operand that the block of this element put into shared memory, in order.
    pub fn arrived(&self, side: Side) -> Vec<(Place, Arrived)> {
        self.element.store.map(|store| self.origins.arrived(self.asked, store.block, side)).unwrap_or_default()
    }

    /// How an element of an operand was put there, once or more often.
    pub fn arrivals(&self, side: Side, of: Place) -> Vec<Arrived> {
        let all = self.arrived(side).into_iter().filter(|(place, _)| *place == of);
        all.map(|(_, arrived)| arrived).collect()
    }

    /// Where an element was stored, if it was: the place nearest to the one that was read instead.
    pub fn arrival(&self, side: Side, needed: Place, value: &Value) -> Option<Arrived> {
        let read = value.shared.map_or(0, |passage| passage.address);
        let distance = |at: &Arrived| (!self.same_but_for_buffer(read, at.address), at.address.abs_diff(read));
        self.arrivals(side, needed).into_iter().min_by_key(distance)
    }

    /// Where a value was read from shared memory.
    pub fn read(&self, value: &Value, label: &str) -> Option<Mark> {
        let cell = self.cell(value);
        value.shared.map(|passage| self.mark(passage.loaded, Some(cell.clone()), format!("{cell} {label}")))
    }

    /// How a value came to where it is multiplied: where it was read, where it was put into shared memory, and where it was read
    /// from global memory; of these, what is there.
    pub fn way(&self, name: &str, array: &str, value: &Value) -> [Option<Mark>; 3] {
        let stored = value.shared.and_then(|passage| Some((passage, passage.stored?)));
        let put = stored.map(|(passage, stored)| {
            let thread = self.origins.thread(passage.by);
            self.stores(stored, Some(self.cell(value)), format!("thread {thread} has put {name} there"))
        });
        let loaded = value.loaded.map(|loaded| {
            let (element, how) = match value.source {
                Source::Computed => (None, "computed"),
                _ => (Some(findings::element::element_of(array, simt::Space::Global, vec![])), "read"),
            };
            self.mark(loaded, element, format!("{name} is {how} here"))
        });
        [self.read(value, &format!("holds {name}")), put, loaded]
    }

    /// The ways of both factors of a product.
    pub fn passages(&self, pair: &Pair) -> Vec<Mark> {
        let of = |(factor, value): &(Factor, Value)| {
            let array = if let Factor::Of(side, _) = factor { self.asked.array(*side) } else { "C" };
            self.way(&factor.name(self.asked), array, value)
        };
        // First where both were read, then where they came from.
        let [one, other] = [of(&pair.factors[0]), of(&pair.factors[1])];
        one.into_iter().zip(other).flat_map(|(one, other)| [one, other]).flatten().collect()
    }

    /// Where the parts of a sum lie in shared memory, if it is put together there.
    pub fn parts(&self) -> Vec<Mark> {
        let shown = |at: u32| self.origins.line(at).is_some();
        let mut marks = vec![];
        for passage in self.element.formed.passages.iter().filter(|passage| shown(passage.loaded)) {
            let cell = self.word(passage.address);
            marks.push(self.mark(passage.loaded, Some(cell.clone()), format!("a part of the sum is read from {cell}")));
            marks.extend(passage.stored.map(|at| self.stores(at, Some(cell), "a part of a sum is stored here")));
        }
        marks
    }

    /// Whether two words are the same element of a tile, perhaps in different buffers.
    pub fn same_but_for_buffer(&self, one: u32, other: u32) -> bool {
        self.origins.in_buffer(one).1 == self.origins.in_buffer(other).1
    }

    /// The elements of an operand with which the block first fills shared memory, and their addresses.
    pub fn first_fill(&self, side: Side) -> Vec<(Place, i64)> {
        let mut seen = BTreeSet::new();
        let arrived = self.arrived(side).into_iter().filter(|(_, arrived)| seen.insert(arrived.address));
        arrived.map(|(place, arrived)| (place, arrived.address.into())).collect()
    }

    /// Whether one k is read where another one should be because a tile of another step lies there: in the same place of a tile.
    pub fn is_tile_of_another_step(&self, side: Side, needed: u64, taken: u64) -> bool {
        let own = self.element.own(side);
        let [of_needed, of_taken] = [needed, taken].map(|k| self.arrivals(side, (own, k)));
        let is_same = |one: &Arrived| of_taken.iter().any(|other| self.same_but_for_buffer(one.address, other.address));
        let all = self.arrived(side).iter().filter(|(place, _)| place.0 == own).count() as u64;
        let is_step = |depth| depth > 1 && depth < all && needed.abs_diff(taken).is_multiple_of(depth);
        of_needed.iter().any(is_same) || self.depth_of_tile(side).is_some_and(is_step)
    }

    /// How many k of an operand a tile has: as many as follow each other at the same distance.
    fn depth_of_tile(&self, side: Side) -> Option<u64> {
        let mut arrived = self.arrived(side);
        arrived.retain(|((own, _), _)| *own == self.element.own(side));
        let ks: BTreeMap<u64, u32> = arrived.iter().rev().map(|((_, k), arrived)| (*k, arrived.address)).collect();
        let addresses: Vec<u32> = ks.into_values().collect();
        let first = i64::from(*addresses.get(1)?) - i64::from(addresses[0]);
        let goes_on = |pair: &&[u32]| i64::from(pair[1]) - i64::from(pair[0]) == first;
        Some(1 + addresses.windows(2).take_while(goes_on).count() as u64)
    }

    /// How an operand is stored and how it is read, if the distances of neighbours are not the same.
    pub fn laid_out_in_two_ways(&self, side: Side, stored: u32, read: u32) -> Option<String> {
        let filled: BTreeMap<Place, i64> = self.first_fill(side).into_iter().collect();
        let block = |element: &Element| element.store.map(|store| store.block);
        let is_other = |factor: &Factor| matches!(factor, Factor::Of(of, _) if *of == side.other());
        let mut taken = vec![];
        for (element, _) in self.alike.iter().filter(|(element, _)| block(element) == block(self.element)) {
            taken.extend(element.pairs.iter().filter_map(|pair| {
                let ((_, k), _) = pair.of(side.other())?;
                let place = Some((element.own(side), k)).filter(|place| filled.contains_key(place))?;
                let mut own = pair.factors.iter().filter(|(factor, _)| !is_other(factor));
                Some((place, i64::from(own.find_map(|(_, value)| Some(value.shared?.address))?)))
            }));
        }
        let [own, k, _] = rule::affine(&filled.into_iter().collect::<Vec<_>>())?;
        let [own_read, k_read, _] = rule::affine(&taken)?;
        let (what, one, other) = if k == k_read { (side.line(), own, own_read) } else { ("k", k, k_read) };
        let size = if one % 4 == 0 && other % 4 == 0 { 4 } else { 2 };
        let ([one, other], array) = ([one / size, other / size], self.asked.array(side));
        let [stored, read] = [stored, read].map(|at| self.line(at));
        let apart = format!(
            "in {stored} the elements of {array} are stored {one} apart from one {what} to the next, and {read} reads \
             them {other} apart"
        );
        (one != other).then_some(apart)
    }

    /// Whether a word was stored once, for a step in which it was read rightly, and is read again.
    pub fn is_left_over(&self, side: Side, taken: Place, passage: Passage) -> bool {
        let times = self.arrivals(side, taken).iter().filter(|it| it.address == passage.address).count();
        let is_same = |(place, value): (Place, Value)| {
            place == taken && value.shared.is_some_and(|other| other.address == passage.address)
        };
        let whole = self.element.pairs.iter().filter(|pair| !pair.has_part());
        let reads = whole.filter(|pair| pair.of(side).is_some_and(is_same)).count();
        times == 1 && reads > 1
    }
}

/// `line 3` or `lines 3, 5 and 7`
pub fn listed(lines: &BTreeSet<u32>) -> String {
    let all: Vec<String> = lines.iter().map(u32::to_string).collect();
    match all.split_last() {
        Some((last, before)) if !before.is_empty() => format!("lines {} and {last}", before.join(", ")),
        _ => format!("line {}", all.concat()),
    }
}
