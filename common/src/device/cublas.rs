//! cuBLAS, the vendor's library: what the last step is measured against.
//!
//! It is bound here and not through cudarc because it must be opened by its path, and cudarc opens it by name alone.
//! Function signatures: NVIDIA's cuBLAS documentation, "Using the cuBLAS API".

#![allow(unsafe_code, reason = "calls the C functions of cuBLAS's library")]

use std::ffi::{c_float, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Result, anyhow, bail, ensure};
use libloading::Library;

use crate::basics::driver::driver_version;
use crate::basics::workspace::escaped;
use crate::code::libraries;
use plan::{Dtype, Problem};

/// Where cuBLAS may be.
const LIBRARY: libraries::Library = libraries::Library {
    so: "libcublas.so",
    dll: "cublas64_",
    wheels: &["cublas", "cu12", "cu13"],
    names: &["libcublas.so.13", "libcublas.so.12", "libcublas.so", "cublas64_13.dll", "cublas64_12.dll"],
};

/// The part of cuBLAS that holds its kernels; cuBLAS itself looks for it by name.
const LT: libraries::Library = libraries::Library { so: "libcublasLt.so", dll: "cublasLt64_", wheels: &[], names: &[] };

/// An open cuBLAS library.
struct Open {
    library: Library,
    /// Opened before, so that the loader finds it.
    _lt: Option<Library>,
    path: PathBuf,
    version: String,
}

/// The version of the cuBLAS that is installed, or how to get one.
pub fn find() -> Result<String> {
    open().map(|open| open.version.clone())
}

/// How to get cuBLAS, as the end of an error's sentence.
pub fn remedy() -> &'static str {
    "pip install nvidia-cublas-cu12 brings cuBLAS, and so does a CUDA toolkit on the library path"
}

/// Why a baseline is not computed for this problem, if cuBLAS has no such product.
pub fn refuses(problem: &Problem) -> Option<&'static str> {
    (problem.dtype == Dtype::I32)
        .then_some("cuBLAS does not multiply 32-bit integers; leave --dtype i32 out to compare")
}

fn open() -> Result<&'static Open> {
    static FOUND: OnceLock<Result<Open, String>> = OnceLock::new();
    FOUND.get_or_init(|| search().map_err(|error| format!("{error:#}"))).as_ref().map_err(|error| anyhow!("{error}"))
}

fn search() -> Result<Open> {
    // Without a driver it does not load, and a Python need not be started to say so.
    ensure!(driver_version().is_some(), "cuBLAS needs an NVIDIA driver; install one from nvidia.com/drivers");
    first_of(&LIBRARY.likely_files()).or_else(|_| first_of(&LIBRARY.python_files()))
}

/// The first of the files that is cuBLAS.
fn first_of(files: &[PathBuf]) -> Result<Open> {
    let found = files.iter().find_map(|path| Open::new(path).ok());
    found.ok_or_else(|| anyhow!("no cuBLAS was found; {}", remedy()))
}

impl Open {
    fn new(path: &Path) -> Result<Self> {
        let beside = path.parent().filter(|folder| folder.is_absolute()).map(|folder| LT.files_in(folder));
        // SAFETY: the file is named as cuBLAS's library is and lies beside it; its initialisers are NVIDIA's.
        let lt = beside.unwrap_or_default().iter().find_map(|lt| unsafe { Library::new(lt) }.ok());
        // SAFETY: the file is named as cuBLAS's library is; its initialisers are NVIDIA's.
        let library =
            unsafe { Library::new(path) }.map_err(|error| anyhow!("{} is not a library: {error}", escaped(path)))?;
        let mut open = Self { library, _lt: lt, path: path.to_owned(), version: String::new() };
        type Property = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
        let mut parts = [0; 3];
        for (property, part) in parts.iter_mut().enumerate() {
            // SAFETY: the signature is cuBLAS's; the pointer is to a live integer, and the call needs no handle.
            let status =
                unsafe { open.get::<Property>(b"cublasGetProperty\0")?(property as c_int, std::ptr::from_mut(part)) };
            ensure!(status == 0, "cuBLAS tells no version; {}", remedy());
        }
        open.version = format!("{}.{}.{}", parts[0], parts[1], parts[2]);
        Ok(open)
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `T` must be the C signature of the function `name`.
    unsafe fn get<T: Copy>(&self, name: &[u8]) -> Result<T> {
        // SAFETY: the caller vouches for the signature; the library stays open as long as the program runs.
        let symbol = unsafe { self.library.get::<T>(name) };
        Ok(*symbol.map_err(|error| anyhow!("{} is too old or not cuBLAS: {error}", escaped(&self.path)))?)
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

/// cuBLAS on a device's stream.
pub struct Cublas {
    open: &'static Open,
    handle: Handle,
    /// Version of the library.
    pub version: String,
}

impl Cublas {
    /// Opens the library for the current CUDA context; its work goes to `stream`, a `CUstream`.
    ///
    /// # Safety
    /// `stream` must be a live stream of the current context, and outlive the result.
    pub unsafe fn new(stream: *mut c_void) -> Result<Self> {
        let open = open()?;
        type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
        type SetStream = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: the signature is cuBLAS's; the pointer is to a live handle.
        check(unsafe { open.get::<Create>(b"cublasCreate_v2\0")?(&raw mut handle) }, "starting")?;
        let cublas = Self { open, handle, version: open.version.clone() };
        // SAFETY: the signature is cuBLAS's; the handle was created above, and the caller vouches for the stream.
        check(unsafe { open.get::<SetStream>(b"cublasSetStream_v2\0")?(handle, stream) }, "taking the stream")?;
        Ok(cublas)
    }

    /// Lets the library's products round A and B to TF32, 11 bits, and multiply on tensor cores.
    pub fn round_to_tf32(&self) -> Result<()> {
        const TF32_TENSOR_OP_MATH: c_int = 3;
        type SetMathMode = unsafe extern "C" fn(Handle, c_int) -> c_int;
        // SAFETY: the signature is cuBLAS's; the handle is live.
        let set = unsafe { self.open.get::<SetMathMode>(b"cublasSetMathMode\0")? };
        // SAFETY: as above.
        check(unsafe { set(self.handle, TF32_TENSOR_OP_MATH) }, "choosing TF32")
    }

    /// Starts C = A·B on the stream, in the library's default arithmetic for `f32` (true FP32, no tensor cores) unless
    /// [`Self::round_to_tf32`] was called.
    ///
    /// cuBLAS knows columns first. Row-major C = A·B is column-major Cᵀ = Bᵀ·Aᵀ in the same memory: the operands swap.
    ///
    /// # Safety
    /// `a`, `b` and `c` must be device addresses of M×K, K×N and M×N elements of type `f32`.
    pub unsafe fn product(&self, problem: &Problem, a: u64, b: u64, c: u64) -> Result<()> {
        type Sgemm = unsafe extern "C" fn(
            Handle,
            c_int,
            c_int,
            c_int,
            c_int,
            c_int,
            *const c_float,
            u64,
            c_int,
            u64,
            c_int,
            *const c_float,
            u64,
            c_int,
        ) -> c_int;
        if let Some(reason) = refuses(problem) {
            bail!("{reason}");
        }
        const NOT_TRANSPOSED: c_int = 0;
        let [m, n, k] = [problem.m, problem.n, problem.k].map(|size| size as c_int);
        let (one, zero) = (1.0_f32, 0.0_f32);
        // SAFETY: the signature is cuBLAS's, device pointers being 64-bit addresses; the caller vouches for them.
        let status = unsafe {
            self.open.get::<Sgemm>(b"cublasSgemm_v2\0")?(
                self.handle,
                NOT_TRANSPOSED,
                NOT_TRANSPOSED,
                n,
                m,
                k,
                &raw const one,
                b,
                n,
                a,
                k,
                &raw const zero,
                c,
                n,
            )
        };
        check(status, "multiplying")
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        type Destroy = unsafe extern "C" fn(Handle) -> c_int;
        // SAFETY: the signature is cuBLAS's; the handle was created by it and is not used again.
        unsafe {
            if let Ok(destroy) = self.open.get::<Destroy>(b"cublasDestroy_v2\0") {
                destroy(self.handle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_it_says_how_to_get_it() {
        let no_library = std::env::current_exe().unwrap();
        for files in [vec![], vec![PathBuf::from("/no/such/libcublas.so.12")], vec![no_library]] {
            let error = first_of(&files).err().unwrap().to_string();
            assert!(error.starts_with("no cuBLAS was found; pip install "), "{error}");
        }
    }
}
