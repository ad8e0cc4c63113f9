//! Parts made from records: tables of speed, charts, the list of records. No number is typed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use common::units::ms;
use common::workspace;
use course::files::read;
use course::record::{self, CUBLAS, Entry, Outcome, Record, SizeRecord};

use super::content::{Content, Page};
use crate::charts::{self, Chart};
use crate::record::acceptance::{self, Acceptance};
use crate::table;

/// Where the charts lie: within the book, so that it takes them along.
const CHARTS: &str = "docs/src/results";

/// The file of a record's chart.
pub fn chart_path(record: &str, chart: Chart) -> PathBuf {
    workspace::root().join(CHARTS).join(format!("{record}-{}.svg", chart.name()))
}

/// The record that is named, or else the latest with a GPU's times, as the cache is in ordinary use.
fn find<'a>(page: &Page<'a>, wanted: Option<&&str>) -> Option<&'a (String, Record)> {
    if let Some(wanted) = wanted {
        return page.records.iter().find(|(name, _)| name == wanted);
    }
    let timed = page.records.iter().filter(|(_, record)| record.has_times() && record.l2 == common::timing::L2::Warm);
    timed.max_by(|(_, a), (_, b)| a.date.cmp(&b.date))
}

/// What `show` makes of the record that is named, or how one gets a record.
fn with_record(page: &Page, wanted: Option<&&str>, show: impl FnOnce(&str, &Record) -> String) -> Content {
    Content::Markdown(match find(page, wanted) {
        Some((name, record)) => show(name, record),
        None => "*There is no record yet. On a machine with a GPU, `cargo x record OUT` makes one.*".to_owned(),
    })
}

/// All steps at one size.
pub fn ladder(page: &Page, words: &[&str]) -> Result<Content> {
    Ok(with_record(page, words.first(), ladder_of))
}

/// All steps at all sizes.
pub fn sizes(page: &Page, words: &[&str]) -> Result<Content> {
    Ok(with_record(page, words.first(), sizes_of))
}

/// One step at all sizes.
pub fn of_step(page: &Page, words: &[&str]) -> Result<Content> {
    let (step, words) = words.split_first().context("name a step")?;
    Ok(with_record(page, words.first(), |name, record| step_of(name, record, step)))
}

/// A chart and where its numbers are from.
pub fn chart(page: &Page, words: &[&str]) -> Result<Content> {
    let (kind, words) = words.split_first().context("name a chart")?;
    let chart = Chart::ALL.into_iter().find(|chart| chart.name() == *kind);
    let chart =
        chart.with_context(|| format!("there is no chart {kind:?}; write ladder, speed, saw-tooth or roofline"))?;
    match find(page, words.first()) {
        Some((name, record)) => image(chart, name, record, page.path).map(Content::Markdown),
        None => Ok(with_record(page, words.first(), |_, _| String::new())),
    }
}

/// Which kernel gives the right product at which size.
pub fn acceptance(words: &[&str]) -> Result<Content> {
    let name = words.first().map_or("acceptance", |name| name);
    let path = record::folder().join(format!("{name}.json"));
    Ok(Content::Markdown(if path.is_file() {
        let table = serde_json::from_str::<Acceptance>(&read(&path)?);
        acceptance::markdown(&table.with_context(|| {
            format!("{} is not an acceptance table; record it again with cargo x record", workspace::display(&path))
        })?)
    } else {
        "*There is no such table yet. On a machine with a GPU, `cargo x record OUT` makes one.*".to_owned()
    }))
}

/// Where the numbers come from, and whether they are those of the sources as they are.
fn source(name: &str, record: &Record) -> String {
    let outdated = record.outdated();
    let warning = if outdated.is_empty() {
        String::new()
    } else {
        format!(" **Outdated: {} changed since.**", outdated.join(", "))
    };
    format!(
        "*Record `{name}`: {}; {}; median of samples taken in {} rounds.*{warning}",
        record.provenance(),
        record.l2.words(),
        record.rounds
    )
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// What is told of one kernel at one size: time, TFLOP/s, share of peak and of cuBLAS, over the previous step.
fn values(record: &Record, size: &SizeRecord, entry: &Entry) -> Vec<String> {
    let host = record.steps.iter().any(|step| step.host && step.name == entry.name);
    let peak = record.figures.map(|figures| figures.fp32_peak_gflops).filter(|_| !host);
    let (Some(spread), Some(gflops)) = (entry.spread(), size.gflops(&entry.name)) else {
        let word = match entry.outcome {
            Outcome::Wrong => "**wrong**",
            Outcome::Failed => "**fails**",
            Outcome::Impossible => "cannot",
            Outcome::Verified | Outcome::Skipped => "not run",
        };
        return vec![word.to_owned(), "–".into(), "–".into(), "–".into(), "–".into()];
    };
    let over = size.over_previous(&entry.name).filter(|_| entry.name != CUBLAS);
    vec![
        ms(spread.median),
        format!("{:.*}", if gflops < 1e3 { 4 } else { 2 }, gflops / 1e3),
        percent(peak.map(|peak| gflops / peak)),
        percent(size.share_of_cublas(&entry.name)),
        over.map_or_else(|| "–".to_owned(), |times| format!("{times:.2} ×")),
    ]
}

const VALUES: [&str; 5] = ["time", "TFLOP/s", "of FP32 peak", "of cuBLAS", "over the step before"];

fn heads(first: &[&str]) -> Vec<String> {
    first.iter().chain(&VALUES).map(|head| (*head).to_owned()).collect()
}

fn ladder_of(name: &str, record: &Record) -> String {
    let Some(size) = record.ladder_size() else { return format!("*Record `{name}` has no times.*") };
    let row = |entry: &Entry| {
        let title =
            record.steps.iter().find(|step| step.name == entry.name).map_or("the vendor's library", |step| &step.title);
        let mut row = vec![entry.name.clone(), title.to_owned()];
        row.extend(values(record, size, entry));
        row
    };
    let rows: Vec<Vec<String>> = size.entries.iter().map(row).collect();
    format!(
        "{}\nM = N = K = {}. {}",
        table::markdown(&heads(&["step", "what it does"]), &rows),
        size.m,
        source(name, record)
    )
}

/// All sizes: speed of each step, and what the last step is worth against cuBLAS.
fn sizes_of(name: &str, record: &Record) -> String {
    let names = record.names();
    let last = record.steps.last().map_or("", |step| step.name.as_str());
    let mut head = vec!["M×N×K".to_owned()];
    head.extend(names.iter().map(|name| (*name).to_owned()));
    head.push(format!("{last} of cuBLAS"));
    let row = |size: &SizeRecord| {
        let mut row = vec![size.words()];
        let speed = |name: &&str| {
            let gflops = size.gflops(name);
            gflops.map_or_else(
                || "–".to_owned(),
                |gflops| format!("{:.*}", if gflops < 1e3 { 4 } else { 2 }, gflops / 1e3),
            )
        };
        row.extend(names.iter().map(speed));
        row.push(percent(size.share_of_cublas(last)));
        row
    };
    let rows: Vec<Vec<String>> = record.sizes.iter().filter(|size| !size.is_saw_tooth()).map(row).collect();
    let mean = record.shares_of_cublas(last).map_or_else(String::new, |(least, mean)| {
        format!(" {last} reaches at least {least:.3} × cuBLAS, {mean:.3} × in the geometric mean.")
    });
    format!("{}\nTFLOP/s.{mean} {}", table::markdown(&head, &rows), source(name, record))
}

/// One step at all sizes it was timed at.
fn step_of(name: &str, record: &Record, step: &str) -> String {
    let row = |size: &SizeRecord| {
        let entry = size.entries.iter().find(|entry| entry.name == step)?;
        entry.spread()?;
        let mut row = vec![size.words()];
        row.extend(values(record, size, entry));
        Some(row)
    };
    let rows: Vec<Vec<String>> = record.sizes.iter().filter(|size| !size.is_saw_tooth()).filter_map(row).collect();
    if rows.is_empty() {
        return format!("*Record `{name}` has no times of {step}.*");
    }
    format!("{}\n{}", table::markdown(&heads(&["M×N×K"]), &rows), source(name, record))
}

fn image(chart: Chart, name: &str, record: &Record, page: &Path) -> Result<String> {
    if chart.draw(record)?.is_none() {
        return Ok(format!("*Record `{name}` has nothing to draw here.*"));
    }
    let link = relative(page, &chart_path(name, chart));
    Ok(format!("![{}]({link})\n\n{}", charts::alternative(chart, record), source(name, record)))
}

/// A path as a link from a page.
fn relative(page: &Path, to: &Path) -> String {
    let root = workspace::root();
    let parts = |path: &Path| -> Vec<String> {
        let path = path.strip_prefix(root).unwrap_or(path);
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let (page, to) = (parts(page), parts(to));
    let folder = &page[..page.len().saturating_sub(1)];
    let common = folder.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut link = vec!["..".to_owned(); folder.len() - common];
    link.extend_from_slice(&to[common..]);
    link.join("/")
}

/// The list of all records.
pub fn results(records: &[(String, Record)]) -> Content {
    let head = ["record", "GPU", "driver", "CUDA", "date", "commit", "L2", "state"].map(ToOwned::to_owned);
    let row = |(name, record): &(String, Record)| {
        let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".into());
        let outdated = record.outdated();
        let state = match (record.complete, outdated.is_empty()) {
            (false, _) => "broken off".to_owned(),
            (true, true) => "up to date".to_owned(),
            (true, false) => format!("outdated: {} changed since", outdated.join(", ")),
        };
        vec![
            format!("`{name}`"),
            record.device.name.clone(),
            word(&record.driver),
            word(&record.cuda),
            record.date.get(..10).unwrap_or(&record.date).to_owned(),
            record.commit.as_ref().map_or_else(|| "–".into(), |commit| commit.get(..10).unwrap_or(commit).to_owned()),
            format!("{:?}", record.l2).to_lowercase(),
            state,
        ]
    };
    let rows: Vec<Vec<String>> = records.iter().map(row).collect();
    Content::Markdown(if rows.is_empty() {
        "*There is no record yet.*".to_owned()
    } else {
        table::markdown(&head, &rows)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use course::example::example;

    fn records() -> Vec<(String, Record)> {
        vec![("h100".to_owned(), example())]
    }

    fn text(content: Content) -> String {
        match content {
            Content::Code(_, text) | Content::Markdown(text) => text,
        }
    }

    #[test]
    fn a_table_is_made_from_the_record_that_is_named_or_the_latest() {
        let records = records();
        let page = Page { path: &workspace::root().join("README.md"), records: &records };
        for words in [&[][..], &["h100"]] {
            let fresh = text(ladder(&page, words).unwrap());
            assert!(fresh.contains("| step04_two | the title of step04_two |"), "{fresh}");
            assert!(fresh.contains("| 50.0 % | 4.00 × |"), "{fresh}");
            assert!(fresh.contains("driver 580.1") && fresh.contains("Outdated"), "{fresh}");
        }
        assert!(text(ladder(&page, &["h300"]).unwrap()).contains("no record yet"));
        let none = Page { path: page.path, records: &[] };
        assert!(text(ladder(&none, &[]).unwrap()).contains("no record yet"));
    }

    #[test]
    fn a_chart_is_linked_from_where_the_page_is() {
        let records = records();
        for (path, link) in [
            ("README.md", "(docs/src/results/h100-ladder.svg)"),
            ("docs/src/step04_tiled/README.md", "(../results/h100-ladder.svg)"),
            ("step04_tiled/README.md", "(../docs/src/results/h100-ladder.svg)"),
        ] {
            let page = Page { path: &workspace::root().join(path), records: &records };
            let fresh = text(chart(&page, &["ladder"]).unwrap());
            assert!(fresh.contains(link), "{fresh}");
        }
        let page = Page { path: Path::new("README.md"), records: &records };
        let Err(error) = chart(&page, &["cake"]) else { panic!("there is a chart cake") };
        assert!(error.to_string().contains("cake"));
    }

    #[test]
    fn a_step_has_its_own_table_and_every_size_is_in_the_large_one() {
        let record = example();
        let own = step_of("h100", &record, "step04_two");
        assert!(own.contains("| 1024³ |") && own.contains("| 4096³ |") && own.contains("25.60"), "{own}");
        let all = sizes_of("h100", &record);
        assert!(all.contains("step04_two reaches at least 0.500 × cuBLAS, 0.500 ×"), "{all}");
        assert!(text(results(&records())).contains("outdated: step02_one, step04_two changed since"));
    }
}
