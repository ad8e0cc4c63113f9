//! Text files of the course: read with line feeds, written whole or not at all.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use super::output::io_reason;
use super::workspace;

/// Reads a text file with line feeds.
pub fn read(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read; restore it with git", workspace::display(path)))?;
    Ok(text.replace("\r\n", "\n"))
}

/// All files of an extension in a folder and in those within it, sorted.
pub fn below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(below(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Writes a file, and makes its folder if there is none. A reader finds the old text or the new one, and never a part.
///
/// The text is written beside its place first and then renamed, because a full disk or an interrupted program must not
/// leave half a file, nor lose what was there before.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = path.as_os_str().to_owned();
    // With the process's number, so that two programs that write at once do not share the file.
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::File::create(&beside))
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        not_written(path, folder, &error)
    })
}

/// Why a file was not written, and what to do about it.
fn not_written(path: &Path, folder: &Path, error: &io::Error) -> anyhow::Error {
    if let Some(file) = folder.ancestors().find(|ancestor| ancestor.exists()).filter(|ancestor| !ancestor.is_dir()) {
        return not_a_folder(file);
    }
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => "make room on the disk",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "check the folder's permissions",
        ErrorKind::IsADirectory => "move the folder of that name away",
        _ => "choose another place",
    };
    anyhow!("{} cannot be written ({}); {remedy}", workspace::display(path), io_reason(error))
}

/// The error for a file that stands where a folder belongs.
pub fn not_a_folder(path: &Path) -> anyhow::Error {
    anyhow!("{} is a file, but the course needs a folder of that name; move the file away", workspace::display(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/kernel.cu");
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 1);
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        let error = write(&folder.path().join("file/kernel.cu"), "text").unwrap_err().to_string();
        assert!(error.contains("file is a file") && error.ends_with("; move the file away"), "{error}");
        let error = write(&folder.path().join("folder"), "text").unwrap_err().to_string();
        assert!(error.contains("folder cannot be written ("), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "a part was left behind");
    }
}
