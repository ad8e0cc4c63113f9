//! Execution: arguments and launch here; a block in `block`, a warp in `warp`.

mod access;
mod alu;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bits;
mod block;
mod convert;
mod float;
mod half;
mod integer;
mod isa;
mod lane;
mod pattern;
mod registers;
mod runs;
mod vector;
mod warp;

use crate::ast::Space;
use crate::lower::{Preset, Special};
use crate::observe::{Analysis, LaunchInfo};
use crate::{BlockInfo, DevicePointer, Dim3, Error, Fault, GlobalMemory, Kernel, LaunchConfig, Limit};
use block::{Outcome, Worker};
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// An argument of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// A pointer into global memory, 8 bytes.
    Pointer(DevicePointer),
    /// 4 bytes.
    I32(i32),
    /// 4 bytes.
    U32(u32),
    /// 8 bytes.
    I64(i64),
    /// 8 bytes.
    U64(u64),
    /// 4 bytes.
    F32(f32),
    /// 8 bytes.
    F64(f64),
    /// Anything else, such as a structure passed by value.
    Bytes(Vec<u8>),
}

impl Arg {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Pointer(pointer) => pointer.0.to_le_bytes().to_vec(),
            Self::I32(value) => value.to_le_bytes().to_vec(),
            Self::U32(value) => value.to_le_bytes().to_vec(),
            Self::I64(value) => value.to_le_bytes().to_vec(),
            Self::U64(value) => value.to_le_bytes().to_vec(),
            Self::F32(value) => value.to_le_bytes().to_vec(),
            Self::F64(value) => value.to_le_bytes().to_vec(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// What a launch that ended well tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Warp instructions executed. They are PTX instructions; a GPU's assembler merges and splits some.
    pub warp_instructions: u64,
    /// Blocks run.
    pub blocks: u64,
}

/// What every worker of a launch needs to know.
pub(crate) struct Launch<'a> {
    pub kernel: &'a Kernel,
    pub memory: &'a GlobalMemory,
    pub config: &'a LaunchConfig,
    pub params: Vec<u8>,
    /// Addresses of the module's variables, by number in the program.
    pub variables: Vec<u64>,
    pub shared_bytes: u32,
    /// Warp instructions executed so far, by all workers.
    pub executed: AtomicU64,
    /// Held while a 64-bit atomic operation works on its two words.
    pub atomic: Mutex<()>,
}

impl Launch<'_> {
    /// The value of a preset that is the same for the whole launch, or none when it depends on block or thread.
    pub fn constant(&self, preset: Preset) -> Option<u64> {
        let config = self.config;
        let axis = |size: Dim3, axis: u8| u64::from([size.x, size.y, size.z][axis as usize % 3]);
        Some(match preset {
            Preset::Constant(value) | Preset::Shared { address: value, .. } => value,
            Preset::Param { offset, bytes, signed } => {
                let start = offset as usize;
                let mut value = [0; 8];
                if let Some(from) = self.params.get(start..start + bytes as usize) {
                    value[..from.len()].copy_from_slice(from);
                }
                let value = u64::from_le_bytes(value);
                let shift = 64 - 8 * bytes.clamp(1, 8);
                if signed { ((value << shift) as i64 >> shift) as u64 } else { value }
            }
            Preset::Variable { number, offset } => self.variables[number as usize].wrapping_add_signed(offset),
            Preset::Special(special) => match special {
                Special::Ntid(dimension) => axis(config.block, dimension),
                Special::Nctaid(dimension) => axis(config.grid, dimension),
                Special::NWarpId => config.block.count().div_ceil(32),
                Special::DynamicShared => u64::from(config.dynamic_shared_bytes),
                Special::TotalShared => u64::from(self.shared_bytes),
                Special::Zero => 0,
                Special::One => 1,
                _ => return None,
            },
        })
    }
}

/// Runs a kernel over its grid, on `config.threads` host threads, and returns when all blocks have ended.
///
/// The result does not depend on the number of host threads, unless the kernel's own blocks race.
///
/// # Errors
/// [`Error::Usage`] when the arguments or the launch do not fit the kernel or the device, [`Error::Fault`] when the kernel
/// does something wrong (the fault of the first block in grid order), [`Error::Limit`] when it executes more
/// instructions than allowed.
pub fn launch<A: Analysis>(
    kernel: &Kernel,
    memory: &mut GlobalMemory,
    config: &LaunchConfig,
    args: &[Arg],
    analysis: &mut A,
) -> Result<Report, Error> {
    config.validate(u64::from(kernel.static_shared_bytes()))?;
    let threads = config.block.count();
    if let Some(limit) = kernel.max_threads() {
        let most: u64 = limit.iter().map(|&size| u64::from(size)).product();
        if threads > most {
            return Err(Error::usage(format!(
                "block {} has {threads} threads; {} was compiled for at most {most}",
                config.block,
                kernel.name()
            )));
        }
    }
    if let Some([x, y, z]) = kernel.required_threads()
        && config.block != Dim3::new(x, y, z)
    {
        let required = Dim3::new(x, y, z);
        return Err(Error::usage(format!("{} must be launched with blocks {required}", kernel.name())));
    }
    let params = pack(kernel, args)?;
    let variables = instantiate(kernel, memory)?;
    let code = &kernel.code;
    let shared_bytes = if config.dynamic_shared_bytes > 0 {
        code.dynamic_shared_offset.saturating_add(config.dynamic_shared_bytes)
    } else {
        code.static_shared_bytes
    };
    analysis.begin(&LaunchInfo { kernel, config, memory, shared_bytes });
    let launch = Launch {
        kernel,
        memory,
        config,
        params,
        variables,
        shared_bytes,
        executed: AtomicU64::new(0),
        atomic: Mutex::new(()),
    };
    let failure = run(&launch, analysis)?;
    let executed = launch.executed.load(Ordering::Relaxed);
    match failure {
        Some((_, Outcome::Fault(fault))) => Err(Error::Fault(fault)),
        Some((_, Outcome::Limit(location))) => {
            Err(Error::Limit(Limit::Instructions { limit: config.instruction_limit, location }))
        }
        None if executed > config.instruction_limit => {
            let location = kernel.location(kernel.instruction_count().saturating_sub(1));
            Err(Error::Limit(Limit::Instructions { limit: config.instruction_limit, location }))
        }
        None => Ok(Report { warp_instructions: executed, blocks: config.grid.count() }),
    }
}

/// Runs all blocks; the failure of the first block in grid order, if any.
fn run<A: Analysis>(launch: &Launch<'_>, analysis: &A) -> Result<Option<(u64, Outcome)>, Error> {
    let blocks = launch.config.grid.count();
    let available = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let wanted = if launch.config.threads == 0 { available } else { launch.config.threads };
    let workers = (wanted as u64).min(blocks).clamp(1, 1024) as usize;
    // Blocks are taken in order, so that a block may wait for the work of earlier ones.
    let next = AtomicU64::new(0);
    // No block after this one needs to run.
    let last = AtomicU64::new(u64::MAX);
    let failure: Mutex<Option<(u64, Outcome)>> = Mutex::new(None);
    let work = || {
        let mut worker = Worker::new(launch);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= blocks || number > last.load(Ordering::Relaxed) {
                break;
            }
            let info = BlockInfo {
                index: launch.config.grid.index(number),
                number,
                threads: launch.config.block.count() as u32,
            };
            let mut observer = analysis.block(&info);
            let outcome = worker.run(&info, &mut observer);
            analysis.end(observer);
            if let Err(outcome) = outcome {
                last.fetch_min(number, Ordering::Relaxed);
                let mut failure = failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if failure.as_ref().is_none_or(|(first, old)| outcome.before(number, old, *first)) {
                    *failure = Some((number, outcome));
                }
            }
        }
    };
    if workers == 1 {
        work();
    } else {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .build()
            .map_err(|error| Error::usage(format!("no threads to run on: {error}")))?;
        pool.install(|| (0..workers).into_par_iter().with_max_len(1).for_each(|_| work()));
    }
    Ok(failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Lays the arguments out as the parameters say.
fn pack(kernel: &Kernel, args: &[Arg]) -> Result<Vec<u8>, Error> {
    let params = kernel.params();
    if params.len() != args.len() {
        return Err(Error::usage(format!(
            "{} takes {} parameters, {} arguments were given",
            kernel.name(),
            params.len(),
            args.len()
        )));
    }
    let mut area = vec![0; kernel.code.param_bytes as usize];
    for (number, (param, arg)) in params.iter().zip(args).enumerate() {
        let bytes = arg.bytes();
        let place = area.get_mut(param.offset as usize..(param.offset + param.bytes) as usize);
        match place {
            Some(place) if place.len() == bytes.len() => place.copy_from_slice(&bytes),
            _ => {
                return Err(Error::usage(format!(
                    "parameter {} of {} ({}) has {} bytes, its argument has {}",
                    number + 1,
                    kernel.name(),
                    param.name,
                    param.bytes,
                    bytes.len()
                )));
            }
        }
    }
    Ok(area)
}

/// Gives the variables of the module that the kernel uses a place in memory, once for each memory.
fn instantiate(kernel: &Kernel, memory: &mut GlobalMemory) -> Result<Vec<u64>, Error> {
    let module = &kernel.module.inner;
    let declared = &module.program.variables;
    let mut addresses = vec![0; declared.len()];
    if kernel.code.variables.is_empty() {
        return Ok(addresses);
    }
    // A variable may hold the address of another, so all that such variables name are needed too.
    let mut wanted = kernel.code.variables.clone();
    let mut at = 0;
    while at < wanted.len() {
        for (_, name, _) in &declared[wanted[at] as usize].init_symbols {
            let number = declared.iter().position(|variable| variable.name == *name);
            match number {
                Some(number) if declared[number].space != Space::Shared => {
                    if !wanted.contains(&(number as u32)) {
                        wanted.push(number as u32);
                    }
                }
                _ => {
                    return Err(Error::usage(format!(
                        "the initial value of a variable names {name}, which has no address"
                    )));
                }
            }
        }
        at += 1;
    }
    let mut fresh = vec![];
    for &number in &wanted {
        let variable = &declared[number as usize];
        let (address, new) =
            memory.variable(module.id, number, &variable.name, variable.bytes, variable.element_bytes)?;
        addresses[number as usize] = address.0;
        if new {
            fresh.push(number);
        }
    }
    for number in fresh {
        let variable = &declared[number as usize];
        let mut bytes = variable.init.clone();
        for (position, name, addend) in &variable.init_symbols {
            let target = declared.iter().position(|variable| variable.name == *name).unwrap_or_default();
            let value = addresses[target].wrapping_add_signed(*addend).to_le_bytes();
            if let Some(place) = bytes.get_mut(*position..position + 8) {
                place.copy_from_slice(&value);
            }
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let words: Vec<u32> =
            bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
        memory.write_words(DevicePointer(addresses[number as usize]), &words)?;
    }
    Ok(addresses)
}

/// Boxes a fault.
pub(crate) fn fault(fault: Fault) -> Box<Outcome> {
    Box::new(Outcome::Fault(Box::new(fault)))
}
