//! Properties of a GPU, and of a kernel loaded on it, from the hardware or the driver.

use serde::{Deserialize, Serialize};

/// What a loaded kernel needs, as the driver reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelResources {
    /// Registers per thread; `None` on the simulator, whose registers are not a GPU's.
    pub registers: Option<u32>,
    /// Static shared memory per block in bytes.
    pub static_shared_bytes: u32,
    /// Local memory (spills and arrays) per thread in bytes.
    pub local_bytes: u32,
}

/// A GPU's speed as the driver reports it, for shares of a peak.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Highest clock of the SMs in MHz.
    pub clock_mhz: f64,
    /// FP32 units of an SM; each does a multiply-add per clock cycle.
    pub cores_per_sm: u32,
    /// Peak of all SMs at the highest clock in GFLOP/s; a multiply-add counts as two operations.
    pub fp32_peak_gflops: f64,
    /// Highest rate of the device memory in 10⁹ bytes a second.
    pub memory_gb_per_s: f64,
    /// L2 cache in bytes.
    pub l2_bytes: u64,
}

/// FP32 units of an SM by compute capability (CUDA C++ Programming Guide, "Arithmetic Instructions").
pub fn cores_per_sm(compute_capability: u32) -> u32 {
    match compute_capability {
        60 | 70..=80 => 64,
        _ => 128,
    }
}
