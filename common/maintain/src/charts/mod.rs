//! Charts of a record: the ladder, speed over size, the saw-tooth of the tiles, and the roofline.
//!
//! Each follows the reader's light or dark theme, has its own background, and says in `<title>` and `<desc>` what it
//! shows. Series differ in colour, in marker and by the label beside them.

mod ladder;
mod lines;
mod places;
pub mod plot;
mod roofline;
pub mod sheet;

use anyhow::{Context, Result};
use course::record::{Record, SizeRecord};

/// What draws a chart of this name and title; `None` if the record has nothing to draw.
type Draw = fn(&Record, &str, &str) -> Result<Option<String>>;

pub struct Chart {
    /// The end of the file's name, and the name in `<!-- generated:chart NAME -->`.
    pub name: &'static str,
    /// What it shows, in a line, from the GPU's name and the size of the ladder.
    title: fn(&str, &str) -> String,
    /// Whether the rungs inside the steps are shown.
    rungs: bool,
    draw: Draw,
}

pub const CHARTS: [Chart; 5] = [
    Chart {
        name: "ladder",
        title: |gpu, size| format!("The steps at {size} on {gpu}"),
        rungs: false,
        draw: ladder::draw,
    },
    Chart {
        name: "path",
        title: |gpu, size| format!("The rungs of all steps at {size} on {gpu}"),
        rungs: true,
        draw: ladder::draw,
    },
    Chart { name: "speed", title: |gpu, _| format!("Speed over size on {gpu}"), rungs: false, draw: lines::speed },
    Chart {
        name: "saw-tooth",
        title: |gpu, _| format!("Speed from 1000³ to 1100³ on {gpu}"),
        rungs: false,
        draw: lines::saw_tooth,
    },
    Chart {
        name: "roofline",
        title: |gpu, size| format!("Roofline of {gpu} with the steps at {size}"),
        rungs: false,
        draw: roofline::draw,
    },
];

impl Chart {
    /// The SVG, or `None` if the record has nothing to draw.
    pub fn draw(&self, record: &Record) -> Result<Option<String>> {
        let title = (self.title)(&record.device.name, &ladder_size(record));
        if self.rungs && !record.has_rungs() {
            return Ok(None);
        }
        let record = if self.rungs { record.clone() } else { record.steps_only() };
        (self.draw)(&record, self.name, &title)
            .with_context(|| format!("the chart {} of a record of {}", self.name, record.device.name))
    }

    /// Text that takes the place of the chart where it cannot be seen.
    pub fn alternative(&self, record: &Record) -> String {
        let size = ladder_size(record);
        format!("{} ({size})", (self.title)(&record.device.name, &size)).replace([']', '['], "")
    }
}

fn ladder_size(record: &Record) -> String {
    record.ladder_size().map_or_else(String::new, SizeRecord::words)
}

#[cfg(test)]
pub fn example() -> Record {
    Record::read(&common::basics::workspace::root().join("common/course/tests/record.json")).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chart_has_a_title_a_description_and_a_dark_theme_and_no_bare_ampersand() {
        let mut record = example();
        for edge in [1000, 1024, 1100, 2048] {
            let mut size = record.sizes[0].clone();
            (size.m, size.n, size.k) = (edge, edge, edge);
            if edge != 1024 {
                record.sizes.push(size);
            }
        }
        assert!(
            CHARTS.iter().any(|chart| chart.rungs && chart.draw(&record).unwrap().is_none()),
            "there is no rung yet"
        );
        record.steps[0].rung = true;
        for chart in CHARTS {
            let svg = chart.draw(&record).unwrap().unwrap_or_else(|| panic!("{} draws nothing", chart.name));
            assert_eq!(chart.draw(&record).unwrap().unwrap(), svg);
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
            assert!(svg.contains("<title id=") && svg.contains("<desc id="));
            assert!(svg.contains("prefers-color-scheme:dark"));
            assert!(svg.contains("&lt;of 80 GB&gt; &amp; more") && !svg.contains("<of 80"), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
        }
    }

    #[test]
    fn a_record_without_times_has_no_chart() {
        let mut none = example();
        none.sizes.clear();
        assert!(CHARTS.iter().all(|chart| chart.draw(&none).unwrap().is_none()));
    }
}
