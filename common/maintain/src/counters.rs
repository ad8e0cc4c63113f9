//! `cargo x counters`: compares the simulator's counters with those that Nsight Compute read on a GPU for the same PTX.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Error, Result, ensure};
use common::basics::{packed, print, workspace};
use common::code::assembled::{Assembled, MachineCode};
use common::code::{self, Source};
use common::program::cli::parse_size;
use course::files;
use course::steps::Kernel;
use plan::{DeviceInfo, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use simt::{Arg, Counters, GlobalMemory, LaunchConfig, Module, Work};

#[derive(clap::Args, Default)]
pub struct Options {
    /// Compare nothing, but write the list of launches that are to be read on a GPU (with
    /// common/simt/tests/counters/record.py)
    #[arg(long, value_name = "FILE")]
    launches: Option<PathBuf>,
}

/// Runs the command. Returns `false` if a count differs or a reading is outdated.
pub fn run(options: &Options) -> Result<bool> {
    if let Some(file) = &options.launches {
        // A launch takes a line, for `record.py`.
        let launches = list()?;
        let lines: Vec<String> = launches.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
        files::write(file, format!("[\n{}\n]\n", lines.join(",\n")))?;
        return print(&format!("{} launches in {}\n", launches.len(), file.display())).map(|()| true);
    }
    let (File { gpu, driver, date, .. }, launches) = read()?;
    let mut problems = vec![];
    for reading in &launches {
        let name = &reading.launch.name;
        match reading.compare() {
            Ok(compared) => problems.extend(compared.iter().filter(|count| !count.agrees()).map(|count| {
                format!("{name}: {} is {}, and the GPU counted {}\n", count.name, count.simulated, count.read)
            })),
            Err(error) => problems.push(format!("{name}: {error:#}\n")),
        }
    }
    let (text, ok, count) = (problems.concat(), problems.is_empty(), launches.len());
    let verdict = if ok { "all agree".to_owned() } else { format!("{} differences", problems.len()) };
    print(&format!("{text}{count} launches compared with {gpu} (driver {driver}, {date}): {verdict}\n"))?;
    Ok(ok)
}

/// The readings of all steps and counter-examples, relative to the workspace.
pub const FILE: &str = "docs/results/counters/steps.readings.json.gz";

/// The file as `common/simt/tests/counters/record.py` writes it. Fields with the same value in all launches are written once.
#[derive(Deserialize)]
pub struct File {
    pub gpu: String,
    pub driver: String,
    pub tool: String,
    pub date: String,
    /// The fields that are the same for all launches.
    same: Map<String, Value>,
    /// SHA-256 of the text that [`code_of`] returns, by file and entry.
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
        let kernel = format!("{} {}", launch.kernel, launch.planned.entry);
        let kernel_sha256 = self.kernels.get(&kernel).cloned().unwrap_or_default();
        Ok(Reading { launch, kernel_sha256, metrics: metrics.collect() })
    }
}

/// The metrics that were read for a launch.
#[derive(Clone)]
pub struct Reading {
    pub launch: Launch,
    kernel_sha256: String,
    metrics: BTreeMap<String, f64>,
}

/// A count of a launch, as simulated and as read on the GPU.
pub struct Compared {
    pub name: &'static str,
    pub simulated: u64,
    pub read: u64,
    /// How far the simulated count may be above the count that was read, and below it.
    pub slack: [u64; 2],
}

impl Compared {
    pub fn agrees(&self) -> bool {
        self.simulated <= self.read.saturating_add(self.slack[0])
            && self.read <= self.simulated.saturating_add(self.slack[1])
    }
}

/// An entry's code and everything before the first entry. Other entries, comments and places in the source are left out, because
/// they do not change the machine code.
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

/// The committed readings, and where they are from.
pub fn read() -> Result<(File, Vec<Reading>)> {
    let path = workspace::root().join(FILE);
    let text = packed::read(&path).with_context(|| format!("{FILE} cannot be read; restore it with git"))?;
    let wrong = || format!("{FILE} has no readings; record them again with common/simt/tests/counters/record.py");
    let file: File = serde_json::from_str(&text).with_context(wrong)?;
    let launches: Result<_> = file.readings.iter().map(|fields| file.reading(fields)).collect();
    launches.with_context(wrong).map(|launches| (file, launches))
}

impl Reading {
    /// Runs the launch on the simulator and pairs its counts with the readings. First come the counts that must be equal, then the
    /// instructions of the bound on the time, which may not exceed the GPU's. Last come instructions and shared loads, which always
    /// differ, because the simulator counts those of the PTX and the GPU those of the assembler.
    pub fn compare(&self) -> Result<Vec<Compared>> {
        let Launch { kernel, planned: launch, bytes, .. } = &self.launch;
        let path = workspace::root().join(kernel);
        let ptx = packed::read(&packed::place(&path))
            .with_context(|| format!("{} cannot be read; record the counters again", workspace::display(&path)))?;
        let hash = code::hash(&code_of(&ptx, &launch.entry));
        ensure!(hash == self.kernel_sha256, "the kernel has changed since; record its counters again");
        let kernel = Module::parse(&ptx)?.kernel(&launch.entry)?;
        let mut memory = GlobalMemory::new();
        let mut all = Vec::new();
        for (name, bytes) in ["A", "B", "C", "workspace"].into_iter().zip(*bytes) {
            let pointer = memory.alloc(name, bytes.max(4), 4)?;
            memory.fill(pointer, 1.0_f32)?;
            all.push(pointer);
        }
        let pointer = |array: usize, at: u64| Arg::Pointer(all[array].offset(4 * at as i64));
        let arg = |arg: &plan::Arg| arg.either(pointer, Arg::I32);
        let args: Vec<Arg> = launch.args.iter().map(arg).collect();
        let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| (x, y, z));
        let config = LaunchConfig::new(grid, block).with_dynamic_shared(launch.shared_bytes);
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
        let compared = |name, simulated, read, slack| Compared { name, simulated, read, slack };
        let equal = |name, simulated, read| compared(name, simulated, read, [0; 2]);
        // The assembler may restrict loads to the lanes that need them; a warp with no such lane has no load and no passes.
        let loads = read("smsp__inst_executed_op_shared_ld.sum")?;
        let idle = counts.shared_load_requests.saturating_sub(loads);
        let executed = read("smsp__inst_executed.sum")?;
        let conflicts = counts.shared_load_bank_conflicts + counts.shared_store_bank_conflicts;
        let folder = Assembled::read(path.parent().unwrap_or(&path));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let machine = folder.files.get(name.as_ref()).and_then(|(_, kernels)| kernels.get(&launch.entry));
        let others = machine.map_or(0.0, MachineCode::others_per_fma);
        let works = counters.works().unwrap_or_default();
        let issued = |(work, blocks): (Work, u64)| blocks as f64 * (work.issued as f64 + others * work.fma as f64);
        let issued = works.kinds().map(issued).sum::<f64>() as u64;
        Ok(vec![
            equal("FMA", counts.fma_threads, fma),
            equal("load requests", counts.global_load_requests, global("requests", "ld")?),
            equal("load sectors", counts.global_load_sectors, global("sectors", "ld")?),
            equal("store requests", counts.global_store_requests, global("requests", "st")?),
            equal("store sectors", counts.global_store_sectors, global("sectors", "st")?),
            compared("wavefronts", passes, wavefronts, [idle; 2]),
            equal("excess wavefronts", conflicts, excess),
            compared("instructions of the bound", issued, executed, [0, u64::MAX]),
            compared("instructions", counts.instructions, executed, [u64::MAX; 2]),
            compared("shared loads", counts.shared_load_requests, loads, [u64::MAX; 2]),
        ])
    }
}

/// Kernels with their sizes; the head of the file says how they are chosen.
const LIST: &str = include_str!("counters/launches.txt");

/// One launch, in the form that `common/simt/tests/counters/record.py` reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Step, variant and size.
    pub name: String,
    /// The committed PTX, relative to the workspace.
    pub kernel: String,
    #[serde(flatten)]
    pub planned: plan::Launch,
    /// Bytes of A, B, C and the workspace.
    pub bytes: [u64; 4],
}

fn list() -> Result<Vec<Launch>> {
    let mut launches = Vec::new();
    for line in LIST.lines().filter(|line| !line.starts_with('#')) {
        let (name, sizes) = line.split_once(' ').unwrap_or((line, ""));
        for size in sizes.split(' ') {
            launches.extend(of_kernel(Kernel::named(name)?, parse_size(size).map_err(Error::msg)?)?);
        }
    }
    Ok(launches)
}

fn of_kernel(kernel: Kernel, size: [u64; 3]) -> Result<Vec<Launch>> {
    let problem = Problem::uniform(size);
    let plan = kernel.plan(&problem, &DeviceInfo::simulated(u64::MAX))?;
    let source = Source::read(&kernel.file())?;
    let file = source.committed_folder().unwrap_or_default().join(source.committed_name(&plan.specialisation));
    let variant = kernel.variant_name().map(|variant| format!(" {variant}")).unwrap_or_default();
    let elements = [problem.a_elements(), problem.b_elements(), problem.c_elements(), plan.workspace_elements];
    let launch = |planned: plan::Launch| {
        let part = if planned.entry == "matmul" { String::new() } else { format!(" {}", planned.entry) };
        let name = format!("{}{variant}{part} {}", kernel.step.name, size.map(|edge| edge.to_string()).join("x"));
        Launch { name, kernel: workspace::display(&file), planned, bytes: elements.map(|count| count * 4) }
    };
    Ok(plan.launches.into_iter().map(launch).collect())
}

#[cfg(test)]
mod tests {
    use course::steps::{Role, STEPS};

    use super::*;

    #[test]
    fn the_simulator_counts_what_was_read_and_a_changed_reading_differs_and_a_changed_kernel_is_refused() {
        let (_, readings) = read().unwrap();
        let mut reading = readings.into_iter().min_by_key(|reading| reading.launch.bytes).unwrap();
        let wrong = |reading: &Reading| -> Vec<&str> {
            let compared = reading.compare().unwrap().into_iter();
            compared.filter(|count| !count.agrees()).map(|count| count.name).collect()
        };
        assert_eq!(wrong(&reading), [""; 0]);
        *reading.metrics.get_mut("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum").unwrap() += 1.0;
        *reading.metrics.get_mut("smsp__inst_executed.sum").unwrap() = 1.0;
        assert_eq!(wrong(&reading), ["FMA", "instructions of the bound"]);
        reading.kernel_sha256 = "0".repeat(64);
        let Err(error) = reading.compare() else { panic!("another kernel is accepted") };
        assert!(error.to_string().contains("has changed since"), "{error}");
    }

    #[test]
    fn every_kernel_has_launches_and_every_launch_has_a_committed_kernel() {
        for kernel in STEPS.iter().flat_map(|step| Kernel::of(step)).filter(|kernel| kernel.role() != Role::Rust) {
            assert!(LIST.contains(&format!("\n{} ", kernel.name())), "{} is missing in launches.txt", kernel.name());
        }
        for Launch { name, kernel, .. } in list().unwrap() {
            assert!(packed::place(&workspace::root().join(&kernel)).is_file(), "{name}: {kernel}");
        }
    }
}
