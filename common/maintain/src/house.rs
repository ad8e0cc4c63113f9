//! The house itself: which file of the workspace uses which, read from the sources.
//!
//! A crate is a building, a file a room, and a room stands one floor above the highest room it uses. That is possible
//! only if no two rooms use each other, directly or around a circle, which is what the tests here hold.

mod graph;
mod read;

#[cfg(test)]
use graph::circles;
pub use graph::{Room, floors};
pub use read::rooms;

/// The crates below the steps, the one that uses the others first.
pub const CRATES: [&str; 6] =
    ["common/maintain", "common/course", "common/several", "common/explorer", "common", "common/simt"];

#[cfg(test)]
mod tests {
    use common::basics::workspace;

    use super::*;

    /// Lines that a file may have: one idea fits in less.
    const LONGEST: usize = 600;

    fn crates() -> Vec<std::path::PathBuf> {
        let root = workspace::root();
        let mut crates: Vec<_> = CRATES.map(|name| root.join(name)).into();
        crates.extend(course::steps::find().unwrap().into_iter().map(|step| step.path));
        crates
    }

    #[test]
    fn no_two_files_use_each_other() {
        for folder in crates() {
            let rooms = rooms(&folder).unwrap();
            let circles = circles(&rooms);
            assert!(circles.is_empty(), "{}: {circles:#?}", workspace::display(&folder));
        }
    }

    #[test]
    fn every_file_is_short_and_says_its_idea() {
        for folder in crates() {
            for file in course::files::below(&folder, "rs") {
                let lines = std::fs::read_to_string(&file).unwrap().lines().count();
                assert!(lines <= LONGEST, "{} has {lines} lines", workspace::display(&file));
            }
            for room in rooms(&folder).unwrap() {
                assert!(!room.idea.is_empty(), "{} does not begin with //! and its idea", room.name);
            }
        }
    }

    #[test]
    fn steps_depend_on_common_only_and_the_simulator_on_nothing_of_ours() {
        for folder in crates() {
            let name = workspace::display(&folder);
            let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default().split("\n[").next().unwrap();
            let ours = |line: &&str| {
                let of = line.split(['.', ' ', '=']).next().unwrap_or_default();
                ["common", "simt", "explorer", "several", "course", "maintain"].contains(&of) || of.starts_with("step")
            };
            let found: Vec<&str> = dependencies.lines().filter(ours).collect();
            let allowed: &[&str] = match name.as_str() {
                "common/simt" => &[],
                "common" | "common/explorer" => &["simt"],
                "common/course" => &["common", "explorer", "simt"],
                "common/several" => &["common", "step06_prefetch"],
                "common/maintain" => &["common", "course", "explorer", "several", "simt"],
                _ => &["common"],
            };
            for line in found {
                assert!(allowed.iter().any(|of| line.starts_with(of)), "{name} depends on {line}");
            }
        }
    }

    /// A crate of a few files, made for a test.
    fn made(files: &[(&str, &str)]) -> Vec<Room> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            course::files::write(&folder.path().join(name), text).unwrap();
        }
        rooms(folder.path()).unwrap()
    }

    #[test]
    fn a_circle_is_found_however_the_names_are_written() {
        for (one, other) in [
            ("use crate::b::B;", "use crate::a::A;"),
            ("use super::b::{B, C};", "fn f() -> crate::a::A { todo() }"),
            ("fn f() { crate::b::f::<u8>() }", "use crate::{a::A};"),
            // Through what the crate's root passes on.
            ("use crate::B;", "use crate::A;"),
        ] {
            let root = "//! r\nmod a; mod b; pub use a::A; pub use b::B;";
            let found = made(&[("src/lib.rs", root), ("src/a.rs", one), ("src/b.rs", other)]);
            assert_eq!(circles(&found), [["src/a.rs", "src/b.rs"]], "{one} {other}");
        }
    }

    #[test]
    fn a_parent_that_passes_on_what_its_children_define_is_no_circle_and_tests_do_not_count() {
        let found = made(&[
            ("src/lib.rs", "//! r\nmod a; pub use a::two::Two;"),
            (
                "src/a.rs",
                "//! a\nmod one; pub mod two; pub use one::One; use two::Two; mod own { use super::One; } #[cfg(test)] mod tests;",
            ),
            ("src/a/one.rs", "//! one\npub struct One; #[cfg(test)] mod tests { use crate::a::two::Two; }"),
            ("src/a/tests.rs", "//! tests\nuse super::One;"),
            ("src/a/two.rs", "//! two\nuse super::One;"),
        ]);
        assert_eq!(circles(&found), Vec::<Vec<String>>::new());
        let floors: Vec<(&str, usize)> =
            floors(&found).into_iter().map(|(room, floor)| (room.name.as_str(), floor)).collect();
        assert_eq!(floors, [("src/a/one.rs", 0), ("src/a/two.rs", 1), ("src/a.rs", 2), ("src/lib.rs", 2)]);
        // A child that takes what its parent defines is one.
        let found = made(&[
            ("src/lib.rs", "//! root\nmod a; pub struct Here; use a::A;"),
            ("src/a.rs", "//! a\nuse crate::Here; pub struct A;"),
        ]);
        assert_eq!(circles(&found), [["src/a.rs", "src/lib.rs"]]);
    }
}
