//! What the simulator shows of each kernel in place of times: its traffic, its conflicts, its barriers, its occupancy.

use common::analysis::Counters;
use common::units::number;

use crate::record::Entry;

/// A column: its heading, and what stands in it, with `-` where there is nothing to divide by.
type Column = (&'static str, fn(&Entry, &Counters) -> Option<f64>);

const COLUMNS: &[Column] = &[
    ("flop/byte", |_, counters| Some(counters.flop_per_byte)),
    ("sectors/load", |_, counters| ratio(counters, "global_load_sectors", "global_load_requests")),
    ("sh. wavefronts/FMA", |_, counters| Some(32.0 * ratio(counters, "shared_load_wavefronts", "fma_threads")?)),
    ("conflicts", |_, counters| {
        Some((counters.get("shared_load_bank_conflicts") + counters.get("shared_store_bank_conflicts")) as f64)
    }),
    ("barriers", |_, counters| Some(counters.get("barriers") as f64)),
    ("warps/SM", |entry, _| Some(64.0 * entry.occupancy.as_ref()?.occupancy)),
];

/// What the headings stand for.
pub const LEGEND: &str = "
  flop/byte            operations for each byte that is loaded from global memory
  sectors/load         sectors of 32 bytes that one load of a warp touches
  sh. wavefronts/FMA   passes through shared memory for each multiply-add of a warp
  conflicts            passes through shared memory that bank conflicts add
  barriers             barriers that warps wait at
  warps/SM             warps that an SM of an H100 holds at a time, of 64
";

fn ratio(counters: &Counters, above: &str, below: &str) -> Option<f64> {
    let below = counters.get(below);
    (below > 0).then(|| counters.get(above) as f64 / below as f64)
}

/// The headings of the columns.
pub fn head() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|(name, _)| *name)
}

/// The cells of a kernel; none if it was not counted.
pub fn cells(entry: &Entry) -> Option<Vec<String>> {
    let counters = entry.counters.as_ref()?;
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    Some(COLUMNS.iter().map(|(_, value)| cell(value(entry, counters))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;

    #[test]
    fn a_kernel_is_told_by_ratios_and_one_that_was_not_counted_is_not() {
        let mut entry = Entry::new("step04_two", Outcome::Verified, None);
        assert_eq!(cells(&entry), None);
        let counts = [
            ("global_load_sectors", 8),
            ("global_load_requests", 2),
            ("shared_load_wavefronts", 6),
            ("fma_threads", 64),
        ];
        let total = counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        entry.counters = Some(Counters { total, flop_per_byte: 8.0, ..Counters::default() });
        let cells = cells(&entry).unwrap();
        assert_eq!(cells, ["8", "4", "3", "0", "0", "-"]);
        assert_eq!(cells.len(), head().count());
    }
}
