//! The checklist of a graded kernel, and how it is filled in.

use common::findings::HazardReport;
use common::findings::diagnostic::{Diagnostic, Underlined};
use serde::{Deserialize, Serialize};

use crate::lab::task::Task;

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

/// The subject of a line of the checklist.
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

impl GradedTask {
    fn has(&self, state: State) -> bool {
        self.lines.iter().any(|line| line.state == state)
    }
}

/// The result of a line of the checklist.
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

pub struct Grade {
    until: Until,
    /// Whether lines are still looked into.
    is_reached: bool,
    pub tasks: Vec<GradedTask>,
    /// A finding for each line that failed.
    pub findings: Vec<Next>,
    /// Seed of the hidden shapes and of the matrices.
    pub seed: u64,
    /// How many hints the learner has seen, by task.
    pub hints: Vec<usize>,
    /// The task that is to do now has passed before, so there are no hints for it.
    pub passed_before: bool,
}

impl Grade {
    /// An empty checklist.
    pub fn new(tasks: &[Task], seed: u64, until: Until) -> Self {
        let task = |Task { name, open, .. }: &Task| {
            let (name, open) = (name.clone(), *open);
            GradedTask { name, open, passed: false, points: 0.0, of: 0.0, lines: vec![] }
        };
        let tasks = tasks.iter().map(task).collect();
        Self { until, is_reached: true, tasks, findings: vec![], seed, hints: vec![], passed_before: false }
    }

    /// Fills in the next line: after a failure nothing more is asked, but goals of one task are all measured.
    pub fn ask(&mut self, task: usize, part: Part, words: String, find: impl FnOnce() -> Verdict) {
        let of_same_goals = |last: &Line| part == Part::Counters && last.part == part;
        if !self.tasks[task].lines.last().is_some_and(of_same_goals) {
            self.is_reached = self.reaches(task);
        }
        let (state, found) = match self.is_reached.then(find) {
            None => (State::NotReached, None),
            Some(Verdict::Passed(found)) => (State::Passed, found),
            Some(Verdict::LeftOut(why)) => (State::LeftOut, Some(why)),
            Some(Verdict::Failed(found, next)) => {
                self.findings.push(next);
                (State::Failed, found)
            }
        };
        let graded = &mut self.tasks[task];
        graded.lines.push(Line { task, part, words, state, found });
        // A task of which this machine can tell nothing has not passed.
        graded.passed = graded.has(State::Passed) && !graded.has(State::Failed) && !graded.has(State::NotReached);
    }

    /// Whether nothing that comes before a task's next line has failed.
    fn reaches(&self, task: usize) -> bool {
        match self.until {
            Until::WrongProduct => {
                let must = |line: &&Line| matches!(line.part, Part::Compiles | Part::Correct);
                self.tasks.iter().flat_map(|task| &task.lines).filter(must).all(|line| line.state == State::Passed)
            }
            Until::FirstFailure => {
                let is_open = |number: usize| number != task && self.tasks[number].open;
                let failed =
                    |number: usize| self.tasks[number].has(State::Failed) || self.tasks[number].has(State::NotReached);
                !(0..=task).any(|number| failed(number) && !is_open(number))
            }
        }
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
            grade.ask(task, part, String::new(), find);
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
    fn for_points_all_is_asked_until_a_product_is_wrong() {
        let cases =
            [(0, Correct, Some(Passed)), (0, Hazards, Some(Failed)), (1, Correct, Some(Failed)), (1, Hazards, None)];
        filled(Until::WrongProduct, &[false; 2], &cases, &[Passed, Failed, Failed, NotReached], &[false, false]);
    }
}
