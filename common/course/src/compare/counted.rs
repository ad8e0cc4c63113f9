//! What the simulator shows of each kernel in place of times: its traffic, its conflicts, its barriers, its occupancy.

use common::basics::units::{ms, number};
use common::findings::analysis::RATIOS;

use crate::record::Entry;

/// What the headings stand for.
pub const LEGEND: &str = "
  flop/B     operations for each byte that is loaded from global memory
  sectors    sectors of 32 bytes that one load of a warp touches
  shared     passes through shared memory (wavefronts) for each multiply-add of a warp
  banks      passes through shared memory that bank conflicts add
  barriers   barriers that warps wait at
  warps      warps that an SM of an H100 holds at a time, of 64
  least      the least time that the product takes on an H200; and what takes that long
";

/// The headings of the columns, of which the first stand for the ratios.
pub const HEAD: [&str; RATIOS.len() + 3] =
    ["flop/B", "sectors", "shared", "banks", "barriers", "warps", "least", "bound by"];

/// The cells of a kernel, with `-` for what has no value; none if it was not counted.
pub fn cells(entry: &Entry) -> Option<Vec<String>> {
    let counters = entry.counters.as_ref()?;
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    let warps = entry.occupancy.as_ref().map(|occupancy| 64.0 * occupancy.occupancy);
    let least = entry.least_time.as_ref();
    let bound = [least.map(|least| ms(least.ms)), least.map(|least| least.bound_by.clone())];
    let bound = bound.map(|words| words.unwrap_or_else(|| "-".to_owned()));
    Some(RATIOS.iter().map(|(_, value)| value(counters)).chain([warps]).map(cell).chain(bound).collect())
}

#[cfg(test)]
mod tests {
    use common::findings::analysis::Counters;

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
        assert_eq!(cells, ["8", "4", "3", "0", "0", "-", "-", "-"]);
        assert_eq!(cells.len(), HEAD.len());
    }
}
