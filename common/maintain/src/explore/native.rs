//! Every run that the page can show, as the simulator counts it by itself: what the page is compared with in a browser.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use course::explore::data::{Data, Form, Kernel};
use explorer::instructions::own_line;
use explorer::matrices::{self, UNWRITTEN, UNWRITTEN_F32};
use plan::{Arg as Argument, Dtype, Fill};
use serde::Serialize;
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

/// All runs.
#[derive(Debug, Serialize)]
pub struct Native {
    pub runs: Vec<NativeRun>,
}

/// One run.
#[derive(Debug, Serialize)]
pub struct NativeRun {
    pub kernel: String,
    pub form: String,
    pub dtype: String,
    pub m: u32,
    pub n: u32,
    pub k: u32,
    pub fill: &'static str,
    pub totals: BTreeMap<String, u64>,
    pub lines: BTreeMap<String, BTreeMap<String, u64>>,
    pub right: bool,
    pub stopped: Option<String>,
    pub hazards: Vec<NativeHazard>,
}

/// A hazard.
#[derive(Debug, Serialize)]
pub struct NativeHazard {
    pub kind: &'static str,
    pub place: String,
    pub count: u64,
    pub text: String,
    pub parties: Vec<NativeParty>,
}

/// One side of a hazard.
#[derive(Debug, Serialize)]
pub struct NativeParty {
    pub block: [u32; 3],
    pub thread: [u32; 3],
    pub action: String,
    pub line: Option<u32>,
}

/// Runs everything.
pub fn native(data: &Data) -> Result<Native> {
    let mut runs = vec![];
    for kernel in &data.kernels {
        for form in &kernel.forms {
            let sizes = SIZES.into_iter().filter(|&size| form.plan(size, &kernel.source).is_some()).take(RUNS);
            for size in sizes {
                runs.push(
                    run(kernel, form, size).with_context(|| format!("{} as {} at {size:?}", kernel.id, form.id))?,
                );
            }
        }
    }
    Ok(Native { runs })
}

/// Counts by name, those that are not zero.
fn named(counts: &Counts, all: bool) -> BTreeMap<String, u64> {
    let entries = counts.entries().into_iter().filter(|&(_, count)| all || count > 0);
    entries.map(|(name, count)| (name.to_owned(), count)).collect()
}

fn run(kernel: &Kernel, form: &Form, size: [u32; 3]) -> Result<NativeRun> {
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
    let mut written = vec![];
    for launch in &plan.launches {
        let mut hazards = Hazards::new();
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
            if array == 2 || array == 3 && !written.contains(&array) {
                hazards = hazards.output(pointers[array]);
                written.push(array);
            }
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
    found.sort_by(|one, other| (one.kind, &one.place, &one.text).cmp(&(other.kind, &other.place, &other.text)));
    Ok(NativeRun {
        kernel: kernel.id.clone(),
        form: form.id.clone(),
        dtype: form.dtype.to_string(),
        m,
        n,
        k,
        fill: "uniform",
        totals: named(&total, true),
        lines: lines.iter().map(|(line, counts)| (line.clone(), named(counts, false))).collect(),
        right: equal && stopped.is_none(),
        stopped,
        hazards: found,
    })
}

fn native_hazard(hazard: &Hazard, file: &str) -> NativeHazard {
    let party = |party: &simt::Party| NativeParty {
        block: [party.block.x, party.block.y, party.block.z],
        thread: [party.thread.x, party.thread.y, party.thread.z],
        action: party.action.to_string(),
        line: own_line(&party.location, file),
    };
    NativeHazard {
        kind: hazard.kind.name(),
        place: hazard.place.to_string(),
        count: hazard.count,
        text: hazard.to_string(),
        parties: hazard.parties.iter().map(party).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs;
    use course::explore::contents;
    use explorer::run::Run;
    use std::collections::BTreeSet;

    fn data() -> Data {
        contents::of_book().unwrap()
    }

    fn hazards(of: &[NativeHazard]) -> Vec<(&str, &str, &str)> {
        of.iter().map(|hazard| (hazard.kind, hazard.place.as_str(), hazard.text.as_str())).collect()
    }

    /// The recorder counts instruction by instruction, the simulator by itself basic block by basic block.
    #[test]
    fn what_is_recorded_counts_what_the_simulator_counts() {
        let data = data();
        let native = native(&data).unwrap();
        assert!(native.runs.len() > 100, "{}", native.runs.len());
        for theirs in &native.runs {
            let name = format!(
                "{} as {} {} at {}x{}x{}",
                theirs.kernel, theirs.form, theirs.dtype, theirs.m, theirs.n, theirs.k
            );
            let kernel = data.kernels.iter().find(|kernel| kernel.id == theirs.kernel).unwrap();
            let form = kernel
                .forms
                .iter()
                .find(|form| form.id == theirs.form && form.dtype.to_string() == theirs.dtype)
                .unwrap();
            let run = Run::new(&kernel.request(form, [theirs.m, theirs.n, theirs.k])).unwrap();
            assert_eq!(run.stopped, theirs.stopped, "{name}");
            let c = run.tape.end.arrays[explorer::run::C].to_vec();
            assert_eq!(run.wrong(&c).next().is_none() && run.stopped.is_none(), theirs.right, "{name}");
            let mut ours: Vec<NativeHazard> =
                run.hazards.iter().map(|found| native_hazard(&found.hazard, &kernel.file)).collect();
            ours.sort_by(|one, other| (one.kind, &one.place, &one.text).cmp(&(other.kind, &other.place, &other.text)));
            assert_eq!(hazards(&ours), hazards(&theirs.hazards), "{name}");
            if run.stopped.is_none() {
                assert_eq!(named(run.totals(), true), theirs.totals, "{name}");
                let lines = run.tape.keys.names.iter().zip(&run.tape.end.lines);
                let lines = lines.filter(|(_, counts)| **counts != Counts::default());
                let lines: BTreeMap<_, _> = lines.map(|(line, counts)| (line.clone(), named(counts, false))).collect();
                assert_eq!(lines, theirs.lines, "{name}");
            }
        }
    }

    /// What a step's program prints with `--counters` is what the page shows.
    #[test]
    fn the_page_shows_what_the_programs_print() {
        let native = native(&data()).unwrap();
        let mut compared = BTreeSet::new();
        for ours in native.runs.iter().filter(|run| run.dtype == "f32" && run.stopped.is_none()) {
            let (_, variant) = course::steps::split(&ours.kernel);
            let size = format!("{}x{}x{}", ours.m, ours.n, ours.k);
            // The course's own tiling for this size; others are not run by its programs.
            let others = ours.form.starts_with("small") || ours.n > explorer::planner::LARGEST;
            if others {
                continue;
            }
            let mut arguments = vec!["--size", &size];
            if let Some(variant) = variant {
                arguments.extend(["--variant", variant]);
            }
            let report =
                programs::json(course::steps::Kernel::named(&ours.kernel).unwrap().package(), &arguments).unwrap();
            for (name, count) in &ours.totals {
                assert_eq!(report["counters"][name].as_u64(), Some(*count), "{name} of {} at {size}", ours.kernel);
            }
            compared.insert(&ours.kernel);
        }
        assert!(compared.len() > 25, "{compared:?}");
    }
}
