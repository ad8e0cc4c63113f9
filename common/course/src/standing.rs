//! `cargo course` without a verb: where the learner stands, and how to go on.

use std::fmt::Write as _;

use anyhow::Result;
use common::basics::output;
use common::basics::workspace;

use crate::lab::data::Lab;
use crate::progress::Progress;

/// Runs the command.
pub fn run() -> Result<bool> {
    let progress = Progress::read()?;
    let mut text = String::from("your way through the course\n\n");
    let mut next = None;
    for lab in Lab::all()? {
        let name = lab.full_name();
        let begun = lab.copy().is_file();
        let copy = if begun { format!("  {}", workspace::display(&lab.copy())) } else { String::new() };
        let _ = writeln!(text, "  {name}{copy}");
        for (number, task) in lab.data.tasks.iter().enumerate() {
            let passed = progress.has_passed(&name, number);
            if !passed && !task.open && next.is_none() {
                next = Some((lab.name().to_owned(), begun));
            }
            let state = match (passed, task.open) {
                (true, _) => "passed",
                (false, true) => "open challenge",
                (false, false) => "to do",
            };
            let _ = writeln!(text, "    {state:<16}{}. {}", number + 1, task.name);
        }
    }
    let _ = match next {
        Some((lab, true)) => writeln!(text, "\ngo on with cargo course lab {lab}"),
        Some((lab, false)) => writeln!(text, "\nbegin with cargo course lab {lab}"),
        None => {
            writeln!(text, "\nevery required task is done; the open challenges are left, and docs/src/next.md goes on")
        }
    };
    text.push_str("all commands: cargo course --help\n");
    output::print(&text)?;
    Ok(true)
}
