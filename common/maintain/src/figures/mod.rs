//! Figures. Those of kernels are drawn from runs: a kernel runs on the simulator, its accesses are recorded, and the
//! drawing shows them.

pub mod accesses;
mod accuracy;
pub mod every_shape;
mod house;
mod several;
mod step02;
mod step04;
mod step05;
mod step06;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use common::basics::workspace;

/// A figure: the stem of its file, and what draws it.
type Figure = (&'static str, fn() -> Result<String>);

const FIGURES: &[Figure] = &[
    ("step02-elements", step02::elements),
    ("step02-sectors", step02::sectors),
    ("step04-walk", step04::walk),
    ("step04-banks", step04::banks),
    ("step05-outer", step05::outer),
    ("step05-thread-tile", step05::thread_tile),
    ("step05-to-and-fro", step05::to_and_fro),
    ("step06-timeline", step06::timeline),
    ("tensor-errors", accuracy::errors),
    ("several-timeline", several::timeline),
    ("several-scaling", several::scaling),
    ("house", house::house),
];

/// The same for a figure that is there once its record is.
type Recorded = (&'static str, fn() -> Result<Option<String>>);

const RECORDED: &[Recorded] = &[(every_shape::SAW_TOOTH, every_shape::saw_tooth)];

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
    for (name, draw) in RECORDED {
        let path = folder.join(format!("{name}.svg"));
        if wanted(&path)
            && let Some(svg) = draw().with_context(|| format!("the figure {name}"))?
        {
            figures.push((path, svg));
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

    #[test]
    fn drawings_made_by_hand_have_a_text_alternative_and_can_be_read_on_a_phone() {
        let drawings = course::files::below(&workspace::root().join("docs/src/drawings"), "svg");
        assert!(!drawings.is_empty());
        for path in drawings {
            let svg = course::files::read(&path).unwrap();
            let name = path.display();
            assert!(svg.contains("<title") && svg.contains("<desc") && !svg.contains("\n\n"), "{name}");
            assert!(svg.contains("viewBox=\"0 0 480 "), "{name}: other widths make the words smaller or larger");
            for size in svg.split("font-size=\"").skip(1) {
                let size: u32 = size.split('"').next().unwrap().parse().unwrap();
                assert!(size >= 13, "{name}: words of {size}");
            }
        }
    }
}
