//! What a user sees: `cases/*.trycmd` are commands and what they print.
//!
//! After a change on purpose, `TRYCMD=overwrite cargo test -p cargo-simt` writes them again; read the difference before it is
//! committed. Cases that need a compiler which is not here are shown as ignored.

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let ignored = |why: Result<(), String>| why.is_err();
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv");
    let nvrtc = compile::nvrtc::find(&[venv]).map(drop).map_err(|error| error.to_string());
    let rustc = compile::rustc::find(Path::new(".")).map(drop).map_err(|error| error.to_string());
    let trials = vec![
        Trial::test("check", || case("check")),
        Trial::test("usage", || case("usage")),
        Trial::test("arguments", || case("arguments")),
        Trial::test("report", || case("report")),
        Trial::test("cuda", || case("cuda")).with_ignored_flag(ignored(nvrtc)),
        Trial::test("rust", || case("rust")).with_ignored_flag(ignored(rustc)),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs the commands of a file. A difference is a panic, which the harness shows.
#[allow(clippy::unnecessary_wraps, reason = "what the harness calls")]
fn case(name: &str) -> Result<(), Failed> {
    let cases = trycmd::TestCases::new();
    cases
        .register_bin("cargo-simt", Path::new(env!("CARGO_BIN_EXE_cargo-simt")))
        // Neither the width of a terminal nor what it can show may change what is compared.
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .env("CLICOLOR_FORCE", "0");
    cases.case(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cases/{name}.trycmd"))).run();
    Ok(())
}
