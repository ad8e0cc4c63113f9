//! A number that was counted: of the whole run, or of one array.

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
        "blocks" => launch.map(|launch| launch.grid.count()),
        "warps" => launch.map(|launch| u64::from(launch.warps())),
        "wrong" => Some(run.wrong(run.c_at_end()).count() as u64),
        _ => None,
    };
    for name in [Some(&request.metric), request.per.as_ref()].into_iter().flatten() {
        if known(name).is_none() && counter(&Counts::default(), name).is_none() {
            return Err(format!("nothing is counted under the name {name:?}; choose a counter's name"));
        }
    }
    let asked = |event: &u32| request.array.is_none() || tape.accesses(*event, request.array.as_deref());
    let mut sum = Counts::default();
    let mut first = None;
    for event in (0..tape.length()).filter(asked) {
        let counts: &Counts = &tape.event(event).counts;
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
    let event = first.map(|first| tape.event(first));
    Ok(json!({
        "value": value, "of": of, "per": per, "time": first.map(|first| first + 1), "block": event.map(|event| event.block),
        "warp": event.map(|event| event.warp),
    }))
}
