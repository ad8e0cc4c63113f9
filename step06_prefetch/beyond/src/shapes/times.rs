//! Measured times of tilings, and the figures that are fitted to them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use common::basics::print;
use common::measure::geometric_mean;
use serde::{Deserialize, Serialize};

use crate::cost::{BlockCost, GpuCosts, Measurement, Work};
use crate::record;

/// What `--tune` has measured on a GPU.
#[derive(Serialize, Deserialize)]
pub struct Times {
    pub gpu: String,
    pub sm_count: u32,
    /// What compiled the kernels, the day, and the number of shapes.
    pub measured: String,
    /// For each random shape and each plan: the specialisation, its work, and how many µs it took.
    pub shapes: Vec<Vec<(String, Work, f64)>>,
    /// For each size of `course compare` and each plan: the specialisation, its work, and how many µs it took.
    #[serde(default)]
    pub listed: Vec<Vec<(String, Work, f64)>>,
}

/// A size of `course compare` counts as much in the fit as this many random shapes.
const LISTED_COUNTS: usize = 3;

impl Times {
    /// Fits the figures of the rule, and writes `every_shape.json` into the folder.
    pub fn fit(&self, out: &Path) -> Result<()> {
        let least = |plans: &[(String, Work, f64)]| plans.iter().map(|(_, _, us)| *us).fold(f64::INFINITY, f64::min);
        let mut by_name: BTreeMap<String, Vec<Measurement>> = BTreeMap::new();
        let listed = self.listed.iter().map(|plans| (plans, LISTED_COUNTS));
        for (plans, counts) in self.shapes.iter().map(|plans| (plans, 1)).chain(listed) {
            let least_us = least(plans);
            for (name, work, us) in plans.iter().filter(|(_, _, us)| *us > 0.0) {
                let measured = Measurement { work: *work, us: *us, least_us };
                by_name.entry(name.clone()).or_default().extend([measured].repeat(counts));
            }
        }
        let mut costs = GpuCosts::fit(&self.gpu, self.sm_count, &self.measured, &by_name);
        for figure in costs.blocks.values_mut().flat_map(BlockCost::figures_mut) {
            *figure = significant(*figure);
        }
        let expected = |name: &str, work: &Work| costs.time_us(name, work, self.sm_count).unwrap_or(f64::INFINITY);
        let ratios = self.shapes.iter().flatten().map(|(name, work, us)| expected(name, work) / us);
        let errors: Vec<f64> = ratios.map(|ratio| ratio.max(1.0 / ratio)).collect();
        // The time of the plan that is expected to be fastest, over that of the fastest.
        let losses = self.shapes.iter().filter_map(|of| {
            let chosen = of.iter().min_by(|a, b| expected(&a.0, &a.1).total_cmp(&expected(&b.0, &b.1)))?;
            Some(chosen.2 / least(of))
        });
        let losses: Vec<f64> = losses.collect();
        let mean = |factors: &[f64]| (geometric_mean(factors) - 1.0) * 100.0;
        print(&format!(
            "{} times, off by {:.1} % in the mean; the choice takes {:.1} % longer than the best in the mean, {:.1} % at most: {}\n",
            errors.len(),
            mean(&errors),
            mean(&losses),
            losses.iter().fold(0.0, |most: f64, loss| most.max((loss - 1.0) * 100.0)),
            self.measured
        ))?;
        record::write(out, "every_shape.json", &[&costs])?;
        print("put every_shape.json into step06_prefetch/beyond, or its entry beside those of other GPUs\n")
    }
}

/// Rounds to four digits.
fn significant(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_four_digits() {
        assert!((significant(0.123_456) - 0.1235).abs() < 1e-9);
        assert!((significant(12_345.6) - 12_350.0).abs() < 1e-9);
    }
}
