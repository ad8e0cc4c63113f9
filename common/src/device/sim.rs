//! The embedded GPU as a device.

use anyhow::{Context, Result, anyhow};

use super::{Buffer, Device, DeviceInfo, Kernel, KernelResources, Mark, Value};
use crate::analysis::{CounterSum, Observations};
use crate::code::Code;
use crate::fault::KernelFault;
use crate::memory;
use crate::plan::Launch;

/// What is asked of the simulator beside the product.
#[derive(Clone, Debug, Default)]
pub struct SimOptions {
    /// Warp instructions a launch may execute before it is stopped; simt's own limit where it is not given.
    pub instruction_limit: Option<u64>,
    /// Count what the hardware counts.
    pub counters: bool,
}

/// The embedded GPU.
pub struct SimDevice {
    info: DeviceInfo,
    options: SimOptions,
    memory: simt::GlobalMemory,
    buffers: Vec<Option<simt::DevicePointer>>,
    kernels: Vec<simt::Kernel>,
    counters: CounterSum,
}

impl SimDevice {
    /// A device with the host's memory.
    pub fn new(options: SimOptions) -> Self {
        let info = DeviceInfo::simulated(memory::total_bytes());
        Self {
            info,
            options,
            memory: simt::GlobalMemory::new(),
            buffers: Vec::new(),
            kernels: Vec::new(),
            counters: CounterSum::default(),
        }
    }

    fn pointer(&self, buffer: Buffer) -> Result<simt::DevicePointer> {
        self.buffers.get(buffer.0).copied().flatten().context("this memory was given back")
    }
}

/// An error of the simulator: a fault of the kernel or a limit reached ends with exit status 1, all else with 2.
fn explain(error: simt::Error) -> anyhow::Error {
    match error {
        simt::Error::Fault(_) | simt::Error::Limit(_) => anyhow::Error::new(KernelFault(error.to_string())),
        other => anyhow!("{other}"),
    }
}

impl Device for SimDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&self) -> Result<u64> {
        Ok(memory::available_bytes())
    }

    fn alloc(&mut self, name: &str, bytes: u64) -> Result<Buffer> {
        let pointer = self.memory.alloc(name, bytes, 4).map_err(explain)?;
        self.buffers.push(Some(pointer));
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn free(&mut self, buffer: Buffer) -> Result<()> {
        let pointer = self.pointer(buffer)?;
        self.buffers[buffer.0] = None;
        self.memory.free(pointer).map_err(explain)
    }

    fn write(&mut self, buffer: Buffer, offset: u64, data: &[u8]) -> Result<()> {
        let words: &[u32] =
            bytemuck::try_cast_slice(data).map_err(|_| anyhow!("matrices are copied in whole elements"))?;
        self.memory.upload(self.pointer(buffer)?, offset / 4, words).map_err(explain)
    }

    fn read(&mut self, buffer: Buffer, offset: u64, data: &mut [u8]) -> Result<()> {
        let words: &mut [u32] =
            bytemuck::try_cast_slice_mut(data).map_err(|_| anyhow!("matrices are copied in whole elements"))?;
        self.memory.download(self.pointer(buffer)?, offset / 4, words).map_err(explain)
    }

    fn fill(&mut self, buffer: Buffer, byte: u8) -> Result<()> {
        self.memory.fill(self.pointer(buffer)?, u32::from_ne_bytes([byte; 4])).map_err(explain)
    }

    fn load(&mut self, code: &Code, entry: &str) -> Result<Kernel> {
        let module = simt::Module::parse(&code.ptx).map_err(explain).with_context(|| code.origin.clone())?;
        let kernel = module.kernel(entry).map_err(explain).with_context(|| code.origin.clone())?;
        self.kernels.push(kernel);
        Ok(Kernel(self.kernels.len() - 1))
    }

    fn resources(&self, kernel: Kernel) -> KernelResources {
        let kernel = &self.kernels[kernel.0];
        KernelResources {
            registers: None,
            static_shared_bytes: kernel.static_shared_bytes(),
            local_bytes: kernel.local_bytes(),
        }
    }

    fn resident_blocks(&self, _kernel: Kernel, _launch: &Launch) -> Option<u32> {
        None
    }

    fn launch(&mut self, kernel: Kernel, launch: &Launch, args: &[Value]) -> Result<()> {
        let [x, y, z] = launch.grid;
        let [block_x, block_y, block_z] = launch.block;
        let mut config = simt::LaunchConfig::new((x, y, z), (block_x, block_y, block_z));
        config.dynamic_shared_bytes = launch.shared_bytes;
        config.shared_opt_in = true;
        if let Some(limit) = self.options.instruction_limit {
            config.instruction_limit = limit;
        }
        let args: Vec<simt::Arg> = args
            .iter()
            .map(|arg| {
                Ok(match *arg {
                    Value::Pointer(buffer, offset) => simt::Arg::Pointer(self.pointer(buffer)?.offset(offset as i64)),
                    Value::Int(value) => simt::Arg::U32(value as u32),
                })
            })
            .collect::<Result<_>>()?;
        let kernel = &self.kernels[kernel.0];
        if self.options.counters {
            let mut counters = simt::Counters::new();
            simt::launch(kernel, &mut self.memory, &config, &args, &mut counters).map_err(explain)?;
            self.counters.add(kernel, &counters);
        } else {
            simt::launch(kernel, &mut self.memory, &config, &args, &mut ()).map_err(explain)?;
        }
        Ok(())
    }

    fn observations(&mut self) -> Observations {
        let counters = std::mem::take(&mut self.counters);
        Observations { counters: self.options.counters.then(|| counters.report()) }
    }

    fn synchronize(&mut self) -> Result<()> {
        Ok(())
    }

    fn mark(&mut self) -> Result<Option<Mark>> {
        Ok(None)
    }

    fn elapsed_ms(&self, _from: Mark, _to: Mark) -> Result<f64> {
        Err(anyhow!("the simulator has no clock; its speed is not a GPU's"))
    }
}
