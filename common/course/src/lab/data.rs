//! A lab as the file beside it describes it, `stepNN_name/lab/lab.json`, or `beyond/lab/NAME/lab.json` for a kernel
//! beyond the course: tasks in their order, with shapes and goals in counters.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use common::basics::workspace;
use common::code::folder_of;

use super::host::case::Drawn;
use super::task::Measure;
use super::{Data, Goal, Task, Transfer};
use crate::steps::{self, Kernel, STEPS};
use crate::{files, mine};

#[derive(Clone)]
pub struct Lab {
    /// The kernel that it leads to: a step's own, or one beyond the course.
    pub kernel: Kernel,
    pub data: Data,
    /// The task that is asked in place of the lab's own.
    pub transfer: Option<Transfer>,
    /// Whether the learner writes it in Rust.
    pub rust: bool,
    /// Whether it is about a host program and not about a kernel.
    pub host: bool,
    /// The transfer task of a host program.
    pub drawn: Option<Drawn>,
    /// Its name on the command line: the number of its step, or the kernel that it leads to; then the seed of a transfer task.
    pub name: String,
    /// Where its file is, with its page and its start.
    folder: PathBuf,
}

impl Lab {
    /// All labs: those of the steps in order, then those beyond the course.
    pub fn all() -> Result<Vec<Self>> {
        let mut all = Vec::new();
        let own = STEPS.iter().map(|step| Kernel { step, variant: None });
        let folder = |kernel: &Kernel| {
            let step = folder_of(kernel.step);
            kernel.variant_name().map_or_else(|| step.join("lab"), |name| step.join("beyond/lab").join(name))
        };
        let of_kernels = own.chain(Kernel::beyond()).map(|kernel| (kernel, folder(&kernel)));
        let mut places: Vec<(Kernel, PathBuf)> = of_kernels.collect();
        // It is about the program that launches the kernel of step 2, and comes after the labs of the steps.
        places.insert(STEPS.len(), (Kernel { step: STEPS[1], variant: None }, host_folder()));
        for (kernel, folder) in places {
            let file = folder.join("lab.json");
            if file.is_file() {
                let data: Result<Data> = serde_json::from_str(&files::read(&file)?).map_err(anyhow::Error::from);
                let data = data
                    .and_then(|data: Data| data.check().map(|()| data))
                    .with_context(|| format!("{} is not a lab; restore it with git", workspace::display(&file)))?;
                let name = kernel.variant_name().unwrap_or_else(|| steps::number(kernel.step)).to_owned();
                let host = file == host_file();
                let name = if host { HOST.to_owned() } else { name };
                all.push(Self { kernel, data, transfer: None, rust: false, host, drawn: None, name, folder });
            }
        }
        Ok(all)
    }

    /// The lab that the learner names: by number, by the step's name, or by the kernel that it leads to; `4-7` is lab 4's
    /// transfer task of seed 7.
    pub fn find(name: &str) -> Result<Self> {
        if let Some((lab, seed)) = name.split_once('-').filter(|(lab, _)| !lab.is_empty())
            && let Ok(seed) = seed.parse()
        {
            return Self::find(lab)?.drawn(seed);
        }
        let step = steps::named(name).map(|step| step.name);
        let is_named = |lab: &Self| match lab.kernel.variant_name() {
            Some(kernel) => kernel == name,
            None if lab.host => name == HOST,
            None => step == Some(lab.kernel.step.name),
        };
        let (found, others): (Vec<Self>, Vec<Self>) = Self::all()?.into_iter().partition(is_named);
        found.into_iter().next().with_context(|| {
            let names: Vec<&str> = others.iter().map(|lab| lab.name.as_str()).collect();
            format!("there is no lab {name}; choose {}", names.join(", "))
        })
    }

    /// The transfer task of a seed.
    pub fn drawn(&self, seed: u64) -> Result<Self> {
        let name = &self.name;
        if self.host {
            let drawn = Drawn::new(seed);
            let task =
                self.data.transfer.get(drawn.which).with_context(|| format!("lab {name} has no transfer tasks"))?;
            let filled = Task { name: drawn.filled(&task.name), ..task.clone() };
            let goals = filled.goals.into_iter().map(|goal| drawn_goal(goal, &drawn)).collect();
            let data = Data { tasks: vec![Task { goals, ..filled }], transfer: vec![], ..self.data.clone() };
            return Ok(Self { data, name: format!("{name}-{seed}"), drawn: Some(drawn), ..self.clone() });
        }
        let none = || format!("lab {name} has no transfer tasks; choose lab 1 to 6");
        let transfer = Transfer::draw(&self.data.transfer, seed).with_context(none)?;
        let data = Data { tasks: vec![transfer.task()], transfer: vec![], ..self.data.clone() };
        Ok(Self { data, name: format!("{name}-{seed}"), transfer: Some(transfer), ..self.clone() })
    }

    /// Its name among all that there is of the steps, as kernels are named: `step06_prefetch/tensor_cores`.
    pub fn full_name(&self) -> String {
        let seed = self.seed().map_or_else(String::new, |seed| format!("-{seed}"));
        let name = if self.host { HOST.to_owned() } else { self.kernel.name() };
        name + &seed
    }

    /// The seed of a transfer task.
    pub fn seed(&self) -> Option<u64> {
        self.transfer.as_ref().map(|drawn| drawn.seed).or(self.drawn.map(|drawn| drawn.seed))
    }

    /// The command of the next lab, in the same language if that lab has a start in it.
    pub fn following(&self) -> Option<String> {
        let next = Self::all().ok()?.into_iter().skip_while(|lab| lab.full_name() != self.full_name()).nth(1)?;
        let in_rust = if self.rust { next.clone().in_rust().ok() } else { None };
        Some(in_rust.unwrap_or(next).command())
    }

    pub fn copy(&self) -> PathBuf {
        if self.host {
            return mine::folder().join(self.full_name()).join("src/main.rs");
        }
        let step = self.kernel.step.name;
        let stem = self.kernel.variant_name().or(step.split('_').next()).unwrap_or(step);
        let seed = self.transfer.as_ref().map_or_else(String::new, |drawn| format!("-transfer{}", drawn.seed));
        mine::folder().join(format!("{stem}{seed}.{}", self.extension()))
    }

    /// The learner's file as it was when it passed a task.
    pub fn as_passed(&self, task: usize) -> PathBuf {
        self.copy().with_extension(format!("task{}.{}", task + 1, self.extension()))
    }

    /// The file that the lab begins with.
    pub fn start(&self) -> PathBuf {
        self.folder.join(format!("start.{}", self.extension()))
    }

    fn extension(&self) -> &'static str {
        if self.rust || self.host { "rs" } else { "cu" }
    }

    pub fn command(&self) -> String {
        format!("cargo course lab {}{}", self.name, if self.rust { " --rust" } else { "" })
    }

    pub fn in_rust(self) -> Result<Self> {
        ensure!(!self.host, "lab {} is in Rust as it is; leave --rust out", self.name);
        let lab = Self { rust: true, ..self };
        let has_start = lab.transfer.is_some() || lab.start().is_file();
        ensure!(has_start, "lab {} has no start in Rust; leave --rust out", lab.name);
        Ok(lab)
    }

    /// The text that the learner's file begins with, and its source.
    pub fn begins_with(&self) -> Result<(String, String)> {
        if let Some(drawn) = &self.drawn {
            let source = format!("the start of transfer task {}", drawn.seed);
            return Ok((drawn.start(&self.name, &self.data.tasks[0].about), source));
        }
        Ok(match &self.transfer {
            Some(drawn) => (drawn.start(&self.name, self.rust), format!("the start of transfer task {}", drawn.seed)),
            None => (files::read(&self.start())?, format!("a copy of {}", workspace::display(&self.start()))),
        })
    }

    /// The page that says what to do.
    pub fn page(&self) -> PathBuf {
        if self.host { workspace::root().join("docs/src/host-lab.md") } else { self.folder.join("README.md") }
    }

    /// A task's answer, as `cargo course diff` takes it from here.
    pub fn answer(&self, task: &Task) -> Option<String> {
        let answer = task.answer.as_ref()?;
        let file = self.folder.join(answer);
        let in_rust = format!("{answer}/rust");
        if self.rust && Kernel::named(&in_rust).is_ok() {
            return Some(in_rust);
        }
        Some(if file.is_file() { files::from_here(&file) } else { answer.clone() })
    }
}

/// The lab of host programs, and its folder and file.
const HOST: &str = "host";

fn host_folder() -> PathBuf {
    workspace::root().join("common/course/host")
}

fn host_file() -> PathBuf {
    host_folder().join("lab.json")
}

/// A goal in as many streams as are drawn.
fn drawn_goal(goal: Goal, drawn: &Drawn) -> Goal {
    let also = goal.also.into_iter().map(|measure| match measure.at_least {
        Some(_) if measure.counter == "streams" => Measure { at_least: Some(drawn.streams as f64), ..measure },
        _ => measure,
    });
    Goal { words: drawn.filled(&goal.words), also: also.collect(), ..goal }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference;

    #[test]
    fn a_lab_that_cannot_be_graded_is_refused() {
        let text = files::read(&Lab::find("4").unwrap().folder.join("lab.json")).unwrap();
        let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
        let refused = |place: &str, value: serde_json::Value| {
            let mut changed = whole.clone();
            *changed.pointer_mut(place).unwrap() = value;
            let data: Data = serde_json::from_value(changed).unwrap();
            data.check().unwrap_err().to_string()
        };
        let huge = serde_json::json!([1_u64 << 40, 1_u64 << 40, 1]);
        for (place, value, why) in [
            ("/tasks", serde_json::json!([]), "its first task needs shapes"),
            ("/tasks/0/hidden/multiple", 0.into(), "at most 64 shapes are drawn"),
            ("/tasks/0/hidden/count", (1_u64 << 63).into(), "at most 64 shapes are drawn"),
            ("/tasks/0/hidden/most", huge.clone(), "is no shape for the simulator"),
            ("/tasks/0/shapes/0", huge.clone(), "is no shape for the simulator"),
            ("/tasks/0/shapes/1", serde_json::json!([0, 1, 1]), "is no shape for the simulator"),
            ("/tasks/0/goals/0/drawn/steps", serde_json::json!([u64::MAX, 0, 0]), "a goal is drawn in steps of up to"),
            ("/gain/size", huge, "is no shape for the simulator"),
            ("/points/correct", serde_json::json!(-1), "points are numbers from 0 on"),
        ] {
            let said = refused(place, value);
            assert!(said.contains(why), "{place}: {said}");
        }
    }

    /// The answers that are graded.
    const ANSWERS: &str = include_str!("../../tests/mistakes/answers.txt");

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
                assert!(!task.name.is_empty() && !task.hints.is_empty(), "{name} has no name or no hints");
                assert!(task.open || task.answer.is_some(), "{name} has no answer");
                let asks = !task.shapes.is_empty() || !task.goals.is_empty() || task.speed.is_some();
                assert!(asks, "{name} asks nothing");
            }
            let of_the_course = tasks.iter().filter_map(|task| task.speed.as_ref()).map(|speed| &speed.than);
            for kernel in of_the_course.chain(&lab.data.gain.from) {
                Kernel::named(kernel).unwrap();
            }
            for (number, task) in (1..).zip(tasks) {
                // Host programs are graded by tests of their own.
                let Some(answer) = lab.answer(task).filter(|_| !lab.host) else { continue };
                // Quoted for a shell, in case a folder's name has a blank.
                let kernel = difference::named(answer.trim_matches('"')).unwrap().display;
                // An open challenge's answer passes at least what comes before it.
                let passes = |rest: &str| {
                    let result = rest.lines().find_map(|line| line.strip_prefix("= ")).unwrap_or_default();
                    result.split(' ').next().unwrap().parse::<usize>().unwrap() >= number - usize::from(task.open)
                };
                let tested = ANSWERS.split(&format!("\n@ {} {kernel}\n", lab.name)).skip(1).any(passes);
                assert!(tested, "{lab_name}, task {number}: {answer} is not in answers.txt");
            }
            let page = files::read(&lab.page()).unwrap();
            for number in 1..=tasks.len() {
                assert!(page.contains(&format!("\n## Task {number}")), "{lab_name}: task {number} is not on the page");
            }
        }
        assert!(labs.len() >= 8 && labs.iter().filter(|lab| lab.host).count() == 1, "{} labs", labs.len());
    }
}
