//! Properties of a device, as plain data for plans, reports and records.

use serde::{Deserialize, Serialize};

use crate::occupancy::SmLimits;

/// The kind of a device, as in the JSON report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A CUDA device.
    Cuda,
    /// The simulator, `simt`.
    Sim,
    /// The processor (step01).
    Host,
}

/// What a step may need to know about a device to plan its launches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// CUDA, simulated or host.
    pub kind: Kind,
    /// The name that the device gives itself.
    pub name: String,
    /// Compute capability as one number: 75 means 7.5, and 90 means 9.0.
    pub compute_capability: u32,
    /// Number of streaming multiprocessors.
    pub sm_count: u32,
    /// The most threads that a block may have.
    pub max_threads_per_block: u32,
    /// The most shared memory that a block may have, in bytes (on CUDA, with opt-in).
    pub max_shared_bytes: u32,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// The limits of one SM.
    pub sm: SmLimits,
    /// Whether it can compile any specialisation of a kernel, which a GPU can if NVRTC is installed. If not, a plan takes a
    /// committed specialisation. The simulator's plans always do, so that its counts are the same on every machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compiles: bool,
}

impl DeviceInfo {
    /// Returns the simulator's device. It has the sizes of an H200, which are also those of an H100: a step plans the same launches.
    pub fn simulated(memory_bytes: u64) -> Self {
        Self {
            kind: Kind::Sim,
            name: "the simulator, with the sizes of an H200".into(),
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
