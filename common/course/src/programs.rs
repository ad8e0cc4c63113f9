//! The programs of the workspace, built when they are asked for.

use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, anyhow, ensure};
use common::basics::workspace;

/// The environment variable that names a folder of programs that are ready: they are run as they are, and cargo is not
/// asked. For tests, whose programs cargo has just built, and for machines that got the programs without cargo.
pub const VARIABLE: &str = "COURSE_PROGRAMS";

/// A package's program, which has its name: from the folder that [`VARIABLE`] names, or else built by cargo beside this
/// program. Without cargo, what lies there is taken.
pub fn built(package: &str) -> Result<PathBuf> {
    let name = format!("{package}{}", std::env::consts::EXE_SUFFIX);
    if let Some(folder) = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        let program = Path::new(&folder).join(name);
        ensure!(
            program.is_file(),
            "{} is missing; copy it there, or unset {VARIABLE} and let cargo build it",
            program.display()
        );
        return Ok(program);
    }
    let folder = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.to_owned())).unwrap_or_default();
    // A test's program lies one folder further down.
    let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(&folder).to_owned() } else { folder };
    // What is built the same way as this program lies beside it.
    let profile = if folder.ends_with("debug") { "dev" } else { "release" };
    let program = folder.join(name);
    // Cargo knows whether the program is up to date; without cargo, what is there is what there is.
    match build(package, profile) {
        Ok((false, log)) => Err(anyhow!("{package} does not build; fix what the compiler says:\n{log}")),
        _ if program.is_file() => Ok(program),
        Ok(_) => {
            Err(anyhow!("cargo has not built {}; build it with cargo build --package {package}", program.display()))
        }
        Err(_) => Err(anyhow!("{package} is not built and cargo was not found; install Rust")),
    }
}

/// Builds a package: whether that went well, and what the compiler says, without cargo's own lines. On a terminal, cargo's lines on what it compiles are shown as they come, because the first build
/// takes a minute.
fn build(package: &str, profile: &str) -> std::io::Result<(bool, String)> {
    let mut child = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--profile", profile, "--package", package])
        .current_dir(workspace::root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let shown = std::io::stderr().is_terminal();
    let mut log = String::new();
    for line in child.stderr.take().map(BufReader::new).into_iter().flat_map(|lines| lines.split(b'\n')) {
        let line = String::from_utf8_lossy(&line?).trim_end().to_owned();
        match status(&line) {
            Some(word) if shown && word != "Finished" => {
                let _ = writeln!(std::io::stderr(), "{line}");
            }
            Some(_) => {}
            None => log += &(line + "\n"),
        }
    }
    Ok((child.wait()?.success(), log.trim_end().to_owned()))
}

/// The first word of a line in which cargo says what it does: it ends in column 12, and begins with a capital.
fn status(line: &str) -> Option<&str> {
    let word = line.get(..12)?.trim_start();
    let ends = line.as_bytes().get(12) == Some(&b' ');
    let is_word = word.starts_with(|c: char| c.is_ascii_uppercase()) && word.bytes().all(|c| c.is_ascii_alphabetic());
    (ends && is_word).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_cargo_are_told_from_those_of_the_compiler() {
        assert_eq!(status("   Compiling simt v0.1.0 (/course/common/simt)"), Some("Compiling"));
        assert_eq!(status("    Finished `release` profile [optimized] target(s) in 0.05s"), Some("Finished"));
        assert_eq!(status("    Blocking waiting for file lock on build directory"), Some("Blocking"));
        for line in ["error[E0425]: cannot find value", "  --> src/lib.rs:4:5", "   |         Some", "", "Compiling"] {
            assert_eq!(status(line), None, "{line:?}");
        }
    }
}
