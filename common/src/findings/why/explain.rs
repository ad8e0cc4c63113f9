//! From the verdicts on all elements of C to one finding: the mistake that most of them show, with one of them worked out.

use std::collections::BTreeSet;

use simt::analyses::provenance::{Source, Store, Value};

use super::asked::{Asked, Kind, Place, Side};
use super::element::{Element, Factor, Origins, Pair, global};
use super::judge::{Verdict, judge, whole};
use super::rule::{self, Rule, Sample};
use super::teller::{Teller, Told, listed};
use crate::code::places::{index, who};
use crate::findings::analysis::{HazardReport, HazardThread};
use crate::findings::diagnostic::{Diagnostic, Mark, add, around, at_line, code_at, declared, with_calls};
use crate::findings::hazard_kind::{Mistake, ReportKind};

/// Why a product is wrong; none if its elements are right, or could not be followed.
pub fn explain(origins: &Origins, asked: &Asked) -> Option<HazardReport> {
    let mut counts: Vec<(Key, u64)> = vec![];
    let mut kept: Vec<(Element, Verdict)> = vec![];
    let mut looked_at = 0;
    // Where in C each sum lies that is the whole one of an element, and whether there are others.
    let mut sums: Vec<(Place, i64)> = vec![];
    let mut mixed = false;
    for element in origins.elements(asked).take(MOST_ELEMENTS) {
        looked_at += 1;
        let of = whole(&element);
        mixed |= of.is_none() && element.store.is_some();
        sums.extend(of.map(|of| (of, (element.row * asked.problem.n + element.col) as i64)));
        let verdict = judge(origins, asked, &element);
        if matches!(verdict, Verdict::Right | Verdict::Unknown) {
            continue;
        }
        if count(&mut counts, key(&element, &verdict)) <= MOST_KEPT {
            kept.push((element, verdict));
        }
    }
    // Sums that are right and lie elsewhere by one rule are stored there: whole rows that are moved may as well be read wrongly.
    let n = asked.problem.n as i64;
    let moved = rule::affine(&sums)
        .filter(|_| asked.batch == 1)
        .filter(|&[row, col, start]| !mixed && ((row, col) != (n, 1) || start % n != 0));
    if moved.is_some() {
        counts.clear();
        for (element, verdict) in &mut kept {
            if let Some(of) = whole(element).filter(|of| *of != (element.row, element.col)) {
                *verdict = Verdict::Elsewhere(of);
            }
            count(&mut counts, key(element, verdict));
        }
    }
    let weight = |(key, count): &(Key, u64)| (key.0, *count);
    let (commonest, count) =
        counts.iter().copied().reduce(|best, next| if weight(&next) > weight(&best) { next } else { best })?;
    let alike: Vec<&(Element, Verdict)> =
        kept.iter().filter(|(element, verdict)| key(element, verdict) == commonest).collect();
    // The clearest example has small indices, no two of them the same, and none that is 0.
    let clear = |(element, _): &&(Element, Verdict)| {
        let Element { row, col, depth, .. } = *element;
        (row == col, row == 0 || col == 0, asked.kind == Kind::Lower && depth < 6, row + col)
    };
    let (element, verdict) = alike.iter().copied().min_by_key(clear)?;
    let told = Teller { origins, asked, alike: &alike, element, moved }.tell(verdict)?;
    Some(report(element, told, count, looked_at))
}

/// Elements of C that are looked at, and kept of each mistake.
const MOST_ELEMENTS: usize = 4096;
const MOST_KEPT: u64 = 256;

/// What tells one mistake from another: how much it says, which verdict it is, and of which operand.
type Key = (u8, std::mem::Discriminant<Verdict>, Option<Side>);

fn key(element: &Element, verdict: &Verdict) -> Key {
    let side = if let Verdict::Factor(side, ..) = verdict { Some(*side) } else { None };
    // What nobody stored is somewhere else, if anything is.
    let says = match verdict {
        Verdict::Unwritten => 0,
        Verdict::Zero(..) if element.pairs.is_empty() => 1,
        Verdict::Empty => 1,
        // Other blocks take elements from anywhere.
        Verdict::Swapped => 3,
        _ => 2,
    };
    (says, std::mem::discriminant(verdict), side)
}

/// Counts one more of a kind, and returns how many there are.
fn count(counts: &mut Vec<(Key, u64)>, key: Key) -> u64 {
    let at = counts.iter().position(|(known, _)| *known == key).unwrap_or(counts.len());
    if at == counts.len() {
        counts.push((key, 0));
    }
    counts[at].1 += 1;
    counts[at].1
}

fn report(element: &Element, told: Told, count: u64, looked_at: u64) -> HazardReport {
    let store = element.store.as_ref();
    let (block, thread) = store.map_or(([0; 3], [0; 3]), |store| (index(store.block), index(store.thread)));
    let side = |mark: &Mark| HazardThread::at(&mark.location, block, thread, mark.label.clone());
    let threads = told.marks.iter().map(side).collect();
    let share = format!("so it is in {count} of {looked_at} elements of C; {} is shown", element.name);
    let note = told.note.map_or_else(|| share.clone(), |note| format!("{note}; {share}"));
    HazardReport {
        kind: ReportKind::Product(told.mistake),
        place: element.name.clone(),
        threads,
        count,
        diagnostic: Diagnostic {
            title: format!("{}: {}", told.mistake.name(), told.what),
            marks: with_calls(told.marks),
            note: Some(note),
            help: told.help,
            ..Diagnostic::default()
        },
    }
}

impl Teller<'_> {
    fn tell(&self, verdict: &Verdict) -> Option<Told> {
        let (element, name) = (self.element, &self.element.name);
        Some(match verdict {
            Verdict::Right | Verdict::Unknown => return None,
            Verdict::Unwritten => self.unwritten()?,
            Verdict::Empty => self.empty(),
            Verdict::Zero(side, at, k) => self.zero(*side, &element.with_zeros[*at], *k),
            Verdict::Added => {
                let value = element.formed.rest.first()?;
                let at = value.shared.map(|passage| passage.loaded).or(value.loaded)?;
                let what = format!("{} adds elements that should be multiplied", self.line(at));
                let help = "multiply the element of A by that of B, and add the product to the sum";
                Told::new(Mistake::Operands, what, vec![self.mark(at, None, "is added here")], help)
            }
            Verdict::Overwritten => self.overwritten(),
            Verdict::Unset(at) => self.unset(*at)?,
            Verdict::Operands(at) => self.operands(&element.pairs[*at]),
            Verdict::Beginning => self.beginning()?,
            Verdict::Beyond(at) => self.beyond(&element.pairs[*at]),
            Verdict::Sign(_) if element.pairs.iter().any(|pair| !pair.term.negative) => {
                let of = |negative: bool| element.pairs.iter().find(|pair| pair.term.negative == negative);
                let products = [true, false].map(|negative| of(negative).map(|pair| pair.term.instruction));
                let mut marks: Vec<Mark> =
                    products.into_iter().flatten().map(|at| self.mark(at, None, "products are formed here")).collect();
                marks.dedup_by_key(|mark| mark.location.line);
                add(&mut marks, self.store_mark("it is stored here"));
                let what = format!("a part of the products of {name} is subtracted");
                Told::new(Mistake::Sign, what, marks, "add all products and all parts of the sum: + in place of -")
            }
            Verdict::Sign(at) => {
                let instruction = element.pairs[*at].term.instruction;
                let (line, marks) = (self.line(instruction), vec![self.mark(instruction, None, "subtracts")]);
                if let Some(store) = self.store_mark("stores the sum with the other sign")
                    && code_at(&store.location).contains('-')
                    && !code_at(&self.origins.location(instruction)).contains('-')
                {
                    let what = format!("the sum of {name} is stored with the other sign");
                    return Some(Told::new(
                        Mistake::Sign,
                        what,
                        vec![store],
                        "store the sum itself, without the minus",
                    ));
                }
                Told::of_kind(Mistake::Sign, format!("{line} subtracts the products of {name}"), marks, &line)
            }
            Verdict::Swapped => {
                let pair = &element.pairs[0];
                let ([a, b], line) = (pair.names(self.asked), self.line(pair.term.instruction));
                let what = format!("{name} is an element of B·A: {line} multiplies {a} by {b}");
                Told::of_kind(Mistake::Swapped, what, self.passages(pair), &line)
            }
            Verdict::Elsewhere(place) => self.elsewhere(*place),
            Verdict::Factor(side, at, k) => self.factor(*side, *at, *k),
            Verdict::Part { missing, repeated } => self.part(missing, repeated),
            Verdict::Weight => {
                let ([sum, before], [by, of_c]) = (element.weights, self.asked.weights);
                let (also, help) = if self.asked.kind == Kind::Scaled {
                    let help =
                        format!("multiply the sum of the products by {by}, and add {of_c} times the element of C");
                    (format!(" and {before} times what it was"), help)
                } else {
                    (String::new(), "add each product to the sum once, multiplied by nothing else".to_owned())
                };
                let what = format!("{name} has {sum} times its products{also}");
                let scaled = element.scaled.map(|at| self.mark(at, None, format!("this takes them {sum} times")));
                let by = |pair: &Pair| pair.factors.iter().map(|(_, value)| value.scale).product::<f32>();
                let factor = element.pairs.iter().find(|pair| (by(pair) - 1.0).abs() > 0.0);
                let factor = factor.map(|pair| {
                    self.mark(pair.term.instruction, None, format!("each product is multiplied by {} here", by(pair)))
                });
                let mut marks: Vec<Mark> =
                    scaled.into_iter().filter(|mark| code_at(&mark.location).contains('*')).collect();
                let store = self.store_mark("it is stored here");
                add(&mut marks, factor.into_iter().chain(store));
                Told::new(Mistake::Weight, what, marks, help)
            }
            Verdict::Chosen(instruction) => {
                let line = self.line(*instruction);
                let mut marks = vec![self.mark(*instruction, None, "one of two values is kept here")];
                marks.extend(declared(&self.origins.location(*instruction)));
                let (what, help) = if element.pairs.is_empty() {
                    (
                        "a number in place of the sum",
                        format!("store the sum as it is: {line} compares it with a number"),
                    )
                } else {
                    ("and does not add them", format!("add each product to the sum in {line}, with +="))
                };
                let what = format!("{line} keeps the larger or the smaller one of two values for {name}, {what}");
                Told::new(Mistake::Lost, what, marks, help)
            }
            Verdict::Converted(instruction) => {
                let line = self.line(*instruction);
                let mut marks = vec![self.mark(*instruction, None, "the value is converted here")];
                marks.extend(declared(&self.origins.location(*instruction)));
                let what = format!("{line} gives {name} another type on its way, and loses a part of its value");
                Told::of_kind(Mistake::Converted, what, marks, &line)
            }
        })
    }

    fn unwritten(&self) -> Option<Told> {
        let name = &self.element.name;
        let instruction = self.origins.store_of_c()?;
        let place = self.origins.location(instruction);
        let label = format!("no thread comes here for {name}");
        let mut marks = vec![self.stores(instruction, Some(global("C", &[])), label)];
        let lines: BTreeSet<u32> = around(&place, &["for", "while", "if"]).into_iter().collect();
        marks.extend(lines.iter().map(|&line| at_line(&place, line, "it depends on this".into())));
        self.set_by(instruction, true, &mut marks);
        let help = match lines.len() {
            0 => "let row follow from blockIdx.y and threadIdx.y, and col from blockIdx.x and threadIdx.x, so that the threads of the grid cover \
                  all of C"
                .into(),
            _ => format!(
                "let {} let every row below M and every column below N through, and let row and col reach all of them: the threads of the grid \
                 must cover all of C, with rows that follow from blockIdx.y and columns from blockIdx.x",
                listed(&lines)
            ),
        };
        let both = if self.asked.kind == Kind::Symmetric {
            "; the sum for C[i][j] is that for C[j][i], too: store it in both"
        } else {
            ""
        };
        Some(Told::new(Mistake::Unwritten, format!("no thread stores {name}"), marks, help + both))
    }

    fn operands(&self, pair: &Pair) -> Told {
        let [one, other] = pair.names(self.asked);
        let mut marks = vec![];
        for (factor, value) in &pair.factors {
            let array = if let Factor::Of(side, _) = factor { self.asked.array(*side) } else { "C" };
            for mark in self.way(&factor.name(self.asked), array, value) {
                if marks.iter().all(|known: &Mark| known.label != mark.label) {
                    marks.push(mark);
                }
            }
        }
        let line = self.line(pair.term.instruction);
        for stored in pair.factors.iter().filter_map(|(_, value)| value.shared?.stored) {
            self.set_by(stored, true, &mut marks);
        }
        add(&mut marks, [self.mark(pair.term.instruction, None, "they are multiplied here")]);
        let name = &self.element.name;
        if self.element.of_sums || pair.factors.iter().any(|(factor, _)| *factor == Factor::Computed) {
            let what = format!("{line} multiplies a sum, and {name} needs the sum of products");
            let help = format!(
                "multiply each element of A by that of B in the loop, add up these products, and multiply no sum in {line}"
            );
            return Told::new(Mistake::Operands, what, marks, help);
        }
        let what = format!("{line} multiplies {one} by {other}, and {name} needs an element of A times one of B");
        Told::of_kind(Mistake::Operands, what, marks, &line)
    }

    fn beginning(&self) -> Option<Told> {
        let rest = self.element.formed.rest.iter().find(|value| value.bits as u32 & 0x7fff_ffff != 0);
        let of_nan =
            |value: &Value| matches!(value.source, Source::Constant(bits) if f32::from_bits(bits as u32).is_nan());
        if rest.is_some_and(of_nan) {
            return self.undefined();
        }
        let first = self.element.pairs.first();
        let with = match rest.map(|value| self.origins.factor(self.asked, value)) {
            Some(Factor::Other) => "what was in C before".to_owned(),
            Some(factor) => factor.name(self.asked),
            None => {
                let other = first.and_then(|pair| Some((pair.of(Side::A)?.0.0, pair.of(Side::B)?.0.0)));
                format!("the sum of {}", self.asked.name_of(other.unwrap_or_default()))
            }
        };
        let multiply = first.map(|pair| pair.term.instruction);
        let mut marks = vec![];
        if let Some(at) = rest.and_then(|value| value.loaded).or(multiply) {
            marks.push(self.mark(at, None, "it comes from here"));
            marks.extend(declared(&self.origins.location(multiply.unwrap_or(at))));
        }
        let what = format!("the sum for {} begins with {with} and not with 0", self.element.name);
        if let (Kind::Scaled, Some(Source::Constant(_))) = (self.asked.kind, rest.map(|value| value.source)) {
            add(&mut marks, self.store_mark("it is stored here"));
            let help = format!("add {} times the element of C to the sum, and no number", self.asked.weights[1]);
            return Some(Told::new(Mistake::Beginning, what, marks, help));
        }
        Some(Told::of_kind(Mistake::Beginning, what, marks, ""))
    }

    fn overwritten(&self) -> Told {
        let name = &self.element.name;
        let (last, earlier) = (self.element.store.as_ref(), self.element.earlier.last());
        let mut marks: Vec<Mark> = vec![];
        for (store, does) in [(earlier, "stores the right sum"), (last, "stores another one later")] {
            let label = |store: &Store| format!("{} {does}", who(store.block, store.thread));
            marks.extend(store.map(|store| self.stores(store.instruction, Some(global("C", &[])), label(store))));
        }
        if let Some(last) = last {
            self.set_by(last.instruction, true, &mut marks);
        }
        let other = whole(self.element)
            .map_or_else(|| "another sum".into(), |place| format!("the sum for {}", self.asked.name_of(place)));
        let what = format!("{name} was right, and then {other} was stored over it");
        Told::of_kind(Mistake::Overwritten, what, marks, "")
    }

    fn elsewhere(&self, place: Place) -> Told {
        let (name, of) = (&self.element.name, self.asked.name_of(place));
        let note = self.moved.map(|strides| {
            format!(
                "C is stored as C[{}]; C has N columns, so its elements are C[row * N + col]",
                rule::index(["row", "col"], strides, self.asked)
            )
        });
        let label = format!("the sum for {of} is stored in {name}");
        let mut marks: Vec<Mark> = self.store_mark(&label).into_iter().collect();
        let first = self.element.pairs.first();
        marks.extend(first.map(|pair| self.mark(pair.term.instruction, None, "the sum is formed here")));
        self.parts(&mut marks);
        if let Some(store) = &self.element.store {
            self.set_by(store.instruction, true, &mut marks);
        }
        let what = format!("the sum for {of} was stored in {name}");
        Told { note, ..Told::of_kind(Mistake::Elsewhere, what, marks, "") }
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

    /// What to do if factors of the sum of a row do not fit: their products do not tell which index is the wrong one.
    fn of_row_sums(&self, one: &str, other: &str) -> String {
        let element = self.element;
        let fits = |pair: &&Pair| {
            let [a, b] = Side::BOTH.map(|side| pair.of(side).map(|(place, _)| place));
            a.zip(b).is_some_and(|((row, p), (_, q))| row == element.row && p == q)
        };
        if element.pairs.iter().filter(fits).count() as u64 >= element.depth {
            return format!(
                "set the sum of elements of B to 0 for each k: what {one} is multiplied by still holds {other}"
            );
        }
        let [a, b] = Side::BOTH.map(|side| self.asked.layout(side));
        format!("let both indices have the same k: {a}, and {b}")
    }

    fn factor(&self, side: Side, at: usize, k: u64) -> Told {
        let element = self.element;
        let pair = &element.pairs[at];
        let [one, other_name] = pair.names(self.asked);
        let Some((taken, value)) = pair.of(side) else { return self.operands(pair) };
        let value = self.seen(pair, side, value);
        let needed = (element.own(side), k);
        let rule = Rule::of(&self.samples(side), self.asked.strides(side));
        let sums = self.asked.kind == Kind::RowSums;
        let mut note = if sums { None } else { rule::words(rule, side, self.asked) };
        let lines = [self.asked.problem.m, self.asked.problem.n][side as usize];
        if self.asked.batch > 1 && taken.0 / lines != needed.0 / lines {
            note = Some(format!(
                "products are counted from 0: {} of product {} is taken for product {}",
                self.asked.array(side),
                taken.0 / lines,
                needed.0 / lines
            ));
        }
        let line = self.line(pair.term.instruction);
        let (name, need) = (self.asked.name(side, taken), self.asked.name(side, needed));
        let different = pair.of(Side::A).map(|((_, k), _)| k) != pair.of(Side::B).map(|((_, k), _)| k);
        let (mut mistake, what) = if different {
            (Mistake::Pairing, format!("{line} multiplies {one} by {other_name}, and their k must be the same"))
        } else {
            (Mistake::Line, format!("{line} multiplies {one} by {other_name} for {}, which needs {need}", element.name))
        };
        let mut marks = self.way(&name, self.asked.array(side), &value);
        // The other factor may be a wrong one, too.
        let other = side.other();
        if pair.of(other).is_some_and(|(place, _)| place != (element.own(other), k)) {
            marks.extend(self.passage(pair, other));
        }
        let place = self.arrival(side, needed, &value);
        let load = value.loaded.map_or_else(|| line.clone(), |loaded| self.line(loaded));
        let help = match (value.shared, place) {
            // The tile is right, and so is the sum: it is that of another row or column.
            (Some(passage), Some(_))
                if mistake == Mistake::Line && whole(element).is_some() && self.is_in_order(side) =>
            {
                self.set_by(passage.loaded, false, &mut marks);
                self.set_by(pair.term.instruction, false, &mut marks);
                let (read, of) = (self.line(passage.loaded), side.line());
                let stored = element.store.as_ref().map(|store| self.line(store.instruction)).unwrap_or_default();
                format!(
                    "{read} reads {of} {} of {} for a sum that {stored} stores in {of} {} of C: let the two lines, and the one that \
                     multiplies, count the {of}s of a thread in the same way",
                    taken.0,
                    self.asked.array(side),
                    needed.0
                )
            }
            (Some(passage), Some(arrived))
                if passage.address != arrived.address
                    && (!matches!(rule, Rule::Strides { .. })
                        || self.is_stored_once(side) && self.is_laid_out(side))
                    && (self.same_but_for_buffer(passage.address, arrived.address)
                        || !self.moved(side, needed, passage)) =>
            {
                let (here, there) = (self.word(passage.address), self.word(arrived.address));
                let (stored, read) = (self.line(arrived.stored), self.line(passage.loaded));
                let moved = matches!(rule, Rule::Exchanged | Rule::ExchangedInTiles(_));
                note = self.laid_out_in_two_ways(side, &stored, &read).filter(|_| !moved).or(note);
                self.set_by(passage.loaded, false, &mut marks);
                if self.same_but_for_buffer(passage.address, arrived.address) && taken.0 == needed.0 {
                    self.set_by(arrived.stored, true, &mut marks);
                    mistake = Mistake::Stale;
                    format!(
                        "{need} is stored in {there} in {stored}, and {read} reads {here}: look at which buffer is stored to and which is read"
                    )
                } else if !self.is_laid_out(side) && value.loaded.is_some() {
                    let put = passage.stored.unwrap_or(arrived.stored);
                    self.set_by(put, false, &mut marks);
                    self.set_by(put, true, &mut marks);
                    let put = self.line(put);
                    format!(
                        "{put} puts {name} in {here}, where {read} looks for {need}, and that is in {there}: let the index that is read and the \
                         one that is stored to in {put} mean the same element"
                    )
                } else {
                    format!(
                        "{stored} stores {need} in {there}, and {read} reads {here} for it: let the indices of both lines mean the same, in the same order"
                    )
                }
            }
            (shared, _) => {
                if let Some(loaded) = value.loaded {
                    self.set_by(loaded, false, &mut marks);
                }
                if let Some(passage) = shared {
                    let put = passage.stored.map(|stored| self.line(stored)).filter(|put| *put != load);
                    let put = put.map_or_else(String::new, |put| format!(", and at what {put} stores"));
                    format!(
                        "no thread of the block brings {need} to shared memory when it is needed: look at the index or the pointer in {load}, at how it \
                         begins and at what changes it in the loop{put}"
                    )
                } else if let Some(shuffle) = value.shuffled {
                    let at = self.line(shuffle);
                    add(&mut marks, [self.mark(shuffle, None, format!("{name} is taken from another lane here"))]);
                    format!(
                        "{at} takes {name} from another lane, and {need} is needed there: look at which lane {at} names for each k, and at what that \
                         lane has read in {load}"
                    )
                } else if sums {
                    self.of_row_sums(&one, &other_name)
                } else {
                    format!("{load} must read {need} there: look at its index")
                }
            }
        };
        add(&mut marks, [self.mark(pair.term.instruction, None, "they are multiplied here")]);
        if mistake == Mistake::Line {
            self.store_marks(&format!("{} is stored here", element.name), &mut marks);
        }
        Told { note, ..Told::new(mistake, what, marks, help) }
    }
}
