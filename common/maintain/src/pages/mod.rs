//! `cargo x pages`: regenerates all generated parts of README, the book and the chapters. Outputs, tables of counters and
//! differences come from runs on the simulator; tables and charts of speed come from the records.

mod asked;
pub mod counted;
mod outputs;
mod parts;
mod timed;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use common::basics::{print, workspace};
use common::code::folder_of;
use course::files::{below, read};
use course::record;
use course::steps::STEPS;

use crate::generated::Generated;

#[derive(clap::Args)]
pub struct Options {
    /// Change nothing; exit with 1 if a file is not what it is made from
    #[arg(long)]
    pub check: bool,
    /// Only files whose path contains one of these
    pub files: Vec<String>,
}

/// Runs the command. Returns `false` if the check fails.
pub fn run(options: &Options) -> Result<bool> {
    let records = record::within(&record::folder())?;
    let wanted = |path: &Path| {
        let path = workspace::display(path);
        options.files.is_empty() || options.files.iter().any(|part| path.contains(part.as_str()))
    };
    let mut generated = Generated::new(options.check);
    for (path, svg) in timed::charts(&records)?.into_iter().filter(|(path, _)| wanted(path)) {
        generated.file(&path, &svg)?;
    }
    for path in chapters()?.into_iter().filter(|path| wanted(path)) {
        let fresh = parts::replace(&read(&path)?, |words| parts::make(&records, words));
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

/// The Markdown pages of the course, sorted: README, the book, and the chapters and labs of the steps.
fn chapters() -> Result<Vec<PathBuf>> {
    let root = workspace::root();
    let mut pages = below(&root.join("docs/src"), "md");
    for folder in STEPS.iter().map(|step| folder_of(step)) {
        pages.extend(below(&folder, "md"));
    }
    pages.extend(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    pages.retain(|path| path.is_file());
    pages.sort();
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use snapbox::data::DataFormat;
    use snapbox::{Data, assert_data_eq};

    use super::*;
    use crate::charts::example;

    /// Every kind of part, and the error if a part cannot be made. After an intended change, `SNAPSHOTS=overwrite` writes the file
    /// again; read the difference before you commit it.
    #[test]
    fn each_part_is_what_the_example_says() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parts.md");
        let records = [("h100".to_owned(), example())];
        let fresh = parts::replace(&read(&path).unwrap(), |words| {
            let made = match words {
                ["none", words @ ..] => parts::make(&[], words),
                words => parts::make(&records, words),
            };
            Ok(made.unwrap_or_else(|error| format!("\n\nerror: {error:#}\n\n")))
        });
        assert_data_eq!(fresh.unwrap(), Data::read_from(&path, Some(DataFormat::Text)).raw());
        let names: Vec<&str> = parts::names().collect();
        assert!(names.iter().all(|name| names.iter().filter(|other| *other == name).count() == 1), "{names:?}");
        let unknown = parts::make(&records, &["cake"]).unwrap_err().to_string();
        assert!(unknown.contains("\"cake\"") && names.iter().all(|name| unknown.contains(name)), "{unknown}");
    }

    #[test]
    fn every_marker_of_every_page_names_a_part() {
        for path in chapters().unwrap() {
            let page = parts::replace(&read(&path).unwrap(), |words| {
                let name = words.first().copied().unwrap_or_default();
                anyhow::ensure!(parts::names().any(|known| known == name), "there is no part {name}");
                Ok(String::new())
            });
            page.unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
        }
    }

    #[test]
    fn every_step_with_a_lab_has_its_chapter() {
        let summary = read(&workspace::root().join("docs/src/SUMMARY.md")).unwrap();
        for step in STEPS.iter().filter(|step| folder_of(step).join("lab/lab.json").is_file()) {
            let (name, folder) = (step.name, folder_of(step));
            let is_chapter = |page: &Path| page.parent() == Some(&folder) || page == folder.join("lab/README.md");
            for page in below(&folder, "md").into_iter().filter(|page| is_chapter(page)) {
                let page = workspace::display(&page);
                assert!(summary.contains(&format!("({page})")), "{page} is not in the summary");
                let chapter = read(&workspace::root().join("docs/src").join(&page)).unwrap();
                let includes = |up: &str| chapter.contains(&format!("{{{{#include {up}{name}/"));
                assert!(includes("../../../") || includes("../../../../"), "{page} includes no page of its step");
            }
            let readme = read(&folder_of(step).join("README.md")).unwrap();
            for heading in ["## What you will know", "## The idea", "## Predict", "## Questions", "## The lab"] {
                assert!(readme.contains(heading), "{name}: {heading} is missing");
            }
            let shown = below(&workspace::root().join("docs/src").join(name), "md");
            let kernel = format!("{name}/kernel.cu}}}}");
            let includes = |page: &PathBuf| read(page).unwrap().contains(&kernel);
            assert!(shown.iter().any(includes), "{name}: the kernel is not included");
        }
    }

    #[test]
    fn pictures_have_a_text_alternative_and_drawings_made_by_hand_can_be_read_on_a_phone() {
        let pictures = below(&workspace::root().join("docs/src"), "svg");
        assert!(pictures.len() > 15, "{pictures:?}");
        for path in pictures {
            let svg = read(&path).unwrap();
            let name = workspace::display(&path);
            // An empty line would end the HTML of a page that includes it.
            assert!(svg.contains("<title") && svg.contains("<desc") && !svg.contains("\n\n"), "{name}");
            if !name.contains("/drawings/") {
                continue;
            }
            assert!(svg.contains("viewBox=\"0 0 480 "), "{name}: other widths make the words smaller or larger");
            for size in svg.split("font-size=\"").skip(1) {
                let size: u32 = size.split('"').next().unwrap().parse().unwrap();
                assert!(size >= 13, "{name}: words of {size}");
            }
        }
    }

    /// If a file lacks the part that is included, mdBook silently includes nothing.
    #[test]
    fn every_part_that_is_included_is_there() {
        let mut parts = 0;
        for page in chapters().unwrap() {
            let (text, name) = (read(&page).unwrap(), workspace::display(&page));
            for include in text.split("{{#include ").skip(1).filter_map(|rest| rest.split_once("}}")) {
                let Some((file, part)) = include.0.trim().split_once(':') else { continue };
                let included = read(&page.parent().unwrap().join(file)).unwrap();
                for mark in ["ANCHOR:", "ANCHOR_END:"] {
                    let is_mark = |line: &str| line.contains(mark) && line.split_whitespace().any(|word| word == part);
                    assert!(included.lines().any(is_mark), "{name}: {file} has no {mark} {part}");
                }
                parts += 1;
            }
        }
        assert!(parts >= 18, "{parts}");
    }
}
