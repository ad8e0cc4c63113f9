//! The checklist of a graded kernel: how it is filled in, and what is said of it to people, with what a passed task gained, and hints.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use common::basics::{workspace, wrapped};
use findings::HazardReport;
use findings::diagnostic::{Diagnostic, Underlined};
use serde::{Deserialize, Serialize};

use super::{Lab, Part, Task};
use crate::files;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Passed,
    Failed,
    /// Something before it failed.
    NotReached,
    /// This machine cannot do it.
    LeftOut,
}

impl State {
    /// Whether what comes after it is looked into.
    fn goes_on(self) -> bool {
        matches!(self, Self::Passed | Self::LeftOut)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// Number of its task, from 0.
    pub task: usize,
    pub part: Part,
    pub words: String,
    pub state: State,
    pub found: Option<String>,
    /// The part of what it asks that is done: 1 if it has passed.
    #[serde(default)]
    pub share: f64,
    /// Whether the start does it already: it brings no points, and whoever loses it loses points.
    #[serde(default)]
    pub kept: bool,
    /// What it brings, or costs, and what it may bring.
    #[serde(default)]
    pub points: f64,
    #[serde(default)]
    pub of: f64,
}

/// A finding: what is wrong, and what to look at next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// A few words that are the same for every kernel with this finding.
    pub kind: String,
    pub text: String,
    /// The places in the learner's file.
    pub places: Vec<Underlined>,
    /// The whole command that shows it.
    pub command: Option<String>,
}

impl Next {
    pub fn new(text: impl Into<String>, command: impl Into<Option<String>>) -> Self {
        Self { kind: String::new(), text: text.into(), places: vec![], command: command.into() }
    }

    #[must_use]
    pub fn of(self, kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), ..self }
    }

    /// With the places of a diagnostic in a file.
    #[must_use]
    pub fn at(self, diagnostic: &Diagnostic, file: &str) -> Self {
        Self { places: diagnostic.underlined(file), ..self }
    }

    #[must_use]
    pub fn about(self, hazard: &HazardReport, file: &str) -> Self {
        self.of(<&str>::from(hazard.kind)).at(&hazard.diagnostic, file)
    }
}

/// A task with its lines of the checklist.
#[derive(Debug, Serialize, Deserialize)]
pub struct GradedTask {
    pub name: String,
    /// An open challenge: worth no points.
    pub open: bool,
    pub passed: bool,
    pub points: f64,
    pub of: f64,
    pub lines: Vec<Line>,
}

/// The result of a line of the checklist.
pub enum Verdict {
    /// As asked, and what was found.
    Passed(Option<String>),
    /// What was found in a few words, and what to look at next.
    Failed(Option<String>, Next),
    /// The same, where this part of it is as asked; what to look at may have been told already.
    Partly(f64, Option<String>, Option<Next>),
    /// Why this machine cannot tell.
    LeftOut(String),
}

/// The kind of a finding after which nothing is launched any more.
pub const ENDLESS: &str = "does not end in time";

/// When a checklist is filled in no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// A task has not passed: the learner works at one thing at a time.
    FirstFailure,
    /// It does not compile or does not end: all that can earn points is asked.
    NoRun,
}

pub struct Grade {
    until: Until,
    pub tasks: Vec<GradedTask>,
    /// A finding for each line that failed.
    pub findings: Vec<Next>,
    /// The task of each.
    pub found_in: Vec<usize>,
    /// Seed of the hidden shapes and of the matrices.
    pub seed: u64,
    /// How many hints the learner has seen, by task.
    pub hints: Vec<usize>,
    /// The task that is to do now has passed before, so there are no hints for it.
    pub passed_before: bool,
}

impl Grade {
    pub fn new(tasks: &[Task], seed: u64, until: Until) -> Self {
        let task = |Task { name, open, .. }: &Task| {
            let (name, open) = (name.clone(), *open);
            GradedTask { name, open, passed: false, points: 0.0, of: 0.0, lines: vec![] }
        };
        let tasks = tasks.iter().map(task).collect();
        Self { until, tasks, findings: vec![], found_in: vec![], seed, hints: vec![], passed_before: false }
    }

    /// Fills in the next line: after a failure nothing more is asked, but goals of one task are all measured. What is `kept` the start
    /// does already.
    pub fn ask(&mut self, task: usize, part: Part, (words, kept): (String, bool), find: impl FnOnce() -> Verdict) {
        let (mut share, mut finding) = (0.0, None);
        let (state, found) = match self.reaches(task, part).then(find) {
            None => (State::NotReached, None),
            Some(Verdict::Passed(found)) => {
                share = 1.0;
                (State::Passed, found)
            }
            Some(Verdict::LeftOut(why)) => (State::LeftOut, Some(why)),
            Some(Verdict::Partly(done, found, next)) => {
                (share, finding) = (done, next);
                (State::Failed, found)
            }
            Some(Verdict::Failed(found, next)) => {
                finding = Some(next);
                (State::Failed, found)
            }
        };
        self.found_in.extend(finding.iter().map(|_| task));
        self.findings.extend(finding);
        let graded = &mut self.tasks[task];
        graded.lines.push(Line { task, part, words, state, found, share, kept, points: 0.0, of: 0.0 });
        // A task of which this machine can tell nothing has not passed.
        let mut states = graded.lines.iter().map(|line| line.state);
        graded.passed = states.clone().all(State::goes_on) && states.any(|state| state == State::Passed);
    }

    /// Whether nothing that comes before a task's next line, which is about `part`, has failed.
    fn reaches(&self, task: usize, part: Part) -> bool {
        let lines = || self.tasks.iter().flat_map(|task| &task.lines);
        if self.until == Until::NoRun {
            let of_task = || lines().filter(|line| line.task == task && line.part == Part::Correct);
            let right_somewhere = of_task().next().is_none() || of_task().any(|line| line.share > 0.0);
            // Whether a wrong product is free of hazards says nothing.
            return lines().filter(|line| line.part == Part::Compiles).all(|line| line.state.goes_on())
                && self.findings.iter().all(|finding| finding.kind != ENDLESS)
                && (part != Part::Hazards || right_somewhere);
        }
        let must = |line: &&Line| {
            if line.task == task {
                (line.part, part) != (Part::Counters, Part::Counters)
            } else {
                !self.tasks[line.task].open
            }
        };
        lines().filter(must).all(|line| line.state.goes_on())
    }

    /// The first task that has not passed.
    pub fn next(&self) -> Option<usize> {
        self.tasks.iter().position(|task| !task.passed)
    }

    /// Whether all tasks that are required have passed.
    pub fn is_done(&self) -> bool {
        self.tasks.iter().all(|task| task.passed || task.open)
    }
}

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
pub fn text(lab: &Lab, kernel: &Path, grade: &Grade, new: Option<&New>) -> String {
    let mut text = format!("lab {}: {} (seed {})\n\n", lab.name, workspace::display(kernel), grade.seed);
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
            let _ = writeln!(text, "    {}{}", state(*found_to_be), beside(words, found.as_deref()));
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

/// What was asked for, with what was found.
fn beside(words: &str, found: Option<&str>) -> String {
    match (words.strip_prefix("right at "), found) {
        (_, None) => words.to_owned(),
        (Some(shapes), Some(wrong)) if wrong.starts_with("not at ") => {
            format!("wrong {}; tried: {shapes}", &wrong[4..])
        }
        (_, Some(found)) => format!("{words} ({found})"),
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
    let (name, command) = (&lab.name, lab.command());
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
        let next = title(lab, next);
        let _ = write!(text, "\nnext, {next}\n  {page} says what to do; go on in {file}, and then\n  {command}\n");
    } else {
        let _ = writeln!(text, "\nlab {name} is done");
    }
    if !grade.is_done() {
        return text;
    }
    let rust = if lab.rust { " --rust" } else { "" };
    if let Some(seed) = lab.seed() {
        let own = name.split('-').next().unwrap_or(name);
        let next = seed.wrapping_add(1);
        let _ = writeln!(text, "\nanother one: cargo course lab {own}-{next}{rust}");
        text += "where you stand in the course: cargo course\n";
    } else if !lab.data.transfer.is_empty() {
        let drawn = format!("cargo course lab {name}-1{rust}");
        let _ = writeln!(text, "\na new task for each number: {drawn}");
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

#[cfg(test)]
mod tests {
    use super::*;
    use Part::{Correct, Hazards};
    use State::{Failed, LeftOut, NotReached, Passed};

    /// A line of a task, and what would be found; nothing where nobody may ask.
    type Case = (usize, Part, Option<State>);

    #[track_caller]
    fn filled(until: Until, open: &[bool], cases: &[Case], states: &[State], passed: &[bool]) {
        let task = |open| serde_json::from_value(serde_json::json!({ "name": "a task", "open": open })).unwrap();
        let tasks: Vec<Task> = open.iter().map(task).collect();
        let verdict = |found: State| match found {
            Passed => Verdict::Passed(None),
            LeftOut => Verdict::LeftOut("no GPU".into()),
            _ => Verdict::Failed(None, Next::new("look here", None)),
        };
        let mut grade = Grade::new(&tasks, 0, until);
        for &(task, part, found) in cases {
            let find = || verdict(found.expect("nothing is asked after what has failed"));
            grade.ask(task, part, (String::new(), false), find);
        }
        let lines = grade.tasks.iter().flat_map(|task| &task.lines);
        assert_eq!(lines.map(|line| line.state).collect::<Vec<_>>(), states);
        assert_eq!(grade.tasks.iter().map(|task| task.passed).collect::<Vec<_>>(), passed);
        assert_eq!(grade.findings.len(), states.iter().filter(|state| **state == Failed).count());
    }

    #[test]
    fn nothing_is_asked_after_a_failure_but_an_open_challenge_holds_nothing_up() {
        let cases =
            [(0, Correct, Some(Passed)), (1, Correct, Some(Failed)), (2, Correct, Some(Failed)), (3, Correct, None)];
        let states = [Passed, Failed, Failed, NotReached];
        filled(Until::FirstFailure, &[false, true, false, false], &cases, &states, &[true, false, false, false]);
    }

    #[test]
    fn what_this_machine_cannot_tell_has_not_passed_and_fails_nothing_else() {
        let cases = [(0, Correct, Some(Passed)), (0, Correct, Some(LeftOut)), (1, Correct, Some(LeftOut))];
        filled(Until::FirstFailure, &[false, true], &cases, &[Passed, LeftOut, LeftOut], &[true, false]);
    }

    #[test]
    fn for_points_all_is_asked_but_no_hazards_of_what_is_right_nowhere() {
        let cases =
            [(0, Correct, Some(Passed)), (0, Hazards, Some(Failed)), (1, Correct, Some(Failed)), (1, Hazards, None)];
        filled(Until::NoRun, &[false; 2], &cases, &[Passed, Failed, Failed, NotReached], &[false, false]);
    }
}
