//! What the parts of execution share: the launch, and of a block everything but its warps. Plain data.

use super::print::Printed;
use super::transactions::Transactions;
use crate::config::LaunchConfig;
use crate::error::{Fault, Location};
use crate::lower::Code;
use crate::memory::GlobalMemory;
use crate::module::Kernel;
use crate::observe::{BlockInfo, Observer};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// What every worker of a launch needs to know.
pub(super) struct Launch<'a> {
    pub kernel: &'a Kernel,
    pub memory: &'a GlobalMemory,
    pub config: &'a LaunchConfig,
    /// Its observers are told of every instruction.
    pub steps: bool,
    /// Blocks and warps have their turns in the opposite order.
    pub reversed: bool,
    pub params: &'a [u8],
    /// Addresses of the module's variables, by number in the program.
    pub variables: &'a [u64],
    pub shared_bytes: u32,
    /// Where all blocks meet, if the kernel asks for such a place.
    pub grid_barrier: u64,
    /// Warp instructions executed so far, by all workers.
    pub executed: AtomicU64,
    /// Those they could have executed while all that they did was to wait.
    pub idle: AtomicU64,
    /// Those executed by blocks that did nothing but wait while another thread of the host was at work: how many depends
    /// on how fast that thread is.
    pub spared: AtomicU64,
    /// Held while a 64-bit atomic operation works on its two words.
    pub atomic: Mutex<()>,
    /// What the kernel prints.
    pub printed: Mutex<Printed>,
}

impl Launch<'_> {
    /// Warp instructions that count towards the limit.
    pub fn used(&self) -> u64 {
        let spared = self.spared.load(Relaxed);
        self.executed.load(Relaxed).saturating_add(self.idle.load(Relaxed)).saturating_sub(spared)
    }

    /// These warps waited and nothing happened: a wait without an end comes to the limit as a loop does.
    pub fn waits(&self, warps: u64) {
        self.idle.fetch_add(warps * WAIT, Relaxed);
    }
}

/// How a block failed.
pub(super) enum Outcome {
    Fault(Box<Fault>),
    Limit(Location),
}

impl Outcome {
    /// Whether this outcome, of block `number`, is reported rather than `old`, of block `first`.
    pub fn before(&self, number: u64, old: &Self, first: u64) -> bool {
        match (self, old) {
            (Self::Fault(_), Self::Limit(_)) => true,
            (Self::Limit(_), Self::Fault(_)) => false,
            _ => number < first,
        }
    }
}

/// The result of a step that may end the block. The failure is one pointer, so that results stay in registers.
pub(super) type Checked<T> = Result<T, Box<Outcome>>;

/// The latest allocation an instruction touched.
#[derive(Clone, Copy)]
pub(super) struct Cache<'a> {
    pub base: u64,
    pub bytes: u64,
    pub words: &'a [AtomicU32],
}

/// Hardware barriers of a block.
pub(super) const BARRIERS: usize = 16;

/// A named barrier of the block.
#[derive(Clone, Copy, Default)]
pub(super) struct Barrier {
    /// Warps that wait.
    pub waiting: u32,
    /// Warps that arrived, those that do not wait included (a count: a warp may arrive without waiting).
    pub arrived: u32,
    /// Threads that must arrive; zero means all.
    pub expected: u32,
    /// Reduction so far: and, or, count.
    pub all: bool,
    pub any: bool,
    pub count: u32,
}

/// Warp instructions for which a turn counts that a warp has waited in vain.
const WAIT: u64 = 1 << 14;

/// Everything of a block but its warps.
pub(super) struct Context<'a, 'b> {
    pub launch: &'a Launch<'a>,
    pub code: &'a Code,
    /// What watches the block. A loop that is compiled once asks for it: behind a pointer that is there or not.
    pub observer: Option<&'b mut dyn Observer>,
    pub shared: &'b mut [u32],
    /// By instruction number.
    pub caches: &'b mut [Cache<'a>],
    pub barriers: &'b mut [Barrier; BARRIERS],
    /// What barriers in shared memory await of bulk copies.
    pub transactions: &'b mut Transactions,
    pub info: BlockInfo,
    /// Warp instructions of this turn of a warp.
    pub executed: u64,
    /// Those of the block before it.
    pub clock: u64,
}

impl Context<'_, '_> {
    /// Tells whoever watches, if anybody does.
    #[inline(always)]
    pub fn tell(&mut self, event: impl FnOnce(&mut dyn Observer)) {
        if let Some(observer) = &mut self.observer {
            event(*observer);
        }
    }
}
