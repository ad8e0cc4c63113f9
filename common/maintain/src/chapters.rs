//! The Markdown pages of the course: README, the book, and the chapters and labs of the steps.

use std::path::PathBuf;

use anyhow::Result;
use common::basics::workspace;
use common::code::folder_of;
use course::files::below;
use course::steps::STEPS;

/// All pages, sorted.
pub fn all() -> Result<Vec<PathBuf>> {
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
    use std::path::Path;

    use course::files::read;

    use super::*;

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
                assert!(
                    chapter.contains(&format!("{{{{#include ../../../{name}/"))
                        || chapter.contains(&format!("{{{{#include ../../../../{name}/")),
                    "{page} includes no page of its step"
                );
            }
            let readme = read(&folder_of(step).join("README.md")).unwrap();
            for heading in ["## What you will know", "## The idea", "## Predict", "## Questions", "## The lab"] {
                assert!(readme.contains(heading), "{name}: {heading} is missing");
            }
            let shown = below(&workspace::root().join("docs/src").join(name), "md").into_iter();
            let kernel = format!("{name}/kernel.cu}}}}");
            assert!(
                shown.map(|page| read(&page).unwrap()).any(|page| page.contains(&kernel)),
                "{name}: the kernel is not included"
            );
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

    /// mdBook puts nothing in the place of a part that a file does not have.
    #[test]
    fn every_part_that_is_included_is_there() {
        let mut parts = 0;
        for page in all().unwrap() {
            let text = read(&page).unwrap();
            for include in text.split("{{#include ").skip(1).filter_map(|rest| rest.split_once("}}")) {
                let Some((file, part)) = include.0.trim().split_once(':') else { continue };
                let included = read(&page.parent().unwrap().join(file)).unwrap();
                for mark in ["ANCHOR:", "ANCHOR_END:"] {
                    let is_mark = |line: &str| line.contains(mark) && line.split_whitespace().any(|word| word == part);
                    assert!(
                        included.lines().any(is_mark),
                        "{}: {file} has no {mark} {part}",
                        workspace::display(&page)
                    );
                }
                parts += 1;
            }
        }
        assert!(parts >= 18, "{parts}");
    }
}
