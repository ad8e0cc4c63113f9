//! What a value means: an element, a sum of products, an address, or a number that the kernel was given.

use crate::answer::with;
use crate::instructions::operands;
use crate::log::{Followed, LaunchTape, Touched};
use crate::matrices::{A, B, C, equal, shown};
use crate::names::{Elements, blocks, element, named};
use crate::request::{LookRequest, Subject};
use crate::run::{Chosen, Run};
use crate::state::{State, Warp};
use serde_json::{Map, Value, json};
use simt::Space;
use simt::analyses::provenance::{self, Passage, Placed, Source, Store, Tag, Term};
use std::collections::BTreeSet;

/// Most pairs of a sum that are listed.
const LISTED: usize = 256;
/// Most registers whose meaning is told at a time.
const MOST: usize = 160;
/// Most reads of a word of shared memory that are listed.
const READS: usize = 64;

/// A block of a launch that was followed.
#[derive(Clone, Copy)]
pub struct FollowedBlock<'a> {
    pub run: &'a Run,
    pub launch: &'a LaunchTape,
    pub number: u32,
    /// The origins of its values.
    pub block: &'a Followed,
}

/// A factor of a product, or a value that was not computed.
pub struct Factor {
    /// The kind of its meaning: `element`, `constant`, `unset` if no thread has stored the word that it was read from, or `unknown`.
    kind: &'static str,
    pub words: String,
    /// The array and the word, if it is an element.
    pub element: Option<(usize, u32)>,
    /// It is zero in place of an element.
    pub zero: bool,
}

impl Factor {
    /// Its row and column, if it is an element of this matrix.
    fn of(&self, run: &Run, matrix: usize) -> Option<[u32; 2]> {
        self.element.filter(|&(array, _)| array == matrix).map(|(_, index)| run.row_column(matrix, index))
    }
}

/// A meaning that consists of words only.
fn said(kind: &str, words: &str) -> Value {
    json!({ "kind": kind, "words": words })
}

/// The words for a word of memory that no thread has stored.
fn unset(verb: &str, name: &str) -> String {
    format!("nothing: no thread {verb} {name}")
}

pub struct Sum {
    /// The row and the column of the element of C that it becomes.
    goal: Option<[u32; 2]>,
    /// Its products, each with its JSON for the page.
    pub pairs: Vec<(Term, Value)>,
    /// The k of each product whose factors belong together.
    seen: BTreeSet<u32>,
    /// What else has been added.
    rest: Vec<provenance::Value>,
    /// There is no product in it at any time.
    bare: bool,
}

impl Sum {
    /// How many of its products have an element of A or B. Products of other values are not followed, and the zeros beyond an edge form none.
    pub fn count(&self) -> usize {
        let known = |pair: &Value| !pair["a"].is_null() || !pair["b"].is_null();
        self.pairs.iter().filter(|(_, pair)| known(pair)).count()
    }

    /// The products that do not belong into the element.
    pub fn wrong(&self) -> impl Iterator<Item = &Term> {
        self.pairs.iter().filter(|(_, pair)| !pair["wrong"].is_null()).map(|(term, _)| term)
    }
}

impl<'a> FollowedBlock<'a> {
    /// A block of a launch; none if it was not followed.
    pub fn new(run: &'a Run, launch: usize, number: u32) -> Option<Self> {
        let launch = run.tape.launches.get(launch)?;
        Some(Self { run, launch, number, block: launch.followed.get(&number)? })
    }

    /// What a value is, by its tag.
    pub fn value(&self, tag: Tag) -> Factor {
        self.factor(&self.block.origins.nodes.value(tag))
    }

    pub fn factor(&self, value: &provenance::Value) -> Factor {
        let (mut element, mut zero) = (None, false);
        let (kind, words) = match (value.source, value.shared) {
            (Source::Element { array, index }, _) => {
                element = Some((array, index as u32));
                let sign = if value.negated { "-" } else { "" };
                ("element", format!("{sign}{}", self.element(Some(array), index as u32)))
            }
            (Source::Constant(bits), _) => {
                zero = equal(bits as u32, 0, self.run.dtype);
                let number = if bits as u32 == u32::MAX { -1.0 } else { shown(bits as u32, self.run.dtype) };
                ("constant", format!("the number {number}"))
            }
            (Source::Computed, _) => ("unknown", "a sum".into()),
            (Source::Unknown, Some(Passage { address, stored: None, .. })) => {
                ("unset", unset("has stored", &self.element(None, address / 4).to_string()))
            }
            (Source::Unknown, _) => ("unknown", "a number".into()),
        };
        Factor { kind, words, element, zero }
    }

    /// The element at a word of an array.
    fn element(&self, array: Option<usize>, word: u32) -> Elements {
        element(self.run, self.launch, array, 4 * word)
    }

    fn line(&self, instruction: u32) -> Option<u32> {
        self.launch.program.instructions.get(instruction as usize).and_then(|known| known.line)
    }

    fn act(&self, event: u32, instruction: u32) -> Value {
        json!({ "warp": self.run.tape.event(event).warp, "line": self.line(instruction) })
    }

    /// The meaning of a tag. Of a sum, only products before the event count; `stored` says that the sum is complete.
    fn tag(&self, tag: Tag, before: u32, stored: bool) -> Option<Value> {
        if tag != 0 && self.block.origins.nodes.is_sum(tag) {
            return Some(self.told(self.sum(tag, before), stored));
        }
        let factor = self.value(tag);
        if tag == 0 || factor.kind == "unknown" {
            return None;
        }
        let mut meaning = said(factor.kind, &factor.words);
        if let Some((array, index)) = factor.element {
            let [row, column] = self.run.row_column(array, index);
            let name = &self.run.tape.arrays[array].name;
            meaning = with(meaning, json!({ "array": name, "row": row, "column": column }));
        }
        Some(meaning)
    }

    /// The last value that arrived in a word of shared memory before an event.
    pub fn placed(&self, word: u32, before: u32) -> Option<(u32, &'a Placed)> {
        self.block.placed(0..before).rfind(|(_, placed)| placed.address / 4 == word)
    }

    /// A sum with the products that were added before an event.
    pub fn sum(&self, tag: Tag, before: u32) -> Sum {
        let formed = self.block.origins.nodes.formed(tag);
        let goal = self.block.goal(tag).map(|index| self.run.row_column(C, index));
        let mut seen = BTreeSet::new();
        let bare = formed.terms.is_empty();
        let terms = formed.terms.into_iter().filter(|term| self.block.event_of(term.tag) < before);
        let pairs = terms.filter_map(|term| Some((term, self.pair(&term, goal, &mut seen)?))).collect();
        Sum { goal, pairs, seen, rest: formed.rest, bare }
    }

    /// The meaning of a sum; `stored` says that the sum is complete.
    fn told(&self, sum: Sum, stored: bool) -> Value {
        let (wrong, count, Sum { goal, pairs, seen, rest, bare }) = (sum.wrong().count(), sum.count(), sum);
        if bare || (count == 0 && wrong == 0 && !pairs.is_empty()) {
            return said("unknown", &self.computed(&rest));
        }
        let pairs: Vec<Value> = pairs.into_iter().map(|(_, pair)| pair).collect();
        let products = if count == 1 { "product" } else { "products" };
        let name = goal.map(|[row, column]| format!("C[{row}][{column}]"));
        // A sum of other products than those of A and B has no number that it is to reach. What was in C may be added, with a factor.
        let both = |pair: &Value| !pair["wrong"].is_null() || pair["a"].is_null() == pair["b"].is_null();
        let of = goal.filter(|_| pairs.iter().all(both)).map(|_| self.run.size[2]);
        let plain = rest.is_empty();
        let words = match (&name, of, &pairs[..]) {
            (Some(name), Some(k), _) => format!("{count} of {k} products of {name}"),
            (Some(name), None, _) => format!("{count} {products}, for {name}"),
            (None, _, [pair]) if plain => pair["words"].as_str().unwrap_or_default().into(),
            _ => format!("{count} {products}"),
        };
        let single = name.is_none() && count == 1 && plain;
        // A right element that several blocks add to lacks nothing.
        let is_goal = |at: u32| goal == Some(self.run.row_column(C, at));
        let lacks = stored && self.run.wrong_at_end().any(is_goal);
        let missing: Vec<u32> = (0..of.unwrap_or(0)).filter(|k| lacks && !seen.contains(k)).collect();
        json!({
            "kind": if single { "product" } else { "sum" }, "words": words, "element": goal, "of": of, "products": count,
            "pairs": pairs[pairs.len().saturating_sub(LISTED)..], "wrong": wrong, "missing": missing,
        })
    }

    /// Words for a number without products, by the elements that were added.
    fn computed(&self, parts: &[provenance::Value]) -> String {
        let factors: Vec<_> = parts.iter().map(|part| self.factor(part)).filter(|factor| !factor.zero).collect();
        let of = |(array, index): (usize, u32)| self.element(Some(array), index);
        let found: Vec<_> = factors.iter().filter_map(|factor| factor.element).map(of).collect();
        if found.is_empty() {
            return "a number that was computed from others".into();
        }
        let more = if found.len() < factors.len() { " and other numbers" } else { "" };
        format!("computed from {}{more}", named(&blocks(found)))
    }

    /// A product, and whether it belongs into its element; none if a factor is the zero beyond an edge.
    fn pair(&self, term: &Term, goal: Option<[u32; 2]>, seen: &mut BTreeSet<u32>) -> Option<Value> {
        let run = self.run;
        let factors = term.factors.map(|value| self.factor(&value));
        let unset = factors.iter().find(|factor| factor.kind == "unset");
        // A zero times a value that no thread has stored is a mistake, too.
        if unset.is_none() && factors.iter().any(|factor| factor.zero) {
            return None;
        }
        let matrix = |of: usize| factors.iter().find_map(|factor| factor.of(run, of));
        let (a, b) = (matrix(A), matrix(B));
        let swapped = factors[0].of(run, B).is_some() && a.is_some();
        let [one, other] =
            if swapped { [&factors[1].words, &factors[0].words] } else { [&factors[0].words, &factors[1].words] };
        let known = |factor: &Factor| factor.element.is_some_and(|(array, _)| array < C);
        let wrong = match (a, b) {
            _ if unset.is_some() => unset.map(|factor| factor.words.clone()),
            (Some([row, _]), _) if goal.is_some_and(|goal| goal[0] != row) => Some(format!("{one} is of row {row}")),
            (_, Some([_, column])) if goal.is_some_and(|goal| goal[1] != column) => {
                Some(format!("{other} is of column {column}"))
            }
            (Some([_, k]), Some([other_k, _])) if k != other_k => Some(format!("{other} has another k than {one}")),
            (Some([_, k]), Some(_)) => {
                let again = !seen.insert(k);
                let again = again.then(|| format!("{one} is multiplied by {other} a second time"));
                again.or_else(|| term.negative.then(|| format!("{one} times {other} is subtracted")))
            }
            _ if factors.iter().all(known) => {
                Some(format!("{one} is not multiplied by an element of the other matrix"))
            }
            _ => None,
        };
        let (words, line) = (format!("{one} · {other}"), self.line(term.instruction));
        Some(json!({ "a": a, "b": b, "words": words, "line": line, "wrong": wrong }))
    }

    /// Who read a word of shared memory: one for each warp and instruction.
    fn reads(&self, word: u32, events: std::ops::Range<u32>) -> Vec<Value> {
        let mut known = BTreeSet::new();
        let read = |number: u32| {
            let event = self.run.tape.event(number);
            let own = |touched: Touched| touched.reads && (touched.array, touched.word) == (None, word);
            let reads = event.block == self.number && self.run.tape.touched(number).any(own);
            (reads && known.insert((event.warp, event.instruction))).then(|| self.act(number, event.instruction))
        };
        events.filter_map(read).take(READS).collect()
    }
}

/// The meaning of a register that does not hold a value of the matrices: an address, an index, an argument.
fn number(run: &Run, launch_number: usize, register: usize, event: u32, value: u64) -> Value {
    let launch = &run.tape.launches[launch_number];
    let known = &launch.program.registers[register];
    let address = |at: Option<usize>, offset: u64| {
        said("address", &format!("an address: {}", element(run, launch, at, offset as u32)))
    };
    let past = |array: &str| said("address", &format!("an address past the end of {array}"));
    if known.bytes == 8 {
        if let Some((array, base)) = run.tape.array_at(value) {
            return address(Some(array), value - base);
        }
        let before = run.tape.arrays.iter().filter(|array| array.base <= value).max_by_key(|array| array.base);
        if let Some(array) = before.filter(|_| known.base == Some(Space::Global)) {
            return past(&array.name);
        }
    } else if !known.float && known.bytes == 4 && known.base == Some(Space::Shared) {
        if value < launch.shared_bytes.into() {
            return address(None, value);
        }
        return past(&element(run, launch, None, value as u32).array);
    }
    let instruction = run.tape.instruction(event);
    let from = operands(&instruction.text).into_iter().nth(1).unwrap_or_default();
    let special = [("%tid.", "threadIdx"), ("%ntid.", "blockDim"), ("%ctaid.", "blockIdx"), ("%nctaid.", "gridDim")];
    if let Some((part, name)) = special.iter().find_map(|(start, name)| Some((from.strip_prefix(start)?, name))) {
        return said("index", &format!("{name}.{part}"));
    }
    if instruction.text.contains("ld.param") {
        let params = launch.program.kernel.params();
        let at = params.iter().position(|param| from.trim_matches(['[', ']']).split('+').next() == Some(&param.name));
        if let Some(name) = at.and_then(|at| run.argument_name(launch_number, at)) {
            return said("argument", &format!("the argument {name}"));
        }
    }
    said("unknown", "a number")
}

/// The meaning of a register of the chosen lane; `None` if it has not been written.
fn register(run: &Run, state: &State, chosen: &Chosen<'_>, warp: &Warp, number: usize) -> Option<Value> {
    let event = warp.times[number].checked_sub(1)?;
    let plain = self::number(run, state.launch, number, event, warp.registers[number][chosen.lane]);
    if plain["kind"] == "address" || plain["kind"] == "argument" {
        return Some(plain);
    }
    let place = run.tape.instruction(event).writes.iter().position(|&written| written == number)?;
    let tag = run.tape.tags(event).nth(place)?[chosen.lane];
    let found = FollowedBlock::new(run, state.launch, chosen.block).and_then(|place| place.tag(tag, state.time, false));
    found.or(Some(plain))
}

/// The meaning of a subject at the state's time.
pub fn meaning(run: &Run, state: &State, at: &LookRequest, of: &Subject) -> Result<Value, String> {
    let chosen = &Chosen::new(run, state.launch, at)?;
    let unknown = || said("unknown", "a number");
    Ok(match *of {
        Subject::Registers => {
            let warp = state.blocks.get(&chosen.block).and_then(|block| block.warps.get(chosen.warp as usize));
            let Some(warp) = warp else { return Ok(json!({ "registers": {} })) };
            let all = &chosen.launch.program.registers;
            // The ones that were written last: a kernel without loops has thousands, and most have had their time.
            let mut numbers: Vec<usize> = (0..all.len()).collect();
            numbers.sort_by_key(|&number| std::cmp::Reverse(warp.times[number]));
            let of = |number: usize| Some((all[number].name.clone(), register(run, state, chosen, warp, number)?));
            json!({ "registers": numbers.into_iter().take(MOST).filter_map(of).collect::<Map<_, _>>() })
        }
        Subject::Shared(word) => {
            let name = element(run, chosen.launch, None, 4 * word).to_string();
            let place = FollowedBlock::new(run, state.launch, chosen.block);
            let Some((place, (event, placed))) = place.and_then(|of| Some((of, of.placed(word, state.time)?))) else {
                let meaning = said("unset", &unset("has stored", &name));
                return Ok(json!({ "meaning": meaning, "name": name, "stored": null, "read": [] }));
            };
            let meaning = place.tag(placed.value, state.time, false).unwrap_or_else(unknown);
            let stored = place.act(event, placed.stored);
            let read = place.reads(word, event + 1..state.time);
            json!({ "meaning": meaning, "name": name, "stored": stored, "read": read })
        }
        Subject::Element([row, column]) => {
            let is = |store: &Store| run.row_column(C, store.index as u32) == [row, column];
            let mut stores: Vec<(u32, FollowedBlock<'_>, &Store)> = vec![];
            for launch in &run.tape.launches {
                for (&number, block) in &launch.followed {
                    let place = FollowedBlock { run, launch, number, block };
                    let own = block.stores().filter(|(_, store)| is(store));
                    stores.extend(own.map(|(event, store)| (event, place, store)));
                }
            }
            stores.sort_by_key(|&(event, ..)| event);
            let done = stores.iter().rfind(|&&(event, ..)| event < state.time);
            let name = format!("C[{row}][{column}]");
            let Some(&(event, place, store)) = done.or(stores.first()) else {
                let meaning = said("unset", &unset("stores", &name));
                return Ok(json!({ "meaning": meaning, "name": name, "stored": null }));
            };
            let meaning = place.tag(store.value, state.time, done.is_some()).unwrap_or_else(unknown);
            let stored = done.map(|_| place.act(event, store.instruction));
            json!({ "meaning": meaning, "name": name, "stored": stored })
        }
    })
}
