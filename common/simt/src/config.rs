//! How a kernel is launched, and what a device allows. The limits are those of every NVIDIA GPU from compute capability 8.0 on;
//! the size of shared memory is the H100's.

use ptx::Dim3;
use ptx::error::Error;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const THREADS_PER_BLOCK: u64 = 1024;
/// Largest block and largest grid in each dimension.
const LARGEST_BLOCK: Dim3 = Dim3::new(1024, 1024, 64);
const LARGEST_GRID: Dim3 = Dim3::new(0x7fff_ffff, 65_535, 65_535);
/// Shared memory of a block in bytes, static and dynamic together. Static shared memory alone never exceeds this.
const SHARED_BYTES: u64 = 48 * 1024;
/// Largest shared memory of a block in a launch that opts in to more ([`LaunchConfig::shared_opt_in`]), in bytes.
const SHARED_BYTES_OPT_IN: u64 = 227 * 1024;

/// The vector instructions of the host to use. The results are the same with all of them; only the speed differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstructionSet {
    /// The best that the processor has.
    #[default]
    Best,
    /// At most AVX2.
    Avx2,
    /// Only those that every processor of the target has.
    Plain,
}

/// A warp that lets all others go first: after so many of its instructions it waits until nothing else can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // Only of fields: their names say enough.
pub struct Held {
    /// The block's linear number; `None` if the warp of this number waits in every block.
    pub block: Option<u64>,
    pub warp: u32,
    pub after: u64,
}

/// When a launch is stopped: after so many seconds of which this process had the processor. What a busy machine takes from it is not
/// the kernel's fault, so beside the clock the time on processors is asked, of all threads together, where the system tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    begin: Instant,
    /// Processor time of this process at the beginning.
    used: Option<Duration>,
    seconds: u64,
}

impl Deadline {
    /// A busy machine may take so many times as long.
    const PATIENCE: u32 = 8;

    /// So many seconds from now on.
    pub fn after(seconds: u64) -> Self {
        Self { begin: Instant::now(), used: processor_time(), seconds }
    }

    /// Seconds that the launch has.
    pub fn seconds(&self) -> u64 {
        self.seconds
    }

    fn is_over(&self) -> bool {
        let (limit, passed) = (Duration::from_secs(self.seconds), self.begin.elapsed());
        let used = || self.used.zip(processor_time()).map_or(passed, |(before, now)| now.saturating_sub(before));
        passed >= limit && (passed / Self::PATIENCE >= limit || used() >= limit)
    }
}

/// The time that this process has been on processors.
fn processor_time() -> Option<Duration> {
    #[cfg(unix)]
    return Duration::try_from(rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime)).ok();
    #[cfg(not(unix))]
    None
}

/// The launch of a kernel. Set the fields that should differ from [`LaunchConfig::new`]'s.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Only of fields: their names say enough.
pub struct LaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    /// Size of the `extern __shared__` array, in bytes.
    pub dynamic_shared_bytes: u32,
    /// Allow more than 48 KiB of shared memory, as `cuFuncSetAttribute` does on a GPU.
    pub shared_opt_in: bool,
    /// Number of warp instructions that the whole launch may execute before it is stopped.
    pub instruction_limit: u64,
    /// When the whole launch is stopped. Printing and waiting take long for few instructions.
    pub deadline: Option<Deadline>,
    /// Host threads to use; 0 means one per core. The result does not depend on it.
    pub threads: usize,
    /// Warp instructions after which another warp of the block gets its turn. 0 means that a warp runs to its next barrier unless
    /// others wait for it. A turn ends between basic blocks, or between instructions if they are watched one by one.
    pub turn: u64,
    /// Whether the last warps and blocks take their turns first.
    pub backwards: bool,
    /// Whom all others overtake, if instructions are watched one by one.
    pub held: Option<Held>,
    /// Number of blocks that a host thread runs side by side, in turns. 0 means one; if the kernel's blocks may wait for each
    /// other, it means as many as the kernel needs.
    pub resident: usize,
    pub instruction_set: InstructionSet,
}

/// The processor's cores that this process may use. Asking takes the system longer than a small launch.
fn cores() -> u64 {
    static CORES: OnceLock<u64> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64)
}

impl LaunchConfig {
    /// Default number of warp instructions that a launch may execute. They take minutes to simulate.
    pub const DEFAULT_INSTRUCTION_LIMIT: u64 = 20_000_000_000;

    /// A launch with no dynamic shared memory and on all cores.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self {
            grid: grid.into(),
            block: block.into(),
            instruction_limit: Self::DEFAULT_INSTRUCTION_LIMIT,
            ..Self::default()
        }
    }

    /// The same launch with so many bytes of dynamic shared memory, as many as an H100 allows.
    #[must_use]
    pub fn with_dynamic_shared(mut self, bytes: u32) -> Self {
        (self.dynamic_shared_bytes, self.shared_opt_in) = (bytes, true);
        self
    }

    /// Whether the deadline of the launch has passed.
    pub(crate) fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline.is_over())
    }

    /// Number of host threads that run `blocks` blocks: one if the blocks must run in order.
    pub(crate) fn workers(&self, in_order: bool, blocks: u64) -> u64 {
        let wanted = match self.threads {
            _ if in_order => 1,
            0 => cores(),
            threads => threads as u64,
        };
        wanted.min(blocks).clamp(1, 1024)
    }

    /// Refuses what the device would refuse.
    pub(crate) fn validate(&self, static_shared: u64) -> Result<(), Error> {
        let Self { grid, block, .. } = *self;
        let within = |size: Dim3, limit: Dim3| size.x <= limit.x && size.y <= limit.y && size.z <= limit.z;
        let threads = block.count();
        let shared = static_shared + u64::from(self.dynamic_shared_bytes);
        let (allowed, hint) =
            if self.shared_opt_in { (SHARED_BYTES_OPT_IN, "") } else { (SHARED_BYTES, " (without opting in to more)") };
        let refused = if grid.count() == 0 || threads == 0 {
            format!("grid {grid} of blocks {block}: every dimension must be at least 1")
        } else if !within(grid, LARGEST_GRID) {
            format!("grid {grid} is larger than the device allows: {LARGEST_GRID}")
        } else if threads > THREADS_PER_BLOCK {
            format!("block {block} has {threads} threads; a block has at most {THREADS_PER_BLOCK}")
        } else if !within(block, LARGEST_BLOCK) {
            format!("block {block} is larger than the device allows: {LARGEST_BLOCK}")
        } else if static_shared > SHARED_BYTES {
            format!(
                "the kernel declares {static_shared} bytes of shared memory; at most {SHARED_BYTES} can be declared, more only as dynamic shared memory"
            )
        } else if shared > allowed {
            format!("the launch needs {shared} bytes of shared memory a block; the device allows {allowed}{hint}")
        } else {
            return Ok(());
        };
        Err(Error::usage(refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second that the machine spent on others is not the launch's, but nothing lasts for ever.
    #[test]
    #[cfg(unix)]
    fn a_busy_machine_takes_no_time_from_a_launch() {
        let began = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        // More than this process can have used when it is asked again.
        let used = processor_time().map(|used| used + Duration::from_secs(3600));
        let over = |begin, used| Deadline { begin, used, seconds: 2 }.is_over();
        assert!(!over(began(1), Some(Duration::ZERO)));
        assert!(!over(began(4), used) && over(began(17), used));
        assert!(over(began(4), None));
    }
}
