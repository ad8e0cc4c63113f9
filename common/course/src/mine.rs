//! The folder of the learner's own files: `mine/` in the course, which git ignores; and what the course itself keeps there, as JSON.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use common::basics::{io_reason, workspace};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files;

/// The environment variable that names another folder.
pub const VARIABLE: &str = "COURSE_MINE";

/// The folder.
pub fn folder() -> PathBuf {
    let elsewhere = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty());
    elsewhere.map_or_else(|| workspace::root().join("mine"), PathBuf::from)
}

/// Reads a file that the course keeps; the default if there is none. A file that this program does not understand stays as it is.
pub(crate) fn read<T: Default + DeserializeOwned>(name: &str) -> Result<T> {
    read_from(&folder().join(name))
}

/// Changes a file that the course keeps. Other programs of the course may be changing it, too.
pub(crate) fn update<T, R>(name: &str, change: impl FnOnce(&mut T) -> R) -> Result<R>
where
    T: Default + Serialize + DeserializeOwned,
{
    let path = folder().join(name);
    // The folder may not exist yet; if something is in its way, that is reported when it is needed.
    let _ = fs::create_dir_all(folder());
    let _lock = files::lock(&folder());
    let mut kept: T = read_from(&path)?;
    let result = change(&mut kept);
    let text = serde_json::to_string_pretty(&kept)? + "\n";
    files::replace(&path, &text, |old| serde_json::from_str::<T>(old).is_ok(), "move it away").map(|()| result)
}

fn read_from<T: Default + DeserializeOwned>(path: &Path) -> Result<T> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(T::default()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(files::not_a_folder(files::folder_of(path)));
        }
        _ => {}
    }
    let text = files::text(path).map_err(|error| io_reason(&error));
    // A list would pass for an object whose fields are missing.
    let is_object = |text: &str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text);
    let kept = |text: String| is_object(&text).and_then(|_| serde_json::from_str(&text));
    let kept = text.and_then(|text| kept(text).map_err(|error| error.to_string()));
    kept.map_err(|why| anyhow!("{} cannot be read ({why}); move it away to begin again", workspace::display(path)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_file_that_is_not_understood_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.json");
        let read = || read_from::<BTreeMap<String, bool>>(&path);
        assert!(read().unwrap().is_empty());
        // A byte order mark, which some editors write, is not damage.
        fs::write(&path, "\u{feff}{\"step\": true}").unwrap();
        assert!(read().unwrap()["step"]);
        for bytes in [&b"{\"caf\xe9\": true}"[..], b"{\"step\": ", b"{\"step\": 3}"] {
            fs::write(&path, bytes).unwrap();
            assert!(read().unwrap_err().to_string().ends_with("; move it away to begin again"));
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        fs::write(&path, "[]").unwrap();
        assert!(read_from::<crate::progress::Progress>(&path).is_err());
    }
}
