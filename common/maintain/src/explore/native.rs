//! Every run that the page can show, as the simulator counts it by itself: what the page is compared with in a browser.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use course::explore::data::{Data, Form, Kernel};
use explorer::instructions::own_line;
use explorer::matrices::{self, UNWRITTEN, UNWRITTEN_F32};
use plan::{Arg as Argument, Dtype, Fill};
use serde_json::{Value, json};
use simt::analyses::declarations::shared_extents;
use simt::{Arg, Counters, Counts, Error, GlobalMemory, Hazard, Hazards, LaunchConfig, Module};

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
/// Runs of a form.
const RUNS: usize = 3;

/// Runs everything.
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
    let [m, n, k] = size;
    let dtype = form.dtype;
    let plan = form.plan(size, &kernel.source).context("the form does not run this size")?;
    let (a, b) =
        (matrices::elements(1, m * k, dtype, Fill::Uniform), matrices::elements(2, k * n, dtype, Fill::Uniform));
    let expected = matrices::product(&a, &b, size, dtype);
    let unwritten = if dtype == Dtype::F32 { UNWRITTEN_F32 } else { UNWRITTEN };
    let mut memory = GlobalMemory::new();
    let mut pointers = vec![];
    let workspace = vec![unwritten; plan.workspace_elements as usize];
    for (name, words) in [("A", a), ("B", b), ("C", vec![unwritten; expected.len()]), ("workspace", workspace)] {
        let pointer = memory.alloc(name, (4 * words.len() as u64).max(4), 4)?;
        memory.upload(pointer, 0, &words)?;
        pointers.push(pointer);
    }
    let module = Module::parse(&form.ptx)?;
    let defines = &plan.specialisation.defines;
    let constants: Vec<(&str, i64)> =
        defines.iter().filter_map(|(name, value)| Some((name.as_str(), value.parse().ok()?))).collect();
    let extents = shared_extents(&kernel.source, &constants);
    let (mut total, mut lines, mut found, mut stopped) =
        (Counts::default(), BTreeMap::<String, Counts>::new(), vec![], None);
    for (number, launch) in plan.launches.iter().enumerate() {
        let mut hazards = Hazards::new();
        for (pointer, all) in pointers[2..].iter().zip(plan.must_write(number)) {
            if all {
                hazards = hazards.output(*pointer);
            }
        }
        for (name, known) in &extents {
            hazards = hazards.extents(name, known.clone());
        }
        let mut args = vec![];
        for argument in &launch.args {
            let (array, offset) = match *argument {
                Argument::A(offset) => (0, offset),
                Argument::B(offset) => (1, offset),
                Argument::C(offset) => (2, offset),
                Argument::Workspace(offset) => (3, offset),
                Argument::Int(value) => {
                    args.push(Arg::U32(value as u32));
                    continue;
                }
            };
            args.push(Arg::Pointer(pointers[array].offset(offset as i64 * 4)));
        }
        let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| (x, y, z));
        let config = LaunchConfig {
            dynamic_shared_bytes: launch.shared_bytes,
            shared_opt_in: true,
            instruction_limit: explorer::run::LIMIT,
            ..LaunchConfig::new(grid, block)
        };
        let code = module.kernel(&launch.entry)?;
        let mut analyses = (Counters::new(), hazards);
        let outcome = simt::launch(&code, &mut memory, &config, &args, &mut analyses);
        let (counters, hazards) = &analyses;
        total += &counters.total();
        let files: BTreeMap<u32, &str> = module.source_files().collect();
        for ((file, line), counts) in counters.lines() {
            let file = files.get(&file).map_or("", |file| explorer::instructions::file_name(file));
            let own = file == explorer::instructions::file_name(&kernel.file) || file.is_empty();
            let name = if own { line.to_string() } else { format!("{file}:{line}") };
            *lines.entry(name).or_default() += &counts;
        }
        let failed = match outcome {
            Ok(_) => None,
            Err(error @ (Error::Fault(_) | Error::Limit(_))) => Some(error.to_string()),
            Err(error) => return Err(error.into()),
        };
        let counts = |hazard: &Hazard| failed.is_none() || !hazard.kind.is_coverage();
        found.extend(hazards.found().into_iter().filter(counts).map(|hazard| native_hazard(&hazard, &kernel.file)));
        if failed.is_some() {
            stopped = failed;
            break;
        }
    }
    let mut c = vec![0_u32; expected.len()];
    memory.download(pointers[2], 0, &mut c)?;
    let equal = c.iter().zip(&expected).all(|(&value, &expected)| matrices::equal(value, expected, dtype));
    let lines: BTreeMap<&String, _> = lines.iter().map(|(line, counts)| (line, named(counts, false))).collect();
    Ok(json!({
        "kernel": kernel.id,
        "form": form.id,
        "dtype": form.dtype.to_string(),
        "m": m,
        "n": n,
        "k": k,
        "fill": "uniform",
        "totals": named(&total, true),
        "lines": lines,
        "right": equal && stopped.is_none(),
        "stopped": stopped,
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

    /// The recorder counts instruction by instruction, the simulator by itself basic block by basic block. All other kernels are compared
    /// in a browser.
    #[test]
    fn what_is_recorded_counts_what_the_simulator_counts() {
        let mut data = contents::of_book().unwrap();
        data.kernels
            .retain(|kernel| ["step04_tiled", "step06_prefetch"].iter().any(|step| kernel.id.starts_with(step)));
        let runs = native(&data).unwrap();
        assert!(runs.len() > 30, "{}", runs.len());
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
            let c = run.tape.end.arrays[explorer::run::C].to_vec();
            assert_eq!(run.wrong(&c).next().is_none() && run.stopped.is_none(), theirs["right"], "{name}");
            let ours = run.hazards.iter().map(|found| native_hazard(&found.hazard, &kernel.file)).collect();
            assert_eq!(places(&sorted(ours)), places(theirs["hazards"].as_array().unwrap()), "{name}");
            if run.stopped.is_none() {
                assert_eq!(json!(named(run.totals(), true)), theirs["totals"], "{name}");
                let lines = run.tape.keys.names.iter().zip(&run.tape.end.lines);
                let lines = lines.filter(|(_, counts)| **counts != Counts::default());
                let lines: BTreeMap<_, _> = lines.map(|(line, counts)| (line, named(counts, false))).collect();
                assert_eq!(json!(lines), theirs["lines"], "{name}");
            }
        }
    }
}
