//! Parts of the chapters that are made from records: `cargo x pages` puts them in.

use anyhow::Result;

use crate::{accuracy, several, shapes};

/// The word after `generated:`, its arguments with what the part shows, and the function that makes the part of them.
pub type Part = (&'static str, &'static str, fn(&[&str]) -> Result<String>);

/// All parts that show records of this crate.
pub const PARTS: &[Part] = &[
    ("shapes", "RECORD: the kernel for every shape against cuBLAS, in a table", shapes::tables::summary),
    ("idea", "RECORD IDEA: what one idea of it is worth, in a sentence", shapes::tables::idea),
    ("ideas", "RECORD: what each of its ideas is worth", shapes::tables::ideas),
    ("saw-tooth", "RECORD: the speeds of it, of step 6 and of cuBLAS at consecutive sizes", shapes::tables::saw_tooth),
    ("worst-shapes", "RECORD: each of the shapes, the worst first", shapes::tables::worst_first),
    ("accuracy-speeds", "RECORD: how fast and how accurate products on tensor cores are", accuracy::tables::speeds),
    ("accuracy-errors", "RECORD: worst errors for each kind of values and each K", accuracy::tables::errors),
    ("accuracy-power", "RECORD: power and clocks of these products", accuracy::tables::power),
    ("several", "strong, weak, panels, adding or large: products on several GPUs", several::tables::table),
];
