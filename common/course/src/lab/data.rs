//! A lab as the file beside it describes it, `stepNN_name/lab/lab.json`: tasks in their order, with shapes and goals in
//! counters.

use std::path::PathBuf;

use anyhow::{Context, Result};
use common::workspace;
use serde::Deserialize;

use crate::steps::{self, StepFolder};
use crate::{files, mine};

/// A lab as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    pub gain: Gain,
    /// The learner develops one file through all of them; what a task asks stays asked in those after it.
    pub tasks: Vec<Task>,
}

/// How the gain of a task is shown: the counters before it and after it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// M, N, K of both runs.
    pub size: [u64; 3],
    /// The kernel of the course that stands for the lab's start, if the start itself is not right yet.
    #[serde(default)]
    pub from: Option<String>,
}

/// Shapes that are drawn again for each grading.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Random {
    pub count: u64,
    /// Largest M, N, K.
    pub most: [u64; 3],
    /// They are multiples of this.
    #[serde(default = "one")]
    pub multiple: u64,
}

fn one() -> u64 {
    1
}

/// A comparison of times on a GPU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speed {
    pub size: [u64; 3],
    /// The kernel of the course to be faster than.
    pub than: String,
    /// How many times as fast, at least.
    pub factor: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What to do, in a few words.
    pub name: String,
    /// M, N, K at which the product must be right from this task on.
    #[serde(default)]
    pub shapes: Vec<[u64; 3]>,
    /// The same, unknown to the learner.
    #[serde(default)]
    pub hidden: Option<Random>,
    #[serde(default)]
    pub goals: Vec<Goal>,
    /// What is timed if there is a GPU.
    #[serde(default)]
    pub speed: Option<Speed>,
    /// The kernel of the course that passes this task and is no further: what to compare with afterwards.
    #[serde(default)]
    pub answer: Option<String>,
    #[serde(default)]
    pub hints: Vec<String>,
    /// An open challenge: the lab is done without it.
    #[serde(default)]
    pub open: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    pub words: String,
    /// M, N, K of the run that is counted.
    pub size: [u64; 3],
    /// Name of a counter, or of what the grader derives from counters.
    pub counter: String,
    /// What it is divided by.
    #[serde(default)]
    pub per: Option<String>,
    #[serde(default)]
    pub at_most: Option<f64>,
    #[serde(default)]
    pub at_least: Option<f64>,
    /// What to look at if it is missed.
    pub next: String,
}

pub struct Lab {
    pub step: StepFolder,
    pub data: Data,
}

impl Lab {
    /// The lab of a step, if it has one.
    pub fn of(step: &StepFolder) -> Result<Option<Self>> {
        let file = file(step);
        if !file.is_file() {
            return Ok(None);
        }
        let data = serde_json::from_str(&files::read(&file)?)
            .with_context(|| format!("{} is not a lab; restore it with git", workspace::display(&file)))?;
        Ok(Some(Self { step: step.clone(), data }))
    }

    /// The lab that the learner names, by number or by the step's name.
    pub fn find(name: &str) -> Result<Self> {
        let steps = steps::find()?;
        let lab = steps::named(&steps, name).map(Self::of).transpose()?.flatten();
        lab.with_context(|| {
            let labs: Vec<&str> = steps.iter().filter(|step| file(step).is_file()).map(StepFolder::number).collect();
            format!("there is no lab {name}; choose {}", labs.join(", "))
        })
    }

    /// The number of the lab after this one.
    pub fn following(&self) -> Option<String> {
        let steps = steps::find().ok()?;
        let next = steps.iter().find(|step| step.name > self.step.name && file(step).is_file())?;
        Some(next.number().to_owned())
    }

    pub fn copy(&self) -> PathBuf {
        mine::folder().join(format!("{}.cu", self.stem()))
    }

    /// The learner's file as it was when it passed a task.
    pub fn as_passed(&self, task: usize) -> PathBuf {
        mine::folder().join(format!("{}.task{}.cu", self.stem(), task + 1))
    }

    fn stem(&self) -> &str {
        self.step.name.split('_').next().unwrap_or(&self.step.name)
    }

    pub fn start(&self) -> PathBuf {
        self.step.path.join("lab/start.cu")
    }

    /// The page that says what to do.
    pub fn page(&self) -> PathBuf {
        self.step.path.join("lab/README.md")
    }
}

fn file(step: &StepFolder) -> PathBuf {
    step.path.join("lab/lab.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Kernel;

    #[test]
    fn every_lab_of_the_course_can_be_read() {
        let mut labs = 0;
        let steps = steps::find().unwrap();
        for step in &steps {
            let Some(lab) = Lab::of(step).unwrap() else { continue };
            labs += 1;
            let tasks = &lab.data.tasks;
            assert!(lab.start().is_file() && lab.page().is_file(), "{} lacks a start or a page", step.name);
            assert!(tasks.len() >= 2 && !tasks[0].shapes.is_empty(), "{}", step.name);
            for goal in tasks.iter().flat_map(|task| &task.goals) {
                assert!(goal.at_most.is_some() != goal.at_least.is_some(), "{}: {}", step.name, goal.words);
                assert!(goal.next.contains(';') || goal.next.contains(','), "a remedy is missing: {}", goal.next);
            }
            for task in tasks {
                let name = format!("{}: {}", step.name, task.name);
                assert!(!task.hints.is_empty(), "{name} has no hints");
                assert!(task.open || task.answer.is_some(), "{name} has no answer");
                assert!(
                    !task.shapes.is_empty() || !task.goals.is_empty() || task.speed.is_some(),
                    "{name} asks nothing"
                );
            }
            let of_the_course =
                tasks.iter().flat_map(|task| task.answer.iter().chain(task.speed.iter().map(|speed| &speed.than)));
            for kernel in of_the_course.chain(&lab.data.gain.from) {
                Kernel::named(&steps, kernel).unwrap();
            }
            let page = files::read(&lab.page()).unwrap();
            for number in 1..=tasks.len() {
                assert!(
                    page.contains(&format!("\n## Task {number}")),
                    "{}: task {number} is not on the page",
                    step.name
                );
            }
        }
        assert!(labs >= 6, "{labs} labs");
    }
}
