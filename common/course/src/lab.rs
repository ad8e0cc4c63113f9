//! The labs: the learner's copy of a starting kernel, and the checklist that grades it.
//!
//! What is asked of a lab is data beside it, `stepNN_name/lab/lab.json`: shapes, tasks and goals in counters. Grading
//! runs on the simulator, in this process, so that it is the same on every machine and takes a second.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use common::{output, workspace};
use serde::Deserialize;

use crate::files;
use crate::lab_grade::{self, Grade, State};
use crate::progress::{self, Progress};
use crate::steps::{self, StepFolder};

/// Options of `cargo course lab`.
#[derive(clap::Args)]
pub struct Options {
    /// Number of the step, 1 to 6, or its name
    step: String,
    /// Show the next hint for the first task that has not passed
    #[arg(long)]
    hint: bool,
    /// Grade again whenever the file is saved
    #[arg(long)]
    watch: bool,
    /// Begin anew; asks, and keeps the old file beside the new one
    #[arg(long)]
    restart: bool,
    /// Grade this file in place of the learner's copy; progress is not noted
    #[arg(long, value_name = "FILE.cu", conflicts_with_all = ["restart", "hint"])]
    kernel: Option<PathBuf>,
    /// Seed of the hidden shapes and of the matrices, to repeat a grading; fresh each time where it is not given
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

/// A lab as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// M, N, K at which the product must be right.
    pub shapes: Vec<[u64; 3]>,
    /// Hidden shapes.
    pub random: Random,
    /// What is timed where there is a GPU.
    #[serde(default)]
    pub speed: Option<Speed>,
    /// The tasks, in order.
    pub tasks: Vec<Task>,
}

/// Shapes that are drawn anew at each grading.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Random {
    /// How many.
    pub count: u64,
    /// Largest M, N, K.
    pub most: [u64; 3],
}

/// A comparison of times on a GPU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speed {
    /// M, N, K.
    pub size: [u64; 3],
    /// The step to be faster than.
    pub than: String,
    /// How many times as fast, at least.
    pub factor: f64,
}

/// One task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What to do, in a few words.
    pub name: String,
    /// Further M, N, K at which the product must be right.
    #[serde(default)]
    pub shapes: Vec<[u64; 3]>,
    /// Goals in counters.
    #[serde(default)]
    pub goals: Vec<Goal>,
    /// Hints, one after the other.
    #[serde(default)]
    pub hints: Vec<String>,
    /// An open challenge: the lab is done without it.
    #[serde(default)]
    pub open: bool,
}

/// A goal in counters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// The goal in words.
    pub words: String,
    /// M, N, K of the run that is counted.
    pub size: [u64; 3],
    /// Name of a counter, or of what the grader derives from counters.
    pub counter: String,
    /// What it is divided by.
    #[serde(default)]
    pub per: Option<String>,
    /// The most it may be.
    #[serde(default)]
    pub at_most: Option<f64>,
    /// The least it must be.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// What to look at where it is missed.
    pub next: String,
}

/// A lab of a step.
pub struct Lab {
    /// The step.
    pub step: StepFolder,
    /// The step's number as people write it: `4`.
    pub number: String,
    /// What the lab's file says.
    pub data: Data,
}

impl Lab {
    /// The lab of a step, if it has one.
    pub fn of(step: &StepFolder) -> Result<Option<Self>> {
        let file = step.path.join("lab/lab.json");
        if !file.is_file() {
            return Ok(None);
        }
        let data = serde_json::from_str(&files::read(&file)?)
            .with_context(|| format!("{} is not a lab; restore it with git", workspace::display(&file)))?;
        Ok(Some(Self { step: step.clone(), number: number_of(&step.name), data }))
    }

    /// The lab that the learner names, by number or by the step's name.
    fn find(name: &str) -> Result<Self> {
        let steps = steps::find()?;
        let wanted = |step: &&StepFolder| {
            step.name == name
                || number_of(&step.name) == name.trim_start_matches('0')
                || step.name.starts_with(&format!("{name}_"))
        };
        let lab = steps.iter().find(wanted).map(Self::of).transpose()?.flatten();
        lab.with_context(|| {
            let labs: Vec<String> = steps
                .iter()
                .filter(|step| step.path.join("lab/lab.json").is_file())
                .map(|step| number_of(&step.name))
                .collect();
            format!("there is no lab {name}; choose {}", labs.join(", "))
        })
    }

    /// Where the learner's copy is.
    pub fn copy(&self) -> PathBuf {
        let stem = self.step.name.split('_').next().unwrap_or(&self.step.name);
        progress::folder().join(format!("{stem}.cu"))
    }

    fn start(&self) -> PathBuf {
        self.step.path.join("lab/start.cu")
    }
}

/// `step04_tiled` is number 4.
fn number_of(step: &str) -> String {
    let digits: String = step.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.trim_start_matches('0').to_owned()
}

/// Runs the command; `false` where a task that is asked for has not passed.
pub fn run(options: &Options) -> Result<bool> {
    let lab = Lab::find(&options.step)?;
    if options.hint {
        return hint(&lab);
    }
    if options.restart {
        return restart(&lab);
    }
    let kernel = match &options.kernel {
        Some(kernel) => kernel.clone(),
        None => lab.copy(),
    };
    if options.kernel.is_none() && !kernel.is_file() {
        begin(&lab)?;
        if !options.watch {
            return Ok(true);
        }
    }
    let own = options.kernel.is_none();
    if options.watch {
        return watch(&lab, &kernel, own, options.seed);
    }
    grade(&lab, &kernel, own, options.seed)
}

/// Copies the start where the learner has nothing yet.
fn begin(lab: &Lab) -> Result<()> {
    let copy = lab.copy();
    files::write(&copy, &files::read(&lab.start())?)?;
    let mut text =
        format!("{} is yours now, a copy of {}\n\n", workspace::display(&copy), workspace::display(&lab.start()));
    for (number, task) in lab.data.tasks.iter().enumerate() {
        let open = if task.open { " (an open challenge)" } else { "" };
        let _ = writeln!(text, "  task {}: {}{open}", number + 1, task.name);
    }
    let number = &lab.number;
    let _ = write!(
        text,
        "\nread {}, edit the file, and have it graded:\n  cargo course lab {number}            once\n  cargo course lab {number} --watch    at each save\n  cargo course lab {number} --hint     with a little help\n",
        workspace::display(&lab.step.path.join("lab/README.md"))
    );
    output::print(&text)
}

/// Begins anew, when the learner says yes; the old file stays beside the new one.
fn restart(lab: &Lab) -> Result<bool> {
    let copy = lab.copy();
    if !copy.is_file() {
        begin(lab)?;
        return Ok(true);
    }
    let kept = (1..10_000).map(|i| copy.with_extension(format!("{i}.cu"))).find(|path| !path.exists());
    let kept = kept.context("there is no name left for the old file; remove some of them")?;
    let (copy_name, kept_name) = (workspace::display(&copy), workspace::display(&kept));
    output::print(&format!("{copy_name} becomes {kept_name}, and a new start takes its place; go on? [y/N] "))?;
    std::io::stdout().flush().ok();
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).ok();
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        output::print("nothing was changed\n")?;
        return Ok(true);
    }
    fs::rename(&copy, &kept).with_context(|| format!("{copy_name} cannot be renamed; close it elsewhere"))?;
    begin(lab)?;
    Ok(true)
}

/// One more hint for the first task that has not passed.
fn hint(lab: &Lab) -> Result<bool> {
    let mut progress = Progress::read()?;
    let name = &lab.step.name;
    let Some((number, task)) =
        lab.data.tasks.iter().enumerate().find(|(number, _)| !progress.has_passed(name, *number))
    else {
        output::print("all tasks of this lab have passed; there is nothing to hint at\n")?;
        return Ok(true);
    };
    let seen = progress.labs.entry(name.clone()).or_default();
    seen.hints.resize(seen.hints.len().max(number + 1), 0);
    let shown = &mut seen.hints[number];
    *shown = (*shown + 1).min(task.hints.len());
    let mut text = format!("task {}: {}\n\n", number + 1, task.name);
    for (place, hint) in task.hints.iter().take(*shown).enumerate() {
        let _ = writeln!(text, "  {}. {hint}", place + 1);
    }
    let left = task.hints.len() - *shown;
    let _ = match left {
        0 => writeln!(text, "\nthat was the last hint; the step's own kernel.cu is one solution"),
        1 => writeln!(text, "\none more hint is left; ask again"),
        left => writeln!(text, "\n{left} more hints are left; ask again"),
    };
    progress.write()?;
    output::print(&text)?;
    Ok(true)
}

/// Grades once, prints the checklist, and notes the progress where the file is the learner's copy.
fn grade(lab: &Lab, kernel: &Path, own: bool, seed: Option<u64>) -> Result<bool> {
    let grade = lab_grade::grade(lab, kernel, seed.unwrap_or_else(fresh_seed))?;
    if own {
        let mut progress = Progress::read()?;
        progress.note(&lab.step.name, &grade.passed);
        progress.write()?;
    }
    output::print(&text(lab, kernel, &grade))?;
    Ok(grade.passed.iter().zip(&lab.data.tasks).all(|(passed, task)| *passed || task.open))
}

/// A seed that nobody can have prepared for.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) ^ (now.as_secs() << 10) & 0xFFFF_FFFF
}

/// Grades at each save, until the learner stops the program.
fn watch(lab: &Lab, kernel: &Path, own: bool, seed: Option<u64>) -> Result<bool> {
    let stamp = || fs::metadata(kernel).and_then(|metadata| metadata.modified()).ok();
    let mut graded = None;
    loop {
        let now = stamp();
        if now.is_some() && now != graded {
            // An editor may write in several goes.
            std::thread::sleep(Duration::from_millis(50));
            graded = stamp();
            if let Err(error) = grade(lab, kernel, own, seed) {
                output::print(&format!("error: {error:#}\n"))?;
            }
            output::print(&format!("\nwaiting for {} to change (Ctrl-C ends)\n\n", workspace::display(kernel)))?;
        }
        std::thread::sleep(Duration::from_millis(150));
    }
}

/// The checklist for people.
fn text(lab: &Lab, kernel: &Path, grade: &Grade) -> String {
    let mut text = format!("lab {}: {} (seed {})\n", lab.number, workspace::display(kernel), grade.seed);
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
    let required = grade.passed.iter().zip(&lab.data.tasks).all(|(passed, task)| *passed || task.open);
    match &grade.next {
        Some(next) => {
            let _ = writeln!(text, "\nlook at this next:");
            for line in next.lines() {
                let _ = writeln!(text, "  {line}");
            }
            if required {
                let _ = writeln!(text, "\nthe lab is done but for its open challenge");
            } else {
                let _ = writeln!(text, "\nfor a hint: cargo course lab {} --hint", lab.number);
            }
        }
        None => {
            let _ = writeln!(text, "\neverything passed; the step's own kernel.cu is another solution: compare");
        }
    }
    text
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
