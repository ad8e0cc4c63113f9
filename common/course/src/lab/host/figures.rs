//! Figures of what a host program did, from the log of its calls: each a number, and the line of the program that it comes from.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::case::Case;

/// A number, and the line that makes it what it is, if one does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    pub value: f64,
    pub at: Option<String>,
}

/// The line of the program that made a call.
fn at(line: &Value) -> Option<String> {
    line["at"].as_str().map(str::to_owned)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

/// Whether one piece of work happens before another one on any GPU.
fn before(one: &Value, other: &Value) -> bool {
    let step = |clock: &Value| clock["clock"].get(one["actor"].as_u64().unwrap_or(0) as usize).map_or(0.0, number);
    step(other) >= step(one)
}

/// All figures of a run that printed `out`.
pub fn figures(log: &[Value], case: &Case, out: &str) -> BTreeMap<&'static str, Figure> {
    let of = |did: &str| log.iter().filter(|line| line["did"] == did).collect::<Vec<_>>();
    let (launches, copies) = (of("launch"), of("copy"));
    let mut figures = BTreeMap::new();
    let mut figure = |name, value: f64, at: Option<String>| figures.insert(name, Figure { value, at });

    let multiplied: f64 = launches.iter().map(|line| number(&line["counters"]["fma_threads"])).sum();
    figure("products", multiplied / case.products as f64, None);
    let leak = of("leak").into_iter().next();
    let made =
        of("allocate").into_iter().find(|line| leak.is_some_and(|leak| leak["allocation"] == line["allocation"]));
    figure("leaks", of("leak").len() as f64, made.and_then(at));
    figure("modules", of("load").len() as f64, of("load").get(1).and_then(|line| at(line)));
    // Two arrays of TILE × TILE elements of 4 bytes.
    let tile = launches.first().map_or(0.0, |line| (number(&line["shared"][0]) / 8.0).sqrt());
    figure("tile", tile, launches.first().and_then(|line| at(line)));

    let of_device = |side: &Value| side["memory"] == "device";
    let up: Vec<&Value> = copies.iter().copied().filter(|line| !of_device(&line["from"])).collect();
    let down: Vec<&Value> = copies.iter().copied().filter(|line| !of_device(&line["to"])).collect();
    let bytes = |lines: &[&Value]| lines.iter().map(|line| number(&line["bytes"])).sum::<f64>();
    let result = case.expected.len() as f64 * 4.0;
    figure("copied_to", bytes(&up) / case.needed as f64, up.last().and_then(|line| at(line)));
    figure("copied_back", bytes(&down) / result, down.first().and_then(|line| at(line)));
    figure("from_gpu", from_gpu(log, case), down.last().and_then(|line| at(line)));

    let streams: BTreeSet<String> = launches.iter().map(|line| line["stream"].to_string()).collect();
    figure("streams", streams.len() as f64, launches.last().and_then(|line| at(line)));
    // The slabs of A: what is copied to where a kernel's first argument points.
    let firsts: BTreeSet<String> = launches.iter().map(|line| line["arguments"][0]["allocation"].to_string()).collect();
    let slabs: Vec<&Value> =
        up.iter().copied().filter(|line| firsts.contains(&line["to"]["allocation"].to_string())).collect();
    let pageable: Vec<&Value> = slabs.iter().copied().filter(|line| line["from"]["memory"] == "host").collect();
    let pinned = if slabs.is_empty() { 0.0 } else { 1.0 - bytes(&pageable) / bytes(&slabs) };
    figure("pinned", pinned, pageable.first().and_then(|line| at(line)));
    let largest = slabs.iter().copied().max_by(|one, other| number(&one["bytes"]).total_cmp(&number(&other["bytes"])));
    let rows = largest.map_or(f64::MAX, |line| number(&line["bytes"]) / 4.0 / case.inner as f64);
    figure("slab_rows", rows, largest.and_then(at));
    // Each slab but the first can be copied while a kernel of another stream works.
    let overlaps = |slab: &&&Value| {
        launches
            .iter()
            .any(|launch| launch["stream"] != slab["stream"] && !before(launch, slab) && !before(slab, launch))
    };
    let later = slabs.get(1..).unwrap_or_default();
    let alone = later.iter().find(|slab| !overlaps(slab));
    let share = later.iter().filter(overlaps).count() as f64 / later.len().max(1) as f64;
    figure("overlap", share, alone.and_then(|line| at(line)));

    for (name, value, at) in timed(log, case, out) {
        figure(name, value, at);
    }
    figures
}

/// The share of the result that a kernel has written and that was then copied back: 0 if what was copied is not the result.
fn from_gpu(log: &[Value], case: &Case) -> f64 {
    let mut by_kernel: BTreeSet<String> = BTreeSet::new();
    let (mut parts, wanted) = (vec![], case.expected.len() as u64 * 4);
    for line in log {
        let [from, to] = ["from", "to"].map(|side| line[side]["allocation"].to_string());
        match line["did"].as_str() {
            Some("launch") => {
                by_kernel.extend(line["writes"].as_array().into_iter().flatten().map(|pair| pair[0].to_string()));
            }
            Some("copy") if line["to"]["memory"] == "device" => {
                let kept = by_kernel.contains(&from);
                if kept {
                    by_kernel.insert(to)
                } else {
                    by_kernel.remove(&to)
                };
            }
            Some("copy") => parts.push((line["bytes"].as_u64(), line["sum"].as_u64(), by_kernel.contains(&from))),
            _ => {}
        }
    }
    // The last parts that make up a whole.
    let (mut bytes, mut sum, mut written) = (0, 0_u64, 0);
    for (part, of_part, by_kernel) in parts.into_iter().rev() {
        if bytes >= wanted {
            break;
        }
        let part = part.unwrap_or(0);
        (bytes, sum) = (bytes + part, sum.wrapping_add(of_part.unwrap_or(0)));
        written += if by_kernel { part } else { 0 };
    }
    let of_byte = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = |element: &f32| element.to_le_bytes().into_iter().fold(0xcbf2_9ce4_8422_2325, of_byte);
    let expected = case.expected.iter().map(hash).fold(0, u64::wrapping_add);
    if sum == expected { written as f64 / wanted as f64 } else { 0.0 }
}

/// How launches were timed: between which events, what came before and between, whether the host waited, and what it said.
fn timed(log: &[Value], case: &Case, out: &str) -> Vec<(&'static str, f64, Option<String>)> {
    let asked = log.iter().rposition(|line| line["did"] == "elapsed");
    let Some((asked, of)) = asked.map(|asked| (asked, &log[asked]["events"])) else { return vec![] };
    let record =
        |event: &Value| log[..asked].iter().rposition(|line| line["did"] == "record" && line["event"] == *event);
    let (Some(begin), Some(end)) = (record(&of[0]), record(&of[1])) else { return vec![] };
    let stream = &log[begin]["stream"];
    let is_launch = |line: &&Value| line["did"] == "launch" && line["stream"] == *stream;
    let between = log.get(begin + 1..end).unwrap_or_default();
    let launches = between.iter().filter(is_launch).count() as f64;
    let multiplied = between.iter().filter(is_launch).map(|line| number(&line["counters"]["fma_threads"]));
    let least = multiplied.fold(f64::MAX, f64::min) / case.products as f64;
    let others: Vec<&Value> = between.iter().filter(|line| !is_launch(line)).collect();
    let waits = |line: &&Value| {
        let done = line["stream"] == log[end]["stream"] || line["event"] == of[1] || line["all"] == true;
        line["did"] == "synchronize" && done
    };
    let waited = log[end..asked].iter().any(|line| waits(&line));
    let said = out.split_whitespace().zip(out.split_whitespace().skip(1)).find(|(_, unit)| *unit == "ms");
    let said: f64 = said.and_then(|(number, _)| number.parse().ok()).unwrap_or(0.0);
    let ms = number(&log[asked]["ms"]);
    vec![
        ("timed", f64::from(u8::from(log[end]["stream"] == *stream)), at(&log[asked])),
        ("warm_up", log[..begin].iter().filter(is_launch).count() as f64, at(&log[begin])),
        ("launches_timed", launches, at(&log[begin])),
        ("products_timed", if launches > 0.0 { least } else { 0.0 }, at(&log[begin])),
        ("others_timed", others.len() as f64, others.first().and_then(|line| at(line))),
        ("waited", f64::from(u8::from(waited)), at(&log[asked])),
        ("said", if ms > 0.0 { said * launches / ms } else { 0.0 }, at(&log[asked])),
    ]
}
