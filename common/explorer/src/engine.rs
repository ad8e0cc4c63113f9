//! One run, and answers to what the page asks about it.

use crate::answer::{counts, error, real};
use crate::count::count;
use crate::entries::entries;
use crate::hazard::{hazard, picture, worst};
use crate::look::{self, Looked};
use crate::meaning::meaning;
use crate::origins::Origins;
use crate::request::{LookRequest, Request};
use crate::run::{Run, Wrong};
use crate::seek::seek;
use crate::state::State;
use crate::step::step;
use crate::strips::strips;
use crate::witness::witness;
use serde_json::{Value, json};

/// The engine: a run, a place in it, and the arrays of the latest answer.
#[derive(Default)]
pub struct Engine {
    run: Option<Run>,
    state: State,
    /// Another place, for a block that has ended before.
    aside: State,
    /// Where its values come from, once somebody has asked.
    origins: Option<Origins>,
    bulk: Vec<Vec<u32>>,
}

impl Engine {
    /// Without a run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers a request in JSON, in JSON.
    pub fn answer(&mut self, request: &str) -> String {
        let answer = match serde_json::from_str::<Request>(request) {
            Ok(request) => self.ask(request).unwrap_or_else(|sentence| error(&sentence)),
            Err(problem) => error(&format!("this is not a request of the explorer: {problem}")),
        };
        answer.to_string()
    }

    /// The run, if there is one.
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// An array of the latest answer; empty if there is no such.
    pub fn bulk(&self, which: usize) -> &[u32] {
        self.bulk.get(which).map_or(&[], Vec::as_slice)
    }

    fn ask(&mut self, request: Request) -> Result<Value, String> {
        if let Request::Run(request) = request {
            // The old run's memory is given back before the new one's is taken.
            *self = Self::default();
            let run = Run::new(&request)?;
            let summary = summary(&run);
            (self.state, self.aside) = (run.tape.start(), run.tape.start());
            self.run = Some(run);
            self.look(&LookRequest::default())?;
            return Ok(summary);
        }
        match &request {
            Request::Plan { planner, product } => {
                return Ok(match planner.plan(&product.problem(), "") {
                    Ok(plan) => json!({ "plan": plan, "refused": null }),
                    Err(sentence) => json!({ "plan": null, "refused": sentence }),
                });
            }
            Request::Entries { ptx } => return entries(ptx),
            _ => {}
        }
        let run = self.run.as_ref().ok_or("nothing has been run; run a kernel first")?;
        match request {
            Request::Look(request) => {
                follow(&mut self.origins, run);
                self.look(&request)
            }
            Request::Seek(request) => {
                let time = seek(run, &request);
                let event = time.and_then(|time| run.tape.events.get(time.checked_sub(1)? as usize));
                Ok(json!({ "time": time, "warp": event.map(|event| event.warp) }))
            }
            Request::Count(request) => count(run, &request),
            Request::Meaning { at, of } => {
                let origins = follow(&mut self.origins, run);
                let (chosen, ended) = stand(run, &mut self.state, &mut self.aside, &at);
                let own = if ended { &self.aside } else { &self.state };
                meaning(run, origins, &self.state, own, &chosen, &of)
            }
            Request::Step(LookRequest { time, block, warp, .. }) => {
                Ok(step(run, follow(&mut self.origins, run), (block, warp), time))
            }
            Request::Hazard { number } => {
                let origins = follow(&mut self.origins, run);
                picture(run, origins, number.unwrap_or_else(|| worst(run, origins)))
            }
            Request::Witness => Ok(witness(run)),
            Request::Strips(request) => strips(run, &request),
            Request::Run(_) | Request::Plan { .. } | Request::Entries { .. } => Err("this is answered before".into()),
        }
    }

    fn look(&mut self, request: &LookRequest) -> Result<Value, String> {
        let run = self.run.as_ref().ok_or("nothing has been run; run a kernel first")?;
        let (chosen, ended) = stand(run, &mut self.state, &mut self.aside, request);
        let own = if ended { &self.aside } else { &self.state };
        let Looked { answer, bulk } = look::look(run, self.origins.as_ref(), &self.state, own, &chosen);
        self.bulk = bulk;
        Ok(answer)
    }
}

/// Where the values of a run come from: it is followed when somebody asks for the first time.
fn follow<'a>(known: &'a mut Option<Origins>, run: &Run) -> &'a Origins {
    known.get_or_insert_with(|| Origins::of(run))
}

/// Goes to a time, and of a block that has ended before to its end as well. Gives the chosen thread, and whether its block has ended.
fn stand(run: &Run, state: &mut State, aside: &mut State, request: &LookRequest) -> (look::Chosen, bool) {
    run.tape.seek(state, request.time);
    let chosen = look::Chosen::new(run, state, request);
    let span = run.tape.launches.get(chosen.launch).and_then(|launch| launch.spans.get(chosen.block as usize));
    let ended = span.filter(|(_, end)| *end < state.time);
    if let Some(&(_, end)) = ended {
        run.tape.seek(aside, end);
    }
    (chosen, ended.is_some())
}

/// What a run found.
fn summary(run: &Run) -> Value {
    let tape = &run.tape;
    let [m, n, k] = run.size;
    let wrong: Vec<Wrong> = run.wrong(run.c_at_end()).collect();
    let writes = tape.end.touched.get(crate::run::C).map(|[_, writes]| writes.as_slice()).unwrap_or_default();
    let unwritten = writes.iter().filter(|&&count| count == 0).count();
    let first = wrong.first().map(|wrong| {
        json!({ "row": wrong.place.0, "column": wrong.place.1, "value": real(run.number(wrong.value)), "expected": real(run.number(wrong.expected)) })
    });
    let mut instructions = vec![];
    let mut lines = std::collections::BTreeSet::new();
    let mut launches = vec![];
    let mut shared = vec![];
    let mut products = serde_json::Map::new();
    for (number, launch) in tape.launches.iter().enumerate() {
        products.extend(crate::product::shapes(&launch.program, instructions.len()));
        for instruction in &launch.program.instructions {
            lines.extend(instruction.line);
            instructions.push(json!({ "text": instruction.text, "line": instruction.line, "kind": instruction.kind, "launch": number }));
        }
        launches.push(json!({
            "entry": launch.program.kernel.name(), "grid": [launch.grid.x, launch.grid.y, launch.grid.z],
            "block": [launch.block.x, launch.block.y, launch.block.z], "shared_bytes": launch.shared_bytes,
            "from": launch.events.start, "to": launch.events.end, "blocks": launch.spans.len(), "warps": launch.warps(),
            "first_instruction": launch.first_instruction,
        }));
        let arrays = launch.program.kernel.shared_arrays().iter().map(|array| {
            let known = run.extents.iter().find(|(name, _)| *name == array.source_name);
            let extents = known.map_or(vec![], |(_, known)| known.extents.clone());
            let bytes = if array.bytes == 0 { launch.shared_bytes.saturating_sub(array.offset) } else { array.bytes };
            json!({ "name": array.source_name, "offset": array.offset, "bytes": bytes, "extents": extents })
        });
        shared.push(Value::Array(arrays.collect()));
    }
    let hazards: Vec<Value> = run.hazards.iter().map(|found| hazard(run, found)).collect();
    json!({
        "length": tape.length(), "m": m, "n": n, "k": k, "dtype": run.dtype, "order": run.order.to_string(), "bytes": tape.memory(),
        "outcome": {
            "right": run.is_right(), "wrong": wrong.len(), "unwritten": unwritten, "first": first,
            "stopped": run.stopped,
        },
        "launches": launches, "tile": run.plan.tile, "tile_k": run.plan.tile_k, "instructions": instructions, "lines": lines,
        "arrays": [
            { "name": "A", "rows": m, "columns": k }, { "name": "B", "rows": k, "columns": n }, { "name": "C", "rows": m, "columns": n },
        ],
        "shared": shared, "products": products, "hazards": hazards, "totals": counts(&tape.end.totals, true),
    })
}
