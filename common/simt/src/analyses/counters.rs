//! The values that the hardware's performance counters would show, in total and for each source line.
//!
//! The rules were derived from readings of an H100 (`tests/counters`): 2,278 launches of kernels, each of which makes one access of
//! a chosen shape.

use crate::analyses::work::{Work, Works};
use crate::lanes::select;
use crate::locked::lock;
use crate::observe::{
    Access, Analysis, Arrival, BlockInfo, BulkCopy, CopyAccess, Executed, LaunchInfo, Observer, SharedLoads,
    WarpgroupStep,
};
use crate::{AccessKind, Kernel, LaunchConfig, SharedLoad, Space};
use passes::{LINES, copy_sectors, copy_wavefronts, each, product_wavefronts, sectors_and_lines, wavefronts};
use ptx::lower::{Code, Facts, Merged};
use repeats::{Cost, Repeats};
use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};
use std::sync::{Arc, Mutex};

mod passes;
mod repeats;

pub use passes::{Wavefront, Wavefronts};

/// Makes [`Counts`] and everything that depends on its fields from one list of counters.
macro_rules! counts {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// Counts of a launch, or of one line of it.
        ///
        /// "Equals" means: equal to the reading of the Nsight Compute metric of that name on an H100 for the same PTX.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
        #[non_exhaustive]
        pub struct Counts {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        /// How many values [`Counts::entries`] returns: the counters, and one sum of two of them.
        const ENTRIES: usize = [$(stringify!($name)),*].len() + 1;

        impl Counts {
            /// The name of each counter, with an explanation of what it counts.
            pub const EXPLAINED: &[(&str, &str)] = &[$((stringify!($name), concat!($($doc),*))),*];

            /// Returns names and values in a fixed order, for tables and JSON.
            pub fn entries(&self) -> [(&'static str, u64); ENTRIES] {
                let shared = self.shared_load_wavefronts + self.shared_store_wavefronts;
                [$((stringify!($name), self.$name),)* ("shared_wavefronts", shared)]
            }
        }

        impl AddAssign<&Self> for Counts {
            fn add_assign(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counts! {
    /// Warp instructions of the PTX. Like `smsp__inst_executed.sum`, which counts what the assembler made of them: it merges
    /// some, splits others and adds its own, so the two differ.
    instructions,
    /// Single-precision multiply-adds by threads. Equals `smsp__sass_thread_inst_executed_op_ffma_pred_on.sum`.
    fma_threads,
    /// Floating-point operations by threads: two for a multiply-add, one for an addition, subtraction or multiplication.
    flop,
    /// Warp-wide loads from global memory in which at least one lane takes part, asynchronous copies included. Equals
    /// `l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum`.
    global_load_requests,
    /// 32-byte sectors these touch, each counted once a request. Equals
    /// `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`.
    global_load_sectors,
    /// Warp-wide stores to global memory. Equals `l1tex__t_requests_pipe_lsu_mem_global_op_st.sum`.
    global_store_requests,
    /// 32-byte sectors these touch. Equals `l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum`.
    global_store_sectors,
    /// Warp-wide atomic operations on global memory; the hardware counts them apart
    /// (`l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum` and `..._red.sum`).
    global_atomic_requests,
    /// Loads from global memory by threads, one for each lane of a request (no metric).
    global_load_threads,
    /// Bytes the threads asked to load from global memory (no metric: the hardware moves whole sectors).
    global_load_bytes,
    /// Bytes the threads asked to load from and store to global memory (no metric).
    global_bytes_requested,
    /// Warp-wide loads from shared memory, as assembled: loads of neighbouring words that the assembler merges are one (by
    /// rule: `ptx::lower::merging`). Like `smsp__inst_executed_op_shared_ld.sum`, which also has those without any lane.
    shared_load_requests,
    /// Warp-wide stores to shared memory, as assembled. Like `smsp__inst_executed_op_shared_st.sum`. Asynchronous copies are
    /// not in it; the hardware counts them in `smsp__inst_executed_op_ldgsts.sum`.
    shared_store_requests,
    /// Passes through shared memory that the loads take, and those in which `wgmma` reads its operands there, which are
    /// no requests. With `shared_store_wavefronts` it adds up to `memory_l1_wavefronts_shared`.
    shared_load_wavefronts,
    /// Passes that the stores, the atomic operations and the asynchronous copies take.
    shared_store_wavefronts,
    /// Passes beyond the fewest possible for as many bytes, in loads. With `shared_store_bank_conflicts` it adds up to
    /// `memory_l1_wavefronts_shared` minus `memory_l1_wavefronts_shared_ideal`.
    /// (`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum` carries noise from arbitration and is not it.)
    shared_load_bank_conflicts,
    /// Passes beyond the fewest possible for as many bytes, in stores and asynchronous copies.
    ///
    /// Two cases are known in which the sum differs from the reading: where the assembler unrolls a loop and only then sees that
    /// loads can be merged, and copies past the first-level cache (`cp.async.cg`) that fill with zeros under a condition that
    /// the assembler keeps in its first predicate, P0. Nsight Compute 2025.3 takes P0 for false there, and its negation for
    /// true, whatever it is.
    shared_store_bank_conflicts,
    /// Asynchronous copy instructions with at least one lane. Equals `smsp__inst_executed_op_ldgsts.sum` where every copy
    /// has one.
    copy_requests,
    /// Barrier instructions executed by warps.
    barriers,
    /// Branches at which a warp's lanes went different ways. Like
    /// `smsp__sass_branch_targets_threads_divergent.sum`, which is lower where the assembler replaces branches by predicates.
    divergent_branches,
}

impl Counts {
    /// Adds `times` equal requests to shared memory; each takes `passes` passes, and could take `fewest`.
    fn add_shared(&mut self, load: bool, times: u64, (passes, fewest): (u32, u32)) {
        let (requests, wavefronts, conflicts) = if load {
            (&mut self.shared_load_requests, &mut self.shared_load_wavefronts, &mut self.shared_load_bank_conflicts)
        } else {
            (&mut self.shared_store_requests, &mut self.shared_store_wavefronts, &mut self.shared_store_bank_conflicts)
        };
        *requests += times;
        *wavefronts += times * u64::from(passes);
        *conflicts += times * u64::from(passes - fewest);
    }

    /// Adds the floating-point operations of an instruction that `lanes` lanes execute.
    fn add_flop(&mut self, Facts { flop: (flop, fma), .. }: &Facts, lanes: u64) {
        self.flop += u64::from(*flop) * lanes;
        self.fma_threads += if *fma { lanes } else { 0 };
    }

    /// Returns the floating-point operations per byte loaded from global memory: the arithmetic intensity. Stores are left out, so
    /// that the naive kernel has 0.25 for every K. The result is 0 if nothing is loaded.
    pub fn flop_per_byte(&self) -> f64 {
        ratio(self.flop, self.global_load_bytes)
    }

    /// Returns the floating-point operations for each load from global memory by a thread, or 0 if nothing is loaded.
    pub fn flop_per_global_access(&self) -> f64 {
        ratio(self.flop, self.global_load_threads)
    }
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

/// Counts what a launch does. Pass it to [`crate::launch`], then read [`Counters::total`] and [`Counters::lines`].
#[derive(Debug, Default)]
pub struct Counters {
    kernel: Option<Kernel>,
    /// Observers that no block uses now, with the counts that they hold so far.
    idle: Idle,
    by_step: Option<Arc<Mutex<Counts>>>,
}

type Idle = Arc<Mutex<Vec<BlockCounters>>>;

impl Counters {
    /// Makes an analysis that has counted nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores the counts of each instruction in `counted` after the instruction is executed; they add up to what [`Counters::total`]
    /// returns otherwise. This is for an observer that runs after these counters, with all blocks on one host thread.
    #[must_use]
    pub fn by_step(self, counted: Arc<Mutex<Counts>>) -> Self {
        Self { by_step: Some(counted), ..self }
    }

    /// Returns the bytes of host memory that counting takes in a launch.
    pub fn bytes(kernel: &Kernel, config: &LaunchConfig) -> u64 {
        let (blocks, code) = (config.grid.count(), &kernel.code);
        let resident = config.workers(false, blocks).saturating_mul(kernel.resident_blocks(config) as u64);
        let instruction = size_of::<Counts>() + size_of::<Memo>() + size_of::<Repeats>();
        let block = code.facts.len() * instruction + code.blocks.len() * 16 + size_of::<BlockCounters>();
        blocks.min(resident).saturating_mul(block as u64)
    }

    /// Returns the counts of each instruction, by its number.
    fn instructions(&self) -> Vec<Counts> {
        let Some(Kernel { code, .. }) = &self.kernel else { return vec![] };
        let mut counts = vec![Counts::default(); code.facts.len()];
        for observer in lock(&self.idle).iter() {
            for (count, part) in counts.iter_mut().zip(&observer.counts) {
                *count += part;
            }
            for (range, &(executed, lanes)) in code.blocks.iter().zip(&observer.executed) {
                let range = range.start as usize..range.end as usize;
                for (count, facts) in counts[range.clone()].iter_mut().zip(&code.facts[range]) {
                    count.instructions += executed;
                    if !facts.guarded {
                        count.add_flop(facts, lanes);
                    }
                }
            }
        }
        counts
    }

    /// Returns the counts of the whole launch.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.instructions().iter().for_each(|count| total += count);
        total
    }

    /// Returns the blocks by the work that they do, or `None` if the kernel reads `__constant__` memory. Such loads are counted like
    /// loads from global memory, but they have a separate cache, so the work is not certain.
    pub fn works(&self) -> Option<Works> {
        let mut works = Works::default();
        let idle = lock(&self.idle);
        idle.iter().flat_map(|observer| observer.works.kinds()).for_each(|(work, blocks)| works.add(work, blocks));
        let constants = self.kernel.as_ref().is_some_and(Kernel::reads_constants);
        (!constants).then_some(works)
    }

    /// Returns the counts by source line (file number, line number), in order. Instructions without line information are under (0, 0).
    pub fn lines(&self) -> BTreeMap<(u32, u32), Counts> {
        let mut lines: BTreeMap<(u32, u32), Counts> = BTreeMap::new();
        let Some(kernel) = &self.kernel else { return lines };
        for (index, count) in (0u32..).zip(&self.instructions()) {
            if *count != Counts::default() {
                *lines.entry(kernel.source_line(index).unwrap_or_default()).or_default() += count;
            }
        }
        lines
    }
}

impl Analysis for Counters {
    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        self.kernel = Some(launch.kernel.clone());
        lock(&self.idle).clear();
    }

    fn block(&self, _: &BlockInfo) -> Vec<Box<dyn Observer>> {
        let idle = lock(&self.idle).pop();
        let mut block = idle.unwrap_or_else(|| {
            let code = self.kernel.as_ref().map(|kernel| kernel.code.clone()).unwrap_or_default();
            let instructions = code.facts.len();
            let fma = |block: &Range<u32>| {
                let facts = &code.facts[block.start as usize..block.end as usize];
                facts.iter().filter(|facts| facts.flop.1 && !facts.guarded).count() as u64
            };
            BlockCounters {
                counts: vec![Counts::default(); instructions],
                executed: vec![(0, 0); code.blocks.len()],
                memory: vec![Memo::default(); instructions],
                repeats: vec![Repeats::default(); instructions],
                fma: code.blocks.iter().map(fma).collect(),
                code,
                by_step: self.by_step.clone(),
                ..BlockCounters::default()
            }
        });
        block.home = Some(self.idle.clone());
        vec![Box::new(block)]
    }
}

/// Counts of the blocks that one observer has watched, one after another.
#[derive(Debug, Default)]
pub struct BlockCounters {
    counts: Vec<Counts>,
    /// For each basic block: how often a warp entered it, and with how many lanes in total.
    executed: Vec<(u64, u64)>,
    memory: Vec<Memo>,
    /// Indexed by the first instruction of a sequence of loads.
    repeats: Vec<Repeats>,
    /// First instructions of the sequences that this block made and that are not counted yet. Some may be listed twice.
    repeated: Vec<u32>,
    /// For each basic block, the number of multiply-adds without a guard.
    fma: Vec<u64>,
    /// Work so far of all blocks, without the multiply-adds in `fma`.
    work: Work,
    /// All work of the earlier blocks.
    before: Work,
    works: Works,
    code: Arc<Code>,
    by_step: Option<Arc<Mutex<Counts>>>,
    /// The list to which it returns when its block has ended.
    home: Option<Idle>,
}

/// The latest request of an instruction, and its cost. The next one usually differs only by a shift, and then costs the same. All
/// requests of an instruction have the same size.
#[derive(Debug, Clone, Default)]
struct Memo {
    lanes: u32,
    /// The first address modulo 128 (global memory) or 4 (shared memory).
    phase: u32,
    /// Distance of each address from the first, in bytes.
    distance: [u64; 32],
    /// Sectors and lines of global memory, or wavefronts of shared memory and the fewest possible.
    result: (u32, u32),
}

impl Memo {
    /// Returns the result for these addresses, and computes it only if the shape differs from that of the latest request.
    #[inline]
    fn look_up(&mut self, access: &Access<'_>, modulus: u64, count: impl FnOnce() -> (u32, u32)) -> (u32, u32) {
        let &Access { lanes, addresses, .. } = access;
        let first = addresses[lanes.trailing_zeros() as usize & 31];
        let phase = (first % modulus) as u32;
        let mut different = self.lanes ^ lanes | self.phase ^ phase;
        let mut distances = 0;
        // Inactive lanes do not matter. They need no test here, because their addresses are filled in so that they compare equal.
        for (&address, &distance) in addresses.iter().zip(&self.distance) {
            distances |= address.wrapping_sub(first) ^ distance;
        }
        different |= u32::from(distances != 0);
        if different != 0 {
            (self.lanes, self.phase) = (lanes, phase);
            for (distance, &address) in self.distance.iter_mut().zip(addresses) {
                *distance = address.wrapping_sub(first);
            }
            self.result = count();
        }
        self.result
    }
}

/// Returns the passes of a load or store, and the fewest possible, or `None` if the assembler merges it into another access.
#[inline]
fn shared_passes(memo: &mut Memo, merged: Merged, access: &Access<'_>) -> Option<(u32, u32)> {
    let (bytes, before) = merged.piece(access.bytes)?;
    let addresses = || access.addresses.map(|address| address.wrapping_sub(before));
    Some(memo.look_up(access, 4, || wavefronts(access.kind, access.lanes, bytes, &addresses())))
}

impl BlockCounters {
    /// Adds the loads that were repeated since they were last added.
    fn count_repeats(&mut self, first: u32) {
        let Repeats { times, costs, .. } = &mut self.repeats[first as usize];
        for &(instruction, passes) in &*costs {
            self.counts[instruction as usize].add_shared(true, *times, passes);
            self.work.add_accesses(*times, passes.0);
        }
        *times = 0;
    }

    /// Computes the cost of loads whose shape differs from that of the latest ones.
    #[cold]
    #[inline(never)]
    fn new_loads(&mut self, first: u32, loads: &SharedLoads<'_>) {
        self.count_repeats(first);
        let cost = |load: &SharedLoad| -> Option<Cost> {
            let (addresses, SharedLoad { instruction, bytes, .. }) = (loads.addresses(load), *load);
            let access = Access::shared_load(loads.warp, instruction, bytes, &addresses);
            let memo = &mut self.memory[instruction as usize];
            let merged = self.code.facts[instruction as usize].merged;
            Some((instruction, shared_passes(memo, merged, &access)?))
        };
        let costs = loads.loads.iter().filter_map(cost).collect();
        self.repeats[first as usize].replace(loads, costs);
    }
}

impl Observer for BlockCounters {
    fn executed(&mut self, step: &Executed<'_>) {
        let Some(counted) = &self.by_step else { return };
        let (facts, counts) =
            (&self.code.facts[step.instruction as usize], &mut self.counts[step.instruction as usize]);
        let mut counts = Counts { instructions: 1, ..std::mem::take(counts) };
        if !facts.guarded {
            counts.add_flop(facts, step.lanes.count_ones().into());
        }
        *lock(counted) = counts;
    }

    #[inline]
    fn enter(&mut self, _: u32, block: u32, _: u32, _: u32, lanes: u32) {
        let (executed, sum) = &mut self.executed[block as usize];
        *executed += 1;
        *sum += u64::from(lanes.count_ones());
    }

    fn guarded(&mut self, _: u32, instruction: u32, lanes: u32) {
        let facts = &self.code.facts[instruction as usize];
        self.counts[instruction as usize].add_flop(facts, lanes.count_ones().into());
        self.work.fma += u64::from(facts.flop.1 && lanes != 0);
    }

    fn branch(&mut self, _: u32, instruction: u32, taken: u32, not_taken: u32) {
        self.counts[instruction as usize].divergent_branches += u64::from(taken != 0 && not_taken != 0);
    }

    #[inline]
    fn access(&mut self, access: &Access<'_>) {
        let count = &mut self.counts[access.instruction as usize];
        let memo = &mut self.memory[access.instruction as usize];
        let threads = u64::from(access.lanes.count_ones());
        let bytes = u64::from(access.bytes) * threads;
        let load = access.kind == AccessKind::Load;
        match (access.space, access.kind) {
            (Space::Global, AccessKind::Atomic) => {
                count.global_atomic_requests += 1;
                self.work.add_accesses(1, 1);
            }
            (Space::Global, _) => {
                let (touched, lines) = memo.look_up(access, 128, || sectors_and_lines(access.lanes, access.addresses));
                self.work.add_accesses(1, if load { lines.div_ceil(LINES).max(access.bytes / 4) } else { 1 });
                count.global_bytes_requested += bytes;
                if load {
                    count.global_load_requests += 1;
                    count.global_load_sectors += u64::from(touched);
                    count.global_load_threads += threads;
                    count.global_load_bytes += bytes;
                } else {
                    count.global_store_requests += 1;
                    count.global_store_sectors += u64::from(touched);
                }
            }
            (Space::Shared, _) => {
                let merged = self.code.facts[access.instruction as usize].merged;
                let Some(passes) = shared_passes(memo, merged, access) else { return };
                self.work.add_accesses(1, passes.0);
                count.add_shared(load, 1, passes);
            }
            _ => {}
        }
    }

    fn shared_loads(&mut self, loads: &SharedLoads<'_>) {
        let Some(first) = loads.loads.first().map(|load| load.instruction) else { return };
        if !self.repeats[first as usize].same(loads) {
            self.new_loads(first, loads);
        }
        let repeats = &mut self.repeats[first as usize];
        if repeats.times == 0 {
            self.repeated.push(first);
        }
        repeats.times += 1;
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        let count = &mut self.counts[copy.instruction as usize];
        let reading = select(copy.lanes, |lane| copy.source_bytes[lane] > 0);
        count.copy_requests += 1;
        // A copy makes no request to global memory if all its lanes only fill with zeros.
        count.global_load_requests += u64::from(reading != 0);
        count.global_load_sectors += u64::from(copy_sectors(reading, copy));
        count.global_load_threads += u64::from(reading.count_ones());
        let bytes: u64 = each(reading, 0..32).map(|lane| u64::from(copy.source_bytes[lane])).sum();
        count.global_load_bytes += bytes;
        count.global_bytes_requested += bytes;
        let (passes, fewest) = copy_wavefronts(copy.lanes, reading, copy);
        self.work.add_accesses(1, passes);
        count.shared_store_wavefronts += u64::from(passes);
        count.shared_store_bank_conflicts += u64::from(passes - fewest);
    }

    fn bulk_copy(&mut self, copy: &BulkCopy) {
        // A bulk copy does not use the load and store units, so it adds neither requests nor their passes through shared memory.
        let count = &mut self.counts[copy.instruction as usize];
        count.global_load_bytes += u64::from(copy.bytes);
        count.global_bytes_requested += u64::from(copy.bytes);
    }

    fn warpgroup(&mut self, warp: u32, instruction: u32, step: WarpgroupStep<'_>) {
        if let WarpgroupStep::Multiply { pieces, own } = step {
            self.counts[instruction as usize].shared_load_wavefronts += product_wavefronts(warp, pieces.len(), own);
        }
    }

    fn barrier_arrive(&mut self, &Arrival { instruction, .. }: &Arrival) {
        self.counts[instruction as usize].barriers += 1;
    }

    fn end(mut self: Box<Self>) {
        for first in std::mem::take(&mut self.repeated) {
            self.count_repeats(first);
        }
        let fma: u64 = self.executed.iter().zip(&self.fma).map(|((times, _), fma)| times * fma).sum();
        let Work { fma: guarded, issued, passes } = self.work;
        let total = Work { fma: fma + guarded, issued: issued + fma + guarded, passes };
        self.works.add(total.since(self.before), 1);
        self.before = total;
        if let Some(home) = self.home.take() {
            lock(&home).push(*self);
        }
    }
}
