//! Parts that set the measured times of a record beside the least times that the simulator's counts allow.

use anyhow::Result;
use common::basics::units::ms;
use course::least;
use course::record::times;

use super::timed::{Records, or_dash, source, with_record};
use common::basics::table;

/// All kernels at one size: least time, bottleneck, and how far the measured time is from it.
pub fn at_one_size(records: &Records, words: &[&str]) -> Result<String> {
    with_record(records, words.first(), |name, record| {
        let mut record = record.clone();
        least::fill(&mut record, |_, entry| entry.least_time.is_none());
        let Some(size) = record.ladder_size() else { return Ok(format!("*Record `{name}` has no times.*")) };
        let bounded =
            size.entries.iter().filter_map(|entry| Some((entry, entry.spread()?, entry.least_time.as_ref()?)));
        let rows: Vec<Vec<String>> = bounded
            .map(|(entry, spread, least)| {
                let over = or_dash(entry.over_least(), times);
                vec![entry.name.clone(), least.bound_by.clone(), ms(least.ms), ms(spread.median), over]
            })
            .collect();
        let table = table::markdown(&["kernel", "bound by", "least time", "time", "time ÷ least time"], &rows);
        Ok(format!("{table}\nM = N = K = {}. {}", size.m, source(name, &record)))
    })
}
