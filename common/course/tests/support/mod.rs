//! What the tests of the program share: where it is, and what it runs with.

use std::path::PathBuf;

use anyhow::Result;
pub use common::testing::trial;
use libtest_mimic::Trial;

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_course");

/// A folder for the learner's files, empty.
pub fn mine(name: &str) -> Result<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder).or_else(|_| std::fs::remove_file(&folder));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The test, ignored if there is no NVRTC here.
pub fn needs_nvrtc(test: Trial) -> Trial {
    match common::code::nvrtc::find() {
        Ok(_) => test,
        Err(error) => test.with_kind(format!("needs NVRTC: {error}")).with_ignored_flag(true),
    }
}
