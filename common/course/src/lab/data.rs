//! A lab as the file beside it describes it, `stepNN_name/lab/lab.json`, or `beyond/lab/NAME/lab.json` for a kernel
//! beyond the course: tasks in their order, with shapes and goals in counters.

use std::path::PathBuf;

use anyhow::{Context, Result};
use common::basics::workspace;
use common::code::folder_of;
use serde::Deserialize;

use crate::steps::{self, Kernel, STEPS};
use crate::{files, mine};

/// A lab as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The variant whose launches the learner's kernel has, if they are not those of the kernel that the lab leads to.
    #[serde(default)]
    pub launched_as: Option<String>,
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
    /// Whether the largest error is shown, too.
    #[serde(default)]
    pub errors: bool,
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
    /// Shapes that the learner does not know, at which it must be right as well.
    #[serde(default)]
    pub hidden: Option<Random>,
    #[serde(default)]
    pub goals: Vec<Goal>,
    /// What is timed if there is a GPU.
    #[serde(default)]
    pub speed: Option<Speed>,
    /// The kernel that passes this task and is no further, to compare with afterwards: one of the course by its name, or a
    /// file beside the lab.
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
    /// Name of a counter, or of what the grader derives from a run.
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
    /// The kernel that it leads to: a step's own, or one beyond the course.
    pub kernel: Kernel,
    pub data: Data,
}

impl Lab {
    /// All labs: those of the steps in their order, and then those that lie beyond the course.
    pub fn all() -> Result<Vec<Self>> {
        let mut all = Vec::new();
        let own = STEPS.iter().map(|step| Kernel { step, variant: None });
        for kernel in own.chain(Kernel::beyond()) {
            let file = folder(kernel).join("lab.json");
            if file.is_file() {
                let data = serde_json::from_str(&files::read(&file)?)
                    .with_context(|| format!("{} is not a lab; restore it with git", workspace::display(&file)))?;
                all.push(Self { kernel, data });
            }
        }
        Ok(all)
    }

    /// The lab that the learner names: by number, by the step's name, or by the kernel that it leads to.
    pub fn find(name: &str) -> Result<Self> {
        let step = steps::named(name).map(|step| step.name);
        let is_named = |lab: &Self| match lab.kernel.variant_name() {
            Some(kernel) => kernel == name,
            None => step == Some(lab.kernel.step.name),
        };
        let (found, others): (Vec<Self>, Vec<Self>) = Self::all()?.into_iter().partition(is_named);
        found.into_iter().next().with_context(|| {
            let names: Vec<&str> = others.iter().map(Self::name).collect();
            format!("there is no lab {name}; choose {}", names.join(", "))
        })
    }

    /// What the learner calls it: the number of its step, or the kernel that it leads to.
    pub fn name(&self) -> &'static str {
        self.kernel.variant_name().unwrap_or_else(|| steps::number(self.kernel.step))
    }

    /// Its name among all that there is of the steps, as kernels are named: `step06_prefetch/tensor_cores`.
    pub fn full_name(&self) -> String {
        self.kernel.name()
    }

    /// The name of the lab after this one.
    pub fn following(&self) -> Option<String> {
        let all = Self::all().ok()?;
        let next = all.iter().skip_while(|lab| lab.full_name() != self.full_name()).nth(1)?;
        Some(next.name().to_owned())
    }

    pub fn copy(&self) -> PathBuf {
        mine::folder().join(format!("{}.cu", self.stem()))
    }

    /// The learner's file as it was when it passed a task.
    pub fn as_passed(&self, task: usize) -> PathBuf {
        mine::folder().join(format!("{}.task{}.cu", self.stem(), task + 1))
    }

    fn stem(&self) -> &'static str {
        let step = self.kernel.step.name;
        self.kernel.variant_name().or(step.split('_').next()).unwrap_or(step)
    }

    pub fn start(&self) -> PathBuf {
        self.folder().join("start.cu")
    }

    /// The page that says what to do.
    pub fn page(&self) -> PathBuf {
        self.folder().join("README.md")
    }

    /// A task's answer, as `cargo course diff` takes it from here.
    pub fn answer(&self, task: &Task) -> Option<String> {
        let answer = task.answer.as_ref()?;
        let file = self.folder().join(answer);
        Some(if file.is_file() { files::from_here(&file) } else { answer.clone() })
    }

    fn folder(&self) -> PathBuf {
        folder(self.kernel)
    }
}

/// The folder of a step's lab, or of the lab that leads to a kernel beyond it.
fn folder(kernel: Kernel) -> PathBuf {
    let step = folder_of(kernel.step);
    kernel.variant_name().map_or_else(|| step.join("lab"), |name| step.join("beyond/lab").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference;

    #[test]
    fn every_lab_of_the_course_can_be_read() {
        let labs = Lab::all().unwrap();
        for lab in &labs {
            let lab_name = lab.full_name();
            let tasks = &lab.data.tasks;
            assert!(lab.start().is_file() && lab.page().is_file(), "{lab_name} lacks a start or a page");
            assert!(tasks.len() >= 2 && !tasks[0].shapes.is_empty(), "{lab_name}");
            for goal in tasks.iter().flat_map(|task| &task.goals) {
                assert!(goal.at_most.is_some() != goal.at_least.is_some(), "{lab_name}: {}", goal.words);
                assert!(goal.next.contains(';') || goal.next.contains(','), "a remedy is missing: {}", goal.next);
            }
            for task in tasks {
                let name = format!("{lab_name}: {}", task.name);
                assert!(!task.hints.is_empty(), "{name} has no hints");
                assert!(task.open || task.answer.is_some(), "{name} has no answer");
                assert!(
                    !task.shapes.is_empty() || !task.goals.is_empty() || task.speed.is_some(),
                    "{name} asks nothing"
                );
            }
            let of_the_course = tasks.iter().filter_map(|task| task.speed.as_ref()).map(|speed| &speed.than);
            for kernel in of_the_course.chain(&lab.data.gain.from) {
                Kernel::named(kernel).unwrap();
            }
            for answer in tasks.iter().filter_map(|task| lab.answer(task)) {
                // Quoted for a shell, if the course lies in a folder whose name has a blank.
                difference::named(answer.trim_matches('"')).unwrap();
            }
            let page = files::read(&lab.page()).unwrap();
            for number in 1..=tasks.len() {
                assert!(page.contains(&format!("\n## Task {number}")), "{lab_name}: task {number} is not on the page");
            }
        }
        assert!(labs.len() >= 7, "{} labs", labs.len());
    }
}
