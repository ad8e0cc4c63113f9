//! Runs the programs of the course, the steps' and `cargo course`, as a reader runs them. Each command runs once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow};
use common::basics::workspace;
use serde_json::Value;

#[derive(Clone)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
}

/// Runs a step's program, `course` or `beyond`, in the workspace.
pub fn output(program: &str, arguments: &[&str]) -> Result<Printed> {
    static DONE: Mutex<BTreeMap<String, Printed>> = Mutex::new(BTreeMap::new());
    let key = format!("{program} {}", arguments.join(" "));
    if let Some(printed) = DONE.lock().ok().and_then(|done| done.get(&key).cloned()) {
        return Ok(printed);
    }
    let output = Command::new(path(program)?)
        .args(arguments)
        .current_dir(workspace::root())
        // Help is wrapped to the terminal's width if there is one.
        .stdin(Stdio::null())
        .env_remove("COLUMNS")
        .output()
        .with_context(|| format!("{program} does not start; build it with cargo build --release"))?;
    let printed = Printed {
        stdout: String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n"),
        stderr: String::from_utf8_lossy(&output.stderr).replace("\r\n", "\n"),
    };
    if let Ok(mut done) = DONE.lock() {
        done.insert(key, printed.clone());
    }
    Ok(printed)
}

/// The path of a step's program, of `course` or of `beyond`, which is built once.
fn path(program: &str) -> Result<PathBuf> {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().map_err(|_| anyhow!("another thread failed; run the command again"))?;
    if let Some(path) = built.get(program) {
        return Ok(path.clone());
    }
    let path = build(program)?;
    built.insert(program.to_owned(), path.clone());
    Ok(path)
}

/// Builds a package's program beside this program and returns its path. Without cargo, takes a program that is there already.
fn build(package: &str) -> Result<PathBuf> {
    let folder = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.to_owned())).unwrap_or_default();
    // A test's program is one folder further down.
    let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(&folder).to_owned() } else { folder };
    let profile = if folder.ends_with("debug") { "dev" } else { "release" };
    let program = folder.join(format!("{package}{}", std::env::consts::EXE_SUFFIX));
    // `cargo test --workspace` has built it; a build of one package has other features and would compile it again.
    if cfg!(test) && program.is_file() {
        return Ok(program);
    }
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--profile", profile, "--package", package])
        .current_dir(workspace::root())
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(built) if !built.status.success() => {
            let said = String::from_utf8_lossy(&built.stderr);
            Err(anyhow!("{package} does not build; fix what the compiler says:\n{}", said.trim()))
        }
        _ if program.is_file() => Ok(program),
        _ => Err(anyhow!("{package} is not built and cargo was not found; install Rust")),
    }
}

/// The JSON report of a run on the simulator.
pub fn json(program: &str, arguments: &[&str]) -> Result<Value> {
    let arguments = [&["--device", "sim", "--json"], arguments].concat();
    let printed = output(program, &arguments)?;
    serde_json::from_str(&printed.stdout)
        .with_context(|| format!("{program} {} prints no report: {}", arguments.join(" "), printed.stderr.trim()))
}
