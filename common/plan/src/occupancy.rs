//! Computes how many blocks of a launch one SM can hold at a time, and which limit decides that.
//!
//! The rules are from NVIDIA's "CUDA C++ Programming Guide", sections "Hardware Multithreading" and "Compute Capabilities". On a
//! GPU, the driver's own count is used, and the rules only name the limit.

use serde::{Deserialize, Serialize};

/// Threads in a warp.
const WARP: u32 = 32;
/// Registers are allocated to a warp in units of this many.
const REGISTER_UNIT: u32 = 256;
/// Shared memory is allocated to a block in units of this many bytes: 128 since compute capability 8.0, 256 before.
const SHARED_UNIT: u32 = 128;

/// The limits of one SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmLimits {
    /// The most resident threads.
    pub threads: u32,
    /// The most resident blocks.
    pub blocks: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// Shared memory in bytes.
    pub shared_bytes: u32,
    /// Shared memory in bytes that the system reserves for each block.
    pub reserved_shared_bytes: u32,
}

impl SmLimits {
    /// The limits of an H100 (compute capability 9.0).
    pub const H100: Self =
        Self { threads: 2048, blocks: 32, registers: 65_536, shared_bytes: 228 * 1024, reserved_shared_bytes: 1024 };
}

/// The occupancy of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Threads per block.
    pub threads_per_block: u32,
    /// Static and dynamic shared memory per block in bytes.
    pub shared_bytes_per_block: u32,
    /// Registers per thread, or `null` if they are unknown (your own kernel on the simulator).
    pub registers_per_thread: Option<u32>,
    /// Blocks that one SM can hold at a time.
    pub blocks_per_sm: u32,
    /// Warps that one SM holds, as a share of the most that it can hold.
    pub occupancy: f64,
    /// What prevents the SM from holding one more block: `threads`, `registers`, `shared memory` or `blocks`.
    pub limited_by: String,
}

/// Computes the occupancy from a block's threads, the registers of each thread (if known), and the block's bytes of shared memory
/// (static and dynamic). `counted` is the driver's number of blocks, if there is a driver.
pub fn occupancy(threads: u32, registers: Option<u32>, shared: u32, sm: &SmLimits, counted: Option<u32>) -> Occupancy {
    let warps = threads.div_ceil(WARP).max(1);
    let mut limits = vec![("threads", sm.threads / (warps * WARP)), ("blocks", sm.blocks)];
    if let Some(registers) = registers.filter(|&registers| registers > 0) {
        let per_warp = (registers * WARP).next_multiple_of(REGISTER_UNIT);
        // An SM has four partitions with a quarter of the registers each, and a warp stays in one of them.
        limits.push(("registers", sm.registers / 4 / per_warp * 4 / warps));
    }
    let taken = (shared + sm.reserved_shared_bytes).next_multiple_of(SHARED_UNIT);
    limits.extend(sm.shared_bytes.checked_div(taken).map(|blocks| ("shared memory", blocks)));
    let (limited_by, computed) = limits.into_iter().min_by_key(|&(_, blocks)| blocks).unwrap_or(("blocks", sm.blocks));
    let blocks = counted.unwrap_or(computed);
    Occupancy {
        threads_per_block: threads,
        shared_bytes_per_block: shared,
        registers_per_thread: registers,
        blocks_per_sm: blocks,
        occupancy: f64::from(blocks * warps) / f64::from(sm.threads / WARP),
        limited_by: limited_by.into(),
    }
}

impl Occupancy {
    /// Returns the occupancy as a sentence.
    pub fn words(&self) -> String {
        let known = |registers| format!("{registers} registers a thread");
        let registers = self.registers_per_thread.map_or_else(|| "registers unknown".into(), known);
        // Registers may let fewer blocks come together.
        let at_most = if self.registers_per_thread.is_none() { "at most " } else { "" };
        format!(
            "{at_most}{} blocks an SM, {at_most}{:.0} % of its warps; limited by {} ({} threads, {} bytes of shared memory a block, {registers})",
            self.blocks_per_sm,
            self.occupancy * 100.0,
            self.limited_by,
            self.threads_per_block,
            self.shared_bytes_per_block
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_binds_in_turn() {
        for (threads, registers, shared_bytes, counted, blocks, limited_by) in [
            (1024, Some(32), 8192, None, 2, "threads"),
            (32, Some(16), 0, None, 32, "blocks"),
            (256, Some(255), 0, None, 1, "registers"),
            (128, Some(128), 0, None, 4, "registers"),
            (64, Some(32), 100 * 1024, None, 2, "shared memory"),
            // Unknown registers are no limit, and the driver's count replaces the computed one.
            (1024, None, 0, None, 2, "threads"),
            (1024, Some(32), 0, Some(1), 1, "threads"),
        ] {
            let found = occupancy(threads, registers, shared_bytes, &SmLimits::H100, counted);
            assert_eq!((found.blocks_per_sm, found.limited_by.as_str()), (blocks, limited_by));
        }
    }
}
