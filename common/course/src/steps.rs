//! The steps of the workspace: every folder `stepNN_name` with a `Cargo.toml`. A learner's own step joins by existing.
//!
//! The program knows no step by name. It builds and runs each step's own program and asks it to describe itself.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, ensure};
use common::describe::{Description, Request};
use common::step::source_path;
use common::workspace;

/// A step's folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepFolder {
    /// Name of the folder and of the crate.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
}

/// The variable that names a folder with the steps' programs, which are taken from there as they are: whoever has built
/// them, such as a test that cargo runs, need not wait for another build with other features.
pub const PROGRAMS_VARIABLE: &str = "COURSE_PROGRAMS";

/// The same for this process.
static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();

/// Has this process take the steps' programs from a folder, as [`PROGRAMS_VARIABLE`] does.
#[cfg(test)]
pub fn take_programs_from(folder: PathBuf) {
    PROGRAMS.get_or_init(|| folder);
}

fn built_programs() -> Option<PathBuf> {
    let named = || std::env::var_os(PROGRAMS_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    PROGRAMS.get().cloned().or_else(named)
}

/// All steps, in order.
pub fn find() -> Result<Vec<StepFolder>> {
    let root = workspace::root();
    let entries = std::fs::read_dir(root)
        .with_context(|| format!("the workspace {} cannot be read; run this inside the course", root.display()))?;
    let mut steps: Vec<StepFolder> = entries
        .flatten()
        .map(|entry| StepFolder { name: entry.file_name().to_string_lossy().into_owned(), path: entry.path() })
        .filter(|step| step.name.starts_with("step") && step.path.join("Cargo.toml").is_file())
        .collect();
    steps.sort();
    ensure!(!steps.is_empty(), "there are no steps in {}; run this inside the course", root.display());
    Ok(steps)
}

impl StepFolder {
    /// The file of the step's kernel, or of a variant.
    pub fn source(&self, variant: Option<&str>) -> PathBuf {
        source_path(&self.path, variant)
    }

    /// The step's program: one that is said to be built, else beside this one where cargo builds it, or where a carried
    /// build has it.
    pub fn program(&self) -> Result<PathBuf> {
        let name = format!("{}{}", self.name, std::env::consts::EXE_SUFFIX);
        let built = built_programs();
        if let Some(program) = built.as_ref().map(|folder| folder.join(&name)).filter(|program| program.is_file()) {
            return Ok(program);
        }
        let folder = built.or_else(|| Some(std::env::current_exe().ok()?.parent()?.to_owned()));
        // What is built the same way as this program lies beside it.
        let profile = if folder.as_ref().is_some_and(|folder| folder.ends_with("debug")) { "dev" } else { "release" };
        let beside = folder.map(|folder| folder.join(&name));
        // Cargo knows whether the program is up to date; without cargo, what is there is what there is.
        let build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--quiet", "--profile", profile, "--package", &self.name])
            .current_dir(workspace::root())
            .output();
        match (build, beside) {
            (Ok(output), Some(program)) if output.status.success() && program.is_file() => Ok(program),
            (Ok(output), _) => {
                let log = String::from_utf8_lossy(&output.stderr);
                Err(anyhow!("{} does not build; mend what the compiler says:\n{}", self.name, log.trim_end()))
            }
            (Err(_), Some(program)) if program.is_file() => Ok(program),
            (Err(_), _) => Err(anyhow!("{} is not built and cargo was not found; install Rust", self.name)),
        }
    }

    /// Asks the step's program to describe itself.
    pub fn describe(&self, request: &Request) -> Result<Description> {
        let output = Command::new(self.program()?).arg("--describe").arg(serde_json::to_string(request)?).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} does not describe itself: {}", self.name, error.trim());
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{} describes itself in another way; build it against this course", self.name))
    }
}
