//! What Nsight Compute read on a GPU, and what the simulator counts for the same PTX.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use common::basics::workspace;
use common::code;
use common::code::assembled::{Assembled, MachineCode};
use course::files;
use explorer::run::pointed;
use serde::Deserialize;
use serde_json::{Map, Value};
use simt::{Arg, Counters, GlobalMemory, LaunchConfig, Module, Work};

use super::launches::Launch;

/// The readings of all steps and counter-examples, within the workspace.
pub const FILE: &str = "docs/results/counters/steps.readings.json";

/// The file as `common/simt/tests/counters/record.py` writes it: what launches share is there once.
#[derive(Deserialize)]
pub struct File {
    pub gpu: String,
    pub driver: String,
    pub tool: String,
    pub date: String,
    /// What all launches have in common, field by field.
    same: Map<String, Value>,
    /// SHA-256 of what [`code_of`] tells, by file and entry.
    kernels: BTreeMap<String, String>,
    /// Names of the metrics, in the order of each reading's values.
    metrics: Vec<String>,
    readings: Vec<Map<String, Value>>,
}

impl File {
    fn reading(&self, fields: &Map<String, Value>) -> Result<Reading> {
        let mut fields: Map<String, Value> = self.same.clone().into_iter().chain(fields.clone()).collect();
        let values: Vec<Option<f64>> = serde_json::from_value(fields.remove("metrics").unwrap_or_default())?;
        let launch: Launch = serde_json::from_value(Value::Object(fields))?;
        let metrics = self.metrics.iter().cloned().zip(values).filter_map(|(name, value)| Some((name, value?)));
        let kernel = format!("{} {}", launch.kernel, launch.entry);
        let kernel_sha256 = self.kernels.get(&kernel).cloned().unwrap_or_default();
        Ok(Reading { launch, kernel_sha256, metrics: metrics.collect() })
    }
}

pub struct Readings {
    pub from: File,
    pub launches: Vec<Reading>,
}

/// What was read for a launch.
#[derive(Clone)]
pub struct Reading {
    pub launch: Launch,
    kernel_sha256: String,
    metrics: BTreeMap<String, f64>,
}

pub struct Compared {
    pub name: &'static str,
    pub simulated: u64,
    pub read: u64,
    /// How far apart the two may be: 0, but for the passes of loads that the assembler leaves out.
    pub slack: u64,
}

impl Compared {
    pub fn agrees(&self) -> bool {
        self.simulated.abs_diff(self.read) <= self.slack
    }
}

pub struct Comparison {
    /// What must be equal.
    pub equal: Vec<Compared>,
    /// The instructions that a bound on the time counts: no more than the GPU's.
    pub bound: Compared,
    /// What differs by its nature: the simulator counts instructions of the PTX, the GPU those of the assembler.
    pub differing: [Compared; 2],
}

/// An entry's code, with what stands before the first entry: other entries, comments and places in the source make no other machine
/// code.
fn code_of(ptx: &str, entry: &str) -> String {
    let mut own = true;
    let mut is_own = |line: &str| {
        if let Some(rest) = line.strip_prefix(".visible .entry ") {
            own = rest.strip_prefix(entry).is_some_and(|rest| rest.starts_with('('));
        }
        own && !["//", ".loc", ".file", "$L__tmp", "$L__func"].iter().any(|start| line.starts_with(start))
    };
    let lines = ptx.split_inclusive('\n').take_while(|line| !line.trim_start().starts_with(".section"));
    lines.filter(|line| is_own(line.trim_start())).collect()
}

impl Readings {
    /// The readings that are kept.
    pub fn read() -> Result<Self> {
        let text = files::read(&workspace::root().join(FILE))?;
        let wrong = || format!("{FILE} has no readings; record them again with common/simt/tests/counters/record.py");
        let file: File = serde_json::from_str(&text).with_context(wrong)?;
        let launches: Vec<Reading> =
            file.readings.iter().map(|fields| file.reading(fields)).collect::<Result<_>>().with_context(wrong)?;
        Ok(Self { from: file, launches })
    }
}

impl Reading {
    /// Runs the launch on the simulator and puts its counts beside the readings.
    pub fn compare(&self) -> Result<Comparison> {
        let launch = &self.launch;
        let path = workspace::root().join(&launch.kernel);
        let ptx = std::fs::read_to_string(&path)
            .with_context(|| format!("{} cannot be read; record the counters again", workspace::display(&path)))?;
        ensure!(
            code::hash(&code_of(&ptx, &launch.entry)) == self.kernel_sha256,
            "the kernel has changed since; record its counters again"
        );
        let kernel = Module::parse(&ptx)?.kernel(&launch.entry)?;
        let mut memory = GlobalMemory::new();
        let mut all = Vec::new();
        for (name, bytes) in ["A", "B", "C", "workspace"].into_iter().zip(launch.bytes) {
            let pointer = memory.alloc(name, bytes.max(4), 4)?;
            memory.fill(pointer, 1.0_f32)?;
            all.push(pointer);
        }
        let arg = |arg: &plan::Arg| match pointed(arg) {
            Ok((array, at)) => Arg::Pointer(all[array].offset(4 * at as i64)),
            Err(value) => Arg::I32(value),
        };
        let args: Vec<Arg> = launch.args.iter().map(arg).collect();
        let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| (x, y, z));
        let mut config = LaunchConfig::new(grid, block);
        config.dynamic_shared_bytes = launch.shared;
        config.shared_opt_in = true;
        let mut counters = Counters::new();
        simt::launch(&kernel, &mut memory, &config, &args, &mut counters)?;
        let counts = counters.total();
        let read = |name: &str| {
            let value = self.metrics.get(name).copied();
            value.map(|value| value as u64).with_context(|| format!("{name} was not read; record the counters again"))
        };
        let global = |kind: &str, op: &str| read(&format!("l1tex__t_{kind}_pipe_lsu_mem_global_op_{op}.sum"));
        let wavefronts = read("memory_l1_wavefronts_shared")?;
        let excess = wavefronts.saturating_sub(read("memory_l1_wavefronts_shared_ideal")?);
        let passes = counts.shared_load_wavefronts + counts.shared_store_wavefronts;
        let fma = read("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")?;
        let compared = |name, simulated, read| Compared { name, simulated, read, slack: 0 };
        // The assembler may leave loads to the lanes that need them, and so to no lane of some warps.
        let loads =
            compared("shared loads", counts.shared_load_requests, read("smsp__inst_executed_op_shared_ld.sum")?);
        let slack = loads.simulated.saturating_sub(loads.read);
        let conflicts = counts.shared_load_bank_conflicts + counts.shared_store_bank_conflicts;
        let folder = Assembled::read(path.parent().unwrap_or(&path));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let machine = folder.files.get(name.as_ref()).and_then(|(_, kernels)| kernels.get(&launch.entry));
        let others = machine.map_or(0.0, MachineCode::others_per_fma);
        let works = counters.works().unwrap_or_default();
        let issued = |(work, blocks): (Work, u64)| blocks as f64 * (work.issued as f64 + others * work.fma as f64);
        let issued = works.kinds().map(issued).sum::<f64>() as u64;
        Ok(Comparison {
            bound: compared("instructions of the bound", issued, read("smsp__inst_executed.sum")?),
            equal: vec![
                compared("FMA", counts.fma_threads, fma),
                compared("load requests", counts.global_load_requests, global("requests", "ld")?),
                compared("load sectors", counts.global_load_sectors, global("sectors", "ld")?),
                compared("store requests", counts.global_store_requests, global("requests", "st")?),
                compared("store sectors", counts.global_store_sectors, global("sectors", "st")?),
                Compared { slack, ..compared("wavefronts", passes, wavefronts) },
                compared("excess wavefronts", conflicts, excess),
            ],
            differing: [compared("instructions", counts.instructions, read("smsp__inst_executed.sum")?), loads],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smallest() -> Reading {
        let readings = Readings::read().unwrap().launches;
        readings.into_iter().min_by_key(|reading| reading.launch.bytes).unwrap()
    }

    #[test]
    fn the_simulator_counts_what_was_read() {
        let compared = smallest().compare().unwrap();
        assert_eq!(compared.equal.len(), 7);
        assert!(compared.equal.iter().all(Compared::agrees));
    }

    #[test]
    fn a_changed_reading_differs_and_a_changed_kernel_is_refused() {
        let mut reading = smallest();
        let fma = reading.metrics.get_mut("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum").unwrap();
        *fma += 1.0;
        let compared = reading.compare().unwrap();
        let wrong: Vec<&str> = compared.equal.iter().filter(|count| !count.agrees()).map(|count| count.name).collect();
        assert_eq!(wrong, ["FMA"]);
        reading.kernel_sha256 = "0".repeat(64);
        let Err(error) = reading.compare() else { panic!("another kernel is accepted") };
        assert!(error.to_string().contains("has changed since"), "{error}");
    }
}
