//! `cargo x explorer`: the page on which kernels run, in one file with the engine, the kernels' PTX and their sources.

mod contents;
mod engine;
mod join;
mod native;

use std::path::PathBuf;

use anyhow::{Context, Result};
use common::basics::output::print;
use common::basics::workspace;
use course::explore::{packed_page, page};
use course::files;

/// Options of `cargo x explorer`.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Change nothing; exit with 1 if the page is not what its sources give
    #[arg(long)]
    pub check: bool,
    /// Write the data of the page alone to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Write what the simulator counts for every kernel of the page, as JSON: the browser's test compares it
    #[arg(long, value_name = "FILE")]
    pub native: Option<PathBuf>,
    /// Write the engine alone to this file
    #[arg(long, value_name = "FILE")]
    pub engine: Option<PathBuf>,
}

/// Before the hash of what the engine is made of.
const MADE_OF: &str = "<!-- the engine is made of sources with the SHA-256 ";

/// Runs the command; `false` if the check fails.
pub fn run(options: &Options) -> Result<bool> {
    if let Some(path) = &options.native {
        let native = native::native(&page::data(&files::read(&packed_page())?)?)?;
        files::write(path, &(serde_json::to_string(&native)? + "\n"))?;
        print(&format!("{}: {} runs\n", workspace::display(path), native.runs.len()))?;
        return Ok(true);
    }
    if let Some(path) = &options.engine {
        std::fs::write(path, engine::build()?).with_context(|| format!("{} cannot be written", path.display()))?;
        return Ok(true);
    }
    let data = contents::contents()?;
    if let Some(path) = &options.data {
        files::write(path, &(serde_json::to_string(&data)? + "\n"))?;
        print(&format!("{}: {} kernels\n", workspace::display(path), data.kernels.len()))?;
        return Ok(true);
    }
    let path = packed_page();
    let now = files::read(&path).unwrap_or_default();
    // Compilers differ; what was compiled is compared by what it was made of.
    let made_of = format!("{MADE_OF}{} -->", engine::hash()?);
    let known = now.contains(&made_of).then(|| page::engine(&now).ok()).flatten();
    let fresh_engine = known.is_some();
    let module = match known {
        Some(module) => module,
        None if options.check => page::engine(&now).unwrap_or_default(),
        None => engine::build()?,
    };
    let scripts = format!("{made_of}\n{}", page::scripts(&data, &module)?);
    let fresh = join::page(&workspace::root().join("common/explorer/page"), &scripts)?;
    let stale = now != fresh || !fresh_engine;
    let name = workspace::display(&path);
    if options.check {
        print(&if stale {
            format!("stale: {name}; make it again with cargo x explorer\n")
        } else {
            format!("{name} is fresh\n")
        })?;
        return Ok(!stale);
    }
    if stale {
        files::write(&path, &fresh)?;
    }
    let (kernels, bytes) = (data.kernels.len(), fresh.len());
    print(&format!("{name}: {kernels} kernels, {bytes} bytes, of which the engine has {} unpacked\n", module.len()))?;
    Ok(true)
}
