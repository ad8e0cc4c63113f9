//! The simulator's counters beside those that Nsight Compute read on a GPU for the same PTX.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use common::analysis::grouped;
use common::{code, report, workspace};
use serde::Deserialize;
use serde_json::{Map, Value};
use simt::{Arg, Counters, Counts, GlobalMemory, LaunchConfig, Module};
use std::collections::BTreeMap;

use crate::launches::{FOLDER, RecordedLaunch};

/// Options of `cargo course counters`.
#[derive(clap::Args)]
pub struct Options {
    /// Write nothing; exit with 1 where a count differs, a reading is outdated or the book's page is stale
    #[arg(long)]
    check: bool,
}

/// What `common/simt/tests/counters/record.py` wrote.
#[derive(Deserialize)]
struct Record {
    gpu: String,
    driver: String,
    tool: String,
    date: String,
    /// What all launches have in common, field by field.
    same: Map<String, Value>,
    /// SHA-256 of the kernels, by their files.
    kernels: BTreeMap<String, String>,
    /// Names of the metrics, in the order of each reading's values.
    metrics: Vec<String>,
    readings: Vec<Map<String, Value>>,
}

struct Reading {
    launch: RecordedLaunch,
    kernel_sha256: String,
    metrics: BTreeMap<String, f64>,
}

impl Record {
    fn reading(&self, fields: &Map<String, Value>) -> Result<Reading> {
        let mut fields: Map<String, Value> = self.same.clone().into_iter().chain(fields.clone()).collect();
        let values: Vec<Option<f64>> = serde_json::from_value(fields.remove("metrics").unwrap_or_default())?;
        let launch: RecordedLaunch = serde_json::from_value(Value::Object(fields))?;
        Ok(Reading {
            kernel_sha256: self.kernels.get(&launch.kernel).cloned().unwrap_or_default(),
            launch,
            metrics: self
                .metrics
                .iter()
                .cloned()
                .zip(values)
                .filter_map(|(name, value)| Some((name, value?)))
                .collect(),
        })
    }
}

/// A count on both sides.
struct Compared {
    name: &'static str,
    simulated: u64,
    read: u64,
}

/// The page of the book that shows both.
const PAGE: &str = "docs/src/counters-h100.md";

/// Runs the command; `false` where something differs.
pub fn run(options: &Options) -> Result<bool> {
    let folder = workspace::root().join(FOLDER);
    let path = folder.join("steps.readings.json");
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!(
            "{} cannot be read; record it on a GPU with common/simt/tests/counters/record.py",
            workspace::display(&path)
        )
    })?;
    let no_record = || format!("{} is not a record of counters; record it again", workspace::display(&path));
    let record: Record = serde_json::from_str(&text).with_context(no_record)?;
    let mut problems = Vec::new();
    let mut rows = String::new();
    for fields in &record.readings {
        let reading = &record.reading(fields).with_context(no_record)?;
        let (counts, compared) = match compare(&folder, reading) {
            Ok(both) => both,
            Err(error) => {
                problems.push(format!("{}: {error:#}", reading.launch.name));
                continue;
            }
        };
        for Compared { name, simulated, read } in &compared {
            if simulated == read {
                continue;
            }
            problems.push(format!("{}: {name} is {simulated}, the hardware read {read}", reading.launch.name));
        }
        let _ = writeln!(rows, "{}", row(reading, &counts, &compared));
    }
    let page = page(&record, &rows);
    let file = workspace::root().join(PAGE);
    let stale = std::fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n") != page;
    if stale && options.check {
        problems.push(format!("{PAGE} is stale; make it anew with cargo course counters"));
    } else if stale {
        std::fs::write(&file, &page).with_context(|| format!("{PAGE} cannot be written; free some room"))?;
    }
    for problem in &problems {
        report::print(&format!("{problem}\n"))?;
    }
    report::print(&format!(
        "{} launches compared with {} (driver {}, {}): {}\n",
        record.readings.len(),
        record.gpu,
        record.driver,
        record.date,
        match problems.len() {
            0 => "all equal".to_owned(),
            problems => format!("{problems} differences"),
        }
    ))?;
    Ok(problems.is_empty())
}

fn compare(folder: &Path, reading: &Reading) -> Result<(Counts, Vec<Compared>)> {
    let launch = &reading.launch;
    let ptx = std::fs::read_to_string(folder.join(&launch.kernel))
        .with_context(|| format!("{} cannot be read; record the counters anew", launch.kernel))?;
    ensure!(code::hash(&ptx) == reading.kernel_sha256, "the kernel has changed since; record its counters anew");
    let kernel = Module::parse(&ptx)?.kernel("matmul")?;
    let mut memory = GlobalMemory::new();
    let mut args = Vec::new();
    for (name, bytes) in ["A", "B", "C"].into_iter().zip(launch.bytes) {
        args.push(Arg::Pointer(memory.alloc(name, bytes, 4)?));
    }
    args.extend([launch.m, launch.n, launch.k].map(|size| Arg::U32(size as u32)));
    let mut config = LaunchConfig::new(triple(launch.grid), triple(launch.block));
    config.dynamic_shared_bytes = launch.shared;
    config.shared_opt_in = true;
    let mut counters = Counters::new();
    simt::launch(&kernel, &mut memory, &config, &args, &mut counters)?;
    let counts = counters.total();
    let read = |name: &str| {
        let value = reading.metrics.get(name).copied();
        value.map(|value| value as u64).with_context(|| format!("{name} was not read; record the counters anew"))
    };
    let global = |kind: &str, op: &str| read(&format!("l1tex__t_{kind}_pipe_lsu_mem_global_op_{op}.sum"));
    let excess = read("memory_l1_wavefronts_shared")?.saturating_sub(read("memory_l1_wavefronts_shared_ideal")?);
    let fma = read("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")?;
    let compared = [
        ("FMA", counts.fma_threads, fma),
        ("load requests", counts.global_load_requests, global("requests", "ld")?),
        ("load sectors", counts.global_load_sectors, global("sectors", "ld")?),
        ("store requests", counts.global_store_requests, global("requests", "st")?),
        ("store sectors", counts.global_store_sectors, global("sectors", "st")?),
        ("excess wavefronts", counts.shared_load_bank_conflicts + counts.shared_store_bank_conflicts, excess),
    ];
    let compared = compared.into_iter().map(|(name, simulated, read)| Compared { name, simulated, read }).collect();
    Ok((counts, compared))
}

fn triple([x, y, z]: [u32; 3]) -> (u32, u32, u32) {
    (x, y, z)
}

/// A row of the page: a count where both sides agree, else both; instructions, which differ, as both.
fn row(reading: &Reading, counts: &Counts, compared: &[Compared]) -> String {
    let mut row = format!("| {} |", reading.launch.name);
    for Compared { simulated, read, .. } in compared {
        if simulated == read {
            let _ = write!(row, " {} |", grouped(*read));
        } else {
            let _ = write!(row, " **{} / {}** |", grouped(*simulated), grouped(*read));
        }
    }
    let read = |name: &str| reading.metrics.get(name).map_or(0, |&value| value as u64);
    let _ = write!(row, " {} / {} |", grouped(counts.instructions), grouped(read("smsp__inst_executed.sum")));
    let shared = counts.shared_load_requests;
    let _ = write!(row, " {} / {} |", grouped(shared), grouped(read("smsp__inst_executed_op_shared_ld.sum")));
    row
}

fn page(record: &Record, rows: &str) -> String {
    let Record { gpu, driver, tool, date, .. } = record;
    format!(
        "# The simulator's counters and a GPU's\n\n\
         <!-- made by `cargo course counters` from docs/results/counters/steps.readings.json -->\n\n\
         Every step and counter-example was run from its committed PTX on an {gpu} (driver {driver}, {date}) under {tool}, and\n\
         on the simulator. A single number stands where both sides counted the same; where they did not, the simulator's number\n\
         stands first, in bold. A test holds the simulator to these readings.\n\n\
         The last two columns always show both sides, for there the two count different things: the simulator counts the\n\
         instructions of the PTX, the GPU those that the assembler made of them. The assembler merges neighbouring loads of\n\
         shared memory into wider ones, unrolls loops, and turns short branches into predicates. Requests to and sectors of global\n\
         memory, multiply-adds, and wavefronts beyond the ideal are not changed by any of that.\n\n\
         **A trap.** Step 6 copies through the first-level cache, `cp.async.ca`. An earlier one went past it, `cp.async.cg`, and its\n\
         shared wavefronts could not be foretold: the tool read different numbers for kernels that made the same copies. The listing by\n\
         instruction showed why. Where the assembler happened to keep the condition of such a copy (is this place inside the matrix?) in\n\
         its first predicate register, P0, this version of the tool takes it for false, whatever it is, and the negated one for true. In\n\
         any other register it is read rightly, and the simulator counts the same. The GPU itself did the same in all cases, no slower\n\
         through the cache than past it. `common/simt/tests/counters` has the readings; a test keeps them.\n\n\
         | launch (M×N×K) | FMA of threads | global load requests | global load sectors | global store requests | global store sectors | excess shared wavefronts | instructions, simulated / GPU | shared loads, simulated / GPU |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n{rows}"
    )
}
