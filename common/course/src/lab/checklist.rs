//! The checklist of a graded kernel, and how it is filled in.

use common::basics::progress::Progress;
use common::findings::analysis::HazardReport;
use common::findings::diagnostic::{Diagnostic, Underlined};
use serde::{Deserialize, Serialize};

use crate::lab::task::{Goal, Task};

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

/// What a line of the checklist is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Compiles,
    Correct,
    Hazards,
    Counters,
    Speed,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// Number of its task, from 0.
    pub task: usize,
    pub part: Part,
    pub words: String,
    pub state: State,
    pub found: Option<String>,
}

/// A finding: what is wrong, and what to look at next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// In a few words, the same for all kernels of which it is true.
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

    /// Of this kind.
    #[must_use]
    pub fn of(self, kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), ..self }
    }

    /// With the places of a diagnostic in a file.
    #[must_use]
    pub fn at(self, diagnostic: &Diagnostic, file: &str) -> Self {
        Self { places: diagnostic.underlined(file), ..self }
    }

    /// About a hazard.
    #[must_use]
    pub fn about(self, hazard: &HazardReport, file: &str) -> Self {
        self.of(<&str>::from(hazard.kind)).at(&hazard.diagnostic, file)
    }
}

#[derive(Clone, Debug)]
pub struct Grade {
    pub lines: Vec<Line>,
    pub passed: Vec<bool>,
    /// What is wrong, one for each line that failed.
    pub findings: Vec<Next>,
    /// Seed of the hidden shapes and of the matrices.
    pub seed: u64,
    /// How many hints the learner has seen, by task.
    pub hints: Vec<usize>,
    /// The kernel that was graded.
    pub text: String,
}

/// What a line of the checklist is found to be.
pub enum Verdict {
    /// As asked, and what was found.
    Passed(Option<String>),
    /// What was found in a few words, and what to look at next.
    Failed(Option<String>, Next),
    /// Why this machine cannot tell.
    LeftOut(String),
}

/// When a checklist is filled in no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// A task has not passed: the learner works at one thing at a time.
    FirstFailure,
    /// A product is wrong: all that can earn points is asked.
    WrongProduct,
}

/// The checklist as it is filled in: after a failure nothing more is asked, but goals of one task are all measured.
pub struct Sheet {
    grade: Grade,
    open: Vec<bool>,
    until: Until,
    progress: Progress,
}

impl Sheet {
    /// An empty sheet, which will have this number of lines.
    pub fn new(tasks: &[Task], lines: usize, seed: u64, until: Until) -> Self {
        Self {
            grade: Grade {
                lines: vec![],
                passed: vec![true; tasks.len()],
                findings: vec![],
                hints: vec![],
                seed,
                text: String::new(),
            },
            open: tasks.iter().map(|task| task.open).collect(),
            until,
            progress: Progress::new("grading, lines of the checklist", lines as u64),
        }
    }

    /// Whether nothing that comes before this task's lines has failed.
    fn reached(&self, task: usize) -> bool {
        if self.until == Until::WrongProduct {
            let must = |line: &Line| matches!(line.part, Part::Compiles | Part::Correct);
            return self.grade.lines.iter().all(|line| line.state == State::Passed || !must(line));
        }
        self.grade.passed[..=task]
            .iter()
            .zip(&self.open)
            .enumerate()
            .all(|(number, (passed, open))| *passed || (*open && number != task))
    }

    /// Adds a line, which is looked into only if nothing before it has failed.
    pub fn ask(&mut self, task: usize, part: Part, words: &str, find: impl FnOnce() -> Verdict) {
        let verdict = self.reached(task).then(find);
        self.note(task, part, words, verdict);
    }

    pub fn goals(&mut self, task: usize, goals: &[Goal], find: impl Fn(&Goal) -> Verdict) {
        let reached = self.reached(task);
        for goal in goals {
            self.note(task, Part::Counters, &goal.words, reached.then(|| find(goal)));
        }
        if !reached {
            self.grade.passed[task] = false;
        }
    }

    fn note(&mut self, task: usize, part: Part, words: &str, verdict: Option<Verdict>) {
        let (state, found) = match verdict {
            None => (State::NotReached, None),
            Some(Verdict::Passed(found)) => (State::Passed, found),
            Some(Verdict::LeftOut(why)) => (State::LeftOut, Some(why)),
            Some(Verdict::Failed(found, next)) => {
                self.grade.findings.push(next);
                (State::Failed, found)
            }
        };
        if matches!(state, State::Failed | State::NotReached) {
            self.grade.passed[task] = false;
        }
        self.progress.add(1);
        self.grade.lines.push(Line { task, part, words: words.to_owned(), state, found });
    }

    /// The filled-in checklist. A task of which this machine can tell nothing has not passed.
    pub fn finish(self, text: String) -> Grade {
        let mut grade = Grade { text, ..self.grade };
        for (task, passed) in grade.passed.iter_mut().enumerate() {
            let mut lines = grade.lines.iter().filter(|line| line.task == task);
            *passed &= lines.any(|line| line.state == State::Passed);
        }
        grade
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(open: bool) -> Task {
        serde_json::from_value(serde_json::json!({ "name": "a task", "open": open })).unwrap()
    }

    #[test]
    fn nothing_is_asked_after_a_failure_but_an_open_challenge_holds_nothing_up() {
        let mut sheet = Sheet::new(&[task(false), task(true), task(false), task(false)], 4, 7, Until::FirstFailure);
        let fails = || Verdict::Failed(None, Next::new("look here", None));
        sheet.ask(0, Part::Correct, "one", || Verdict::Passed(None));
        sheet.ask(1, Part::Correct, "two", fails);
        sheet.ask(2, Part::Correct, "three", || Verdict::Failed(None, Next::new("and not here", None)));
        sheet.ask(3, Part::Correct, "four", || unreachable!("nothing is asked after a required task has failed"));
        let grade = sheet.finish(String::new());
        let states: Vec<State> = grade.lines.iter().map(|line| line.state).collect();
        assert_eq!(states, [State::Passed, State::Failed, State::Failed, State::NotReached]);
        assert_eq!(grade.passed, [true, false, false, false]);
        assert_eq!(grade.findings[0], Next::new("look here", None));
    }

    #[test]
    fn what_this_machine_cannot_tell_has_not_passed_and_fails_nothing_else() {
        let mut sheet = Sheet::new(&[task(false), task(true)], 3, 7, Until::FirstFailure);
        let cannot = || Verdict::LeftOut("no GPU".into());
        sheet.ask(0, Part::Correct, "one", || Verdict::Passed(None));
        sheet.ask(0, Part::Correct, "two", cannot);
        sheet.ask(1, Part::Correct, "three", cannot);
        let grade = sheet.finish(String::new());
        assert_eq!(grade.passed, [true, false]);
        assert!(grade.findings.is_empty());
    }

    #[test]
    fn for_points_all_is_asked_until_a_product_is_wrong() {
        let mut sheet = Sheet::new(&[task(false), task(false)], 4, 7, Until::WrongProduct);
        let fails = || Verdict::Failed(None, Next::new("look here", None));
        sheet.ask(0, Part::Correct, "one", || Verdict::Passed(None));
        sheet.ask(0, Part::Hazards, "two", fails);
        sheet.ask(1, Part::Correct, "three", fails);
        sheet.ask(1, Part::Hazards, "four", || unreachable!("the product is wrong"));
        let grade = sheet.finish(String::new());
        let states: Vec<State> = grade.lines.iter().map(|line| line.state).collect();
        assert_eq!(states, [State::Passed, State::Failed, State::Failed, State::NotReached]);
        assert_eq!((grade.passed, grade.findings.len()), (vec![false, false], 2));
    }
}
