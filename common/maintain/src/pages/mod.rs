//! `cargo x pages`: everything generated in README, the book and the chapters. Outputs, tables of counters and differences
//! come from runs on the simulator, figures from recorded accesses, tables and charts of speed from the records.

mod content;
mod counted;
mod markers;
mod outputs;
mod parts;
mod readings;
mod rooms;
mod timed;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use common::output::print;
use common::workspace;
use course::files::{read, write};
use course::record;

use crate::charts::Chart;
use crate::{chapters, figures};
use content::Page;

/// Options of `cargo x pages`.
#[derive(clap::Args)]
pub struct Options {
    /// Change nothing; exit with 1 if a file is not what it is made from
    #[arg(long)]
    check: bool,
    /// Only files whose path contains one of these
    files: Vec<String>,
}

impl Options {
    /// All files, checked.
    pub fn check() -> Self {
        Self { check: true, files: Vec::new() }
    }
}

/// Runs the command; `false` if the check fails.
pub fn run(options: &Options) -> Result<bool> {
    let records = record::all()?;
    let wanted = |path: &Path| {
        let path = workspace::display(path);
        options.files.is_empty() || options.files.iter().any(|part| path.contains(part.as_str()))
    };
    let mut files: Vec<(PathBuf, String)> = figures::all(&wanted)?;
    for (name, record) in &records {
        for chart in Chart::ALL {
            let path = timed::chart_path(name, chart);
            if wanted(&path)
                && let Some(svg) = chart.draw(record)?
            {
                files.push((path, svg));
            }
        }
    }
    for path in chapters::all()?.into_iter().filter(|path| wanted(path)) {
        let page = Page { path: &path, records: &records };
        let fresh = markers::replace(&read(&path)?, |words| parts::make(&page, words));
        let fresh = fresh.with_context(|| workspace::display(&path))?;
        files.push((path, fresh));
    }
    let mut text = String::new();
    let (count, mut stale) = (files.len(), 0);
    for (path, fresh) in files {
        let now = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        if now == fresh {
            continue;
        }
        stale += 1;
        let display = workspace::display(&path);
        if options.check {
            text += &format!("stale: {display}{}\n", first_difference(&now, &fresh));
        } else {
            write(&path, &fresh)?;
            text += &format!("made {display}\n");
        }
    }
    for (name, record) in &records {
        let outdated = record.outdated();
        if !outdated.is_empty() {
            text += &format!("outdated: docs/results/{name}.json, whose {} has changed since\n", outdated.join(", "));
        }
    }
    text += &match (options.check, stale) {
        (true, 0) => format!("{count} pages, figures and charts, all fresh\n"),
        (true, stale) => {
            format!("{count} pages, figures and charts, {stale} stale; regenerate them with cargo x pages\n")
        }
        (false, stale) => format!("{count} pages, figures and charts, {stale} changed\n"),
    };
    print(&text)?;
    Ok(!options.check || stale == 0)
}

/// Where two texts begin to differ, for a message.
fn first_difference(old: &str, new: &str) -> String {
    let line = old.lines().zip(new.lines()).position(|(old, new)| old != new);
    let line = line.unwrap_or_else(|| old.lines().count().min(new.lines().count()));
    let of = |text: &str| text.lines().nth(line).unwrap_or("(the end)").trim().chars().take(80).collect::<String>();
    format!(" (line {}: {:?} would be {:?})", line + 1, of(old), of(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_file_is_shown_by_its_first_difference() {
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), " (line 2: \"b\" would be \"c\")");
        assert_eq!(first_difference("a\n", "a\nc\n"), " (line 2: \"(the end)\" would be \"c\")");
    }

    #[test]
    fn every_marker_of_every_page_names_a_part() {
        for path in chapters::all().unwrap() {
            let page = markers::replace(&read(&path).unwrap(), |words| {
                let name = words.first().copied().unwrap_or_default();
                anyhow::ensure!(parts::PARTS.iter().any(|part| part.name == name), "there is no part {name}");
                Ok(String::new())
            });
            page.unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
        }
    }
}
