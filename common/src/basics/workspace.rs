//! Where the course is on this machine.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use system::escaped;

/// The root of the workspace: where it was built or, for a program that was carried elsewhere, the folder with the course above the
/// current folder or above the program.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(resolved).unwrap_or_default();
        let here = std::env::current_dir().unwrap_or_default();
        let program = std::env::current_exe().unwrap_or_default();
        let is_course = |folder: &Path| folder.join("common/simt").is_dir() && folder.join("Cargo.toml").is_file();
        let above = here.ancestors().chain(program.ancestors()).find(|folder| is_course(folder)).map(resolved);
        if is_course(&built) { built } else { above.unwrap_or(built) }
    })
}

/// The absolute path with its links followed, as people and other programs write it, so that paths can be compared. If nothing is
/// there, the path itself.
pub fn resolved(path: &Path) -> PathBuf {
    let Ok(absolute) = path.canonicalize() else { return path.to_owned() };
    absolute.to_str().map_or_else(|| absolute.clone(), |text| ordinary(text).into())
}

/// A path without the prefix `\\?\` of Windows' absolute paths, which compilers and people do not understand.
fn ordinary(path: &str) -> String {
    match path.strip_prefix(r"\\?\") {
        Some(rest) if rest.starts_with(r"UNC\") => format!(r"\{}", &rest[3..]),
        // A drive and a path on it. Other paths, such as a volume by its number, cannot be written without the prefix.
        Some(rest) if rest.get(1..3) == Some(r":\") => rest.to_owned(),
        _ => path.to_owned(),
    }
}

/// A path for people: relative to the workspace or to the current folder if it is inside one of them, and on one line.
pub fn display(path: &Path) -> String {
    let absolute = resolved(path);
    let here = resolved(&std::env::current_dir().unwrap_or_default());
    let relative = absolute.strip_prefix(root()).or_else(|_| absolute.strip_prefix(&here));
    // Forward slashes on every system, because committed PTX names its source by this.
    let shown =
        relative.map_or_else(|_| escaped(path), |path| escaped(Path::new(&path.to_string_lossy().replace('\\', "/"))));
    if shown.is_empty() { ".".to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_line_breaks_stays_on_one_line() {
        assert_eq!(escaped(Path::new("a\nb\x1b[31m\u{2028}ü.cu")), "a\\nb\\u{1b}[31m\\u{2028}ü.cu");
        assert_eq!(display(Path::new("/no/such/folder/a\r\nb.cu")), "/no/such/folder/a\\r\\nb.cu");
        assert_eq!(display(root()), ".");
    }

    #[test]
    fn a_path_that_windows_has_followed_is_read_as_one_writes_it() {
        for (followed, written) in [
            (r"\\?\C:\Users\jürgen\my course\common", r"C:\Users\jürgen\my course\common"),
            (r"\\?\UNC\server\share\course", r"\\server\share\course"),
            (r"\\?\Volume{b75e2c83}\course", r"\\?\Volume{b75e2c83}\course"),
            (r"\\?\ü", r"\\?\ü"),
            ("/home/jürgen/my course", "/home/jürgen/my course"),
        ] {
            assert_eq!(ordinary(followed), written);
        }
        assert_eq!(resolved(Path::new("no/such/file")), Path::new("no/such/file"));
        assert_eq!(resolved(&root().join("common/../Cargo.toml")), root().join("Cargo.toml"));
    }
}
