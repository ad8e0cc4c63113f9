//! Records of measured runs: made by the verbs of this program, and kept in `docs/results`.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use common::DeviceInfo;
use common::basics::{files, json, nvidia_smi, workspace};
use common::code::find_nvrtc;
use common::device::cublas;
use common::measure::provenance;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads a record that `verb` of this program made. `words` are the arguments on a page: the record's name.
pub fn read<T: DeserializeOwned>(verb: &str, words: &[&str]) -> Result<T> {
    ensure!(words.len() == 1, "a part about {verb} takes the name of a record in docs/results/{verb}");
    let path = workspace::root().join("docs/results").join(verb).join(words[0]).with_extension("json");
    let wrong = || format!("{} is no record of beyond {verb}; make it again", workspace::display(&path));
    serde_json::from_str(&files::read(&path)?).with_context(wrong)
}

/// Writes a record into a folder, even if it is not complete yet.
pub fn write(folder: &Path, name: &str, record: &impl Serialize) -> Result<()> {
    files::write(&folder.join(name), &json::lines(record, 2)?)
}

/// The device, the versions of driver, NVRTC and cuBLAS, the day and the commit.
pub fn provenance(device: &DeviceInfo, commit: Option<&String>) -> String {
    let nvrtc = find_nvrtc().ok().map(|nvrtc| format!("{}.{}", nvrtc.version.0, nvrtc.version.1));
    let versions = [("driver", &nvidia_smi::driver()), ("NVRTC", &nvrtc), ("cuBLAS", &cublas::find().ok())];
    let commit = commit.cloned().or_else(provenance::commit);
    provenance::provenance(&device.name, &versions, &provenance::now(), &commit)
}
