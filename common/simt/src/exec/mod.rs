//! Execution: this file launches a kernel, `block` runs its blocks, and `step` runs the instructions of a warp.

mod access;
mod alu;
mod arguments;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "AVX-512 intrinsics load and store through pointers")]
mod avx512;
mod barrier;
mod block;
mod context;
mod convert;
mod exchange;
#[allow(unsafe_code, reason = "calls instructions that not every processor has, after looking at the processor")]
mod isa;
mod lane;
mod matrix;
mod print;
mod real;
#[allow(
    unsafe_code,
    reason = "the lowering keeps offsets in range; a check for each operand would slow every instruction"
)]
mod registers;
#[allow(unsafe_code, reason = "chooses the instructions of the host once, after looking at the processor")]
mod step;
mod system;
pub(crate) mod warp;
pub(crate) mod warpgroup;

use crate::config::LaunchConfig;
use crate::locked::lock;
use crate::memory::GlobalMemory;
use crate::module::Kernel;
use crate::observe::{Analysis, LaunchInfo, RUNS};
pub use arguments::Arg;
use arguments::{grid_barrier, instantiate, pack};
use block::run;
use context::{Launch, Manner, Outcome, Progress};
pub(crate) use exchange::source;
use ptx::Dim3;
use ptx::error::{Error, Limit};
use std::sync::atomic::Ordering;

/// The result of a launch without a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Launched {
    /// Warp instructions executed. They are PTX instructions; a GPU's assembler merges and splits some.
    pub warp_instructions: u64,
}

/// Runs a kernel over its grid, on `config.threads` host threads, and returns when all blocks have ended.
///
/// The result does not depend on the number of host threads, unless the kernel's own blocks race.
///
/// # Errors
/// [`Error::Usage`] when the arguments or the launch do not fit the kernel or the device, [`Error::Fault`] when the kernel
/// does something wrong (the fault of the first block in grid order), [`Error::Limit`] when it executes more
/// instructions than allowed.
pub fn launch(
    kernel: &Kernel,
    memory: &mut GlobalMemory,
    config: &LaunchConfig,
    args: &[Arg],
    analysis: &mut dyn Analysis,
) -> Result<Launched, Error> {
    launch_blocks(kernel, memory, config, args, analysis, None, &|| ())
}

/// Words of global memory, and warp instructions, up to which a launch runs again if its threads may wait for each other.
const SECOND_WORDS: usize = 1 << 24;
const SECOND_USED: u64 = 1 << 22;

/// Launches a kernel like [`launch`], and calls `ended` after each block. If `only` names some blocks of the grid, the others do
/// not run.
///
/// # Errors
/// Those of [`launch`], and [`Error::Usage`] for a block that is not in the grid.
pub fn launch_blocks(
    kernel: &Kernel,
    memory: &mut GlobalMemory,
    config: &LaunchConfig,
    args: &[Arg],
    analysis: &mut dyn Analysis,
    only: Option<&[u64]>,
    ended: &(dyn Fn() + Sync),
) -> Result<Launched, Error> {
    let count = config.grid.count();
    if let Some(block) = only.unwrap_or_default().iter().find(|&&block| block >= count) {
        return Err(Error::usage(format!("there is no block {block} in a grid of {count}")));
    }
    config.validate(u64::from(kernel.static_shared_bytes()))?;
    let threads = config.block.count();
    let most = kernel.max_threads().map_or(u64::MAX, |[x, y, z]| Dim3::new(x, y, z).count());
    if threads > most {
        let (block, name) = (config.block, kernel.name());
        let message = format!("block {block} has {threads} threads; {name} was compiled for at most {most}");
        return Err(Error::usage(message));
    }
    let required = kernel.required_threads().map_or(config.block, |[x, y, z]| Dim3::new(x, y, z));
    if config.block != required {
        return Err(Error::usage(format!("the kernel {} must be launched with blocks {required}", kernel.name())));
    }
    let params = pack(kernel, args)?;
    let variables = instantiate(kernel, memory)?;
    let barrier = grid_barrier(kernel, memory)?;
    let shared_bytes = kernel.shared_bytes(config);
    analysis.begin(&LaunchInfo { kernel, config, memory, shared_bytes, params: &params });
    let launch = Launch {
        kernel,
        memory,
        config,
        steps: analysis.steps(),
        reversed: config.backwards,
        manner: Manner::Usual,
        params: &params,
        variables: &variables,
        shared_bytes,
        grid_barrier: barrier.map_or(0, |pointer| pointer.0),
        progress: Progress::default(),
    };
    let waits = kernel.code.communicates || kernel.code.polls;
    let before = if waits && analysis.second().is_some() { memory.copy(SECOND_WORDS) } else { None };
    let failure = run(&launch, analysis, only, ended);
    let (executed, used) = (launch.progress.executed.load(Ordering::Relaxed), launch.used());
    let printed = std::mem::take(&mut *lock(&launch.progress.printed));
    let second = analysis.second().filter(|_| failure.is_none() && used <= SECOND_USED);
    if let (Some(before), Some(second)) = (before, second) {
        // A kernel that waits for blocks with lower numbers may never end in the opposite order.
        let limit = config.instruction_limit.min(4 * used + SECOND_USED);
        let config = LaunchConfig { instruction_limit: limit, ..*config };
        let orders: [_; RUNS - 1] = [
            (!config.backwards, Manner::Usual),
            (config.backwards, Manner::Undisturbed),
            (!config.backwards, Manner::Polite),
        ];
        for (reversed, manner) in orders {
            let mut copy = before.clone();
            memory.exchange(&mut copy);
            second.begin_again();
            let progress = Progress::default();
            run(&Launch { config: &config, reversed, manner, progress, ..launch }, second, only, &|| ());
            memory.exchange(&mut copy);
        }
    }
    memory.print(&printed.text());
    if let Some(barrier) = barrier {
        memory.free(barrier)?;
    }
    match failure {
        Some((_, Outcome::Fault(fault))) => Err(Error::Fault(fault)),
        Some((_, Outcome::Limit(location))) => Err(Error::Limit(match config.deadline {
            Some(deadline) if used <= config.instruction_limit => {
                Limit::Seconds { limit: deadline.seconds(), location }
            }
            _ => Limit::Instructions { limit: config.instruction_limit, location },
        })),
        None if used > config.instruction_limit => {
            let location = kernel.location(kernel.instruction_count().saturating_sub(1));
            Err(Error::Limit(Limit::Instructions { limit: config.instruction_limit, location }))
        }
        None => Ok(Launched { warp_instructions: executed }),
    }
}
