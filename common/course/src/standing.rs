//! `cargo course` without a verb: the learner's progress, and the one thing to do next.

use std::fmt::Write as _;

use anyhow::Result;
use common::basics::{output, workspace};

use crate::files;
use crate::lab::Lab;
use crate::mine::{self, PROGRESS, Progress};

pub fn run() -> Result<bool> {
    let progress: Progress = mine::read(PROGRESS)?;
    let labs = Lab::all()?;
    let mut text = String::from("your way through the course\n\n");
    for lab in &labs {
        let name = lab.full_name();
        let copy = if lab.copy().is_file() { format!("  {}", workspace::display(&lab.copy())) } else { String::new() };
        let _ = writeln!(text, "  {name}{copy}");
        for (number, task) in lab.data.tasks.iter().enumerate() {
            let state = match (progress.has_passed(&name, number), task.open) {
                (true, _) => "passed",
                (false, true) => "open challenge",
                (false, false) => "to do",
            };
            let _ = writeln!(text, "    {state:<16}{}. {}", number + 1, task.name);
        }
    }
    let _ = match next(&labs, &progress) {
        Some((lab, task)) => {
            let (name, task) = (&lab.name, &lab.data.tasks[task].name);
            let verb = if lab.copy().is_file() { "go on with" } else { "begin with" };
            writeln!(text, "\n{verb} cargo course lab {name} ({task})")
        }
        None => {
            writeln!(text, "\nevery required task is done; the open challenges are left, and docs/src/next.md goes on")
        }
    };
    text.push_str("all commands: cargo course --help\n");
    output::print(&text)?;
    Ok(true)
}

/// The task to do next: in the lab whose file was saved last, if something is left of it; else in the first lab after those
/// that were begun, and then in those that were passed over. One may begin anywhere.
fn next<'a>(labs: &'a [Lab], progress: &Progress) -> Option<(&'a Lab, usize)> {
    let left = |lab: &'a Lab| {
        let required = |task: &usize| !lab.data.tasks[*task].open && !progress.has_passed(&lab.full_name(), *task);
        Some((lab, (0..lab.data.tasks.len()).find(required)?))
    };
    let saved = |lab: &Lab| files::saved(&lab.copy());
    let last = labs.iter().rposition(|lab| saved(lab).is_some() || progress.labs.contains_key(&lab.full_name()));
    let begun = labs.iter().filter(|lab| saved(lab).is_some()).filter_map(left).max_by_key(|(lab, _)| saved(lab));
    let ahead = || labs.iter().skip(last.map_or(0, |last| last + 1)).find_map(left);
    begun.or_else(ahead).or_else(|| labs.iter().find_map(left))
}
