//! The host driver of a step computes right products of any shape, on the simulator and, for a step of the host, on the host.

use anyhow::{Result, ensure};
use clap::Parser as _;
use libtest_mimic::Trial;

use super::kernel::trial;
use super::shapes::{SHAPES, SMALL_SHAPES, TALL};
use crate::program::cli::Args;
use crate::program::{Driver, reported};
use plan::{DeviceInfo, Dtype, Problem, Step};

/// The trials of a driver, one for each type of elements.
pub(super) fn trials(step: &'static Step, driver: Driver) -> impl Iterator<Item = Trial> {
    let name = |dtype| format!("driver::{dtype}");
    [Dtype::F32, Dtype::I32].into_iter().map(move |dtype| trial(name(dtype), move || shapes(step, driver, dtype)))
}

fn shapes(step: &Step, driver: Driver, dtype: Dtype) -> Result<()> {
    let places: &[&str] = if step.host.is_some() { &["auto", "sim"] } else { &["sim"] };
    let mut ran = 0;
    for (place, [m, n, k]) in
        places.iter().flat_map(|place| SHAPES.iter().chain(SMALL_SHAPES).map(move |size| (place, size)))
    {
        // Larger ones show nothing more of a driver, and would take a single thread of the simulator seconds.
        if m * n * k > if step.host.is_some() && *place == "sim" { 100_000 } else { 300_000 } {
            continue;
        }
        ran += usize::from(is_right(step, driver, &format!("--device {place} --size {m}x{n}x{k} --dtype {dtype}"))?);
    }
    ensure!(ran > 3, "the driver takes {ran} of the shapes; give it some in SHAPES");
    let [m, n, k] = TALL;
    let tall = (step.plan)(&Problem::uniform(TALL), &DeviceInfo::simulated(u64::MAX));
    if dtype == Dtype::I32 || tall.is_ok_and(|plan| plan.launches.len() < 2) {
        return Ok(());
    }
    is_right(step, driver, &format!("--device {} --size {m}x{n}x{k} --dtype {dtype}", places[0])).map(drop)
}

/// Whether the step takes the problem; fails if its driver's product is wrong.
fn is_right(step: &Step, driver: Driver, options: &str) -> Result<bool> {
    let args = Args::try_parse_from([step.name].into_iter().chain(options.split(' ')))?;
    let report = match reported(step, None, &args, driver) {
        // The limits of a step name another one.
        Err(limit) if format!("{limit:#}").contains("or step04_tiled") => return Ok(false),
        report => report?,
    };
    ensure!(report.verification.ok, "{options}: {}", report.verification.words(None));
    Ok(true)
}
