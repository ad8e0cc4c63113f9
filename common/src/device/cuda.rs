//! CUDA through the driver, found when the program runs.
//!
//! The driver library may be missing, and calling into a missing library panics, so every path into it begins with
//! [`driver_present`].

#![allow(unsafe_code, reason = "launches kernels through the CUDA driver")]

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use cudarc::driver::sys::{
    self, CUdevice_attribute as Attribute, CUevent_flags, CUfunction_attribute as FunctionAttribute, CUresult,
};
use cudarc::driver::{CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DevicePtr, DriverError, result};
use cudarc::nvrtc::Ptx;

use super::figures::{Figures, KernelResources, cores_per_sm};
use super::interface::{Buffer, Device, KernelHandle, Mark, array};
use crate::basics::driver::driver_present;
use crate::code::{Code, find_nvrtc};
use findings::KernelFault;
use plan::info::{DeviceInfo, Kind};
use plan::occupancy::SmLimits;
use plan::{Arg, Launch};

/// Shared memory in bytes that a kernel may have without an attribute set.
const DEFAULT_SHARED_BYTES: u32 = 48 * 1024;

/// Describes each CUDA device. The error says why there is none.
pub fn cuda_devices() -> Result<Vec<DeviceInfo>> {
    (0..device_count()?).map(|index| CudaDevice::open(index).map(|device| device.info)).collect()
}

/// Loads the stand-in for the driver that was built with this test, unless there is a driver: whoever looks for one then finds it.
/// Returns whether it did.
///
/// # Errors
/// If it is not beside the test, or cannot be loaded.
#[cfg(feature = "testing")]
pub fn stand_in() -> Result<bool> {
    if driver_present() {
        return Ok(false);
    }
    let name = libloading::library_filename("simt_driver");
    let file = std::env::current_exe()?.with_file_name(name);
    // SAFETY: the library of this workspace, which does nothing when it is loaded.
    let library = unsafe { libloading::Library::new(&file) };
    // It stays for as long as the process runs, as a driver does.
    std::mem::forget(
        library.with_context(|| format!("the stand-in for the driver, {}, does not load", file.display()))?,
    );
    ensure!(driver_present(), "the stand-in for the driver is loaded, but not found by its name");
    Ok(true)
}

fn device_count() -> Result<usize> {
    ensure!(
        driver_present(),
        "no NVIDIA driver was found; install one from nvidia.com/drivers, or use --device sim, which needs none"
    );
    result::init().map_err(|error| match error.0 {
        CUresult::CUDA_ERROR_NO_DEVICE => anyhow!("the NVIDIA driver finds no GPU; use --device sim"),
        _ => anyhow!("the NVIDIA driver does not start ({}); reinstall it, or use --device sim", name_of(error)),
    })?;
    let count =
        CudaContext::device_count().map_err(|error| anyhow!("the driver counts no devices ({})", name_of(error)))?;
    ensure!(count > 0, "the NVIDIA driver finds no GPU; use --device sim");
    Ok(count as usize)
}

fn name_of(error: DriverError) -> String {
    match error.error_name() {
        Ok(name) => name.to_string_lossy().into_owned(),
        Err(_) => format!("CUDA error {}", error.0 as i32),
    }
}

/// Puts a driver's error into words for somebody who launched a kernel. An error of the kernel itself becomes a
/// [`KernelFault`].
fn explain(error: DriverError, doing: &str) -> anyhow::Error {
    let name = name_of(error);
    let remedy = "run it with --device sim --check, which names the thread and the line";
    let fault = |what: &str| anyhow::Error::new(KernelFault::new(format!("{what} ({name}); {remedy}")));
    match error.0 {
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS => fault("the kernel accessed memory outside its matrices"),
        CUresult::CUDA_ERROR_MISALIGNED_ADDRESS => fault("the kernel accessed memory at a misaligned address"),
        CUresult::CUDA_ERROR_LAUNCH_FAILED
        | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | CUresult::CUDA_ERROR_INVALID_PC
        | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUresult::CUDA_ERROR_ASSERT => fault("the kernel failed on the GPU"),
        CUresult::CUDA_ERROR_LAUNCH_TIMEOUT => fault("the kernel ran longer than the display driver allows"),
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
            anyhow!("the GPU is out of memory while {doing}; choose a smaller --size")
        }
        CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => anyhow!(
            "the block needs more registers or threads than the GPU has ({name}); choose a smaller --block or add __launch_bounds__"
        ),
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
            anyhow!("the PTX is newer than this driver understands ({name}); update the driver or use an older NVRTC")
        }
        CUresult::CUDA_ERROR_INVALID_PTX => {
            anyhow!("the driver rejects the PTX ({name}); assemble it with ptxas to see the line")
        }
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => {
            anyhow!("the kernel is compiled for another GPU ({name}); compile it for this one or use its .cu source")
        }
        _ => anyhow!("CUDA fails while {doing} ({name}); run the doctor (cargo course doctor)"),
    }
}

/// A kernel, with what each launch would otherwise ask the driver for.
struct Loaded {
    function: CudaFunction,
    /// Threads that a block of it may have, limited by its registers.
    max_threads: u64,
    /// Dynamic shared memory in bytes that it may have at present.
    shared_bytes: u32,
}

/// The longest time that work is held back on the stream: many times what a few hundred launches take.
const LONGEST_HOLD: Duration = Duration::from_millis(50);

/// Keeps the stream waiting until the sender is dropped, or for [`LONGEST_HOLD`].
///
/// # Safety
/// `receiver` must come from `Box::<Receiver<()>>::into_raw` and be passed to one call only.
unsafe extern "C" fn wait_for_release(receiver: *mut c_void) {
    // SAFETY: the caller vouches for the pointer.
    let receiver = unsafe { Box::from_raw(receiver.cast::<Receiver<()>>()) };
    // The wait ends with an error in both cases, which is what is waited for.
    let _ = receiver.recv_timeout(LONGEST_HOLD);
}

/// A CUDA device, its default stream, and what was allocated and loaded on it.
pub struct CudaDevice {
    info: DeviceInfo,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    buffers: Vec<Option<CudaSlice<u8>>>,
    kernels: Vec<Loaded>,
    marks: Vec<CudaEvent>,
}

impl CudaDevice {
    /// Opens the device of this index.
    pub fn open(index: usize) -> Result<Self> {
        let count = device_count()?;
        let there = match count {
            1 => "1 CUDA device; choose cuda:0".to_owned(),
            _ => format!("{count} CUDA devices; choose cuda:0 to cuda:{}", count - 1),
        };
        ensure!(index < count, "there is no cuda:{index}, because the machine has {there}");
        let context = CudaContext::new(index)
            .map_err(|error| anyhow!("cuda:{index} does not open ({}); another program may hold it", name_of(error)))?;
        let stream = context.default_stream();
        let info = describe(&context).map_err(|error| explain(error, "asking for the device's properties"))?;
        Ok(Self { info, context, stream, buffers: Vec::new(), kernels: Vec::new(), marks: Vec::new() })
    }

    /// The stream on which the device copies and launches.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Copies and launches on another stream from now on. Only the caller's events order the two streams.
    pub fn use_stream(&mut self, stream: Arc<CudaStream>) {
        self.stream = stream;
    }

    /// Address of a buffer in the device's memory.
    pub fn address(&self, buffer: Buffer) -> Result<u64> {
        Ok(self.slice(buffer)?.device_ptr(&self.stream).0)
    }

    /// Bytes of a buffer.
    pub(super) fn bytes(&self, buffer: Buffer) -> Result<u64> {
        Ok(self.slice(buffer)?.len() as u64)
    }

    /// The stream for a C library, which works in this thread's context; makes that the device's context.
    pub(super) fn raw_stream(&self) -> Result<*mut c_void> {
        self.context.bind_to_thread().map_err(|error| explain(error, "binding the GPU to this thread"))?;
        Ok(self.stream.cu_stream().cast())
    }

    fn slice(&self, buffer: Buffer) -> Result<&CudaSlice<u8>> {
        self.buffers.get(buffer.0).and_then(Option::as_ref).context("this memory was given back")
    }
}

fn describe(context: &Arc<CudaContext>) -> Result<DeviceInfo, DriverError> {
    let attribute = |attribute| context.attribute(attribute).map(|value| value.max(0) as u32);
    let (major, minor) = context.compute_capability()?;
    let shared = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?;
    let opt_in = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
    Ok(DeviceInfo {
        kind: Kind::Cuda,
        name: context.name()?,
        compute_capability: (major * 10 + minor) as u32,
        sm_count: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        max_threads_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_shared_bytes: shared.max(opt_in),
        memory_bytes: context.total_mem()? as u64,
        sm: SmLimits {
            threads: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            blocks: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
            registers: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
            shared_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            reserved_shared_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?,
        },
        compiles: find_nvrtc().is_ok(),
    })
}

impl Device for CudaDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&self) -> Result<u64> {
        let (free, _) = self.context.mem_get_info().map_err(|error| explain(error, "asking for free memory"))?;
        Ok(free as u64)
    }

    fn alloc(&mut self, name: &str, bytes: u64) -> Result<Buffer> {
        // SAFETY: the bytes are uninitialised; callers fill or write them, and any bit pattern is a valid u8.
        let slice = unsafe { self.stream.alloc::<u8>(bytes as usize) }
            .map_err(|error| explain(error, &format!("allocating {bytes} bytes for {name}")))?;
        self.buffers.push(Some(slice));
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn free(&mut self, buffer: Buffer) -> Result<()> {
        self.slice(buffer)?;
        self.buffers[buffer.0] = None;
        self.synchronize()
    }

    fn write(&mut self, buffer: Buffer, offset: u64, data: &[u8]) -> Result<()> {
        let stream = self.stream.clone();
        let slice = self.buffers.get_mut(buffer.0).and_then(Option::as_mut).context("this memory was given back")?;
        let range = offset as usize..offset as usize + data.len();
        let mut view = slice.try_slice_mut(range).context("a copy reaches beyond its matrix")?;
        stream.memcpy_htod(data, &mut view).map_err(|error| explain(error, "copying to the GPU"))?;
        self.synchronize()
    }

    fn read(&mut self, buffer: Buffer, offset: u64, data: &mut [u8]) -> Result<()> {
        let range = offset as usize..offset as usize + data.len();
        let view = self.slice(buffer)?.try_slice(range).context("a copy reaches beyond its matrix")?;
        self.stream.memcpy_dtoh(&view, data).map_err(|error| explain(error, "copying from the GPU"))?;
        self.synchronize()
    }

    fn fill(&mut self, buffer: Buffer, byte: u8) -> Result<()> {
        let slice = self.slice(buffer)?;
        let (bytes, address) = (slice.len(), slice.device_ptr(&self.stream).0);
        // SAFETY: the address and length are those of a live allocation of this device.
        unsafe { result::memset_d8_async(address, byte, bytes, self.stream.cu_stream()) }
            .map_err(|error| explain(error, "filling memory"))
    }

    fn load(&mut self, code: &Code, entry: &str) -> Result<KernelHandle> {
        let module = self.context.load_module(Ptx::from_src(code.ptx.clone()));
        let module = match (module, &code.cubin) {
            // NVRTC is newer than the driver: its machine code still loads where its PTX does not.
            (Err(DriverError(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION)), Some(cubin)) => {
                self.context.load_module(Ptx::from_binary(cubin.clone()))
            }
            (module, _) => module,
        };
        let module = module.map_err(|error| explain(error, &format!("loading {}", code.origin)))?;
        let function = module.load_function(entry).map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_NOT_FOUND => {
                anyhow!("{} has no kernel {entry}; declare it extern \"C\" __global__ void {entry}(...)", code.origin)
            }
            _ => explain(error, "finding the kernel"),
        })?;
        let max_threads = function.max_threads_per_block().map_or(u64::MAX, |limit| limit.max(0) as u64);
        self.kernels.push(Loaded { function, max_threads, shared_bytes: DEFAULT_SHARED_BYTES });
        Ok(KernelHandle(self.kernels.len() - 1))
    }

    fn resources(&self, kernel: KernelHandle) -> KernelResources {
        let function = &self.kernels[kernel.0].function;
        KernelResources {
            registers: function.num_regs().ok().map(|registers| registers as u32),
            static_shared_bytes: function.shared_size_bytes().unwrap_or(0) as u32,
            local_bytes: function.local_size_bytes().unwrap_or(0) as u32,
        }
    }

    fn resident_blocks(&self, kernel: KernelHandle, launch: &Launch) -> Option<u32> {
        let threads = launch.block.iter().product();
        let function = &self.kernels[kernel.0].function;
        function.occupancy_max_active_blocks_per_multiprocessor(threads, launch.shared_bytes as usize, None).ok()
    }

    fn launch(&mut self, kernel: KernelHandle, launch: &Launch, arrays: &[Buffer]) -> Result<()> {
        let loaded = &mut self.kernels[kernel.0];
        let (threads, most): (u64, u64) = (launch.block.map(u64::from).iter().product(), loaded.max_threads);
        ensure!(
            threads <= most,
            "the block has {threads} threads and this kernel can have {most} on this GPU; choose a smaller --block"
        );
        if launch.shared_bytes > loaded.shared_bytes {
            let attribute = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let (bytes, most) = (launch.shared_bytes, self.info.max_shared_bytes);
            let words = "bytes of shared memory are more than a block of this GPU can have";
            let set = loaded.function.set_attribute(attribute, bytes as i32);
            set.map_err(|_| anyhow!("{bytes} {words} ({most}); choose less"))?;
            loaded.shared_bytes = bytes;
        }
        let function = &self.kernels[kernel.0].function;
        // The driver takes an array of pointers to the arguments' values, which must live until the call returns.
        let address = |index, offset: u64| Ok(self.address(array(arrays, index)?)? + 4 * offset);
        let word = |arg: &Arg| arg.either(address, |value| Ok(u64::from(value as u32)));
        let mut words = launch.args.iter().map(word).collect::<Result<Vec<u64>>>()?;
        let mut pointers: Vec<*mut c_void> = words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
        let ([x, y, z], [block_x, block_y, block_z]) = (launch.grid, launch.block);
        // SAFETY: `code::check_signature` has compared the kernel's parameters with these arguments; a little-endian
        // 32-bit argument is the first half of its word; the buffers live as long as the device. What the kernel itself
        // does with the addresses is the learner's: a fault is reported by the driver, and stays on the device.
        unsafe {
            let (kernel, stream) = (function.cu_function(), self.stream.cu_stream());
            let (grid, block) = (launch.grid.into(), launch.block.into());
            result::launch_kernel(kernel, grid, block, launch.shared_bytes, stream, &mut pointers)
        }
        .map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_INVALID_VALUE => anyhow!(
                "the GPU does not accept a grid of {x}×{y}×{z} blocks of {block_x}×{block_y}×{block_z} threads with {} bytes of shared memory; choose a smaller --block or --shared",
                launch.shared_bytes
            ),
            _ => explain(error, "launching the kernel"),
        })
    }

    fn synchronize(&mut self) -> Result<()> {
        self.stream.synchronize().map_err(|error| explain(error, "running the kernel"))
    }

    fn mark(&mut self) -> Result<Option<Mark>> {
        let event = self.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let event = event.map_err(|error| explain(error, "making an event"))?;
        event.record(&self.stream).map_err(|error| explain(error, "recording an event"))?;
        self.marks.push(event);
        Ok(Some(Mark(self.marks.len() - 1)))
    }

    fn elapsed_ms(&self, from: Mark, to: Mark) -> Result<f64> {
        let (from, to) = (&self.marks[from.0], &self.marks[to.0]);
        from.elapsed_ms(to).map(f64::from).map_err(|error| explain(error, "running the kernel"))
    }

    fn hold(&mut self) -> Option<Sender<()>> {
        let (sender, receiver) = channel();
        let receiver = Box::into_raw(Box::new(receiver)).cast::<c_void>();
        // SAFETY: the stream is live; the function takes the receiver once, on a thread of the driver, and calls no CUDA.
        let status = unsafe { sys::cuLaunchHostFunc(self.stream.cu_stream(), Some(wait_for_release), receiver) };
        if status != CUresult::CUDA_SUCCESS {
            // SAFETY: the driver has refused the call, so that nobody else takes the receiver back.
            drop(unsafe { Box::from_raw(receiver.cast::<Receiver<()>>()) });
            return None;
        }
        Some(sender)
    }

    fn figures(&self) -> Option<Figures> {
        let number = |attribute| self.context.attribute(attribute).ok().map(f64::from).filter(|&number| number > 0.0);
        let clock_mhz = number(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)? / 1e3;
        let memory_khz = number(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).unwrap_or(0.0);
        let bus_bits = number(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH).unwrap_or(0.0);
        let cores_per_sm = cores_per_sm(self.info.compute_capability);
        Some(Figures {
            clock_mhz,
            cores_per_sm,
            fp32_peak_gflops: f64::from(self.info.sm_count) * f64::from(cores_per_sm) * 2.0 * clock_mhz / 1e3,
            // Two transfers a clock.
            memory_gb_per_s: 2.0 * memory_khz * bus_bits / 8.0 / 1e6,
            l2_bytes: number(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).unwrap_or(0.0) as u64,
        })
    }
}
