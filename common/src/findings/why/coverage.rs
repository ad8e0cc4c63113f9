//! Elements in whose sum products are missing, or are there too often: which k, and why.

use super::element::{Element, Factor, Pair, Side};
use super::teller::{Teller, Told};
use crate::code::places::Sources;
use crate::findings::diagnostic::{Mark, around, at_line, declared};
use crate::findings::hazard_kind::Mistake;

impl Teller<'_> {
    pub fn empty(&self, zeros: bool) -> Told {
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

    pub fn zero(&self, side: Side, pair: &Pair, k: u64) -> Told {
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

    pub fn unset(&self, pair: &Pair) -> Option<Told> {
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

    pub fn part(&self, missing: &[u64], repeated: &[u64]) -> Told {
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
