//! What the assembler makes of the committed PTX, for the GPU that the simulated device represents. The simulator runs PTX, so it
//! cannot know this by itself.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The compute capability for which the PTX is assembled.
pub const CAPABILITY: u32 = 90;

/// The machine code of a step's committed PTX: `ptx/assembled.json`, written by `cargo x ptx`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assembled {
    /// The architecture: `sm_90`.
    pub architecture: String,
    /// The pip packages of the assembler and of the disassembler.
    pub tools: Vec<String>,
    /// By file, the SHA-256 of its text and its kernels.
    pub files: BTreeMap<String, (String, Kernels)>,
}

/// Machine code by the name of its kernel.
pub type Kernels = BTreeMap<String, MachineCode>;

/// The machine code of a kernel.
///
/// No jump enters or leaves a basic block in its middle, so a warp that runs one of its instructions runs them all. The block with the
/// fewest other instructions for each multiply-add therefore gives a lower bound for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCode {
    /// Registers of a thread.
    pub registers: u32,
    /// Single-precision multiply-adds of that block; 0 if the kernel has none.
    pub fma: u32,
    /// Its instructions that are neither these nor accesses to memory.
    pub others: u32,
}

impl Assembled {
    /// Name of the file in a step's `ptx/` folder.
    pub const FILE: &str = "assembled.json";

    /// Reads the file of a `ptx/` folder; empty if there is none.
    pub fn read(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join(Self::FILE)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

impl MachineCode {
    /// The least number of instructions that come with each multiply-add, without accesses to memory.
    pub fn others_per_fma(&self) -> f64 {
        if self.fma == 0 { 0.0 } else { f64::from(self.others) / f64::from(self.fma) }
    }
}
