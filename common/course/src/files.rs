//! Text files of the course, read and written.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use common::workspace;

/// Reads a text file with line feeds.
pub fn read(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read; restore it with git", workspace::display(path)))?;
    Ok(text.replace("\r\n", "\n"))
}

/// Writes a file and its folder.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .with_context(|| format!("{} cannot be written; check the folder's permissions", workspace::display(path)))
}
