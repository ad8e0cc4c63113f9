//! Measures time on the device by events around the launches, in several samples after a warm-up.

use std::time::Instant;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::basics::Operands;
use crate::device::{Buffer, Device, Product};
use plan::{Dtype, Problem};

/// Samples if `--samples` is not given; fewer if they would take more than [`SAMPLE_SECONDS`].
const DEFAULT_SAMPLES: usize = 20;
/// The fewest samples for a median if `--samples` is not given.
const LEAST_SAMPLES: usize = 5;
const SAMPLE_SECONDS: f64 = 3.0;
/// Launches before the first sample, while clocks rise and the caches and the driver's lists fill.
const WARM_UPS: usize = 3;

/// Minimum, median and maximum of some samples.
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
    /// The spread of some samples; `None` if there are none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let half = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) };
        Some(Self { min, median, max })
    }
}

/// The contents of the L2 cache when a product began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum L2 {
    /// As much of A, B and C as fits, left there by the product before.
    Warm,
    /// Nothing of A, B and C, because more memory than the cache holds was written before each product (`--flush-l2`).
    Flushed,
}

impl L2 {
    /// The state of the cache in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Warm => "L2 warm: it holds what the product before left there",
            Self::Flushed => "L2 flushed before each product",
        }
    }
}

/// Keeps the L2 cache in the state that the user asked for.
pub struct Cache {
    flush: Option<Buffer>,
    turn: u8,
}

/// Bytes to write in order to empty an L2 cache of unknown size.
const UNKNOWN_L2_BYTES: u64 = 128 << 20;

impl Cache {
    /// A cache that is left as it is.
    pub fn warm() -> Self {
        Self { flush: None, turn: 0 }
    }

    /// A cache that is emptied before each product, by writing twice its size.
    pub fn flushed(device: &mut dyn Device) -> Result<Self> {
        let l2 = device.figures().map_or(0, |figures| figures.l2_bytes);
        let bytes = if l2 > 0 { 2 * l2 } else { UNKNOWN_L2_BYTES };
        Ok(Self { flush: Some(device.alloc("the memory that empties the L2 cache", bytes)?), turn: 0 })
    }

    /// The state in which the cache is kept.
    pub fn state(&self) -> L2 {
        if self.flush.is_some() { L2::Flushed } else { L2::Warm }
    }

    fn prepare(&mut self, device: &mut dyn Device) -> Result<()> {
        self.turn = self.turn.wrapping_add(1);
        self.flush.map_or(Ok(()), |buffer| device.fill(buffer, self.turn))
    }

    /// The number of products whose mean is a sample: enough that the events' own microseconds do not matter, but 1 if each product
    /// must find the cache empty.
    pub fn products_per_sample(&self, product_ms: f64) -> usize {
        match self.state() {
            L2::Warm => ((LEAST_SAMPLE_MS / product_ms.max(1e-6)).ceil() as usize).clamp(1, MOST_PRODUCTS),
            L2::Flushed => 1,
        }
    }
}

/// A sample of short products takes at least this long, because an event is accurate to about half a microsecond, and a launch
/// takes the host a few microseconds.
const LEAST_SAMPLE_MS: f64 = 0.5;
const MOST_PRODUCTS: usize = 200;
/// The most launches that are queued at a time. A stream takes about a thousand before the host has to wait.
const MOST_QUEUED: usize = 600;

/// Several times in milliseconds, which are easily mistaken for each other, and the speed that follows from the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The time of one product between device events right before and right after its launches.
    pub kernel_ms: Spread,
    /// On the host's clock, the median time to launch, run and wait.
    pub launch_ms: f64,
    /// On the host's clock, one run with A and B copied to the device and C copied back.
    pub end_to_end_ms: f64,
    /// On the host's clock, the very first launch, which also loads the kernel. The other times do not include it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_launch_ms: Option<f64>,
    /// 10⁹ operations per second, by the median of `kernel_ms`.
    pub gflops: f64,
    /// `gflops` as a share of the device's FP32 peak; absent on the host and for integers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peak_share: Option<f64>,
    /// How many samples were taken.
    pub samples: usize,
    /// The number of products whose mean is a sample.
    pub products_per_sample: usize,
    /// The state of the L2 cache; absent on the host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub l2: Option<L2>,
}

/// 2·M·N·K operations over a time in milliseconds, in GFLOP/s.
pub fn gflops(problem: &Problem, ms: f64) -> f64 {
    problem.flop() / (ms * 1e6)
}

/// Takes one sample: the device time in milliseconds of one product, as the mean of `products`.
pub fn sample(device: &mut dyn Device, product: &dyn Product, cache: &mut Cache, products: usize) -> Result<f64> {
    cache.prepare(device)?;
    // A short kernel ends before the host launches the next, so all launches are queued before the first begins.
    let queued = products * product.launches().max(2);
    let hold = if queued <= MOST_QUEUED { device.hold() } else { None };
    let Some(before) = device.mark()? else { bail!("the simulator has no clock; its speed is not a GPU's") };
    for _ in 0..products {
        product.launch(device)?;
    }
    let Some(after) = device.mark()? else { bail!("the device lost its clock; run again") };
    drop(hold);
    Ok(device.elapsed_ms(before, after)? / products as f64)
}

/// Times a product that has been verified.
pub fn time(
    device: &mut dyn Device,
    product: &dyn Product,
    operands: &Operands,
    samples: Option<usize>,
    cache: &mut Cache,
) -> Result<Timing> {
    let problem = &product.matrices().problem;
    device.synchronize()?;
    let begin = Instant::now();
    product.matrices().upload(device, operands)?;
    product.launch(device)?;
    product.matrices().download(device)?;
    let end_to_end_ms = begin.elapsed().as_secs_f64() * 1e3;

    let mut warm_up = 0.0;
    for _ in 0..WARM_UPS {
        warm_up = sample(device, product, cache, 1)?;
    }
    let products = cache.products_per_sample(warm_up);
    let affordable = (SAMPLE_SECONDS * 1e3 / (warm_up * products as f64).max(1e-6)) as usize;
    let count = samples.unwrap_or_else(|| affordable.clamp(LEAST_SAMPLES, DEFAULT_SAMPLES)).max(1);
    let kernel = (0..count).map(|_| sample(device, product, cache, products)).collect::<Result<Vec<f64>>>()?;
    let mut launch = Vec::with_capacity(count);
    for _ in 0..count {
        cache.prepare(device)?;
        device.synchronize()?;
        let begin = Instant::now();
        product.launch(device)?;
        device.synchronize()?;
        launch.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let (Some(kernel_ms), Some(launch_ms)) = (Spread::of(&kernel), Spread::of(&launch)) else {
        bail!("no sample was taken; choose --samples from 1 on")
    };
    let gflops = gflops(problem, kernel_ms.median);
    let peak = device.figures().map(|figures| figures.fp32_peak_gflops).filter(|&peak| peak > 0.0);
    Ok(Timing {
        kernel_ms,
        launch_ms: launch_ms.median,
        end_to_end_ms,
        first_launch_ms: product.first_run().get(),
        gflops,
        peak_share: peak.filter(|_| problem.dtype == Dtype::F32).map(|peak| gflops / peak),
        samples: count,
        products_per_sample: products,
        l2: Some(cache.state()),
    })
}

/// The geometric mean of some ratios; 1 if there are none.
pub fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp()
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

    #[test]
    fn short_products_are_timed_many_at_a_time_unless_the_cache_is_flushed() {
        let warm = Cache::warm();
        assert_eq!(warm.products_per_sample(0.01), 50);
        assert_eq!(warm.products_per_sample(3.0), 1);
        assert_eq!(warm.products_per_sample(0.0), MOST_PRODUCTS);
        let flushed = Cache { flush: Some(Buffer(0)), turn: 0 };
        assert_eq!((flushed.products_per_sample(0.01), flushed.state()), (1, L2::Flushed));
    }
}
