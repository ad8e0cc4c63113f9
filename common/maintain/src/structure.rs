//! Rules for the sources as a whole: files are short and begin with their idea, no two files of a crate use each other, and crates
//! use only those that they may.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use common::basics::workspace;
use course::files::{below, read};

/// The most lines that a file may have; one idea fits in less.
const LONGEST: usize = 600;

/// The path of a file's module from the crate's root, without `lib`, `main` and `mod`.
type Module = Vec<String>;

/// The paths that a file names, and the names that `use` gives to some of them.
#[derive(Default)]
struct Names {
    paths: Vec<Vec<String>>,
    imports: BTreeMap<String, Vec<String>>,
}

impl Names {
    /// Reads the names in code. Comment lines and the tests at the end of a file do not count.
    fn of(text: &str) -> Self {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code: String = lines.flat_map(|line| [line, "\n"]).collect();
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let mut names = Self::default();
        for statement in code.split(';') {
            let is_tree = |tree: &&str| tree.chars().all(|c| is_part(c) || " \n{,}*".contains(c));
            let import = statement.rsplit_once("use ").filter(|(_, tree)| is_tree(tree));
            let (before, tree) = import.unwrap_or((statement, ""));
            let words = before.split(|c| !is_part(c)).filter(|word| word.contains("::") && !word.starts_with("::"));
            names.paths.extend(words.map(parts));
            // In a module within this file, `super` is this file.
            let within = before.lines().last().is_some_and(|line| line.starts_with(' '));
            for path in branches(if within { tree.trim_start_matches("super::") } else { tree }) {
                let (path, name) = path.split_once(" as ").unwrap_or((&path, &path));
                let (path, name) = (parts(path), parts(name).pop());
                names.imports.extend(name.filter(|_| !within).map(|name| (name, path.clone())));
                names.paths.push(path);
            }
        }
        names
    }
}

fn parts(path: &str) -> Vec<String> {
    path.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The paths of `a::b::{c, d as e}`, each with what comes before it.
fn branches(tree: &str) -> Vec<String> {
    let mut tree = tree.to_owned();
    while let Some((open, end)) = tree.rfind('{').and_then(|open| Some((open, open + tree[open..].find('}')?))) {
        let start = tree[..open].rfind(['{', ',']).map_or(0, |at| at + 1);
        let whole = tree[open + 1..end].split(',').filter(|branch| !branch.trim().is_empty());
        let whole: Vec<String> = whole.map(|branch| format!("{}{}", &tree[start..open], branch.trim())).collect();
        tree.replace_range(start..=end, &whole.join(","));
    }
    tree.split(',').filter(|path| !path.trim().is_empty()).map(str::to_owned).collect()
}

/// The file to which a path leads: the longest prefix that is a module. Names that this file only re-exports are followed.
fn resolve(files: &BTreeMap<Module, Names>, from: &Module, path: &[String], depth: usize) -> Option<Module> {
    let (mut whole, mut rest) = (from.clone(), path);
    while let Some((first, more)) =
        rest.split_first().filter(|(first, _)| ["crate", "self", "super"].contains(&first.as_str()))
    {
        match first.as_str() {
            "crate" => whole.clear(),
            "super" => drop(whole.pop()),
            _ => {}
        }
        rest = more;
    }
    if rest.len() == path.len() && !files.contains_key(&[&whole[..], &path[..1]].concat()) {
        return None; // another crate's, or of this file
    }
    whole.extend_from_slice(rest);
    let length = (0..=whole.len()).rev().find(|&length| files.contains_key(&whole[..length]))?;
    let file = whole[..length].to_vec();
    let import = whole.get(length).and_then(|name| files[&file].imports.get(name));
    match import.filter(|_| depth < 16 && file != *from) {
        Some(import) => resolve(files, &file, import, depth + 1),
        None => Some(file),
    }
}

/// The files on circles of files that use each other, and the files between two circles.
fn circles(files: &BTreeMap<Module, Names>) -> Vec<String> {
    let used = |file: &Module| -> BTreeSet<Module> {
        let found = files[file].paths.iter().filter_map(|path| resolve(files, file, path, 0));
        found.filter(|other| other != file).collect()
    };
    let mut uses: BTreeMap<Module, BTreeSet<Module>> = files.keys().map(|file| (file.clone(), used(file))).collect();
    // A file that uses none of the others is not on a circle, and neither is a file that none of them uses.
    let is_at_an_end = |uses: &BTreeMap<Module, BTreeSet<Module>>, file: &Module| {
        uses[file].iter().all(|other| !uses.contains_key(other)) || uses.values().all(|used| !used.contains(file))
    };
    while let Some(end) = uses.keys().find(|file| is_at_an_end(&uses, file)).cloned() {
        uses.remove(&end);
    }
    uses.into_keys().map(|module| module.join("::")).collect()
}

/// The files of a crate by their modules, without those that are compiled for tests only.
fn files(src: &Path) -> BTreeMap<Module, Names> {
    let beside_a_library = src.join("lib.rs").is_file();
    let mut files = BTreeMap::new();
    for path in below(src, "rs") {
        let parts = path.strip_prefix(src).unwrap().with_extension("");
        let mut module: Module = parts.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let text = read(&path).unwrap();
        assert!(
            text.starts_with("//! ") || text.starts_with("#![doc = include_str!"),
            "{} does not begin with //! and its idea",
            workspace::display(&path)
        );
        if module.iter().any(|name| name == "tests") || module == ["main"] && beside_a_library {
            continue; // a program beside a library is a crate of its own
        }
        module.pop_if(|name| ["lib", "main", "mod"].contains(&name.as_str()));
        files.insert(module, Names::of(&text));
    }
    files
}

/// The folders of all crates: `common`, the steps, and those within them.
fn crates() -> Vec<PathBuf> {
    let mut folders = ["common", "common/simt"].map(|folder| workspace::root().join(folder)).to_vec();
    folders.extend(course::steps::STEPS.iter().map(|step| common::code::folder_of(step)));
    let within =
        folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> =
        within.chain(folders.clone()).filter(|folder| folder.join("Cargo.toml").is_file()).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn no_two_files_use_each_other_and_each_is_short() {
    let folders = crates();
    assert!(folders.len() > 10, "{folders:?}");
    for folder in folders {
        let name = workspace::display(&folder);
        assert_eq!(circles(&files(&folder.join("src"))), [""; 0], "{name}");
        for file in ["src", "tests", "benches", "examples"].iter().flat_map(|part| below(&folder.join(part), "rs")) {
            let lines = read(&file).unwrap().lines().count();
            assert!(lines <= LONGEST, "{} has {lines} lines", workspace::display(&file));
        }
    }
}

/// The rooms of `common` from the top, as `common/src/lib.rs` says it.
const ROOMS: [&str; 7] = ["testing", "program", "measure", "verify", "device", "code", "basics"];

#[test]
fn rooms_use_those_below_them() {
    let files = files(&workspace::root().join("common/src"));
    let room = |file: &Module| ROOMS.iter().position(|room| file.first().is_some_and(|first| first == room));
    for (file, names) in files.iter().filter(|(file, _)| !file.is_empty()) {
        assert!(room(file).is_some(), "{file:?} is in no room; add the room to ROOMS, in its place");
        for used in names.paths.iter().filter_map(|path| resolve(&files, file, path, 0)) {
            assert!(room(&used) >= room(file), "{file:?} uses {used:?}; move what it needs down, or itself up");
        }
    }
    assert!(ROOMS.iter().all(|room| files.keys().any(|file| file.first().is_some_and(|first| first == room))));
}

/// The crates of this workspace that a crate's programs and library may use, as beginnings of their names.
fn may_use(name: &str) -> &'static [&'static str] {
    match name {
        "common/simt/ptx" | "common/plan" | "common/gpu" | "common/system" => &[],
        "common/simt" => &["ptx"],
        "common/simt/fuzz" => &["simt"],
        "common/check" => &["compile", "findings", "simt", "system"],
        "common/compile" => &["system"],
        "common/findings" => &["ptx", "simt", "system"],
        "common/verify" => &["plan"],
        "common/why" => &["compile", "findings", "plan", "ptx", "simt", "system", "verify"],
        "common" => &["compile", "findings", "plan", "simt", "system", "verify", "why"],
        // Its engine knows how the kernels of the course are launched, but does not need `common`.
        "common/explorer" => &["findings", "simt", "plan", "step", "beyond"],
        "common/course" | "common/maintain" => {
            &["common", "compile", "course", "explorer", "findings", "plan", "beyond", "simt", "step", "system", "why"]
        }
        "step06_prefetch/beyond" => &["common", "compile", "plan", "gpu", "step06_prefetch"],
        _ => &["common", "plan", "gpu"],
    }
}

#[test]
fn steps_depend_on_common_only_and_the_simulator_on_nothing_of_ours() {
    for folder in crates() {
        let name = workspace::display(&folder);
        let manifest = read(&folder.join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default().split("\n[").next().unwrap();
        let ours = [
            "beyond", "common", "compile", "course", "explorer", "findings", "gpu", "maintain", "plan", "ptx", "simt",
            "step", "system", "verify", "why",
        ];
        for line in dependencies.lines().filter(|line| ours.iter().any(|ours| line.starts_with(ours))) {
            assert!(may_use(&name).iter().any(|of| line.starts_with(of)), "{name} depends on {line}");
        }
    }
}

#[test]
fn a_circle_is_found_however_the_names_are_written() {
    let files = |files: &[(&str, &str)]| -> BTreeMap<Module, Names> {
        let module = |name: &str| name.split_terminator('/').map(str::to_owned).collect();
        files.iter().map(|&(name, text)| (module(name), Names::of(text))).collect()
    };
    for (a, b) in [
        ("use crate::b::B;", "use crate::a::A;"),
        ("use super::b::{B, C};", "fn f() -> crate::a::A { todo() }"),
        ("fn f() { crate::b::f::<u8>() }", "use crate::{b::X, a::A};"),
        // Through names that the crate's root re-exports.
        ("use crate::B;", "use crate::One;"),
    ] {
        let found = circles(&files(&[("", "pub use a::A as One;\npub use b::B;"), ("a", a), ("b", b)]));
        assert_eq!(found, ["a", "b"], "{a} {b}");
    }
    // A parent that re-exports what its children define makes no circle; a child that uses what its parent defines does.
    let parent =
        ("a", "pub use one::One;\nuse two::Two;\nuse std::fmt::{self, Debug};\nmod own {\n    use super::One;\n}");
    let tests = "pub struct One;\n#[cfg(test)]\nmod tests { use crate::a::two::Two; }";
    let found =
        circles(&files(&[("", "pub use a::two::Two;"), parent, ("a/one", tests), ("a/two", "use super::One;")]));
    assert_eq!(found, [""; 0]);
    let found = circles(&files(&[("", "pub struct Here;\nuse a::A;"), ("a", "use crate::Here;\npub struct A;")]));
    assert_eq!(found, ["", "a"]);
}
