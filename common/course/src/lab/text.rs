//! A lab's output for people: the graded checklist, what a passed task gained, and hints.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use common::basics::{workspace, wrapped};

use crate::files;
use crate::lab::checklist::{Grade, Line, State};
use crate::lab::data::Lab;

/// Tasks that have passed for the first time, from the first to the last of them.
pub struct New {
    pub first: usize,
    pub last: usize,
    /// The file as it is now.
    pub kept: PathBuf,
    /// What that was worth.
    pub gain: Option<String>,
}

/// A graded kernel: the task that the learner works at with all its lines, those that have passed in a line each, and
/// nothing of those that come later. If tasks have passed for the first time, they have all their lines, and what that was worth follows.
pub fn checklist(lab: &Lab, kernel: &Path, grade: &Grade, new: Option<&New>) -> String {
    let mut text = format!("lab {}: {} (seed {})\n\n", lab.name(), workspace::display(kernel), grade.seed);
    let last = grade.tasks.len();
    let current = grade.next().unwrap_or(last);
    let shown = new.map_or(current..last.min(current + 1), |new| new.first..new.last + 1);
    for passed in 0..shown.start {
        let _ = writeln!(text, "  {}{}{}", state(State::Passed), title(lab, passed), helped(grade, passed));
    }
    text += if shown.start > 0 { "\n" } else { "" };
    for task in shown.clone().filter(|&task| new.is_none() || grade.tasks[task].passed) {
        let _ = writeln!(text, "  {}{}", title(lab, task), helped(grade, task));
        for Line { words, state: found_to_be, found, .. } in &grade.tasks[task].lines {
            let found = found.as_ref().map_or_else(String::new, |found| format!(" ({found})"));
            let _ = writeln!(text, "    {}{words}{found}", state(*found_to_be));
        }
        text += if new.is_some() { "\n" } else { "" };
    }
    if let Some(New { first, last, kept, gain }) = new {
        let green = AnsiColor::Green.on_default().bold();
        let passed = match last - first {
            0 => format!("task {} has passed", last + 1),
            1 => format!("tasks {} and {} have passed", first + 1, last + 1),
            _ => format!("tasks {} to {} have passed", first + 1, last + 1),
        };
        let kept = workspace::display(kept);
        let _ = writeln!(text, "{green}{passed}{green:#}; the file as it is now is kept as {kept}");
        text += gain.as_deref().unwrap_or_default();
        return text + &done_with(lab, kernel, grade);
    }
    let _ = match last - shown.end {
        0 => Ok(()),
        1 => writeln!(text, "\n  one more task follows"),
        tasks => writeln!(text, "\n  {tasks} more tasks follow"),
    };
    let Some(next) = grade.findings.first() else { return text + &done_with(lab, kernel, grade) };
    text.push_str("\nlook at this next:\n");
    for line in next.text.lines() {
        // Pictures begin with spaces, numbers of lines or colours.
        let is_sentence = line.starts_with(char::is_alphabetic);
        let _ = writeln!(text, "  {}", if is_sentence { wrapped(line, 2) } else { line.to_owned() });
    }
    if let Some(command) = &next.command {
        let _ = write!(text, "\nsee it for yourself:\n  {command}\n");
    }
    if grade.is_done() {
        text.push_str("\nthe lab is done; this is its open challenge\n");
    }
    if !grade.passed_before {
        let _ = writeln!(text, "\nfor a hint: {} --hint", lab.command());
    }
    text
}

fn title(lab: &Lab, task: usize) -> String {
    let tasks = &lab.data.tasks;
    let open = if tasks[task].open { ", an open challenge" } else { "" };
    let bold = Style::new().bold();
    format!("{bold}task {} of {}: {}{bold:#}{open}", task + 1, tasks.len(), tasks[task].name)
}

/// The word that hints cost.
fn helped(grade: &Grade, task: usize) -> String {
    match grade.hints.get(task) {
        None | Some(0) => String::new(),
        Some(1) => ", with a hint".into(),
        Some(hints) => format!(", with {hints} hints"),
    }
}

fn state(state: State) -> String {
    let (word, style) = match state {
        State::Passed => ("passed", AnsiColor::Green.on_default()),
        State::Failed => ("FAILED", AnsiColor::Red.on_default().bold()),
        State::NotReached => ("not reached", Style::new().dimmed()),
        State::LeftOut => ("left out", Style::new().dimmed()),
    };
    format!("{style}{word:<13}{style:#}")
}

/// The kernel of the course to compare with, and where to go from here.
fn done_with(lab: &Lab, kernel: &Path, grade: &Grade) -> String {
    let tasks = &lab.data.tasks;
    let (name, command) = (lab.name(), lab.command());
    let mut text = String::new();
    let solved = tasks[..grade.next().unwrap_or(tasks.len())].last();
    if let Some(answer) = solved.and_then(|task| lab.answer(task)) {
        let _ = write!(text, "\ncompare it with the course's:\n  {}\n", difference(kernel, &answer));
    }
    if let Some(next) = grade.next() {
        if tasks[next].open {
            text.push_str("\nthe lab is done; what is left is an open challenge\n");
        }
        let (file, page) = (workspace::display(kernel), workspace::display(&lab.page()));
        let _ = write!(
            text,
            "\nnext, {}\n  {page} says what to do; go on in {file}, and then\n  {command}\n",
            title(lab, next)
        );
    } else {
        let _ = writeln!(text, "\nlab {name} is done");
    }
    if !grade.is_done() {
        return text;
    }
    let rust = if lab.rust { " --rust" } else { "" };
    if let Some(drawn) = &lab.transfer {
        let own = name.split('-').next().unwrap_or(name);
        let next = drawn.seed.wrapping_add(1);
        let _ = writeln!(text, "\nanother one: cargo course lab {own}-{next}{rust}");
        text += "where you stand in the course: cargo course\n";
    } else if !lab.data.transfer.is_empty() {
        let drawn = format!("cargo course lab {name}-1{rust}");
        let _ = writeln!(text, "\na task that is solved nowhere, and another for each number: {drawn}");
    }
    if let Some(following) = lab.following() {
        let breaks = lab.data.after.as_ref().map_or_else(String::new, |after| format!("{after}\n"));
        let _ = writeln!(text, "\n{breaks}the lab after this one: {following}");
    }
    text
}

fn difference(kernel: &Path, answer: &str) -> String {
    format!("cargo course diff {} {answer}", files::from_here(kernel))
}

/// The first `shown` hints of a task, and how many are left.
pub fn hints(lab: &Lab, number: usize, shown: usize) -> String {
    let task = &lab.data.tasks[number];
    let mut text = title(lab, number) + "\n\n";
    for (place, hint) in task.hints.iter().take(shown).enumerate() {
        let _ = writeln!(text, "  {}. {hint}", place + 1);
    }
    if lab.rust {
        text.push_str("\nhints speak CUDA C; docs/src/rust-kernels.md says what its words are in Rust\n");
    }
    let _ = match (task.hints.len() - shown.min(task.hints.len()), lab.answer(task)) {
        (0, None) => writeln!(text, "\nthat was the last hint"),
        (0, Some(answer)) => {
            let difference = difference(&lab.copy(), &answer);
            writeln!(text, "\nthat was the last hint; what your file lacks of the course's solution:\n  {difference}")
        }
        (1, _) => writeln!(text, "\none more hint is left; ask again"),
        (left, _) => writeln!(text, "\n{left} more hints are left; ask again"),
    };
    text
}
