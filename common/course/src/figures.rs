//! Figures drawn from runs on the simulator.

use std::path::{Path, PathBuf};

use anyhow::Result;

/// All figures whose file is wanted: path and SVG.
pub fn all(_wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<(PathBuf, String)>> {
    Ok(Vec::new())
}
