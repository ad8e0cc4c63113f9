//! What is known of a device: plain data that plans, reports and records hold.

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
