//! Where a step's kernels lie on the disk.

use std::path::PathBuf;

use plan::{Step, Variant};

use crate::basics::workspace;

/// The folder of a step.
pub fn folder_of(step: &Step) -> PathBuf {
    workspace::root().join(step.folder)
}

/// The file of a step's kernel, or of one of its variants.
pub fn file_of(step: &Step, variant: Option<&Variant>) -> PathBuf {
    folder_of(step).join(variant.map_or("kernel.cu".to_owned(), Variant::file))
}
