//! How many blocks fit a multiprocessor.

use crate::entry::api;
use crate::errors::{Answer, INVALID_VALUE, NOT_SUPPORTED};
use crate::gpus::{
    BLOCKS, Gpu, MULTIPROCESSORS, REGISTERS, SHARED, SHARED_OPT_IN, SHARED_RESERVED, THREADS, THREADS_PER_BLOCK,
};
use crate::raw::{In, Out, shared_of_block};
use crate::state::{Function, State};

/// Registers of a thread, rounded up to what a warp is given. A kernel's own number is known only after machine code was made.
const REGISTERS_OF_THREAD: u32 = 32;

/// Blocks of `threads` threads, with so much dynamic shared memory, that a multiprocessor holds at once.
pub fn blocks_of(gpu: &Gpu, function: &Function, threads: u32, shared: u32) -> u32 {
    let most = function.kernel.max_threads().map_or(gpu.size(THREADS_PER_BLOCK), |[x, y, z]| x * y * z);
    let bytes = function.kernel.static_shared_bytes() + shared;
    if threads == 0 || threads > most || bytes > gpu.size(SHARED_OPT_IN) {
        return 0;
    }
    let rounded = threads.next_multiple_of(32);
    let by_threads = gpu.size(THREADS) / rounded;
    let by_registers = gpu.size(REGISTERS) / (rounded * REGISTERS_OF_THREAD);
    let by_shared = gpu.size(SHARED) / (bytes + gpu.size(SHARED_RESERVED)).max(1);
    by_threads.min(by_registers).min(by_shared).min(gpu.size(BLOCKS))
}

fn blocks(state: &State, function: u64, threads: i32, shared: u64) -> Answer<i32> {
    let threads = u32::try_from(threads).ok().filter(|&threads| threads > 0).ok_or(INVALID_VALUE)?;
    let shared = u32::try_from(shared).map_err(|_| INVALID_VALUE)?;
    Ok(blocks_of(&state.gpu, state.functions.get(function)?, threads, shared) as i32)
}

/// The block with which most threads are resident, and blocks of it that fill the device: `(blocks, threads)`.
fn best(state: &State, function: u64, shared: impl Fn(i32) -> u64, limit: i32) -> Answer<(i32, i32)> {
    let kernel = &state.functions.get(function)?.kernel;
    let most = kernel.max_threads().map_or(1024, |[x, y, z]| x * y * z) as i32;
    let most = if limit > 0 { most.min(limit) } else { most };
    let mut best = (0, 0);
    for threads in (1..=most / 32).rev().map(|warps| warps * 32).chain((most < 32).then_some(most)) {
        let resident = blocks(state, function, threads, shared(threads))?;
        if resident * threads > best.0 * best.1 {
            best = (resident, threads);
        }
    }
    Ok((best.0 * state.gpu.size(MULTIPROCESSORS) as i32, best.1))
}

type Found = (Out<i32>, Out<i32>);

fn potential(state: &State, (grid, block): Found, function: u64, callback: u64, shared: u64, limit: i32) -> Answer {
    let of = |threads| if callback == 0 { shared } else { shared_of_block(callback, threads) as u64 };
    let (blocks, threads) = best(state, function, of, limit)?;
    grid.set(blocks)?;
    block.set(threads)
}

api! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(guard, count: Out<i32>, function: u64, threads: i32, shared: u64) {
        count.set(blocks(guard, function, threads, shared)?)
    }
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        guard, count: Out<i32>, function: u64, threads: i32, shared: u64, _flags: u32,
    ) {
        count.set(blocks(guard, function, threads, shared)?)
    }
    fn cuOccupancyMaxPotentialBlockSize(
        guard, grid: Out<i32>, block: Out<i32>, function: u64, callback: u64, shared: u64, limit: i32,
    ) {
        potential(guard, (grid, block), function, callback, shared, limit)
    }
    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        guard, grid: Out<i32>, block: Out<i32>, function: u64, callback: u64, shared: u64, limit: i32, _flags: u32,
    ) {
        potential(guard, (grid, block), function, callback, shared, limit)
    }
    fn cuOccupancyAvailableDynamicSMemPerBlock(guard, bytes: Out<u64>, function: u64, count: i32, threads: i32) {
        let known = guard.functions.get(function)?;
        let count = u32::try_from(count).ok().filter(|&count| count > 0).ok_or(INVALID_VALUE)?;
        if blocks(guard, function, threads, 0)? < count as i32 {
            return Err(INVALID_VALUE);
        }
        let taken = known.kernel.static_shared_bytes() + guard.gpu.size(SHARED_RESERVED);
        let room = (guard.gpu.size(SHARED) / count).saturating_sub(taken);
        let most = guard.gpu.size(SHARED_OPT_IN).saturating_sub(known.kernel.static_shared_bytes());
        bytes.set(room.min(most).into())
    }
    fn cuOccupancyMaxPotentialClusterSize(guard, _size: Out<i32>, function: u64, _config: In<u64>) {
        guard.functions.get(function)?;
        Err(NOT_SUPPORTED)
    }
    fn cuOccupancyMaxActiveClusters(guard, _count: Out<i32>, function: u64, _config: In<u64>) {
        guard.functions.get(function)?;
        Err(NOT_SUPPORTED)
    }
}
