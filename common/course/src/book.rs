//! The book: built by mdBook from `docs/`, and opened in a browser. Nothing is fetched from the network.

use std::io::{ErrorKind, IsTerminal as _};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use common::basics::{output, workspace};

use crate::explore::{contents, engine, page};
use crate::{files, steps};

#[derive(clap::Args)]
pub struct Options {
    /// The chapter of this step, by its number or the start of its name; by default the first page
    step: Option<String>,
    /// Write slides of each step's chapter beside it in the book: headings, figures, code, lists and tables, to show or to print
    #[arg(long)]
    slides: bool,
}

pub fn run(options: &Options) -> Result<bool> {
    let chapter = match &options.step {
        Some(name) => format!("{}/README.html", steps::expect(name)?.name),
        None => "index.html".to_owned(),
    };
    let (built, log) = build()?;
    ensure!(built, "the book does not build; fix what mdBook says:\n{}", log.trim());
    if options.slides {
        return slides(options.step.as_deref()).map(|()| true);
    }
    let page = workspace::root().join("docs/book").join(chapter);
    let name = workspace::display(&page);
    ensure!(page.is_file(), "the book has no page {name}; name the chapter in docs/src/SUMMARY.md");
    output::print(&format!("the book is built: {}\n", page.display()))?;
    // Whoever sends the output elsewhere is not in front of a screen. The path is said, so that it does not matter if
    // there is no browser.
    if std::io::stdout().is_terminal() {
        let _ = open::that_detached(&page);
    }
    Ok(true)
}

/// How slides look, on a screen and on paper.
const SLIDES: &str = include_str!("../slides.css");

/// Writes the slides of one step, or of all.
fn slides(only: Option<&str>) -> Result<()> {
    let steps = match only {
        Some(name) => vec![steps::expect(name)?],
        None => steps::STEPS.to_vec(),
    };
    for step in steps {
        let folder = workspace::root().join("docs/book").join(step.name);
        let (page, file) = (files::read(&folder.join("README.html"))?, folder.join("slides.html"));
        let name = workspace::display(&file);
        let text = slides_of(&page).with_context(|| format!("{name} has no headings; build the book again"))?;
        files::write(&file, text)?;
        output::print(&format!("slides of {}: {name}\n", step.name))?;
    }
    Ok(())
}

/// A slide for each heading of a page, with what is below it.
fn slides_of(page: &str) -> Option<String> {
    let (_, rest) = page.split_once("<main>")?;
    let (main, _) = rest.split_once("</main>")?;
    let ends = main.match_indices("<h").filter(|(at, _)| matches!(main.as_bytes().get(at + 2), Some(b'1'..=b'3')));
    let starts: Vec<usize> = ends.map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([main.len()]);
    let slide = |(from, to): (&usize, usize)| format!("<section>\n{}</section>\n", &main[*from..to]);
    let slides: Vec<String> = starts.iter().zip(ends).map(slide).collect();
    let head = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Slides</title>\n";
    (!slides.is_empty()).then(|| format!("{head}<style>\n{SLIDES}</style>\n{}</html>\n", slides.concat()))
}

/// Builds the book, with the explorer's page in it. Returns whether mdBook succeeded, and its output.
pub fn build() -> Result<(bool, String)> {
    let root = workspace::root();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    // On the path, or where .ci/run installs it.
    let programs = [PathBuf::from("mdbook"), target.join("mdbook/bin/mdbook")];
    let built =
        programs.iter().find_map(|program| match Command::new(program).arg("build").arg(root.join("docs")).output() {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            built => {
                Some(built.with_context(|| format!("{} cannot be started; install mdBook again", program.display())))
            }
        });
    let output = built.context(
        "mdBook was not found; install it with cargo install mdbook --version 0.4.52 --locked --no-default-features --features search, or read docs/src/SUMMARY.md and the chapters it names as they are",
    )??;
    let log = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let page = page::whole(&contents::of_book(), &engine::engine()?)?;
        files::write(&root.join("docs/book/explorer.html"), &page)?;
    }
    Ok((output.status.success(), log.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_heading_of_a_page_begins_a_slide() {
        let page =
            "<h2>menu</h2><main><h1>One</h1><p>a</p><h2 id=b>Two</h2><p>b</p><header>c</header></main><h2>end</h2>";
        let slides = slides_of(page).unwrap();
        assert_eq!(slides.matches("<section>").count(), 2, "{slides}");
        assert!(slides.contains("<h2 id=b>Two</h2><p>b</p><header>c</header></section>") && !slides.contains("menu"));
        assert_eq!(slides_of("<main>nothing</main>"), None);
    }
}
