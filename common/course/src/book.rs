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
}

pub fn run(options: &Options) -> Result<bool> {
    let chapter = match &options.step {
        Some(name) => format!("{}/README.html", steps::expect(name)?.name),
        None => "index.html".to_owned(),
    };
    let (built, log) = build()?;
    ensure!(built, "the book does not build; fix what mdBook says:\n{}", log.trim());
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
