//! A number that was counted: of the whole run, or of some of its lines and one array.

use crate::effect::Effect;
use crate::request::QuestionRequest;
use crate::run::Run;
use serde_json::{Value, json};
use simt::{Counts, Space};

/// A counter by its name.
fn counter(counts: &Counts, name: &str) -> Option<u64> {
    counts.entries().into_iter().find(|(known, _)| *known == name).map(|(_, count)| count)
}

/// Whether a line is asked about.
fn line_fits(run: &Run, request: &QuestionRequest, line: Option<u32>) -> bool {
    let text = line.and_then(|line| run.source.get((line as usize).checked_sub(1)?));
    request.line.is_none_or(|wanted| line == Some(wanted))
        && request.contains.as_deref().is_none_or(|part| text.is_some_and(|text| text.contains(part)))
}

/// The number, and where to look; an error if nothing is counted under the name.
pub fn question(run: &Run, request: &QuestionRequest) -> Result<Value, String> {
    let tape = &run.tape;
    let launch = tape.launches.first();
    let names = [Some(request.metric.as_str()), request.per.as_deref()];
    let known = |name: &str| match name {
        "hazards" => Some(run.hazards.iter().filter(|found| !found.hazard.kind.is_warning()).count() as u64),
        "blocks" => launch.map(|launch| launch.grid.iter().map(|&blocks| u64::from(blocks)).product()),
        "warps" => launch.map(|launch| u64::from(launch.warps())),
        "wrong" => tape.end.arrays.get(crate::run::C).map(|c| run.wrong(c).count() as u64),
        "launches" => Some(tape.launches.len() as u64),
        _ => None,
    };
    for name in names.into_iter().flatten() {
        if known(name).is_none() && counter(&Counts::default(), name).is_none() {
            return Err(format!("nothing is counted under the name {name:?}; choose a counter's name"));
        }
    }
    let mut sum = Counts::default();
    let mut place = None;
    for (number, event) in (0u32..).zip(&tape.events) {
        let of_launch = &tape.launches[tape.launch_of(number)];
        let line = of_launch.program.instructions.get(event.instruction as usize).and_then(|known| known.line);
        if !line_fits(run, request, line) {
            continue;
        }
        if let Some(wanted) = &request.array {
            let arrays = of_launch.program.kernel.shared_arrays();
            let shared = |position: u32| {
                arrays.iter().rfind(|array| array.offset <= position).is_some_and(|array| array.source_name == *wanted)
            };
            let first = |lanes: u32| lanes.trailing_zeros() as usize & 31;
            let mut effects = tape.effects(&of_launch.program, event, |_, _| {});
            let fits = effects.any(|effect| match effect {
                Effect::Access(access) => match access.array {
                    Some(array) => tape.arrays[array].name == *wanted,
                    None => access.space == Space::Shared && shared(access.addresses[first(access.lanes)]),
                },
                Effect::Copy(copy) => {
                    copy.array.is_some_and(|array| tape.arrays[array].name == *wanted)
                        || shared(copy.to[first(copy.lanes)])
                }
                _ => false,
            });
            if !fits {
                continue;
            }
        }
        let counts = tape.counts(event);
        sum += counts;
        if place.is_none() && counter(counts, &request.metric).is_some_and(|count| count > 0) {
            place = Some((number + 1, event.block(), event.warp(), line));
        }
    }
    let value_of = |name: &str| known(name).or_else(|| counter(&sum, name)).unwrap_or(0);
    let of = value_of(&request.metric);
    let per = request.per.as_deref().map(value_of);
    let value = match per {
        Some(0) => Value::Null,
        Some(per) => json!(of as f64 / per as f64),
        None => json!(of),
    };
    if request.metric == "hazards" {
        place = run.hazards.first().map(|found| (found.time, 0, 0, None));
    }
    let (time, block, warp, line) = match place {
        Some((time, block, warp, line)) => (Some(time), Some(block), Some(warp), line),
        None => (None, None, None, None),
    };
    Ok(json!({ "value": value, "of": of, "per": per, "time": time, "block": block, "warp": warp, "line": line }))
}
