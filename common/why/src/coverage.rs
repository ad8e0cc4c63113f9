//! Elements in whose sum products are missing, or are there too often: which k, and what became of them.

use std::collections::BTreeMap;

use simt::analyses::provenance::Arrived;

use super::asked::Side;
use super::element::Pair;
use super::mistake::Mistake;
use super::teller::Teller;
use findings::analysis::HazardReport;
use findings::diagnostic::Mark;

impl Teller<'_> {
    /// A product of a k that the element does not need.
    pub fn beyond(&self, pair: &Pair) -> HazardReport {
        let mut marks = vec![self.mark(pair.term.instruction, None, "it is multiplied here")];
        marks.extend(self.passages(pair));
        let depth = self.element.depth;
        let ([one, other], name) = (self.factors(pair), &self.element.name);
        let what =
            format!("{one} times {other} is in the sum for {name}, which has its products from k = 0 to {}", depth - 1);
        // With a tile it follows from what was loaded, and a fault of that load may explain it better.
        let of_tile = Side::BOTH.iter().any(|&side| pair.shared(side).is_some());
        self.told(if of_tile { Mistake::Part } else { Mistake::Beyond }, &what, marks, vec![])
    }

    fn is_shared(&self, side: Side) -> bool {
        self.element.pairs.iter().any(|pair| pair.shared(side).is_some())
    }

    /// Where an element that belongs here was put, if the operand is multiplied from shared memory.
    fn came(&self, side: Side, k: u64) -> Option<Arrived> {
        let (_, value) = self.element.pairs.iter().find_map(|pair| pair.of(side))?;
        value.shared.and_then(|_| self.arrival(side, (self.element.own(side), k), &value))
    }

    /// Some k are missing, or are there too often.
    pub fn part(&self, missing: &[u64], repeated: &[u64]) -> HazardReport {
        let (element, name) = (self.element, &self.element.name);
        let [never, twice] = [missing, repeated].map(|ks| self.asked.ks(ks));
        let what = match (missing, repeated) {
            ([], _) => format!("{twice} {} in the sum for {name} more than once", are(&twice)),
            (_, []) => format!("{never} {} not in the sum for {name}", are(&never)),
            _ => format!("in the sum for {name}, {twice} {} more than once, and {never} not at all", are(&twice)),
        };
        // The line of most of the products is the one that adds them.
        let mut counts: BTreeMap<Option<u32>, usize> = BTreeMap::new();
        let multiplies = element.pairs.iter().map(|pair| pair.term.instruction);
        let most = multiplies.max_by_key(|&multiply| {
            let count = counts.entry(self.origins.line(multiply)).or_default();
            *count += 1;
            *count
        });
        let adds = self.adds(most.unwrap_or_default());
        let ks: Vec<u64> = element.pairs.iter().filter_map(|pair| pair.k_of(element.needs)).collect();
        self.lacking(missing, &what)
            .or_else(|| self.taken_again(missing, &what))
            .or_else(|| self.another_tile(missing, repeated, &what, &adds))
            .or_else(|| self.after_the_end(missing, &ks, &what, &adds))
            .unwrap_or_else(|| {
                let of_lines = self.of_two_lines();
                let mut marks = vec![adds];
                marks.extend(of_lines);
                marks.extend(element.pairs.last().map(|pair| self.passages(pair)).unwrap_or_default());
                marks.extend(self.store_mark("the sum is stored here"));
                self.told(Mistake::Part, &what, marks, vec![])
            })
    }

    /// Products that were formed and are not in the sum.
    fn lacking(&self, missing: &[u64], what: &str) -> Option<HazardReport> {
        let element = self.element;
        let lacks = |k| missing.contains(&k);
        let is_missing = |pair: &Pair| !pair.has_part() && pair.k_of(element.needs).is_some_and(lacks);
        let formed = |own| self.origins.product(self.asked, element, own, is_missing);
        let (pair, later) = &formed(true).or_else(|| formed(false))?;
        let thread = self.origins.thread(pair.term.thread);
        let [one, other] = self.factors(pair);
        let mut marks = vec![self.mark(pair.term.instruction, None, format!("{one} times {other} is formed here"))];
        let formed = format!("{} forms their products in thread {thread}", self.line(pair.term.instruction));
        if *later && self.is_own(pair) && element.formed.passages.is_empty() {
            marks.extend(self.store_mark("the sum is stored here, and goes on after that"));
            return Some(self.told(Mistake::Early, what, marks, vec![formed]));
        }
        marks.extend(self.parts());
        marks.extend(self.store_mark("this sum lacks it"));
        Some(self.told(Mistake::Lost, what, marks, vec![formed]))
    }

    /// One product is there twice, or two threads have formed it.
    fn taken_again(&self, missing: &[u64], what: &str) -> Option<HazardReport> {
        let pairs = &self.element.pairs;
        let of_a = |pair: &Pair| pair.of(Side::A).map(|(place, _)| place);
        let before = |(at, one): (usize, _)| Some((one, pairs[..at].iter().find(|other| of_a(one) == of_a(other))?));
        let again: Vec<(&Pair, &Pair)> = pairs.iter().enumerate().filter_map(before).collect();
        // Of a product that two lines form of the same factors, the compiler makes one.
        let is_one = |(one, other): &&(&Pair, &Pair)| one.term.tag == other.term.tag && !one.term.matrix;
        if let Some((one, _)) = again.iter().find(is_one).filter(|_| missing.is_empty()) {
            let mut marks = vec![];
            marks.extend(self.store_mark("the sum is in this more than once"));
            marks.push(self.mark(one.term.instruction, None, "the sum is formed here, once"));
            marks.extend(self.parts());
            return Some(self.told(Mistake::Part, what, marks, vec![]));
        }
        let (one, other) = again.into_iter().find(|(one, other)| one.term.thread != other.term.thread)?;
        let [one_thread, other_thread] = [other, one].map(|pair| self.origins.thread(pair.term.thread));
        let mut marks = vec![self.mark(one.term.instruction, None, "all of them multiply here")];
        marks.extend(self.parts());
        let note = format!("several threads form the same products, such as {one_thread} and {other_thread}");
        Some(self.told(Mistake::Part, what, marks, vec![note]))
    }

    /// The elements came to shared memory, and others were multiplied in their place; or elements were multiplied once more that came
    /// once.
    fn another_tile(&self, missing: &[u64], repeated: &[u64], what: &str, adds: &Mark) -> Option<HazardReport> {
        let (element, k, again) = (self.element, *missing.first()?, *repeated.first()?);
        let is_again = |pair: &&Pair| pair.of(Side::A).is_some_and(|((_, k), _)| repeated.contains(&k));
        let pair = element.pairs.iter().rfind(is_again).or(element.pairs.last())?;
        let arrived = Side::BOTH.into_iter().find_map(|side| Some((side, self.came(side, k)?)));
        let side = Side::BOTH.into_iter().find(|&side| self.is_shared(side))?;
        let came = self.arrivals(side, (element.own(side), again));
        let Some((side, arrived)) = arrived else {
            let (place, value) = pair.of(side)?;
            let one = self.asked.name(side, place);
            let need = self.asked.name(side, (element.own(side), k));
            let (mistake, note) = match came.len() {
                1 => (Mistake::Stale, format!("{one} was stored once, and {need} never")),
                times => (Mistake::Part, format!("{one} was brought to shared memory {times} times, and {need} never")),
            };
            let mut marks = self.way(&one, self.asked.array(side), &value);
            marks.reverse();
            let marks = marks.into_iter().flatten().chain([adds.clone()]);
            return Some(self.told(mistake, what, marks.collect(), vec![note]));
        };
        let (need, cell) = (self.asked.name(side, (element.own(side), k)), self.word(arrived.address));
        let stored = self.stores(arrived.stored, Some(cell.clone()), format!("{need} is stored in {cell}"));
        let note = format!("{need} was stored in {cell} in {}", self.line(arrived.stored));
        let is_stale = Side::BOTH.iter().any(|&side| self.is_tile_of_another_step(side, k, again));
        let mistake = if is_stale { Mistake::Stale } else { Mistake::Part };
        let read = pair.of(side).and_then(|(place, value)| {
            self.read(&value, &format!("holds {} when it is read", self.asked.name(side, place)))
        });
        let marks = read.into_iter().chain([adds.clone(), stored]);
        Some(self.told(mistake, what, marks.collect(), vec![note]))
    }

    /// The first products are those of the sum, in their order, and more follow.
    fn after_the_end(&self, missing: &[u64], ks: &[u64], what: &str, adds: &Mark) -> Option<HazardReport> {
        let (pairs, depth) = (&self.element.pairs, self.element.depth as usize);
        let in_order = missing.is_empty() && ks.iter().copied().take(depth).eq(0..self.element.depth);
        let pair = pairs.get(depth).filter(|pair| !pair.term.matrix && in_order)?;
        pair.shared(Side::A)?;
        let note = "the sum goes on after its last k".to_owned();
        let marks = [adds.clone()].into_iter().chain(self.passages(pair));
        Some(self.told(Mistake::Stale, what, marks.collect(), vec![note]))
    }

    /// Two lines that form the same products.
    fn of_two_lines(&self) -> Vec<Mark> {
        let pairs = &self.element.pairs;
        let line = |pair: &Pair| self.origins.line(pair.term.instruction);
        let same = |one: &Pair| pairs.iter().find(|other| other.places() == one.places() && line(other) != line(one));
        let both = pairs.iter().find_map(|one| Some([one, same(one)?].map(|pair| pair.term.instruction)));
        both.into_iter().flatten().map(|at| self.mark(at, None, "both lines form the same products")).collect()
    }
}

fn are(all: &str) -> &'static str {
    if all.contains(", ") || all.contains(" to ") { "are" } else { "is" }
}
