//! A GPU, real or embedded, behind one small interface.
//!
//! Choosing a device never panics: what is missing is said in a sentence with its remedy.

pub mod cublas;
mod cuda;
mod figures;
mod interface;
pub mod product;
mod sample;
pub mod session;
mod sim;

use std::any::Any;

use anyhow::Result;

pub use cublas::CublasProduct;
#[cfg(feature = "testing")]
pub use cuda::stand_in;
pub use cuda::{CudaDevice, cuda_devices};
pub use figures::{Figures, KernelResources, cores_per_sm};
pub use interface::{Buffer, Device, KernelHandle, Mark};
pub use product::{FirstRun, Matrices, Product};
pub use session::Session;
pub use sim::{SimDevice, SimOptions};

use findings::Observations;

pub use crate::basics::driver::driver_version;
pub use plan::info::{DeviceInfo, Kind};

/// The simulator, if the device is one.
pub fn simulator(device: &mut dyn Device) -> Option<&mut SimDevice> {
    (device as &mut dyn Any).downcast_mut()
}

/// Takes what the analyses saw of the launches since the last call; empty on a GPU.
pub fn observations(device: &mut dyn Device) -> Observations {
    simulator(device).map(SimDevice::observations).unwrap_or_default()
}

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
            _ => {
                let index = text.strip_prefix("cuda:").and_then(|index| index.parse().ok());
                index.map(Self::Cuda).ok_or_else(|| "no such device; choose auto, cuda, cuda:N or sim".to_owned())
            }
        }
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
