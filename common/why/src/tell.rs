//! A verdict on an element of C in words: what was seen of it.

use std::collections::BTreeSet;

use plan::Problem;
use simt::analyses::provenance::Store;

use super::asked::{Asked, Place, Side};
use super::element::{Factor, Pair, StoresOfC};
use super::judge::{Verdict, whole};
use super::mistake::Mistake;
use super::rule;
use super::teller::Teller;
use findings::analysis::HazardReport;
use findings::diagnostic::Mark;
use findings::places::who;

impl Teller<'_> {
    /// The finding for a verdict; none if it is no mistake, or cannot be shown.
    pub fn tell(&self, verdict: &Verdict, stored: &StoresOfC) -> Option<HazardReport> {
        let (element, name) = (self.element, &self.element.name);
        Some(match verdict {
            Verdict::Right | Verdict::Unknown => return None,
            Verdict::Unwritten => self.unwritten(stored)?,
            Verdict::Empty => self.empty(),
            Verdict::Zero(side, at, k) => self.zero(*side, &element.with_zeros[*at], *k),
            Verdict::Added => {
                let value = element.formed.rest.first()?;
                let at = value.shared.map(|passage| passage.loaded).or(value.loaded)?;
                let marks = [Some(self.mark(at, None, "this is added")), self.store_mark("the sum is stored here")];
                let what = format!("elements are added and not multiplied for {name}");
                self.told(Mistake::Operands, &what, marks.into_iter().flatten().collect(), vec![])
            }
            Verdict::Overwritten => self.overwritten(),
            Verdict::Unset(at) => self.unset(*at)?,
            Verdict::Operands(at) => self.operands(&element.pairs[*at]),
            Verdict::Beginning => self.beginning(),
            Verdict::Beyond(at) => self.beyond(&element.pairs[*at]),
            Verdict::Sign(at) => self.sign(&element.pairs[*at]),
            Verdict::Swapped => {
                let pair = &element.pairs[0];
                let what = format!("A and B are exchanged: {} for {name}", self.product(pair));
                self.told(Mistake::Swapped, &what, self.passages(pair), vec![])
            }
            Verdict::Elsewhere(place) => self.elsewhere(*place),
            Verdict::Outside(place) => self.outside(*place),
            Verdict::Mixed(at) => self.mixed(&element.pairs[*at]),
            Verdict::Factor(side, at, k) => self.also_stored(stored).or_else(|| self.factor(*side, *at, *k))?,
            Verdict::Part(missing, repeated) => self.part(missing, repeated),
            Verdict::Weight => self.weight(),
            Verdict::Chosen(instruction) if self.place(*instruction).instruction.contains("abs.") => {
                let what = format!("{} takes the sign of {name} away", self.line(*instruction));
                self.at_one_line(Mistake::Sign, &what, *instruction, "the sign is taken away here")
            }
            Verdict::Rounded(sides, instruction) => {
                let arrays = Side::BOTH.into_iter().filter(|&side| sides[side as usize]);
                let arrays: Vec<&str> = arrays.map(|side| self.asked.array(side)).collect();
                let what = format!(
                    "elements of {} are rounded to the bits that tensor cores take, as in {}, and nothing adds what \
                     that loses",
                    arrays.join(" and "),
                    self.line(*instruction)
                );
                self.at_one_line(Mistake::Converted, &what, *instruction, "the number is rounded here")
            }
            Verdict::Chosen(instruction) => {
                let line = self.line(*instruction);
                let what = format!("{line} keeps the larger or the smaller one of two values for {name}");
                self.at_one_line(Mistake::Lost, &what, *instruction, "one of two values is kept here")
            }
            Verdict::Converted(instruction) => {
                let line = self.line(*instruction);
                let what = format!("{line} gives {name} another type on its way, and loses a part of its value");
                self.at_one_line(Mistake::Converted, &what, *instruction, "the value is converted here")
            }
        })
    }

    /// A mistake that one instruction shows.
    fn at_one_line(&self, mistake: Mistake, what: &str, instruction: u32, label: &str) -> HazardReport {
        self.told(mistake, what, vec![self.mark(instruction, None, label)], vec![])
    }

    fn sign(&self, subtracts: &Pair) -> HazardReport {
        let name = &self.element.name;
        let label = "products are formed here";
        let mut marks = vec![self.mark(subtracts.term.instruction, None, label)];
        let adds = self.element.pairs.iter().find(|pair| !pair.term.negative);
        marks.extend(adds.map(|pair| self.mark(pair.term.instruction, None, label)));
        marks.extend(self.store_mark("the sum is stored here"));
        let all = if adds.is_some() { "some of the products" } else { "the products" };
        self.told(Mistake::Sign, &format!("{all} of {name} are subtracted"), marks, vec![])
    }

    fn weight(&self) -> HazardReport {
        let (element, name) = (self.element, &self.element.name);
        let Problem { m, n, k, .. } = self.asked.problem;
        // A factor that is one over a size is named by it: `1/K`.
        let told = |factor: f32| {
            let is_part = |&&(_, size): &&(&str, u64)| size > 1 && (factor * size as f32 - 1.0).abs() < 1e-6;
            let part = [("K", k), ("N", n), ("M", m)].iter().find(is_part).map(|(name, _)| format!("1/{name}"));
            part.unwrap_or_else(|| factor.to_string())
        };
        let [[sum, before], [by, of_c]] = [element.weights, self.asked.weights].map(|both| both.map(told));
        let mut marks = vec![];
        marks.extend(element.scaled.map(|at| self.mark(at, None, format!("this takes them {sum} times"))));
        let scale = |pair: &Pair| pair.factors.iter().map(|(_, value)| value.scale).product::<f32>();
        let other = element.pairs.iter().find(|pair| (scale(pair) - 1.0).abs() > 0.0);
        let times = |pair: &Pair| format!("each product is multiplied by {} here", scale(pair));
        marks.extend(other.map(|pair| self.mark(pair.term.instruction, None, times(pair))));
        marks.extend(element.reads_of_c.iter().map(|&at| self.mark(at, None, "C is read here")));
        let part = element.pairs.iter().find(|pair| pair.has_part() && pair.k_of(element.needs).is_some());
        let put = part.and_then(|pair| pair.factors.iter().find(|(_, value)| value.part)?.1.shared?.stored);
        marks.extend(put.map(|put| self.mark(put, None, "what rounding has lost is stored here")));
        marks.extend(self.store_mark("it is stored here"));
        let what = match part {
            Some(pair) if pair.factors.iter().all(|(_, value)| value.part) => {
                format!("what rounding has lost of A is multiplied by what it has lost of B for {name}")
            }
            Some(_) => format!("what rounding has lost counts {sum} times in {name}"),
            None if self.asked.is_scaled() => format!(
                "{name} has {sum} times its products, and {before} times what it was; the task asks for {by} and {of_c}"
            ),
            None => format!("{name} has {sum} times its products"),
        };
        self.told(Mistake::Weight, &what, marks, vec![])
    }

    fn unwritten(&self, stores: &StoresOfC) -> Option<HazardReport> {
        // Those that were executed, each line once.
        let all: BTreeSet<u32> = stores.values().flatten().map(|store| store.instruction).collect();
        let name = &self.element.name;
        let label = format!("no thread comes here for {name}");
        let marks: Vec<Mark> = all.iter().rev().map(|&at| self.stores(at, None, label.clone())).collect();
        let stored = self.origins.stored(self.asked, stores.len());
        (!marks.is_empty())
            .then(|| self.told(Mistake::Unwritten, &format!("no thread stores {name}"), marks, vec![stored]))
    }

    fn empty(&self) -> HazardReport {
        let name = &self.element.name;
        let mut marks = Vec::from_iter(self.store_mark("no product is in what is stored here"));
        let mut notes = vec![];
        if self.origins.multiplies() {
            // The thread multiplies for other elements.
            let pair = self.origins.product(self.asked, self.element, true, |_| true).map(|(pair, _)| pair);
            marks.extend(pair.map(|pair| self.mark(pair.term.instruction, None, "the thread multiplies here")));
        } else {
            notes.push("the compiled kernel has no product: nothing that is stored follows from one".into());
        }
        self.told(Mistake::Empty, &format!("nothing was multiplied for {name}"), marks, notes)
    }

    /// Whether the thread that stores the element has formed a product.
    pub fn is_own(&self, pair: &Pair) -> bool {
        self.element.store.is_some_and(|store| store.number == pair.term.thread)
    }

    fn zero(&self, side: Side, pair: &Pair, k: u64) -> HazardReport {
        let zero = pair.factors.iter().find(|(factor, _)| *factor == Factor::Zero).map(|(_, value)| *value);
        let zero = zero.unwrap_or_default();
        let need = self.asked.name(side, (self.element.own(side), k));
        let stored = zero.shared.and_then(|passage| passage.stored).or(zero.loaded).unwrap_or(pair.term.instruction);
        let mut marks = vec![self.stores(stored, Some(self.cell(&zero)), format!("0 is taken here for {need}"))];
        marks.extend(self.read(&zero, "holds 0 here"));
        marks.push(self.mark(pair.term.instruction, None, "it is multiplied here"));
        let (line, name) = (self.line(pair.term.instruction), &self.element.name);
        let what = format!("{line} multiplies 0 for {name} in place of {need}, which lies inside the matrix");
        self.told(Mistake::Zero, &what, marks, vec![self.asked.sizes()])
    }

    fn unset(&self, at: usize) -> Option<HazardReport> {
        let pair = &self.element.pairs[at];
        let (_, value) = pair.factors.iter().find(|(factor, _)| *factor == Factor::Unset)?;
        let passage = value.shared?;
        // The other factor tells which element should be there, if it is one that belongs here.
        let belongs = |place: Place, side: Side| place.0 == self.element.own(side) && place.1 < self.element.depth;
        let needed = Side::BOTH.iter().find_map(|&side| {
            let (place, _) = pair.of(side).filter(|(place, _)| belongs(*place, side))?;
            Some((side.other(), (self.element.own(side.other()), place.1)))
        });
        let (read, cell) = (self.line(passage.loaded), self.cell(value));
        let marks = self.read(value, "has no value yet").into_iter();
        let Some((side, needed)) = needed else {
            let arrived = Side::BOTH.iter().flat_map(|&side| self.arrived(side));
            let stores: BTreeSet<u32> = arrived.map(|(_, arrived)| arrived.stored).collect();
            let stores = stores.into_iter().map(|stored| self.stores(stored, None, "this stores to shared memory"));
            let what = format!("{read} reads {cell}, which nobody has set");
            return Some(self.told(Mistake::Unset, &what, marks.chain(stores).collect(), vec![]));
        };
        let need = self.asked.name(side, needed);
        if let Some(arrived) = self.arrival(side, needed, value) {
            let there = self.word(arrived.address);
            let stored = self.stores(arrived.stored, Some(there.clone()), format!("{need} is stored in {there}"));
            let (mistake, what) = if passage.address == arrived.address {
                let line = self.line(arrived.stored);
                (Mistake::Unset, format!("{read} reads {cell} for {need} before {line} has stored it there"))
            } else {
                let same = self.same_but_for_buffer(passage.address, arrived.address);
                let mistake = if same { Mistake::Stale } else { Mistake::Misplaced };
                (mistake, format!("{read} reads {cell}, which nobody has set, for {need}, which is in {there}"))
            };
            let note = self.laid_out_in_two_ways(side, arrived.stored, passage.loaded);
            return Some(self.told(mistake, &what, marks.chain([stored]).collect(), Vec::from_iter(note)));
        }
        let arrived = self.arrived(side);
        let stores: BTreeSet<u32> = arrived.iter().map(|(_, arrived)| arrived.stored).collect();
        let label = format!("elements of {} are stored here, but not {need}", self.asked.array(side));
        let stores: Vec<Mark> = stores.into_iter().map(|stored| self.stores(stored, None, label.clone())).collect();
        let none = format!("no thread of the block puts an element of {} into shared memory", self.asked.array(side));
        let notes = if stores.is_empty() { vec![none] } else { vec![] };
        let what = format!("nobody has set {cell}, where {read} reads {need}");
        Some(self.told(Mistake::Unset, &what, stores.into_iter().chain(marks).collect(), notes))
    }

    fn operands(&self, pair: &Pair) -> HazardReport {
        let mut marks = self.passages(pair);
        if let [one, other] = &mut marks[..]
            && one.spot == other.spot
        {
            other.second = !one.writes;
        }
        marks.push(self.mark(pair.term.instruction, None, "they are multiplied here"));
        let name = &self.element.name;
        let of_sum = self.element.of_sums || pair.factors.iter().any(|(factor, _)| *factor == Factor::Computed);
        let what = if of_sum {
            let line = self.line(pair.term.instruction);
            format!("{line} multiplies a sum or a product, and {name} needs an element of A times one of B")
        } else {
            format!("{}, and {name} needs an element of A times one of B", self.product(pair))
        };
        // An element of the other operand may have lain there before.
        let before = pair.factors.iter().find_map(|(factor, value)| {
            let (&Factor::Of(side, _), Some(passage)) = (factor, value.shared) else { return None };
            let mut arrived = self.arrived(side.other()).into_iter();
            arrived.find(|(_, arrived)| arrived.address == passage.address).map(|at| (side.other(), at))
        });
        let note = before.map(|(side, (place, arrived))| {
            let (of, cell) = (self.asked.name(side, place), self.word(arrived.address));
            format!("{} has stored {of} in {cell}, too", self.line(arrived.stored))
        });
        let by_array = before.and_then(|_| self.origins.arrays_at_one_byte(&self.place(pair.term.instruction)));
        let (same, declared) = by_array.unzip();
        marks.splice(0..0, declared.into_iter().flatten());
        self.told(Mistake::Operands, &what, marks, note.into_iter().chain(same).collect())
    }

    fn beginning(&self) -> HazardReport {
        let (element, name) = (self.element, &self.element.name);
        let rest = element.formed.rest.iter().find(|value| value.bits as u32 & 0x7fff_ffff != 0);
        let factor = rest.map(|value| self.origins.factor(self.asked, value));
        let first = element.pairs.first();
        let multiply = first.map(|pair| pair.term.instruction);
        if matches!(factor, Some(Factor::Number(number)) if number.is_nan()) {
            let mut marks = Vec::from_iter(multiply.map(|at| self.adds(at)));
            marks.extend(self.store_mark("this is no number"));
            let what = format!("{name} follows from a variable of the thread that has no value");
            let note = "the compiler may take anything for it, and has taken NaN";
            return self.told(Mistake::Unset, &what, marks, vec![note.into()]);
        }
        let variable = rest.and_then(|value| self.origins.variable(value));
        let with = match factor {
            Some(Factor::Other) => format!("what was in {} before", variable.unwrap_or("C")),
            Some(factor) => factor.name(self.asked),
            None => {
                let other = first.and_then(Pair::places).map_or((0, 0), |[(row, _), (col, _)]| (row, col));
                format!("the sum of {}", self.asked.name_of(other))
            }
        };
        let mut marks = vec![];
        marks.extend(rest.and_then(|value| value.loaded).map(|at| self.mark(at, None, "it comes from here")));
        marks.extend(multiply.map(|at| self.adds(at)));
        marks.extend(self.store_mark("the sum is stored here"));
        self.told(Mistake::Beginning, &format!("the sum for {name} begins with {with} and not with 0"), marks, vec![])
    }

    fn overwritten(&self) -> HazardReport {
        let (last, earlier) = (self.element.store.as_ref(), self.element.earlier.last());
        let mut marks: Vec<Mark> = vec![];
        for (store, does) in [(last, "stores another one later"), (earlier, "stores the right sum")] {
            let label = |store: &Store| format!("{} {does}", who(store.block, store.thread));
            marks.extend(store.map(|store| self.stores(store.instruction, None, label(store))));
        }
        let other = whole(self.element)
            .map_or_else(|| "another sum".into(), |place| format!("the sum for {}", self.asked.name_of(place)));
        let what = format!("{} was right, and then {other} was stored over it", self.element.name);
        self.told(Mistake::Overwritten, &what, marks, vec![])
    }

    /// A thread beyond the edge of C stores to an element of another thread.
    fn outside(&self, (row, column): Place) -> HazardReport {
        let (name, columns) = (&self.element.name, self.asked.columns());
        let what = format!(
            "{name} holds what a thread has computed for row {row} and column {column}, and C has {columns} columns"
        );
        self.told(Mistake::Elsewhere, &what, Vec::from_iter(self.store_mark("it is stored here")), vec![])
    }

    /// A product that belongs to another element.
    fn mixed(&self, pair: &Pair) -> HazardReport {
        let mut marks = vec![self.mark(pair.term.instruction, None, "it is added here")];
        marks.extend(self.passages(pair));
        let of = pair.places().map(|[(row, _), (col, _)]| self.asked.name_of((row, col))).unwrap_or_default();
        let ([one, other], name) = (self.factors(pair), &self.element.name);
        let thread = self.origins.thread(pair.term.thread);
        let by_another = self.element.store.is_some_and(|store| store.number != pair.term.thread);
        let note = by_another.then(|| format!("thread {thread} forms that product, and another thread stores {name}"));
        let what = format!("the sum for {name} has {one} times {other} in it, which belongs to {of}");
        self.told(Mistake::Line, &what, marks, Vec::from_iter(note))
    }

    /// The same sum is stored in the element that it is for.
    fn also_stored(&self, stores: &StoresOfC) -> Option<HazardReport> {
        let (row, col) = whole(self.element)?;
        let own = self.element.store?;
        let is_same = |store: &&Store| (store.block, store.value) == (own.block, own.value);
        let columns = self.asked.columns();
        let [at, needed] = [[row, col], self.element.needs].map(|[row, col]| row * columns + col % columns);
        let right = stores.get(&at).filter(|_| at != needed)?.last().filter(is_same)?.instruction;
        let marks = vec![
            self.stores(own.instruction, None, "the same sum is stored here"),
            self.stores(right, None, "the sum is stored where it belongs here"),
        ];
        let (of, name) = (self.asked.name_of((row, col)), &self.element.name);
        Some(self.told(Mistake::Elsewhere, &format!("the sum for {of} was stored in {name}, too"), marks, vec![]))
    }

    fn elsewhere(&self, place: Place) -> HazardReport {
        let (name, of) = (&self.element.name, self.asked.name_of(place));
        let mut marks = Vec::from_iter(self.store_mark(&format!("the sum for {of} is stored in {name}")));
        marks.extend(self.parts());
        let multiply = self.element.pairs.first().map(|pair| pair.term.instruction);
        marks.extend(multiply.map(|multiply| self.mark(multiply, None, "the sum is formed here")));
        let note = self.moved.and_then(|strides| layout_of_c(strides, self.asked));
        let [taken, needed] = [place.0, self.element.needs[0]].map(|row| row / self.asked.problem.m);
        let of_batch = (taken != needed)
            .then(|| format!("the sum of product {taken} is stored in product {needed}, counted from 0"));
        let notes = note.into_iter().chain(of_batch).collect();
        self.told(Mistake::Elsewhere, &format!("the sum for {of} was stored in {name}"), marks, notes)
    }
}

/// Where the sums lie in C, if they lie by one rule that is not that of C.
fn layout_of_c([row, col, start]: [i64; 3], asked: &Asked) -> Option<String> {
    let columns = asked.columns() as i64;
    let apart = rule::apart("the sums are stored", ["row", "column"], [row, col])?;
    ((row, col) != (columns, 1) || start != 0).then(|| format!("{apart}, and C has {columns} columns"))
}
