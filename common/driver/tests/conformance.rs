//! The stand-in answers the questions of `questions` as `conformance.txt` says that a GPU's driver does.
//!
//! `SIMT_BLESS=1` writes what the stand-in answers to the file, without a GPU's name in its head.

mod caller;
mod questions;

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let driver = || caller::Driver(Box::new(cuda::address));
    match argument.as_deref() {
        Some("ask") => questions::ask(&driver()),
        Some(fault) if questions::FAULTS.contains(&fault) => questions::fault(&driver(), fault),
        // The one test, asked for by its name or a part of it, or listed.
        Some("--list") => println!("conformance: test"),
        Some(name) if !name.starts_with('-') && !"conformance".contains(name) => {}
        _ => return compare(),
    }
    ExitCode::SUCCESS
}

/// Each part in a process of its own, because some end their context.
fn answers() -> Vec<String> {
    let program = std::env::current_exe().expect("a program knows where it is");
    let mut lines = vec![];
    for part in ["ask"].into_iter().chain(questions::FAULTS) {
        let output = Command::new(&program).arg(part).env_remove("SIMT_CHECK").output().expect("it starts again");
        lines.extend(String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim_end().to_owned()));
        if !output.status.success() {
            lines.push(format!("{part}: the process ended badly"));
        }
    }
    lines
}

fn compare() -> ExitCode {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance.txt");
    let found = answers();
    if std::env::var_os("SIMT_BLESS").is_some() {
        let head = "# What the stand-in answers. No GPU has been asked.\n";
        std::fs::write(file, format!("{head}{}\n", found.join("\n"))).expect("the record is writable");
    }
    let record = std::fs::read_to_string(file).expect("the record is there");
    let mut lines = record.lines().filter(|line| !line.starts_with('#')).map(str::trim_end).peekable();
    let (mut found, mut wrong) = (found.into_iter(), vec![]);
    while let Some(line) = lines.next() {
        // What is known to differ stands below a GPU's answer, with the reason after two spaces.
        let here = lines.next_if(|next| next.starts_with("  here: "));
        let own = here.and_then(|here| here[8..].split("  ").next());
        let (question, _) = line.split_once(": ").unwrap_or((line, ""));
        let wanted = own.map_or(line.to_owned(), |own| format!("{question}: {own}").trim_end().to_owned());
        let answer = found.next().unwrap_or_default();
        if answer != wanted {
            wrong.push(format!("{answer}\n  wanted: {wanted}"));
        }
    }
    wrong.extend(found.map(|answer| format!("{answer}\n  is not in the record")));
    println!("\ntest conformance ... {}\n{}", if wrong.is_empty() { "ok" } else { "FAILED" }, wrong.join("\n"));
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
