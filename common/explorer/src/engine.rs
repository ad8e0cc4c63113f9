//! One run, and answers to what the page asks about it.

use crate::answer::{counts, real};
use crate::count::count;
use crate::hazard::{hazard, picture, worst};
use crate::log::LaunchTape;
use crate::look::look;
use crate::matrices::C;
use crate::meaning::meaning;
use crate::planner::entries;
use crate::product::shapes;
use crate::request::{LookRequest, Request};
use crate::run::Run;
use crate::seek::seek;
use crate::state::State;
use crate::step::step;
use crate::strips::strips;
use crate::witness::witness;
use serde_json::{Value, json};
use simt::SharedArray;

/// The engine: a run, a place in it, and the arrays of the latest answer.
#[derive(Default)]
pub struct Engine {
    run: Option<Run>,
    state: State,
    bulk: Vec<Vec<u32>>,
}

impl Engine {
    /// Answers a request in JSON, in JSON.
    pub fn answer(&mut self, request: &str) -> String {
        let request = serde_json::from_str::<Request>(request)
            .map_err(|problem| format!("this is not a request of the explorer: {problem}"));
        request
            .and_then(|request| self.ask(request))
            .unwrap_or_else(|sentence| json!({ "error": sentence }))
            .to_string()
    }

    /// The run, if there is one.
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// An array of the latest answer; empty if there is no such.
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
            Request::Step(LookRequest { time, block, warp, .. }) => Ok(step(run?, (block, warp), time)),
            Request::Hazard { number } => picture(run?, number.unwrap_or_else(|| run.map_or(0, worst))),
            Request::Witness => Ok(witness(run?)),
            Request::Strips(request) => strips(run?, &request),
        }
    }
}

/// What a run found.
fn summary(run: &Run) -> Value {
    let tape = &run.tape;
    let [m, n, k] = run.size;
    let (c, wrong) = (run.c_at_end(), run.wrong(run.c_at_end()).collect::<Vec<_>>());
    let first = wrong.first().map(|&at| {
        let [row, column] = run.row_column(C, at);
        let [value, expected] = [c, &run.expected].map(|words| real(run.number(words[at as usize])));
        json!({ "row": row, "column": column, "value": value, "expected": expected })
    });
    let of_launch = |launch: &LaunchTape| {
        let LaunchTape { program, grid, block, .. } = launch;
        let instructions = program.instructions.iter().map(|known| json!({ "text": known.text, "line": known.line }));
        let array = |array: &SharedArray| {
            let known = run.extents.iter().find(|(name, _)| *name == array.source_name);
            let extents = known.map_or(vec![], |(_, known)| known.extents.clone());
            let bytes = if array.bytes == 0 { launch.shared_bytes.saturating_sub(array.offset) } else { array.bytes };
            json!({ "name": array.source_name, "offset": array.offset, "bytes": bytes, "extents": extents })
        };
        json!({
            "grid": [grid.x, grid.y, grid.z], "block": [block.x, block.y, block.z], "blocks": launch.blocks(),
            "instructions": instructions.collect::<Value>(), "products": shapes(program),
            "shared": program.kernel.shared_arrays().iter().map(array).collect::<Value>(),
        })
    };
    let launches: Value = tape.launches.iter().map(of_launch).collect();
    let hazards: Value = run.hazards.iter().map(|found| hazard(run, found)).collect();
    json!({
        "length": tape.length(), "m": m, "n": n, "k": k, "dtype": run.dtype, "order": run.order.to_string(), "bytes": tape.memory(),
        "outcome": { "right": run.is_right(), "wrong": wrong.len(), "first": first, "stopped": run.stopped },
        "launches": launches, "tile": run.plan.tile,
        "hazards": hazards, "totals": counts(&tape.end.totals, true),
    })
}
