//! What the tests of the program share: where it is, and what it runs with.

use std::path::{Path, PathBuf};

use anyhow::Result;
use course::steps;
use libtest_mimic::Trial;

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_course");

/// The environment in which the steps' programs are taken as cargo has just built them: another build would have other
/// features, and take a minute. It is empty if one of them is missing or older than its source.
pub fn programs() -> Option<(&'static str, PathBuf)> {
    let folder = Path::new(PROGRAM).parent().unwrap_or(Path::new("."));
    let changed = |path: &Path| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let built = |step: &steps::StepFolder| {
        let program = changed(&folder.join(format!("{}{}", step.name, std::env::consts::EXE_SUFFIX)));
        program.is_some() && program > changed(&step.path.join("src/lib.rs"))
    };
    steps::find().ok()?.iter().all(built).then(|| (course::programs::VARIABLE, folder.to_owned()))
}

/// A folder for the learner's files, empty.
pub fn mine(name: &str) -> Result<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder).or_else(|_| std::fs::remove_file(&folder));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A test that fails with its error's words.
pub fn trial(name: impl Into<String>, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, || test().map_err(|error| format!("{error:#}").into()))
}

/// The test, ignored if there is no NVRTC here.
pub fn needs_nvrtc(test: Trial) -> Trial {
    match common::code::nvrtc::find() {
        Ok(_) => test,
        Err(error) => test.with_kind(format!("needs NVRTC: {error}")).with_ignored_flag(true),
    }
}
