//! Measured times of tilings, and the figures that are fitted to them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use common::cost::{GpuCosts, Work};
use common::json;
use common::output::print;
use course::files::write;
use course::record;
use serde::{Deserialize, Serialize};

/// What `--tune` has measured on a GPU.
#[derive(Serialize, Deserialize)]
pub struct Times {
    /// The device's own name.
    pub gpu: String,
    /// Its multiprocessors.
    pub sm_count: u32,
    /// What compiled the kernels, the day, and the number of shapes.
    pub measured: String,
    /// By specialisation: what it had to do, and how many µs it took.
    pub by_name: BTreeMap<String, Vec<(Work, f64)>>,
}

impl Times {
    /// Fits the figures of the rule, and writes `every_shape.json` into the folder.
    pub fn fit(&self, out: &Path) -> Result<()> {
        let mut costs = GpuCosts::fit(&self.gpu, self.sm_count, self.measured.clone(), &self.by_name);
        for cost in costs.blocks.values_mut() {
            cost.step_us = cost.step_us.map(significant);
            (cost.start_us, cost.block_us) = (significant(cost.start_us), significant(cost.block_us));
        }
        let ratio = |(name, work, us): (&String, &Work, f64)| Some(costs.time_us(name, work, self.sm_count)? / us);
        let all = self.by_name.iter().flat_map(|(name, of)| of.iter().map(move |(work, us)| (name, work, *us)));
        let errors: Vec<f64> = all.filter_map(ratio).map(|ratio| ratio.max(1.0 / ratio)).collect();
        let mean = (record::geometric_mean(&errors) - 1.0) * 100.0;
        print(&format!("{} times, off by {mean:.1} % in the mean: {}\n", errors.len(), self.measured))?;
        write(&out.join("every_shape.json"), &json::lines(&[&costs], 2)?)?;
        print("put every_shape.json into step06_prefetch/beyond, or its entry beside those of other GPUs\n")
    }
}

/// Four digits.
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
