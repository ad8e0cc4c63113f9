//! The properties of a kernel and its launch that determine how much host memory the shadows of a block take.

use crate::{Kernel, LaunchConfig};
use ptx::lower::Role;

#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // They are independent.
pub(super) struct Extent {
    pub warps: u64,
    /// log2 of the bytes of a unit. A unit is a word, or a byte if some access is narrower than a word.
    pub unit: u32,
    pub shared_bytes: u64,
    pub local_bytes: u64,
    pub has_copies: bool,
    /// The number of registers that are followed because they may have no value.
    pub followed_registers: u64,
    pub product_registers: u64,
    /// Whether fences, or accesses that acquire or release, may order threads.
    pub fenced: bool,
    /// Whether a shadow must keep all warps of a block for each place, instead of two.
    pub all_warps: bool,
    /// Whether blocks may wait for each other.
    pub communicates: bool,
}

impl Extent {
    pub(super) fn new(kernel: &Kernel, config: &LaunchConfig) -> Self {
        let code = &*kernel.code;
        let fenced = code.facts.iter().any(|facts| facts.order.acquire || facts.order.release);
        let counted = code.facts.iter().any(|facts| facts.role == Role::CountedBarrier);
        Self {
            warps: config.block.count().div_ceil(32),
            unit: if code.narrow { 0 } else { 2 },
            shared_bytes: kernel.shared_bytes(config).into(),
            local_bytes: code.local_bytes.into(),
            has_copies: !code.copies.is_empty(),
            followed_registers: code.followed.into(),
            product_registers: code.products.registers.len() as u64,
            fenced,
            all_warps: fenced || counted,
            communicates: code.communicates,
        }
    }

    pub(super) fn units(&self, bytes: u64) -> u64 {
        bytes.div_ceil(1 << self.unit)
    }
}
