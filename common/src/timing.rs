//! Time on the device: events around the launches, after a warm-up, several samples.

use std::time::Instant;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::exec::Session;
use crate::matrix::Operands;
use crate::problem::Problem;

/// Samples where `--samples` is not given, as long as they take no more than [`SAMPLE_SECONDS`].
const DEFAULT_SAMPLES: usize = 20;
/// Fewest samples a median is taken of where `--samples` is not given.
const LEAST_SAMPLES: usize = 5;
const SAMPLE_SECONDS: f64 = 3.0;
/// Launches before the first sample: clocks rise, caches and the driver's lists fill.
const WARM_UPS: usize = 3;

/// Least, middle and greatest of some samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The fastest sample.
    pub min: f64,
    /// The middle sample, or the mean of the two.
    pub median: f64,
    /// The slowest sample.
    pub max: f64,
}

impl Spread {
    /// Of at least one sample.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let half = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) };
        Some(Self { min, median, max })
    }
}

/// Three times that are easily mistaken for each other, in milliseconds, and what follows from the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Between device events right before and right after the launches.
    pub kernel_ms: Spread,
    /// On the host's clock: launch, run and wait (median).
    pub launch_ms: f64,
    /// On the host's clock: A and B to the device, launch, run, C back to the host (one run).
    pub end_to_end_ms: f64,
    /// 10⁹ floating-point operations a second, by the median of `kernel_ms`.
    pub gflops: f64,
    /// Samples taken.
    pub samples: usize,
}

/// 2·M·N·K operations over a time in milliseconds, in GFLOP/s.
pub fn gflops(problem: &Problem, ms: f64) -> f64 {
    problem.flop() / (ms * 1e6)
}

/// One sample: device time of the product, in milliseconds.
pub fn sample(device: &mut dyn Device, session: &Session) -> Result<f64> {
    let Some(before) = device.mark()? else { bail!("the simulator has no clock; its speed is not a GPU's") };
    session.launch(device)?;
    let Some(after) = device.mark()? else { bail!("the device lost its clock; run again") };
    device.elapsed_ms(before, after)
}

/// Times a product that is verified already.
pub fn time(
    device: &mut dyn Device,
    session: &Session,
    operands: &Operands,
    problem: &Problem,
    samples: Option<usize>,
) -> Result<Timing> {
    let begin = Instant::now();
    session.upload(device, operands)?;
    session.launch(device)?;
    read_all(device, session, problem)?;
    let end_to_end_ms = begin.elapsed().as_secs_f64() * 1e3;

    let mut warm_up = 0.0;
    for _ in 0..WARM_UPS {
        warm_up = sample(device, session)?;
    }
    let affordable = (SAMPLE_SECONDS * 1e3 / warm_up.max(1e-6)) as usize;
    let count = samples.unwrap_or_else(|| affordable.clamp(LEAST_SAMPLES, DEFAULT_SAMPLES)).max(1);
    let mut kernel = Vec::with_capacity(count);
    for _ in 0..count {
        kernel.push(sample(device, session)?);
    }
    let mut launch = Vec::with_capacity(count);
    for _ in 0..count {
        device.synchronize()?;
        let begin = Instant::now();
        session.launch(device)?;
        device.synchronize()?;
        launch.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let (Some(kernel_ms), Some(launch_ms)) = (Spread::of(&kernel), Spread::of(&launch)) else {
        bail!("no sample was taken; choose --samples from 1 on")
    };
    Ok(Timing {
        kernel_ms,
        launch_ms: launch_ms.median,
        end_to_end_ms,
        gflops: gflops(problem, kernel_ms.median),
        samples: count,
    })
}

/// Copies C to the host in panels, as the end-to-end time counts it.
fn read_all(device: &mut dyn Device, session: &Session, problem: &Problem) -> Result<()> {
    let bytes = problem.c_elements() * 4;
    let mut panel = vec![0_u8; bytes.min(64 << 20) as usize];
    let mut offset = 0;
    while offset < bytes {
        let len = (bytes - offset).min(panel.len() as u64);
        device.read(session.c, offset, &mut panel[..len as usize])?;
        offset += len;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_and_order_does_not_matter() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Some(Spread { min: 1.0, median: 2.0, max: 3.0 }));
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]).map(|spread| spread.median), Some(2.5));
        assert_eq!(Spread::of(&[]), None);
    }
}
