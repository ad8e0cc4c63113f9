//! What every device can do: memory, kernels, launches, time.

use std::any::Any;
use std::sync::mpsc::Sender;

use anyhow::{Context as _, Result, bail};

use super::figures::{Figures, KernelResources};
use crate::code::Code;
use plan::Launch;
use plan::info::DeviceInfo;

/// A block of device memory. Only the device that gave it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer(pub(crate) usize);

/// A loaded kernel. Only the device that gave it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelHandle(pub(crate) usize);

/// A point in the device's stream of work. Only the device that gave it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub(crate) usize);

/// The array into which an argument points, of those that a launch is given: A, B, C and the workspace. Fails if it is given none.
pub(super) fn array(arrays: &[Buffer], index: usize) -> Result<Buffer> {
    let missing = || match ["A", "B", "C"].get(index) {
        Some(name) => format!("the launch is given no memory for {name}; pass it that of A, B and C"),
        None => "the plan uses a workspace and there is none; set its workspace_elements".to_owned(),
    };
    arrays.get(index).copied().with_context(missing)
}

/// A device: memory, kernels, launches, time. Offsets and lengths are in bytes.
///
/// It is [`Any`], so that a library that runs on one kind of device can ask whether it has that kind.
pub trait Device: Any {
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
    fn load(&mut self, code: &Code, entry: &str) -> Result<KernelHandle>;

    /// What the kernel needs; a device leaves out what it does not know.
    fn resources(&self, kernel: KernelHandle) -> KernelResources;

    /// Blocks of a launch that one SM holds at a time, if the device can be asked.
    fn resident_blocks(&self, _kernel: KernelHandle, _launch: &Launch) -> Option<u32> {
        None
    }

    /// Starts a launch, whose arguments point into these arrays: A, B, C and, if it has one, the workspace. On CUDA it returns before
    /// the kernel ends.
    fn launch(&mut self, kernel: KernelHandle, launch: &Launch, arrays: &[Buffer]) -> Result<()>;

    /// Waits for all work. The error says what went wrong with it.
    fn synchronize(&mut self) -> Result<()> {
        Ok(())
    }

    /// Marks this point of the stream; `None` on the simulator, which has no clock.
    fn mark(&mut self) -> Result<Option<Mark>> {
        Ok(None)
    }

    /// Milliseconds of device time between two marks; waits for the second.
    fn elapsed_ms(&self, _from: Mark, _to: Mark) -> Result<f64> {
        bail!("the simulator has no clock; its speed is not a GPU's")
    }

    /// Holds work on the stream back until the result is dropped, so that a timed run does not wait for the host's launches;
    /// `None` if the device cannot.
    fn hold(&mut self) -> Option<Sender<()>> {
        None
    }

    /// How fast the device can be; `None` on the simulator.
    fn figures(&self) -> Option<Figures> {
        None
    }
}
