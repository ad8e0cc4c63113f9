//! Small PTX programs kept together in one file: each begins after a line `//// NAME`, and its lines are counted from there.

use std::path::{Path, PathBuf};

/// A file or folder of these tests.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The programs of a file, with their names, in order.
pub fn read(name: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut programs: Vec<(String, String)> = vec![];
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix("//// "), programs.last_mut()) {
            (Some(name), _) => programs.push((name.trim_end().to_string(), String::new())),
            (None, Some((_, program))) => program.push_str(line),
            (None, None) => {} // what stands above the first program is about all of them
        }
    }
    programs
}
