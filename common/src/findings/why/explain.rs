//! From the verdicts on all elements of C to one finding: the mistake that most of them show, with one of them worked out.

use plan::Problem;
use simt::analyses::provenance::{Arrived, Passage, Value};

use super::element::{Element, Factor, Origins, Pair, Place, Side, global};
use super::judge::{Verdict, judge};
use super::rule::{self, Rule, Sample};
use crate::code::places::{Sources, index, triple};
use crate::findings::analysis::{HazardReport, HazardThread};
use crate::findings::diagnostic::{Diagnostic, Mark, around, at_line, declared, set_by};
use crate::findings::hazard_kind::{Mistake, ReportKind};

/// What a wrong element is told by: which mistake it is, and everything that is shown.
struct Told {
    mistake: Mistake,
    what: String,
    marks: Vec<Mark>,
    note: Option<String>,
    help: String,
}

/// Why a product is wrong; none if its elements are right, or could not be followed.
pub fn explain(origins: &Origins, problem: &Problem) -> Option<HazardReport> {
    let mut counts: Vec<(Key, u64)> = vec![];
    let mut kept: Vec<(Element, Verdict)> = vec![];
    let mut looked_at = 0;
    for element in origins.elements(problem).take(MOST_ELEMENTS) {
        looked_at += 1;
        let verdict = judge(origins, problem, &element);
        if matches!(verdict, Verdict::Right | Verdict::Unknown) {
            continue;
        }
        let key = key(&verdict);
        let at = counts.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            counts.push((key, 0));
            counts.len() - 1
        });
        counts[at].1 += 1;
        let count = counts[at].1;
        if count <= MOST_KEPT {
            kept.push((element, verdict));
        }
    }
    let weight = |(key, count): &(Key, u64)| (key.0, *count);
    let (commonest, count) =
        counts.iter().copied().reduce(|best, next| if weight(&next) > weight(&best) { next } else { best })?;
    let alike: Vec<&(Element, Verdict)> = kept.iter().filter(|(_, verdict)| key(verdict) == commonest).collect();
    // The clearest example has small indices, no two of them the same, and none that is 0.
    let clear = |(element, _): &&(Element, Verdict)| {
        let Element { row, col, .. } = *element;
        (row == col, row == 0 || col == 0, row + col)
    };
    let (element, verdict) = alike.iter().copied().min_by_key(clear)?;
    let told = Teller { origins, problem, alike: &alike, element }.tell(verdict)?;
    Some(report(element, told, count, looked_at))
}

/// Elements of C that are looked at, and kept of each mistake.
const MOST_ELEMENTS: usize = 4096;
const MOST_KEPT: u64 = 256;

/// What tells one mistake from another: how much it says, which verdict it is, and of which operand.
type Key = (u8, std::mem::Discriminant<Verdict>, Option<Side>);

fn key(verdict: &Verdict) -> Key {
    let side = if let Verdict::Factor(side, ..) = verdict { Some(*side) } else { None };
    // What nobody stored is somewhere else, if anything is.
    let says = match verdict {
        Verdict::Unwritten => 0,
        Verdict::Zeros | Verdict::Empty => 1,
        _ => 2,
    };
    (says, std::mem::discriminant(verdict), side)
}

fn report(element: &Element, told: Told, count: u64, looked_at: u64) -> HazardReport {
    let mut sources = Sources::default();
    let store = element.store.as_ref();
    let thread = |mark: &Mark| {
        let (file, line, text) = sources.place(&mark.location);
        let (block, at) = store.map_or(([0; 3], [0; 3]), |store| (index(store.block), index(store.thread)));
        HazardThread { block, thread: at, action: mark.label.clone(), file, line, text }
    };
    let threads = told.marks.iter().map(thread).collect();
    let share = format!("so it is in {count} of {looked_at} elements of C; {} is shown", element.name());
    let note = told.note.map_or_else(|| share.clone(), |note| format!("{note}; {share}"));
    HazardReport {
        kind: ReportKind::Product(told.mistake),
        place: element.name(),
        threads,
        count,
        remedy: told.help.clone(),
        diagnostic: Diagnostic {
            title: format!("{}: {}", told.mistake.name(), told.what),
            marks: told.marks,
            note: Some(note),
            help: told.help,
            warning: false,
        },
    }
}

struct Teller<'a> {
    origins: &'a Origins,
    problem: &'a Problem,
    /// All elements with the mistake.
    alike: &'a [&'a (Element, Verdict)],
    element: &'a Element,
}

impl Teller<'_> {
    fn tell(&self, verdict: &Verdict) -> Option<Told> {
        let (element, name) = (self.element, self.element.name());
        Some(match verdict {
            Verdict::Right | Verdict::Unknown => return None,
            Verdict::Unwritten => self.unwritten()?,
            Verdict::Zeros | Verdict::Empty => self.empty(*verdict == Verdict::Zeros),
            Verdict::Zero(side, at, k) => self.zero(*side, &element.with_zeros[*at], *k),
            Verdict::Added => {
                let value = element.formed.rest.first()?;
                let at = value.shared.map(|passage| passage.loaded).or(value.loaded)?;
                Told {
                    mistake: Mistake::Operands,
                    what: format!("{} adds elements that should be multiplied", self.line(at)),
                    marks: vec![self.mark(at, None, "is added here")],
                    note: None,
                    help: "multiply the element of A by that of B, and add the product to the sum".into(),
                }
            }
            Verdict::Overwritten => self.overwritten(),
            Verdict::Unset(at) => self.unset(&element.pairs[*at])?,
            Verdict::Operands(at) => self.operands(&element.pairs[*at]),
            Verdict::Beginning => self.beginning(),
            Verdict::Sign(at) => {
                let line = self.line(element.pairs[*at].term.instruction);
                Told {
                    mistake: Mistake::Sign,
                    what: format!("{line} subtracts the products of {name}"),
                    marks: vec![self.mark(element.pairs[*at].term.instruction, None, "subtracts")],
                    note: None,
                    help: format!("add them in {line}: += in place of -="),
                }
            }
            Verdict::Swapped => {
                let pair = &element.pairs[0];
                let [a, b] = pair.names();
                let mut marks = self.passage(pair, Side::A);
                marks.extend(self.passage(pair, Side::B));
                Told {
                    mistake: Mistake::Swapped,
                    what: format!(
                        "{name} is an element of B·A: {} multiplies {a} by {b}",
                        self.line(pair.term.instruction)
                    ),
                    marks,
                    note: None,
                    help: "take the row of C for A and its column for B".into(),
                }
            }
            Verdict::Elsewhere(place) => self.elsewhere(*place),
            Verdict::Factor(side, at, k) => self.factor(*side, *at, *k),
            Verdict::Part { missing, repeated } => self.part(missing, repeated),
            Verdict::Converted(instruction) => {
                let line = self.line(*instruction);
                let mut marks = vec![self.mark(*instruction, None, "the value is converted here")];
                marks.extend(declared(&mut Sources::default(), &self.origins.location(*instruction)));
                Told {
                    mistake: Mistake::Converted,
                    what: format!("{line} gives {name} another type on its way, and loses a part of its value"),
                    marks,
                    note: None,
                    help: "declare the sum, and every variable that holds an element, with the type of the elements: ELEMENT".into(),
                }
            }
        })
    }

    fn line(&self, instruction: u32) -> String {
        self.origins.line(instruction).map_or_else(|| "the kernel".into(), |line| format!("line {line}"))
    }

    fn mark(&self, instruction: u32, element: Option<simt::Place>, label: &str) -> Mark {
        Mark { location: self.origins.location(instruction), element, writes: false, label: label.into() }
    }

    /// The word of shared memory that a value was read from.
    fn cell(&self, value: &Value) -> simt::Place {
        value.shared.map_or(simt::Place::Shared(0), |passage| self.origins.word(passage.position))
    }

    fn read(&self, value: &Value, label: &str) -> Vec<Mark> {
        let cell = self.cell(value);
        let mark = |passage: &Passage| self.mark(passage.loaded, Some(cell.clone()), &format!("{cell} {label}"));
        value.shared.iter().map(mark).collect()
    }

    /// The way of a factor to where it is multiplied, the last part first.
    fn passage(&self, pair: &Pair, side: Side) -> Vec<Mark> {
        let Some((place, value)) = pair.of(side) else { return vec![] };
        self.way(&side.element(place), side.name(), &value)
    }

    fn way(&self, name: &str, array: &str, value: &Value) -> Vec<Mark> {
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
    fn set_by(&self, instruction: u32, stores: bool, marks: &mut Vec<Mark>) {
        for mark in set_by(&mut Sources::default(), &self.origins.location(instruction), stores) {
            if marks.iter().all(|known| known.location.line != mark.location.line) {
                marks.push(mark);
            }
        }
    }

    fn store_mark(&self, label: &str) -> Option<Mark> {
        let store = self.element.store.as_ref()?;
        Some(Mark { writes: true, ..self.mark(store.instruction, Some(global("C", &[])), label) })
    }

    fn unwritten(&self) -> Option<Told> {
        let name = self.element.name();
        let instruction = self.origins.store_of_c()?;
        let place = self.origins.location(instruction);
        let mut sources = Sources::default();
        let mut marks = vec![Mark {
            writes: true,
            ..self.mark(instruction, Some(global("C", &[])), &format!("no thread comes here for {name}"))
        }];
        for line in around(&mut sources, &place, &["if"]) {
            marks.push(at_line(&mut sources, &place, line, "it depends on this".into()));
        }
        self.set_by(instruction, true, &mut marks);
        Some(Told {
            mistake: Mistake::Unwritten,
            what: format!("no thread stores {name}"),
            marks,
            note: None,
            help: "row must follow from blockIdx.y and threadIdx.y and stay below M, col from blockIdx.x and threadIdx.x and below N; and the \
                   threads of the grid must cover all of C"
                .into(),
        })
    }

    fn empty(&self, zeros: bool) -> Told {
        let name = self.element.name();
        let mut marks: Vec<Mark> = self.store_mark("this sum is 0").into_iter().collect();
        if let Some(pair) = self.element.with_zeros.first() {
            for (_, value) in &pair.factors {
                marks.extend(self.read(value, "holds 0, as if it lay beyond the edge"));
                let stored = value.shared.and_then(|passage| passage.stored);
                marks.extend(stored.map(|stored| Mark {
                    writes: true,
                    ..self.mark(stored, Some(self.cell(value)), "and was stored here")
                }));
            }
        }
        if let Some(store) = &self.element.store {
            self.set_by(store.instruction, true, &mut marks);
        }
        let (mistake, what) = if zeros {
            (
                Mistake::Zeros,
                format!("every product for {name} has a 0 in it that stands for an element beyond the edge"),
            )
        } else {
            (Mistake::Empty, format!("nothing was multiplied for {name}"))
        };
        let help = if zeros {
            "compare the rows and columns that are loaded with those that are stored, and the bounds of the loads with M, N and K"
        } else {
            "let the loops over k run from 0 to K, one tile after the other, also if K is not a multiple of the tile"
        };
        Told { mistake, what, marks, note: None, help: help.into() }
    }

    fn zero(&self, side: Side, pair: &Pair, k: u64) -> Told {
        let line = self.line(pair.term.instruction);
        let need = side.element((self.element.own(side), k));
        let zero = pair
            .factors
            .iter()
            .find(|(factor, _)| *factor == Factor::Zero)
            .map(|(_, value)| *value)
            .unwrap_or_default();
        let mut marks = self.read(&zero, "holds 0 here");
        let stored = zero.shared.and_then(|passage| passage.stored).or(zero.loaded).unwrap_or(pair.term.instruction);
        marks.push(Mark {
            writes: true,
            ..self.mark(stored, Some(self.cell(&zero)), &format!("0 is taken here for {need}"))
        });
        self.set_by(stored, false, &mut marks);
        Told {
            mistake: Mistake::Zero,
            what: format!(
                "{line} multiplies 0 for {} in place of {need}, which lies inside the matrix",
                self.element.name()
            ),
            marks,
            note: None,
            help:
                "look at the condition under which 0 is taken: A has M rows and K columns, B has K rows and N columns"
                    .into(),
        }
    }

    fn unset(&self, pair: &Pair) -> Option<Told> {
        let (_, value) = pair.factors.iter().find(|(factor, _)| *factor == Factor::Unset)?;
        let (cell, line) = (self.cell(value), self.line(pair.term.instruction));
        let other = Side::BOTH.iter().find_map(|&side| Some((side.other(), pair.of(side)?.0.1)));
        let needed = other.map(|(side, k)| (side, (self.element.own(side), k)));
        let place = needed.and_then(|(side, needed)| self.arrival(side, needed, value));
        let mut marks = self.read(value, "has no value yet");
        if let (Some((side, needed)), Some(arrived)) = (needed, place) {
            let (need, there, stored) =
                (side.element(needed), self.origins.word(arrived.position), self.line(arrived.stored));
            marks.push(Mark {
                writes: true,
                ..self.mark(arrived.stored, Some(there.clone()), &format!("{need} is stored in {there}"))
            });
            let read = value.shared.map_or(line.clone(), |passage| self.line(passage.loaded));
            let position = value.shared.map_or(0, |passage| passage.position);
            let buffer = self.same_but_for_buffer(position, arrived.position);
            return Some(Told {
                mistake: if buffer { Mistake::Stale } else { Mistake::Misplaced },
                what: format!("{read} reads {cell}, which nobody has set, for {need}, which is in {there}"),
                marks,
                note: None,
                help: format!("let {stored} and {read} use the same buffer and the same indices for one tile"),
            });
        }
        Some(Told {
            mistake: Mistake::Unset,
            what: format!("{line} multiplies {cell}, which nobody has set"),
            marks,
            note: None,
            help: "let the threads of the block store every element of the tile before any of them is read, with 0 for what lies beyond the \
                   edge of a matrix"
                .into(),
        })
    }

    fn operands(&self, pair: &Pair) -> Told {
        let [one, other] = pair.names();
        let mut marks = vec![];
        for (factor, value) in &pair.factors {
            let array = if let Factor::Of(side, _) = factor { side.name() } else { "C" };
            for mark in self.way(&factor.name(), array, value) {
                if marks.iter().all(|known: &Mark| known.label != mark.label) {
                    marks.push(mark);
                }
            }
        }
        let line = self.line(pair.term.instruction);
        for stored in pair.factors.iter().filter_map(|(_, value)| value.shared?.stored) {
            self.set_by(stored, true, &mut marks);
        }
        if marks.is_empty() {
            marks.push(self.mark(pair.term.instruction, None, "multiplies"));
        }
        Told {
            mistake: Mistake::Operands,
            what: format!(
                "{line} multiplies {one} by {other}, and {} needs an element of A times one of B",
                self.element.name()
            ),
            marks,
            note: None,
            help: format!(
                "let one factor in {line} be an element of A and the other one of B; look at what each of them was stored from"
            ),
        }
    }

    fn beginning(&self) -> Told {
        let name = self.element.name();
        let rest = self.element.formed.rest.iter().find(|value| value.bits as u32 & 0x7fff_ffff != 0);
        let (with, instruction) = if let Some(value) = rest {
            match self.origins.factor(self.problem, value) {
                Factor::Other => ("what was in C before".to_owned(), value.loaded),
                factor => (factor.name(), value.loaded),
            }
        } else {
            let other =
                self.element.pairs.first().and_then(|pair| Some((pair.of(Side::A)?.0.0, pair.of(Side::B)?.0.0)));
            let (row, col) = other.unwrap_or_default();
            (format!("the sum of C[{row}][{col}]"), None)
        };
        let at = instruction.or(self.element.pairs.first().map(|pair| pair.term.instruction));
        Told {
            mistake: Mistake::Beginning,
            what: format!("the sum for {name} begins with {with} and not with 0"),
            marks: at
                .into_iter()
                .flat_map(|at| {
                    let place = self.element.pairs.first().map_or(at, |pair| pair.term.instruction);
                    [Some(self.mark(at, None, "it comes from here")), declared(&mut Sources::default(), &self.origins.location(place))]
                })
                .flatten()
                .collect(),
            note: None,
            help: "set the variable of the sum to 0 for each element, right before the loop over k, and store it once after that loop".into(),
        }
    }

    fn overwritten(&self) -> Told {
        let name = self.element.name();
        let (last, earlier) = (self.element.store, self.element.earlier.last());
        let who = |store: &simt::analyses::provenance::Store| {
            format!("thread {} of block {}", triple(index(store.thread)), triple(index(store.block)))
        };
        let mut marks: Vec<Mark> = vec![];
        for (store, label) in [(earlier, "stores the right sum"), (last.as_ref(), "stores another one later")] {
            marks.extend(store.map(|store| Mark {
                writes: true,
                ..self.mark(store.instruction, Some(global("C", &[])), &format!("{} {label}", who(store)))
            }));
        }
        Told {
            mistake: Mistake::Overwritten,
            what: format!("{name} was right, and then another sum was stored over it"),
            marks,
            note: None,
            help: "let each element of C belong to one thread, and let no other store to it: look at how its index follows from threadIdx and \
                   at the bounds of the store"
                .into(),
        }
    }

    fn elsewhere(&self, (row, col): Place) -> Told {
        let name = self.element.name();
        let samples: Vec<Sample> = self
            .alike
            .iter()
            .filter_map(|(element, verdict)| match verdict {
                Verdict::Elsewhere(place) => Some(Sample { needed: (element.row, element.col), taken: *place }),
                _ => None,
            })
            .collect();
        let rule = match Rule::of(&samples, (0, 0)) {
            Rule::Exchanged => Some("row and column are exchanged: element (row, col) is C[row * N + col]"),
            _ => None,
        };
        let mut marks: Vec<Mark> = self
            .element
            .store
            .iter()
            .map(|store| Mark {
                writes: true,
                ..self.mark(
                    store.instruction,
                    Some(global("C", &[])),
                    &format!("the sum for C[{row}][{col}] is stored in {name}"),
                )
            })
            .collect();
        marks.extend(
            self.element.pairs.first().map(|pair| self.mark(pair.term.instruction, None, "the sum is formed here")),
        );
        if let Some(store) = &self.element.store {
            self.set_by(store.instruction, true, &mut marks);
        }
        Told {
            mistake: Mistake::Elsewhere,
            what: format!("the sum for C[{row}][{col}] was stored in {name}"),
            marks,
            note: rule.map(str::to_owned),
            help: "take the row and the column of the elements that were multiplied for the index of the store, too: C[row * N + col]".into(),
        }
    }

    /// Every element of an operand that was taken for another one, in all elements of C with this mistake.
    fn samples(&self, side: Side) -> Vec<Sample> {
        let mut samples = vec![];
        for (element, verdict) in self.alike {
            let Verdict::Factor(of, at, k) = verdict else { continue };
            if *of != side {
                continue;
            }
            // The k of the example tells how the others count: as the other factor does, or in their order.
            let other = side.other();
            let by_other = element.pairs[*at].of(other).is_some_and(|((_, other), _)| other == *k);
            for (n, pair) in element.pairs.iter().enumerate() {
                let (Some((taken, _)), Some(((_, k), _))) = (pair.of(side), pair.of(other)) else { continue };
                samples.push(Sample { needed: (element.own(side), if by_other { k } else { n as u64 }), taken });
            }
        }
        samples
    }

    fn factor(&self, side: Side, at: usize, k: u64) -> Told {
        let element = self.element;
        let pair = &element.pairs[at];
        let [one, other] = pair.names();
        let Some((taken, value)) = pair.of(side) else { return self.operands(pair) };
        let needed = (element.own(side), k);
        let problem = self.problem;
        let right = if side == Side::A { (problem.k as i64, 1) } else { (1, problem.n as i64) };
        let rule = Rule::of(&self.samples(side), right);
        let sizes = [("M", problem.m), ("N", problem.n), ("K", problem.k)];
        let note = rule::words(rule, side, sizes);
        let line = self.line(pair.term.instruction);
        let (name, need) = (side.element(taken), side.element(needed));
        let different = pair.of(Side::A).map(|((_, k), _)| k) != pair.of(Side::B).map(|((_, k), _)| k);
        let (mistake, what) = if different {
            (Mistake::Pairing, format!("{line} multiplies {one} by {other}, and their k must be the same"))
        } else {
            (Mistake::Line, format!("{line} multiplies {one} by {other} for {}, which needs {need}", element.name()))
        };
        let mut marks = self.way(&name, side.name(), &value);
        // The other factor may be a wrong one, too.
        let other = side.other();
        if pair.of(other).is_some_and(|(place, _)| place != (element.own(other), k)) {
            marks.extend(self.passage(pair, other));
        }
        let place = self.arrival(side, needed, &value);
        let load = value.loaded.map_or_else(|| line.clone(), |loaded| self.line(loaded));
        let (mistake, help) = match (value.shared, place) {
            (Some(passage), Some(arrived))
                if passage.position != arrived.position
                    && !matches!(rule, Rule::Strides { .. })
                    && !self.moved(side, needed, passage) =>
            {
                let here = self.origins.word(passage.position);
                let there = self.origins.word(arrived.position);
                let (stored, read) = (self.line(arrived.stored), self.line(passage.loaded));
                if self.same_but_for_buffer(passage.position, arrived.position) && taken.0 == needed.0 {
                    let help = format!(
                        "{need} is stored in {there} in {stored}, and {read} reads {here}: look at which buffer is stored to and which is read"
                    );
                    (Mistake::Stale, help)
                } else {
                    let help = format!(
                        "{stored} stores {need} in {there}, and {read} reads {here} for it: let the indices of both lines mean the same, in the same order"
                    );
                    (mistake, help)
                }
            }
            (Some(passage), Some(arrived)) if taken.0 == needed.0 && value.loaded == arrived.value.loaded => {
                if let Some(loaded) = value.loaded {
                    self.set_by(loaded, false, &mut marks);
                }
                let (here, read) = (self.origins.word(passage.position), self.line(passage.loaded));
                let help = format!(
                    "{need} comes to {here} in another step than the one in which {read} needs it: look at how the index or the pointer in {load} \
                     begins, at what changes it in the loop, and at when the tile is stored"
                );
                (mistake, help)
            }
            (shared, _) => {
                if let Some(loaded) = value.loaded {
                    self.set_by(loaded, false, &mut marks);
                }
                let help = if shared.is_some() {
                    format!(
                        "no thread of the block brings {need} to shared memory when it is needed: look at the index or the pointer in {load}, at how it \
                         begins and at what changes it in the loop"
                    )
                } else {
                    format!("{load} must read {need} there: look at its index")
                };
                (mistake, help)
            }
        };
        if marks.iter().all(|mark| mark.location.line != self.origins.location(pair.term.instruction).line) {
            marks.push(self.mark(pair.term.instruction, None, "they are multiplied here"));
        }
        if mistake == Mistake::Line {
            marks.extend(self.store_mark(&format!("{} is stored here", element.name())));
            if let Some(store) = &element.store {
                self.set_by(store.instruction, true, &mut marks);
            }
        }
        Told { mistake, what, marks, note, help }
    }

    /// Whether a word was right in the first step: then what comes later is loaded from the wrong place.
    fn moved(&self, side: Side, needed: Place, passage: Passage) -> bool {
        let Some(store) = self.element.store else { return false };
        let arrived = self.origins.arrived(self.problem, store.block, side);
        let mut seen = std::collections::BTreeSet::new();
        let first: Vec<_> = arrived.iter().filter(|(_, arrived)| seen.insert(arrived.position)).collect();
        let steps = first.iter().map(|((_, k), _)| k + 1).max().unwrap_or(1);
        let here = first.iter().find(|(_, arrived)| arrived.position == passage.position);
        here.is_some_and(|((own, k), _)| *own == needed.0 && needed.1 >= steps && (needed.1 - k).is_multiple_of(steps))
    }

    /// Where an element was put, if it was: nearest to where another one was read in its place.
    fn arrival(&self, side: Side, needed: Place, value: &Value) -> Option<Arrived> {
        let block = self.element.store?.block;
        let read = value.shared.map_or(0, |passage| passage.position);
        let arrived = self.origins.arrived(self.problem, block, side).into_iter();
        let there = arrived.filter(|(place, _)| *place == needed).map(|(_, arrived)| arrived);
        there.min_by_key(|arrived| (!self.same_but_for_buffer(read, arrived.position), arrived.position.abs_diff(read)))
    }

    /// Whether two words are the same element of a tile, perhaps in different buffers.
    fn same_but_for_buffer(&self, one: u32, other: u32) -> bool {
        let [one, other] = [one, other].map(|position| self.origins.word(position));
        let [mut index, mut same] = [&one, &other].map(simt::Place::index);
        if index.len() == 3 && same.len() == 3 {
            (index[0], same[0]) = (0, 0);
        }
        one.is_beside(&other) && index == same
    }

    fn part(&self, missing: &[u64], repeated: &[u64]) -> Told {
        let (element, problem) = (self.element, self.problem);
        let name = element.name();
        let mut what = match (missing, repeated) {
            ([], repeated) => format!("{} {} multiplied more than once for {name}", ranges(repeated), are(repeated)),
            (missing, []) => format!("{} {} never multiplied for {name}", ranges(missing), are(missing)),
            (missing, repeated) => format!(
                "for {name} {} {} multiplied more than once, and {} never",
                ranges(repeated),
                are(repeated),
                ranges(missing)
            ),
        };
        let store = element.store.as_ref();
        let multiply = element.pairs.first().map(|pair| pair.term.instruction);
        // Products that were formed and are not in the sum.
        let formed = store.map(|store| self.origins.products(problem, store)).unwrap_or_default();
        let is_missing = |pair: &Pair| {
            let [a, b] = Side::BOTH.map(|side| pair.of(side).map(|(place, _)| place));
            a.zip(b).is_some_and(|((row, k), (col, q))| {
                row == element.row && col == element.col && k == q && missing.contains(&k)
            })
        };
        if let Some((pair, later)) =
            formed.iter().find(|(pair, _)| is_missing(pair)).filter(|_| !element.pairs.is_empty())
        {
            let at = self.line(pair.term.instruction);
            let mut marks = vec![self.mark(pair.term.instruction, None, "the product is formed here")];
            marks.extend(self.store_mark(if *later {
                "the sum is stored before it is complete"
            } else {
                "this sum lacks it"
            }));
            let (mistake, help) = if *later {
                (Mistake::Early, format!("store {name} once, after the loop over k has ended"))
            } else {
                (
                    Mistake::Lost,
                    "set the sum to 0 once, before the loop over k, and never in it; and let it keep what it has"
                        .to_owned(),
                )
            };
            what += &format!(", although {at} forms the products");
            return Told { mistake, what, marks, note: None, help };
        }
        let mut sources = Sources::default();
        let loops =
            multiply.map(|at| around(&mut sources, &self.origins.location(at), &["for", "while"])).unwrap_or_default();
        let first = missing.first().copied();
        let there = |side: Side, k: u64| {
            let value = element.pairs.iter().find_map(|pair| pair.of(side)).map(|(_, value)| value);
            value
                .filter(|value| value.shared.is_some())
                .and_then(|value| self.arrival(side, (element.own(side), k), &value))
        };
        let shared = element
            .pairs
            .iter()
            .any(|pair| Side::BOTH.iter().any(|&side| pair.of(side).is_some_and(|(_, value)| value.shared.is_some())));
        let arrived = first.filter(|_| shared).map(|k| Side::BOTH.map(|side| there(side, k)));
        let mut marks = vec![];
        let (mistake, note, help) = match arrived {
            // The tile came, and another one was read in its place.
            Some([a, b])
                if (a.is_some() || b.is_some()) && (!repeated.is_empty() || stands_for_zero(element, missing)) =>
            {
                let again = element
                    .pairs
                    .iter()
                    .rfind(|pair| pair.of(Side::A).is_some_and(|((_, k), _)| repeated.contains(&k)));
                let pair = again.or(element.pairs.last());
                for side in Side::BOTH {
                    marks.extend(pair.map(|pair| self.passage(pair, side)).unwrap_or_default());
                }
                let there =
                    a.or(b).map(|arrived| (self.line(arrived.stored), self.origins.word(arrived.position).to_string()));
                let (stored, cell) = there.unwrap_or_default();
                let help = format!(
                    "k = {} was stored in {cell} in {stored}, and was not there when it was read: look at which buffer is stored to and which is \
                     read, and when",
                    first.unwrap_or_default()
                );
                (Mistake::Stale, None, help)
            }
            _ if !repeated.is_empty() && !missing.is_empty() => {
                let pair = element.pairs.last();
                for side in Side::BOTH {
                    marks.extend(pair.map(|pair| self.passage(pair, side)).unwrap_or_default());
                }
                let loads = pair
                    .map(|pair| pair.factors.map(|(_, value)| value.loaded.map(|at| self.line(at))))
                    .unwrap_or_default();
                let lines: std::collections::BTreeSet<String> = loads.into_iter().flatten().collect();
                let lines = lines.into_iter().collect::<Vec<_>>().join(" and ");
                let help = format!(
                    "the loads in {lines} bring the same elements again: let their index or their pointer go on in every step of the loop"
                );
                (Mistake::Part, None, help)
            }
            _ if missing.is_empty() => (
                Mistake::Part,
                None,
                "let each k be multiplied once: look at the loops around this line and at what they count".to_owned(),
            ),
            arrived => {
                let came = arrived.is_some_and(|[a, b]| a.is_some() && b.is_some());
                // What is left of the sum is its end, and there are no zeros in place of the rest.
                let lost = missing.len() as u64;
                let products = element.with_zeros.len() as u64;
                let tail = lost * 2 >= problem.k
                    && missing.last() == Some(&(lost - 1))
                    && products + lost < problem.k + lost.min(64);
                if let Some(at) = multiply
                    && tail
                    && (came || !shared)
                {
                    what += ", because the sum does not keep what it has";
                    let mut marks = vec![self.mark(at, None, "the sum is set here")];
                    marks.extend(declared(&mut sources, &self.origins.location(at)));
                    let help = "set the sum to 0 once, before the loop over k, and add to it with +=".into();
                    return Told { mistake: Mistake::Lost, what, marks, note: None, help };
                }
                // What was loaded and not multiplied is left out by the inner loop.
                let inner = came || !shared;
                let over_k = |line: &&u32| {
                    let place = multiply.map(|at| self.origins.location(at)).unwrap_or_default();
                    let text =
                        sources.line(place.file.as_deref().unwrap_or_default(), **line).unwrap_or_default().to_owned();
                    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word.starts_with('k'))
                };
                let mut over: Vec<u32> = loops.iter().filter(over_k).copied().collect();
                if inner {
                    over.reverse();
                }
                if let (Some(&line), Some(at)) = (over.last(), multiply) {
                    marks.push(at_line(&mut sources, &self.origins.location(at), line, "this loop counts k".into()));
                }
                let help = if inner {
                    "let the loop around the product run over all k of the tile".to_owned()
                } else if problem.k > 1 && missing.contains(&(problem.k - 1)) {
                    "let the loop run while k < K, and round the number of tiles up: the last one may be a part of a tile".to_owned()
                } else {
                    "let the loop begin at 0, go on by as much as a step multiplies, and end at K".to_owned()
                };
                (Mistake::Part, None, help)
            }
        };
        if let Some(at) = multiply
            && marks.iter().all(|mark| mark.location.line != self.origins.location(at).line)
        {
            marks.push(self.mark(at, None, "the products are added here"));
        }
        Told { mistake, what, marks, note, help }
    }
}

/// Whether a product with zeros stands where the first missing one belongs.
fn stands_for_zero(element: &Element, missing: &[u64]) -> bool {
    missing.first().and_then(|&k| element.with_zeros.get(k as usize)).is_some_and(Pair::is_zero)
}

/// `k = 0 to 15, 32 and 40 to 44`
fn ranges(all: &[u64]) -> String {
    let mut parts: Vec<(u64, u64)> = vec![];
    for &k in all {
        match parts.last_mut() {
            Some(part) if part.1 + 1 == k => part.1 = k,
            _ => parts.push((k, k)),
        }
    }
    let more = parts.len() > 4;
    parts.truncate(if more { 3 } else { 4 });
    let text = |&(from, to): &(u64, u64)| if from == to { from.to_string() } else { format!("{from} to {to}") };
    let parts: Vec<String> = parts.iter().map(text).collect();
    format!("k = {}{}", parts.join(", "), if more { " and so on" } else { "" })
}

fn are(all: &[u64]) -> &'static str {
    if all.len() == 1 { "is" } else { "are" }
}
