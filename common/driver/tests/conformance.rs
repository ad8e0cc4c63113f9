//! The stand-in answers the questions of `questions.txt` as `conformance.txt` says that a GPU's driver does.
//!
//! `SIMT_BLESS=1` writes what the stand-in answers to the file, without a GPU's name in its head.

mod script;

use std::process::{Command, ExitCode};

const QUESTIONS: &str = include_str!("questions.txt");

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    match argument.as_deref() {
        Some("--list") => println!("conformance: test"),
        Some(part) if script::parts(QUESTIONS).any(|known| known == part) => {
            let mut script = script::Script::new(simt_driver::address);
            println!("{}", script::answers(&mut script, QUESTIONS, part).join("\n"));
        }
        Some(name) if !name.starts_with('-') && !"conformance".contains(name) => {}
        _ => return compare(),
    }
    ExitCode::SUCCESS
}

/// Each part in a process of its own, because some end their context.
fn answers() -> Vec<String> {
    let program = std::env::current_exe().expect("a program knows where it is");
    let mut lines = vec![];
    for part in script::parts(QUESTIONS) {
        let output = Command::new(&program).arg(part).env_remove("SIMT_CHECK").output().expect("it starts again");
        lines.push(format!("== {part}"));
        lines.extend(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned));
        if !output.status.success() {
            lines.push("the process ended badly".into());
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
    let mut lines = record.lines().filter(|line| !line.starts_with('#')).peekable();
    let (mut found, mut wrong) = (found.into_iter(), vec![]);
    while let Some(line) = lines.next() {
        // What is known to differ stands below a GPU's answer, with the reason after two spaces.
        let own = lines.next_if(|next| next.starts_with("  here: ")).and_then(|here| here[8..].split("  ").next());
        let question = line.split_once(": ").map_or("", |(question, _)| question);
        let wanted = own.map_or(line.to_owned(), |own| format!("{question}: {own}"));
        let answer = found.next().unwrap_or_default();
        if answer != wanted {
            wrong.push(format!("{answer}\n  wanted: {wanted}"));
        }
    }
    wrong.extend(found.map(|answer| format!("{answer}\n  is not in the record")));
    println!("\ntest conformance ... {}\n{}", if wrong.is_empty() { "ok" } else { "FAILED" }, wrong.join("\n"));
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
