//! From the verdicts on all elements of C to one finding: the mistake that most of them show, with one of them worked out.

use std::collections::{BTreeSet, HashMap};

use plan::Problem;
use rayon::prelude::*;
use simt::analyses::provenance::{Store, Value};

use super::asked::{Asked, Kind, Place, Side};
use super::element::{Element, Factor, Origins, Pair, StoresOfC};
use super::judge::{Verdict, judge, whole};
use super::mistake::Mistake;
use super::rule;
use super::teller::{Teller, helped, listed, noted};
use super::texts::help;
use findings::analysis::HazardReport;
use findings::diagnostic::{HEADS, Mark, Part, READ, STORE, add, apart, words};
use findings::places::who;

/// Why a product is wrong; none if its elements are right, or could not be followed.
pub fn explain(origins: &Origins, asked: &Asked) -> Option<HazardReport> {
    let mut counts: HashMap<Key, u64> = HashMap::new();
    let mut kept: Vec<(Element, Verdict)> = vec![];
    let mut looked_at = 0;
    // The sums that are complete for some element, with where each is stored; and whether any sum is not.
    let mut sums: Vec<(Place, i64)> = vec![];
    let mut mixed = false;
    let stored = origins.stores_of_c();
    let mut products = 0;
    let order: Vec<u64> = Origins::order(asked).take(MOST_ELEMENTS).collect();
    let judged = |&index: &u64| {
        let element = origins.element(asked, index, &stored);
        (whole(&element), judge(origins, asked, &element), element)
    };
    for (of, verdict, element) in order.chunks(AT_ONCE).flat_map(|some| some.par_iter().map(judged).collect::<Vec<_>>())
    {
        // One more element that is wrong in the same way tells nothing new.
        if products > MOST_PRODUCTS || looked_at >= ENOUGH && kept.len() as u64 >= MOST_KEPT {
            break;
        }
        products += element.with_zeros.len();
        looked_at += 1;
        mixed |= of.is_none() && element.store.is_some();
        sums.extend(of.map(|of| (of, (element.needs[0] * asked.problem.n + element.needs[1]) as i64)));
        if matches!(verdict, Verdict::Right | Verdict::Unknown) {
            continue;
        }
        let count = counts.entry(key(&element, &verdict)).or_default();
        *count += 1;
        if *count <= MOST_KEPT {
            kept.push((element, verdict));
        }
    }
    // If complete sums are displaced by one rule, the store is wrong. Whole rows that are moved may also have been read wrongly.
    let n = asked.problem.n as i64;
    let moved = rule::affine(&sums)
        .filter(|_| asked.batch == 1)
        .filter(|&[row, col, start]| !mixed && ((row, col) != (n, 1) || start % n != 0));
    // A sum also belongs elsewhere if nothing was stored in the element that it is for.
    let mut changed = false;
    for (element, verdict) in &mut kept {
        let is_moved = |&(row, col): &Place| {
            let is_stored = stored.contains_key(&(row * asked.columns() + col % asked.columns()));
            (moved.is_some() || !is_stored) && [row, col] != element.needs
        };
        if let Some(of) = whole(element).filter(is_moved) {
            *verdict = Verdict::Elsewhere(of);
            changed = true;
        }
    }
    if changed {
        counts.clear();
        for (element, verdict) in &kept {
            *counts.entry(key(element, verdict)).or_default() += 1;
        }
    }
    // Of those that explain as much, the first one.
    let keys = kept.iter().rev().map(|(element, verdict)| key(element, verdict));
    let (commonest, count) = keys.map(|key| (key, counts[&key])).max_by_key(|(key, count)| (key.0, *count))?;
    let is_alike = |(element, verdict): &&(Element, Verdict)| key(element, verdict) == commonest;
    let alike: Vec<&(Element, Verdict)> = kept.iter().filter(is_alike).collect();
    // The clearest example has small indices, no two of them the same, and none that is 0.
    let clear = |(element, _): &&(Element, Verdict)| {
        let Element { needs: [row, col], depth, .. } = *element;
        (row == col, row == 0 || col == 0, asked.kind == Kind::Lower && depth < 6, row + col)
    };
    // One example from each block: in a block that never received the element, only the load can be wrong.
    let mut of_blocks: Vec<&(Element, Verdict)> = vec![];
    for one in alike.iter().copied() {
        let block = |(element, _): &(Element, Verdict)| element.store.map(|store| store.block);
        match of_blocks.iter_mut().find(|known| block(known) == block(one)) {
            Some(known) if clear(&one) < clear(known) => *known = one,
            Some(_) => {}
            None => of_blocks.push(one),
        }
    }
    let teller = Teller { origins, asked, alike: &alike, element: &of_blocks.first()?.0, moved, count, looked_at };
    let arrives = |one: &(Element, Verdict)| Teller { element: &one.0, ..teller }.has_arrived(&one.1);
    let (element, verdict) = of_blocks.iter().min_by_key(|one| (arrives(one), clear(one)))?;
    Teller { element, ..teller }.tell(verdict, &stored)
}

/// Elements of C that all cores judge together.
const AT_ONCE: usize = 64;
/// At most so many elements of C are looked at, products in them, and elements kept for each mistake.
const MOST_ELEMENTS: usize = 4096;
const ENOUGH: u64 = 1024;
const MOST_PRODUCTS: usize = 1 << 16;
const MOST_KEPT: u64 = 256;

/// What tells one mistake from another: how much it explains, the verdict, and the operand.
type Key = (u8, std::mem::Discriminant<Verdict>, Option<usize>);

fn key(element: &Element, verdict: &Verdict) -> Key {
    let side = if let Verdict::Factor(side, ..) = verdict { Some(*side as usize) } else { None };
    // An element that was never stored explains least: its sum may have gone to another element.
    let says = match verdict {
        Verdict::Unwritten => 0,
        Verdict::Zero(..) if element.pairs.is_empty() => 1,
        Verdict::Empty | Verdict::Rounded(..) => 1,
        // With B·A, the other blocks take elements from anywhere, so this explains most.
        Verdict::Swapped => 3,
        _ => 2,
    };
    (says, std::mem::discriminant(verdict), side)
}

/// More than the rank of any line that sets what a place uses.
const LATER: usize = 100;

impl Teller<'_> {
    fn tell(&self, verdict: &Verdict, stored: &StoresOfC) -> Option<HazardReport> {
        let element = self.element;
        Some(match verdict {
            Verdict::Right | Verdict::Unknown => return None,
            Verdict::Unwritten => self.unwritten(stored)?,
            Verdict::Empty => self.empty(),
            Verdict::Zero(side, at, k) => self.zero(*side, &element.with_zeros[*at], *k),
            Verdict::Added => {
                let value = element.formed.rest.first()?;
                let at = value.shared.map(|passage| passage.loaded).or(value.loaded)?;
                // An element may be read in another line than the one that adds it.
                let adds = self.store().and_then(|store| self.place(store).value_set().pop());
                let mark = adds.map_or_else(|| self.mark(at, None, ""), |mark| Mark { aside: false, ..mark });
                let line = mark.spot.at.line.map_or_else(String::new, |line| format!("line {line}"));
                let mark = Mark { label: "is added here".into(), ..mark };
                self.told(Mistake::Operands, "elements added", vec![mark], &[("line", line)])
            }
            Verdict::Overwritten => self.overwritten(),
            Verdict::Unset(at) => self.unset(*at)?,
            Verdict::Operands(at) => self.operands(&element.pairs[*at]),
            Verdict::Beginning => self.beginning(),
            Verdict::Beyond(at) => self.beyond(&element.pairs[*at]),
            Verdict::Sign(at) => self.sign(element.pairs[*at].term.instruction),
            Verdict::Swapped => {
                let pair = &element.pairs[0];
                self.told(Mistake::Swapped, "", self.passages(pair), &self.product(pair))
            }
            Verdict::Elsewhere(place) => self.elsewhere(*place),
            Verdict::Outside(place) => self.outside(*place),
            Verdict::Mixed(at) => self.mixed(&element.pairs[*at]),
            Verdict::Factor(side, at, k) => self.also_stored(stored).or_else(|| self.factor(*side, *at, *k))?,
            Verdict::Part(missing, repeated) => self.part(missing, repeated),
            Verdict::Weight => self.weight(),
            Verdict::Chosen(instruction) if self.place(*instruction).at.instruction.contains("abs.") => {
                let marks = vec![self.mark(*instruction, None, "the sign is taken away here")];
                self.told(Mistake::Sign, "sign taken away", marks, &[("line", self.line(*instruction))])
            }
            Verdict::Rounded(sides, instruction) => {
                let arrays = Side::BOTH.into_iter().filter(|&side| sides[side as usize]);
                let arrays: Vec<&str> = arrays.map(|side| self.asked.array(side)).collect();
                let words = [("line", self.line(*instruction)), ("arrays", arrays.join(" and "))];
                let marks = vec![self.mark(*instruction, None, "the number is rounded here")];
                self.told(Mistake::Converted, "rounded for tensor cores", marks, &words)
            }
            Verdict::Chosen(instruction) => {
                let with_number = element.pairs.is_empty();
                let cause = if with_number { "compared with a number" } else { "compared and not added" };
                self.at_one_line(Mistake::Lost, cause, *instruction, "one of two values is kept here")
            }
            Verdict::Converted(instruction) => {
                self.at_one_line(Mistake::Converted, "", *instruction, "the value is converted here")
            }
        })
    }

    /// A mistake of the line of an instruction, with the line that declares what it sets.
    fn at_one_line(&self, mistake: Mistake, cause: &str, instruction: u32, label: &str) -> HazardReport {
        let mut marks = vec![self.mark(instruction, None, label)];
        marks.extend(self.place(instruction).declared());
        self.told(mistake, cause, marks, &[("line", self.line(instruction))])
    }

    fn sign(&self, subtracts: u32) -> HazardReport {
        if let Some(adds) = self.element.pairs.iter().find(|pair| !pair.term.negative) {
            let products = [subtracts, adds.term.instruction];
            let mut marks: Vec<Mark> = products.map(|at| self.mark(at, None, "products are formed here")).into();
            marks.dedup_by_key(|mark| mark.spot.at.line);
            add(&mut marks, self.store_mark("it is stored here"));
            return self.told(Mistake::Sign, "wrong sign of a part", marks, &[]);
        }
        let product = self.mark(subtracts, None, "subtracts");
        let has_minus = |mark: &Mark| mark.spot.code().contains('-');
        let store = self.store_mark("stores the sum with the other sign");
        if let Some(store) = store.filter(|store| has_minus(store) && !has_minus(&product)) {
            return self.told(Mistake::Sign, "wrong sign of what is stored", vec![store], &[]);
        }
        self.told(Mistake::Sign, "", vec![product], &[("line", self.line(subtracts))])
    }

    fn weight(&self) -> HazardReport {
        let element = self.element;
        let Problem { m, n, k, .. } = self.asked.problem;
        // A factor that is one over a size is named by it: `1/K`.
        let told = |factor: f32| {
            let is_part = |&&(_, size): &&(&str, u64)| size > 1 && (factor * size as f32 - 1.0).abs() < 1e-6;
            let part = [("K", k), ("N", n), ("M", m)].iter().find(is_part).map(|(name, _)| format!("1/{name}"));
            part.unwrap_or_else(|| factor.to_string())
        };
        let [[sum, before], [by, of_c]] = [element.weights, self.asked.weights].map(|both| both.map(told));
        let scaled = element.scaled.map(|at| self.mark(at, None, format!("this takes them {sum} times")));
        let mut marks = Vec::from_iter(scaled.filter(|mark| mark.spot.code().contains(['*', '/'])));
        let scale = |pair: &Pair| pair.factors.iter().map(|(_, value)| value.scale).product::<f32>();
        let other = element.pairs.iter().find(|pair| (scale(pair) - 1.0).abs() > 0.0);
        let times = |pair: &Pair| format!("each product is multiplied by {} here", scale(pair));
        add(&mut marks, other.map(|pair| self.mark(pair.term.instruction, None, times(pair))));
        // A read that the compiler has moved out of a loop has no line.
        let reads = element.reads_of_c.iter().filter(|at| self.origins.line(**at).is_some());
        add(&mut marks, reads.map(|&at| self.mark(at, None, "C is read here")));
        add(&mut marks, self.store_mark("it is stored here"));
        let part = element.pairs.iter().find(|pair| pair.has_part() && pair.k_of(element.needs).is_some());
        let put = part.and_then(|pair| pair.factors.iter().find(|(_, value)| value.part)?.1.shared?.stored);
        add(&mut marks, put.map(|put| self.mark(put, None, "what rounding has lost is stored here")));
        // How many times C was added; once is right.
        let times = if self.asked.is_scaled() { element.weights[1] / self.asked.weights[1] } else { 1.0 };
        let read = element.reads_of_c.first().copied().filter(|_| times > 1.5);
        let mut loops = self.common_loops(read, &mut marks);
        if loops.is_empty() && read.is_some() && (times - k as f32).abs() < 0.5 {
            // The compiler has moved the read of C out of the loop.
            loops = self.common_loops(element.pairs.first().map(|pair| pair.term.instruction), &mut marks);
        }
        let cause = match part {
            Some(pair) if pair.factors.iter().all(|(_, value)| value.part) => "small parts multiplied",
            Some(_) => "parts with another weight",
            None if !loops.is_empty() => "C added in each step",
            None if self.asked.is_scaled() => "sum or C with another factor",
            None => "",
        };
        let line = self.line(part.map(|pair| pair.term.instruction));
        let words = [("sum", sum), ("before", before), ("by", by), ("of_c", of_c), ("loops", loops), ("line", line)];
        self.told(Mistake::Weight, cause, marks, &words)
    }

    fn unwritten(&self, stores: &StoresOfC) -> Option<HazardReport> {
        // The last one of the kernel that was executed.
        let instruction = stores.values().flatten().map(|store| store.instruction).max()?;
        let place = self.place(instruction);
        let label = format!("no thread comes here for {}", self.element.name);
        let mut marks = vec![self.stores_to_c(instruction, label)];
        let mut lines = BTreeSet::from_iter(place.around(HEADS));
        lines.extend(place.guards());
        marks.extend(place.at_lines(lines.iter().copied(), "it depends on this"));
        // If its row was stored in other columns, the column is what no thread has.
        let columns = self.asked.columns();
        let [row, _] = self.element.needs;
        let by_size = !stores.keys().any(|index| index / columns == row);
        self.set_by(instruction, Part { array: "C", by_size: Some(by_size), ..STORE }, &mut marks);
        // Where an index is set explains more than where a condition's names are, but not more than a function that decides.
        let decides = |mark: &Mark| mark.rank == 0 || mark.label.contains("()");
        let later = |mark: Mark| Mark { rank: mark.rank + usize::from(!decides(&mark)) * LATER, ..mark };
        add(&mut marks, place.conditions(lines.iter().copied()).into_iter().map(later));
        let both = match self.asked.kind {
            Kind::Symmetric => "; the sum for C[i][j] is that for C[j][i], too: store it in both",
            _ => "",
        };
        let cause = if lines.is_empty() { "" } else { "not stored under a condition" };
        let [row, col] = place.index_names();
        let words = [("lines", listed(&lines)), ("both", both.to_owned()), ("row", row), ("col", col)];
        Some(self.told(Mistake::Unwritten, cause, marks, &words))
    }

    fn operands(&self, pair: &Pair) -> HazardReport {
        let mut marks: Vec<Mark> = vec![];
        for (factor, value) in &pair.factors {
            let array = if let Factor::Of(side, _) = factor { self.asked.array(*side) } else { "C" };
            let mut way = self.way(&factor.name(self.asked), array, value);
            way.retain(|mark| marks.iter().all(|known| known.label != mark.label));
            // Both factors are read from one array.
            let is_like = |mark: &Mark| marks.first().is_some_and(|first| first.spot == mark.spot && !mark.writes);
            way.first_mut().into_iter().for_each(|mark| mark.second = is_like(mark));
            marks.extend(way);
        }
        for (_, value) in &pair.factors {
            self.set_by(value.shared.and_then(|passage| passage.stored), STORE, &mut marks);
        }
        add(&mut marks, [self.mark(pair.term.instruction, None, "they are multiplied here")]);
        if let Some(overlap) = self.overlap(pair) {
            let (help, before) = overlap;
            let label = "the other array's element was stored there before";
            add(&mut marks, [self.stores(before, None, label)]);
            self.set_by(before, STORE, &mut marks);
            return helped(self.told(Mistake::Operands, "", marks, &self.product(pair)), Some(help));
        }
        if let Some((number, _)) = pair.factors.iter().find(|(factor, _)| matches!(factor, Factor::Number(_))) {
            // The compiler has no line for a constant.
            marks.retain(|mark| mark.spot.at.line.is_some());
            let words = [self.product(pair), vec![("number", number.name(self.asked))]].concat();
            return self.told(Mistake::Operands, "number in place of an element", marks, &words);
        }
        // Which of two elements of one operand belongs to it shows the row or the column.
        let wrong = pair.factors.iter().find_map(|&(factor, value)| match factor {
            Factor::Of(side, place) if place.0 != self.element.own(side) => Some((side, place, value)),
            _ => None,
        });
        if let Some((side, taken, value)) = wrong.filter(|(side, ..)| pair.of(side.other()).is_none()) {
            let first = self.arrivals(side, taken);
            let places: BTreeSet<u32> = first.iter().map(|arrived| arrived.address).collect();
            let own = value.shared.is_some_and(|passage| places.len() == 1 && places.contains(&passage.address));
            let words = [("taken", self.asked.name(side, taken)), ("array", self.asked.array(side.other()).to_owned())];
            let words = [self.product(pair), words.to_vec()].concat();
            // If it was stored there alone, and the other operand somewhere, the index that is read has left its own array.
            if own && !self.arrived(side.other()).is_empty() {
                let mut marks = self.read(&value, "is read here");
                self.set_by(value.shared.map(|passage| passage.loaded), READ, &mut marks);
                add(&mut marks, self.passage(pair, side));
                let words = [words, self.found(&value)].concat();
                return self.told(Mistake::Operands, "read beyond its own array", marks, &words);
            }
            if self.asked.kind != Kind::Symmetric {
                let value = Value { loaded: value.loaded.or(Some(pair.term.instruction)), ..value };
                // Where a pointer begins tells the array, and an index does not.
                marks.retain(|mark| mark.rank == 0);
                self.set_by(value.loaded, Part { array: self.asked.array(side), ..READ }, &mut marks);
                let words = [words, self.found(&value)].concat();
                return self.told(Mistake::Operands, "element of the other operand", marks, &words);
            }
        }
        let of_sum = self.element.of_sums || pair.factors.iter().any(|(factor, _)| *factor == Factor::Computed);
        self.told(Mistake::Operands, if of_sum { "sum multiplied" } else { "" }, marks, &self.product(pair))
    }

    /// What to do if an element of the other operand lay where a factor was read, before it was stored over; and what stored it.
    fn overlap(&self, pair: &Pair) -> Option<(String, u32)> {
        pair.factors.iter().find_map(|(factor, value)| {
            let (&Factor::Of(side, _), Some(passage)) = (factor, value.shared) else { return None };
            let arrived = self.arrived(side.other()).into_iter();
            let before = arrived.map(|(_, arrived)| arrived).find(|arrived| arrived.address == passage.address)?;
            let lines = [before.stored, passage.stored?];
            let [one, other] = lines.map(|at| self.place(at));
            let both = lines.map(|at| self.line(at));
            let both =
                if both[0] == both[1] { format!("{} stores both", both[0]) } else { both.join(" and ") + " store" };
            let help = apart([&one, &other], "")
                .unwrap_or_else(|| findings::diagnostic::help("one place for two arrays", &[("both", both)]));
            Some((help, before.stored))
        })
    }

    fn beginning(&self) -> HazardReport {
        let rest = self.element.formed.rest.iter().find(|value| value.bits as u32 & 0x7fff_ffff != 0);
        let factor = rest.map(|value| self.origins.factor(self.asked, value));
        if matches!(factor, Some(Factor::Number(number)) if number.is_nan()) {
            return self.undefined();
        }
        let first = self.element.pairs.first();
        let variable = rest.and_then(|value| self.origins.variable(value));
        let with = match factor {
            Some(Factor::Other) => format!("what was in {} before", variable.unwrap_or("C")),
            Some(factor) => factor.name(self.asked),
            None => {
                let other = first.and_then(Pair::places).map_or((0, 0), |[(row, _), (col, _)]| (row, col));
                format!("the sum of {}", self.asked.name_of(other))
            }
        };
        let multiply = first.map(|pair| pair.term.instruction);
        let mut marks = vec![];
        if let Some(at) = rest.and_then(|value| value.loaded).or(multiply) {
            marks.push(self.mark(at, None, "it comes from here"));
            marks.extend(self.place(multiply.unwrap_or(at)).declared());
        }
        let words = words([
            ("with", &with[..]),
            ("of_c", &self.asked.weights[1].to_string()),
            ("variable", variable.unwrap_or_default()),
        ]);
        let cause = match factor {
            Some(Factor::Number(_)) if self.asked.is_scaled() => {
                add(&mut marks, self.store_mark("it is stored here"));
                "number in place of C"
            }
            Some(Factor::Other) if variable.is_some() => "sum in a variable of all threads",
            Some(Factor::Other) => "sum added to what was in C",
            _ => "",
        };
        self.told(Mistake::Beginning, cause, marks, &words)
    }

    fn overwritten(&self) -> HazardReport {
        let (last, earlier) = (self.element.store.as_ref(), self.element.earlier.last());
        let mut marks: Vec<Mark> = vec![];
        for (store, does) in [(earlier, "stores the right sum"), (last, "stores another one later")] {
            let label = |store: &Store| format!("{} {does}", who(store.block, store.thread));
            marks.extend(store.map(|store| self.stores_to_c(store.instruction, label(store))));
        }
        self.set_by(self.store(), STORE, &mut marks);
        let other = whole(self.element)
            .map_or_else(|| "another sum".into(), |place| format!("the sum for {}", self.asked.name_of(place)));
        self.told(Mistake::Overwritten, "", marks, &[("other", other)])
    }

    /// Whether the element of the operand that a wrong factor stands for was put into shared memory.
    fn has_arrived(&self, verdict: &Verdict) -> bool {
        let &Verdict::Factor(side, at, k) = verdict else { return true };
        let shared = self.element.pairs[at].of(side).filter(|(_, value)| value.shared.is_some());
        shared.is_none_or(|(_, value)| self.arrival(side, (self.element.own(side), k), &value).is_some())
    }

    /// A thread beyond the edge of C stores to an element of another thread.
    fn outside(&self, (row, column): Place) -> HazardReport {
        let mut marks = Vec::from_iter(self.store_mark("it is stored here"));
        let mut bound = None;
        if let Some(store) = self.store() {
            let place = self.place(store);
            marks.extend(place.at_lines(place.guards(), "this lets it"));
            self.set_by(store, STORE, &mut marks);
            bound = place.bounds();
            add(&mut marks, place.at_lines(bound.iter().map(|bound| bound.line), "this lets it"));
        }
        let words = words([("row", row), ("col", column), ("columns", self.asked.columns())]);
        let told = self.told(Mistake::Overwritten, "sum of what lies beyond the edge", marks, &words);
        helped(told, bound.map(|bound| bound.help))
    }

    /// A product that belongs to another element.
    fn mixed(&self, pair: &Pair) -> HazardReport {
        let mut marks = vec![self.mark(pair.term.instruction, None, "it is added here")];
        marks.extend(self.passages(pair));
        marks.extend(self.place(pair.term.instruction).declared());
        add(&mut marks, self.store_mark("the sum is stored here"));
        let of = pair.places().map(|[(row, _), (col, _)]| self.asked.name_of((row, col))).unwrap_or_default();
        let thread = self.origins.thread(pair.term.thread);
        let words = [self.product(pair), vec![("of", of), ("thread", thread)]].concat();
        let store = self.element.store.as_ref();
        let by_another = store.filter(|store| store.number != pair.term.thread);
        add(&mut marks, by_another.into_iter().flat_map(|store| self.place(store.instruction).value_set()));
        // In other steps the same words of the tiles hold what belongs to this element.
        let words_of = |pair: &Pair| Side::BOTH.map(|side| Some(pair.shared(side)?.address));
        let is_right = |other: &Pair| other.k_of(self.element.needs).is_some() && words_of(other) == words_of(pair);
        let of_edge = words_of(pair).iter().all(Option::is_some) && self.element.pairs.iter().any(is_right);
        let cause = match () {
            () if by_another.is_some() => "product of another thread",
            () if of_edge => {
                for loaded in pair.factors.iter().filter_map(|(_, value)| value.loaded) {
                    let place = self.place(loaded);
                    add(&mut marks, place.set_by(Part { condition: true, ..READ }));
                    add(&mut marks, place.at_lines(place.guards(), "it depends on this"));
                }
                "element in place of 0"
            }
            () => "products of several elements",
        };
        let found = pair.of(Side::A).map(|(_, value)| self.found(&value)).unwrap_or_default();
        self.told(Mistake::Line, cause, marks, &[&words[..], &found].concat())
    }

    /// The same sum is stored in the element that it is for.
    fn also_stored(&self, stores: &StoresOfC) -> Option<HazardReport> {
        let (row, col) = whole(self.element)?;
        let own = self.element.store?;
        let is_same = |store: &&Store| (store.block, store.value) == (own.block, own.value);
        let columns = self.asked.columns();
        let [at, needed] = [[row, col], self.element.needs].map(|[row, col]| row * columns + col % columns);
        let right = stores.get(&at).filter(|_| at != needed)?.last().filter(is_same)?.instruction;
        let mut marks = vec![self.stores_to_c(own.instruction, "the same sum is stored here")];
        add(&mut marks, [self.stores_to_c(right, "the sum is stored where it belongs here")]);
        self.set_by(own.instruction, READ, &mut marks);
        let words = [("of", self.asked.name_of((row, col))), ("right", self.line(right))];
        Some(self.told(Mistake::Elsewhere, "sum of another element stored", marks, &words))
    }

    fn elsewhere(&self, place: Place) -> HazardReport {
        let (name, of) = (&self.element.name, self.asked.name_of(place));
        let index = |strides| rule::index(["row", "col"], strides, self.asked);
        let note = self.moved.map(|strides| help("C in another layout", &[("index", index(strides))]));
        let mut marks = Vec::from_iter(self.store_mark(&format!("the sum for {of} is stored in {name}")));
        let multiply = self.element.pairs.first().map(|pair| pair.term.instruction);
        marks.extend(multiply.map(|multiply| self.mark(multiply, None, "the sum is formed here")));
        self.parts(&mut marks);
        self.set_by(self.store(), STORE, &mut marks);
        let of_sum = multiply.filter(|_| note.is_none()).map(|at| self.place(at).set_by(READ));
        add(&mut marks, of_sum.into_iter().flatten().map(|mark| Mark { rank: mark.rank + 3, ..mark }));
        let product = |row: u64| (row / self.asked.problem.m).to_string();
        let (taken, needed) = (product(place.0), product(self.element.needs[0]));
        let cause = match note {
            _ if taken != needed => "sum of another product of the batch",
            Some(_) => "sum stored by another index",
            None => "",
        };
        let words = [
            ("of", of),
            ("multiply", self.line(multiply)),
            ("row", place.0.to_string()),
            ("col", place.1.to_string()),
            ("taken", taken),
            ("needed", needed),
        ];
        noted(self.told(Mistake::Elsewhere, cause, marks, &words), note)
    }
}
