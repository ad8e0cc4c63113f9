//! Finds out whether there is an NVIDIA driver, and its version, without opening a device.

#![allow(unsafe_code, reason = "asks the CUDA driver for its version")]

use cudarc::driver::sys::{self, CUresult};

/// Whether the driver's library can be opened.
pub fn driver_present() -> bool {
    // SAFETY: only asks whether the library can be opened; its initialisers are the driver's own.
    unsafe { sys::is_culib_present() }
}

/// Version of the installed driver as CUDA counts it (12040 is 12.4), if there is a driver.
pub fn driver_version() -> Option<i32> {
    if !driver_present() {
        return None;
    }
    let mut version = 0;
    // SAFETY: the library is present; the pointer is to a live integer. The call needs no initialisation.
    let status = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    (status == CUresult::CUDA_SUCCESS).then_some(version)
}
