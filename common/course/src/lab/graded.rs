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
    let mut candidate = Candidate::read(lab, kernel, seed, instruction_limit)?;
    candidate.silent = true;
    let Grade { mut tasks, findings, found_in, .. } = checked(lab, &candidate, seed, Until::NoRun)?;
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
        kernel: candidate.source.display.clone(),
        seed,
        points: rounded(tasks.iter().map(|task| task.points).sum()),
        of: rounded(tasks.iter().map(|task| task.of).sum()),
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

/// How often what is named is told apart by where it is used: it then knows the lines that are so many steps away.
const ROUNDS: usize = 6;

/// A fingerprint of PTX that is equal for kernels which differ only in names, comments, layout and the order of lines between two
/// barriers: whatever has a name, such as a register, is known by the lines that use it.
fn fingerprint(ptx: &str) -> String {
    let apart = |c: char| !(c.is_alphanumeric() || "_$%.-".contains(c));
    let (mut lines, mut names, mut block): (Vec<Vec<&str>>, BTreeSet<&str>, &str) = Default::default();
    let mut depth = 0_usize;
    for line in ptx.lines().map(str::trim) {
        // Outside of functions, the rest describes source lines; within one, somebody wrote this.
        if depth == 0 && line.starts_with(".section") {
            break;
        }
        depth = (depth + line.matches('{').count()).saturating_sub(line.matches('}').count());
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
