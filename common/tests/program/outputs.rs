//! Compares what learners see with the files of `outputs/`: commands, what the program prints for each, and how it ends. `[..]`
//! matches any text, such as the elements of C for which two blocks race.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use common::basics::files::below;
use common::basics::workspace;
use libtest_mimic::Trial;
use snapbox::assert_data_eq;

use super::{expected, program, root, sections, trial};

pub fn trials() -> Vec<Trial> {
    let made = make_defects();
    let files = below(&root().join("common/tests/program/outputs"), "txt");
    let held = files.into_iter().map(|file| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        trial(&format!("outputs::{name}"), move || holds(&file))
    });
    held.chain([trial("outputs::programs_with_a_defect", || made)]).collect()
}

fn holds(file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file)?;
    let said: Vec<String> = text.lines().filter_map(|line| line.strip_prefix("$ ")).map(printed).collect();
    ensure!(!said.is_empty(), "it has no command");
    assert_data_eq!(said.join("\n"), expected(file));
    Ok(())
}

/// The folder of the simulator's programs with one defect each: its name in commands and outputs, and where it is.
const DEFECTS: (&str, &str) = ("defects/", concat!(env!("CARGO_TARGET_TMPDIR"), "/defects/"));

/// Writes each program to a separate file, and puts the source that it names beside it.
fn make_defects() -> Result<()> {
    let (folder, corpus) = (Path::new(DEFECTS.1), root().join("common/simt/tests/corpus/fail"));
    std::fs::create_dir_all(folder)?;
    for (name, ptx) in sections::read(corpus.with_extension("ptx")) {
        std::fs::write(folder.join(&name).with_extension("ptx"), ptx)?;
    }
    for source in below(&corpus, "cu") {
        std::fs::copy(&source, folder.join(source.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// Runs a command, whose first word is the program, in the workspace.
fn printed(command: &str) -> String {
    let words = command.split_whitespace().skip(1).map(|word| word.replacen(DEFECTS.0, DEFECTS.1, 1));
    said(&format!("$ {command}"), program().args(words).current_dir(root()))
}

/// What a program prints and how it ends, below a line that names the command.
pub fn said(typed: &str, command: &mut Command) -> String {
    let output = command.output().unwrap();
    let shown = workspace::display(Path::new(DEFECTS.1.trim_end_matches('/'))) + "/";
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&shown, DEFECTS.0);
    let (stdout, stderr, status) = (text(output.stdout), text(output.stderr), output.status.code().unwrap());
    let stderr = if stderr.is_empty() { stderr } else { format!("--- standard error\n{stderr}") };
    format!("{typed}\n{stdout}{stderr}--- exit status {status}\n")
}
