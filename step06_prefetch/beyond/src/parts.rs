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

/// All of them.
pub const PARTS: &[Part] = &[
    Part {
        name: "shapes",
        shows: "RECORD: the kernel for every shape against cuBLAS, in a table",
        make: shapes::tables::summary,
    },
    Part {
        name: "idea",
        shows: "RECORD IDEA: what one idea of the kernel for every shape is worth, in a sentence",
        make: shapes::tables::idea,
    },
    Part {
        name: "ideas",
        shows: "RECORD: what each idea of the kernel for every shape is worth",
        make: shapes::tables::ideas,
    },
    Part {
        name: "saw-tooth",
        shows: "the speeds of step 6, of the kernel for every shape and of the library at consecutive sizes",
        make: |_| shapes::tables::saw_tooth(),
    },
    Part {
        name: "worst-shapes",
        shows: "RECORD: each of the shapes, the worst first",
        make: shapes::tables::worst_first,
    },
    Part {
        name: "accuracy-speeds",
        shows: "RECORD: products on tensor cores beside others, how fast and how accurate",
        make: accuracy::tables::speeds,
    },
    Part {
        name: "accuracy-errors",
        shows: "RECORD: worst errors for each kind of values and each K",
        make: accuracy::tables::errors,
    },
    Part {
        name: "accuracy-power",
        shows: "RECORD: power and clocks of these products, if the record has them",
        make: accuracy::tables::power,
    },
    Part {
        name: "several",
        shows: "strong, weak, panels, adding or large: products on several GPUs",
        make: several::tables::table,
    },
];
