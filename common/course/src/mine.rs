//! The folder of the learner's own files: `mine/` in the course, which git ignores.

use std::path::PathBuf;

use common::basics::workspace;

/// The environment variable that names another folder.
pub const VARIABLE: &str = "COURSE_MINE";

/// The folder.
pub fn folder() -> PathBuf {
    let elsewhere = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty());
    elsewhere.map_or_else(|| workspace::root().join("mine"), PathBuf::from)
}
