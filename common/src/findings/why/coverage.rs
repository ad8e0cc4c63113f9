//! Elements in whose sum products are missing, or are there too often: which k, and why.

use std::collections::{BTreeMap, BTreeSet};

use simt::Location;
use simt::analyses::provenance::{Arrived, Source};

use super::asked::{Kind, Side};
use super::element::{Factor, Pair};
use super::teller::{Teller, listed, noted, of_k};
use crate::code::places::{index, triple};
use crate::findings::analysis::HazardReport;
use crate::findings::diagnostic::{
    Mark, Part, READ, STORE, Word, add, also_set, and_callers, around, array_name, at_lines, bounds, code_at, exits,
    has_word, help, keeps, lines_with, set_by, set_by_line, stores_of, value_set,
};
use crate::findings::hazard_kind::Mistake;

impl Teller<'_> {
    pub fn empty(&self) -> HazardReport {
        let mut marks = vec![];
        self.store_marks("this sum is 0", None, &mut marks);
        if !self.origins.multiplies() {
            self.element.store.inspect(|store| self.set_by(store.instruction, READ, &mut marks));
            return self.told(Mistake::Empty, "no product in the kernel", marks, &[]);
        }
        // The thread multiplies for other elements.
        let Some(pair) = self.own_product() else { return self.told(Mistake::Empty, "", marks, &[]) };
        let place = self.origins.location(pair.term.instruction);
        let product = self.mark(pair.term.instruction, None, "the thread multiplies for its other elements here");
        add(&mut marks, [product]);
        let loops = BTreeSet::from_iter(around(&place, &["for", "while", "if"]));
        add(&mut marks, at_lines(&place, loops, "it depends on this"));
        self.told(Mistake::Empty, "products for other elements alone", marks, &self.product(&pair))
    }

    /// The first product that the thread of the element has formed.
    fn own_product(&self) -> Option<Pair> {
        self.origins.products(self.asked, self.element, |pair| self.is_own(pair)).first().map(|(pair, _)| *pair)
    }

    /// Whether the thread that stores the element has formed a product.
    fn is_own(&self, pair: &Pair) -> bool {
        self.element.store.is_some_and(|store| store.number == pair.term.thread)
    }

    /// Where the parts of a sum lie in shared memory, if it is put together there.
    pub fn parts(&self, marks: &mut Vec<Mark>) {
        let shown = |at: u32| self.origins.line(at).is_some();
        for passage in self.element.formed.passages.iter().filter(|passage| shown(passage.loaded)) {
            let cell = self.word(passage.address);
            let read = format!("a part of the sum is read from {cell} here");
            add(marks, [self.mark(passage.loaded, Some(cell.clone()), read)]);
            add(marks, passage.stored.map(|at| self.stores(at, Some(cell), "a part of a sum is stored here")));
        }
    }

    pub fn zero(&self, side: Side, pair: &Pair, k: u64) -> HazardReport {
        let zero = pair.factors.iter().find(|(factor, _)| *factor == Factor::Zero).map(|(_, value)| *value);
        let zero = zero.unwrap_or_default();
        let expected = self.expected(side, (self.element.own(side), k), None);
        let mut marks = self.read(&zero, "holds 0 here");
        let stored = zero.shared.and_then(|passage| passage.stored).or(zero.loaded).unwrap_or(pair.term.instruction);
        let label = format!("0 is taken here for {}", expected[0].1);
        marks.push(self.stores(stored, Some(self.cell(&zero)), label));
        self.set_by(stored, Part { condition: true, ..READ }, &mut marks);
        let words = [self.product(pair), expected, vec![("sizes", self.asked.sizes())]].concat();
        self.told(Mistake::Zero, "", marks, &words)
    }

    pub fn unset(&self, at: usize) -> Option<HazardReport> {
        let pair = &self.element.pairs[at];
        let (_, value) = pair.factors.iter().find(|(factor, _)| *factor == Factor::Unset)?;
        // The other factor tells which element should be there, if it is one that belongs here.
        let other = Side::BOTH.iter().find_map(|&side| {
            Some((side.other(), pair.of(side).filter(|((own, _), _)| *own == self.element.own(side))?.0.1))
        });
        let both = pair.factors.iter().all(|(factor, _)| *factor == Factor::Unset).then_some((Side::A, at as u64));
        let mut marks = self.read(value, "has no value yet");
        let Some((side, k)) = other.or(both) else {
            let arrived = Side::BOTH.iter().flat_map(|&side| self.arrived(side));
            let stores: BTreeSet<u32> = arrived.map(|(_, arrived)| arrived.stored).collect();
            marks.extend(stores.into_iter().map(|stored| self.stores(stored, None, "this stores to shared memory")));
            let cause = "unset, and needed for nothing that is known";
            return Some(self.told(Mistake::Unset, cause, marks, &self.found(value)));
        };
        let needed = (self.element.own(side), k);
        let need = self.asked.name(side, needed);
        let arrived = self.arrival(side, needed, value);
        let [found, expected] = [self.found(value), self.expected(side, needed, arrived)];
        let words = [&found[..], &expected].concat();
        if let Some(arrived) = arrived {
            let passage = value.shared?;
            let there = self.word(arrived.address);
            marks.push(self.stores(arrived.stored, Some(there.clone()), format!("{need} is stored in {there}")));
            if passage.address == arrived.address {
                self.set_by(arrived.stored, STORE, &mut marks);
                return Some(self.told(Mistake::Unset, "unset when it is read", marks, &words));
            }
            self.read_set_by(passage, &mut marks);
            self.set_by(arrived.stored, STORE, &mut marks);
            let (mistake, same) = if self.same_but_for_buffer(passage.address, arrived.address) {
                (Mistake::Stale, "buffer")
            } else {
                (Mistake::Misplaced, "array and the same indices")
            };
            let note = self.laid_out_in_two_ways(side, &expected, &found);
            let words = [words, vec![("same", same.to_owned())]].concat();
            return Some(noted(self.told(mistake, "unset here and stored there", marks, &words), note));
        }
        let stores: BTreeSet<u32> = self.arrived(side).iter().map(|(_, arrived)| arrived.stored).collect();
        let mut lines = BTreeSet::new();
        if stores.is_empty() {
            let read = value.shared.map(|passage| self.origins.location(passage.loaded))?;
            let cell = self.cell(value);
            for store in stores_of(&read, array_name(&cell).unwrap_or_default()) {
                let loops = around(&store.location, &["for", "while", "if"]);
                let heads = at_lines(&store.location, loops, "it depends on this");
                let sets: Vec<Mark> = heads.iter().flat_map(|head| set_by(&head.location, READ)).collect();
                add(&mut marks, [store].into_iter().chain(heads).chain(sets));
            }
        }
        for &stored in &stores {
            let location = self.origins.location(stored);
            // An unrolled loop has many instructions for one line.
            if !lines.insert(location.line.unwrap_or_default()) {
                continue;
            }
            // A vector is often stored in four lines.
            if lines.len() > 2 {
                continue;
            }
            let label = format!("elements of {} are stored here, but not {need}", self.asked.array(side));
            marks.push(self.stores(stored, None, label));
            marks.extend(at_lines(&location, around(&location, &["for", "while", "if"]), "it depends on this"));
            self.set_by(stored, STORE, &mut marks);
        }
        // If the store is also reached without a condition, no condition is to blame.
        let ifs: Vec<Vec<u32>> = stores.iter().map(|&stored| around(&self.origins.location(stored), &["if"])).collect();
        let under_all = !ifs.iter().any(Vec::is_empty);
        let conditions: BTreeSet<u32> = ifs.into_iter().flatten().filter(|_| under_all).collect();
        let cause = match stores.len() {
            0 => "unset in an array that nobody stores to",
            _ if !conditions.is_empty() => "unset under a condition",
            _ => "unset in an array that is stored in part",
        };
        let store = if lines.len() == 1 { "stores" } else { "store" };
        let more = [("lines", listed(&lines)), ("store", store.to_owned()), ("conditions", listed(&conditions))];
        Some(self.told(Mistake::Unset, cause, marks, &[&words[..], &more].concat()))
    }

    /// The sum holds a variable without a value, for which the compiler takes NaN.
    pub fn undefined(&self) -> HazardReport {
        let mut marks: Vec<Mark> = self.store_mark("this is no number").into_iter().collect();
        if let Some(pair) = &self.own_product() {
            marks.push(self.mark(pair.term.instruction, None, "products are formed here"));
            self.set_by(pair.term.instruction, READ, &mut marks);
            for side in Side::BOTH {
                marks.extend(self.passage(pair, side).into_iter().take(1));
            }
        }
        let note = "the compiler may take anything for it, and has taken NaN";
        noted(self.told(Mistake::Unset, "", marks, &[]), Some(note.into()))
    }

    /// The sum goes on after every k has been multiplied.
    pub fn beyond(&self, pair: &Pair) -> HazardReport {
        let at = self.origins.location(pair.term.instruction);
        let mut marks = vec![self.mark(pair.term.instruction, None, "it is multiplied here")];
        marks.extend(self.passages(pair));
        let bound = bounds(&at);
        let lines = bound.as_ref().map_or_else(|| around(&at, &["for", "while"]), |bound| vec![bound.line]);
        let lines = of_k(&at, lines);
        marks.extend(at_lines(&at, lines, "this lets it"));
        let k = self.element.depth;
        let cause = if k == self.asked.problem.k { "k too large" } else { "k that the element does not need" };
        let words = [self.product(pair), vec![("k", k.to_string())]].concat();
        // With a tile it follows from what was loaded, and a fault of that load may explain it better.
        let of_tile = Side::BOTH.iter().any(|&side| pair.of(side).is_some_and(|(_, value)| value.shared.is_some()));
        let mistake = if of_tile { Mistake::Part } else { Mistake::Beyond };
        let mut report = self.told(mistake, cause, marks, &words);
        if let Some(bound) = bound {
            report.diagnostic.help = bound.help;
        }
        report
    }

    /// Whether an operand is multiplied from shared memory.
    fn is_shared(&self, side: Side) -> bool {
        self.element.pairs.iter().any(|pair| pair.of(side).is_some_and(|(_, value)| value.shared.is_some()))
    }

    /// Where an element that belongs here was put, if the operand is multiplied from shared memory.
    fn came(&self, side: Side, k: u64) -> Option<Arrived> {
        let (_, value) = self.element.pairs.iter().find_map(|pair| pair.of(side))?;
        value.shared.and_then(|_| self.arrival(side, (self.element.own(side), k), &value))
    }

    /// Some k are missing, or are there too often.
    pub fn part(&self, missing: &[u64], repeated: &[u64]) -> HazardReport {
        let name = &self.element.name;
        let [never, twice] = [missing, repeated].map(|ks| self.asked.ks(ks));
        let what = match (missing, repeated) {
            ([], _) => format!("{twice} {} multiplied more than once for {name}", are(&twice)),
            (_, []) => format!("{never} {} never multiplied for {name}", are(&never)),
            _ => format!("for {name} {twice} {} multiplied more than once, and {never} never", are(&twice)),
        };
        // A sum with missing or repeated k has at least one product. The line of most of them is in the loop over k.
        let mut counts: BTreeMap<Option<u32>, usize> = BTreeMap::new();
        let mut count = |pair: &Pair| {
            let count = counts.entry(self.origins.line(pair.term.instruction)).or_default();
            *count += 1;
            (*count, pair.term.instruction)
        };
        let most = self.element.pairs.iter().map(&mut count).max_by_key(|(count, _)| *count);
        let multiply = most.map_or(0, |(_, multiply)| multiply);
        let place = self.origins.location(multiply);
        let loops = around(&place, &["for", "while"]);
        let words = vec![("what", what), ("never", never), ("twice", twice)];
        let gap = Gap { missing, repeated, multiply, place, loops, words };
        self.lacking(&gap)
            .or_else(|| self.taken_again(&gap))
            .or_else(|| self.called_for_another_tile(&gap))
            .or_else(|| self.overlapping(&gap).filter(|_| !missing.is_empty()))
            .or_else(|| self.another_tile(&gap))
            .unwrap_or_else(|| if missing.is_empty() { self.again(&gap) } else { self.left_out(&gap) })
    }

    /// Products that were formed and are not in the sum.
    fn lacking(&self, gap: &Gap) -> Option<HazardReport> {
        let element = self.element;
        let is_missing = |pair: &Pair| pair.k_of(element.needs).is_some_and(|k| gap.missing.contains(&k));
        let formed = self.origins.products(self.asked, element, is_missing);
        let (pair, later) = formed.iter().find(|(pair, _)| self.is_own(pair)).or(formed.first())?;
        let location = self.origins.location(pair.term.instruction);
        let thread = triple(index(self.origins.thread(pair.term.thread)));
        let words = [self.product(pair), gap.words.clone(), vec![("thread", thread)]].concat();
        let mut marks = vec![self.mark(pair.term.instruction, None, "the product is formed here")];
        if !self.is_own(pair) || !element.formed.passages.is_empty() {
            self.parts(&mut marks);
            marks.extend(self.store_mark("this sum lacks them"));
            let stores = element.store.iter();
            add(&mut marks, stores.flat_map(|store| value_set(&self.origins.location(store.instruction))));
            let by_shuffles = lines_with(&location, |word| word.contains("shfl"));
            for &line in &by_shuffles {
                let at = Location { line: Some(line), column: None, calls: Box::default(), ..location.clone() };
                add(&mut marks, at_lines(&at, [line], "lanes exchange values here"));
                add(&mut marks, at_lines(&at, around(&at, &["for", "while", "if"]), "it depends on this"));
            }
            let lanes =
                if by_shuffles.is_empty() { String::new() } else { help("parts put together by shuffles", &[]) };
            let store = self.line_of(element.store.map(|store| store.instruction));
            let words = [words, vec![("lanes", lanes), ("store", store)]].concat();
            return Some(self.told(Mistake::Lost, "parts lost", marks, &words));
        }
        if *later {
            marks.extend(self.store_mark("the sum is stored before it is complete"));
            return Some(self.told(Mistake::Early, "stored before the end", marks, &words));
        }
        marks.extend(self.store_mark("this sum lacks it"));
        add(&mut marks, also_set(&location));
        let rest = element.formed.rest.iter().filter(|value| matches!(value.source, Source::Constant(_)));
        let begins = rest.filter_map(|value| Some(self.mark(value.loaded?, None, "it begins with this number here")));
        // If several lines may have set a number, the compiler names any of them.
        let root = |place: &Location| set_by_line(place).map(|set| set.root().to_owned());
        let own = root(&location);
        add(&mut marks, begins.filter(|mark| own.is_some() && root(&mark.location) == own));
        let keeps = keeps(&location);
        element.store.inspect(|store| self.set_by(store.instruction, READ, &mut marks));
        let cause = match keeps {
            _ if pair.term.matrix => "begun again",
            true => "replaced elsewhere",
            false => "replaced",
        };
        Some(self.told(Mistake::Lost, cause, marks, &words))
    }

    /// One product is there twice, or two threads have formed it.
    fn taken_again(&self, gap: &Gap) -> Option<HazardReport> {
        let pairs = &self.element.pairs;
        let of_a = |pair: &Pair| pair.of(Side::A).map(|(place, _)| place);
        let again: Vec<(&Pair, &Pair)> = (pairs.iter().enumerate())
            .filter_map(|(at, one)| Some((one, pairs[..at].iter().find(|other| of_a(one) == of_a(other))?)))
            .collect();
        if let Some((one, _)) = again.iter().find(|(one, other)| one.term.tag == other.term.tag && !one.term.matrix) {
            let mut marks = vec![self.mark(one.term.instruction, None, "the sum is formed here, once")];
            self.parts(&mut marks);
            self.store_marks("and it is in this more than once", None, &mut marks);
            let store = self.element.store.map(|store| store.instruction);
            let loops = self.common_loops(store, &mut marks);
            let cause = if loops.is_empty() { "sum added twice" } else { "sum stored in each step" };
            return Some(self.told(Mistake::Part, cause, marks, &gap.and(&[("loops", loops)])));
        }
        let (one, other) = again.into_iter().find(|(one, other)| one.term.thread != other.term.thread)?;
        let [other_thread, thread] = [other, one].map(|pair| triple(index(self.origins.thread(pair.term.thread))));
        let mut marks = vec![self.mark(one.term.instruction, None, "all of them multiply here")];
        marks.extend(gap.loops("it is done in this loop"));
        self.parts(&mut marks);
        let words = gap.and(&[("one", other_thread), ("other", thread)]);
        Some(self.told(Mistake::Part, "k taken by several threads", marks, &words))
    }

    /// All tiles come in order, but a call has loaded one before or after the one that comes next.
    fn called_for_another_tile(&self, gap: &Gap) -> Option<HazardReport> {
        let element = self.element;
        let ks: Vec<u64> = element.pairs.iter().filter_map(|pair| pair.k_of(element.needs)).collect();
        let shift = |at: usize| ks[at] as i64 - at as i64;
        let at = (0..ks.len()).find(|&at| shift(at) != 0)?;
        let by = shift(at);
        let called = |pair: &Pair| -> Vec<Location> {
            let loads = pair.factors.iter().filter_map(|(_, value)| value.shared.and(value.loaded));
            loads.filter_map(|at| self.call_of(at)).collect()
        };
        let lines = |calls: &[Location]| calls.iter().filter_map(|call| call.line).collect::<BTreeSet<u32>>();
        let [before, calls] = [at.saturating_sub(1), at].map(|at| called(&element.pairs[at]));
        // In a loop that goes on by too much, one call loads all, and each tile is farther away.
        let in_order = (at..ks.len()).all(|at| [0, by].contains(&shift(at)));
        let many = ks.len() - at > 2 * by.unsigned_abs() as usize;
        // What was loaded for another step may have been read in place of the right tile, which came as well.
        let missing = *gap.missing.first()?;
        let times = self.arrived(Side::A).iter().filter(|(place, _)| *place == (element.own(Side::A), ks[at])).count();
        let came = Side::BOTH.into_iter().any(|side| self.came(side, missing).is_some());
        let is_load = if by < 0 { times > 1 } else { !came };
        // Only the first tile is another one, or only the first is not, if a call of its own loads it.
        let is_one = at == 0 && (1..ks.len()).any(|at| shift(at) == 0) || at > 0 && lines(&before) != lines(&calls);
        (!calls.is_empty() && in_order && is_load && (is_one || at > 0 && many)).then_some(())?;
        let tile = self.depth_of_tile(Side::A, false).unwrap_or(by.unsigned_abs());
        let of_tile = |k: u64| self.asked.ks(&(k..element.depth.min(k + tile)).collect::<Vec<u64>>());
        let [found, next] = [ks[at], at as u64].map(of_tile);
        let words = [("call", listed(&lines(&calls))), ("found", found.clone()), ("next", next)];
        let mark = |location| Mark { location, label: format!("this loads {found}"), ..Mark::default() };
        let mut marks = vec![];
        add(&mut marks, calls.into_iter().map(mark));
        add(&mut marks, self.passages(&element.pairs[at]).into_iter().map(|mark| Mark { aside: true, ..mark }));
        Some(self.told(Mistake::Part, "call for another tile", marks, &gap.and(&words)))
    }

    /// The elements came, or may have come, and others were multiplied in their place.
    fn another_tile(&self, gap: &Gap) -> Option<HazardReport> {
        let (element, k) = (self.element, *gap.missing.first()?);
        let again = gap.repeated.first();
        let stands_for_zero = || element.with_zeros.get(k as usize).is_some_and(Pair::is_zero);
        let arrived = Side::BOTH.into_iter().find_map(|side| Some((side, self.came(side, k)?)));
        // The arrivals of an element that is multiplied again.
        let times = again.zip(Side::BOTH.into_iter().find(|&side| self.is_shared(side)));
        let came: Vec<Arrived> = times.map_or(vec![], |(&again, side)| {
            let of = self.arrived(side).into_iter().filter(|(place, _)| *place == (element.own(side), again));
            of.map(|(_, arrived)| arrived).collect()
        });
        let loads: BTreeSet<Option<u32>> = came.iter().map(|arrived| arrived.value.loaded).collect();
        let arrived = arrived.filter(|_| loads.len() < 2);
        let Some((side, arrived)) = arrived.filter(|_| again.is_some() || stands_for_zero()) else {
            again?;
            let pair = element.pairs.last()?;
            let mut marks = self.passages(pair);
            if came.len() == 1
                && let Some((side, (place, value))) =
                    (Side::BOTH.into_iter()).find_map(|side| Some((side, pair.of(side)?)))
            {
                let passage = value.shared?;
                // The first tile may be stored by a line of its own. The line that stores the others is to blame.
                let mut others = self.arrived(side).into_iter().map(|(_, arrived)| arrived);
                let other = others.rfind(|other| {
                    Some(other.stored) != passage.stored && self.same_but_for_buffer(other.address, passage.address)
                });
                let stored = other.map(|other| other.stored).or(passage.stored)?;
                add(&mut marks, other.map(|_| self.stores(stored, None, "tiles of other steps are stored here")));
                let under = self.not_only_under(stored, &mut marks);
                self.added_here(gap, &mut marks);
                let words = [
                    ("one", self.asked.name(side, place)),
                    ("need", self.asked.name(side, (place.0, k))),
                    ("put", self.line(stored)),
                    ("under", under),
                ];
                let cause = "tile of an earlier step left in its place";
                return Some(self.told(Mistake::Stale, cause, marks, &gap.and(&words)));
            }
            let loads = pair.factors.iter().filter_map(|(_, value)| value.loaded);
            let lines: BTreeSet<String> = loads.map(|at| self.line(at) + &self.called(at)).collect();
            self.added_here(gap, &mut marks);
            let words = gap.and(&[("lines", Vec::from_iter(lines).join(" and "))]);
            return Some(self.told(Mistake::Part, "same elements loaded again", marks, &words));
        };
        let is_again = |pair: &&Pair| pair.of(Side::A).is_some_and(|((_, k), _)| gap.repeated.contains(&k));
        let pair = element.pairs.iter().rfind(is_again).or(element.pairs.last())?;
        let mut marks = self.passages(pair);
        let is_stale = |again| Side::BOTH.iter().any(|&side| self.is_tile_of_another_step(side, k, again));
        let expected = self.expected(side, (element.own(side), k), Some(arrived));
        let words = [gap.words.clone(), self.product(pair), expected, vec![("k", k.to_string())]].concat();
        if again.is_some_and(|&again| !is_stale(again)) {
            marks.extend(gap.loops("it depends on this"));
            return Some(self.told(Mistake::Part, "k of a tile taken again", marks, &words));
        }
        if let Some(passage) = pair.of(Side::A).and_then(|(_, value)| value.shared) {
            self.read_set_by(passage, &mut marks);
            passage.stored.inspect(|&stored| self.set_by(stored, STORE, &mut marks));
        }
        self.added_here(gap, &mut marks);
        Some(self.told(Mistake::Stale, "tile read in place of the next", marks, &words))
    }

    fn added_here(&self, gap: &Gap, marks: &mut Vec<Mark>) {
        add(marks, [self.mark(gap.multiply, None, "the products are added here")]);
    }

    /// No k is missing, and some are there too often.
    fn again(&self, gap: &Gap) -> HazardReport {
        let pairs = &self.element.pairs;
        let ks: Vec<u64> = pairs.iter().filter_map(|pair| pair.k_of(self.element.needs)).collect();
        let depth = self.element.depth;
        let passage = |pair: &Pair| Side::BOTH.map(|side| pair.of(side).and_then(|(_, value)| value.shared));
        // The first products are those of the sum, in their order.
        let first = pairs
            .get(depth as usize)
            .filter(|pair| !pair.term.matrix && ks.iter().copied().take(depth as usize).eq(0..depth));
        if let Some((pair, passage)) = first.and_then(|pair| Some((pair, passage(pair)[0]?))) {
            let mut marks = self.passages(pair);
            passage.stored.inspect(|&stored| self.set_by(stored, READ, &mut marks));
            self.added_here(gap, &mut marks);
            let found = pair.of(Side::A).map(|(_, value)| self.found(&value)).unwrap_or_default();
            return self.told(Mistake::Stale, "left over beyond the end", marks, &gap.and(&found));
        }
        // Two lines have put the number into the tile.
        let twice = pairs.iter().enumerate().find_map(|(at, one)| {
            let stored = |pair: &Pair| passage(pair).map(|it| it.and_then(|it| it.stored));
            let other =
                pairs[..at].iter().find(|other| other.places() == one.places() && stored(other) != stored(one))?;
            let both = std::iter::zip(stored(other), stored(one)).find(|(one, other)| one != other)?;
            Some([both.0?, both.1?])
        });
        let mut marks = gap.loops("it is done in this loop");
        if let Some(lines) = twice.filter(|_| pairs[0].term.matrix) {
            let mut marks: Vec<Mark> = lines.map(|at| self.stores(at, None, "the whole number is stored here")).into();
            self.added_here(gap, &mut marks);
            let both = BTreeSet::from(lines.map(|at| self.origins.line(at).unwrap_or_default()));
            let words = gap.and(&[("both", format!("{} store", listed(&both)))]);
            return self.told(Mistake::Part, "whole number in place of a part", marks, &words);
        }
        if let Some(overlapping) = self.overlapping(gap) {
            return overlapping;
        }
        self.added_here(gap, &mut marks);
        if let Some(line) = gap.loops.first() {
            let head = Location { line: Some(*line), column: None, calls: Box::default(), ..gap.place.clone() };
            add(&mut marks, set_by(&head, READ));
        }
        self.told(Mistake::Part, "", marks, &gap.words)
    }

    /// The loop over k goes on by less than a tile has.
    fn overlapping(&self, gap: &Gap) -> Option<HazardReport> {
        let ks: Vec<u64> = self.element.pairs.iter().filter_map(|pair| pair.k_of(self.element.needs)).collect();
        let begins: Vec<usize> = (0..ks.len()).filter(|&at| at == 0 || ks[at] != ks[at - 1] + 1).collect();
        let depth = begins.windows(2).map(|pair| pair[1] - pair[0]).chain([ks.len() - begins.last()?]).max()? as u64;
        let mut steps = begins.windows(2).map(|pair| ks[pair[1]].abs_diff(ks[pair[0]]));
        let step = steps.next().filter(|step| (1..depth).contains(step) && steps.all(|other| other == *step))?;
        // If more than that is missing, another tile may have been read in place of the next.
        (gap.missing.is_empty() || 2 * step > depth).then_some(())?;
        let outer = gap.loops.last()?;
        let mut marks = gap.loops("it is done in this loop");
        self.added_here(gap, &mut marks);
        let head = Location { line: Some(*outer), column: None, calls: Box::default(), ..gap.place.clone() };
        add(&mut marks, set_by(&head, READ));
        let words =
            [("step", step.to_string()), ("depth", depth.to_string()), ("loop", format!("the loop in line {outer}"))];
        Some(self.told(Mistake::Part, "tiles overlap", marks, &gap.and(&words)))
    }

    /// Some k are not multiplied at all.
    fn left_out(&self, gap: &Gap) -> HazardReport {
        let (missing, place, depth) = (gap.missing, &gap.place, self.element.depth);
        let shared = Side::BOTH.iter().any(|&side| self.is_shared(side));
        // Whole tiles are left out by the outer loop, and what else was loaded and not multiplied by the inner one.
        let tile =
            Side::BOTH.into_iter().filter(|&side| self.is_shared(side)).find_map(|side| self.depth_of_tile(side, true));
        let of_tile =
            |k: u64, tile: u64| (k / tile * tile..depth.min(k / tile * tile + tile)).all(|k| missing.contains(&k));
        let whole_tiles = tile.is_some_and(|tile| tile > 1 && missing.iter().all(|&k| of_tile(k, tile)));
        let came = Side::BOTH.into_iter().all(|side| !self.is_shared(side) || self.came(side, missing[0]).is_some());
        let inner = came && !whole_tiles;
        // Only the end of the sum is left, and nothing was replaced by zeros.
        let lost = missing.len() as u64;
        let is_end = lost * 2 >= depth && missing.last() == Some(&(lost - 1));
        let no_zeros = self.element.with_zeros.len() as u64 + lost < depth + lost.min(64);
        let sets = !keeps(place);
        if is_end && no_zeros && came || sets && lost + 1 == depth {
            // A function returns its sum, and the line that calls it sets the sum of the element.
            let setter =
                and_callers(place).find(|at| set_by_line(at).is_some() && !self::keeps(at)).unwrap_or(place.clone());
            let mark = Mark { location: setter.clone(), ..self.mark(gap.multiply, None, "the sum is set here") };
            let mut marks = vec![mark];
            marks.extend(also_set(&setter));
            return self.told(Mistake::Lost, "sum set in the loop", marks, &gap.words);
        }
        let columns = self.asked.are_columns(missing);
        let head = |line: u32| Location { line: Some(line), column: None, ..place.clone() };
        let mut over = gap.loops.clone();
        let counts = |line: &u32| has_word(&head(*line), |word| word.starts_with('k') || word == "K") != columns;
        if self.asked.kind == Kind::RowSums && over.iter().any(counts) {
            over.retain(counts);
        }
        // The loop that counts k is also around the line that reads a factor.
        let reads = self.element.pairs[0].factors.map(|(_, value)| value.shared.map(|it| it.loaded).or(value.loaded));
        let around_one = |line: &u32| {
            let loops = |at: &u32| around(&self.origins.location(*at), &["for", "while"]);
            reads.iter().flatten().any(|at| loops(at).contains(line))
        };
        if over.iter().any(around_one) {
            over.retain(around_one);
        }
        let found = if inner { over.first() } else { over.last() }.copied();
        // The size at which the loop ends, if it is not K.
        let ends = |line: u32| {
            let mut all = vec![head(line)];
            all.extend(set_by(&all[0], READ).into_iter().map(|mark| mark.location));
            let names = |size: &str| all.iter().any(|place| has_word(place, |word| word == size));
            ["M", "N"].into_iter().find(|size| names(size) && !names("K"))
        };
        let size = found.filter(|_| !columns).and_then(ends);
        let mut marks = vec![];
        if let Some(line) = found {
            let label = format!("this loop counts {}", if columns { "columns" } else { "k" });
            marks.extend(at_lines(place, [line], &label));
            add(&mut marks, set_by(&head(line), READ));
            for exit in exits(place, line) {
                add(&mut marks, at_lines(place, [exit], "this ends it"));
                add(&mut marks, set_by(&head(exit), READ));
            }
        }
        let steps = found.is_some_and(|line| code_at(&head(line)).split(')').next().unwrap_or_default().contains("+="));
        let (head, tail) = (missing.contains(&0), missing.contains(&(depth - 1)));
        let at_the_end = lost == depth - missing[0];
        if !tail && !head || tail && !at_the_end {
            marks.extend(self.store_mark("this sum lacks them"));
            let loads = Side::BOTH.into_iter().filter_map(|side| self.element.pairs.last()?.of(side)?.1.loaded);
            loads.filter(|_| shared && !inner).for_each(|loaded| self.set_by(loaded, READ, &mut marks));
        }
        self.added_here(gap, &mut marks);
        let rest_of_k = inner && at_the_end && !shared && !columns && tail && steps && lost < 2 + depth / 2;
        let last_tile = tail && at_the_end && tile.is_none_or(|tile| lost <= tile);
        let cause = match inner {
            _ if size.is_some() => "loop that ends at another size",
            true if rest_of_k => "rest of K left out",
            true => "left out by the inner loop",
            false if depth > 1 && last_tile => "last tile left out",
            false => "tiles left out",
        };
        let how = match (head, tail) {
            (true, _) => "it begins too late",
            (_, true) => "it ends too early",
            _ => "it leaves some out",
        };
        let all = match shared {
            _ if columns => "every column from 0 to N - 1",
            true => "every k of the tile",
            false if depth == self.asked.problem.k || self.asked.kind == Kind::RowSums => "every k from 0 to K - 1",
            false => "every k that the element needs",
        };
        let which = found.map_or_else(|| "the loop over k".to_owned(), |line| format!("the loop in line {line}"));
        let size = size.unwrap_or_default().to_owned();
        let words = [("how", how.to_owned()), ("all", all.to_owned()), ("loop", which), ("size", size)];
        self.told(Mistake::Part, cause, marks, &gap.and(&words))
    }
}

/// Which k are missing in a sum and which are there too often, and what is known of its first product.
struct Gap<'a> {
    missing: &'a [u64],
    repeated: &'a [u64],
    /// The instruction that multiplies.
    multiply: u32,
    place: Location,
    /// The loops around it, the innermost first.
    loops: Vec<u32>,
    words: Vec<Word>,
}

impl Gap<'_> {
    fn and(&self, words: &[Word]) -> Vec<Word> {
        [&self.words, words].concat()
    }

    fn loops(&self, label: &str) -> Vec<Mark> {
        at_lines(&self.place, self.loops.iter().copied(), label)
    }
}

fn are(all: &str) -> &'static str {
    if all.contains(", ") || all.contains(" to ") { "are" } else { "is" }
}
