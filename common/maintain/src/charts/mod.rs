//! Charts of a record: the path of the rungs, speed over size, and the roofline.
//!
//! Each has its own background, and says in `<title>` and `<desc>` what it shows. Series differ in colour, in marker and by the
//! label beside them.

mod ladder;
mod lines;
mod plot;
mod roofline;
pub mod sheet;

use course::record::{Record, SizeRecord};

pub struct Chart {
    /// The end of the file's name, and the name in `<!-- generated:chart NAME -->`.
    pub name: &'static str,
    /// What it shows, in a line, from the GPU's name and the size of the ladder.
    title: fn(&str, &str) -> String,
    /// What draws a chart of this name and title; `None` if the record has nothing to draw.
    draw: fn(&Record, &str, &str) -> Option<String>,
}

pub const CHARTS: [Chart; 3] = [
    Chart { name: "path", title: |gpu, size| format!("The rungs of all steps at {size} on {gpu}"), draw: ladder::draw },
    Chart {
        name: "speed",
        title: |gpu, _| format!("Speed over size on {gpu}"),
        draw: |record, name, title| lines::draw(&record.steps_only(), name, title),
    },
    Chart {
        name: "roofline",
        title: |gpu, size| format!("Roofline of {gpu} with the steps at {size}"),
        draw: |record, name, title| roofline::draw(&record.steps_only(), name, title),
    },
];

impl Chart {
    /// The SVG, or `None` if the record has nothing to draw.
    pub fn draw(&self, record: &Record) -> Option<String> {
        (self.draw)(record, self.name, &self.title(record))
    }

    /// What it shows, in a line.
    pub fn title(&self, record: &Record) -> String {
        (self.title)(&record.device.name, &record.ladder_size().map_or_else(String::new, SizeRecord::words))
    }
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
        record.sizes.push(SizeRecord { m: 2048, n: 2048, k: 2048, ..record.sizes[0].clone() });
        for chart in CHARTS {
            let svg = chart.draw(&record).unwrap_or_else(|| panic!("{} draws nothing", chart.name));
            assert_eq!(chart.draw(&record).unwrap(), svg);
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
        assert!(CHARTS.iter().all(|chart| chart.draw(&none).is_none()));
    }
}
