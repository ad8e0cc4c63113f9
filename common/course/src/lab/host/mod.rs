//! The lab of host programs: the learner's program with cudarc is built, run on the stand-in for the driver, and graded by what it did.
//!
//! A goal of its file names a figure (`figures`) of a run; the checklist, hints and progress are those of the other labs.

pub mod case;
mod figures;
mod program;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use common::basics::{Progress, escape, mix};
use common::code::find_nvrtc;
use findings::diagnostic::Underlined;

use super::checklist::{ENDLESS, Grade, Next, Until, Verdict};
use super::data::Lab;
use super::task::{Goal, Part, hidden, names, smallest_ragged};
use crate::files;
use case::Case;
use figures::{Figure, figures};
use program::{KERNEL, Program, Run, beside};

/// What the program is asked in each task, and in a transfer task.
const MODES: [&str; 4] = ["multiply", "multiply", "time", "slabs"];
const TRANSFER: &str = "transfer";

/// The figure of two runs that cannot end well: the kernel is missing, and C has no room on the GPU.
const ERRORS: &str = "errors";
const NO_KERNEL: &str = "extern \"C\" __global__ void another(const float* A) {}\n";
const NO_ROOM: [u64; 3] = [150_000, 150_000, 1];
/// Seconds after which a grading starts no more runs.
const SECONDS: u64 = 240;

/// Puts what belongs to the program beside it: its manifest and the kernel. Files that are there stay.
pub fn unpack(main: &Path) -> Result<()> {
    let folder = main.ancestors().nth(2).unwrap_or(main);
    beside()?.iter().try_for_each(|(name, text)| files::create(&folder.join(name), text).map(drop))
}

/// Runs by what the program was asked, and the size.
type Runs = BTreeMap<(&'static str, [u64; 3]), Rc<Run>>;

/// A program with its runs.
struct Grader<'a> {
    lab: &'a Lab,
    seed: u64,
    text: &'a str,
    program: Program,
    runs: RefCell<Runs>,
    begun: Instant,
}

/// Grades the text of a program. Fails only if this machine cannot do it.
pub fn checked(lab: &Lab, file: &Path, seed: u64, until: Until) -> Result<(String, Grade)> {
    let text = files::read(file)?;
    find_nvrtc().context("the lab's programs compile their kernel")?;
    let tasks = &lab.data.tasks;
    let mut grade = Grade::new(tasks, seed, until);
    let built = Program::build(&text)?;
    let grader = built.map(|program| Grader {
        lab,
        seed,
        text: &text,
        program,
        runs: RefCell::default(),
        begun: Instant::now(),
    });
    let verdict = match &grader {
        Ok(_) => Verdict::Passed(None),
        Err(said) => Verdict::Failed(None, refused(said, &text)),
    };
    grade.ask(0, Part::Compiles, ("compiles".into(), false), || verdict);
    let progress = Progress::new("grading, tasks", tasks.len() as u64);
    for (number, task) in tasks.iter().enumerate() {
        let mode = if lab.drawn.is_some() { TRANSFER } else { MODES[number.min(MODES.len() - 1)] };
        let kept = |part| task.kept.contains(&part);
        let (right, safe) = (kept(Part::Correct), kept(Part::Hazards));
        // Nothing is asked of what does not compile, but its lines are counted.
        let none = |_: &String| Verdict::LeftOut("it does not compile".into());
        let mut ask = |part, words: String, kept, find: &dyn Fn(&Grader<'_>) -> Verdict| {
            grade.ask(number, part, (words, kept), || grader.as_ref().map_or_else(none, find));
        };
        if !task.shapes.is_empty() {
            ask(Part::Correct, format!("right at {}", names(&task.shapes)), right, &|grader| {
                grader.right(mode, &task.shapes)
            });
            if let Some(random) = &task.hidden {
                let shapes = hidden(random, seed ^ (number as u64) << 32);
                ask(Part::Correct, "right at hidden shapes".into(), right, &|grader| grader.right(mode, &shapes));
            }
            let small = smallest_ragged(&task.shapes);
            let words = format!("no fault of the program or its kernel at {}", names(&small));
            ask(Part::Hazards, words, safe, &|grader| grader.safe(mode, &small));
        }
        for goal in &task.goals {
            ask(Part::Counters, goal.words.clone(), goal.kept, &|grader| grader.goal(mode, goal));
        }
        progress.add(1);
    }
    Ok((text, grade))
}

/// The compiler's first error.
fn refused(said: &str, text: &str) -> Next {
    let errors: Vec<&str> = said.split("\n\n").filter(|part| part.starts_with("error")).collect();
    let first = errors.first().copied().unwrap_or(said);
    let place = first.split("src/main.rs:").nth(1).and_then(|rest| rest.split(':').next());
    let place = place.and_then(|line| line.parse().ok());
    let message = first.lines().next().unwrap_or_default();
    let text = Next { places: underlined(place, message, text), ..Next::new(first.trim_end(), None) };
    text.of("does not compile")
}

/// A whole line of the program.
fn underlined(line: Option<usize>, label: &str, text: &str) -> Vec<Underlined> {
    let code = line.and_then(|line| text.lines().nth(line.checked_sub(1)?));
    let Some((line, code)) = line.zip(code) else { return vec![] };
    let count = |code: &str| code.chars().count();
    let span = (count(code) - count(code.trim_start()), count(code.trim_end()));
    vec![Underlined { line, span, label: label.to_owned() }]
}

impl Grader<'_> {
    fn run(&self, mode: &'static str, size: [u64; 3]) -> Result<(Case, Rc<Run>)> {
        let seed = mix(self.seed ^ size[0] ^ size[1] << 20 ^ size[2] << 40);
        let case = Case::new(mode, size, seed, self.lab.drawn.as_ref());
        if let Some(run) = self.runs.borrow().get(&(mode, size)) {
            return Ok((case, run.clone()));
        }
        ensure!(self.begun.elapsed().as_secs() < SECONDS, "nothing more was run, because {SECONDS} seconds are over");
        let run = Rc::new(self.program.run(&case, KERNEL)?);
        self.runs.borrow_mut().insert((mode, size), run.clone());
        Ok((case, run))
    }

    /// What is told of a run first: what was found in it, with its lines.
    fn found(&self, run: &Run) -> Option<Next> {
        let found = run.findings.iter().find(|found| found["warning"] != true)?;
        let place = found["places"].as_array().into_iter().flatten().find(|place| place["file"] == "src/main.rs");
        let line = place.and_then(|place| place["line"].as_u64()).map(|line| line as usize);
        let label = place.and_then(|place| place["label"].as_str()).unwrap_or_default();
        // What a program has made up itself must not reach the terminal as it is.
        let said = |key: &str| escape(found[key].as_str().unwrap_or_default());
        let next = Next::new(said("text").trim_end(), None);
        Some(Next { places: underlined(line, label, self.text), ..next }.of(said("kind")))
    }

    /// What is wrong with a run or its result.
    fn failure(&self, case: &Case, run: &Run) -> Option<Next> {
        let wrong = match (&run.failed, &run.written) {
            (Some(how), _) => {
                let kind = if run.is_endless { ENDLESS } else { "cannot be run" };
                return Some(
                    self.found(run).unwrap_or_else(|| Next::new(format!("{}: {how}", case.name()), None).of(kind)),
                );
            }
            (None, _) if case.arguments[0] == "time" => return None,
            (None, None) => format!("{} has not written c.f32", case.name()),
            (None, Some(written)) => format!("{}: {}", case.name(), case.wrong(written)?),
        };
        Some(self.found(run).unwrap_or_else(|| Next::new(wrong, None).of("wrong product")))
    }

    fn right(&self, mode: &'static str, shapes: &[[u64; 3]]) -> Verdict {
        let (mut right, mut first) = (0, None);
        for &size in shapes {
            match self.run(mode, size).map(|(case, run)| self.failure(&case, &run)) {
                Ok(None) => right += 1,
                Ok(Some(next)) => {
                    first.get_or_insert((size, next));
                }
                Err(error) => return Verdict::LeftOut(format!("{error:#}")),
            }
            if first.as_ref().is_some_and(|(_, next)| next.kind == ENDLESS) {
                break;
            }
        }
        match first {
            None => Verdict::Passed(None),
            Some((size, next)) => {
                let found = format!("not at {}", names(&[size]));
                Verdict::Partly(f64::from(right) / shapes.len() as f64, Some(found), Some(next))
            }
        }
    }

    fn safe(&self, mode: &'static str, shapes: &[[u64; 3]]) -> Verdict {
        for &size in shapes {
            match self.run(mode, size).map(|(_, run)| self.found(&run)) {
                Ok(None) => {}
                Ok(Some(next)) => return Verdict::Failed(None, next),
                Err(error) => return Verdict::LeftOut(format!("{error:#}")),
            }
        }
        Verdict::Passed(None)
    }

    /// Whether the runs that cannot end well end with an error of the program.
    fn errors(&self, mode: &'static str) -> Result<Figure> {
        for (size, kernel, what) in
            [([20, 20, 20], NO_KERNEL, "kernel.cu has no matmul"), (NO_ROOM, KERNEL, "C has no room on the GPU")]
        {
            let run = self.program.run(&Case::without_result(mode, size), kernel)?;
            if !run.is_error {
                let how = run.failed.unwrap_or_else(|| "it ended as if all were well".into());
                return Ok(Figure { value: 0.0, at: Some(format!("{what}, and {how}")) });
            }
        }
        Ok(Figure { value: 1.0, at: None })
    }

    fn goal(&self, mode: &'static str, goal: &Goal) -> Verdict {
        let size = goal.size_of(self.seed);
        for measure in goal.measures() {
            let figure = match self.run(mode, measure.size.unwrap_or(size)) {
                Ok((case, run)) => {
                    // What a run that failed, or raced, has done says nothing.
                    let ended = run.failed.as_ref().and_then(|_| self.failure(&case, &run));
                    if let Some(next) = ended.or_else(|| self.found(&run)) {
                        return Verdict::Failed(None, next);
                    }
                    if measure.counter == ERRORS {
                        self.errors(mode)
                    } else {
                        Ok(figures(&run.log, &case, &run.out).remove(measure.counter.as_str()).unwrap_or_default())
                    }
                }
                Err(error) => Err(error),
            };
            let Figure { value, at } = match figure {
                Ok(figure) => figure,
                Err(error) => return Verdict::LeftOut(format!("{error:#}")),
            };
            if !measure.is_met(value) {
                let line = at.as_deref().and_then(|at| at.strip_prefix("src/main.rs:")?.parse().ok());
                let places = underlined(line, &measure.next, self.text);
                let at = at.map_or_else(String::new, |at| format!(" ({at})"));
                let next = Next { places, ..Next::new(format!("{}{at}", measure.next), None) };
                return Verdict::Failed(None, next.of(goal.words.clone()));
            }
        }
        Verdict::Passed(None)
    }
}
