//! cuBLAS, the vendor's library that the last step is measured against. It multiplies matrices that are on a CUDA device already.
//!
//! It is bound here and not through cudarc because it must be opened by its path, and cudarc can only open it by name.
//! Function signatures: NVIDIA's cuBLAS documentation, "Using the cuBLAS API".

#![allow(unsafe_code, reason = "calls the C functions of cuBLAS's library")]

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::basics::driver::driver_version;
use crate::code::environments;
use crate::device::{CudaDevice, Device, FirstRun, Matrices, Product};
use compile::libraries::{Library, Opened};
use plan::Dtype;

/// Where cuBLAS may be.
const LIBRARY: Library = Library {
    so: "libcublas.so",
    dll: "cublas64_",
    wheels: &["cublas", "cu12", "cu13"],
    names: &["libcublas.so.13", "libcublas.so.12", "libcublas.so", "cublas64_13.dll", "cublas64_12.dll"],
};

/// The part of cuBLAS that holds its kernels; cuBLAS itself looks for it by name.
const LT: Library = Library { so: "libcublasLt.so", dll: "cublasLt64_", wheels: &[], names: &[] };

/// An open cuBLAS library.
struct Found {
    library: Opened,
    /// Opened first, so that the loader finds it.
    _lt: Option<Opened>,
    version: String,
}

/// The version of the cuBLAS that is installed, or how to get one.
pub fn find() -> Result<String> {
    found().map(|found| found.version.clone())
}

/// How to get cuBLAS, as the end of an error's sentence.
pub fn remedy() -> &'static str {
    "pip install nvidia-cublas-cu12 brings cuBLAS, and so does a CUDA toolkit on the library path"
}

fn found() -> Result<&'static Found> {
    static FOUND: OnceLock<Result<Found, String>> = OnceLock::new();
    FOUND.get_or_init(|| search().map_err(|error| format!("{error:#}"))).as_ref().map_err(|error| anyhow!("{error}"))
}

fn search() -> Result<Found> {
    // Without a driver it does not load, and a Python need not be started to say so.
    ensure!(driver_version().is_some(), "cuBLAS needs an NVIDIA driver; install one from nvidia.com/drivers");
    LIBRARY.first(&environments(), Found::open).ok_or_else(|| anyhow!("no cuBLAS was found; {}", remedy()))
}

impl Found {
    fn open(path: &Path) -> Result<Self> {
        let beside = path.parent().filter(|folder| folder.is_absolute()).map(|folder| LT.files_in(folder));
        let lt = beside.unwrap_or_default().iter().find_map(|lt| Opened::new(lt, "cuBLAS").ok());
        let library = Opened::new(path, "cuBLAS")?;
        type Property = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
        let mut parts = [0; 3];
        for (property, part) in parts.iter_mut().enumerate() {
            // SAFETY: the signature is cuBLAS's; the pointer is to a live integer, and the call needs no handle.
            let status = unsafe { library.get::<Property>(b"cublasGetProperty\0")?(property as c_int, part) };
            ensure!(status == 0, "cuBLAS tells no version; {}", remedy());
        }
        let [major, minor, patch] = parts;
        Ok(Self { library, _lt: lt, version: format!("{major}.{minor}.{patch}") })
    }
}

fn check(status: c_int, doing: &str) -> Result<()> {
    let name = match status {
        0 => return Ok(()),
        1 => "not initialised",
        3 => "out of memory",
        7 => "a value it does not take",
        8 => "a device it does not know",
        13 => "execution failed",
        14 => "an internal error",
        15 => "not supported",
        _ => "an unknown error",
    };
    bail!("cuBLAS fails while {doing} ({name}, status {status}); leave --baseline out, or install another version")
}

type Handle = *mut c_void;

/// `cublasSgemm`: handle, two operations, three sizes, alpha, A and B with their leading dimensions, beta, and C with its own.
type Sgemm =
    unsafe extern "C" fn(Handle, i32, i32, i32, i32, i32, *const f32, u64, i32, u64, i32, *const f32, u64, i32) -> i32;

/// cuBLAS, ready to multiply matrices that belong to the caller.
pub struct CublasProduct {
    found: &'static Found,
    handle: Handle,
    matrices: Matrices,
    first_run: FirstRun,
}

impl CublasProduct {
    /// Opens cuBLAS on the device's stream, in the library's default arithmetic: true FP32, no tensor cores. Fails if there is no
    /// cuBLAS, or if it has no such product.
    pub fn new(device: &dyn Device, matrices: &Matrices) -> Result<Self> {
        let multiplies = matrices.problem.dtype == Dtype::F32;
        ensure!(multiplies, "cuBLAS does not multiply 32-bit integers; leave --dtype i32 out to compare");
        let stream = of(device)?.raw_stream()?;
        let library = &found()?.library;
        type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
        type SetStream = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: the signature is cuBLAS's; the pointer is to a live handle.
        check(unsafe { library.get::<Create>(b"cublasCreate_v2\0")?(&raw mut handle) }, "starting")?;
        let product = Self { found: found()?, handle, matrices: *matrices, first_run: FirstRun::default() };
        // SAFETY: the signature is cuBLAS's; the handle was created above; the stream is the device's own and lives as long as the
        // device, which outlives its products.
        check(unsafe { library.get::<SetStream>(b"cublasSetStream_v2\0")?(handle, stream) }, "taking the stream")?;
        Ok(product)
    }

    /// Rounds A and B to TF32, 11 bits, and multiplies on tensor cores: faster than FP32, and far less accurate.
    pub fn in_tf32(device: &dyn Device, matrices: &Matrices) -> Result<Self> {
        const TF32_TENSOR_OP_MATH: c_int = 3;
        type SetMathMode = unsafe extern "C" fn(Handle, c_int) -> c_int;
        let product = Self::new(device, matrices)?;
        let library = &product.found.library;
        // SAFETY: the signature is cuBLAS's; the handle is live.
        let set = unsafe { library.get::<SetMathMode>(b"cublasSetMathMode\0")?(product.handle, TF32_TENSOR_OP_MATH) };
        check(set, "choosing TF32")?;
        Ok(product)
    }
}

/// The device, if it is a CUDA device.
fn of(device: &dyn Device) -> Result<&CudaDevice> {
    (device as &dyn Any).downcast_ref().context("cuBLAS runs on CUDA only; take --device cuda")
}

impl Product for CublasProduct {
    fn matrices(&self) -> &Matrices {
        &self.matrices
    }

    /// cuBLAS stores matrices by columns. Row-major C = A·B is column-major Cᵀ = Bᵀ·Aᵀ in the same memory, so the operands swap.
    fn launch(&self, device: &mut dyn Device) -> Result<()> {
        let (device, Matrices { problem, a, b, c }) = (of(device)?, self.matrices);
        let address = |buffer, elements: u64| {
            let fits = device.bytes(buffer)? >= elements * 4;
            ensure!(fits, "the matrices are smaller than the problem; allocate them for it");
            device.address(buffer)
        };
        let (a, b) = (address(a, problem.a_elements())?, address(b, problem.b_elements())?);
        let c = address(c, problem.c_elements())?;
        const NOT: c_int = 0; // transposed
        let [m, n, k] = [problem.m, problem.n, problem.k].map(|size| size as c_int);
        let (one, zero) = (&1.0_f32, &0.0_f32);
        // SAFETY: the signature is cuBLAS's, device pointers being 64-bit addresses; these are addresses of live allocations of this
        // device, as large as the problem's matrices.
        let status = unsafe {
            let multiply = self.found.library.get::<Sgemm>(b"cublasSgemm_v2\0")?;
            multiply(self.handle, NOT, NOT, n, m, k, one, b, n, a, k, zero, c, n)
        };
        check(status, "multiplying")
    }

    fn first_run(&self) -> &FirstRun {
        &self.first_run
    }
}

impl Drop for CublasProduct {
    fn drop(&mut self) {
        type Destroy = unsafe extern "C" fn(Handle) -> c_int;
        // SAFETY: the signature is cuBLAS's; the handle was created by it and is not used again.
        unsafe {
            if let Ok(destroy) = self.found.library.get::<Destroy>(b"cublasDestroy_v2\0") {
                destroy(self.handle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plan::Problem;

    use super::*;
    use crate::device::{SimDevice, SimOptions};

    #[test]
    fn what_is_no_cublas_is_not_taken_and_what_it_cannot_do_is_refused_in_one_sentence() {
        for file in [Path::new("/no/such/libcublas.so.12"), &std::env::current_exe().unwrap()] {
            assert!(Found::open(file).is_err());
        }
        let mut device = SimDevice::new(SimOptions::default());
        let mut refused = |dtype| {
            let problem = Problem { dtype, ..Problem::uniform([2, 3, 4]) };
            let matrices = Matrices::allocate(&mut device, &problem).unwrap();
            CublasProduct::new(&device, &matrices).err().unwrap().to_string()
        };
        assert_eq!(refused(Dtype::F32), "cuBLAS runs on CUDA only; take --device cuda");
        assert!(refused(Dtype::I32).contains("does not multiply 32-bit integers; leave"));
    }
}
