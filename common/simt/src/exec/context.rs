//! What the parts of execution share: the launch, its faults, and everything of a block but its warps.

use super::print::Printed;
use crate::config::LaunchConfig;
use crate::memory::GlobalMemory;
use crate::module::Kernel;
use crate::observe::{Access, BlockInfo, BulkCopy, Observer};
use ptx::error::{Fault, FaultKind, Location};
use ptx::lower::Code;
use ptx::place::{Array, Place, Space};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// When blocks and warps let others run, beyond what they wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// A block lets others run when it has done something that they may wait for.
    Usual,
    /// A warp runs for as long as it does not wait for another one, and so does a block.
    Undisturbed,
    /// A warp, too, lets others run then, for several turns, so that more than one of them gets into what the first one has opened.
    Polite,
}

/// What every worker of a launch needs to know.
pub(super) struct Launch<'a> {
    pub kernel: &'a Kernel,
    pub memory: &'a GlobalMemory,
    pub config: &'a LaunchConfig,
    /// Whether its observers are told of every instruction.
    pub steps: bool,
    /// Whether blocks and warps have their turns in the opposite order.
    pub reversed: bool,
    pub manner: Manner,
    pub params: &'a [u8],
    /// Addresses of the module's variables, by number in the program.
    pub variables: &'a [u64],
    pub shared_bytes: u32,
    /// Address of the place where all blocks meet, or 0 if the kernel does not ask for it.
    pub grid_barrier: u64,
    pub progress: Progress,
}

/// What all workers together have done so far.
#[derive(Default)]
pub(super) struct Progress {
    pub executed: AtomicU64,
    /// Warp instructions that could have been executed while all warps only waited, or while a copy was started.
    pub besides: AtomicU64,
    /// Warp instructions of blocks that only waited while another one was at work. They do not count towards the limit.
    pub spared: AtomicU64,
    /// Whether all others have overtaken the warp that was held.
    pub released: AtomicBool,
    /// Held while a 64-bit atomic operation works on its two words.
    pub atomic: Mutex<()>,
    pub printed: Mutex<Printed>,
}

impl Launch<'_> {
    /// Returns the warp instructions that count towards the limit.
    pub fn used(&self) -> u64 {
        let Progress { executed, besides, spared, .. } = &self.progress;
        executed.load(Relaxed).saturating_add(besides.load(Relaxed)).saturating_sub(spared.load(Relaxed))
    }

    /// Notes that these warps waited and nothing happened. So an endless wait reaches the limit, as an endless loop does.
    pub fn waits(&self, warps: u64) {
        // The first time, the one whom all others were to overtake goes on.
        if self.config.held.is_none() || self.progress.released.swap(true, Relaxed) {
            self.progress.besides.fetch_add(warps * WAIT, Relaxed);
        }
    }
}

/// How a block failed.
pub(super) enum Outcome {
    Fault(Box<Fault>),
    Limit(Location),
}

impl Outcome {
    /// Whether this outcome, of block `number`, is reported instead of `old`, of block `first`.
    pub fn before(&self, number: u64, old: &Self, first: u64) -> bool {
        let rank = |outcome: &Self, block: u64| (matches!(outcome, Self::Limit(_)), block);
        rank(self, number) < rank(old, first)
    }
}

/// The result of a step that may end the block. The failure is one pointer, so that results stay in registers.
pub(super) type Checked<T> = Result<T, Box<Outcome>>;

/// The allocation that an instruction accessed last.
#[derive(Clone, Copy)]
pub(super) struct Cache<'a> {
    pub base: u64,
    pub bytes: u64,
    pub words: &'a [AtomicU32],
}

pub(super) const BARRIERS: usize = 16;

#[derive(Clone, Copy, Default)]
pub(super) struct Barrier {
    /// Mask of the warps that wait.
    pub waiting: u32,
    /// Number of arrivals. This is not a mask, because a warp that does not wait may arrive again.
    pub arrived: u32,
    /// Threads that must arrive, or 0 for all.
    pub expected: u32,
    /// Reduction so far: and, or, count.
    pub all: bool,
    pub any: bool,
    pub count: u32,
}

/// What the barriers in a block's shared memory wait for besides arrivals, by their positions there.
pub(super) type Transactions = HashMap<u32, Awaited>;

/// The bulk copies that such a barrier waits for.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// Bytes that were announced and have not arrived.
    pub bytes: i64,
    pub under_way: Vec<BulkCopy>,
}

/// How many warp instructions count for a turn in which a warp waited in vain.
const WAIT: u64 = 1 << 14;

/// What shared memory holds before a kernel writes it: a NaN that shows in every result it reaches.
const GARBAGE: u32 = 0xffff_ffff;

/// Everything of a block but its warps. The next block uses the same buffers.
pub(super) struct Context<'a> {
    pub launch: &'a Launch<'a>,
    pub code: &'a Code,
    /// What watches the block. Behind pointers, so that the execution loop is compiled only once.
    pub observers: Vec<Box<dyn Observer>>,
    pub shared: Vec<u32>,
    /// For each instruction, the allocation that it accessed last.
    pub caches: Vec<Cache<'a>>,
    pub barriers: [Barrier; BARRIERS],
    /// What barriers in shared memory wait for besides arrivals.
    pub transactions: Transactions,
    pub info: BlockInfo,
    /// Warp instructions that a warp has executed in this turn.
    pub executed: u64,
    /// Whether this turn of a warp wrote something that another warp may wait for.
    pub told: bool,
    /// Whether observers want to be told of each instruction that the warp is about to execute.
    pub follows: bool,
    /// The block's clock: warp instructions that it executed before this turn.
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
            follows: false,
            clock: 0,
        }
    }

    pub fn restart(&mut self, info: BlockInfo, observers: Vec<Box<dyn Observer>>) {
        (self.info, self.observers, self.clock) = (info, observers, 0);
        self.barriers = [Barrier::default(); BARRIERS];
        self.transactions.clear();
        self.shared.fill(GARBAGE);
        let reserved = self.code.reserved_bytes() as usize / 4;
        let own = self.shared.len() - reserved;
        self.shared[own..].fill(0);
    }

    #[inline(always)]
    pub fn is_watched(&self) -> bool {
        !self.observers.is_empty()
    }

    #[inline(always)]
    pub fn tell(&mut self, event: impl Fn(&mut dyn Observer)) {
        for observer in &mut self.observers {
            event(&mut **observer);
        }
    }

    /// Asks the observers, after an access, whether they want to be told of what the warp does next.
    #[inline(always)]
    pub fn ask(&mut self) {
        if !self.follows {
            self.follows = self.observers.iter().any(|observer| observer.follows());
        }
    }

    /// Returns the fault of instruction `pc` on a lane of the warp.
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

    /// Returns the fault of the first lane whose access is misaligned or not `inside` its memory.
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
            Space::Parameter => Place::Byte { space, byte: address, of: self.launch.params.len() as u64 },
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
            // An address outside of its memory is in no array that could be named.
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

/// Returns how many bytes an address lies before the start of its memory, if it is a negative number of 32 or 64 bits.
fn before_start(address: u64) -> Option<u64> {
    let signed = if address >> 32 == 0 { i64::from(address as i32) } else { address as i64 };
    (signed < 0).then_some(signed.unsigned_abs())
}
