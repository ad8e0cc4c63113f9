//! Where the course lies on this machine.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The root of the workspace: where it was built, or, for a program carried elsewhere, the folder above the current one
/// or above the program that holds the course.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default();
        let here = std::env::current_dir().unwrap_or_default();
        let program = std::env::current_exe().unwrap_or_default();
        let is_course = |folder: &Path| folder.join("common/simt").is_dir() && folder.join("Cargo.toml").is_file();
        let above = here.ancestors().chain(program.ancestors()).find(|folder| is_course(folder)).map(Path::to_owned);
        if is_course(&built) { built } else { above.unwrap_or(built) }
    })
}

/// A path as people should see it: relative to the workspace or to the current folder where it lies inside, and on one
/// line.
pub fn display(path: &Path) -> String {
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let here = std::env::current_dir().unwrap_or_default();
    let relative = absolute.strip_prefix(root()).or_else(|_| absolute.strip_prefix(&here));
    // Forward slashes on every system: committed PTX names its source by this.
    relative.map_or_else(|_| escaped(path), |path| escaped(Path::new(&path.to_string_lossy().replace('\\', "/"))))
}

/// A path as it is, but with its line breaks and control characters written out: a message stays one sentence, and no
/// name of a file commands the terminal.
pub fn escaped(path: &Path) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let mut text = String::new();
    for c in path.to_string_lossy().chars() {
        if breaks(c) { text.extend(c.escape_default()) } else { text.push(c) }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_line_breaks_stays_on_one_line() {
        assert_eq!(escaped(Path::new("a\nb\x1b[31m\u{2028}ü.cu")), "a\\nb\\u{1b}[31m\\u{2028}ü.cu");
        assert_eq!(display(Path::new("/no/such/folder/a\r\nb.cu")), "/no/such/folder/a\\r\\nb.cu");
    }

    #[test]
    fn a_path_in_the_workspace_is_shown_from_its_root() {
        assert_eq!(display(&root().join("common/simt/../Cargo.toml")), "common/Cargo.toml");
    }
}
