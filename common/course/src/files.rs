//! Names of files as the learner sees them, beside what every program does with text files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use common::basics::output::io_reason;
use common::basics::workspace;

pub use common::basics::files::{below, not_a_folder, read, write};

/// A name beside a file that is still free: `step04.1.cu` beside `step04.cu`.
pub fn free_name(path: &Path) -> Result<PathBuf> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let numbered = |number: u32| path.with_extension(format!("{number}.{extension}"));
    (1..10_000).map(numbered).find(|path| fs::symlink_metadata(path).is_err()).with_context(|| {
        format!("no name is left to keep {} under; remove some of the old files", workspace::display(path))
    })
}

/// A path for a command that the learner pastes where they are: relative to the current folder if it lies inside.
pub fn from_here(path: &Path) -> String {
    let absolute = workspace::resolved(path);
    let here = workspace::resolved(&std::env::current_dir().unwrap_or_default());
    let text = workspace::escaped(absolute.strip_prefix(here).unwrap_or(&absolute));
    let plain = |c: char| c.is_alphanumeric() || "/\\:._-+".contains(c);
    if text.chars().all(plain) { text } else { format!("\"{text}\"") }
}

/// Renames a file.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|error| {
        let name = workspace::display(from);
        anyhow!("{name} cannot be renamed ({}); close it in other programs", io_reason(&error))
    })
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
    }

    #[test]
    fn free_names_count_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step04.cu");
        for name in ["step04.1.cu", "step04.2.cu"] {
            assert_eq!(free_name(&path).unwrap(), folder.path().join(name));
            fs::write(folder.path().join(name), "").unwrap();
        }
    }
}
