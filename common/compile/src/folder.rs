//! The folder of one compilation. It is removed afterwards, and if the program was killed meanwhile, by a later one: whoever holds the
//! lock in the folder still needs it, and the system takes the lock away from a process that has ended.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Once;

use tempfile::TempDir;

const PREFIX: &str = "kernel-compiles-";
const LOCK: &str = "in-use";

pub struct Folder {
    // Closed before the folder is removed.
    _lock: Option<File>,
    folder: TempDir,
}

impl Folder {
    /// Makes a folder among the temporary ones. The first call removes those of programs that have ended.
    pub fn new() -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        let root = std::env::temp_dir();
        SWEPT.call_once(|| sweep(&root));
        Self::within(&root)
    }

    fn within(root: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(root)?;
        // Nobody sees the lock before it is held. Where files cannot be locked there is none, and nobody else removes the folder.
        let [new, lock] = ["new", LOCK].map(|name| folder.path().join(name));
        let file = File::create(&new)?;
        let held = file.try_lock().is_ok() && fs::rename(&new, &lock).is_ok();
        Ok(Self { _lock: held.then_some(file), folder })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of programs that have ended, and nothing else.
fn sweep(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let (folder, lock) = (entry.path(), entry.path().join(LOCK));
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && fs::symlink_metadata(&lock).is_ok_and(|file| file.is_file());
        if is_ours && File::open(&lock).is_ok_and(|lock| lock.try_lock().is_ok()) {
            // Another program may be removing it as well.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_programs_that_have_ended_are_removed_and_no_others() {
        let root = tempfile::tempdir().unwrap();
        let used = Folder::within(root.path()).unwrap();
        let named = |name: &str| root.path().join(name);
        let left = [format!("{PREFIX}left"), format!("{PREFIX}no-lock"), "left".to_owned()].map(|name| named(&name));
        for folder in &left {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("kernel.rs"), "").unwrap();
        }
        fs::write(left[0].join(LOCK), "").unwrap();
        fs::write(left[2].join(LOCK), "").unwrap();
        sweep(root.path());
        assert_eq!(left.each_ref().map(|folder| folder.exists()), [false, true, true]);
        assert!(used.path().exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
