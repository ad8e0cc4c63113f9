//! Rules for the sources as a whole: files are short and begin with their idea, no two files of a crate use each other, and an arrow
//! between crates goes only downwards.

mod names;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use common::basics::workspace;
use course::files::{below, read};
use serde::Deserialize;

use names::{Module, circles, files, resolve};

/// The most lines that a file may have; one idea fits in less.
const LONGEST: usize = 600;

/// The crates from the lowest, each with those of ours that it may use. `step` stands for each of the steps.
///
/// First the instrument, which knows no matrix and no course; then the course; then the programs.
const CRATES: [(&str, &[&str]); 17] = [
    ("simt-system", &[]),
    ("simt-ptx", &[]),
    ("simt-gpu", &["simt-ptx"]),
    ("compile", &["simt-system"]),
    ("simt-findings", &["simt-gpu", "simt-ptx", "simt-system"]),
    ("simt-driver", &["compile", "simt-findings", "simt-gpu", "simt-ptx", "simt-system"]),
    ("cargo-simt", &["compile", "simt-driver", "simt-findings", "simt-gpu", "simt-ptx", "simt-system"]),
    ("plan", &["simt-system"]),
    ("gpu", &[]),
    ("verify", &["plan"]),
    ("why", &["compile", "simt-findings", "plan", "simt-gpu", "simt-ptx", "simt-system", "verify"]),
    (
        "common",
        &["compile", "simt-driver", "simt-findings", "plan", "simt-gpu", "simt-ptx", "simt-system", "verify", "why"],
    ),
    ("step", &["common", "gpu", "plan"]),
    ("beyond", &["common", "compile", "gpu", "plan", "step", "simt-system"]),
    // Its engine knows how the kernels of the course are launched, but does not need `common`.
    ("explorer", &["beyond", "simt-findings", "plan", "simt-gpu", "step"]),
    ("course", &PROGRAM),
    ("maintain", &PROGRAM),
];
/// The first crates of the list that know the course, and that are programs.
const COURSE: &str = "plan";
const PROGRAMS: &str = "explorer";

/// What the programs may use: whatever is below them.
const PROGRAM: [&str; 13] = [
    "beyond",
    "cargo-simt",
    "common",
    "compile",
    "course",
    "explorer",
    "simt-findings",
    "plan",
    "simt-gpu",
    "step",
    "simt-system",
    "verify",
    "why",
];

#[derive(Deserialize)]
struct Workspace {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    path: Option<PathBuf>,
}

/// The members of the workspace, as cargo knows them.
fn packages() -> Vec<Package> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(workspace::root());
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Workspace>(&output.stdout).unwrap().packages
}

/// The place of a crate in the list.
fn place(name: &str) -> Option<usize> {
    let name = if name.starts_with("step0") { "step" } else { name };
    CRATES.iter().position(|(known, _)| *known == name)
}

#[test]
fn no_two_files_use_each_other_and_each_is_short() {
    let packages = packages();
    assert!(packages.len() > 10);
    for package in packages {
        let folder = package.manifest_path.parent().unwrap();
        assert_eq!(circles(&files(&folder.join("src"))), [""; 0], "{}", package.name);
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

/// The crates that a package may not use and does, or why it is not in its place. Tests and benches may use what they need.
fn wrong(package: &Package) -> Vec<String> {
    let Some(own) = place(&package.name) else {
        return vec![format!("{} is not in the list of crates; add it in its place", package.name)];
    };
    let (_, may) = CRATES[own];
    let ours = package.dependencies.iter().filter(|used| used.path.is_some() && used.kind.as_deref() != Some("dev"));
    let is_wrong = |used: &&Dependency| !place(&used.name).is_some_and(|used| may.contains(&CRATES[used].0));
    ours.filter(is_wrong).map(|used| format!("{} uses {}", package.name, used.name)).collect()
}

#[test]
fn an_arrow_goes_only_downwards() {
    let wrong: Vec<String> = packages().iter().flat_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_list_of_crates_is_in_layers() {
    let [course, programs] = [COURSE, PROGRAMS].map(|name| place(name).unwrap());
    for (own, (name, may)) in CRATES.iter().enumerate() {
        for used in may.iter().map(|used| place(used).unwrap()) {
            // The programs know each other.
            assert!(used < own || own >= programs && used >= programs, "{name} may use what is above it");
            assert!(own >= course || used < course, "{name} is of the instrument and may use the course");
            // What goes past the course is known by the programs alone.
            assert!(own >= programs || CRATES[used].0 != "beyond", "{name} may use what goes past the course");
        }
    }
}

#[test]
fn an_arrow_upwards_is_found() {
    let of = |name: &str, used: &str, kind: Option<&str>| {
        let dependency = Dependency { name: used.into(), kind: kind.map(str::to_owned), path: Some("x".into()) };
        let manifest_path = PathBuf::new();
        wrong(&Package { name: name.into(), manifest_path, dependencies: vec![dependency] }).len()
    };
    let cases: BTreeMap<_, _> = [
        (("simt-gpu", "simt-findings"), 1),
        (("simt-findings", "plan"), 1),
        (("why", "common"), 1),
        (("common", "beyond"), 1),
        (("step04_tiled", "step03_single_block"), 1),
        (("step04_tiled", "common"), 0),
        (("explorer", "common"), 1),
        (("cake", "plan"), 1),
    ]
    .into();
    for ((name, used), wrong) in cases {
        assert_eq!(of(name, used, None), wrong, "{name} {used}");
        assert_eq!(of(name, used, Some("dev")), usize::from(name == "cake"), "{name} {used} in tests");
    }
}
