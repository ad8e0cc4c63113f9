//! Elements in whose sum products are missing, or are there too often: which k, and why.

use std::collections::BTreeSet;

use simt::Location;
use simt::analyses::provenance::Source;

use super::asked::{Kind, Side};
use super::element::{Element, Factor, Pair};
use super::teller::{Teller, Told, listed};
use crate::code::places::{index, triple};
use crate::findings::diagnostic::{
    Mark, add, also_set, around, at_line, bounds, code_at, has_word, of_kind, set_by, set_by_line, uses, value_set,
};
use crate::findings::hazard_kind::Mistake;

impl Teller<'_> {
    pub fn empty(&self) -> Told {
        let (mut marks, name) = (vec![], &self.element.name);
        self.store_marks("this sum is 0", &mut marks);
        let what = format!("nothing was multiplied for {name}");
        if !self.origins.multiplies() {
            self.element.store.inspect(|store| self.set_by(store.instruction, false, &mut marks));
            let what =
                what + ": the compiler has left out all products, because nothing that is stored follows from them";
            let help = "add the products to the same variable that is stored, and not to a copy of it, as a parameter is that is no reference";
            return Told::new(Mistake::Empty, what, marks, help);
        }
        // The thread multiplies for other elements.
        if let Some(pair) = self.own_product() {
            let (at, place) = (pair.term.instruction, self.origins.location(pair.term.instruction));
            add(&mut marks, [self.mark(at, None, "the thread multiplies for its other elements here")]);
            let loops: BTreeSet<u32> = around(&place, &["for", "while", "if"]).into_iter().collect();
            add(&mut marks, loops.into_iter().map(|line| at_line(&place, line, "it depends on this".into())));
            let help = format!(
                "let {} multiply for every element that the thread stores: {name} is one of them; the loops around it must count as far as those \
                 around the store",
                self.line(at)
            );
            return Told::new(Mistake::Empty, what, marks, help);
        }
        Told::of_kind(Mistake::Empty, what, marks, "")
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

    pub fn zero(&self, side: Side, pair: &Pair, k: u64) -> Told {
        let line = self.line(pair.term.instruction);
        let need = self.asked.name(side, (self.element.own(side), k));
        let zero = pair.factors.iter().find(|(factor, _)| *factor == Factor::Zero).map(|(_, value)| *value);
        let zero = zero.unwrap_or_default();
        let mut marks = self.read(&zero, "holds 0 here");
        let stored = zero.shared.and_then(|passage| passage.stored).or(zero.loaded).unwrap_or(pair.term.instruction);
        marks.push(self.stores(stored, Some(self.cell(&zero)), format!("0 is taken here for {need}")));
        self.set_by(stored, false, &mut marks);
        let name = &self.element.name;
        let what = format!("{line} multiplies 0 for {name} in place of {need}, which lies inside the matrix");
        let help = of_kind(Mistake::Zero.name(), &[("sizes", &self.asked.sizes())]).1;
        Told::new(Mistake::Zero, what, marks, help)
    }

    pub fn unset(&self, at: usize) -> Option<Told> {
        let pair = &self.element.pairs[at];
        let (_, value) = pair.factors.iter().find(|(factor, _)| *factor == Factor::Unset)?;
        let (cell, line) = (self.cell(value), self.line(pair.term.instruction));
        let read = value.shared.map_or(line, |passage| self.line(passage.loaded));
        // The other factor tells which element should be there, if it is one that belongs here.
        let other = Side::BOTH.iter().find_map(|&side| {
            Some((side.other(), pair.of(side).filter(|((own, _), _)| *own == self.element.own(side))?.0.1))
        });
        let both = pair.factors.iter().all(|(factor, _)| *factor == Factor::Unset).then_some((Side::A, at as u64));
        let needed = other.or(both).map(|(side, k)| (side, (self.element.own(side), k)));
        let mut marks = self.read(value, "has no value yet");
        let told = |mistake, what, marks, help| Some(Told::new(mistake, what, marks, help));
        let Some((side, place)) = needed else {
            let arrived = Side::BOTH.iter().flat_map(|&side| self.arrived(side));
            let stores: BTreeSet<u32> = arrived.map(|(_, arrived)| arrived.stored).collect();
            marks.extend(stores.into_iter().map(|stored| self.stores(stored, None, "this stores to shared memory")));
            let help = "let the threads of the block store every element of both tiles before any of them is read, each to its own array; beyond the \
                        edge of a matrix it is 0";
            return told(Mistake::Unset, format!("{read} reads {cell}, which nobody has set"), marks, help.into());
        };
        let need = self.asked.name(side, place);
        if let Some(arrived) = self.arrival(side, place, value) {
            let passage = value.shared?;
            let (there, stored) = (self.word(arrived.address), self.line(arrived.stored));
            marks.push(self.stores(arrived.stored, Some(there.clone()), format!("{need} is stored in {there}")));
            self.set_by(arrived.stored, true, &mut marks);
            if passage.address == arrived.address {
                let what = format!("{read} reads {cell} for {need} before {stored} has stored it there");
                let help =
                    format!("let {stored} store the tile, and all threads wait for that, before {read} reads it");
                return told(Mistake::Unset, what, marks, help);
            }
            self.set_by(passage.loaded, false, &mut marks);
            let (mistake, same) = if self.same_but_for_buffer(passage.address, arrived.address) {
                (Mistake::Stale, "buffer")
            } else {
                (Mistake::Misplaced, "array and the same indices")
            };
            let what = format!("{read} reads {cell}, which nobody has set, for {need}, which is in {there}");
            let help = format!("let {stored} and {read} use the same {same} for one tile");
            let note = self.laid_out_in_two_ways(side, &stored, &read);
            return Some(Told { note, ..Told::new(mistake, what, marks, help) });
        }
        let name = self.asked.array(side);
        let stores: BTreeSet<u32> = self.arrived(side).iter().map(|(_, arrived)| arrived.stored).collect();
        let mut lines = BTreeSet::new();
        for &stored in &stores {
            let location = self.origins.location(stored);
            // An unrolled loop has many instructions for one line.
            if !lines.insert(location.line.unwrap_or_default()) {
                continue;
            }
            marks.push(self.stores(stored, None, format!("elements of {name} are stored here, but not {need}")));
            let depends = around(&location, &["for", "while", "if"]).into_iter();
            marks.extend(depends.map(|line| at_line(&location, line, "it depends on this".into())));
            self.set_by(stored, true, &mut marks);
        }
        let help = if stores.is_empty() {
            format!(
                "no thread of the block stores anything of {name} to shared memory before {read}: let them store the whole tile"
            )
        } else {
            format!(
                "let the threads of the block store every element that is read: look at how many elements {} {} and how a thread goes on \
                 from one to its next; beyond the edge of {name} it is 0",
                listed(&lines),
                if lines.len() == 1 { "stores" } else { "store" }
            )
        };
        told(Mistake::Unset, format!("nobody has set {cell}, where {read} reads {need}"), marks, help)
    }

    /// The sum holds a variable without a value, for which the compiler takes NaN.
    pub fn undefined(&self) -> Option<Told> {
        let mut marks: Vec<Mark> = self.store_mark("this is no number").into_iter().collect();
        if let Some(pair) = &self.own_product() {
            marks.push(self.mark(pair.term.instruction, None, "products are formed here"));
            self.set_by(pair.term.instruction, false, &mut marks);
            for side in Side::BOTH {
                marks.extend(self.passage(pair, side).into_iter().take(1));
            }
        }
        let what = format!("{} follows from a variable of the thread that has no value", self.element.name);
        let note = Some("the compiler may take anything for it, and has taken NaN".into());
        Some(Told { note, ..Told::of_kind(Mistake::Unset, what, marks, "") })
    }

    /// The sum goes on when each k has been multiplied.
    pub fn beyond(&self, pair: &Pair) -> Told {
        let at = self.origins.location(pair.term.instruction);
        let line = self.line(pair.term.instruction);
        let mut marks = vec![self.mark(pair.term.instruction, None, "it is multiplied here")];
        marks.extend(self.passages(pair));
        let bound = bounds(&at);
        let lines: Vec<u32> = match &bound {
            Some(bound) => vec![bound.line],
            None => around(&at, &["for", "while"]),
        };
        marks.extend(lines.into_iter().map(|line| at_line(&at, line, "this lets it".into())));
        let ([a, b], name, k) = (pair.names(self.asked), &self.element.name, self.element.depth);
        let (all, help) = if k == self.asked.problem.k {
            (format!("below K = {k}"), "let k stay below K, or take 0 for what lies beyond the edge")
        } else {
            ("that it needs".to_owned(), "let k end where the element needs no more of A and B, or take 0 there")
        };
        let what = format!("{line} adds {a} times {b} to {name}, after all k {all} have been multiplied");
        Told::new(Mistake::Part, what, marks, bound.map_or_else(|| help.into(), |bound| bound.help))
    }

    pub fn part(&self, missing: &[u64], repeated: &[u64]) -> Told {
        let element = self.element;
        let name = &element.name;
        let [never, twice] = [missing, repeated].map(|ks| self.asked.ks(ks));
        let mut what = match (missing, repeated) {
            ([], _) => format!("{twice} {} multiplied more than once for {name}", are(&twice)),
            (_, []) => format!("{never} {} never multiplied for {name}", are(&never)),
            _ => format!("for {name} {twice} {} multiplied more than once, and {never} never", are(&twice)),
        };
        let multiply = element.pairs.first().map(|pair| pair.term.instruction);
        // Products that were formed and are not in the sum.
        let is_missing = |pair: &Pair| {
            let [a, b] = Side::BOTH.map(|side| pair.of(side).map(|(place, _)| place));
            a.zip(b).is_some_and(|((row, k), (col, q))| {
                row == element.row && col == element.col && k == q && missing.contains(&k)
            })
        };
        let formed = self.origins.products(self.asked, element, is_missing);
        let lacking = formed.iter().find(|(pair, _)| self.is_own(pair)).or(formed.first());
        if let Some((pair, later)) = lacking.filter(|_| !element.pairs.is_empty()) {
            let at = self.line(pair.term.instruction);
            let mut marks = vec![self.mark(pair.term.instruction, None, "the product is formed here")];
            what += &format!(", although {at} forms the products");
            if !self.is_own(pair) || !element.formed.passages.is_empty() {
                let thread = triple(index(self.origins.thread(pair.term.thread)));
                what += &format!(" in thread {thread}");
                self.parts(&mut marks);
                marks.extend(self.store_mark("this sum lacks them"));
                let stores = element.store.iter();
                add(&mut marks, stores.flat_map(|store| value_set(&self.origins.location(store.instruction))));
                let help = format!("{name} is put together from the sums of several threads: add each of them once");
                return Told::new(Mistake::Lost, what, marks, help);
            }
            if *later {
                marks.extend(self.store_mark("the sum is stored before it is complete"));
                let help = format!("store {name} once, after the loop over k has ended");
                return Told::new(Mistake::Early, what, marks, help);
            }
            marks.extend(self.store_mark("this sum lacks it"));
            let location = self.origins.location(pair.term.instruction);
            add(&mut marks, also_set(&location));
            let rest = element.formed.rest.iter().filter(|value| matches!(value.source, Source::Constant(_)));
            let begins =
                rest.filter_map(|value| Some(self.mark(value.loaded?, None, "it begins with this number here")));
            add(&mut marks, begins.filter(|mark| mark.location.line.is_some()));
            let code = code_at(&location);
            let keeps = code.contains("+=") || set_by_line(&code).is_some_and(|name| uses(&code, name).len() > 1);
            element.store.inspect(|store| self.set_by(store.instruction, false, &mut marks));
            let add = if keeps { String::new() } else { format!("add to the sum in {at}, with += in place of =; ") };
            let help = add
                + "set the sum to 0 once, before the loop over k, and never in it, and let no line replace what it has";
            return Told::new(Mistake::Lost, what, marks, help);
        }
        let same = |one: &Pair, other: &Pair| one.of(Side::A).map(|it| it.0) == other.of(Side::A).map(|it| it.0);
        let again = || {
            element
                .pairs
                .iter()
                .enumerate()
                .filter_map(|(at, one)| Some((one, element.pairs[..at].iter().find(|other| same(one, other))?)))
        };
        let place = multiply.map(|at| self.origins.location(at)).unwrap_or_default();
        let around_it = |mut marks: Vec<Mark>| {
            let lines = around(&place, &["for", "while"]).into_iter();
            marks.extend(lines.map(|line| at_line(&place, line, "it is done in this loop".into())));
            marks
        };
        if let Some((one, _)) = again().find(|(one, other)| one.term.tag == other.term.tag && !one.term.matrix) {
            let mut marks = vec![self.mark(one.term.instruction, None, "the sum is formed here, once")];
            self.parts(&mut marks);
            self.store_marks("and it is in this more than once", &mut marks);
            let help = "add the sum once to what is stored, and multiply it by one factor alone";
            return Told::new(Mistake::Part, what, marks, help);
        }
        if let Some((one, other)) = again().find(|(one, other)| one.term.thread != other.term.thread) {
            let threads = [one, other].map(|pair| triple(index(self.origins.thread(pair.term.thread))));
            what += &format!(", by several threads, such as {} and {}", threads[1], threads[0]);
            let mut marks = around_it(vec![self.mark(one.term.instruction, None, "all of them multiply here")]);
            self.parts(&mut marks);
            let help = "the threads whose sums are put together share the k: let each begin at its own k, and go on by as many as there are threads";
            return Told::new(Mistake::Part, what, marks, help);
        }
        let loops = around(&place, &["for", "while"]);
        let first = missing.first().copied();
        let there = |side: Side, k: u64| {
            let (_, value) = element.pairs.iter().find_map(|pair| pair.of(side))?;
            value.shared.and_then(|_| self.arrival(side, (element.own(side), k), &value))
        };
        let is_shared = |pair: &Pair, side| pair.of(side).is_some_and(|(_, value)| value.shared.is_some());
        let shared = element.pairs.iter().any(|pair| Side::BOTH.iter().any(|&side| is_shared(pair, side)));
        let arrived = first.filter(|_| shared).map(|k| Side::BOTH.map(|side| there(side, k)));
        let stale = first
            .zip(repeated.first())
            .is_none_or(|(k, again)| Side::BOTH.iter().any(|&side| self.is_tile_of_another_step(side, k, *again)));
        let mut marks = vec![];
        let mut mistake = Mistake::Part;
        let help = match arrived {
            // The tile came, and another one was read in its place.
            Some([a, b])
                if (a.is_some() || b.is_some()) && (!repeated.is_empty() || stands_for_zero(element, missing)) =>
            {
                let is_again = |pair: &&Pair| pair.of(Side::A).is_some_and(|((_, k), _)| repeated.contains(&k));
                let pair = element.pairs.iter().rfind(is_again).or(element.pairs.last());
                marks.extend(pair.map(|pair| self.passages(pair)).unwrap_or_default());
                if !stale {
                    let read = pair.map(|pair| self.line(pair.term.instruction)).unwrap_or_default();
                    marks.extend(loops.iter().map(|&line| at_line(&place, line, "it depends on this".into())));
                    let help = format!(
                        "{read} takes {twice} of a tile again, and never {never}, which are in it: let the index of k take each value once"
                    );
                    return Told::new(mistake, what, marks, help);
                }
                let there = a.or(b).map(|arrived| (self.line(arrived.stored), self.word(arrived.address).to_string()));
                let (stored, cell) = there.unwrap_or_default();
                if let Some(passage) = pair.and_then(|pair| pair.of(Side::A)?.1.shared) {
                    self.set_by(passage.loaded, false, &mut marks);
                    passage.stored.inspect(|&stored| self.set_by(stored, true, &mut marks));
                }
                mistake = Mistake::Stale;
                format!(
                    "k = {} was stored in {cell} in {stored}, and was not there when it was read: look at which buffer is stored to and which is \
                     read, and when",
                    first.unwrap_or_default()
                )
            }
            _ if !repeated.is_empty() && !missing.is_empty() => {
                let pair = element.pairs.last();
                marks.extend(pair.map(|pair| self.passages(pair)).unwrap_or_default());
                let loads = pair.iter().flat_map(|pair| pair.factors).filter_map(|(_, value)| value.loaded);
                let lines: BTreeSet<String> = loads.map(|at| self.line(at)).collect();
                let lines = lines.into_iter().collect::<Vec<_>>().join(" and ");
                format!(
                    "the loads in {lines} bring the same elements again: let their index or their pointer go on in every step of the loop"
                )
            }
            _ if missing.is_empty() => {
                marks.extend(loops.iter().map(|&line| at_line(&place, line, "it is done in this loop".into())));
                of_kind(Mistake::Part.name(), &[]).1
            }
            arrived => {
                let came = arrived.is_some_and(|of| {
                    let is_there =
                        |side| of[side as usize].is_some() || !element.pairs.iter().any(|pair| is_shared(pair, side));
                    Side::BOTH.into_iter().all(is_there)
                });
                // What is left of the sum is its end, and there are no zeros in place of the rest.
                let lost = missing.len() as u64;
                let products = element.with_zeros.len() as u64;
                let tail = lost * 2 >= element.depth
                    && missing.last() == Some(&(lost - 1))
                    && products + lost < element.depth + lost.min(64);
                if let Some(at) = multiply
                    && tail
                    && (came || !shared)
                {
                    what += ", because the sum does not keep what it has";
                    let mut marks = vec![self.mark(at, None, "the sum is set here")];
                    marks.extend(also_set(&self.origins.location(at)));
                    let help = "set the sum to 0 once, before the loop over k, and add to it with +=";
                    return Told::new(Mistake::Lost, what, marks, help);
                }
                // What was loaded and not multiplied is left out by the inner loop.
                let inner = came || !shared;
                let text = |line: u32| code_at(&Location { line: Some(line), ..place.clone() });
                let mut over: Vec<(u32, String)> = loops.iter().map(|&line| (line, text(line))).collect();
                let columns = self.asked.are_columns(missing);
                let counts = |text: &str| has_word(text, |word| word.starts_with('k') || word == "K") != columns;
                if over.iter().any(|(_, text)| counts(text)) {
                    over.retain(|(_, text)| counts(text));
                }
                if inner {
                    over.reverse();
                }
                let (line, text) = over.pop().unwrap_or_default();
                let loop_ = if line > 0 { format!("the loop in line {line}") } else { "the loop over k".to_owned() };
                if line > 0 {
                    marks.push(at_line(
                        &place,
                        line,
                        format!("this loop counts {}", if columns { "columns" } else { "k" }),
                    ));
                    let head = Location { line: Some(line), ..place.clone() };
                    add(&mut marks, set_by(&head, false));
                }
                let (tail, head) = (missing.contains(&(element.depth - 1)), missing.contains(&0));
                let steps = text.split(')').next().is_some_and(|head| head.contains("+="));
                let at_the_end = missing.len() as u64 == element.depth - missing[0];
                if !tail && !head || tail && !at_the_end {
                    marks.extend(self.store_mark("this sum lacks them"));
                }
                if inner
                    && at_the_end
                    && !shared
                    && !columns
                    && tail
                    && steps
                    && (missing.len() as u64) < 2 + element.depth / 2
                {
                    format!(
                        "the steps of {loop_} leave out what remains if K is not a multiple of them: multiply the rest after it"
                    )
                } else if inner {
                    let how = match (head, tail) {
                        (true, _) => "it begins too late",
                        (_, true) => "it ends too early",
                        _ => "it leaves some out",
                    };
                    let all = match shared {
                        _ if columns => "every column from 0 to N - 1",
                        true => "every k of the tile",
                        false if element.depth == self.asked.problem.k || self.asked.kind == Kind::RowSums => {
                            "every k from 0 to K - 1"
                        }
                        false => "every k that the element needs",
                    };
                    format!("let {loop_} multiply {all}: {how}, or what is multiplied there is lost")
                } else if element.depth > 1 && tail {
                    "let the loop run while k < K, and round the number of tiles up: the last one may be a part of a tile".to_owned()
                } else {
                    "let the loop begin at 0, go on by as much as a step multiplies, and end at K".to_owned()
                }
            }
        };
        if let Some(at) = multiply {
            add(&mut marks, [self.mark(at, None, "the products are added here")]);
        }
        Told::new(mistake, what, marks, help)
    }
}

/// Whether a product with zeros stands where the first missing one belongs.
fn stands_for_zero(element: &Element, missing: &[u64]) -> bool {
    missing.first().and_then(|&k| element.with_zeros.get(k as usize)).is_some_and(Pair::is_zero)
}

fn are(all: &str) -> &'static str {
    if all.contains(", ") || all.contains(" to ") { "are" } else { "is" }
}
