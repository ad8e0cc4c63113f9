//! Text files of the course: read up to a limit, written whole or not at all, and never over a file that the course did not write.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use tempfile::TempPath;
use walkdir::{DirEntry, WalkDir};

use super::workspace;
use system::files::room;
use system::io_reason;

pub use system::files::{LARGEST, bytes, folder_of, hand_over, kind, second_name, text};

/// Reads a text file; its lines end with line feeds on every system.
pub fn read(path: &Path) -> Result<String> {
    let wrong = || format!("{} cannot be read; restore it with git", workspace::display(path));
    Ok(text(path).with_context(wrong)?.replace("\r\n", "\n"))
}

/// All files with an extension in a folder and the folders within it, sorted.
pub fn below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let files =
        WalkDir::new(folder).follow_links(true).into_iter().flatten().filter(|entry| !entry.file_type().is_dir());
    let is_one = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    let mut found: Vec<PathBuf> = files.map(DirEntry::into_path).filter(is_one).collect();
    found.sort();
    found
}

/// Writes bytes to a temporary file beside its place, so that a full disk or an interrupted program leaves the old file and no
/// half-written one. The file is deleted unless it is moved to its place.
fn part(path: &Path, bytes: &[u8]) -> io::Result<TempPath> {
    let folder = folder_of(path);
    // If a file is in the folder's place, the system would only say that it exists.
    fs::create_dir_all(folder).map_err(|why| if folder.exists() { ErrorKind::NotADirectory.into() } else { why })?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    // With the usual permissions, because a temporary file could otherwise be read by its owner only.
    let make = |path: &Path| File::create_new(path);
    room(bytes.len())?;
    let (mut file, part) = tempfile::Builder::new().prefix(&name).suffix(".part").make_in(folder, make)?.into_parts();
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(part)
}

/// Writes a file, and makes its folder if there is none. A reader finds the old text or the new one, never a part. The old file is
/// overwritten; [`replace`] and [`create`] protect it.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    let written = part(path, text.as_ref()).and_then(|part| part.persist(path).map_err(io::Error::from));
    written.map_err(|error| not_written(path, &error))
}

/// Writes a new file. Returns `false` if something is there already.
pub fn create(path: &Path, text: &str) -> Result<bool> {
    match part(path, text.as_bytes()).and_then(|part| second_name(&part, path)) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        written => written.map(|()| true).map_err(|error| not_written(path, &error)),
    }
}

/// Writes a new file, or replaces one that a program of the course wrote. Anything else stays as it is, and the error ends with
/// `remedy`.
pub fn replace(path: &Path, new: &str, is_ours: impl Fn(&str) -> bool, remedy: &str) -> Result<()> {
    check_replaceable(path, is_ours, remedy)?;
    // Writes to the target of a link, so that the link stays.
    match path.canonicalize() {
        Ok(place) => write(&place, new),
        Err(_) if create(path, new)? => Ok(()),
        Err(_) => Err(not_ours(path, remedy)),
    }
}

/// Fails if [`replace`] would not replace what is there.
pub fn check_replaceable(path: &Path, is_ours: impl Fn(&str) -> bool, remedy: &str) -> Result<()> {
    let free = fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    if free || text(path).is_ok_and(|old| is_ours(&old)) { Ok(()) } else { Err(not_ours(path, remedy)) }
}

fn not_ours(path: &Path, remedy: &str) -> anyhow::Error {
    let name = workspace::display(path);
    match fs::metadata(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => not_written(path, &error),
        _ => anyhow!("{name} is there already and is nothing that this command writes; {remedy}"),
    }
}

/// The error for a file that was not written: why, and what to do about it.
pub fn not_written(path: &Path, error: &io::Error) -> anyhow::Error {
    let above = folder_of(path).ancestors().find(|ancestor| ancestor.exists());
    if let Some(file) = above.filter(|above| !above.is_dir()) {
        return not_a_folder(file);
    }
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => "make room on the disk",
        ErrorKind::PermissionDenied => "check the folder's permissions",
        ErrorKind::ReadOnlyFilesystem => "nothing can be written there, so choose another folder",
        ErrorKind::IsADirectory => "move the folder of that name away",
        _ => "choose another place",
    };
    anyhow!("{} cannot be written ({}); {remedy}", workspace::display(path), io_reason(error))
}

/// The error for a file that is where a folder should be.
pub fn not_a_folder(path: &Path) -> anyhow::Error {
    anyhow!("{} is a file, but the course needs a folder of that name; move the file away", workspace::display(path))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn only_what_is_ours_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let ours = |text: &str| text.starts_with("ours");
        let over = |name: &str| replace(&at(name), "ours, too", ours, "name another file with --out");
        for (name, text) in [("mine", "mine"), ("empty", ""), ("binary", "\u{1}ours")] {
            fs::write(at(name), text).unwrap();
        }
        fs::create_dir(at("folder")).unwrap();
        let mut others = vec!["mine", "empty", "binary", "folder", "mine/below"];
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            fs::write(at("target"), "ours").unwrap();
            fs::hard_link(at("mine"), at("hard")).unwrap();
            for (to, link) in
                [("nowhere", "dangling"), ("mine", "link"), ("/dev/null", "device"), ("target", "to_ours")]
            {
                symlink(to, at(link)).unwrap();
            }
            assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
            others.extend(["dangling", "link", "device", "hard", "pipe"]);
            over("to_ours").unwrap();
            assert!(at("to_ours").is_symlink() && fs::read_to_string(at("target")).unwrap() == "ours, too");
        }
        for name in others {
            let error = over(name).unwrap_err().to_string();
            assert!(error.contains("; "), "{error}");
            assert_eq!(create(&at(name), "new").ok(), (name != "mine/below").then_some(false), "{name}");
        }
        assert_eq!(fs::read_to_string(at("mine")).unwrap(), "mine");
        assert!(!at("nowhere").exists());
        for _ in 0..2 {
            over("new").unwrap();
        }
        assert!(create(&at("newer"), "new").unwrap() && !create(&at("newer"), "newer").unwrap());
        assert_eq!(fs::read_to_string(at("newer")).unwrap(), "new");
        assert!(below(folder.path(), "part").is_empty(), "a part was left behind");
    }

    #[test]
    fn a_text_has_an_end_and_no_mark() {
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("large");
        File::create(&large).unwrap().set_len(5 << 30).unwrap();
        let error = |path: &Path| text(path).unwrap_err().to_string();
        assert!(error(&large).starts_with("it has 5,368,709,120 bytes"), "{}", error(&large));
        assert_eq!(error(folder.path()), "it is not a file");
        fs::write(&large, [0xFF, 0xFE, 0, 1]).unwrap();
        assert_eq!(error(&large), "it is not a text in UTF-8: save it as one");
        fs::write(&large, "\u{feff}text").unwrap();
        assert_eq!(text(&large).unwrap(), "text");
    }
}
