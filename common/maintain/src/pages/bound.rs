//! Parts that set the measured times of a record beside the least times that the simulator's counts allow.

use anyhow::Result;
use common::basics::units::ms;
use course::least;
use course::record::times;

use super::timed::{Page, or_dash, source, with_record};
use common::basics::table;

/// All kernels at one size: least time, bottleneck, and how far the measured time is from it.
pub fn at_one_size(page: &Page, words: &[&str]) -> Result<String> {
    with_record(page, words.first(), |name, record| {
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

#[cfg(test)]
mod tests {
    use common::measure::LeastTime;

    use super::*;
    use crate::charts::example;

    #[test]
    fn a_kernel_that_is_not_of_this_course_has_no_bound() {
        let records = [("h100".to_owned(), example())];
        let page = Page { records: &records };
        assert!(at_one_size(&page, &[]).unwrap().starts_with("| kernel | bound by | "));
    }

    #[test]
    fn the_measured_time_stands_beside_the_least() {
        let mut record = example();
        for entry in record.sizes.iter_mut().flat_map(|size| &mut size.entries) {
            let ms = entry.spread().map_or(1.0, |spread| spread.median / 1.25);
            let least = LeastTime { gpu: "H100".into(), ms, bound_by: "FMA units".into(), resources: vec![] };
            entry.least_time = Some(least);
        }
        let records = [("with bounds".to_owned(), record)];
        let page = Page { records: &records };
        let one = at_one_size(&page, &[]).unwrap();
        assert!(one.contains("| FMA units | ") && one.contains("| 1.25 × |"), "{one}");
    }
}
