//! Computes, verifies and times a step on the host (step01).

use anyhow::{Context, Result};

use crate::basics::host;
use crate::code::{Source, folder_of};
use crate::measure::timing::gflops;
use crate::measure::{Baseline, Spread, Timing, capacity, time_on_host};
use crate::program::cli::Args;
use crate::program::report::Report;
use crate::verify::host_bytes;
use plan::info::{DeviceInfo, Kind};
use plan::{HostProduct, Step};

/// Runs the step on the host.
pub fn run(step: &Step, args: &Args, host: HostProduct) -> Result<Report> {
    let simulated = DeviceInfo::simulated(host::total_bytes());
    let info = DeviceInfo { kind: Kind::Host, name: host::processor(), ..simulated };
    let problem = args.problem(step.default_size.on(info.kind));
    capacity::ensure_fits_host(&problem, problem.device_bytes(0).saturating_add(host_bytes(&problem)))?;
    let source = Source::read(&folder_of(step).join("src/lib.rs"))?;
    let (verification, samples) = time_on_host(&problem, host, args.samples)?;
    let spread = Spread::of(&samples).context("no sample was taken; choose --samples from 1 on")?;
    let timing = verification.ok.then(|| Timing {
        kernel_ms: spread,
        launch_ms: spread.median,
        end_to_end_ms: spread.median,
        first_launch_ms: None,
        gflops: gflops(&problem, spread.median),
        peak_share: None,
        samples: samples.len(),
        products_per_sample: 1,
        l2: None,
    });
    let baseline = args.baseline.as_ref().map(|_| {
        Baseline::missing("this step runs on the host and cuBLAS on a CUDA device; compare a later step with it")
    });
    Ok(Report { timing, baseline, ..Report::new(step, &info, problem, source, verification) })
}
