//! The properties of a kernel and its launch that determine how much host memory the shadows of a block take.

use crate::{Kernel, LaunchConfig};
use ptx::lower::{Code, Role};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Extent {
    pub code: Arc<Code>,
    pub warps: u64,
    /// log2 of the bytes of a unit. A unit is a word, or a byte if some access is narrower than a word.
    pub unit: u32,
    pub shared_bytes: u64,
    /// Whether fences, or accesses that acquire or release, may order threads.
    pub fenced: bool,
    /// Whether a shadow must keep all warps of a block for each place, instead of two.
    pub all_warps: bool,
}

impl Extent {
    pub(super) fn new(kernel: &Kernel, config: &LaunchConfig) -> Self {
        let code = kernel.code.clone();
        let fenced = code.facts.iter().any(|facts| facts.order.acquire || facts.order.release);
        let counted = code.facts.iter().any(|facts| facts.role == Role::CountedBarrier);
        Self {
            warps: config.block.count().div_ceil(32),
            unit: if code.narrow { 0 } else { 2 },
            shared_bytes: kernel.shared_bytes(config).into(),
            fenced,
            all_warps: fenced || counted,
            code,
        }
    }

    pub(super) fn units(&self, bytes: u64) -> u64 {
        bytes.div_ceil(1 << self.unit)
    }
}
