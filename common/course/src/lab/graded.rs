//! A graded kernel: the lab's checklist line by line, also as data for programs, which `cargo course lab N --json` prints and
//! `cargo course grade` reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use anstream::adapter::strip_str;
use anyhow::Result;
use common::basics::progress::Progress;
use common::basics::workspace;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Candidate, Grade, GradedTask, Lab, Line, Next, Part, State, Until, copies, goals, hidden, host, names,
    smallest_ragged,
};

const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub struct Graded {
    pub format: u32,
    pub lab: String,
    pub kernel: String,
    pub seed: u64,
    pub tasks: Vec<GradedTask>,
    /// Points of all required tasks together, and their maximum.
    pub points: f64,
    pub of: f64,
    /// A finding for each line of a required task that failed.
    pub findings: Vec<Next>,
    /// A sketch of what it computes, by which kernels are compared; `None` if the kernel does not compile.
    pub fingerprint: Option<String>,
    pub seconds: f64,
}

impl Graded {
    /// The `results.json` of Gradescope: a test for each required task, with its lines; and the findings.
    pub fn for_gradescope(&self) -> Value {
        let line = |line: &Line| {
            let found = line.found.as_ref().map_or_else(String::new, |found| format!(" ({found})"));
            let sign = if line.state == State::Passed { "passed" } else { "not passed" };
            format!("{sign}: {}{found}, {} of {} points", line.words, line.points, line.of)
        };
        let test = |task: &GradedTask| {
            let lines: Vec<String> = task.lines.iter().map(line).collect();
            let status = if task.passed { "passed" } else { "failed" };
            json!({ "name": task.name, "score": task.points, "max_score": task.of, "status": status, "output": lines.join("\n") })
        };
        // A second finding of a kind has the same cause most often.
        let mut kinds = BTreeSet::new();
        let first = self.findings.iter().filter(|finding| kinds.insert(&finding.kind));
        let findings: Vec<&str> = first.map(|finding| &*finding.text).collect();
        let tests: Vec<Value> = self.tasks.iter().filter(|task| !task.open).map(test).collect();
        json!({ "score": self.points, "output": findings.join("\n\n"), "output_format": "text", "tests": tests })
    }
}

/// Fills in the checklist: at shapes that are shown and at hidden ones right, free of hazards, and its counters as the lab wants them.
pub fn checked(lab: &Lab, candidate: &Candidate, seed: u64, until: Until) -> Result<Grade> {
    let tasks = &lab.data.tasks;
    let mut grade = Grade::new(tasks, seed, until);
    let compiles = candidate.compiles(&tasks[0].shapes)?;
    let progress = Progress::new("grading, tasks", tasks.len() as u64);
    grade.ask(0, Part::Compiles, ("compiles".into(), false), || compiles);
    for (number, task) in tasks.iter().enumerate() {
        let kept = |part| task.kept.contains(&part);
        let (right, safe) = (kept(Part::Correct), kept(Part::Hazards));
        if !task.shapes.is_empty() {
            let words = format!("right at {}", names(&task.shapes));
            grade.ask(number, Part::Correct, (words, right), || candidate.right(&task.shapes));
            if let Some(random) = &task.hidden {
                let mut shapes = hidden(random, seed ^ (number as u64) << 32);
                lab.transfer.iter().for_each(|drawn| shapes.iter_mut().for_each(|shape| *shape = drawn.shape(*shape)));
                grade.ask(number, Part::Correct, ("right at hidden shapes".into(), right), || candidate.right(&shapes));
            }
            if let Some(candidate) = candidate.with_spare_threads().filter(|_| task.spare) {
                let words = "right with threads that have no element of C".to_owned();
                grade.ask(number, Part::Correct, (words, right), || candidate.right(&task.shapes));
            }
            let small = smallest_ragged(&task.shapes);
            let words = format!("no hazard at {}", names(&small));
            grade.ask(number, Part::Hazards, (words, safe), || candidate.safe(&small));
        }
        for goal in &task.goals {
            grade.ask(number, Part::Counters, (goal.words.clone(), goal.kept), || candidate.goal(goal));
        }
        if let Some(speed) = &task.speed {
            grade.ask(number, Part::Speed, (goals::words(speed), false), || candidate.speed(speed));
        }
        progress.add(1);
    }
    Ok(grade)
}

/// Grades all tasks of a kernel that bring points.
pub fn grade(lab: &Lab, kernel: &Path, seed: u64, instruction_limit: Option<u64>) -> Result<Graded> {
    let begun = Instant::now();
    let (shown, fingerprint, grade) = if lab.host {
        (workspace::display(kernel), None, host::checked(lab, kernel, seed, Until::NoRun)?.1)
    } else {
        let mut candidate = Candidate::read(lab, kernel, seed, instruction_limit)?;
        candidate.silent = true;
        let grade = checked(lab, &candidate, seed, Until::NoRun)?;
        (candidate.source.display.clone(), fingerprint_of(lab, &candidate), grade)
    };
    let Grade { mut tasks, findings, found_in, .. } = grade;
    // An open challenge that is not met does not count as a finding.
    let findings = findings.into_iter().zip(found_in).filter(|(_, task)| !tasks[*task].open).map(|(next, _)| next);
    let findings: Vec<Next> = findings.collect();
    for task in tasks.iter_mut().filter(|task| !task.open) {
        (task.points, task.of) = points(&lab.data.points, &mut task.lines);
    }
    let plain = |next: Next| Next { text: strip_str(&next.text).to_string(), ..next };
    Ok(Graded {
        format: FORMAT,
        lab: lab.name.clone(),
        kernel: shown,
        seed,
        points: rounded(tasks.iter().map(|task| task.points).sum()),
        of: rounded(tasks.iter().map(|task| task.of).sum()),
        tasks,
        findings: findings.into_iter().map(plain).collect(),
        fingerprint,
        seconds: rounded(begun.elapsed().as_secs_f64()),
    })
}

/// The sketch of a kernel, compiled for the first shape of the lab that it can be launched at.
pub fn fingerprint_of(lab: &Lab, candidate: &Candidate) -> Option<String> {
    let plan = lab.data.tasks[0].shapes.iter().find_map(|&size| candidate.plan(size).ok())?;
    Some(copies::sketch(&candidate.code(&plan).ok()?.ptx))
}

/// Gives each line of a task its points, and returns those of the task with what it may bring: the sum, and never less than nothing.
fn points(worth: &BTreeMap<Part, f64>, lines: &mut [Line]) -> (f64, f64) {
    let share = |lines: &[Line], part: Part| {
        let of_part = lines.iter().filter(|line| line.part == part).count();
        worth.get(&part).map_or(0.0, |worth| worth / of_part.max(1) as f64)
    };
    let own: Vec<f64> = lines.iter().map(|line| share(lines, line.part)).collect();
    let of: f64 = own.iter().sum();
    let added: f64 = lines.iter().zip(&own).filter(|(line, _)| !line.kept).map(|(_, own)| own).sum();
    if added == 0.0 {
        return (0.0, 0.0);
    }
    let mut sum = 0.0;
    for (line, own) in lines.iter_mut().zip(own) {
        let of_line = if line.kept { 0.0 } else { own * of / added };
        // What nobody could tell costs nothing.
        let lost = if line.state == State::Failed { own * (1.0 - line.share) } else { 0.0 };
        let points = if line.kept { -lost } else { of_line * line.share };
        (line.points, line.of) = (rounded(points), rounded(of_line));
        sum += points;
    }
    (rounded(sum.clamp(0.0, of)), rounded(of))
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
