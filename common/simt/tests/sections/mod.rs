//! Reads files of these tests, of which some are packed, and some hold several small PTX programs. Each program begins after a line
//! `//// NAME`, and its lines are counted from there.

mod packed;

use std::path::{Path, PathBuf};

/// Returns the path of a file or folder of these tests. An absolute path is returned unchanged.
pub fn path(name: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Returns the text of a file, unpacked if it is packed.
pub fn text(name: impl AsRef<Path>) -> String {
    let file = path(name);
    packed::text(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns the programs of a file with their names, in order. Those written by hand may be files of their own, in a folder named as
/// the file is; then all are in the order of their names.
pub fn read(name: impl AsRef<Path>) -> Vec<(String, String)> {
    let mut programs: Vec<(String, String)> = vec![];
    for line in text(&name).split_inclusive('\n') {
        match (line.strip_prefix("//// "), programs.last_mut()) {
            (Some(name), _) => programs.push((name.trim_end().to_string(), String::new())),
            (None, Some((_, program))) => program.push_str(line),
            (None, None) => {} // the text above the first program is about all of them
        }
    }
    let beside =
        std::fs::read_dir(path(&name).with_extension("")).into_iter().flatten().map(|file| file.unwrap().path());
    let by_hand = beside.filter(|file| file.extension().is_some_and(|extension| extension == "ptx"));
    let by_hand = by_hand.map(|file| (file.file_stem().unwrap().to_string_lossy().into_owned(), text(file)));
    let compiled = programs.len();
    programs.extend(by_hand);
    if programs.len() > compiled {
        programs.sort();
    }
    programs
}
