//! What this machine can do, what it lacks, and what to do about it.

use std::fmt::Write as _;

use anyhow::Result;
use common::basics::{output, workspace};
use common::code::{find_nvrtc, find_rustc};
use common::device;
use compile::nvrtc;

/// Runs the command. Nothing that is missing is an error: the simulator needs none of it.
pub fn run() -> Result<bool> {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<10}{value}");
    };
    let driver = device::driver_version();
    let cuda = |driver: i32| format!("for CUDA {}.{}", driver / 1000, driver % 1000 / 10);
    let capability = |number: u32| format!("{}.{}", number / 10, number % 10);
    match (driver, device::cuda_devices()) {
        (driver, Ok(devices)) => {
            for (index, info) in devices.iter().enumerate() {
                let gigabytes = info.memory_bytes as f64 / (1_u64 << 30) as f64;
                let (name, capability, sms) = (&info.name, capability(info.compute_capability), info.sm_count);
                let what = format!("compute capability {capability}, {sms} SMs, {gigabytes:.1} GiB");
                line("GPU", format!("cuda:{index} is {name}: {what}"));
            }
            if let Some(driver) = driver {
                // PTX 8.1 came with CUDA 12.1; the list is in NVIDIA's PTX manual, "Release History".
                let loads = if driver >= 12010 {
                    "the committed PTX (version 8.1)"
                } else {
                    "only older PTX than the committed 8.1; update the driver (530 or newer), or install NVRTC of its own version"
                };
                line("driver", format!("{}; it loads {loads}", cuda(driver)));
            }
        }
        (None, Err(_)) => {
            let none = "none can be used, because there is no NVIDIA driver: steps run on the simulator, and no time is measured";
            line("GPU", none.into());
            line("", "if the machine has an NVIDIA GPU, install its driver from nvidia.com/drivers".into());
        }
        (Some(driver), Err(error)) => {
            line("driver", cuda(driver));
            line("GPU", format!("{error:#}"));
        }
    }
    match find_nvrtc().and_then(|found| found.try_out().map(|()| found)) {
        Ok(found) => {
            let ((major, minor), path) = (found.version, workspace::display(&found.path));
            let [first, last] = [found.targets.first(), found.targets.last()].map(|at| capability(*at.unwrap_or(&0)));
            let takes = format!("your own and edited kernels compile, for compute capability {first} to {last}");
            line("NVRTC", format!("{major}.{minor} at {path}: {takes}"));
            if driver.is_some_and(|driver| driver < (major * 1000 + minor * 10) as i32) {
                let newer = "its PTX is newer than the driver understands, so kernels are compiled to machine code";
                line("", format!("{newer}; update the driver, or pip install {}", nvrtc::PACKAGE));
            }
        }
        Err(error) => {
            let lacks = "run from committed PTX, but an edited kernel or one of yours does not compile";
            line("NVRTC", format!("none: the course's own kernels {lacks}; {error:#}"));
        }
    }
    match find_rustc() {
        Ok(found) => line("rustc", format!("{} at {}: kernels in Rust compile", found.version, found.path.display())),
        Err(error) => {
            let lacks = "run from committed PTX, but one of yours does not compile";
            line("rustc", format!("none for GPUs: the course's own kernels in Rust {lacks}; {error:#}"));
        }
    }
    let unstable = "kernels use features of Rust that are not stable, and the course sets RUSTC_BOOTSTRAP=1 for them";
    line("", format!("it need not be a nightly one: {unstable}"));
    match device::cublas::find() {
        Ok(version) => line("cuBLAS", format!("{version}: --baseline cublas compares with it")),
        Err(error) => line("cuBLAS", format!("none, so nothing is compared with the vendor's library; {error:#}")),
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    line("simulator", format!("always there, on {cores} cores; runs PTX for compute capability 9.0 and older"));
    output::print(&text).map(|()| true)
}
