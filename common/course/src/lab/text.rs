//! What a lab says to people: the graded checklist, and hints.

use std::fmt::Write as _;
use std::path::Path;

use common::workspace;

use crate::lab::checklist::{Grade, State};
use crate::lab::data::{Lab, Task};

pub fn checklist(lab: &Lab, kernel: &Path, grade: &Grade) -> String {
    let mut text = format!("lab {}: {} (seed {})\n", lab.step.number(), workspace::display(kernel), grade.seed);
    for (number, task) in lab.data.tasks.iter().enumerate() {
        let open = if task.open { ", an open challenge" } else { "" };
        let _ = writeln!(text, "\n  task {}: {}{open}", number + 1, task.name);
        for line in grade.lines.iter().filter(|line| line.task == number) {
            let state = match line.state {
                State::Passed => "passed",
                State::Failed => "FAILED",
                State::NotReached => "not reached",
                State::LeftOut => "left out",
            };
            let found = line.found.as_ref().map_or_else(String::new, |found| format!(" ({found})"));
            let _ = writeln!(text, "    {state:<13}{}{found}", line.words);
        }
    }
    let Some(next) = &grade.next else {
        text.push_str("\neverything passed; the step's own kernel.cu is another solution: compare\n");
        return text;
    };
    text.push_str("\nlook at this next:\n");
    for line in next.lines() {
        let _ = writeln!(text, "  {line}");
    }
    if done(lab, grade) {
        text.push_str("\nthe lab is done but for its open challenge\n");
    } else {
        let _ = writeln!(text, "\nfor a hint: cargo course lab {} --hint", lab.step.number());
    }
    text
}

/// Whether all tasks that are required have passed.
pub fn done(lab: &Lab, grade: &Grade) -> bool {
    grade.passed.iter().zip(&lab.data.tasks).all(|(passed, task)| *passed || task.open)
}

/// The first `shown` hints of a task, and how many are left.
pub fn hints(number: usize, task: &Task, shown: usize) -> String {
    let mut text = format!("task {}: {}\n\n", number + 1, task.name);
    for (place, hint) in task.hints.iter().take(shown).enumerate() {
        let _ = writeln!(text, "  {}. {hint}", place + 1);
    }
    let _ = match task.hints.len() - shown.min(task.hints.len()) {
        0 => writeln!(text, "\nthat was the last hint; the step's own kernel.cu is one solution"),
        1 => writeln!(text, "\none more hint is left; ask again"),
        left => writeln!(text, "\n{left} more hints are left; ask again"),
    };
    text
}
