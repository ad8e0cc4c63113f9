//! A GPU, real or embedded, behind one small interface.
//!
//! Choosing a device never panics: what is missing is said in a sentence with its remedy.

mod choice;
mod cuda;
mod interface;
mod sim;

use anyhow::Result;

pub use choice::Choice;
pub use cuda::{CudaDevice, cuda_devices};
pub use interface::{Buffer, Device, Hold, Kernel, Mark, Value};
pub use sim::{SimDevice, SimOptions};

pub use crate::driver::driver_version;
pub use crate::info::{DeviceInfo, Figures, KernelResources, Kind, cores_per_sm};

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
