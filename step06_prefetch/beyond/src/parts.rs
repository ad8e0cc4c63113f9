//! Parts of the chapters that are made from records: `cargo x pages` puts them in.

use anyhow::Result;

use crate::{accuracy, several, shapes};

/// A part that a page can ask for.
pub struct Part {
    /// The word after `generated:`.
    pub name: &'static str,
    /// The arguments that follow and what the part shows.
    pub shows: &'static str,
    /// Makes it from the arguments.
    pub make: fn(&[&str]) -> Result<String>,
}

const fn part(name: &'static str, shows: &'static str, make: fn(&[&str]) -> Result<String>) -> Part {
    Part { name, shows, make }
}

/// All of them.
pub const PARTS: &[Part] = &[
    part("shapes", "RECORD: the kernel for every shape against cuBLAS, in a table", shapes::tables::summary),
    part(
        "idea",
        "RECORD IDEA: what one idea of the kernel for every shape is worth, in a sentence",
        shapes::tables::idea,
    ),
    part("ideas", "RECORD: what each idea of the kernel for every shape is worth", shapes::tables::ideas),
    part(
        "saw-tooth",
        "the speeds of step 6, of the kernel for every shape and of the library at consecutive sizes",
        |_| shapes::tables::saw_tooth(),
    ),
    part("worst-shapes", "RECORD: each of the shapes, the worst first", shapes::tables::worst_first),
    part(
        "accuracy-speeds",
        "RECORD: products on tensor cores beside others, how fast and how accurate",
        accuracy::tables::speeds,
    ),
    part("accuracy-errors", "RECORD: worst errors for each kind of values and each K", accuracy::tables::errors),
    part(
        "accuracy-power",
        "RECORD: power and clocks of these products, if the record has them",
        accuracy::tables::power,
    ),
    part("several", "strong, weak, panels, adding or large: products on several GPUs", several::tables::table),
];
