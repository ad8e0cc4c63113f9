//! Records that the course keeps, in `docs/results`.

use anyhow::{Context, Result};
use common::basics::files;
use common::basics::workspace;
use serde::de::DeserializeOwned;

/// The record of this name that a verb of this program made.
pub fn read<T: DeserializeOwned>(verb: &str, name: &str) -> Result<T> {
    let path = workspace::root().join("docs/results").join(verb).join(name).with_extension("json");
    let wrong = || format!("{} is no record of beyond {verb}; make it again", workspace::display(&path));
    serde_json::from_str(&files::read(&path)?).with_context(wrong)
}
