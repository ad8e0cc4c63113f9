//! Links of the pages: what they point to must exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use common::workspace;

/// Dead links, as `FILE: LINK`. Links to other sites are not looked at: nothing is fetched.
pub fn dead(pages: &[PathBuf]) -> Result<Vec<String>> {
    let mut dead = Vec::new();
    for page in pages {
        let text = course::files::read(page)?;
        let folder = page.parent().unwrap_or(Path::new("."));
        // Links of an included page are links of this one: in the book they start from here.
        for link in targets(&expand(page, &text, "md")) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').map_or((link.as_str(), None), |(path, a)| (path, Some(a)));
            let target = if path.is_empty() { page.clone() } else { folder.join(path) };
            let alive = target.exists()
                && anchor.is_none_or(|anchor| {
                    course::files::read(&target)
                        .is_ok_and(|text| anchors(&expand(&target, &text, "md")).contains(anchor))
                });
            if !alive {
                dead.push(format!("{}: {link}", workspace::display(page)));
            }
        }
        for file in includes(&text) {
            let (path, anchor) = file.split_once(':').map_or((file.as_str(), None), |(path, a)| (path, Some(a)));
            let target = folder.join(path);
            let found = course::files::read(&target).ok();
            let alive = found.is_some_and(|text| anchor.is_none_or(|name| text.contains(&format!("ANCHOR: {name}"))));
            if !alive {
                dead.push(format!("{}: {{{{#include {file}}}}}", workspace::display(page)));
            }
        }
    }
    Ok(dead)
}

/// The text with its includes of this kind of file in place, one level deep.
fn expand(page: &Path, text: &str, extension: &str) -> String {
    let folder = page.parent().unwrap_or(Path::new("."));
    let mut expanded = text.to_owned();
    for file in includes(text) {
        let (path, anchor) = file.split_once(':').map_or((file.as_str(), None), |(path, a)| (path, Some(a)));
        if Path::new(path).extension().is_some_and(|found| found == extension) {
            let included = course::files::read(&folder.join(path)).unwrap_or_default();
            let part = match anchor {
                None => included.as_str(),
                Some(name) => {
                    let rest = included.split_once(&format!("ANCHOR: {name}")).map_or("", |(_, rest)| rest);
                    rest.split_once(&format!("ANCHOR_END: {name}")).map_or(rest, |(part, _)| part)
                }
            };
            expanded = expanded.replace(&format!("{{{{#include {file}}}}}"), part);
        }
    }
    expanded
}

/// Files that a page includes.
fn includes(text: &str) -> Vec<String> {
    text.split("{{#include ").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0.trim().to_owned())).collect()
}

/// Targets of `[...](target)` outside code.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if code {
            continue;
        }
        // Code between backticks holds indices such as [k](x), which are no links.
        for (place, part) in line.split('`').enumerate() {
            if place % 2 == 1 {
                continue;
            }
            let mut rest = part;
            while let Some(start) = rest.find("](") {
                rest = &rest[start + 2..];
                let Some(end) = rest.find(')') else { break };
                found.push(rest[..end].split_whitespace().next().unwrap_or_default().to_owned());
                rest = &rest[end..];
            }
        }
    }
    found
}

/// Anchors of the headings, as mdBook and GitHub make them.
fn anchors(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            title
                .chars()
                .filter_map(|c| match c {
                    ' ' => Some('-'),
                    c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                    _ => None,
                })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found_and_live_ones_are_not() {
        let folder = std::env::temp_dir().join(format!("course-links-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let page = folder.join("page.md");
        let text = "# A title\n[a](page.md) [b](gone.md) `[c](d)` [e](#a-title) [f](#no-title) ![g](gone.svg) \
                    [h](https://example.org)\n{{#include other.md}} {{#include other.md:none}}\n";
        std::fs::write(&page, text).unwrap();
        std::fs::write(folder.join("other.md"), "other").unwrap();
        let dead = dead(&[page]).unwrap().join("\n");
        for name in ["gone.md", "#no-title", "gone.svg", "other.md:none"] {
            assert!(dead.contains(name), "{dead}");
        }
        assert_eq!(dead.lines().count(), 4, "{dead}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
