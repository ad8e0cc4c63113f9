//! What a value means: an element, a sum of products, an address, or a number that the kernel was given.

use crate::answer::real;
use crate::effect::Touched;
use crate::instructions::operands;
use crate::log::LaunchTape;
use crate::look::Chosen;
use crate::matrices::equal;
use crate::names::element;
use crate::origins::{Followed, Origins};
use crate::request::Subject;
use crate::run::{A, B, C, Run};
use crate::state::{Block, State};
use serde_json::{Map, Value, json};
use simt::Space;
use simt::analyses::provenance::{self, Source, Tag, Term};
use std::collections::BTreeSet;

/// Pairs of a sum that are listed.
const LISTED: usize = 256;
/// Registers whose meaning is said at a time.
const MOST: usize = 160;
/// Reads of a word of shared memory that are listed.
const READS: usize = 64;

/// A block of a launch that was followed.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub run: &'a Run,
    pub launch: &'a LaunchTape,
    /// The number of the launch, and of the block.
    pub at: (usize, u32),
    /// What is known of it.
    pub block: &'a Followed,
}

/// A factor of a product, or a value that was not computed.
pub struct Factor {
    pub words: String,
    /// The array and the word, if it is an element.
    pub element: Option<(usize, u32)>,
    /// It is zero in place of an element.
    pub zero: bool,
    /// Nobody has stored the word of shared memory that it was read from.
    pub unset: bool,
}

impl Factor {
    /// Its row and column, if it is an element of this matrix.
    pub fn of(&self, run: &Run, matrix: usize) -> Option<[u32; 2]> {
        self.element.filter(|&(array, _)| array == matrix).map(|(_, index)| run.row_column(matrix, index))
    }
}

/// Where a value began.
pub fn factor(run: &Run, launch: &LaunchTape, value: &provenance::Value) -> Factor {
    let mut factor = Factor { words: "a number".into(), element: None, zero: false, unset: false };
    match value.source {
        Source::Element { array, index } => {
            factor.element = Some((array, index as u32));
            let name = element(run, launch, Some(array), 4 * index as u32);
            factor.words = format!("{}{name}", if value.negated { "-" } else { "" });
        }
        Source::Constant(bits) => {
            factor.zero = equal(bits as u32, 0, run.dtype);
            factor.words = format!("the number {}", run.number(bits as u32));
        }
        Source::Computed => factor.words = "a sum".into(),
        Source::Unknown => {
            if let Some(passage) = value.shared.filter(|passage| passage.stored.is_none()) {
                factor.unset = true;
                factor.words =
                    format!("nothing: no thread has stored {}", element(run, launch, None, 4 * passage.position));
            }
        }
    }
    factor
}

impl<'a> Place<'a> {
    /// A block of a launch; none if it was not followed.
    pub fn new(run: &'a Run, origins: &'a Origins, launch: usize, block: u32) -> Option<Self> {
        let of_launch = run.tape.launches.get(launch)?;
        Some(Self { run, launch: of_launch, at: (launch, block), block: origins.block(launch, block)? })
    }

    /// A word of shared memory by its name.
    pub fn shared(&self, word: u32) -> String {
        element(self.run, self.launch, None, 4 * word).to_string()
    }

    /// Who did something: an event, with the lanes of it that did.
    fn act(&self, event: u32, instruction: u32, lane: u32, lanes: u32) -> Value {
        let known = self.launch.program.instructions.get(instruction as usize);
        json!({
            "time": event + 1, "launch": self.at.0, "block": self.at.1, "warp": self.run.tape.event(event).warp, "lane": lane,
            "line": known.and_then(|known| known.line), "instruction": instruction + self.launch.first_instruction, "lanes": lanes,
        })
    }

    /// What a tag stands for. Of a sum only the products up to an event count; `stored` says that it is complete.
    fn tag(&self, tag: Tag, before: u32, stored: bool) -> Option<Value> {
        let nodes = self.block.nodes();
        if tag == 0 {
            return None;
        }
        if nodes.is_sum(tag) {
            return Some(self.sum(tag, before, stored));
        }
        let value = nodes.value(tag);
        let factor = factor(self.run, self.launch, &value);
        let words = factor.words;
        Some(match value.source {
            Source::Element { array, index } => {
                let [row, column] = self.run.row_column(array, index as u32);
                json!({
                    "kind": "element", "words": words, "array": self.run.tape.arrays.get(array).map(|array| &array.name), "row": row,
                    "column": column, "index": index, "negated": value.negated,
                    "through": value.shared.map(|passage| self.shared(passage.position)),
                })
            }
            Source::Constant(bits) => {
                json!({ "kind": "constant", "words": words, "value": real(self.run.number(bits as u32)) })
            }
            _ if factor.unset => json!({ "kind": "unset", "words": words }),
            _ => return None,
        })
    }

    /// How many products a sum has.
    pub fn products(&self, tag: Tag) -> usize {
        let formed = self.block.nodes().formed(tag);
        let mut seen = BTreeSet::new();
        formed.terms.iter().filter_map(|term| self.pair(term, None, &mut seen)).count()
    }

    /// The products of a sum that do not belong into its element of C.
    pub fn wrong_terms(&self, tag: Tag) -> Vec<Term> {
        let goal = self.block.goal(tag).map(|index| self.run.row_column(C, index));
        let mut seen = BTreeSet::new();
        let mut wrong = |term: &Term| self.pair(term, goal, &mut seen).is_some_and(|pair| !pair["wrong"].is_null());
        self.block.nodes().formed(tag).terms.into_iter().filter(|term| wrong(term)).collect()
    }

    /// The products of a sum, those up to an event.
    fn sum(&self, tag: Tag, before: u32, stored: bool) -> Value {
        let (run, formed) = (self.run, self.block.nodes().formed(tag));
        let goal = self.block.goal(tag).map(|index| run.row_column(C, index));
        let mut seen = BTreeSet::new();
        let terms = formed.terms.iter().filter(|term| self.block.event_of(term.tag) < before);
        let pairs: Vec<Value> = terms.filter_map(|term| self.pair(term, goal, &mut seen)).collect();
        let (count, wrong) = (pairs.len(), pairs.iter().filter(|pair| !pair["wrong"].is_null()).count());
        let products = if count == 1 { "product" } else { "products" };
        let name = goal.map(|[row, column]| format!("C[{row}][{column}]"));
        let k = run.size[2];
        let words = match (&name, &pairs[..]) {
            (Some(name), _) => format!("{count} of {k} products of {name}"),
            (None, [pair]) if formed.rest.is_empty() => pair["words"].as_str().unwrap_or_default().into(),
            _ => format!("{count} {products}"),
        };
        let single = name.is_none() && count == 1 && formed.rest.is_empty();
        let missing: Vec<u32> = (0..k).filter(|k| stored && goal.is_some() && !seen.contains(k)).collect();
        let rest = formed.rest.iter().map(|value| factor(self.run, self.launch, value)).find(|rest| !rest.zero);
        let first = count.saturating_sub(LISTED);
        json!({
            "kind": if single { "product" } else { "sum" }, "words": words, "element": goal, "of": goal.map(|_| k), "products": count,
            "pairs": pairs[first..], "first": first, "wrong": wrong, "missing": missing, "start": rest.map(|rest| rest.words),
        })
    }

    /// A product, and whether it belongs into its element; none if a factor is the zero beyond an edge.
    fn pair(&self, term: &Term, goal: Option<[u32; 2]>, seen: &mut BTreeSet<u32>) -> Option<Value> {
        let run = self.run;
        let factors = term.factors.map(|value| factor(self.run, self.launch, &value));
        if factors.iter().any(|factor| factor.zero) {
            return None;
        }
        let matrix = |of: usize| factors.iter().find_map(|factor| factor.of(run, of));
        let (a, b) = (matrix(A), matrix(B));
        let swapped = factors[0].of(run, B).is_some() && a.is_some();
        let [one, other] =
            if swapped { [&factors[1].words, &factors[0].words] } else { [&factors[0].words, &factors[1].words] };
        let known = |factor: &Factor| factor.element.is_some();
        let wrong = match (a, b) {
            _ if factors.iter().any(|factor| factor.unset) => {
                factors.iter().find(|factor| factor.unset).map(|factor| factor.words.clone())
            }
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
        let event = self.block.event_of(term.tag);
        let line = self.launch.program.instructions.get(term.instruction as usize).and_then(|known| known.line);
        Some(json!({
            "a": a, "b": b, "words": format!("{one} · {other}"), "time": event + 1, "warp": term.thread / 32, "lane": term.thread % 32,
            "line": line, "wrong": wrong,
        }))
    }

    /// Who read a word of shared memory: one for each warp and instruction.
    fn reads(&self, word: u32, events: std::ops::Range<u32>) -> Vec<Value> {
        let mut known = BTreeSet::new();
        let read = |number: u32| {
            let event = self.run.tape.event(number);
            let own = |touched: &Touched| touched.reads && (touched.array, touched.word) == (None, word);
            let lanes = self.run.tape.touched(number).filter(own).map(|touched| touched.lane);
            let mask = lanes.fold(0, |mask, lane| mask | 1_u32 << lane);
            let new = event.block == self.at.1 && mask != 0 && known.insert((event.warp, event.instruction));
            new.then(|| self.act(number, event.instruction, mask.trailing_zeros(), mask))
        };
        events.filter_map(read).take(READS).collect()
    }

    /// The tag of a register in a lane, as an event wrote it.
    pub fn register(&self, lane: usize, register: usize, event: u32) -> Option<Tag> {
        let writes = &self.run.tape.instruction(event).writes;
        let place = writes.iter().position(|&written| written == register)?;
        let tags = self.block.written(event, self.run.tape.event(event).lanes, writes.len());
        Some(tags.get(place).map_or(0, |tags| tags[lane]))
    }
}

/// What a register holds that is no value of the matrices: an address, an index, an argument.
fn number(run: &Run, launch_number: usize, register: usize, event: u32, value: u64) -> Value {
    let launch = &run.tape.launches[launch_number];
    let program = &launch.program;
    let known = &program.registers[register];
    let address = |array: &str, name: Option<String>| {
        let words = name
            .as_ref()
            .map_or_else(|| format!("an address past the end of {array}"), |name| format!("an address: {name}"));
        json!({ "kind": "address", "words": words, "array": array, "name": name })
    };
    if known.bytes == 8 {
        let arrays = &run.tape.arrays;
        if let Some(at) = arrays.iter().position(|array| value >= array.base && value - array.base < array.bytes) {
            let name = element(run, launch, Some(at), (value - arrays[at].base) as u32);
            return address(&name.array, Some(name.to_string()));
        }
        let before = arrays.iter().filter(|array| array.base <= value).max_by_key(|array| array.base);
        if let Some(array) = before.filter(|_| known.base == Some(Space::Global)) {
            return address(&array.name, None);
        }
    } else if !known.float && known.bytes == 4 && known.base == Some(Space::Shared) {
        let inside = value < launch.shared_bytes.into();
        let name = element(run, launch, None, value as u32);
        return address(&name.array, inside.then(|| name.to_string()));
    }
    let instruction = run.tape.instruction(event);
    let from = operands(&instruction.text).into_iter().nth(1).unwrap_or_default();
    let part = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let special = [("%tid.", "threadIdx"), ("%ntid.", "blockDim"), ("%ctaid.", "blockIdx"), ("%nctaid.", "gridDim")];
    if let Some((_, name)) = special.iter().find(|(start, _)| from.starts_with(start)) {
        let name = format!("{name}.{}", part(from));
        return json!({ "kind": "index", "words": name, "name": name });
    }
    if instruction.text.contains("ld.param") {
        let params = program.kernel.params();
        let at = params.iter().position(|param| from.trim_matches(['[', ']']).split('+').next() == Some(&param.name));
        let name = at.and_then(|at| run.argument_name(launch_number, at));
        if let Some(name) = name {
            return json!({ "kind": "argument", "words": format!("the argument {name}"), "name": name });
        }
    }
    json!({ "kind": "unknown", "words": "a number" })
}

/// What a register of the chosen lane holds; none if it has not been written.
fn register(place: Option<&Place<'_>>, run: &Run, block: &Block, chosen: &Chosen, number: usize) -> Option<Value> {
    let launch = &run.tape.launches[chosen.launch];
    let (warp, known) = (block.warps.get(chosen.warp as usize)?, &launch.program.registers[number]);
    let time = warp.times.get(number).copied().filter(|&time| time > 0)?;
    let at = 32 * known.place + chosen.lane;
    let high = if known.bytes == 8 { warp.registers[at + 32] } else { 0 };
    let value = u64::from(high) << 32 | u64::from(warp.registers[at]);
    let plain = self::number(run, chosen.launch, number, time - 1, value);
    if plain["kind"] == "address" {
        return Some(plain);
    }
    let found = place.and_then(|place| place.tag(place.register(chosen.lane, number, time - 1)?, time, false));
    found.or(Some(plain))
}

/// What is asked about, at the state's time; the chosen block is shown as `own` has it.
pub fn meaning(
    run: &Run,
    origins: &Origins,
    state: &State,
    own: &State,
    chosen: &Chosen,
    of: &Subject,
) -> Result<Value, String> {
    let launch = run.tape.launches.get(chosen.launch).ok_or("nothing was launched")?;
    let place = Place::new(run, origins, chosen.launch, chosen.block);
    let block = own.blocks.get(&chosen.block);
    let unknown = || json!({ "kind": "unknown", "words": "a number" });
    match of {
        Subject::Register(_) | Subject::Registers => {
            let wanted = |name: &str| !matches!(of, Subject::Register(asked) if asked != name);
            // The ones that were written last: a kernel without loops has thousands, and most have had their time.
            let written = |number: &usize| block?.warps.get(chosen.warp as usize)?.times.get(*number).copied();
            let known = launch.program.registers.iter().enumerate().filter(|(_, known)| wanted(&known.name));
            let mut numbers: Vec<usize> = known.map(|(number, _)| number).collect();
            numbers.sort_by_key(|number| std::cmp::Reverse(written(number)));
            let mut all = Map::new();
            for number in numbers.into_iter().take(MOST) {
                let known = block.and_then(|block| register(place.as_ref(), run, block, chosen, number));
                all.extend(known.map(|known| (launch.program.registers[number].name.clone(), known)));
            }
            Ok(match of {
                Subject::Register(name) => json!({ "meaning": all.get(name) }),
                _ => json!({ "registers": all }),
            })
        }
        &Subject::Shared(word) => {
            let found = place
                .as_ref()
                .and_then(|place| place.block.placed(0..state.time).rfind(|(_, placed)| placed.position == word));
            let name = element(run, launch, None, 4 * word).to_string();
            let empty = || json!({ "kind": "unset", "words": format!("nothing: no thread has stored {name}") });
            let (Some(place), Some((event, placed))) = (&place, found) else {
                return Ok(json!({ "meaning": empty(), "name": name, "stored": null, "read": [] }));
            };
            let meaning = place.tag(placed.tag, state.time, false).unwrap_or_else(unknown);
            let stored = place.act(event, placed.stored, placed.by % 32, 1 << (placed.by % 32));
            Ok(
                json!({ "meaning": meaning, "name": name, "stored": stored, "read": place.reads(word, event + 1..state.time) }),
            )
        }
        &Subject::Element([row, column]) => {
            let index = u64::from(row) * u64::from(run.size[1]) + u64::from(column);
            let mut stores: Vec<_> = origins
                .blocks()
                .flat_map(|(launch, number, block)| {
                    block.stores().map(move |(event, store)| (event, launch, number, *store))
                })
                .filter(|(_, _, _, store)| store.index == index)
                .collect();
            stores.sort_by_key(|&(event, ..)| event);
            let done = stores.iter().rfind(|&&(event, ..)| event < state.time);
            let name = format!("C[{row}][{column}]");
            let Some(&(event, launch, number, store)) = done.or(stores.first()) else {
                let meaning = json!({ "kind": "unset", "words": format!("nothing: no thread stores {name}") });
                return Ok(json!({ "meaning": meaning, "name": name, "stored": null }));
            };
            let place = Place::new(run, origins, launch, number).ok_or("the block was not followed")?;
            let meaning = place.tag(store.value, state.time, done.is_some()).unwrap_or_else(unknown);
            let stored = done.map(|_| place.act(event, store.instruction, store.number % 32, 1 << (store.number % 32)));
            Ok(json!({ "meaning": meaning, "name": name, "stored": stored }))
        }
    }
}
