//! A test with a name: quick, or for CI alone.

use anyhow::Result;
use libtest_mimic::Trial;

/// A trial that tells an error with its causes. One that is named `slow::` is for CI, and for whoever asks for it:
/// `cargo test --workspace -- --ignored slow::`, where everything that it needs is installed.
pub fn trial(name: impl Into<String>, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    let name = name.into();
    let slow = name.starts_with("slow::");
    let trial = Trial::test(name, move || test().map_err(|error| format!("{error:#}").into()));
    if slow { trial.with_kind("slow").with_ignored_flag(true) } else { trial }
}
