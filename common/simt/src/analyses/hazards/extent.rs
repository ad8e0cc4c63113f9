//! How much there is to keep of a block: what decides on the bytes of its shadows.

use crate::lower::{Code, Facts, Role};
use crate::{Kernel, LaunchConfig};

/// log2 of the bytes of a unit: a word, or a byte if some access is narrower.
pub(super) fn unit(code: &Code) -> u32 {
    if code.narrow { 0 } else { 2 }
}

/// Whether fences, or accesses that acquire or release, may order threads.
pub(super) fn fenced(facts: &[Facts]) -> bool {
    facts.iter().any(|facts| facts.order.acquire || facts.order.release)
}

/// Whether some barrier is for a number of threads.
pub(super) fn counted(facts: &[Facts]) -> bool {
    facts.iter().any(|facts| facts.role == Role::CountedBarrier)
}

/// What of a kernel and its launch decides on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub warps: u64,
    /// log2 of the bytes of a unit.
    pub unit: u32,
    pub shared_bytes: u64,
    pub local_bytes: u64,
    pub has_copies: bool,
    /// Registers that are followed because they may have no value.
    pub followed_registers: u64,
    /// Registers that products of a warpgroup work on.
    pub product_registers: u64,
    /// Warps of a block that a shadow keeps for each place: two, or all of them.
    pub most_warps: u64,
    /// Blocks may wait for each other.
    pub communicates: bool,
}

impl Extent {
    pub(super) fn new(kernel: &Kernel, config: &LaunchConfig) -> Self {
        let code = &*kernel.code;
        let warps = config.block.count().div_ceil(32);
        Self {
            warps,
            unit: unit(code),
            shared_bytes: kernel.shared_bytes(config).into(),
            local_bytes: code.local_bytes.into(),
            has_copies: !code.copies.is_empty(),
            followed_registers: code.followed.into(),
            product_registers: code.products.registers.len() as u64,
            most_warps: if fenced(&code.facts) || counted(&code.facts) { warps } else { 2.min(warps) },
            communicates: code.communicates,
        }
    }

    /// The units of some bytes.
    pub(super) fn units(&self, bytes: u64) -> u64 {
        bytes.div_ceil(1 << self.unit)
    }
}
