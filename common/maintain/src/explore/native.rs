//! Every run that the page can show, as the simulator counts it by itself: what the page is compared with in a browser.

use std::collections::BTreeMap;

use anyhow::{Context, Error, Result};
use course::explore::data::{Data, Form, Kernel};
use explorer::answer::counts as named;
use explorer::instructions::{file_name, own_line};
use explorer::request::Order;
use explorer::run::{Setup, counts, stopped};
use serde_json::{Value, json};
use simt::{Analyses, Counters, Counts, Hazard, Party};

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
    let run = |(kernel, form, size): (&Kernel, &Form, [u32; 3])| {
        run(kernel, form, size).with_context(|| format!("{} as {} at {size:?}", kernel.id, form.id))
    };
    runs(data).map(run).collect()
}

fn runs(data: &Data) -> impl Iterator<Item = (&Kernel, &Form, [u32; 3])> {
    let forms = data.kernels.iter().flat_map(|kernel| kernel.forms.iter().map(move |form| (kernel, form)));
    forms.flat_map(|(kernel, form)| {
        let sizes = SIZES.into_iter().filter(|&size| form.plan(size, &kernel.source).is_some()).take(RUNS);
        sizes.map(move |size| (kernel, form, size))
    })
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
        found.extend(hazards.found().into_iter().filter(|hazard| counts(hazard, failed.as_ref())));
        if failed.is_some() {
            break;
        }
    }
    let right = failed.is_none() && setup.is_right(&memory)?;
    Ok(told((kernel, form, size), (right, failed), (&total, lines.iter()), found.iter()))
}

/// A run as the browser's test reads it.
fn told<'a>(
    (kernel, form, [m, n, k]): (&Kernel, &Form, [u32; 3]),
    (right, stopped): (bool, Option<String>),
    (total, lines): (&Counts, impl Iterator<Item = (&'a String, &'a Counts)>),
    hazards: impl Iterator<Item = &'a Hazard>,
) -> Value {
    let party = |party: &Party| {
        json!({
            "block": [party.block.x, party.block.y, party.block.z],
            "thread": [party.thread.x, party.thread.y, party.thread.z],
            "action": party.action.to_string(),
            "line": own_line(&party.location, &kernel.file),
        })
    };
    let hazard = |hazard: &Hazard| {
        json!({
            "kind": hazard.kind.name(),
            "place": hazard.place.to_string(),
            "count": hazard.count,
            "parties": hazard.parties.iter().map(party).collect::<Value>(),
        })
    };
    let mut hazards: Vec<Value> = hazards.map(hazard).collect();
    hazards.sort_by_key(Value::to_string);
    let lines: BTreeMap<&String, Value> = lines.map(|(line, counts)| (line, named(counts, false))).collect();
    json!({
        "kernel": kernel.id, "form": form.id, "dtype": form.dtype.to_string(), "m": m, "n": n, "k": k,
        "totals": named(total, true), "lines": lines, "right": right, "stopped": stopped, "hazards": hazards,
    })
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
        assert!(runs(&data).count() > more_than);
        for (kernel, form, size) in runs(&data) {
            let run = Run::new(&kernel.request(form, size)).unwrap();
            let hazards = run.hazards.iter().map(|found| &found.hazard);
            let outcome = (run.is_right(), run.stopped.clone());
            let ours = told((kernel, form, size), outcome, (run.totals(), run.by_line()), hazards);
            let mut both = [ours, super::run(kernel, form, size).unwrap()];
            if run.stopped.is_some() {
                // The simulator counts to the end of a basic block.
                for run in &mut both {
                    (run["totals"], run["lines"]) = (Value::Null, Value::Null);
                }
            }
            assert_eq!(both[0], both[1], "{} as {} at {size:?}", kernel.id, form.id);
        }
    }
}
