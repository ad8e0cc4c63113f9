//! `cargo x pages`: everything generated in README, the book and the chapters. Outputs, tables of counters and differences
//! come from runs on the simulator, tables and charts of speed from the records.

pub mod counted;
mod markers;
mod outputs;
mod parts;
mod timed;

use std::path::Path;

use anyhow::{Context, Result};
use common::basics::output::print;
use common::basics::workspace;
use course::files::read;
use course::record;

use crate::chapters;
use crate::generated::Generated;

#[derive(clap::Args, Default)]
pub struct Options {
    /// Change nothing; exit with 1 if a file is not what it is made from
    #[arg(long)]
    pub check: bool,
    /// Only files whose path contains one of these
    pub files: Vec<String>,
}

/// Runs the command; `false` if the check fails.
pub fn run(options: &Options) -> Result<bool> {
    let records = record::all()?;
    let wanted = |path: &Path| {
        let path = workspace::display(path);
        options.files.is_empty() || options.files.iter().any(|part| path.contains(part.as_str()))
    };
    let mut generated = Generated::new(options.check);
    for (path, svg) in timed::charts(&records)?.into_iter().filter(|(path, _)| wanted(path)) {
        generated.file(&path, &svg)?;
    }
    for path in chapters::all()?.into_iter().filter(|path| wanted(path)) {
        let fresh = markers::replace(&read(&path)?, |words| parts::make(&records, words));
        generated.file(&path, &fresh.with_context(|| workspace::display(&path))?)?;
    }
    for (name, record) in &records {
        let outdated = record.outdated();
        if !outdated.is_empty() {
            let changed = outdated.join(", ");
            generated.text += &format!("outdated: docs/results/{name}.json, whose {changed} has changed since\n");
        }
    }
    print(&format!("{}{}\n", generated.text, generated.verdict("pages and charts", "pages")))?;
    Ok(generated.ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::example;

    /// Every kind of part, and what is said where a part cannot be made. After a change on purpose, `SNAPSHOTS=overwrite` writes the file
    /// again; read the difference before it is committed.
    #[test]
    fn each_part_is_what_the_example_says() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parts.md");
        let kept = read(&path).unwrap();
        let records = [("h100".to_owned(), example())];
        let fresh = markers::replace(&kept, |words| {
            let made = match words {
                ["none", words @ ..] => parts::make(&[], words),
                words => parts::make(&records, words),
            };
            Ok(made.unwrap_or_else(|error| format!("\n\nerror: {error:#}\n\n")))
        });
        if std::env::var("SNAPSHOTS").is_ok_and(|value| value == "overwrite") {
            std::fs::write(&path, fresh.unwrap()).unwrap();
            return;
        }
        assert_eq!(fresh.unwrap(), kept);
        let names: Vec<&str> = parts::names().collect();
        assert!(names.iter().all(|name| names.iter().filter(|other| *other == name).count() == 1), "{names:?}");
        let unknown = parts::make(&records, &["cake"]).unwrap_err().to_string();
        assert!(unknown.contains("\"cake\"") && names.iter().all(|name| unknown.contains(name)), "{unknown}");
    }

    #[test]
    fn every_marker_of_every_page_names_a_part() {
        for path in chapters::all().unwrap() {
            let page = markers::replace(&read(&path).unwrap(), |words| {
                let name = words.first().copied().unwrap_or_default();
                anyhow::ensure!(parts::names().any(|known| known == name), "there is no part {name}");
                Ok(String::new())
            });
            page.unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
        }
    }
}
