//! Links and includes of the pages: what they point to must exist. Nothing is fetched: links to other sites are left alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use common::basics::workspace;
use course::files::read;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Dead links and includes, as `FILE: LINK`.
pub fn dead(pages: &[PathBuf]) -> Result<Vec<String>> {
    let mut dead = Vec::new();
    for page in pages {
        let name = workspace::display(page);
        let text = read(page)?;
        let folder = page.parent().unwrap_or(Path::new("."));
        for include in includes(&text).filter(|include| include.text(folder).is_none()) {
            dead.push(format!("{name}: {}", include.whole));
        }
        // In the book, the links of an included page start from the page that includes it.
        for link in targets(&expand(&text, folder)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').map_or((link.as_str(), None), |(path, a)| (path, Some(a)));
            let target = if path.is_empty() { page.clone() } else { folder.join(path) };
            if !target.exists() || anchor.is_some_and(|anchor| !has_anchor(&target, anchor)) {
                dead.push(format!("{name}: {link}"));
            }
        }
    }
    Ok(dead)
}

/// Whether a page, with what it includes, has a heading of this anchor. What follows the name of a page that is no Markdown is for
/// that page's own program.
fn has_anchor(page: &Path, anchor: &str) -> bool {
    if page.extension().is_some_and(|extension| extension == "html") {
        return true;
    }
    let folder = page.parent().unwrap_or(Path::new("."));
    read(page).is_ok_and(|text| anchors(&expand(&text, folder)).contains(anchor))
}

/// `{{#include FILE}}` or `{{#include FILE:PART}}`, as mdBook understands it.
struct Include<'a> {
    whole: &'a str,
    file: &'a str,
    part: Option<&'a str>,
}

fn includes(text: &str) -> impl Iterator<Item = Include<'_>> {
    const BEGIN: &str = "{{#include ";
    text.match_indices(BEGIN).filter_map(move |(start, _)| {
        let length = text[start..].find("}}")?;
        let inside = text[start + BEGIN.len()..start + length].trim();
        let (file, part) = inside.split_once(':').map_or((inside, None), |(file, part)| (file, Some(part)));
        Some(Include { whole: &text[start..start + length + 2], file, part })
    })
}

impl Include<'_> {
    /// What stands in the include's place, or `None` if the file or its part does not exist.
    fn text(&self, folder: &Path) -> Option<String> {
        let text = read(&folder.join(self.file)).ok()?;
        let Some(part) = self.part else { return Some(text) };
        let begin = text.lines().position(|line| ends_with_word(line, &format!("ANCHOR: {part}")))?;
        let rest: Vec<&str> = text.lines().skip(begin + 1).collect();
        let end = rest.iter().position(|line| ends_with_word(line, &format!("ANCHOR_END: {part}")))?;
        Some(rest[..end].join("\n"))
    }
}

/// Whether a line is a mark, alone or in a comment.
fn ends_with_word(line: &str, mark: &str) -> bool {
    line.split_once(mark)
        .is_some_and(|(_, after)| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-'))
}

/// The text with its includes of Markdown in place, one level deep, as the course has them.
fn expand(text: &str, folder: &Path) -> String {
    let mut expanded = text.to_owned();
    for include in includes(text) {
        if Path::new(include.file).extension().is_some_and(|extension| extension == "md") {
            expanded = expanded.replace(include.whole, &include.text(folder).unwrap_or_default());
        }
    }
    expanded
}

/// Where the links and images of a page point to.
fn targets(text: &str) -> Vec<String> {
    let target = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    };
    Parser::new_ext(text, options()).filter_map(target).collect()
}

/// Anchors of the headings, as mdBook and GitHub make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut title: Option<String> = None;
    for event in Parser::new_ext(text, options()) {
        match event {
            Event::Start(Tag::Heading { .. }) => title = Some(String::new()),
            Event::Text(words) | Event::Code(words) => {
                if let Some(title) = &mut title {
                    *title += &words;
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&title.take().unwrap_or_default());
                // The second heading of the same words gets a number.
                let again = (1..).map(|number| format!("{anchor}-{number}"));
                let free = std::iter::once(anchor.clone()).chain(again).find(|anchor| !found.contains(anchor));
                found.extend(free);
            }
            _ => {}
        }
    }
    found
}

fn anchor(title: &str) -> String {
    let place = |c: char| match c {
        c if c.is_whitespace() => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    };
    title.trim().to_lowercase().chars().filter_map(place).collect()
}

/// The Markdown of mdBook.
fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The dead links of a page with this text, beside a page `other.md` and a picture `there.svg`.
    fn of(text: &str) -> Vec<String> {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        let page = folder.join("page.md");
        course::files::write(&page, text).unwrap();
        let other =
            "# Other\n<!-- ANCHOR: part -->\n## Within `a_part`\n[x](there.svg)\n<!-- ANCHOR_END: part -->\n## Other\n";
        course::files::write(&folder.join("other.md"), other).unwrap();
        course::files::write(&folder.join("there.svg"), "<svg/>").unwrap();
        let dead = dead(&[page]).unwrap();
        dead.into_iter().map(|line| line.split_once("page.md: ").unwrap().1.to_owned()).collect()
    }

    #[test]
    fn what_exists_is_not_dead() {
        let text = "# A title, of *some* words\n\n[a](other.md) [b](#a-title-of-some-words) ![c](there.svg)\n\
                    [d](https://example.org) [e](other.md#other) [f](other.md#other-1) [g](other.md#within-a_part) [h]\n\n\
                    `[i](gone)` and\n\n```cpp\nx[k](gone);\n{{#include other.md}}\n```\n\n{{#include other.md:part}}\n\n\
                    [j](#within-a_part)\n\n[h]: other.md\n";
        assert_eq!(of(text), [""; 0]);
    }

    #[test]
    fn each_kind_of_dead_link_is_found() {
        for (text, link) in [
            ("[a](gone.md)", "gone.md"),
            ("[a][b]\n\n[b]: gone.md", "gone.md"),
            ("[a](<gone with spaces.md>)", "gone with spaces.md"),
            ("[a](#no-title)", "#no-title"),
            ("[a](other.md#no-title)", "other.md#no-title"),
            ("[a](other.md#other-2)", "other.md#other-2"),
            ("![a](gone.svg)", "gone.svg"),
            ("{{#include gone.md}}", "{{#include gone.md}}"),
            ("```cpp\n{{#include gone.cu}}\n```", "{{#include gone.cu}}"),
            ("{{#include other.md:par}}", "{{#include other.md:par}}"),
            ("# `code` is not a link\n[a](#code-is-a-link)", "#code-is-a-link"),
        ] {
            assert_eq!(of(text), [link], "{text}");
        }
    }

    #[test]
    fn a_link_of_an_included_page_is_one_of_the_page_that_includes_it() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        course::files::write(&folder.join("step/README.md"), "[a](lab.md)\n").unwrap();
        course::files::write(&folder.join("step/lab.md"), "").unwrap();
        let page = folder.join("book/page.md");
        course::files::write(&page, "{{#include ../step/README.md}}\n").unwrap();
        let found = dead(&[folder.join("step/README.md"), page.clone()]).unwrap();
        assert!(found.len() == 1 && found[0].ends_with("page.md: lab.md"), "{found:?}");
    }
}
