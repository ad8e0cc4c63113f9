//! Moves panels between GPUs: NCCL broadcasts them along the rows and columns of the grid.
//!
//! NCCL's library may be missing, and a call into a missing library panics, so every path into it starts at [`present`].

#![allow(unsafe_code, reason = "calls NCCL, and asks it to move memory that this program allocated")]

use std::ffi::{CStr, c_int};

use anyhow::{Context, Result, anyhow};
use common::basics::Side;
use common::code::environments;
use common::device::Buffer;
use compile::libraries::Library;
use cudarc::nccl::result::{self, NcclError};
use cudarc::nccl::sys;

use super::{Grid, Plan, Streams};

/// Where NVIDIA's packages put NCCL.
const LIBRARY: Library = Library { so: "libnccl.so", dll: "nccl64_", wheels: &["nccl", "cu12", "cu13"], names: &[] };

/// Fails if NCCL cannot be opened; the error says how to get it.
fn present() -> Result<()> {
    // SAFETY: only asks whether the library can be opened; its initialisers are NVIDIA's.
    if unsafe { sys::is_culib_present() } {
        return Ok(());
    }
    match LIBRARY.first(&environments(), |file| file.is_file().then(|| file.to_owned()).context("no file is there")) {
        Some(file) => Err(anyhow!(
            "NCCL is at {file}, where the loader does not look; ln -s {file} libnccl.so in a folder, and name the folder in LD_LIBRARY_PATH",
            file = file.display()
        )),
        None => Err(anyhow!(
            "no NCCL was found, and GPUs need it to exchange panels; pip install nvidia-nccl-cu12, or add --device sim for simulated GPUs"
        )),
    }
}

/// Tells NCCL what it may use, before the first call to it. NVLink multicast (NVLS) is off unless the user asks for it: on shared
/// machines, a program that ends in the middle of a multicast can take the switch out of service for others. NCCL also copies
/// through its own memory, because panels come from the driver's pools, which are not mapped on other GPUs.
pub fn configure(multicast: bool) {
    // SAFETY: called at the start of the program, while it has one thread.
    unsafe {
        std::env::set_var("NCCL_NVLS_ENABLE", if multicast { "1" } else { "0" });
        std::env::set_var("NCCL_P2P_DIRECT_DISABLE", "1");
    }
}

fn explain(error: &NcclError, doing: &str) -> anyhow::Error {
    // SAFETY: both return pointers to static texts of the library, and take no communicator.
    let [name, last] = unsafe {
        [sys::ncclGetErrorString(error.0), sys::ncclGetLastError(std::ptr::null_mut())].map(|text| {
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().trim().to_owned() }
        })
    };
    let detail = if last.is_empty() { String::new() } else { format!(": {last}") };
    anyhow!("NCCL fails while {doing} ({name}{detail}); set NCCL_DEBUG=WARN to see what it says")
}

/// The connections of each GPU with the others of its row and of its column.
pub struct Nccl {
    /// One for each rank; `None` on a line of one GPU.
    lines: [Vec<Option<sys::ncclComm_t>>; 2],
}

impl Nccl {
    /// Connects the GPUs of this process. Rank i is the CUDA device with index i.
    pub fn connect(grid: Grid) -> Result<Self> {
        let mut nccl = Self { lines: Side::BOTH.map(|_| vec![None; grid.gpus()]) };
        if grid.gpus() > 1 {
            present()?;
        }
        for (side, lines) in Side::BOTH.into_iter().zip(&mut nccl.lines) {
            for rank in 0..grid.gpus() {
                let line = grid.line(side, rank);
                // A line is connected once, at its first rank.
                if line.len() == 1 || line[0] != rank {
                    continue;
                }
                let devices: Vec<c_int> = line.iter().map(|&rank| rank as c_int).collect();
                let mut comms = vec![std::ptr::null_mut(); line.len()];
                // SAFETY: both have as many places as the line has GPUs.
                unsafe { result::comm_init_all(comms.as_mut_ptr(), line.len() as c_int, devices.as_ptr()) }
                    .map_err(|error| explain(&error, "connecting the GPUs"))?;
                line.into_iter().zip(comms).for_each(|(rank, comm)| lines[rank] = Some(comm));
            }
        }
        Ok(nccl)
    }

    /// Enqueues the journey of a panel on all GPUs, each with its rank, its streams, and the buffer where the panel is or arrives.
    pub fn travel<'a>(
        &self,
        plan: &Plan,
        side: Side,
        panel: usize,
        gpus: impl Iterator<Item = (usize, &'a mut Streams, Buffer)>,
    ) -> Result<()> {
        let lines = &self.lines[side as usize];
        if lines.iter().all(Option::is_none) {
            return Ok(());
        }
        let explain = |error: NcclError| explain(&error, "sending a panel");
        // The calls form a group, because a call for a single GPU may wait for the others.
        result::group_start().map_err(explain)?;
        for (rank, gpu, buffer) in gpus {
            let Some(comm) = lines[rank] else { continue };
            let address = gpu.bind()?.address(buffer)? as *mut _;
            let bytes = plan.panel_bytes(side, panel, rank) as usize;
            let (root, stream) = (plan.root(side, panel) as c_int, gpu.travel.cu_stream().cast());
            let byte = sys::ncclDataType_t::ncclUint8;
            // SAFETY: the address is that of a live buffer of at least `bytes` bytes, which nothing else uses until the events that
            // follow. The sender's data is already at its address.
            unsafe { result::broadcast(address, address, bytes, byte, root, comm, stream) }.map_err(explain)?;
        }
        result::group_end().map_err(explain)?;
        Ok(())
    }

    pub fn name(&self) -> String {
        if self.lines.iter().flatten().all(Option::is_none) {
            return "one GPU, so that none travels".into();
        }
        let version = result::get_nccl_version().unwrap_or(0);
        format!("NCCL {}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        for comm in self.lines.iter().flatten().flatten() {
            // SAFETY: the communicator belongs to this value and is not used again. Its status no longer matters.
            let _ = unsafe { result::comm_abort(*comm) };
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_missing_nccl_is_said() {
        if let Err(error) = super::present() {
            let error = error.to_string();
            assert!(error.contains("NCCL") && error.contains(';'), "{error}");
        }
    }
}
