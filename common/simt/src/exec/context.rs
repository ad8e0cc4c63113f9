//! What the parts of execution share: the launch, and of a block everything but its warps; and its faults.

use super::print::Printed;
use crate::config::LaunchConfig;
use crate::error::{Fault, FaultKind, Location};
use crate::lower::Code;
use crate::memory::GlobalMemory;
use crate::module::Kernel;
use crate::observe::{Access, BlockInfo, BulkCopy, Observer};
use crate::place::{Array, Place, Space};
use std::collections::HashMap;
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
    /// A block works for as long as it does not wait for another.
    pub undisturbed: bool,
    pub params: &'a [u8],
    /// Addresses of the module's variables, by number in the program.
    pub variables: &'a [u64],
    pub shared_bytes: u32,
    /// Where all blocks meet, if the kernel asks for such a place.
    pub grid_barrier: u64,
    pub progress: Progress,
}

/// What a launch has done so far, by all workers.
#[derive(Default)]
pub(super) struct Progress {
    /// Warp instructions executed.
    pub executed: AtomicU64,
    /// Those they could have executed while all that they did was to wait.
    pub idle: AtomicU64,
    /// Those executed by blocks that did nothing but wait while another one was at work.
    pub spared: AtomicU64,
    /// Held while a 64-bit atomic operation works on its two words.
    pub atomic: Mutex<()>,
    /// What the kernel prints.
    pub printed: Mutex<Printed>,
}

impl Launch<'_> {
    /// Warp instructions that count towards the limit.
    pub fn used(&self) -> u64 {
        let Progress { executed, idle, spared, .. } = &self.progress;
        executed.load(Relaxed).saturating_add(idle.load(Relaxed)).saturating_sub(spared.load(Relaxed))
    }

    /// These warps waited and nothing happened: a wait without an end comes to the limit as a loop does.
    pub fn waits(&self, warps: u64) {
        self.progress.idle.fetch_add(warps * WAIT, Relaxed);
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

/// What the barriers in the shared memory of a block await besides arrivals, by their positions there.
pub(super) type Transactions = HashMap<u32, Awaited>;

/// What such a barrier awaits of bulk copies.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// Bytes that have been announced and have not arrived.
    pub bytes: i64,
    pub under_way: Vec<BulkCopy>,
}

/// Warp instructions for which a turn counts that a warp has waited in vain.
const WAIT: u64 = 1 << 14;

/// What shared memory holds before a kernel writes it: a NaN that shows in every result it reaches.
const GARBAGE: u32 = 0xffff_ffff;

/// Everything of a block but its warps. Its buffers are kept for the next one.
pub(super) struct Context<'a> {
    pub launch: &'a Launch<'a>,
    pub code: &'a Code,
    /// What watches the block. A loop that is compiled once asks for it: behind pointers.
    pub observers: Vec<Box<dyn Observer>>,
    pub shared: Vec<u32>,
    /// By instruction number.
    pub caches: Vec<Cache<'a>>,
    pub barriers: [Barrier; BARRIERS],
    /// What barriers in shared memory await of bulk copies.
    pub transactions: Transactions,
    pub info: BlockInfo,
    /// Warp instructions of this turn of a warp.
    pub executed: u64,
    /// In this turn of a warp something was written that another one may wait for.
    pub told: bool,
    /// Warp instructions that the block has executed before this turn: its clock.
    pub clock: u64,
}

impl<'a> Context<'a> {
    pub fn new(launch: &'a Launch<'a>, info: BlockInfo) -> Self {
        let code = &*launch.kernel.code;
        Self {
            launch,
            code,
            observers: vec![],
            shared: vec![GARBAGE; launch.shared_bytes.div_ceil(4) as usize],
            caches: vec![Cache { base: 1, bytes: 0, words: &[] }; code.facts.len()],
            barriers: [Barrier::default(); BARRIERS],
            transactions: Transactions::default(),
            info,
            executed: 0,
            told: false,
            clock: 0,
        }
    }

    /// Another block starts.
    pub fn restart(&mut self, info: BlockInfo, observers: Vec<Box<dyn Observer>>) {
        (self.info, self.observers, self.clock) = (info, observers, 0);
        self.barriers = [Barrier::default(); BARRIERS];
        self.transactions.clear();
        self.shared.fill(GARBAGE);
    }

    /// Whether anybody watches.
    #[inline(always)]
    pub fn is_watched(&self) -> bool {
        !self.observers.is_empty()
    }

    /// Tells whoever watches, if anybody does.
    #[inline(always)]
    pub fn tell(&mut self, event: impl Fn(&mut dyn Observer)) {
        for observer in &mut self.observers {
            event(&mut **observer);
        }
    }

    /// A fault of instruction `pc`, on a lane of the warp.
    #[cold]
    #[inline(never)]
    pub fn fault(&self, kind: FaultKind, pc: u32, warp: u32, lane: Option<u32>) -> Box<Outcome> {
        let block = self.launch.config.block;
        Box::new(Outcome::Fault(Box::new(Fault {
            kind,
            location: self.launch.kernel.location(pc),
            block: self.info.index,
            thread: lane.map(|lane| block.index(u64::from(warp) * 32 + u64::from(lane))),
        })))
    }

    /// The fault of the first lane whose access is misaligned, or does not lie `inside` its memory.
    #[cold]
    #[inline(never)]
    pub fn bad_access(&self, access: Access, inside: impl Fn(u64) -> bool) -> Box<Outcome> {
        let bytes = u64::from(access.bytes);
        let bad = |address: u64| !address.is_multiple_of(bytes) || !inside(address);
        let lane = (0..32).find(|&lane| access.lanes >> lane & 1 != 0 && bad(access.addresses[lane])).unwrap_or(0);
        let (address, Access { space, kind, bytes, .. }) = (access.addresses[lane], access);
        let place = match space {
            Space::Shared => self.shared_place(address),
            Space::Local => {
                let of = self.code.local_bytes.into();
                match before_start(address) {
                    Some(bytes) => Place::BeforeMemory { space, bytes, of },
                    None => Place::Byte { space, byte: address, of },
                }
            }
            Space::Param => Place::Byte { space, byte: address, of: self.launch.params.len() as u64 },
            _ => {
                let memory = self.launch.memory;
                let end = address.saturating_add(u64::from(bytes) - 1);
                // An access that starts inside and ends outside is described by its end.
                let ends_outside = memory.holding(address, 1).is_some() && address.is_multiple_of(u64::from(bytes));
                memory.place(if ends_outside { end } else { address })
            }
        };
        let kind = if address.is_multiple_of(u64::from(bytes)) {
            FaultKind::OutOfBounds { space, access: kind, bytes, place }
        } else {
            // Where it lies outside is another matter.
            let place = if inside(address) { place } else { Place::Address(address) };
            FaultKind::Misaligned { space, access: kind, bytes, place }
        };
        self.fault(kind, access.instruction, access.warp, Some(lane as u32))
    }

    pub fn shared_place(&self, address: u64) -> Place {
        let of = u64::from(self.launch.shared_bytes);
        if let Some(bytes) = before_start(address) {
            return Place::BeforeMemory { space: Space::Shared, bytes, of };
        }
        let near = match self.code.shared_array(address) {
            Some((_, array)) if address < 1 << 32 => Place::Offset {
                array: Array { name: array.source_name.clone(), space: Space::Shared },
                bytes: address - u64::from(array.offset),
            },
            _ => Place::SharedAddress(address),
        };
        match address.checked_sub(of) {
            Some(bytes) => Place::PastShared { near: near.into(), bytes, of },
            None => near,
        }
    }
}

/// How far an address lies before the start of its memory, if it was computed from a negative index, in 32 or in 64 bits.
fn before_start(address: u64) -> Option<u64> {
    let signed = if address >> 32 == 0 { i64::from(address as i32) } else { address as i64 };
    (signed < 0).then_some(signed.unsigned_abs())
}
