//! A lab as the file beside it describes it, `stepNN_name/lab/lab.json`: shapes, tasks and goals in counters.

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
    /// M, N, K at which the product must be right.
    pub shapes: Vec<[u64; 3]>,
    pub random: Random,
    /// What is timed if there is a GPU.
    #[serde(default)]
    pub speed: Option<Speed>,
    pub tasks: Vec<Task>,
}

/// Shapes that are drawn again for each grading.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Random {
    pub count: u64,
    /// Largest M, N, K.
    pub most: [u64; 3],
}

/// A comparison of times on a GPU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speed {
    pub size: [u64; 3],
    /// The step to be faster than.
    pub than: String,
    /// How many times as fast, at least.
    pub factor: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What to do, in a few words.
    pub name: String,
    /// Further M, N, K at which the product must be right.
    #[serde(default)]
    pub shapes: Vec<[u64; 3]>,
    #[serde(default)]
    pub goals: Vec<Goal>,
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

    pub fn copy(&self) -> PathBuf {
        let stem = self.step.name.split('_').next().unwrap_or(&self.step.name);
        mine::folder().join(format!("{stem}.cu"))
    }

    pub fn start(&self) -> PathBuf {
        self.step.path.join("lab/start.cu")
    }

    /// The last task that is required: those after it are open challenges.
    pub fn last_required_task(&self) -> usize {
        self.data.tasks.iter().rposition(|task| !task.open).unwrap_or(0)
    }
}

fn file(step: &StepFolder) -> PathBuf {
    step.path.join("lab/lab.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lab_of_the_course_can_be_read() {
        let mut labs = 0;
        for step in steps::find().unwrap() {
            let Some(lab) = Lab::of(&step).unwrap() else { continue };
            labs += 1;
            assert!(lab.start().is_file(), "{} has no start", step.name);
            assert!(lab.data.tasks.len() >= 2 && !lab.data.shapes.is_empty(), "{}", step.name);
            for goal in lab.data.tasks.iter().flat_map(|task| &task.goals) {
                assert!(goal.at_most.is_some() != goal.at_least.is_some(), "{}: {}", step.name, goal.words);
                assert!(goal.next.contains(';') || goal.next.contains(','), "a remedy is missing: {}", goal.next);
            }
            for task in &lab.data.tasks {
                assert!(!task.hints.is_empty(), "{}: {} has no hints", step.name, task.name);
            }
        }
        assert!(labs >= 6, "{labs} labs");
    }
}
