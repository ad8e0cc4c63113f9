//! How analyses watch a launch.
//!
//! An [`Analysis`] belongs to a launch, and the host's threads share it. It makes the [`Observer`]s of every block. They belong to
//! the one host thread that runs the block, until the block has ended.
//!
//! The loop that runs a warp has a list of pointers to observers. So this library compiles the loop once, whatever
//! analyses there are, and a launch that nobody watches pays one test for each hook.
//!
//! Warps and threads are numbered in their block, and instructions in their kernel: [`Kernel::location`] returns where one is.

#![allow(missing_docs)] // Only of fields and events whose names say enough.

use crate::{AccessKind, Dim3, GlobalMemory, Kernel, LaunchConfig, Register, SharedLoad, Space};
use ptx::lower::Home;
use ptx::lower::inst::Inst;

/// The most runs of a launch that an [`Analysis`] watches.
pub(crate) const RUNS: usize = 4;

/// Makes the observers of blocks.
pub trait Analysis: Sync {
    /// Called once before the first block, with all that is known about the launch.
    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        let _ = launch;
    }

    /// Whether [`Observer::executed`] is wanted after each instruction. Instructions are then executed one by one.
    fn steps(&self) -> bool {
        false
    }

    /// Whether the findings depend on the order in which blocks run. The launch then runs all blocks on one host thread, so that
    /// their order does not depend on the host. Called after `begin`.
    fn in_order(&self) -> bool {
        false
    }

    /// The analysis that watches the launch again. If threads may wait for each other, there are three more runs, so that what is found
    /// does not depend on who comes first: one with blocks and warps in the opposite order, one in which each works for as long as it
    /// can, and one in which a warp that has told others something lets them work first. What the kernel then leaves in memory does
    /// not count.
    fn second(&mut self) -> Option<&mut dyn Analysis> {
        None
    }

    /// Called before each run after the first.
    fn begin_again(&mut self) {}

    /// Makes the observers of a block; each event goes to them in this order. An empty list lets the block run as if there were no
    /// analysis.
    fn block(&self, block: &BlockInfo) -> Vec<Box<dyn Observer>>;
}

/// A launch about to start.
#[derive(Debug, Clone, Copy)]
pub struct LaunchInfo<'a> {
    pub kernel: &'a Kernel,
    pub config: &'a LaunchConfig,
    pub memory: &'a GlobalMemory,
    /// Shared memory of a block, static and dynamic, in bytes.
    pub shared_bytes: u32,
    /// The kernel's parameters, as they are stored in memory.
    pub params: &'a [u8],
}

/// A block about to start.
#[derive(Debug, Clone, Copy)]
pub struct BlockInfo {
    pub index: Dim3,
    /// The block's linear number; x changes fastest.
    pub number: u64,
    pub threads: u32,
}

/// A warp's access to memory by one instruction, for up to 32 lanes.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    pub warp: u32,
    pub instruction: u32,
    /// Lanes that access memory; never empty.
    pub lanes: u32,
    pub kind: AccessKind,
    /// Global, shared or local.
    pub space: Space,
    /// Number of bytes that each lane accesses, 1 to 16.
    pub bytes: u32,
    /// Address of each lane; for shared memory, its position in bytes in the block's shared memory. Meaningless for lanes that
    /// are not in `lanes`.
    pub addresses: &'a [u64; 32],
    /// Lanes that write: all lanes of a store, no lane of a load, and the lanes of a compare-and-swap that swapped.
    pub written: u32,
    /// For a store, the bytes that each lane stores, from the first word on.
    pub data: Option<&'a [[u32; 4]; 32]>,
}

impl<'a> Access<'a> {
    /// An access by these lanes of a warp. All of them write, unless it is a load; `data` is left out.
    pub fn new(
        (warp, instruction, lanes): (u32, u32, u32),
        (kind, space): (AccessKind, Space),
        bytes: u32,
        addresses: &'a [u64; 32],
    ) -> Self {
        let written = if matches!(kind, AccessKind::Load | AccessKind::CopySource) { 0 } else { lanes };
        Self { warp, instruction, lanes, kind, space, bytes, addresses, written, data: None }
    }

    /// The number of a lane's thread in its block.
    #[inline]
    pub fn thread(&self, lane: usize) -> u32 {
        self.warp * 32 + lane as u32
    }

    /// A load from shared memory by all lanes of a warp.
    pub fn shared_load(warp: u32, instruction: u32, bytes: u32, addresses: &'a [u64; 32]) -> Self {
        Self::new((warp, instruction, u32::MAX), (AccessKind::Load, Space::Shared), bytes, addresses)
    }
}

/// Loads from shared memory by all lanes of a warp, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct SharedLoads<'a> {
    pub warp: u32,
    /// The instruction after them and after the computations among them.
    pub end: u32,
    pub loads: &'a [SharedLoad],
    /// The bases that the addresses are counted from: for each base, the word of each lane.
    pub bases: &'a [&'a [u32; 32]],
}

impl SharedLoads<'_> {
    /// The address of each lane in a load, in bytes.
    pub fn addresses(&self, load: &SharedLoad) -> [u64; 32] {
        let base = self.bases.get(load.base as usize).map_or([0; 32], |base| **base);
        base.map(|word| u64::from((4 * word).wrapping_add_signed(load.offset)))
    }
}

/// An asynchronous copy of a warp from global to shared memory.
#[derive(Debug, Clone, Copy)]
pub struct CopyAccess<'a> {
    pub warp: u32,
    pub instruction: u32,
    /// Lanes that copy; never empty.
    pub lanes: u32,
    /// Number of bytes that each lane writes: 4, 8 or 16.
    pub bytes: u32,
    /// Whether the copy bypasses the L1 cache (`.cg`, 16 bytes only) or goes through it (`.ca`).
    pub bypass: bool,
    /// Bytes each lane reads, at most `bytes`; the rest is filled with zeros.
    pub source_bytes: &'a [u32; 32],
    /// Global address of each lane.
    pub from: &'a [u64; 32],
    /// Position in shared memory that each lane writes to, in bytes.
    pub to: &'a [u64; 32],
}

/// Asynchronous copies by one instruction that have landed.
#[derive(Debug, Clone, Copy)]
pub struct CopyLanded<'a> {
    pub warp: u32,
    pub instruction: u32,
    /// The instruction at which they landed: a wait, unless too many copies were under way.
    pub at: u32,
    /// Never empty.
    pub lanes: u32,
    /// Number of bytes that each lane has written.
    pub bytes: u32,
    /// Position in shared memory that each lane writes to, in bytes.
    pub to: &'a [u32; 32],
}

/// A bulk copy that one thread starts, from global to shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkCopy {
    pub thread: u32,
    pub instruction: u32,
    /// A multiple of 16.
    pub bytes: u32,
    pub from: u64,
    pub to: u32,
    /// Position in shared memory of the barrier at which the bytes arrive.
    pub barrier: u32,
}

/// The instruction that a warp has just executed (or is about to), and what is now in its registers and in memory.
#[derive(Clone, Copy)]
pub struct Executed<'a> {
    pub warp: u32,
    pub instruction: u32,
    /// Lanes that executed it; 0 if its guard was false for all lanes.
    pub lanes: u32,
    /// Shared memory of the block, in words.
    pub shared: &'a [u32],
    pub memory: &'a GlobalMemory,
    pub(crate) inst: &'a Inst,
    pub(crate) registers: &'a dyn RegisterFile,
}

/// Read access to the registers of a warp.
pub(crate) trait RegisterFile {
    /// The value in each lane; zeros for a place that the warp does not have.
    fn values(&self, home: Home) -> [u64; 32];
}

impl Executed<'_> {
    /// The value of a register in each lane: 0 or 1 for a predicate, the bits for any other register.
    pub fn register(&self, register: &Register) -> [u64; 32] {
        self.registers.values(register.home)
    }
}

/// A warp arrives at a barrier of its block.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub warp: u32,
    pub instruction: u32,
    pub lanes: u32,
    pub id: u32,
    /// Number of threads that the barrier waits for; 0 means all threads of the block.
    pub threads: u32,
    /// Whether the warp waits; false for `bar.arrive`.
    pub waits: bool,
    /// Whether the barrier also combines a value of each thread (`bar.red`).
    pub reduces: bool,
}

/// What a warp does as one of the four of a warpgroup: Hopper's `wgmma`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum WarpgroupStep<'a> {
    /// From now on, products may access registers that other instructions accessed before.
    Fence,
    /// A product starts. Until the warp waits for it, it reads these pieces of shared memory, 16 bytes each.
    Multiply {
        /// Positions of the pieces; a piece that is read twice is listed twice.
        pieces: &'a [u32],
        /// Number of pieces at the front that are rows of A for this warp alone. The others are B, which all four warps share.
        own: usize,
    },
    /// Closes a group of products.
    Commit,
    /// Waits until at most `pending` groups are under way.
    Wait { pending: u32 },
}

/// Watches one block. Every method has an empty default.
#[allow(unused_variables)]
pub trait Observer {
    /// The lanes in `lanes` of a warp start a basic block: instructions `first..end`.
    fn enter(&mut self, warp: u32, block: u32, first: u32, end: u32, lanes: u32) {}
    /// A warp executes an instruction with a guard; `lanes` are those whose guard is true, possibly 0.
    fn guarded(&mut self, warp: u32, instruction: u32, lanes: u32) {}
    /// Whether [`Observer::follow`] is wanted before each further instruction of the warp that was last reported. Asked when it starts
    /// a basic block, and after an access. It holds until the warp starts the next basic block.
    fn follows(&self) -> bool {
        false
    }
    /// A warp is about to execute an instruction; `lanes` are all lanes that reach it, whatever its guard.
    fn follow(&mut self, step: &Executed<'_>) {}
    /// A shuffle gives some lanes the value of a lane that has ended or does not execute the shuffle.
    fn absent(&mut self, warp: u32, instruction: u32, lanes: u32) {}
    /// A warp executes a conditional branch; it diverges when neither set is empty.
    fn branch(&mut self, warp: u32, instruction: u32, taken: u32, not_taken: u32) {}
    fn access(&mut self, access: &Access<'_>) {}
    fn copy(&mut self, copy: &CopyAccess<'_>) {}
    /// A warp closes a group of asynchronous copies.
    fn copy_commit(&mut self, warp: u32, instruction: u32, lanes: u32) {}
    /// A warp waits until at most `pending` groups are in flight; `None` waits for all copies, in closed groups or not.
    fn copy_wait(&mut self, warp: u32, instruction: u32, lanes: u32, pending: Option<u32>) {}
    /// Copies have landed, because of a wait or because too many were under way.
    fn copy_landed(&mut self, landed: &CopyLanded<'_>) {}
    fn bulk_copy(&mut self, copy: &BulkCopy) {}
    /// A bulk copy has landed and arrives at its barrier.
    fn bulk_landed(&mut self, copy: &BulkCopy) {}
    fn barrier_arrive(&mut self, arrival: &Arrival) {}
    /// Barrier `id` is complete. The warps whose bits are set in `warps` continue.
    fn barrier_release(&mut self, id: u32, warps: u32) {}
    /// All lanes of a warp take part in what its warpgroup does.
    fn warpgroup(&mut self, warp: u32, instruction: u32, step: WarpgroupStep<'_>) {}
    /// Lanes of a warp synchronize: those in `lanes` execute the instruction, and each of them names the lanes `named`. With
    /// `exchange` they only exchange values (shuffles, votes); without it their memory accesses are also ordered (`bar.warp.sync`).
    fn warp_sync(&mut self, warp: u32, instruction: u32, lanes: u32, named: u32, exchange: bool) {}
    /// A warp loads from shared memory several times. By default, each load is reported to [`Observer::access`].
    fn shared_loads(&mut self, loads: &SharedLoads<'_>) {
        for load in loads.loads {
            self.access(&Access::shared_load(loads.warp, load.instruction, load.bytes, &loads.addresses(load)));
        }
    }
    fn fence(&mut self, warp: u32, instruction: u32, lanes: u32) {}
    fn exit(&mut self, warp: u32, instruction: u32, lanes: u32) {}
    /// A warp has executed an instruction. Called only if [`Analysis::steps`] returns true, after the other methods that report
    /// on this instruction; only the release of a barrier is reported later.
    fn executed(&mut self, step: &Executed<'_>) {}
    /// The block has ended or failed. Blocks may end in any order.
    fn end(self: Box<Self>) {}
}

impl Analysis for () {
    fn block(&self, _: &BlockInfo) -> Vec<Box<dyn Observer>> {
        vec![]
    }
}
