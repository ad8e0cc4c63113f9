//! The checklist of a graded kernel, and how it is filled in.

use common::basics::progress::Progress;

use crate::lab::data::{Goal, Task};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Passed,
    Failed,
    /// Something before it failed.
    NotReached,
    /// This machine cannot do it.
    LeftOut,
}

#[derive(Clone, Debug)]
pub struct Line {
    /// Number of its task, from 0.
    pub task: usize,
    pub words: String,
    pub state: State,
    pub found: Option<String>,
}

/// The one thing to look at next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    pub text: String,
    /// The whole command that shows it.
    pub command: Option<String>,
}

impl Next {
    pub fn new(text: impl Into<String>, command: impl Into<Option<String>>) -> Self {
        Self { text: text.into(), command: command.into() }
    }
}

#[derive(Clone, Debug)]
pub struct Grade {
    pub lines: Vec<Line>,
    pub passed: Vec<bool>,
    /// If a line failed.
    pub next: Option<Next>,
    /// Seed of the hidden shapes and of the matrices.
    pub seed: u64,
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

/// The checklist as it is filled in: after a failure nothing more is asked, but goals of one task are all measured.
pub struct Sheet {
    grade: Grade,
    open: Vec<bool>,
    progress: Progress,
}

impl Sheet {
    /// An empty sheet, which will have this number of lines.
    pub fn new(tasks: &[Task], lines: usize, seed: u64) -> Self {
        Self {
            grade: Grade { lines: Vec::new(), passed: vec![true; tasks.len()], next: None, seed, text: String::new() },
            open: tasks.iter().map(|task| task.open).collect(),
            progress: Progress::new("grading, lines of the checklist", lines as u64),
        }
    }

    /// Whether nothing that comes before this task's lines has failed.
    fn reached(&self, task: usize) -> bool {
        self.grade.passed[..=task]
            .iter()
            .zip(&self.open)
            .enumerate()
            .all(|(number, (passed, open))| *passed || (*open && number != task))
    }

    /// Adds a line, which is looked into only if nothing before it has failed.
    pub fn ask(&mut self, task: usize, words: &str, find: impl FnOnce() -> Verdict) {
        let verdict = self.reached(task).then(find);
        self.note(task, words, verdict);
    }

    pub fn goals(&mut self, task: usize, goals: &[Goal], find: impl Fn(&Goal) -> Verdict) {
        let reached = self.reached(task);
        for goal in goals {
            self.note(task, &goal.words, reached.then(|| find(goal)));
        }
        if !reached {
            self.grade.passed[task] = false;
        }
    }

    fn note(&mut self, task: usize, words: &str, verdict: Option<Verdict>) {
        let (state, found) = match verdict {
            None => (State::NotReached, None),
            Some(Verdict::Passed(found)) => (State::Passed, found),
            Some(Verdict::LeftOut(why)) => (State::LeftOut, Some(why)),
            Some(Verdict::Failed(found, next)) => {
                self.grade.next.get_or_insert(next);
                (State::Failed, found)
            }
        };
        if matches!(state, State::Failed | State::NotReached) {
            self.grade.passed[task] = false;
        }
        self.progress.add(1);
        self.grade.lines.push(Line { task, words: words.to_owned(), state, found });
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
        let mut sheet = Sheet::new(&[task(false), task(true), task(false), task(false)], 4, 7);
        let fails = || Verdict::Failed(None, Next::new("look here", None));
        sheet.ask(0, "one", || Verdict::Passed(None));
        sheet.ask(1, "two", fails);
        sheet.ask(2, "three", || Verdict::Failed(None, Next::new("and not here", None)));
        sheet.ask(3, "four", || unreachable!("nothing is asked after a required task has failed"));
        let grade = sheet.finish(String::new());
        let states: Vec<State> = grade.lines.iter().map(|line| line.state).collect();
        assert_eq!(states, [State::Passed, State::Failed, State::Failed, State::NotReached]);
        assert_eq!(grade.passed, [true, false, false, false]);
        assert_eq!(grade.next, Some(Next::new("look here", None)));
    }

    #[test]
    fn what_this_machine_cannot_tell_has_not_passed_and_fails_nothing_else() {
        let mut sheet = Sheet::new(&[task(false), task(true)], 3, 7);
        let cannot = || Verdict::LeftOut("no GPU".into());
        sheet.ask(0, "one", || Verdict::Passed(None));
        sheet.ask(0, "two", cannot);
        sheet.ask(1, "three", cannot);
        let grade = sheet.finish(String::new());
        assert_eq!(grade.passed, [true, false]);
        assert_eq!(grade.next, None);
    }
}
