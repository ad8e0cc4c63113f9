//! Charts of a record: the ladder, speed over size, the saw-tooth of the tiles, and the roofline.
//!
//! Each follows the reader's light or dark theme, has its own background, and says in `<title>` and `<desc>` what it
//! shows. Series differ in colour, in marker and by the label beside them.

mod ladder;
mod lines;
mod places;
mod plot;
mod roofline;
mod sheet;

use anyhow::{Context, Result};
use course::record::{Record, SizeRecord};

use plot::Scale;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chart {
    /// All steps at one size.
    Ladder,
    /// All steps over the edge of a cube.
    Speed,
    /// All steps from 1000³ to 1100³.
    SawTooth,
    /// Speed over arithmetic intensity, under the GPU's roofs.
    Roofline,
}

impl Chart {
    pub const ALL: [Self; 4] = [Self::Ladder, Self::Speed, Self::SawTooth, Self::Roofline];

    /// The end of the file's name, and the name in `<!-- generated:chart NAME -->`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ladder => "ladder",
            Self::Speed => "speed",
            Self::SawTooth => "saw-tooth",
            Self::Roofline => "roofline",
        }
    }

    /// What it shows, in a line.
    pub fn title(self, record: &Record) -> String {
        let gpu = &record.device.name;
        let size = record.ladder_size().map_or_else(String::new, SizeRecord::words);
        match self {
            Self::Ladder => format!("The steps at {size} on {gpu}"),
            Self::Speed => format!("Speed over size on {gpu}"),
            Self::SawTooth => format!("Speed from 1000³ to 1100³ on {gpu}"),
            Self::Roofline => format!("Roofline of {gpu} with the steps at {size}"),
        }
    }

    /// The SVG, or `None` if the record has nothing to draw.
    pub fn draw(self, record: &Record) -> Result<Option<String>> {
        let (name, title) = (self.name(), self.title(record));
        match self {
            Self::Ladder => ladder::draw(record, name, &title),
            Self::Speed => lines::draw(record, name, &title, Scale::Logarithmic, &lines::powers_of_two(record)),
            Self::SawTooth => lines::draw(record, name, &title, Scale::Even, &lines::saw_tooth(record)),
            Self::Roofline => roofline::draw(record, name, &title),
        }
        .with_context(|| format!("the chart {name} of a record of {}", record.device.name))
    }

    /// Text that takes the place of the chart where it cannot be seen.
    pub fn alternative(self, record: &Record) -> String {
        let size = record.ladder_size().map_or_else(String::new, SizeRecord::words);
        format!("{} ({size})", self.title(record)).replace([']', '['], "")
    }
}

#[cfg(test)]
pub fn example() -> Record {
    Record::read(&common::workspace::root().join("common/course/tests/record.json")).unwrap()
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
        for chart in Chart::ALL {
            let svg = chart.draw(&record).unwrap().unwrap_or_else(|| panic!("{} draws nothing", chart.name()));
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
        assert!(Chart::ALL.iter().all(|chart| chart.draw(&none).unwrap().is_none()));
    }
}
