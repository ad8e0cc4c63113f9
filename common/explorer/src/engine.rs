//! One run, and answers to what the page asks about it.

use crate::answer::{counts, real};
use crate::hazard::{hazard, look_closer, picture, worst};
use crate::log::LaunchTape;
use crate::look::look;
use crate::matrices::{C, shown};
use crate::meaning::meaning;
use crate::planner::entries;
use crate::request::{CountRequest, LookRequest, Request};
use crate::run::{Run, witness};
use crate::state::State;
use crate::step::seek;
use crate::strips::strips;
use serde_json::{Value, json};
use simt::{Counts, SharedArray, WarpgroupProduct};

/// The engine: a run, a place in it, and the arrays of the latest answer.
#[derive(Default)]
pub struct Engine {
    pub run: Option<Run>,
    state: State,
    bulk: Vec<Vec<u32>>,
}

impl Engine {
    /// Answers a request in JSON, in JSON.
    pub fn answer(&mut self, request: &str) -> String {
        let none = |problem: serde_json::Error| format!("this is not a request of the explorer: {problem}");
        let answer = serde_json::from_str(request).map_err(none).and_then(|request| self.ask(request));
        answer.unwrap_or_else(|sentence| json!({ "error": sentence })).to_string()
    }

    /// Array number `which` of the latest answer; empty if it does not exist.
    pub fn bulk(&self, which: usize) -> &[u32] {
        self.bulk.get(which).map_or(&[], Vec::as_slice)
    }

    /// Answers a request; the error is a sentence.
    pub fn ask(&mut self, request: Request) -> Result<Value, String> {
        let run = self.run.as_ref().ok_or("nothing has been run; run a kernel first");
        match request {
            Request::Run(request) => {
                // The old run's memory is given back before the new one's is taken.
                *self = Self::default();
                let run = self.run.insert(Run::new(&request)?);
                look_closer(run);
                self.state = run.tape.start();
                (_, self.bulk) = look(run, &self.state, &LookRequest::default())?;
                Ok(summary(run))
            }
            Request::Plan { planner, problem } => Ok(match planner.plan(&problem, "") {
                Ok(plan) => json!({ "plan": plan, "refused": null }),
                Err(sentence) => json!({ "plan": null, "refused": sentence }),
            }),
            Request::Entries { ptx } => entries(&ptx),
            Request::Look(request) => {
                run?.tape.seek(&mut self.state, request.time);
                let answer;
                (answer, self.bulk) = look(run?, &self.state, &request)?;
                Ok(answer)
            }
            Request::Seek(request) => {
                let time = seek(run?, &request);
                let event = time.and_then(|time| run.ok()?.tape.events.get(time.checked_sub(1)? as usize));
                Ok(json!({ "time": time, "warp": event.map(|event| event.warp) }))
            }
            Request::Count(request) => count(run?, &request),
            Request::Meaning { at, of } => {
                run?.tape.seek(&mut self.state, at.time);
                meaning(run?, &self.state, &at, &of)
            }
            Request::Hazard { number } => picture(run?, number),
            Request::Witness => Ok(witness(run?)),
            Request::Strips(request) => strips(run?, &request),
        }
    }
}

/// The answer to a run: its length, outcome, launches, hazards and counters.
fn summary(run: &Run) -> Value {
    let tape = &run.tape;
    let [m, n, k] = run.size;
    let (c, wrong) = (run.c_at_end(), run.wrong_at_end().collect::<Vec<_>>());
    let first = wrong.first().map(|&at| {
        let [row, column] = run.row_column(C, at);
        let [value, expected] = [c, &run.expected].map(|words| real(shown(words[at as usize], run.dtype)));
        json!({ "row": row, "column": column, "value": value, "expected": expected })
    });
    let of_launch = |launch: &LaunchTape| {
        let LaunchTape { program, grid, block, .. } = launch;
        // The shape of a warpgroup's product, by its instruction's number.
        let product = |(number, product): (&u32, &WarpgroupProduct)| {
            let WarpgroupProduct { columns, length, sums, left, by_column } = product;
            let shape =
                json!({ "columns": columns, "length": length, "by_column": by_column, "sums": sums, "left": left });
            (number.to_string(), shape)
        };
        let products: Value = program.products.iter().map(product).collect();
        let instructions = program.instructions.iter().map(|known| json!({ "text": known.text, "line": known.line }));
        let array = |array: &SharedArray| {
            let known = run.extents.iter().find(|(name, _)| *name == array.source_name);
            let extents = known.map_or(vec![], |(_, known)| known.extents.clone());
            let bytes = if array.bytes == 0 { launch.shared_bytes.saturating_sub(array.offset) } else { array.bytes };
            json!({ "name": array.source_name, "offset": array.offset, "bytes": bytes, "extents": extents })
        };
        json!({
            "grid": [grid.x, grid.y, grid.z], "block": [block.x, block.y, block.z], "blocks": launch.blocks(),
            "instructions": instructions.collect::<Value>(), "products": products,
            "shared": program.kernel.shared_arrays().iter().map(array).collect::<Value>(),
        })
    };
    let launches: Value = tape.launches.iter().map(of_launch).collect();
    let hazards: Value = run.hazards.iter().map(|found| hazard(run, found)).collect();
    json!({
        "length": tape.length(), "m": m, "n": n, "k": k, "dtype": run.dtype, "order": run.order.to_string(), "bytes": tape.memory(),
        "outcome": { "right": run.is_right(), "wrong": wrong.len(), "first": first, "stopped": run.stopped },
        "launches": launches, "tile": (!run.is_free()).then_some(run.plan.tile),
        "hazards": hazards, "worst": worst(run), "totals": counts(&tape.end.totals, true),
    })
}

fn counter(counts: &Counts, name: &str) -> Option<u64> {
    counts.entries().into_iter().find(|(known, _)| *known == name).map(|(_, count)| count)
}

/// The number, and where to look; an error if nothing is counted under the name.
fn count(run: &Run, request: &CountRequest) -> Result<Value, String> {
    let tape = &run.tape;
    let launch = tape.launches.first();
    let known = |name: &str| match name {
        "blocks" => launch.map(|launch| launch.grid.count()),
        "warps" => launch.map(|launch| u64::from(launch.warps())),
        "wrong" => Some(run.wrong_at_end().count() as u64),
        _ => None,
    };
    let texts: Vec<&str> = run.kernel.source.lines().collect();
    // Whether an event is of a line that contains the text.
    let contains = |event: u32, text: &str| {
        let line = tape.instruction(event).line.and_then(|line| texts.get((line as usize).wrapping_sub(1)));
        line.is_some_and(|line| line.contains(text))
    };
    let asked = |event: &u32| {
        (request.array.is_none() || tape.accesses(*event, request.array.as_deref()))
            && request.contains.as_ref().is_none_or(|text| contains(*event, text))
    };
    let mut sum = Counts::default();
    for event in (0..tape.length()).filter(asked) {
        sum += &*tape.event(event).counts;
    }
    let counted = |event: &u32| counter(&tape.event(*event).counts, &request.metric).is_some_and(|count| count > 0);
    let first = (0..tape.length()).filter(asked).find(counted);
    let value_of = |name: &str| {
        let none = || format!("nothing is counted under the name {name:?}; choose a counter's name");
        known(name).or_else(|| counter(&sum, name)).ok_or_else(none)
    };
    let (of, per) = (value_of(&request.metric)?, request.per.as_deref().map(value_of).transpose()?);
    let value = match per {
        Some(0) => Value::Null,
        Some(per) => json!(of as f64 / per as f64),
        None => json!(of),
    };
    let event = first.map(|first| tape.event(first));
    Ok(json!({
        "value": value, "of": of, "per": per, "time": first.map(|first| first + 1), "block": event.map(|event| event.block),
        "warp": event.map(|event| event.warp),
    }))
}
