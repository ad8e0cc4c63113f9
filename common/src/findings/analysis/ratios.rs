//! What the counters of a kernel say of it in place of a time: ratios that can be compared from kernel to kernel.

use crate::findings::analysis::counters::Counters;

/// A ratio: its name, and its value if there is anything to divide by.
pub type Ratio = (&'static str, fn(&Counters) -> Option<f64>);

/// The ratios that the course compares kernels by.
pub const RATIOS: [Ratio; 5] = [
    ("flop/byte", |counters| Some(counters.flop_per_byte)),
    ("sectors/load", |counters| divide(counters, "global_load_sectors", "global_load_requests")),
    ("sh. wavefronts/FMA", |counters| Some(32.0 * divide(counters, "shared_load_wavefronts", "fma_threads")?)),
    ("conflicts", |counters| {
        Some((counters.get("shared_load_bank_conflicts") + counters.get("shared_store_bank_conflicts")) as f64)
    }),
    ("barriers", |counters| Some(counters.get("barriers") as f64)),
];

fn divide(counters: &Counters, above: &str, below: &str) -> Option<f64> {
    let below = counters.get(below);
    (below > 0).then(|| counters.get(above) as f64 / below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_without_anything_to_divide_by_is_none() {
        let counts = [("global_load_sectors", 8), ("global_load_requests", 2), ("shared_load_wavefronts", 6)];
        let total = counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        let mut counters = Counters { total, flop_per_byte: 8.0, ..Counters::default() };
        let values = |counters: &Counters| RATIOS.map(|(_, value)| value(counters));
        assert_eq!(values(&counters), [Some(8.0), Some(4.0), None, Some(0.0), Some(0.0)]);
        counters.total.insert("fma_threads".into(), 64);
        assert_eq!(values(&counters)[2], Some(3.0));
    }
}
