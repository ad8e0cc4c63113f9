//! What is known about a launch before it starts, and a counter of the stores while it runs.

use super::nodes::Tag;
use ptx::Dim3;
use ptx::lower::inst::Inst;
use ptx::lower::{Code, Preset};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

#[derive(Debug, Default)]
pub(super) struct Launch {
    pub(super) code: Arc<Code>,
    /// Indexed by instruction number.
    pub(super) instructions: Vec<Inst>,
    pub(super) threads: Dim3,
    pub(super) shared_words: usize,
    /// How many words have been stored to global memory so far.
    pub(super) stores: AtomicU64,
}

/// A store of a word to global memory.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)] // Of fields without a sentence: the names say it.
pub struct Store {
    /// The array's position among the allocations.
    pub array: usize,
    /// The index of the word in the array.
    pub index: u64,
    pub block: Dim3,
    pub thread: Dim3,
    pub instruction: u32,
    /// The number of the thread in its block.
    pub number: u32,
    pub(super) of_block: usize,
    pub(super) order: u64,
    pub value: Tag,
}

impl Launch {
    /// Returns the places of the kernel's constants and arguments among the registers, and whether each is 64 bits wide.
    pub(super) fn constants(&self) -> HashMap<u32, bool> {
        let known = |preset| matches!(preset, Preset::Constant(_) | Preset::Param { .. });
        let presets = self.code.presets.iter().filter(|preset| known(preset.2));
        presets.map(|&(place, wide, _)| (place, wide)).collect()
    }
}
