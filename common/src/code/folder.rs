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
    let [folder, name] = variant.map_or(["", "kernel"], |variant| [variant.folder, variant.name]);
    folder_of(step).join(folder).join(name).with_extension("cu")
}
