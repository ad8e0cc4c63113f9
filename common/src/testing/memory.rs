//! Compares the memory that a watched run is said to take with what its program takes.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::kernel::{Kernel, trial};
use crate::basics::host;
use crate::device::{Device, SimDevice, SimOptions};
use crate::measure::capacity;
use crate::verify;
use plan::{Dtype, Step};

/// Edges of the cubes that are tried: one is a multiple of the tiles, the other is not.
const EDGES: [u64; 2] = [256, 400];
/// Bytes by which two runs of one program may differ; smaller differences mean nothing.
const NOISE: u64 = 1 << 20;

/// The trial of a step, on systems that report how much memory a process has taken.
pub(super) fn trials(step: &'static Step) -> Option<Trial> {
    let kernel = Kernel { step, variant: None, dtype: Dtype::F32, compiled: false };
    let test = trial("memory::kernel::f32", move || {
        let device = SimDevice::new(SimOptions { check: true, ..SimOptions::default() });
        what_does_not_fit_is_refused(kernel, &device)?;
        checked_runs_take_what_they_are_said_to_take(kernel, &device)
    });
    let watched = step.host.is_none() && cfg!(target_os = "linux");
    watched.then(|| test.with_kind("needs the step's program"))
}

fn checked_runs_take_what_they_are_said_to_take(kernel: Kernel, device: &SimDevice) -> Result<()> {
    for edge in EDGES {
        let problem = kernel.problem([edge; 3], 1);
        // A product that one block or one thread computes is too small to measure.
        let Ok(plan) = kernel.plan(&problem, device.info()) else { continue };
        let code = kernel.source()?.code(&plan.specialisation, device.info())?;
        let said = device.analyses_bytes(&problem, &plan, &code);
        let taken = peak(kernel.step, edge, &["--check"])?.saturating_sub(peak(kernel.step, edge, &[])?);
        // The peak of a plain run is in its verification, which begins after the watched part has ended.
        let watching = taken + verify::host_bytes(&problem);
        ensure!(
            taken <= said + NOISE && said <= 2 * watching + NOISE,
            "--check of {edge}³ takes {taken} bytes, and is said to take {said}"
        );
    }
    Ok(())
}

/// A run that fits only if it is not watched is refused, in one sentence.
fn what_does_not_fit_is_refused(kernel: Kernel, device: &SimDevice) -> Result<()> {
    let most = device.free_bytes()?.min(host::total_bytes() / 4);
    // A product takes 32 bytes for each element of a matrix, and more if it is watched.
    let edge = (most.min(1 << 40) / 36).isqrt();
    let problem = kernel.problem([edge; 3], 1);
    let Ok(plan) = kernel.plan(&problem, device.info()) else { return Ok(()) };
    let code = kernel.source()?.code(&plan.specialisation, device.info())?;
    capacity::ensure_fits(&problem, Some(&plan), device, 0)?;
    let refusal = capacity::ensure_fits(&problem, Some(&plan), device, device.analyses_bytes(&problem, &plan, &code));
    let words = refusal.err().context("what does not fit was let through")?.to_string();
    ensure!(words.starts_with("to watch a problem of") && !words.contains('\n'), "{words}");
    Ok(())
}

/// The peak of memory, in bytes, of a run of the step's program.
fn peak(step: &Step, edge: u64, options: &[&str]) -> Result<u64> {
    // Cargo builds the step's program beside its tests.
    let test = std::env::current_exe()?;
    let folder = test.ancestors().nth(2).context("the test has no folder")?;
    let mut command = Command::new(folder.join(step.name));
    command.args(["--device", "sim", "--size", &edge.to_string()]).args(options);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut most = 0;
    let status = loop {
        most = most.max(peak_so_far(&run).unwrap_or(0));
        if let Some(status) = run.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    ensure!(status.success() && most > 0, "the step's program ended with {status}");
    Ok(most)
}

fn peak_so_far(run: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", run.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024 * line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?)
}
