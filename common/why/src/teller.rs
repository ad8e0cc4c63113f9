//! What is shown of a wrong element: the lines that its factors passed, and the words of a finding.

use std::collections::{BTreeMap, BTreeSet};

use simt::Space;
use simt::analyses::provenance::{Arrived, Passage, Source, Value};

use super::asked::{Asked, Place, Side};
use super::element::{Element, Factor, Origins, Pair};
use super::judge::Verdict;
use super::mistake::Mistake;
use super::rule;
use super::texts::{help, text};
use findings::analysis::{HazardReport, HazardThread};
use findings::diagnostic::{Diagnostic, LOOPS, Mark, Part, STORE, Spot, Word, add, array_name, element_of, with_calls};
use findings::hazard_kind::ReportKind;
use findings::places::{index, is_ptx};

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
    /// The mistake with its marks, in the words of its cause; those of the mistake itself if it has one cause only.
    pub fn told(&self, mistake: Mistake, cause: &str, marks: Vec<Mark>, words: &[Word]) -> HazardReport {
        let Self { element: Element { name, store, .. }, count, looked_at, .. } = self;
        let words = [words, &[("name", name.clone()), ("store", self.line(self.store()))]].concat();
        let [what, help] = text(if cause.is_empty() { mistake.name() } else { cause }, &words);
        let (block, thread) = store.map_or(([0; 3], [0; 3]), |store| (index(store.block), index(store.thread)));
        let calls = marks.iter().flat_map(|mark| mark.spot.at.calls.iter().map(move |&(line, _)| (line, mark)));
        let given = calls.map(|(line, mark)| (line, mark.spot.exchanged(line))).find(|(_, given)| !given.is_empty());
        let given = given.map_or_else(String::new, |(line, given)| format!("the call in line {line} passes {given}; "));
        let side = |mark: &Mark| HazardThread::at(&mark.spot.at, block, thread, mark.label.clone());
        HazardReport {
            kind: ReportKind::from(mistake),
            place: name.clone(),
            threads: marks.iter().map(side).collect(),
            count: *count,
            diagnostic: Diagnostic {
                title: format!("{}: {what}", mistake.name()),
                marks: with_calls(marks),
                note: Some(format!("{given}so it is in {count} of {looked_at} elements of C; {name} is shown")),
                help,
                ..Diagnostic::default()
            },
        }
    }

    /// The line of an instruction, or nothing if there is none.
    pub fn line(&self, instruction: impl Into<Option<u32>>) -> String {
        let line = |line: Option<u32>| line.map_or_else(|| "the kernel".into(), |line| format!("line {line}"));
        instruction.into().map(|instruction| line(self.origins.line(instruction))).unwrap_or_default()
    }

    pub fn place(&self, instruction: u32) -> Spot {
        Spot::of(&self.origins.location(instruction))
    }

    /// The instruction that stores the element.
    pub fn store(&self) -> Option<u32> {
        self.element.store.map(|store| store.instruction)
    }

    /// The call of the kernel's own function in which an instruction lies, if it lies in one.
    pub fn call_of(&self, instruction: u32) -> Option<Spot> {
        let place = self.place(instruction);
        let (line, column) = place.at.calls.iter().copied().rfind(|&(line, _)| !is_ptx(&place.at, line))?;
        Some(place.moved(Some(line), Some(column)))
    }

    /// The lines of the calls that lead to an instruction in brackets, or nothing.
    pub fn called(&self, instruction: u32) -> String {
        let place = self.place(instruction);
        // A call in which everything happens tells nothing apart.
        let whole = self.store().map(|store| self.place(store).at.calls).unwrap_or_default();
        let tells = |call: &&(u32, u32)| !is_ptx(&place.at, call.0) && !whole.contains(call);
        let lines: BTreeSet<u32> = place.at.calls.iter().filter(tells).map(|(line, _)| *line).collect();
        if lines.is_empty() { String::new() } else { format!(" (called in {})", listed(&lines)) }
    }

    /// The words for a product: its line and its factors.
    pub fn product(&self, pair: &Pair) -> Vec<Word> {
        let [one, other] = pair.factors.map(|(factor, _)| factor.name(self.asked));
        vec![("line", self.line(pair.term.instruction)), ("one", one), ("other", other)]
    }

    /// The words for what was found in place of an element: the way of the value.
    pub fn found(&self, value: &Value) -> Vec<Word> {
        let called = value.loaded.map_or_else(String::new, |at| self.called(at));
        let call = value.loaded.and_then(|at| self.call_of(at)).filter(|_| !called.is_empty());
        let open = |call: &Spot| call.on_from().find(|&at| call.text(at) == "(");
        let has_some = call.is_some_and(|call| open(&call).is_none_or(|at| call.text(at + 1) != ")"));
        let arguments = if has_some { " and at the arguments of the call" } else { "" };
        let put = self.line(value.shared.and_then(|passage| passage.stored));
        // A copy loads and stores in one line.
        let apart = !put.is_empty() && put != self.line(value.loaded);
        let put_there = if apart { format!(", and at what {put} stores") } else { String::new() };
        vec![
            ("load", self.line(value.loaded) + &called),
            ("arguments", arguments.to_owned()),
            ("put", put),
            ("put_there", put_there),
            ("here", self.cell(value).to_string()),
            ("read", self.line(value.shared.map(|passage| passage.loaded))),
            ("shuffle", self.line(value.shuffled)),
        ]
    }

    /// The words for an element that was expected, and for where the block has put it.
    pub fn expected(&self, side: Side, needed: Place, arrived: Option<Arrived>) -> Vec<Word> {
        vec![
            ("need", self.asked.name(side, needed)),
            ("array", self.asked.array(side).to_owned()),
            ("there", arrived.map(|arrived| self.word(arrived.address).to_string()).unwrap_or_default()),
            ("stored", self.line(arrived.map(|arrived| arrived.stored))),
        ]
    }

    pub fn mark(&self, instruction: u32, element: Option<simt::Place>, label: impl Into<String>) -> Mark {
        Mark { spot: self.place(instruction), element, label: label.into(), ..Mark::default() }
    }

    /// An instruction that stores.
    pub fn stores(&self, instruction: u32, element: Option<simt::Place>, label: impl Into<String>) -> Mark {
        Mark { writes: true, ..self.mark(instruction, element, label) }
    }

    /// The word of shared memory that a value was read from.
    pub fn cell(&self, value: &Value) -> simt::Place {
        value.shared.map_or(simt::Place::Shared(0), |passage| self.word(passage.address))
    }

    /// The element of a shared array that a word is. In shared memory whose size the launch gives, it has the name that the line
    /// uses which stores there.
    pub fn word(&self, address: u32) -> simt::Place {
        let place = self.origins.word(address);
        if self.origins.field(address).is_none_or(|field| !field.extents.is_empty()) {
            return place;
        }
        // By place, as an unrolled loop has many instructions for one: the first address, and the bytes of an element.
        let mut begins: Vec<(simt::Location, u32, u32)> = vec![];
        let mut stored = BTreeMap::new();
        for (_, arrived) in Side::BOTH.into_iter().flat_map(|side| self.arrived(side)) {
            let place = stored.entry(arrived.stored).or_insert_with(|| self.origins.location(arrived.stored));
            let is_it = |(known, ..): &&mut (simt::Location, u32, u32)| {
                (known.line, known.column, &known.calls) == (place.line, place.column, &place.calls)
            };
            let size = if arrived.address.is_multiple_of(4) { 4 } else { 2 };
            match begins.iter_mut().find(is_it) {
                Some((_, begin, bytes)) => (*begin, *bytes) = (arrived.address.min(*begin), size.min(*bytes)),
                None => begins.push((place.clone(), arrived.address, size)),
            }
        }
        let before = begins.into_iter().filter(|(_, begin, _)| *begin <= address);
        let named = before.max_by_key(|(_, begin, _)| *begin).and_then(|(place, begin, size)| {
            let index = u64::from((address - begin) / size);
            Some(element_of(Spot::of(&place).set_by_line()?.last(), Space::Shared, vec![index]))
        });
        named.unwrap_or(place)
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

    /// The value, as if read in the line that multiplies it, if that line names the array: one load may serve several lines.
    pub fn seen(&self, pair: &Pair, side: Side, mut value: Value) -> Value {
        let product = pair.term.instruction;
        let cell = self.cell(&value);
        let array = value.shared.map_or(Some(self.asked.array(side)), |_| array_name(&cell));
        if array.is_some_and(|array| !self.place(product).accesses(array).is_empty()) {
            match &mut value.shared {
                Some(passage) => passage.loaded = product,
                None => value.loaded = value.loaded.map(|_| product),
            }
        }
        value
    }

    pub fn read(&self, value: &Value, label: &str) -> Vec<Mark> {
        let cell = self.cell(value);
        let mark = |passage: &Passage| self.mark(passage.loaded, Some(cell.clone()), format!("{cell} {label}"));
        value.shared.iter().map(mark).collect()
    }

    /// How a factor came to where it is multiplied, the last stop first.
    pub fn passage(&self, pair: &Pair, side: Side) -> Vec<Mark> {
        let Some((place, value)) = pair.of(side) else { return vec![] };
        self.way(&self.asked.name(side, place), self.asked.array(side), &self.seen(pair, side, value))
    }

    pub fn passages(&self, pair: &Pair) -> Vec<Mark> {
        Side::BOTH.into_iter().flat_map(|side| self.passage(pair, side)).collect()
    }

    pub fn way(&self, name: &str, array: &str, value: &Value) -> Vec<Mark> {
        let mut marks = self.read(value, &format!("holds {name}"));
        if let Some((passage, stored)) = value.shared.and_then(|passage| Some((passage, passage.stored?))) {
            let thread = self.origins.thread(passage.by);
            marks.push(self.stores(stored, Some(self.cell(value)), format!("thread {thread} has put {name} there")));
        }
        if let Some(loaded) = value.loaded {
            let (element, how) = match value.source {
                Source::Computed => (None, "computed"),
                _ => (Some(element_of(array, Space::Global, vec![])), "read"),
            };
            add(&mut marks, [self.mark(loaded, element, format!("{name} is {how} here"))]);
        }
        marks
    }

    /// Marks the conditions around a store, and says that the store is also needed without them; empty if there are none.
    pub fn not_only_under(place: &Spot, marks: &mut Vec<Mark>) -> String {
        let lines = BTreeSet::from_iter(place.around(&["if"]));
        add(marks, place.conditions(lines.iter().copied()));
        let only = (!lines.is_empty()).then(|| format!(", and not only under the condition in {}", listed(&lines)));
        only.unwrap_or_default()
    }

    /// Marks the loops that an instruction and the products of the element have in common, and lists them; empty if there are none.
    pub fn common_loops(&self, instruction: Option<u32>, marks: &mut Vec<Mark>) -> String {
        let Some((at, pair)) = instruction.zip(self.element.pairs.first()) else { return String::new() };
        let place = self.place(at);
        let of_products = self.place(pair.term.instruction).around(LOOPS);
        let mut lines = place.around(LOOPS);
        lines.retain(|line| of_products.contains(line));
        let lines = BTreeSet::from_iter(of_k(&place, lines, true));
        add(marks, place.at_lines(lines.iter().copied(), "it is done in each step of this loop"));
        if lines.is_empty() { String::new() } else { listed(&lines) }
    }

    /// The lines that set what a part of the line of an instruction uses, but for those that are marked already.
    pub fn set_by(&self, instruction: impl Into<Option<u32>>, part: Part, marks: &mut Vec<Mark>) {
        add(marks, instruction.into().iter().flat_map(|&instruction| self.place(instruction).set_by(part)));
    }

    /// Those that set this part of the index of a load from shared memory.
    pub fn read_set_by(&self, passage: Passage, part: Part, marks: &mut Vec<Mark>) {
        let cell = self.word(passage.address);
        self.set_by(passage.loaded, Part { array: array_name(&cell).unwrap_or_default(), ..part }, marks);
    }

    pub fn store_mark(&self, label: &str) -> Option<Mark> {
        self.store().map(|store| self.stores_to_c(store, label))
    }

    /// An instruction that stores to C.
    pub fn stores_to_c(&self, instruction: u32, label: impl Into<String>) -> Mark {
        self.stores(instruction, Some(element_of("C", Space::Global, vec![])), label)
    }

    /// The store of the element, and the lines that set what it uses.
    pub fn store_marks(&self, label: &str, by_size: Option<bool>, marks: &mut Vec<Mark>) {
        marks.extend(self.store_mark(label));
        self.set_by(self.store(), Part { array: "C", by_size, ..STORE }, marks);
    }

    /// Where an element was stored, if it was: the place nearest to the one that was read instead.
    pub fn arrival(&self, side: Side, needed: Place, value: &Value) -> Option<Arrived> {
        let read = value.shared.map_or(0, |passage| passage.address);
        let distance = |at: &Arrived| (!self.same_but_for_buffer(read, at.address), at.address.abs_diff(read));
        self.arrivals(side, needed).into_iter().min_by_key(distance)
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

    /// Whether a word was right in the first step, in any of its buffers. Then the later loads are the ones that go wrong.
    pub fn moved(&self, side: Side, needed: Place, passage: Passage) -> bool {
        let mut first = self.first_fill(side);
        first.retain(|((own, _), _)| *own == needed.0);
        let buffer = |address: i64| self.origins.in_buffer(address as u32).0;
        first.iter().any(|&((_, k), address)| {
            let of_buffer = first.iter().filter(|(_, other)| buffer(*other) == buffer(address));
            let steps = of_buffer.map(|((_, k), _)| *k).collect::<BTreeSet<u64>>().len() as u64;
            let here = self.same_but_for_buffer(address as u32, passage.address);
            here && needed.1 > k && (needed.1 - k).is_multiple_of(steps)
        })
    }

    /// Whether one k is read where another one should be because a tile of another step lies there: in the same place of a tile.
    pub fn is_tile_of_another_step(&self, side: Side, needed: u64, taken: u64) -> bool {
        let own = self.element.own(side);
        let [of_needed, of_taken] = [needed, taken].map(|k| self.arrivals(side, (own, k)));
        let is_same = |one: &Arrived| of_taken.iter().any(|other| self.same_but_for_buffer(one.address, other.address));
        let all = self.arrived(side).iter().filter(|(place, _)| place.0 == own).count() as u64;
        let is_step = |depth| depth > 1 && depth < all && needed.abs_diff(taken).is_multiple_of(depth);
        of_needed.iter().any(is_same) || self.depth_of_tile(side, false).is_some_and(is_step)
    }

    /// How many k of an operand a tile has: as many as follow each other at the same distance. It is certain if the next k lies
    /// where the first one does, perhaps in another buffer.
    pub fn depth_of_tile(&self, side: Side, certain: bool) -> Option<u64> {
        let mut arrived = self.arrived(side);
        arrived.retain(|((own, _), _)| *own == self.element.own(side));
        let ks: BTreeMap<u64, u32> = arrived.iter().rev().map(|((_, k), arrived)| (*k, arrived.address)).collect();
        let addresses: Vec<u32> = ks.into_values().collect();
        let first = i64::from(*addresses.get(1)?) - i64::from(addresses[0]);
        let goes_on = |pair: &&[u32]| i64::from(pair[1]) - i64::from(pair[0]) == first;
        let depth = 1 + addresses.windows(2).take_while(goes_on).count();
        let again = |next: &u32| self.same_but_for_buffer(addresses[0], *next);
        (!certain || addresses.get(depth).is_none_or(again)).then_some(depth as u64)
    }

    /// How an operand is stored and how it is read, if the distances of neighbours are not the same. By the order of the products if
    /// the other factors do not tell their k.
    pub fn laid_out_in_two_ways(&self, side: Side, by_order: bool, words: [&[Word]; 2]) -> Option<String> {
        let filled: BTreeMap<Place, i64> = self.first_fill(side).into_iter().collect();
        let block = |element: &Element| element.store.map(|store| store.block);
        let is_other = |factor: &Factor| matches!(factor, Factor::Of(of, _) if *of == side.other());
        let array = |address: u32| self.origins.field(address).map(|field| field.offset);
        let own_array = filled.values().next().and_then(|first| array(*first as u32));
        let mut taken = vec![];
        for (element, _) in self.alike.iter().filter(|(element, _)| block(element) == block(self.element)) {
            let pairs = if by_order { &element.with_zeros } else { &element.pairs };
            let all = pairs.len() as u64 == element.depth;
            taken.extend(pairs.iter().zip(0..).filter_map(|(pair, n)| {
                let k = if by_order { Some(n).filter(|_| all) } else { pair.of(side.other()).map(|((_, k), _)| k) };
                let place = Some((element.own(side), k?)).filter(|place| filled.contains_key(place))?;
                let own = pair.factors.iter().filter(|(factor, _)| !is_other(factor));
                let mut read = own.filter_map(|(_, value)| Some(value.shared?.address));
                Some((place, i64::from(read.find(|at| !by_order || array(*at) == own_array)?)))
            }));
        }
        let [own, k, _] = rule::affine(&filled.into_iter().collect::<Vec<_>>())?;
        let [own_read, k_read, _] = rule::affine(&taken)?;
        let (what, one, other) = if k == k_read { (side.line(), own, own_read) } else { ("k", k, k_read) };
        let size = if one % 4 == 0 && other % 4 == 0 { 4 } else { 2 };
        (one != other).then(|| {
            let [one, other] = [one, other].map(|bytes| (bytes / size).to_string());
            let more = [("one", one), ("other", other), ("line", what.to_owned())];
            help("two layouts", &[words[0], words[1], &more].concat())
        })
    }

    /// Whether the rows or columns of an operand keep their order in shared memory, or are mixed with the k. They do not if they were
    /// stored in another order, or one of them in several places.
    pub fn is_in_order(&self, side: Side) -> bool {
        let mut by_k: BTreeMap<u64, BTreeMap<u64, i64>> = BTreeMap::new();
        for ((own, k), address) in self.first_fill(side) {
            if by_k.entry(k).or_default().insert(own, address).is_some() {
                return false;
            }
        }
        let distances = |lines: &BTreeMap<u64, i64>| -> Vec<(Place, i64)> {
            let begin = lines.values().next().copied().unwrap_or_default();
            // The rule for two indices needs samples in two directions, so each row or column is given twice.
            let twice = |(&own, address): (&u64, &i64)| [0, 1].map(|k| ((own, k), address - begin));
            lines.iter().flat_map(twice).collect()
        };
        let all: Vec<Vec<(Place, i64)>> = by_k.values().filter(|lines| lines.len() > 1).map(distances).collect();
        !all.windows(2).all(|pair| pair[0] == pair[1]) || all.first().is_none_or(|lines| rule::affine(lines).is_some())
    }
}

/// A finding with other help, if there is any.
pub fn helped(mut report: HazardReport, help: Option<String>) -> HazardReport {
    report.diagnostic.help = help.unwrap_or(report.diagnostic.help);
    report
}

/// A finding with one more note, before the one that counts the elements.
pub fn noted(mut report: HazardReport, note: Option<String>) -> HazardReport {
    let notes: Vec<String> = note.into_iter().chain(report.diagnostic.note).collect();
    report.diagnostic.note = Some(notes.join("; "));
    report
}

/// The loops in these lines whose heads speak of k, or do not; all of them if there is no such one.
pub fn of_k(place: &Spot, mut lines: Vec<u32>, speaks: bool) -> Vec<u32> {
    let fits = |line: &u32| place.on_line(*line).has_word(|word| word.starts_with('k') || word == "K") == speaks;
    if lines.iter().any(fits) {
        lines.retain(fits);
    }
    lines
}

/// `line 3` or `lines 3, 5 and 7`
pub fn listed(lines: &BTreeSet<u32>) -> String {
    let all: Vec<String> = lines.iter().map(u32::to_string).collect();
    match all.split_last() {
        Some((last, before)) if !before.is_empty() => format!("lines {} and {last}", before.join(", ")),
        _ => format!("line {}", all.concat()),
    }
}
