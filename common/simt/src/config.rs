//! How a kernel is launched, and what a device allows.

use crate::dim3::Dim3;
use crate::error::Error;

/// What the simulated device allows. The default is that of every NVIDIA GPU from compute capability 8.0 on, with the
/// H100's shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Threads in a block: 1024.
    pub threads_per_block: u32,
    /// Largest block in each dimension: 1024, 1024, 64.
    pub block: Dim3,
    /// Largest grid in each dimension: 2³¹−1, 65,535, 65,535.
    pub grid: Dim3,
    /// Shared memory of a block, static and dynamic together, without asking for more: 48 KiB, in bytes.
    pub shared_bytes: u32,
    /// Shared memory of a block for a launch that asks for it
    /// ([`LaunchConfig::shared_opt_in`]): 227 KiB, in bytes. Static shared memory alone never exceeds `shared_bytes`.
    pub shared_bytes_opt_in: u32,
}

impl Default for DeviceLimits {
    fn default() -> Self {
        Self {
            threads_per_block: 1024,
            block: Dim3::new(1024, 1024, 64),
            grid: Dim3::new(0x7fff_ffff, 65_535, 65_535),
            shared_bytes: 48 * 1024,
            shared_bytes_opt_in: 227 * 1024,
        }
    }
}

/// Vector instructions of the host to use. The results are the same with each; only the speed differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstructionSet {
    /// The best the processor has.
    #[default]
    Best,
    /// At most AVX2.
    Avx2,
    /// None beyond what every processor of the target has.
    Plain,
}

/// The launch of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks in the grid.
    pub grid: Dim3,
    /// Threads in a block.
    pub block: Dim3,
    /// Size of the `extern __shared__` array, in bytes.
    pub dynamic_shared_bytes: u32,
    /// Allow more than 48 KiB of shared memory, as `cuFuncSetAttribute` does on a GPU.
    pub shared_opt_in: bool,
    /// Warp instructions the whole launch may execute before it is stopped.
    pub instruction_limit: u64,
    /// Host threads to use; 0 means one per core. The result does not depend on it.
    pub threads: usize,
    /// Vector instructions to use.
    pub instruction_set: InstructionSet,
    /// What the device allows.
    pub limits: DeviceLimits,
}

impl LaunchConfig {
    /// Default number of warp instructions a launch may execute: minutes of simulation.
    pub const DEFAULT_INSTRUCTION_LIMIT: u64 = 20_000_000_000;

    /// A launch with no dynamic shared memory, the default limits and all cores.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self {
            grid: grid.into(),
            block: block.into(),
            dynamic_shared_bytes: 0,
            shared_opt_in: false,
            instruction_limit: Self::DEFAULT_INSTRUCTION_LIMIT,
            threads: 0,
            instruction_set: InstructionSet::Best,
            limits: DeviceLimits::default(),
        }
    }

    /// Refuses what the device would refuse.
    pub(crate) fn validate(&self, static_shared: u64) -> Result<(), Error> {
        let limits = &self.limits;
        let (grid, block) = (self.grid, self.block);
        let within = |size: Dim3, limit: Dim3| size.x <= limit.x && size.y <= limit.y && size.z <= limit.z;
        if grid.count() == 0 || block.count() == 0 {
            return Err(Error::usage(format!("grid {grid} of blocks {block}: every dimension must be at least 1")));
        }
        if !within(grid, limits.grid) {
            return Err(Error::usage(format!("grid {grid} is larger than the device allows: {}", limits.grid)));
        }
        if block.count() > u64::from(limits.threads_per_block) {
            let (count, limit) = (block.count(), limits.threads_per_block);
            return Err(Error::usage(format!("block {block} has {count} threads; a block has at most {limit}")));
        }
        if !within(block, limits.block) {
            return Err(Error::usage(format!("block {block} is larger than the device allows: {}", limits.block)));
        }
        if static_shared > u64::from(limits.shared_bytes) {
            return Err(Error::usage(format!(
                "the kernel declares {static_shared} bytes of shared memory; at most {} can be declared, more only as dynamic shared memory",
                limits.shared_bytes
            )));
        }
        let shared = static_shared + u64::from(self.dynamic_shared_bytes);
        let allowed = if self.shared_opt_in { limits.shared_bytes_opt_in } else { limits.shared_bytes };
        if shared > u64::from(allowed) {
            let hint = if self.shared_opt_in { "" } else { " (without opting in to more)" };
            return Err(Error::usage(format!(
                "the launch needs {shared} bytes of shared memory a block; the device allows {allowed}{hint}"
            )));
        }
        Ok(())
    }
}
