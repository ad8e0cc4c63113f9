//! Reads files that hold several small PTX programs. Each begins after a line `//// NAME`, and its lines are counted from there.

use std::path::{Path, PathBuf};

/// Returns the path of a file or folder of these tests. An absolute path is returned unchanged.
pub fn path(name: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Returns the programs of a file with their names, in order.
pub fn read(name: impl AsRef<Path>) -> Vec<(String, String)> {
    let file = path(name);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut programs: Vec<(String, String)> = vec![];
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix("//// "), programs.last_mut()) {
            (Some(name), _) => programs.push((name.trim_end().to_string(), String::new())),
            (None, Some((_, program))) => program.push_str(line),
            (None, None) => {} // the text above the first program is about all of them
        }
    }
    programs
}
