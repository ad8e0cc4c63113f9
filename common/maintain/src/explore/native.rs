//! Every run that the page can show, as the simulator counts it by itself: what the page is compared with in a browser.

use std::collections::BTreeMap;

use anyhow::{Context, Error, Result};
use course::explore::data::{Data, Form, Kernel};
use explorer::instructions::{file_name, own_line};
use explorer::request::Order;
use explorer::run::{Setup, counts, stopped};
use serde_json::{Value, json};
use simt::{Analyses, Counters, Counts, Hazard};

/// Sizes at which every form is run: of each kernel the first three that it takes.
const SIZES: [[u32; 3]; 10] = [
    [64, 64, 64],
    [33, 47, 20],
    [48, 40, 33],
    [64, 32, 32],
    [32, 32, 64],
    [16, 64, 64],
    [24, 36, 17],
    [16, 16, 16],
    [7, 60, 45],
    [64, 128, 64],
];
const RUNS: usize = 3;

pub fn native(data: &Data) -> Result<Vec<Value>> {
    let forms = data.kernels.iter().flat_map(|kernel| kernel.forms.iter().map(move |form| (kernel, form)));
    let mut runs = vec![];
    for (kernel, form) in forms {
        for size in SIZES.into_iter().filter(|&size| form.plan(size, &kernel.source).is_some()).take(RUNS) {
            runs.push(run(kernel, form, size).with_context(|| format!("{} as {} at {size:?}", kernel.id, form.id))?);
        }
    }
    Ok(runs)
}

/// Counts by name, those that are not zero.
fn named(counts: &Counts, all: bool) -> BTreeMap<String, u64> {
    let entries = counts.entries().into_iter().filter(|&(_, count)| all || count > 0);
    entries.map(|(name, count)| (name.to_owned(), count)).collect()
}

fn run(kernel: &Kernel, form: &Form, size: [u32; 3]) -> Result<Value> {
    let setup = Setup::new(&kernel.request(form, size)).map_err(Error::msg)?;
    let mut memory = setup.memory()?;
    let (mut total, mut lines, mut found, mut failed) =
        (Counts::default(), BTreeMap::<String, Counts>::new(), vec![], None);
    let files: BTreeMap<u32, &str> = setup.module.source_files().collect();
    for number in 0..setup.plan.launches.len() {
        let (counters, hazards) = (Some(Counters::new()), Some(setup.hazards(number)));
        let mut analyses = Analyses { counters, hazards, trace: None };
        failed = stopped(setup.launch(number, (Order::WARPS, 0), &mut memory, &mut analyses))?;
        let Analyses { counters: Some(counters), hazards: Some(hazards), .. } = &analyses else { continue };
        total += &counters.total();
        for ((file, line), counts) in counters.lines() {
            let file = files.get(&file).map_or("", |file| file_name(file));
            let own = file == file_name(&kernel.file) || file.is_empty();
            let name = if own { line.to_string() } else { format!("{file}:{line}") };
            *lines.entry(name).or_default() += &counts;
        }
        let all = hazards.found().into_iter().filter(|hazard| counts(hazard, failed.as_ref()));
        found.extend(all.map(|hazard| native_hazard(&hazard, &kernel.file)));
        if failed.is_some() {
            break;
        }
    }
    let lines: BTreeMap<&String, _> = lines.iter().map(|(line, counts)| (line, named(counts, false))).collect();
    let [m, n, k] = size;
    Ok(json!({
        "kernel": kernel.id, "form": form.id, "dtype": form.dtype.to_string(), "m": m, "n": n, "k": k, "fill": "uniform",
        "totals": named(&total, true), "lines": lines, "right": failed.is_none() && setup.is_right(&memory)?, "stopped": failed,
        "hazards": sorted(found),
    }))
}

fn native_hazard(hazard: &Hazard, file: &str) -> Value {
    let party = |party: &simt::Party| {
        json!({
            "block": [party.block.x, party.block.y, party.block.z],
            "thread": [party.thread.x, party.thread.y, party.thread.z],
            "action": party.action.to_string(),
            "line": own_line(&party.location, file),
        })
    };
    json!({
        "kind": hazard.kind.name(),
        "place": hazard.place.to_string(),
        "count": hazard.count,
        "text": hazard.to_string(),
        "parties": hazard.parties.iter().map(party).collect::<Vec<_>>(),
    })
}

fn sorted(mut hazards: Vec<Value>) -> Vec<Value> {
    hazards.sort_by_key(|hazard| ["kind", "place", "text"].map(|key| hazard[key].to_string()));
    hazards
}

#[cfg(test)]
mod tests {
    use course::explore::contents;
    use explorer::run::Run;

    use super::*;

    #[test]
    fn what_is_recorded_counts_what_the_simulator_counts() {
        let some = ["step04_tiled", "step04_tiled/no_second_barrier", "step04_tiled/bands", "step06_prefetch"];
        compare(|kernel| some.contains(&kernel), some.len());
    }

    mod slow {
        #[test]
        #[ignore = "takes half a minute"]
        fn what_is_recorded_of_all_kernels_of_two_steps_counts_what_the_simulator_counts() {
            super::compare(
                |kernel| ["step04_tiled", "step06_prefetch"].iter().any(|step| kernel.starts_with(step)),
                30,
            );
        }
    }

    /// The recorder counts instruction by instruction, the simulator by itself basic block by basic block. All other kernels are compared
    /// in a browser.
    fn compare(wanted: impl Fn(&str) -> bool, more_than: usize) {
        let mut data = contents::of_book();
        data.kernels.retain(|kernel| wanted(&kernel.id));
        let runs = native(&data).unwrap();
        assert!(runs.len() > more_than, "{}", runs.len());
        let places = |hazards: &[Value]| -> Vec<[String; 3]> {
            hazards.iter().map(|hazard| ["kind", "place", "text"].map(|key| hazard[key].to_string())).collect()
        };
        for theirs in &runs {
            let [m, n, k] = ["m", "n", "k"].map(|side| theirs[side].as_u64().unwrap() as u32);
            let name = format!("{} as {} {} at {m}x{n}x{k}", theirs["kernel"], theirs["form"], theirs["dtype"]);
            let kernel = data.kernels.iter().find(|kernel| theirs["kernel"] == kernel.id).unwrap();
            let is_this = |form: &&Form| theirs["form"] == form.id && theirs["dtype"] == form.dtype.to_string();
            let form = kernel.forms.iter().find(is_this).unwrap();
            let run = Run::new(&kernel.request(form, [m, n, k])).unwrap();
            assert_eq!(json!(run.stopped), theirs["stopped"], "{name}");
            assert_eq!(run.is_right(), theirs["right"], "{name}");
            let ours = run.hazards.iter().map(|found| native_hazard(&found.hazard, &kernel.file)).collect();
            assert_eq!(places(&sorted(ours)), places(theirs["hazards"].as_array().unwrap()), "{name}");
            if run.stopped.is_none() {
                assert_eq!(json!(named(run.totals(), true)), theirs["totals"], "{name}");
                let lines: BTreeMap<_, _> = run.by_line().map(|(line, counts)| (line, named(counts, false))).collect();
                assert_eq!(json!(lines), theirs["lines"], "{name}");
            }
        }
    }
}
