//! README's and the book's figures, made from records: tables, charts and the list of records. No number is typed.
//!
//! A part stands between `<!-- generated:NAME ARGUMENTS -->` and `<!-- /generated -->`. Names that are not known here
//! belong to other generators (`cargo course book`) and are left as they are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use common::output::print;
use common::units::ms;
use common::workspace;

use crate::acceptance::{Acceptance, markdown};
use crate::book;
use crate::charts::{self, Chart};
use course::record::{self, CUBLAS, Entry, Outcome, Record, SizeRecord};

/// Options of `cargo course generate`.
#[derive(clap::Args)]
pub struct Options {
    /// Change nothing; exit with 1 where a table or chart is not what the records give
    #[arg(long)]
    check: bool,
}

/// Options of `cargo course chart`.
#[derive(clap::Args)]
pub struct ChartOptions {
    /// A record of cargo course compare
    record: PathBuf,
    /// The folder for the SVG files
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    out: PathBuf,
}

/// Runs `cargo course chart`: the charts of any record.
pub fn chart(options: &ChartOptions) -> Result<bool> {
    let record = Record::read(&options.record)?;
    let name = options.record.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut text = String::new();
    for chart in Chart::ALL {
        let path = options.out.join(format!("{name}-{}.svg", chart.name()));
        match chart.draw(&record) {
            Some(svg) => {
                course::files::write(&path, &svg)?;
                text += &format!("made {}\n", path.display());
            }
            None => text += &format!("the record has nothing to draw for the chart {}\n", chart.name()),
        }
    }
    print(&text).map(|()| true)
}

/// Where the charts lie: within the book, so that it takes them along.
const CHARTS: &str = "docs/src/results";

/// Runs the command; `false` where the check fails.
pub fn run(options: &Options) -> Result<bool> {
    let records = record::all()?;
    let mut text = String::new();
    let (mut files, mut stale) = (0, 0);
    let mut keep = |path: &Path, fresh: &str| -> Result<()> {
        files += 1;
        let now = std::fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n");
        if now != fresh {
            stale += 1;
            let name = workspace::display(path);
            if options.check {
                text += &format!("stale: {name}\n");
            } else {
                course::files::write(path, fresh)?;
                text += &format!("made {name}\n");
            }
        }
        Ok(())
    };
    for (name, record) in &records {
        for chart in Chart::ALL {
            if let Some(svg) = chart.draw(record) {
                keep(&chart_path(name, chart), &svg)?;
            }
        }
    }
    for page in book::pages()? {
        let old = course::files::read(&page)?;
        let fresh = regenerate(&old, &page, &records).with_context(|| workspace::display(&page))?;
        if fresh != old {
            keep(&page, &fresh)?;
        }
    }
    for (name, record) in &records {
        let outdated = record.outdated();
        if !outdated.is_empty() {
            text += &format!("outdated: docs/results/{name}.json, whose {} has changed since\n", outdated.join(", "));
        }
    }
    let verdict = match (options.check, stale) {
        (true, 0) => "all as the records say".to_owned(),
        (true, stale) => format!("{stale} stale; make them anew with cargo course generate"),
        (false, stale) => format!("{stale} changed"),
    };
    print(&format!("{text}{} records, {files} files: {verdict}\n", records.len()))?;
    // What comes from runs on the simulator is made by the same command.
    let book = book::run(&book::Options::generate(options.check))?;
    Ok((!options.check || stale == 0) && book)
}

fn chart_path(record: &str, chart: Chart) -> PathBuf {
    workspace::root().join(CHARTS).join(format!("{record}-{}.svg", chart.name()))
}

const BEGIN: &str = "<!-- generated:";
const END: &str = "<!-- /generated -->";

/// The page with all parts that are known here made anew.
fn regenerate(page: &str, path: &Path, records: &[(String, Record)]) -> Result<String> {
    let mut fresh = String::new();
    let mut rest = page;
    while let Some(start) = rest.find(BEGIN) {
        let (before, marker) = rest.split_at(start);
        let close = marker.find("-->").context("a generated part's first line has no end; write -->")? + 3;
        let (head, body) = marker.split_at(close);
        let end = body.find(END).with_context(|| format!("{head} has no end; write {END} after it"))?;
        let words: Vec<&str> = head[BEGIN.len()..head.len() - 3].split_whitespace().collect();
        fresh += before;
        fresh += head;
        match part(&words, path, records)? {
            Some(part) => fresh += &format!("\n\n{}\n\n", part.trim()),
            None => fresh += &body[..end],
        }
        fresh += END;
        rest = &body[end + END.len()..];
    }
    Ok(fresh + rest)
}

/// A generated part, or `None` where its name is not known here.
fn part(words: &[&str], page: &Path, records: &[(String, Record)]) -> Result<Option<String>> {
    let Some((&name, arguments)) = words.split_first() else { return Ok(None) };
    let find = |wanted: Option<&&str>| -> Option<&(String, Record)> {
        if let Some(wanted) = wanted {
            return records.iter().find(|(name, _)| name == wanted);
        }
        // The latest with a GPU's times, as the cache is in ordinary use.
        let timed = records.iter().filter(|(_, record)| record.has_times() && record.l2 == common::timing::L2::Warm);
        timed.max_by(|(_, a), (_, b)| a.date.cmp(&b.date))
    };
    let none = || {
        "*There is no record yet. On a machine with a GPU, `cargo course compare --record docs/results/NAME.json` makes one.*".to_owned()
    };
    Ok(Some(match (name, arguments) {
        ("ladder", arguments) => find(arguments.first()).map_or_else(none, |(name, record)| ladder(name, record)),
        ("sizes", arguments) => find(arguments.first()).map_or_else(none, |(name, record)| sizes(name, record)),
        ("record", [step, arguments @ ..]) => {
            find(arguments.first()).map_or_else(none, |(name, record)| of_step(name, record, step))
        }
        ("chart", [kind, arguments @ ..]) => {
            let chart = Chart::ALL.into_iter().find(|chart| chart.name() == *kind);
            let chart = chart
                .with_context(|| format!("there is no chart {kind:?}; write ladder, speed, saw-tooth or roofline"))?;
            find(arguments.first()).map_or_else(none, |(name, record)| image(chart, name, record, page))
        }
        ("results", []) => results(records),
        ("acceptance", arguments) => {
            let name = arguments.first().map_or("acceptance", |name| name);
            let path = record::folder().join(format!("{name}.json"));
            match std::fs::read_to_string(&path) {
                Ok(text) => markdown(&serde_json::from_str::<Acceptance>(&text).with_context(|| {
                    format!("{} is no acceptance table; record it anew", workspace::display(&path))
                })?),
                Err(_) => "*There is no such table yet. On a machine with a GPU, `cargo course record OUT` makes one.*"
                    .to_owned(),
            }
        }
        _ => return Ok(None),
    }))
}

/// Where the figures come from, and whether they are those of the sources as they are.
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

/// Figures of one kernel at one size: time, TFLOP/s, share of peak and of cuBLAS, over the previous step.
fn figures(record: &Record, size: &SizeRecord, entry: &Entry) -> Vec<String> {
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

const FIGURES: [&str; 5] = ["time", "TFLOP/s", "of FP32 peak", "of cuBLAS", "over the step before"];

fn heads(first: &[&str]) -> Vec<String> {
    first.iter().chain(&FIGURES).map(|head| (*head).to_owned()).collect()
}

/// All steps at one size.
fn ladder(name: &str, record: &Record) -> String {
    let Some(size) = record.ladder_size() else { return format!("*Record `{name}` has no times.*") };
    let row = |entry: &Entry| {
        let title =
            record.steps.iter().find(|step| step.name == entry.name).map_or("the vendor's library", |step| &step.title);
        let mut row = vec![entry.name.clone(), title.to_owned()];
        row.extend(figures(record, size, entry));
        row
    };
    let rows: Vec<Vec<String>> = size.entries.iter().map(row).collect();
    format!(
        "{}\nM = N = K = {}. {}",
        markdown_table(&heads(&["step", "what it does"]), &rows),
        size.m,
        source(name, record)
    )
}

/// All sizes: speed of each step, and what the last step is worth against cuBLAS.
fn sizes(name: &str, record: &Record) -> String {
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
    format!("{}\nTFLOP/s.{mean} {}", markdown_table(&head, &rows), source(name, record))
}

/// One step at all sizes it was timed at.
fn of_step(name: &str, record: &Record, step: &str) -> String {
    let row = |size: &SizeRecord| {
        let entry = size.entries.iter().find(|entry| entry.name == step)?;
        entry.spread()?;
        let mut row = vec![size.words()];
        row.extend(figures(record, size, entry));
        Some(row)
    };
    let rows: Vec<Vec<String>> = record.sizes.iter().filter(|size| !size.is_saw_tooth()).filter_map(row).collect();
    if rows.is_empty() {
        return format!("*Record `{name}` has no times of {step}.*");
    }
    format!("{}\n{}", markdown_table(&heads(&["M×N×K"]), &rows), source(name, record))
}

fn image(chart: Chart, name: &str, record: &Record, page: &Path) -> String {
    if chart.draw(record).is_none() {
        return format!("*Record `{name}` has nothing to draw here.*");
    }
    let link = relative(page, &chart_path(name, chart));
    format!("![{}]({link})\n\n{}", charts::alternative(chart, record), source(name, record))
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
fn results(records: &[(String, Record)]) -> String {
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
    if rows.is_empty() { "*There is no record yet.*".to_owned() } else { markdown_table(&head, &rows) }
}

/// A Markdown table; the first column to the left, numbers to the right.
pub fn markdown_table(head: &[String], rows: &[Vec<String>]) -> String {
    let escape = |cell: &String| cell.replace('|', "\\|");
    let line = |cells: &[String]| format!("| {} |\n", cells.iter().map(escape).collect::<Vec<_>>().join(" | "));
    let numeric = |column: usize| {
        let cell = |row: &Vec<String>| {
            row.get(column).is_some_and(|cell| cell.starts_with(|first: char| first.is_ascii_digit() || first == '–'))
        };
        column > 0 && !rows.is_empty() && rows.iter().filter(|row| cell(row)).count() * 2 > rows.len()
    };
    let rule: Vec<&str> = (0..head.len()).map(|column| if numeric(column) { "---:" } else { "---" }).collect();
    let mut table = line(head) + &format!("|{}|\n", rule.join("|"));
    for row in rows {
        table += &line(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use course::example::example;

    fn records() -> Vec<(String, Record)> {
        vec![("h100".to_owned(), example())]
    }

    #[test]
    fn parts_are_made_from_the_record_and_others_are_left() {
        let page = "a\n<!-- generated:ladder -->\n12 TFLOP/s, typed\n<!-- /generated -->\n<!-- generated:output x -->\nkept\n<!-- /generated -->\n";
        let path = workspace::root().join("README.md");
        let fresh = regenerate(page, &path, &records()).unwrap();
        assert!(
            fresh.contains("| step04_two | the title of step04_two |") && fresh.contains("| 50.0 % | 4.00 × |"),
            "{fresh}"
        );
        assert!(!fresh.contains("typed") && fresh.contains("kept"), "{fresh}");
        assert!(fresh.contains("driver 580.1") && fresh.contains("Outdated"), "{fresh}");
        // Made again it stays: that is what the check compares.
        assert_eq!(regenerate(&fresh, &path, &records()).unwrap(), fresh);
        let none = regenerate(page, &path, &[]).unwrap();
        assert!(none.contains("no record yet"), "{none}");
    }

    #[test]
    fn a_chart_is_linked_from_where_the_page_is() {
        let page = "<!-- generated:chart ladder -->\n<!-- /generated -->\n";
        for (path, link) in [
            ("README.md", "(docs/src/results/h100-ladder.svg)"),
            ("docs/src/step04_tiled/README.md", "(../results/h100-ladder.svg)"),
            ("step04_tiled/README.md", "(../docs/src/results/h100-ladder.svg)"),
        ] {
            let fresh = regenerate(page, &workspace::root().join(path), &records()).unwrap();
            assert!(fresh.contains(link), "{fresh}");
        }
        let wrong = "<!-- generated:chart cake -->\n<!-- /generated -->\n";
        assert!(regenerate(wrong, Path::new("README.md"), &records()).unwrap_err().to_string().contains("cake"));
    }

    #[test]
    fn a_step_has_its_own_table_and_every_size_is_in_the_large_one() {
        let record = example();
        let own = of_step("h100", &record, "step04_two");
        assert!(own.contains("| 1024³ |") && own.contains("| 4096³ |") && own.contains("25.60"), "{own}");
        let all = sizes("h100", &record);
        assert!(all.contains("step04_two reaches at least 0.500 × cuBLAS, 0.500 ×"), "{all}");
        assert!(results(&records()).contains("outdated: step02_one, step04_two changed since"));
    }

    #[test]
    fn tables_align_numbers_right() {
        let rows = vec![vec!["a|b".to_owned(), "1.5".to_owned()]];
        let table = markdown_table(&["x".to_owned(), "y".to_owned()], &rows);
        assert_eq!(table, "| x | y |\n|---|---:|\n| a\\|b | 1.5 |\n");
    }
}
