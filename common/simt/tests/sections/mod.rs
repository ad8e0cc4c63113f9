//! Small PTX programs kept together in one file: each begins after a line `//// NAME`, and its lines are counted from there.

use std::path::Path;

/// The programs of a file, with their names, in order.
pub fn read(path: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
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
