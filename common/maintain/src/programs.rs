//! Runs the programs of the course, the steps', `cargo course` and `cargo simt`, as a reader runs them. Each command runs once.

use std::collections::BTreeMap;
use std::env::consts::EXE_EXTENSION;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

use anyhow::{Context, Result, anyhow, ensure};
use common::basics::workspace;
use course::steps::STEPS;

/// Runs a step's program, `course`, `beyond` or `cargo-simt`, in the workspace: what it prints on its standard output, and on the other one.
pub fn output(program: &str, arguments: &[&str]) -> Result<[String; 2]> {
    static DONE: Mutex<BTreeMap<String, [String; 2]>> = Mutex::new(BTreeMap::new());
    let key = format!("{program} {}", arguments.join(" "));
    if let Some(printed) = DONE.lock().ok().and_then(|done| done.get(&key).cloned()) {
        return Ok(printed);
    }
    let output = Command::new(folder()?.join(program))
        .args(arguments)
        .current_dir(workspace::root())
        // Lines are as wide as it says.
        .stdin(Stdio::null())
        .env_remove("COLUMNS")
        .output()
        .with_context(|| format!("{program} does not start; build it with cargo build --release"))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    let printed = [output.stdout, output.stderr].map(text);
    if let Ok(mut done) = DONE.lock() {
        done.insert(key, printed.clone());
    }
    Ok(printed)
}

/// The folder of the steps' programs, `course`, `beyond` and `cargo-simt`: that of this program, where cargo builds them once.
fn folder() -> Result<&'static Path> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}"))).as_deref().map_err(|error| anyhow!("{error}"))
}

fn build() -> Result<PathBuf> {
    // A test's program is one folder further down.
    let program = std::env::current_exe()?;
    let folder = program.ancestors().skip(1).find(|folder| !folder.ends_with("deps")).context("it is in no folder")?;
    // `cargo test --workspace` has built them; a build of some packages has other features and would compile them again.
    if cfg!(test) && folder.join("beyond").with_extension(EXE_EXTENSION).is_file() {
        return Ok(folder.to_owned());
    }
    let profile = if folder.ends_with("debug") { "dev" } else { "release" };
    let packages = STEPS.iter().map(|step| step.name).chain(["course", "beyond", "cargo-simt"]);
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--profile", profile])
        .args(packages.flat_map(|package| ["--package", package]))
        .current_dir(workspace::root())
        .stdin(Stdio::null())
        .output()
        .context("cargo was not found; install Rust")?;
    let said = String::from_utf8_lossy(&built.stderr);
    ensure!(built.status.success(), "the programs do not build; fix what the compiler says:\n{}", said.trim());
    Ok(folder.to_owned())
}
