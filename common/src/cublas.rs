//! cuBLAS, the vendor's library: what the last step is measured against.

use anyhow::{Result, anyhow, ensure};
use cudarc::cublas::sys;

/// The version of the cuBLAS that is installed, or how to get one.
pub fn find() -> Result<String> {
    preload();
    // SAFETY: only asks whether the library can be opened; its initialisers are NVIDIA's.
    let present = unsafe { sys::is_culib_present() };
    ensure!(present, "{}", remedy());
    let part = |property| {
        let mut value = 0;
        // SAFETY: the library is present; the pointer is to a live integer. The call needs no handle.
        let status = unsafe { sys::cublasGetProperty(property, &raw mut value) };
        (status == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS).then_some(value).ok_or_else(|| anyhow!("cuBLAS tells no version; {}", remedy()))
    };
    use sys::libraryPropertyType_t::{MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
    Ok(format!("{}.{}.{}", part(MAJOR_VERSION)?, part(MINOR_VERSION)?, part(PATCH_LEVEL)?))
}

/// How to get cuBLAS, as the end of an error's sentence.
pub fn remedy() -> &'static str {
    "pip install nvidia-cublas-cu12 brings cuBLAS, and so does a CUDA toolkit on the library path"
}

fn preload() {}
