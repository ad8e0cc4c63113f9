//! Figures made from records. Those that never change are plain SVG files beside them.

mod every_shape;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use common::basics::workspace;

/// A figure: the stem of its file, and what draws it.
type Figure = (&'static str, fn() -> Result<String>);

const FIGURES: &[Figure] = &[(every_shape::SAW_TOOTH, every_shape::saw_tooth)];

/// All figures whose file is wanted: path and SVG.
pub fn all(wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<(PathBuf, String)>> {
    let folder = workspace::root().join("docs/src/figures");
    let mut figures = Vec::new();
    for (name, draw) in FIGURES {
        let path = folder.join(format!("{name}.svg"));
        if wanted(&path) {
            figures.push((path, draw().with_context(|| format!("the figure {name}"))?));
        }
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_drawn_twice_alike_and_has_a_text_alternative() {
        for (name, draw) in FIGURES {
            let svg = draw().unwrap();
            assert_eq!(svg, draw().unwrap(), "{name}");
            assert!(svg.contains("<title") && svg.contains("<desc") && !svg.contains("\n\n"), "{name}");
        }
    }
}
