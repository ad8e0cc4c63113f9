//! Files of the learner: their names on the command line, and copies that keep what is there.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use clap::builder::{PathBufValueParser, TypedValueParser};
use common::basics::files::{not_written, second_name};
use common::basics::workspace;

pub use common::basics::files::{
    below, check_replaceable, create, folder_of, kind, not_a_folder, read, replace, text, write,
};

/// Copies a file to a free name next to it: `step04.1.cu` for `step04.cu`.
pub fn keep(path: &Path) -> Result<PathBuf> {
    for name in free_names(path) {
        match second_name(path, &name) {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(not_written(&name, &error)),
        }
    }
    bail!("no name is left to keep {} under; remove some of the old files", workspace::display(path))
}

/// Keeps a text in a file of that name, or under one that is free if another text is there.
pub fn keep_text(path: &Path, kept: &str) -> Result<PathBuf> {
    for name in std::iter::once(path.to_owned()).chain(free_names(path)) {
        if text(&name).is_ok_and(|found| found == kept) || create(&name, kept)? {
            return Ok(name);
        }
    }
    bail!("no name is left for {}; remove some of the old files", workspace::display(path))
}

/// The name under which a file would be kept.
pub fn free_name(path: &Path) -> PathBuf {
    let free = |name: &PathBuf| fs::symlink_metadata(name).is_err();
    free_names(path).find(free).unwrap_or_else(|| path.to_owned())
}

fn free_names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    (1..10_000).map(move |number| path.with_extension(format!("{number}.{extension}")))
}

/// Keeps other programs of the course from changing the files of a folder until the lock is dropped. On a disk without locks it does
/// nothing.
pub fn lock(folder: &Path) -> Option<File> {
    // A pipe would be waited for.
    if !folder.is_dir() {
        return None;
    }
    // Some systems cannot open a folder as a file, but a file in it.
    let file = File::open(folder).or_else(|_| File::create(folder.join(".lock"))).ok()?;
    file.lock().ok().map(|()| file)
}

/// The contents of a mutex, whatever has become of who had it before.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a name means a file and not a kernel of the course: something is there, and no folder, or it ends like a kernel's.
pub fn is_meant(path: &Path) -> bool {
    path.exists() && !path.is_dir() || kind(path).is_some()
}

/// When a file was saved last; none if it is not there.
pub fn saved(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}

/// Does something whenever a file is saved, and at once if it was since the time that is `known`, until the program is stopped or
/// that fails.
pub fn at_each_save(file: &Path, mut known: Option<SystemTime>, mut act: impl FnMut() -> Result<()>) -> Result<bool> {
    loop {
        let now = saved(file);
        if now.is_some() && now != known {
            // An editor may write in several goes.
            std::thread::sleep(Duration::from_millis(50));
            known = saved(file);
            act()?;
        }
        std::thread::sleep(Duration::from_millis(150));
    }
}

/// A path for a command that the learner may paste: relative to the current folder if it is inside.
pub fn from_here(path: &Path) -> String {
    let absolute = workspace::resolved(path);
    let here = workspace::resolved(&std::env::current_dir().unwrap_or_default());
    let text = workspace::escaped(absolute.strip_prefix(here).unwrap_or(&absolute));
    let plain = |c: char| c.is_alphanumeric() || "/\\:._-+".contains(c);
    match text {
        text if text.chars().all(plain) => text,
        // Within double quotes a shell looks for these; Windows has none of them in a name.
        text if text.contains(['"', '$', '`', '!']) => format!("'{}'", text.replace('\'', "'\\''")),
        text => format!("\"{text}\""),
    }
}

/// A file to write, on the command line. A dash is for others what they print, and would be a file of that name.
pub fn parse_file() -> impl TypedValueParser<Value = PathBuf> {
    let named = |file: PathBuf| if file.as_os_str() == "-" { Err("give a file's name") } else { Ok(file) };
    PathBufValueParser::new().try_map(named)
}

/// A seed on the command line; the error says what to give.
pub fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "not a seed; give a whole number, e.g. 7".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_be_pasted() {
        let here = std::env::current_dir().unwrap();
        let file = Path::new("src").join("files.rs");
        assert_eq!(from_here(&here.join(&file)), file.display().to_string());
        let folder = tempfile::tempdir().unwrap();
        let path = workspace::resolved(folder.path()).join("my kernel.cu");
        fs::write(&path, "").unwrap();
        assert_eq!(from_here(&path), format!("\"{}\"", path.display()));
        let path = path.with_file_name("it's $HOME");
        assert_eq!(from_here(&path), format!("'{}'", path.display().to_string().replace('\'', "'\\''")));
    }

    #[test]
    fn what_is_kept_takes_the_next_free_name() {
        let folder = tempfile::tempdir().unwrap();
        let [path, first, second] = ["step04.cu", "step04.1.cu", "step04.2.cu"].map(|name| folder.path().join(name));
        fs::write(&path, "one").unwrap();
        assert_eq!(keep(&path).unwrap(), first);
        assert_eq!(free_name(&path), second);
        assert_eq!(keep_text(&path, "one").unwrap(), path);
        assert_eq!(keep_text(&path, "two").unwrap(), second);
        assert_eq!([&path, &first, &second].map(|file| fs::read_to_string(file).unwrap()), ["one", "one", "two"]);
    }
}
