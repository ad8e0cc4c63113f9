//! The embedded GPU as a device.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, anyhow};

use super::figures::KernelResources;
use super::interface::{Buffer, Device, KernelHandle, array};
use crate::basics::{Progress, escape, host, print_whole};
use crate::code::Code;
use crate::device::sample::classes;
use findings::analysis::{CounterSum, ThreadReport};
use findings::layout::{Field, by_member, fields};
use findings::{HazardReport, KernelFault, Observations, analysis, diagnostic};
use plan::info::DeviceInfo;
use plan::{Arg, Launch, Plan, Problem};
use why::Origins;

/// What the simulator does besides computing the product.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Each is asked for by itself.
pub struct SimOptions {
    /// Warp instructions that a launch may execute before it is stopped; `None` derives it from the size of the problem.
    pub instruction_limit: Option<u64>,
    /// Count what the hardware counts.
    pub counters: bool,
    /// Look for hazards.
    pub check: bool,
    /// Threads to trace: block index and thread index.
    pub trace: Vec<([u32; 3], [u32; 3])>,
    /// Leave out what the kernel prints: standard output belongs to a program that reads JSON.
    pub silent: bool,
    /// Run the blocks one after the other, so that races between blocks end the same way each time, on every host.
    pub one_by_one: bool,
    /// Run and count a few blocks of each launch in place of all. The result is not a product.
    pub sample: bool,
    /// Only follow the values of a launch (see [`SimDevice::origins`]), with this number of instructions in a warp's turn.
    pub follow: Option<u64>,
}

/// A kernel, and how its source divides shared memory.
struct Loaded {
    kernel: simt::Kernel,
    extents: Vec<(String, simt::Extents)>,
    fields: Vec<Field>,
}

/// The embedded GPU.
pub struct SimDevice {
    info: DeviceInfo,
    options: SimOptions,
    memory: simt::GlobalMemory,
    buffers: Vec<Option<simt::DevicePointer>>,
    kernels: Vec<Loaded>,
    seen: Seen,
    /// Allocations that the host has filled with elements: reading them is not a mistake.
    given: Vec<simt::DevicePointer>,
    /// The launches whose values were followed.
    origins: Vec<Origins>,
}

impl Default for SimDevice {
    fn default() -> Self {
        Self::new(SimOptions::default())
    }
}

impl SimDevice {
    /// A device with the host's memory.
    pub fn new(options: SimOptions) -> Self {
        Self {
            info: DeviceInfo::simulated(host::total_bytes()),
            options,
            memory: simt::GlobalMemory::new(),
            buffers: Vec::new(),
            kernels: Vec::new(),
            seen: Seen::default(),
            given: Vec::new(),
            origins: Vec::new(),
        }
    }

    /// Where the values of the only launch came from; `None` if there were several, or values were not followed.
    pub fn origins(&mut self) -> Option<Origins> {
        let mut origins = std::mem::take(&mut self.origins);
        origins.pop().filter(|_| origins.is_empty())
    }

    fn pointer(&self, buffer: Buffer) -> Result<simt::DevicePointer> {
        self.buffers.get(buffer.0).copied().flatten().context("this memory was given back")
    }
}

/// What was seen of the launches since the observations were taken.
#[derive(Default)]
struct Seen {
    counters: CounterSum,
    hazards: Vec<HazardReport>,
    trace: Vec<ThreadReport>,
    /// Launches that write to C.
    writers_of_c: usize,
    /// Allocations that a launch has written.
    written: Vec<simt::DevicePointer>,
}

/// Warp instructions that a launch may execute by default: far more than a product takes, and few enough that an
/// endless loop ends within seconds.
///
/// A product's work is M·N·K, and these are the kernel's integers. A side shorter than a tile counts as a whole tile. In a block
/// of less than a warp, each instruction does less work.
fn instruction_limit(launch: &Launch) -> u64 {
    const LEAST: u64 = 2_000_000;
    const PER_MULTIPLY_ADD: u64 = 32;
    const TILE: u64 = 32;
    let lanes = launch.block.map(u64::from).into_iter().fold(1, u64::saturating_mul).clamp(1, 32);
    let side = |arg: &Arg| if let Arg::Int(size) = *arg { Some(u64::from(size as u32).max(TILE)) } else { None };
    let work = launch.args.iter().filter_map(side).fold(1, u64::saturating_mul);
    (work / lanes).saturating_mul(PER_MULTIPLY_ADD).saturating_add(LEAST)
}

/// A launch has this many seconds, and one second more for every `INSTRUCTIONS_A_SECOND` of its limit. A slow machine that watches
/// everything is still ten times faster.
const SECONDS: u64 = 20;
const INSTRUCTIONS_A_SECOND: u64 = 4_000_000;

/// Translates an error of the simulator: a fault of the kernel or a reached limit ends with exit status 1, the rest with 2.
fn explain(error: simt::Error) -> anyhow::Error {
    match error {
        simt::Error::Fault(mut fault) => {
            if let simt::FaultKind::Assert { condition, file, function, .. } = &mut fault.kind {
                for text in [condition, file, function] {
                    *text = escape(text);
                }
            }
            let error = simt::Error::Fault(fault.clone());
            let hazard = Some(analysis::fault(&fault));
            anyhow::Error::new(KernelFault { hazard, ..KernelFault::new(error.to_string()) })
        }
        simt::Error::Limit(ref limit) => {
            let stopped = diagnostic::limit(limit);
            anyhow::Error::new(KernelFault { stopped, ..KernelFault::new(error.to_string()) })
        }
        simt::Error::Call { ref function, recursive, ref location } => {
            anyhow!("{}", diagnostic::call(function, recursive, location))
        }
        other => anyhow!("{other}"),
    }
}

/// Shows what a kernel has printed. A launch may print [`simt::GlobalMemory::LARGEST_PRINT`] bytes, but a lab launches a kernel dozens of
/// times, so there is a limit for the whole program, too.
fn show(printed: &str) -> Result<()> {
    const MOST: usize = 2 * simt::GlobalMemory::LARGEST_PRINT;
    static SHOWN: AtomicUsize = AtomicUsize::new(0);
    let room = MOST.saturating_sub(SHOWN.fetch_add(printed.len(), Ordering::Relaxed));
    if printed.len() <= room {
        return print_whole(printed);
    }
    let part = (0..=room).rev().find(|&end| printed.is_char_boundary(end)).map_or("", |end| &printed[..end]);
    let rest = "\n... the rest of what kernels print in this run is left out: it is more than 2 MiB\n";
    if part.is_empty() { Ok(()) } else { print_whole(&format!("{part}{rest}")) }
}

/// The work of a launch, estimated from a few of its blocks; a class counts with the least work of the blocks that represent it.
fn sampled(
    kernel: &simt::Kernel,
    memory: &mut simt::GlobalMemory,
    config: &simt::LaunchConfig,
    pointers: &[simt::Arg],
    grid: [u32; 3],
) -> Result<Option<simt::Works>, simt::Error> {
    let mut works = simt::Works::default();
    for (blocks, count) in classes(grid) {
        let mut counters = simt::Counters::new();
        simt::launch_blocks(kernel, memory, config, pointers, &mut counters, Some(&blocks), &|| ())?;
        let Some(counted) = counters.works() else { return Ok(None) };
        let least = counted.kinds().map(|(work, _)| work).reduce(simt::Work::least);
        works.add(least.unwrap_or_default(), count);
    }
    Ok(Some(works))
}

/// What a launch accesses according to its plan: a block reads the rows of A and the columns of B of its tile.
fn touched(problem: &Problem, plan: &Plan) -> simt::Touched {
    // Every row may begin and end in the middle of a piece of 128 bytes.
    let rows = |rows: u64, elements: u64| rows.saturating_mul(elements.saturating_mul(4).saturating_add(128));
    let [columns, height] = plan.tile.map(u64::from);
    let (columns, height) = (columns.min(problem.n), height.min(problem.m));
    let parts = [rows(height, problem.k), rows(problem.k, columns), rows(height, columns), rows(height, columns)];
    let output_elements = problem.c_elements().saturating_add(plan.workspace_elements);
    let sum = |parts: &[u64]| parts.iter().copied().fold(0, u64::saturating_add);
    simt::Touched {
        all_bytes: problem.device_bytes(plan.workspace_elements),
        block_bytes: sum(&parts),
        written_bytes: output_elements.saturating_mul(4),
        block_written_bytes: sum(&parts[2..]),
        output_elements,
    }
}

/// An upper bound on a thread's accesses to memory: four for each of its multiply-adds, and four for each element of C.
fn accesses_of_a_thread(problem: &Problem, plan: &Plan, launch: &Launch) -> u64 {
    let tile = plan.tile.map(u64::from).into_iter().product::<u64>().min(problem.c_elements());
    let threads = launch.block.map(u64::from).into_iter().product::<u64>().max(1);
    tile.div_ceil(threads).saturating_mul(4 * (problem.k + 1))
}

impl SimDevice {
    /// The simulator's configuration for a launch.
    fn config(&self, launch: &Launch) -> simt::LaunchConfig {
        let [grid, block] = [launch.grid, launch.block].map(<(u32, u32, u32)>::from);
        let mut config = simt::LaunchConfig::new(grid, block).with_dynamic_shared(launch.shared_bytes);
        config.threads = usize::from(self.options.one_by_one);
        config
    }

    /// The analysis of hazards for a launch. C is an output unless the host has filled it. So is a workspace that no earlier
    /// launch has written, unless the kernel takes several parts of it, of which each launch writes some.
    fn watch(&mut self, kernel: KernelHandle, launch: &Launch, arrays: &[Buffer]) -> Result<simt::Hazards> {
        let mut hazards = simt::Hazards::new();
        let whole = launch.args.iter().filter(|arg| matches!(arg, Arg::Workspace(_))).count() == 1;
        for arg in launch.args.iter().filter(|arg| matches!(arg, Arg::C(_) | Arg::Workspace(_))) {
            let Some((index, _)) = arg.array() else { continue };
            let pointer = self.pointer(array(arrays, index)?)?;
            self.seen.writers_of_c += usize::from(matches!(arg, Arg::C(_)));
            let (given, known) = (self.given.contains(&pointer), self.seen.written.contains(&pointer));
            if !given && (matches!(arg, Arg::C(_)) || whole && !known) {
                hazards = hazards.output(pointer);
            }
            if !known {
                self.seen.written.push(pointer);
            }
        }
        let Loaded { extents, fields, .. } = &self.kernels[kernel.0];
        let is_whole = |name: &String| fields.iter().any(|field| field.root == *name && field.member.is_empty());
        for (name, extents) in extents.iter().filter(|(name, _)| is_whole(name)) {
            hazards = hazards.extents(name, extents.clone());
        }
        Ok(hazards)
    }
}

impl SimDevice {
    /// Bytes of the host's memory that the analyses need in addition to a product of this plan.
    pub fn analyses_bytes(&self, problem: &Problem, plan: &Plan, code: &Code) -> u64 {
        // What does not load is told when it is loaded.
        let Ok(module) = code.module() else { return 0 };
        let touched = touched(problem, plan);
        let of_launch = |launch: &Launch| {
            let Ok(kernel) = module.kernel(&launch.entry) else { return 0 };
            let config = self.config(launch);
            let check = if self.options.check { simt::Hazards::bytes(&kernel, &config, &touched) } else { 0 };
            let counters = if self.options.counters { simt::Counters::bytes(&kernel, &config) } else { 0 };
            let traced = self.options.trace.len() as u64;
            let trace = simt::Trace::bytes(traced, accesses_of_a_thread(problem, plan, launch));
            check.saturating_add(counters).saturating_add(trace)
        };
        plan.launches.iter().map(of_launch).max().unwrap_or(0)
    }

    /// Takes what the analyses saw of the launches since the last call.
    pub fn observations(&mut self) -> Observations {
        let Seen { counters, mut hazards, trace, writers_of_c, .. } = std::mem::take(&mut self.seen);
        if writers_of_c > 1 {
            // Each launch writes its own part of C: what one leaves out is another's, and verification looks at all of
            // it.
            hazards.retain(|hazard| hazard.kind != simt::HazardKind::NeverWritten);
        }
        Observations {
            counters: self.options.counters.then(|| counters.report()),
            works: counters.works().filter(|_| self.options.counters || self.options.sample),
            hazards: self.options.check.then_some(hazards),
            trace: (!self.options.trace.is_empty()).then_some(trace),
        }
    }
}

impl Device for SimDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&self) -> Result<u64> {
        Ok(host::available_bytes())
    }

    fn alloc(&mut self, name: &str, bytes: u64) -> Result<Buffer> {
        // A kernel whose values are followed may reach beyond an array: which elements it then multiplies explains more than a fault.
        let beyond = if self.options.follow.is_some() { bytes.saturating_mul(4).max(1 << 18) } else { 0 };
        let pointer = self.memory.alloc(name, bytes.saturating_add(beyond), 4);
        let pointer = pointer.map_err(|error| anyhow!("{error}; choose a smaller --size"))?;
        self.buffers.push(Some(pointer));
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn free(&mut self, buffer: Buffer) -> Result<()> {
        let pointer = self.pointer(buffer)?;
        self.buffers[buffer.0] = None;
        self.given.retain(|given| *given != pointer);
        self.memory.free(pointer).map_err(explain)
    }

    fn write(&mut self, buffer: Buffer, offset: u64, data: &[u8]) -> Result<()> {
        let pointer = self.pointer(buffer)?;
        if !self.given.contains(&pointer) {
            self.given.push(pointer);
        }
        self.memory.write_bytes(pointer.offset(offset as i64), data).map_err(explain)
    }

    fn read(&mut self, buffer: Buffer, offset: u64, data: &mut [u8]) -> Result<()> {
        self.memory.read_bytes(self.pointer(buffer)?.offset(offset as i64), data).map_err(explain)
    }

    fn fill(&mut self, buffer: Buffer, byte: u8) -> Result<()> {
        let pointer = self.pointer(buffer)?;
        self.given.retain(|given| *given != pointer);
        self.memory.fill(pointer, u32::from_ne_bytes([byte; 4])).map_err(explain)
    }

    fn load(&mut self, code: &Code, entry: &str) -> Result<KernelHandle> {
        let kernel = code.module()?.kernel(entry).map_err(explain).with_context(|| code.origin.clone())?;
        let (source, constants) = &code.source;
        let constants: Vec<(&str, i64)> = constants.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let extents = findings::declarations::shared_extents(source, &constants);
        let fields = fields(&kernel, source, &constants, &extents);
        self.kernels.push(Loaded { kernel, extents, fields });
        Ok(KernelHandle(self.kernels.len() - 1))
    }

    fn resources(&self, kernel: KernelHandle) -> KernelResources {
        let kernel = &self.kernels[kernel.0].kernel;
        KernelResources {
            registers: None,
            static_shared_bytes: kernel.static_shared_bytes(),
            local_bytes: kernel.local_bytes(),
        }
    }

    fn launch(&mut self, kernel: KernelHandle, launch: &Launch, arrays: &[Buffer]) -> Result<()> {
        let mut config = self.config(launch);
        config.instruction_limit = self.options.instruction_limit.unwrap_or_else(|| instruction_limit(launch));
        let seconds = SECONDS + config.instruction_limit / INSTRUCTIONS_A_SECOND;
        config.deadline = Some(simt::Deadline::after(seconds));
        let pointer = |index, offset: u64| {
            let pointer = self.pointer(array(arrays, index)?)?;
            Ok(simt::Arg::Pointer(pointer.offset(4 * offset as i64)))
        };
        let argument = |arg: &Arg| arg.either(pointer, |value| Ok(simt::Arg::U32(value as u32)));
        let pointers: Vec<simt::Arg> = launch.args.iter().map(argument).collect::<Result<_>>()?;
        let hazards = if self.options.check { Some(self.watch(kernel, launch, arrays)?) } else { None };
        let trace = (!self.options.trace.is_empty()).then(|| {
            let at = |[x, y, z]: [u32; 3]| simt::Dim3::new(x, y, z);
            simt::Trace::new(self.options.trace.iter().map(|&(block, thread)| (at(block), at(thread))))
        });
        let counters = self.options.counters.then(simt::Counters::new);
        let Loaded { kernel, fields, extents } = &self.kernels[kernel.0];
        let memory = &mut self.memory;
        let progress = Progress::new("simulating, blocks", launch.grid.map(u64::from).iter().product());
        if self.options.sample {
            let works = sampled(kernel, memory, &config, &pointers, launch.grid).map_err(explain)?;
            self.seen.counters.add_works(works);
            return Ok(());
        }
        if let Some(turn) = self.options.follow {
            config.turn = turn;
            let (provenance, ended) = simt::Provenance::of(kernel, memory, &config, &pointers);
            self.origins.push(Origins::new(kernel.clone(), provenance, memory, fields.clone()));
            return ended.map(|_| ()).map_err(explain);
        }
        let mut analyses = simt::Analyses { counters, hazards, trace };
        let ended = simt::launch_blocks(kernel, memory, &config, &pointers, &mut analyses, None, &|| progress.add(1));
        let simt::Analyses { counters, hazards, trace } = analyses;
        let mut found = hazards.map(|hazards| hazards.found().to_vec()).unwrap_or_default();
        for hazard in &mut found {
            by_member(fields, &mut hazard.place);
        }
        self.seen.hazards.extend(analysis::hazards(found, launch.block));
        analysis::add_trace(&mut self.seen.trace, trace.map(|trace| trace.threads()).unwrap_or_default(), extents);
        if let (Ok(_), Some(counters)) = (&ended, counters) {
            self.seen.counters.add(kernel, &counters);
        }
        drop(progress);
        // What the kernel printed comes before the fault that ended it.
        let printed = memory.take_printed();
        if !printed.is_empty() && !self.options.silent {
            show(&escape(&printed))?;
        }
        ended.map_err(explain)?;
        Ok(())
    }
}
