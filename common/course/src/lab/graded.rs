//! A graded kernel: the lab's checklist line by line, also as data for programs, which `cargo course lab N --json` prints and
//! `cargo course grade` reads.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anstream::adapter::strip_str;
use anyhow::Result;
use common::basics::progress::Progress;
use common::code::hash;
use serde::{Deserialize, Serialize};

use crate::lab::candidate::Candidate;
use crate::lab::checklist::{Grade, GradedTask, Line, Next, Part, State, Until};
use crate::lab::data::Lab;
use crate::lab::goals;
use crate::lab::task::{Points, hidden, names, smallest_ragged};

/// Version of the format.
const FORMAT: u32 = 1;

/// A graded kernel.
#[derive(Debug, Serialize, Deserialize)]
pub struct Graded {
    pub format: u32,
    pub lab: String,
    /// The kernel's file.
    pub kernel: String,
    pub seed: u64,
    pub tasks: Vec<GradedTask>,
    /// Points of all required tasks together, and their maximum.
    pub points: f64,
    pub of: f64,
    /// A finding for each line of a required task that failed.
    pub findings: Vec<Next>,
    /// A fingerprint that ignores names, comments and layout; `None` if the kernel does not compile.
    pub fingerprint: Option<String>,
    /// How long the grading took.
    pub seconds: f64,
}

/// Fills in the checklist: at shapes that are shown and at hidden ones right, free of hazards, and its counters as the lab wants them.
pub fn checked(lab: &Lab, candidate: &Candidate, seed: u64, until: Until) -> Grade {
    let tasks = &lab.data.tasks;
    let mut grade = Grade::new(tasks, seed, until);
    let progress = Progress::new("grading, tasks", tasks.len() as u64);
    grade.ask(0, Part::Compiles, "compiles".into(), || candidate.compiles(&tasks[0].shapes));
    for (number, task) in tasks.iter().enumerate() {
        if !task.shapes.is_empty() {
            let right = format!("right at {}", names(&task.shapes));
            grade.ask(number, Part::Correct, right, || candidate.right(&task.shapes));
            if let Some(random) = &task.hidden {
                let shapes = hidden(random, seed ^ (number as u64) << 32).into_iter().map(|shape| lab.shape(shape));
                let shapes: Vec<[u64; 3]> = shapes.collect();
                grade.ask(number, Part::Correct, "right at hidden shapes".into(), || candidate.right(&shapes));
            }
            let small = smallest_ragged(&task.shapes);
            grade.ask(number, Part::Hazards, format!("no hazard at {}", names(&small)), || candidate.safe(&small));
        }
        for goal in &task.goals {
            grade.ask(number, Part::Counters, goal.words.clone(), || candidate.goal(goal));
        }
        if let Some(speed) = &task.speed {
            grade.ask(number, Part::Speed, goals::words(speed), || candidate.speed(speed));
        }
        progress.add(1);
    }
    grade
}

/// Grades all tasks of a kernel that bring points.
pub fn grade(lab: &Lab, kernel: &Path, seed: u64, instruction_limit: Option<u64>) -> Result<Graded> {
    let begun = Instant::now();
    let mut candidate = Candidate::read(lab, kernel, seed, instruction_limit)?;
    candidate.silent = true;
    let Grade { mut tasks, mut findings, .. } = checked(lab, &candidate, seed, Until::WrongProduct);
    // An open challenge that is not met does not count as a finding.
    let lines = tasks.iter().flat_map(|task| task.lines.iter().map(|line| (task.open, line.state)));
    let mut failed = lines.filter(|(_, state)| *state == State::Failed).map(|(open, _)| open);
    findings.retain(|_| !failed.next().unwrap_or_default());
    for task in tasks.iter_mut().filter(|task| !task.open) {
        (task.points, task.of) = points(&lab.data.points, &task.lines);
    }
    let plain = |next: Next| Next { text: strip_str(&next.text).to_string(), ..next };
    Ok(Graded {
        format: FORMAT,
        lab: lab.name().to_owned(),
        kernel: candidate.source.display.clone(),
        seed,
        points: rounded(tasks.iter().map(|task| task.points).sum()),
        of: tasks.iter().map(|task| task.of).sum(),
        tasks,
        findings: findings.into_iter().map(plain).collect(),
        fingerprint: fingerprint_of(lab, &candidate),
        seconds: rounded(begun.elapsed().as_secs_f64()),
    })
}

/// The fingerprint of a kernel, compiled for the first shape of the lab that it can be launched at.
pub fn fingerprint_of(lab: &Lab, candidate: &Candidate) -> Option<String> {
    let plan = lab.data.tasks[0].shapes.iter().find_map(|&size| candidate.plan(size).ok())?;
    Some(fingerprint(&candidate.code(&plan).ok()?.ptx))
}

/// The points that the lines of a task bring, and those that they could.
fn points(points: &Points, lines: &[Line]) -> (f64, f64) {
    let parts = [(Part::Correct, points.correct), (Part::Hazards, points.hazards), (Part::Counters, points.counters)];
    parts.iter().fold((0.0, 0.0), |(got, of), &(part, worth)| {
        let asked: Vec<&Line> = lines.iter().filter(|line| line.part == part).collect();
        let passed = asked.iter().filter(|line| line.state == State::Passed).count();
        let share = |count: usize| worth * count as f64 / asked.len().max(1) as f64;
        (got + share(passed), of + share(asked.len()))
    })
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// A fingerprint of PTX that is equal for kernels which differ only in names, comments and layout: the compiler numbers everything that the
/// learner named.
fn fingerprint(ptx: &str) -> String {
    let lines: Vec<&str> = ptx
        .lines()
        // The rest describes source lines.
        .take_while(|line| !line.trim_start().starts_with(".section"))
        .map(|line| line.split("//").next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty() && !line.starts_with(".loc") && !line.starts_with(".file"))
        .collect();
    let apart = |c: char| !(c.is_alphanumeric() || "_$%.".contains(c));
    let mut names = BTreeMap::new();
    for name in lines.iter().filter(|line| line.starts_with('.')).flat_map(|line| line.split(apart)) {
        let number = names.len();
        if name.starts_with(|first: char| first.is_alphabetic() || first == '_') {
            names.entry(name).or_insert(number);
        }
    }
    let mut text = String::new();
    for piece in lines.iter().flat_map(|line| line.split_inclusive(apart).chain(["\n"])) {
        let word = piece.trim_end_matches(apart);
        match names.get(word) {
            Some(number) => text += &format!("name{number}"),
            None => text += word,
        }
        text += &piece[word.len()..];
    }
    hash(&text)[..16].to_owned()
}
