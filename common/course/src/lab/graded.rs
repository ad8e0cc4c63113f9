//! A graded kernel: the lab's checklist line by line, also as data for programs, which `cargo course lab N --json` prints and
//! `cargo course grade` reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use anstream::adapter::strip_str;
use anyhow::Result;
use common::basics::mix::mix;
use common::basics::progress::Progress;
use serde::{Deserialize, Serialize};

use super::{Candidate, Grade, GradedTask, Lab, Line, Next, Part, State, Until, goals, hidden, names, smallest_ragged};

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
    /// A fingerprint that ignores names, comments, layout and order; `None` if the kernel does not compile.
    pub fingerprint: Option<String>,
    pub seconds: f64,
}

/// Fills in the checklist: at shapes that are shown and at hidden ones right, free of hazards, and its counters as the lab wants them.
pub fn checked(lab: &Lab, candidate: &Candidate, seed: u64, until: Until) -> Result<Grade> {
    let tasks = &lab.data.tasks;
    let mut grade = Grade::new(tasks, seed, until);
    let compiles = candidate.compiles(&tasks[0].shapes)?;
    let progress = Progress::new("grading, tasks", tasks.len() as u64);
    grade.ask(0, Part::Compiles, "compiles".into(), || compiles);
    for (number, task) in tasks.iter().enumerate() {
        if !task.shapes.is_empty() {
            let right = format!("right at {}", names(&task.shapes));
            grade.ask(number, Part::Correct, right, || candidate.right(&task.shapes));
            if let Some(random) = &task.hidden {
                let mut shapes = hidden(random, seed ^ (number as u64) << 32);
                lab.transfer.iter().for_each(|drawn| shapes.iter_mut().for_each(|shape| *shape = drawn.shape(*shape)));
                grade.ask(number, Part::Correct, "right at hidden shapes".into(), || candidate.right(&shapes));
            }
            if let Some(candidate) = candidate.with_spare_threads().filter(|_| task.spare) {
                let right = "right with threads that have no element of C".to_owned();
                grade.ask(number, Part::Correct, right, || candidate.right(&task.shapes));
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
    Ok(grade)
}

/// Grades all tasks of a kernel that bring points.
pub fn grade(lab: &Lab, kernel: &Path, seed: u64, instruction_limit: Option<u64>) -> Result<Graded> {
    let begun = Instant::now();
    let mut candidate = Candidate::read(lab, kernel, seed, instruction_limit)?;
    candidate.silent = true;
    let Grade { mut tasks, mut findings, .. } = checked(lab, &candidate, seed, Until::WrongProduct)?;
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
        lab: lab.name.clone(),
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

/// The points that the lines of a task bring, and those that they could. A line counts only if those before it in its part passed: a
/// kernel without tiles has no bank conflicts either.
fn points(points: &BTreeMap<Part, f64>, lines: &[Line]) -> (f64, f64) {
    points.iter().fold((0.0, 0.0), |(got, of), (&part, worth)| {
        let asked: Vec<&Line> = lines.iter().filter(|line| line.part == part).collect();
        let passed = asked.iter().take_while(|line| line.state == State::Passed).count();
        let share = |count: usize| worth * count as f64 / asked.len().max(1) as f64;
        (got + share(passed), of + share(asked.len()))
    })
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// How often what is named is told apart by where it is used: it then knows the lines that are so many steps away.
const ROUNDS: usize = 6;

/// A fingerprint of PTX that is equal for kernels which differ only in names, comments, layout and the order of lines between two
/// barriers: whatever has a name, such as a register, is known by the lines that use it.
fn fingerprint(ptx: &str) -> String {
    let apart = |c: char| !(c.is_alphanumeric() || "_$%.-".contains(c));
    let (mut lines, mut names, mut block): (Vec<Vec<&str>>, BTreeSet<&str>, &str) = Default::default();
    // The rest describes source lines.
    for line in ptx.lines().map(str::trim).take_while(|line| !line.starts_with(".section")) {
        let words = line.split("//").next().unwrap_or_default().split(apart).filter(|word| !word.is_empty());
        match words.clone().next() {
            None | Some(".loc" | ".file" | ".reg") => continue,
            Some(label) if label.starts_with('$') || label.starts_with("bar") => block = label,
            Some(kind) if kind.starts_with('.') => names.extend(words.clone().filter(|word| !word.starts_with('.'))),
            Some(_) => {}
        }
        lines.push(words.chain([block]).collect());
    }
    let is_named = |word: &str| word.starts_with(['$', '%']) && !word.contains('.') || names.contains(word);
    // A parameter has a place, whatever it is called.
    let place = |word: &str| word.rsplit_once("_param_").map(|(_, place)| place.to_owned());
    let of_text = |text: &str| text.bytes().fold(1, |label, byte| mix(label ^ u64::from(byte)));
    let (mut labels, mut hashes) = (BTreeMap::<&str, u64>::new(), vec![]);
    for _ in 0..ROUNDS {
        let label = |word: &&str| match place(word) {
            Some(place) => of_text(&place),
            None if is_named(word) => labels.get(word).copied().unwrap_or_default(),
            None => of_text(word),
        };
        let of_line = |line: &Vec<&str>| {
            let mut labels: Vec<u64> = line.iter().map(label).collect();
            // Factors may be exchanged.
            let from = labels.len().min(2);
            labels[from..].sort_unstable();
            labels.into_iter().fold(0, |hash, label| mix(hash ^ label))
        };
        hashes = lines.iter().map(of_line).collect::<Vec<u64>>();
        let mut next = BTreeMap::<&str, u64>::new();
        for (line, hash) in lines.iter().zip(&hashes) {
            for (at, &word) in line.iter().enumerate() {
                let sum = next.entry(word).or_default();
                *sum = sum.wrapping_add(mix(hash ^ at.min(2) as u64));
            }
        }
        labels = next;
    }
    hashes.sort_unstable();
    format!("{:016x}", hashes.into_iter().fold(0, |hash, line| mix(hash ^ line)))
}
