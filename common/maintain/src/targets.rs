//! Whether the workspace compiles for other systems, on a machine that has only this one.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use common::basics::output::print;
use common::basics::workspace;

/// The systems that learners have and this machine may not be.
const TARGETS: [&str; 3] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin", "aarch64-unknown-linux-gnu"];

/// A compiler whose standard library lies beside it as source (Debian's `rustc-web` and `rust-web-src`).
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// How a target can be compiled for here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Its standard library is installed.
    Installed,
    /// Its standard library is built from Debian's source.
    FromSource,
}

/// Runs the command; `false` if the workspace does not compile for a target. A target whose tools are missing is said.
pub fn run() -> Result<bool> {
    let mut ok = true;
    let mut checked = 0;
    for target in TARGETS {
        let Some(way) = way(target) else {
            print(&format!(
                "{target}: not checked, for its standard library is missing; rustup target add {target}\n"
            ))?;
            continue;
        };
        let status = check(target, way).status().context("cargo does not start; install Rust")?;
        ok &= status.success();
        checked += 1;
        print(&format!("{target}: {}\n", if status.success() { "compiles" } else { "does NOT compile" }))?;
    }
    print(&format!("{checked} of {} targets checked\n", TARGETS.len()))?;
    Ok(ok)
}

fn check(target: &str, way: Way) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(workspace::root()).args(["check", "--quiet", "--workspace", "--target", target]);
    // Programs and their libraries: what a learner builds. Benches drag in C code that needs a C compiler of the target.
    command.args(["--lib", "--bins", "--target-dir", "target/targets"]);
    if way == Way::FromSource {
        command.env("RUSTC", DEBIAN_RUSTC).env("RUSTC_BOOTSTRAP", "1").arg("-Zbuild-std=std,panic_abort");
    }
    command
}

fn way(target: &str) -> Option<Way> {
    let library = |rustc: &str, place: &str| {
        let output = Command::new(rustc).args(["--print", "sysroot"]).output().ok()?;
        let root = String::from_utf8(output.stdout).ok()?;
        Path::new(root.trim()).join("lib/rustlib").join(place).exists().then_some(())
    };
    if library("rustc", &format!("{target}/lib")).is_some() {
        return Some(Way::Installed);
    }
    library(DEBIAN_RUSTC, "src/rust/library/std/Cargo.toml").map(|()| Way::FromSource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_system_is_installed_and_no_other_is_taken_for_it() {
        let output = Command::new("rustc").args(["--print", "host-tuple"]).output().unwrap();
        assert_eq!(way(String::from_utf8(output.stdout).unwrap().trim()), Some(Way::Installed));
        assert_ne!(way("no-such-system"), Some(Way::Installed));
    }
}
