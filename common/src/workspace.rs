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

/// A path as people should see it: relative to the workspace or to the current folder where it lies inside.
pub fn display(path: &Path) -> String {
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let here = std::env::current_dir().unwrap_or_default();
    let relative = absolute.strip_prefix(root()).or_else(|_| absolute.strip_prefix(&here));
    // Forward slashes on every system: committed PTX names its source by this.
    relative.map_or_else(|_| path.display().to_string(), |path| path.display().to_string().replace('\\', "/"))
}
