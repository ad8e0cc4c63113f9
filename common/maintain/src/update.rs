//! `cargo x update`: brings everything up to date that a change of a kernel, a counter, an option or a text makes stale, and says what
//! has changed. What it writes is reviewed as a diff: it records what the programs do now, right or wrong.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use common::basics::{print, workspace};
use common::code::hash;

use crate::{budget, explore, pages, ptx};

/// Tests that hold what users and machines see, by package, test program and beginning of their names. They write it again.
const RECORDED: [(&str, &[&str], &str); 6] = [
    ("simt-gpu", &["--test", "main"], "corpus"),
    ("simt-gpu", &["--test", "main"], "instructions"),
    ("common", &["--test", "program"], ""),
    ("course", &["--test", "main"], "outputs"),
    ("cargo-simt", &["--test", "main"], ""),
    ("maintain", &["--bin", "x"], "each_part"),
];
/// What asks them for that; snapbox, trycmd and the simulator's tests each have one.
const ASKS: [(&str, &str); 3] = [("SNAPSHOTS", "overwrite"), ("TRYCMD", "overwrite"), ("SIMT_BLESS", "1")];

/// Runs the command. Returns `false` if something is still wrong.
pub fn run() -> Result<bool> {
    let before = state()?;
    let mut ok = true;
    let mut step = |what: &str, done: Result<bool>| -> Result<()> {
        let done = done.or_else(|error| print(&format!("error: {error:#}\n")).map(|()| false))?;
        ok &= done;
        if done { Ok(()) } else { print(&format!("{what}: not done\n")) }
    };
    step("PTX", ptx::run(&ptx::Options { check: false, steps: vec![] }))?;
    step("the explorer's smaller tiles", explore::run(&explore::Options::default()))?;
    for (package, program, tests) in RECORDED {
        step(&format!("what {package} records"), recorded(package, program, tests))?;
    }
    step("pages", pages::run(&pages::Options { check: false, files: vec![] }))?;
    step("budgets", budget::check())?;
    print(&changes(&before, &state()?))?;
    Ok(ok)
}

/// Lets tests write what they compare with. Returns whether they pass.
fn recorded(package: &str, program: &[&str], tests: &str) -> Result<bool> {
    print(&format!("what {} of {package} records ...\n", if tests.is_empty() { "the tests" } else { tests }))?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--quiet", "--package", package]).args(program).args(["--", tests]);
    let output = cargo.envs(ASKS).current_dir(workspace::root()).stdin(Stdio::null()).output();
    let output = output.context("cargo was not found; install Rust")?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        print(&said.concat())?;
    }
    Ok(output.status.success())
}

/// All files that git knows or would take, with a hash of each.
fn state() -> Result<BTreeMap<String, String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(workspace::root())
        .output()
        .context("git was not found; install it to see what changes")?;
    ensure!(output.status.success(), "this is no clone, so nothing says what changes; clone the course with git");
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let read = |name: &str| {
        let path: PathBuf = workspace::root().join(name);
        Some((name.to_owned(), hash(&String::from_utf8_lossy(&std::fs::read(path).ok()?))))
    };
    Ok(names.split_terminator('\0').filter_map(read).collect())
}

/// A line for each file that differs.
fn changes(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> String {
    let new = after.iter().filter_map(|(name, hash)| match before.get(name) {
        None => Some(format!("new      {name}\n")),
        Some(old) => (old != hash).then(|| format!("changed  {name}\n")),
    });
    let gone = before.keys().filter(|name| !after.contains_key(*name)).map(|name| format!("removed  {name}\n"));
    let lines: Vec<String> = new.chain(gone).collect();
    match lines.len() {
        0 => "\neverything was up to date\n".into(),
        1 => format!("\none file is different now; read it as a diff\n{}", lines.concat()),
        count => format!("\n{count} files are different now; read them as a diff\n{}", lines.concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_is_listed() {
        let of = |files: &[(&str, &str)]| {
            files.iter().map(|(name, hash)| ((*name).to_owned(), (*hash).to_owned())).collect::<BTreeMap<_, _>>()
        };
        let before = of(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let text = changes(&before, &of(&[("a", "1"), ("b", "2"), ("d", "1")]));
        assert_eq!(text, "\n3 files are different now; read them as a diff\nchanged  b\nnew      d\nremoved  c\n");
        assert_eq!(changes(&before, &before), "\neverything was up to date\n");
    }
}
