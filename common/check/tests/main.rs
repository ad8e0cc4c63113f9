//! What a user sees: `cases/*.trycmd` are commands and what they print.
//!
//! After a change on purpose, `TRYCMD=overwrite cargo test -p cargo-simt` writes them again; read the difference before it is
//! committed. Cases that need a compiler which is not here are shown as ignored.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let nvrtc = compile::nvrtc::find(&[folder().join("../../.venv")]).is_ok();
    let rustc = compile::rustc::find(Path::new(".")).is_ok();
    let trial = |name: &'static str, needs: bool| Trial::test(name, move || case(name, &[])).with_ignored_flag(!needs);
    let mut trials: Vec<Trial> = ["check", "usage", "arguments", "report"].map(|name| trial(name, true)).into();
    trials.extend([trial("cuda", nvrtc), trial("rust", rustc)]);
    trials.push(Trial::test("outside", outside).with_ignored_flag(!nvrtc || !cfg!(unix)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the commands of a file. A difference is a panic, which the harness shows.
#[allow(clippy::unnecessary_wraps, reason = "what the harness calls")]
fn case(name: &str, environment: &[(&str, PathBuf)]) -> Result<(), Failed> {
    let cases = trycmd::TestCases::new();
    cases
        .register_bin("cargo-simt", Path::new(env!("CARGO_BIN_EXE_cargo-simt")))
        // Neither the width of a terminal nor what it can show may change what is compared.
        .env("COLUMNS", "80")
        .env("NO_COLOR", "1")
        .env("CLICOLOR_FORCE", "0");
    for (variable, path) in environment {
        cases.env(*variable, path.display().to_string());
    }
    cases.case(folder().join(format!("tests/cases/{name}.trycmd"))).run();
    Ok(())
}

/// A crate that belongs to no workspace, in a folder outside of this one: its tests run on the stand-in, which was built with this
/// test.
fn outside() -> Result<(), Failed> {
    let library = std::env::current_exe()?.with_file_name(format!("{DLL_PREFIX}simt_driver{DLL_SUFFIX}"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    // What an earlier run has compiled of the crate itself names the files of a folder that is gone, so it is compiled again.
    for compiled in std::fs::read_dir(target.join("debug/.fingerprint")).into_iter().flatten().flatten() {
        if compiled.file_name().to_string_lossy().starts_with("sums-") {
            std::fs::remove_dir_all(compiled.path())?;
        }
    }
    let whole = ("CARGO_INCREMENTAL", PathBuf::from("0"));
    case("outside", &[("SIMT_LIBRARY", library), ("CARGO_TARGET_DIR", target), whole])
}
