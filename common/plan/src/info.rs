//! What is known of a device and of a kernel on it: plain data that plans, reports and records hold.

use serde::{Deserialize, Serialize};

use crate::occupancy::SmLimits;

/// Kind of a device, as in the JSON report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A CUDA device.
    Cuda,
    /// The embedded GPU, `simt`.
    Sim,
    /// The processor (step01).
    Host,
}

/// What a step may need to know of a device to plan its launches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// CUDA, simulated or host.
    pub kind: Kind,
    /// The device's own name.
    pub name: String,
    /// Compute capability as one number: 75 is 7.5, 90 is 9.0.
    pub compute_capability: u32,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Threads a block may have.
    pub max_threads_per_block: u32,
    /// Shared memory, in bytes, that a block may have at most (opt-in on CUDA).
    pub max_shared_bytes: u32,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// What one SM has.
    pub sm: SmLimits,
    /// Whether any specialisation of a kernel can be compiled: on a GPU, when NVRTC is there. If it is false, a plan takes a
    /// specialisation that is committed. The simulator's plans always do, so that its counts are the same on every machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compiles: bool,
}

impl DeviceInfo {
    /// The device that the simulator stands for: the sizes of an H100, so that a step plans the launches it would plan there.
    pub fn simulated(memory_bytes: u64) -> Self {
        Self {
            kind: Kind::Sim,
            name: "simt, the embedded GPU (sizes of an H100)".into(),
            compute_capability: 90,
            sm_count: 132,
            max_threads_per_block: 1024,
            max_shared_bytes: 227 * 1024,
            memory_bytes,
            sm: SmLimits::H100,
            compiles: false,
        }
    }
}

/// What the hardware or the driver says of a loaded kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelResources {
    /// Registers per thread; `None` on the simulator, whose registers are not a GPU's.
    pub registers: Option<u32>,
    /// Static shared memory per block in bytes.
    pub static_shared_bytes: u32,
    /// Local memory (spills and arrays) per thread in bytes.
    pub local_bytes: u32,
}

/// What the driver says of a GPU's speed; for shares of a peak.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Highest clock of the SMs in MHz.
    pub clock_mhz: f64,
    /// FP32 units of an SM, each a multiply-add a clock.
    pub cores_per_sm: u32,
    /// Multiply-adds of all SMs at the highest clock, counted as two operations, in GFLOP/s.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_units_of_an_sm_are_those_of_nvidias_table() {
        for (capability, cores) in [(75, 64), (80, 64), (86, 128), (89, 128), (90, 128), (100, 128), (120, 128)] {
            assert_eq!(cores_per_sm(capability), cores, "compute capability {capability}");
        }
    }
}
