//! A GPU, real or embedded, behind one small interface.
//!
//! Choosing a device never panics: what is missing is said in a sentence with its remedy.

mod cuda;
mod sim;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};

pub use cuda::{CudaDevice, cuda_devices, driver_version};
pub use sim::{SimDevice, SimOptions};

use crate::analysis::Observations;
use crate::code::Code;
use crate::cublas::Cublas;
use crate::occupancy::SmLimits;
use crate::plan::Launch;
use crate::problem::Problem;

/// Where a problem is computed, as `--device` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// CUDA when a driver and a device are there, else the simulator.
    Auto,
    /// The CUDA device of this index.
    Cuda(usize),
    /// The embedded GPU.
    Sim,
}

impl std::str::FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "sim" => Ok(Self::Sim),
            "cuda" => Ok(Self::Cuda(0)),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|index| index.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| "no such device; choose auto, cuda, cuda:N or sim".to_owned()),
        }
    }
}

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
    /// Whether any specialisation of a kernel can be compiled: on a GPU, when NVRTC is there. Where it is false a plan takes a
    /// specialisation that is committed; so does the simulator's, so that its counts are the same on every machine.
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

/// A block of device memory. Only the device that gave it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer(pub(crate) usize);

/// A loaded kernel. Only the device that gave it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(pub(crate) usize);

/// A point in the device's stream of work. Only the device that gave it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub(crate) usize);

/// An argument of a kernel as a device takes it.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// Address of a byte of a buffer.
    Pointer(Buffer, u64),
    /// A 32-bit integer.
    Int(i32),
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

/// Work on a stream is held back as long as this lives.
#[derive(Debug)]
pub struct Hold(Arc<AtomicBool>);

impl Hold {
    /// Releases the work by setting the flag.
    pub(crate) fn new(released: Arc<AtomicBool>) -> Self {
        Self(released)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
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

/// A device: memory, kernels, launches, time. Offsets and lengths are in bytes.
pub trait Device {
    /// What the device is.
    fn info(&self) -> &DeviceInfo;

    /// Bytes that can still be allocated.
    fn free_bytes(&self) -> Result<u64>;

    /// Allocates; `name` is what diagnostics call the memory ("A").
    fn alloc(&mut self, name: &str, bytes: u64) -> Result<Buffer>;

    /// Gives a buffer's memory back; the handle is dead from here on.
    fn free(&mut self, buffer: Buffer) -> Result<()>;

    /// Copies from the host.
    fn write(&mut self, buffer: Buffer, offset: u64, data: &[u8]) -> Result<()>;

    /// Copies to the host, after all launches before it.
    fn read(&mut self, buffer: Buffer, offset: u64, data: &mut [u8]) -> Result<()>;

    /// Sets every byte.
    fn fill(&mut self, buffer: Buffer, byte: u8) -> Result<()>;

    /// Loads the code and finds the kernel `entry` in it.
    fn load(&mut self, code: &Code, entry: &str) -> Result<Kernel>;

    /// What the kernel needs, as far as the device knows it.
    fn resources(&self, kernel: Kernel) -> KernelResources;

    /// Blocks of a launch that one SM holds at a time, where the device can be asked.
    fn resident_blocks(&self, kernel: Kernel, launch: &Launch) -> Option<u32>;

    /// Starts a launch. On CUDA it returns before the kernel ends.
    fn launch(&mut self, kernel: Kernel, launch: &Launch, args: &[Value]) -> Result<()>;

    /// What the analyses saw of the launches since the last call; nothing on a GPU.
    fn observations(&mut self) -> Observations {
        Observations::default()
    }

    /// Waits for all work, and says what went wrong with it.
    fn synchronize(&mut self) -> Result<()>;

    /// Marks this point of the stream; `None` where the device has no clock of its own (the simulator).
    fn mark(&mut self) -> Result<Option<Mark>>;

    /// Milliseconds of device time between two marks; waits for the second.
    fn elapsed_ms(&self, from: Mark, to: Mark) -> Result<f64>;

    /// Holds work on the stream back until the result is dropped, so that what is timed waits for no launch of the host;
    /// `None` where the device cannot.
    fn hold(&mut self) -> Option<Hold> {
        None
    }

    /// How fast the device can be, where it has a speed of its own (not the simulator).
    fn figures(&self) -> Option<Figures> {
        None
    }

    /// Opens cuBLAS on the device's stream.
    fn cublas(&mut self) -> Result<Cublas> {
        Err(anyhow!("cuBLAS runs on CUDA only; take --device cuda"))
    }

    /// Starts C = A·B with cuBLAS; the buffers are those of the problem's A, B and C.
    fn launch_cublas(&mut self, _cublas: &Cublas, _problem: &Problem, _buffers: [Buffer; 3]) -> Result<()> {
        Err(anyhow!("cuBLAS runs on CUDA only; take --device cuda"))
    }
}

/// Opens the device that was chosen.
pub fn open(choice: Choice, sim: &SimOptions) -> Result<Box<dyn Device>> {
    Ok(match choice {
        Choice::Cuda(index) => Box::new(CudaDevice::open(index)?),
        Choice::Sim => Box::new(SimDevice::new(sim.clone())),
        Choice::Auto => match CudaDevice::open(0) {
            Ok(device) => Box::new(device),
            Err(_) => Box::new(SimDevice::new(sim.clone())),
        },
    })
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
