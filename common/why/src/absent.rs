//! Elements of C in which something is absent: a product, an element in whose place is a zero, or a value that was never set.

use std::collections::BTreeSet;

use super::asked::Side;
use super::element::{Factor, Pair};
use super::mistake::Mistake;
use super::teller::{Teller, listed, noted};
use findings::analysis::HazardReport;
use findings::diagnostic::{HEADS, Mark, Part, READ, STORE, Spot, add, array_name};

impl Teller<'_> {
    pub fn empty(&self) -> HazardReport {
        let mut marks = vec![];
        self.store_marks("this sum is 0", None, &mut marks);
        if !self.origins.multiplies() {
            add(&mut marks, self.store().into_iter().flat_map(|store| self.place(store).changed_copies()));
            self.set_by(self.store(), READ, &mut marks);
            return self.told(Mistake::Empty, "no product in the kernel", marks, &[]);
        }
        // The thread multiplies for other elements.
        let Some(pair) = self.own_product() else { return self.told(Mistake::Empty, "", marks, &[]) };
        let place = self.place(pair.term.instruction);
        let product = self.mark(pair.term.instruction, None, "the thread multiplies for its other elements here");
        add(&mut marks, [product]);
        let loops = BTreeSet::from_iter(place.around(HEADS));
        add(&mut marks, place.at_lines(loops, "it depends on this"));
        self.told(Mistake::Empty, "products for other elements alone", marks, &self.product(&pair))
    }

    /// The first product that the thread of the element has formed.
    pub(super) fn own_product(&self) -> Option<Pair> {
        self.origins.product(self.asked, self.element, true, |_| true).map(|(pair, _)| pair)
    }

    /// Whether the thread that stores the element has formed a product.
    pub(super) fn is_own(&self, pair: &Pair) -> bool {
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
        // It may have been chosen before, for a variable.
        add(&mut marks, self.place(stored).value_set());
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
            self.set_by(value.shared.map(|passage| passage.loaded), READ, &mut marks);
            let cause = "unset, and needed for nothing that is known";
            let note = Side::BOTH.iter().find_map(|&side| {
                let (needed, arrived) = self.arrived(side).first().copied()?;
                let words = [self.expected(side, needed, Some(arrived)), self.found(value)];
                self.laid_out_in_two_ways(side, true, words.each_ref().map(|words| &words[..]))
            });
            return Some(noted(self.told(Mistake::Unset, cause, marks, &self.found(value)), note));
        };
        let needed = (self.element.own(side), k);
        let need = self.asked.name(side, needed);
        let arrived = self.arrival(side, needed, value);
        let [found, expected] = [self.found(value), self.expected(side, needed, arrived)];
        let words = [found.clone(), expected.clone()].concat();
        if let Some(arrived) = arrived {
            let passage = value.shared?;
            let there = self.word(arrived.address);
            marks.push(self.stores(arrived.stored, Some(there.clone()), format!("{need} is stored in {there}")));
            if passage.address == arrived.address {
                self.set_by(arrived.stored, STORE, &mut marks);
                return Some(self.told(Mistake::Unset, "unset when it is read", marks, &words));
            }
            self.read_set_by(passage, READ, &mut marks);
            self.set_by(arrived.stored, STORE, &mut marks);
            add(&mut marks, self.place(arrived.stored).late());
            let (mistake, same) = if self.same_but_for_buffer(passage.address, arrived.address) {
                (Mistake::Stale, "buffer")
            } else {
                (Mistake::Misplaced, "array and the same indices")
            };
            let note = self.laid_out_in_two_ways(side, false, [&expected, &found]);
            let words = [words, vec![("same", same.to_owned())]].concat();
            return Some(noted(self.told(mistake, "unset here and stored there", marks, &words), note));
        }
        let arrived = self.arrived(side);
        let stores: BTreeSet<u32> = arrived.iter().map(|(_, arrived)| arrived.stored).collect();
        let tile = self.depth_of_tile(side, false).filter(|tile| *tile > 1);
        let of_tile = |tile| arrived.iter().any(|((_, other), _)| other / tile == k / tile);
        let calls: Option<Vec<Spot>> = stores.iter().map(|&stored| self.call_of(stored)).collect();
        // If every tile has such a gap, all calls leave out a part.
        let ks: BTreeSet<u64> = arrived.iter().map(|((_, k), _)| *k).collect();
        let gaps = ks.iter().zip(ks.iter().skip(1)).filter(|(k, next)| **next > **k + 1).count();
        if let (Some([first, ..]), Some(false), ..2) = (calls.as_deref(), tile.map(of_tile), gaps) {
            let (function, calls) = first.calls_of();
            add(&mut marks, first.at_lines(calls.iter().copied(), "this brings another tile, or none"));
            let words = [words, vec![("function", function), ("calls", listed(&calls))]].concat();
            return Some(self.told(Mistake::Unset, "unset, and loaded by no call", marks, &words));
        }
        let mut lines = BTreeSet::new();
        if stores.is_empty() {
            let read = value.shared.map(|passage| self.place(passage.loaded))?;
            let cell = self.cell(value);
            let array = array_name(&cell).unwrap_or_default();
            let direct = read.stores_of(array);
            let through = if direct.is_empty() { read.pointers_to(array) } else { vec![] };
            for store in direct.into_iter().chain(through) {
                let heads = store.spot.conditions(store.spot.around(HEADS));
                let index = store.spot.set_by(Part { array, ..STORE });
                add(&mut marks, [store].into_iter().chain(heads).chain(index));
            }
        }
        for &stored in &stores {
            let spot = self.place(stored);
            // An unrolled loop has many instructions for one line, and a vector is often stored in four lines.
            if !lines.insert(spot.at.line.unwrap_or_default()) || lines.len() > 2 {
                continue;
            }
            let label = format!("elements of {} are stored here, but not {need}", self.asked.array(side));
            marks.push(self.stores(stored, None, label));
            marks.extend(spot.depends(HEADS));
            self.set_by(stored, STORE, &mut marks);
        }
        // If the store is also reached without a condition, no condition is to blame.
        let ifs: Vec<Vec<u32>> = stores.iter().map(|&stored| self.place(stored).around(&["if"])).collect();
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
        let mut marks = Vec::from_iter(self.store_mark("this is no number"));
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
}
