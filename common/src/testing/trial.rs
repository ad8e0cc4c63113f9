//! A named test, which is quick or for CI only.

use anyhow::Result;
use libtest_mimic::Trial;

/// A trial that reports an error with its causes. If its name begins with `slow::`, it runs in CI or, on a machine with everything
/// that it needs, with `cargo test --workspace -- --ignored slow::`.
pub fn trial(name: impl Into<String>, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    let name = name.into();
    let slow = name.starts_with("slow::");
    let trial = Trial::test(name, move || test().map_err(|error| format!("{error:#}").into()));
    if slow { trial.with_kind("slow").with_ignored_flag(true) } else { trial }
}
