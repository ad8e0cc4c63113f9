//! A number that was counted: of the whole run, or of some of its lines and one array.

use crate::request::CountRequest;
use crate::run::Run;
use serde_json::{Value, json};
use simt::Counts;

/// A counter by its name.
fn counter(counts: &Counts, name: &str) -> Option<u64> {
    counts.entries().into_iter().find(|(known, _)| *known == name).map(|(_, count)| count)
}

/// The number, and where to look; an error if nothing is counted under the name.
pub fn count(run: &Run, request: &CountRequest) -> Result<Value, String> {
    let tape = &run.tape;
    let launch = tape.launches.first();
    let known = |name: &str| match name {
        "hazards" => Some(run.hazards.iter().filter(|found| !found.hazard.kind.is_warning()).count() as u64),
        "blocks" => launch.map(|launch| launch.grid.count()),
        "warps" => launch.map(|launch| u64::from(launch.warps())),
        "wrong" => Some(run.wrong(run.c_at_end()).count() as u64),
        "launches" => Some(tape.launches.len() as u64),
        _ => None,
    };
    for name in [Some(&request.metric), request.per.as_ref()].into_iter().flatten() {
        if known(name).is_none() && counter(&Counts::default(), name).is_none() {
            return Err(format!("nothing is counted under the name {name:?}; choose a counter's name"));
        }
    }
    let asked = |event: &u32| {
        let line = tape.instruction(*event).line;
        let text = line.and_then(|line| run.source.get((line as usize).checked_sub(1)?));
        request.line.is_none_or(|wanted| line == Some(wanted))
            && request.contains.as_deref().is_none_or(|part| text.is_some_and(|text| text.contains(part)))
            && (request.array.is_none() || tape.accesses(*event, request.array.as_deref()))
    };
    let mut sum = Counts::default();
    let mut first = None;
    for event in (0..tape.length()).filter(asked) {
        let counts = tape.counts(event);
        sum += counts;
        if first.is_none() && counter(counts, &request.metric).is_some_and(|count| count > 0) {
            first = Some(event);
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
    let hazard = run.hazards.first().filter(|_| request.metric == "hazards");
    let first = hazard.map(|found| found.time.saturating_sub(1)).or(first);
    let event = first.and_then(|first| tape.events.get(first as usize));
    Ok(json!({
        "value": value, "of": of, "per": per, "time": first.map(|first| first + 1), "block": event.map(|event| event.block),
        "warp": event.map(|event| event.warp), "line": first.filter(|_| event.is_some()).and_then(|first| tape.instruction(first).line),
    }))
}
