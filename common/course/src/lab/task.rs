//! What a lab asks, as its file says it, as plain data; and the shapes at which a kernel is graded: their names, the hidden ones, and those
//! for the hazard check.
//!
//! A transfer task is a product that differs from the course's, drawn from a seed. The course does not contain its answer: the task, the
//! edge of a tile and the factors follow from the seed. All elements are small integers, so that any order of summation gives the same
//! sum and C is known exactly.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use common::basics::mix;
use common::code::Code;
use common::device::{Device, Matrices, Product as _, Session, observations};
use common::verify::{self, Mismatch, Verification};
use plan::{Arg, Plan, Problem};
use serde::{Deserialize, Serialize};
use why::{Asked, Kind, Side};

/// A lab as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The variant whose launches the learner's kernel uses, if not those of the kernel that the lab leads to.
    pub launched_as: Option<String>,
    pub gain: Gain,
    /// The points of each required task. The points of a part are shared equally among its lines of the checklist; a task that asks
    /// nothing of a part is worth less by it. What the start passes already brings nothing, its points are those of the other lines,
    /// and who loses it loses its share. Of a product that is right at some shapes, that part counts. That a kernel compiles, and what
    /// a GPU measures, is worth none.
    pub points: BTreeMap<Part, f64>,
    /// What the next chapter improves in a kernel that has passed.
    pub after: Option<String>,
    /// Tasks of which a seed draws one.
    #[serde(default)]
    pub transfer: Vec<Task>,
    /// The learner develops one file through all of them; later tasks still ask what earlier ones did.
    pub tasks: Vec<Task>,
}

/// The subject of a line of the checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Compiles,
    /// The product is right, at the shapes of the lab and at those that are not shown.
    Correct,
    /// The simulator finds no hazard.
    Hazards,
    /// The goals in counters.
    Counters,
    Speed,
}

/// How the gain of a task is shown: the counters before it and after it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// M, N, K of both runs.
    pub size: [u64; 3],
    /// The kernel of the course that replaces the lab's start in comparisons, if the start is not right yet.
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
    /// They are multiples of this; 1 if it is left out.
    pub multiple: Option<u64>,
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

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Task {
    /// What to do, in a few words.
    pub name: String,
    /// M, N, K at which the product must be right from this task on.
    pub shapes: Vec<[u64; 3]>,
    /// Shapes that the learner does not know, at which it must be right as well.
    pub hidden: Option<Random>,
    /// Whether it must be right, too, if a block has threads without an element of C.
    pub spare: bool,
    pub goals: Vec<Goal>,
    /// The parts, but for goals, that the start passes already.
    pub kept: Vec<Part>,
    /// The goal that is timed on a GPU, if there is one.
    pub speed: Option<Speed>,
    /// A kernel that passes this task and no later one, to compare with afterwards: one of the course by its name, or a
    /// file beside the lab.
    pub answer: Option<String>,
    pub hints: Vec<String>,
    /// An open challenge: the lab is done without it.
    pub open: bool,
    /// What is computed by a transfer task, whose name has `{alpha}`, `{beta}` and `{batch}` for the numbers that are drawn.
    pub kind: Option<Kind>,
    /// Whether the product has a factor, and a multiple of what C held before is added.
    pub scaled: bool,
    /// Lines of the course's kernel that the shortest known solution changes; all tasks of a lab are about equally hard.
    pub changed: Option<usize>,
    /// The product in a few lines, for the head of the learner's file.
    pub about: Vec<String>,
    /// Edges of a tile, one of which is drawn. Goals in flop per byte are for a tile of 32, and follow it.
    pub tiles: Vec<u32>,
    /// The start's launch line, if there are no tiles and the step's own launch does not suit.
    pub launch: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    pub words: String,
    /// M, N, K of the run that is counted; each grading may draw a larger one.
    pub size: [u64; 3],
    /// How far M, N and K may grow, and by which steps.
    pub drawn: Option<Drawn>,
    /// A term of counters and of figures that the grader derives from a run. It is a total beside the size of the problem, so that
    /// nothing which a kernel does for show improves it.
    pub counter: String,
    pub at_most: Option<f64>,
    pub at_least: Option<f64>,
    /// Advice if it is missed.
    pub next: String,
    /// Whether the start meets it already.
    #[serde(default)]
    pub kept: bool,
    /// What must hold as well for the words to be true.
    #[serde(default)]
    pub also: Vec<Measure>,
}

/// A part of a goal: a term, its limit, and advice if it is missed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    pub counter: String,
    pub at_most: Option<f64>,
    pub at_least: Option<f64>,
    pub next: String,
    /// M, N, K of the run, if it is not the goal's: values are followed in small runs.
    pub size: Option<[u64; 3]>,
}

/// Sizes of which each grading draws one.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawn {
    /// How often a step is added to M, N and K at most.
    pub steps: [u64; 3],
    pub of: [u64; 3],
}

impl Goal {
    /// All that is measured for it: what has a remedy of its own first, and the goal's own term last.
    pub fn measures(&self) -> Vec<Measure> {
        let Self { counter, at_most, at_least, next, also, .. } = self.clone();
        also.into_iter().chain([Measure { counter, at_most, at_least, next, size: None }]).collect()
    }

    /// The size of the run that is counted in the grading of a seed.
    pub fn size_of(&self, seed: u64) -> [u64; 3] {
        let Some(Drawn { steps, of }) = self.drawn else { return self.size };
        let more = |axis: usize| of[axis] * (mix(seed ^ (axis as u64 + 11)) % (steps[axis] + 1));
        [0, 1, 2].map(|axis| self.size[axis] + more(axis))
    }
}

impl Measure {
    pub fn is_met(&self, value: f64) -> bool {
        self.at_most.is_none_or(|most| value <= most * (1.0 + 1e-9))
            && self.at_least.is_none_or(|least| value >= least * (1.0 - 1e-9))
    }
}

/// Multiply-adds of the largest product that a lab may ask for, and edges and counts of what is drawn.
const LARGEST: u128 = 1 << 32;
const MOST: u64 = 1 << 20;

impl Data {
    /// Fails if a teacher's edit cannot be graded.
    pub fn check(&self) -> Result<()> {
        ensure!(self.tasks.first().is_some_and(|task| !task.shapes.is_empty()), "its first task needs shapes");
        ensure!(self.points.values().all(|points| (0.0..=1e6).contains(points)), "points are numbers from 0 on");
        let fits = |size: [u64; 3]| {
            let work = size.iter().fold(1, |all: u128, &edge| all.saturating_mul(edge.into()));
            ensure!((1..=LARGEST).contains(&work), "{} is no shape for the simulator", names(&[size]));
            Ok(())
        };
        fits(self.gain.size)?;
        for task in self.tasks.iter().chain(&self.transfer) {
            task.shapes.iter().try_for_each(|&shape| fits(shape))?;
            if let Some(Random { count, most, multiple }) = task.hidden {
                let drawn = count <= 64 && multiple.is_none_or(|multiple| (1..=MOST).contains(&multiple));
                ensure!(drawn, "at most 64 shapes are drawn, in multiples of 1 to {MOST}");
                fits(most)?;
            }
            for goal in &task.goals {
                goal.measures().iter().try_for_each(|measure| measure.size.map_or(Ok(()), fits))?;
                let Drawn { steps, of } = goal.drawn.unwrap_or(Drawn { steps: [0; 3], of: [1; 3] });
                ensure!(
                    steps.iter().chain(&of).all(|&number| number <= MOST),
                    "a goal is drawn in steps of up to {MOST}"
                );
                fits([0, 1, 2].map(|axis| goal.size[axis].saturating_add(steps[axis] * of[axis])))?;
            }
        }
        Ok(())
    }
}

/// Shapes as people write them, with commas between them.
pub fn names(sizes: &[[u64; 3]]) -> String {
    sizes.iter().map(|[m, n, k]| format!("{m}×{n}×{k}")).collect::<Vec<_>>().join(", ")
}

/// The smallest shape that is larger than a warp along two axes at least, for the hazard check, with one that is deep; else the largest.
pub fn smallest_ragged(shapes: &[[u64; 3]]) -> Vec<[u64; 3]> {
    let volume = |shape: &&[u64; 3]| shape.iter().product::<u64>();
    let is_ragged = |[m, n, k]: &&[u64; 3]| *m > 1 && *n > 1 && m * n > 32 && (m % 32 != 0 || n % 32 != 0) && *k > 1;
    let ragged = || shapes.iter().filter(is_ragged);
    let mut chosen: Vec<[u64; 3]> = ragged().min_by_key(volume).into_iter().copied().collect();
    // Only where there are many tiles is each of several buffers filled twice.
    chosen.extend(ragged().filter(|shape| shape[2] > 128).min_by_key(volume));
    // The whole tiles of the largest one let warps overtake each other.
    chosen.extend(shapes.iter().max_by_key(|shape| volume(shape).min(600_000)));
    chosen.dedup();
    chosen
}

/// Shapes that cannot be prepared for, because they follow from the seed.
pub fn hidden(random: &Random, seed: u64) -> Vec<[u64; 3]> {
    let multiple = random.multiple.unwrap_or(1);
    let edge = |i: u64, axis: usize| {
        let steps = (random.most[axis] / multiple).max(1);
        multiple * (1 + mix(seed ^ (i * 3 + axis as u64)) % steps)
    };
    (0..random.count).map(|i| [0, 1, 2].map(|axis| edge(i, axis))).collect()
}

/// A task that is drawn.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub seed: u64,
    template: Task,
    kind: Kind,
    pub tile: Option<u32>,
    /// In C = α·A·B + β·C.
    alpha: i64,
    beta: i64,
    /// Products in a batch.
    batch: u64,
}

impl Transfer {
    /// Draws a task from those of a lab; none if it has none.
    pub fn draw(templates: &[Task], seed: u64) -> Option<Self> {
        let drawn = |what: u64, count: usize| (mix(seed ^ what << 32) % count.max(1) as u64) as usize;
        let template = templates.get(drawn(1, templates.len()))?.clone();
        let tile = template.tiles.get(drawn(2, template.tiles.len())).copied();
        let beta = 2 + drawn(4, 8) as i64;
        let beta = if drawn(6, 2) == 0 { -beta } else { beta };
        let (alpha, batch) = (2 + drawn(3, 8) as i64, 2 + drawn(5, 4) as u64);
        Some(Self { seed, kind: template.kind?, template, tile, alpha, beta, batch })
    }

    /// The task as the lab's only one.
    pub fn task(&self) -> Task {
        let task = self.template.clone();
        let share = f64::from(self.tile.unwrap_or(32)) / 32.0;
        let goal = |goal: Goal| {
            let goal = Goal { size: self.shape(goal.size), ..goal };
            if goal.counter != "flop_per_byte" {
                return goal;
            }
            let least = goal.at_least.map(|least| least * share);
            let words = format!("at least {} {}", least.unwrap_or_default(), goal.words);
            Goal { at_least: least, words, ..goal }
        };
        Task {
            name: self.filled(&task.name),
            shapes: task.shapes.into_iter().map(|shape| self.shape(shape)).collect(),
            goals: task.goals.into_iter().map(goal).collect(),
            ..task
        }
    }

    /// Fills the drawn numbers into a text of the template.
    fn filled(&self, text: &str) -> String {
        let beta = format!("{} {}", if self.beta < 0 { '-' } else { '+' }, self.beta.abs());
        let filled = text.replace("{alpha}", &self.alpha.to_string()).replace("{beta}", &beta);
        filled.replace("{batch}", &self.batch.to_string())
    }

    /// The file that the learner begins with.
    pub fn start(&self, lab: &str, rust: bool) -> String {
        let mut text = format!("// Lab {lab}, a transfer task: {}.\n", self.filled(&self.template.name));
        text.extend(self.template.about.iter().map(|line| format!("// {line}\n")));
        text += "// Beside a right product at any shape and no hazard, this is asked for:\n";
        text.extend(self.task().goals.iter().map(|goal| format!("// - {}\n", goal.words)));
        let launch = self.tile.map(|tile| format!("block {tile},{tile} tile {tile},{tile}"));
        if let Some(launch) = launch.or(self.template.launch.clone()) {
            text += "// Threads of a block in x and y, and the columns and rows of C that it computes:\n";
            text += &format!("// launch: {launch}\n");
        }
        if let Some(tile) = self.tile {
            text += &if rust { format!("const TILE: u32 = {tile};\n") } else { format!("#define TILE {tile}\n") };
        }
        text + "\n" + if rust { KERNEL_IN_RUST } else { KERNEL }
    }

    /// The shape that is meant by M, N and K where the task binds them together.
    pub fn shape(&self, [m, n, k]: [u64; 3]) -> [u64; 3] {
        match self.kind {
            Kind::Lower => [m, n, m],
            Kind::Symmetric => [m, m, k],
            _ => [m, n, k],
        }
    }

    /// The product of the task at a size.
    pub fn asked(&self, problem: &Problem) -> Asked {
        let kind = self.kind;
        let batch = if kind == Kind::Batch { self.batch } else { 1 };
        let weights = if self.template.scaled { [self.alpha as f32, self.beta as f32] } else { [1.0, 0.0] };
        Asked { kind, batch, weights, ..Asked::product(problem) }
    }

    /// The plan of the problem whose C the blocks cover, with the sizes of the whole one.
    pub fn planned(&self, problem: &Problem, plan: impl FnOnce(&Problem) -> Result<Plan>) -> Result<Plan> {
        let n = if self.kind == Kind::RowSums { 1 } else { problem.n };
        let mut plan = plan(&Problem { n, ..*problem })?;
        for launch in &mut plan.launches {
            let sizes = launch.args.iter_mut().filter(|arg| matches!(arg, Arg::Int(_)));
            for (arg, size) in sizes.zip([problem.m, problem.n, problem.k]) {
                *arg = Arg::Int(size as i32);
            }
            if self.kind == Kind::Batch {
                launch.grid[2] = self.batch as u32;
            }
        }
        Ok(plan)
    }

    /// Runs the kernel, and compares C with the right product.
    pub fn run(&self, device: &mut dyn Device, problem: &Problem, plan: Plan, code: &Code) -> Result<Verification> {
        let (asked, (a, b, c, expected)) = (self.asked(problem), self.numbers(problem));
        let mut buffer = |name: &str, elements: &[f32]| {
            let buffer = device.alloc(name, elements.len() as u64 * 4)?;
            device.write(buffer, 0, bytemuck::cast_slice(elements)).map(|()| buffer)
        };
        let inputs = [buffer("A", &a)?, buffer("B", &b)?];
        let at = buffer("C", &c.clone().unwrap_or(expected.clone()))?;
        if c.is_none() {
            device.fill(at, problem.dtype.poison_byte())?;
        }
        let matrices = Matrices { problem: *problem, a: inputs[0], b: inputs[1], c: at };
        let session = Session::sharing(device, plan, code, &matrices)?;
        observations(device);
        session.launch(device)?;
        device.synchronize()?;
        let mut words = vec![0_u32; expected.len()];
        device.read(at, 0, bytemuck::cast_slice_mut(&mut words))?;
        let found = verdict(problem, &words, &expected, asked.columns() as usize);
        for (side, before) in Side::BOTH.into_iter().zip([&a, &b]) {
            let mut read = |first, bytes: &mut [u8]| device.read(inputs[side as usize], first, bytes);
            if let Some((index, values)) = verify::changed(bytemuck::cast_slice(before), &mut read)? {
                let [was, is] = values.map(|word| f64::from(f32::from_bits(word)));
                return Ok(found.scribbled(side, &asked.name(side, asked.place(side, index)), was, is));
            }
        }
        Ok(found)
    }

    /// The elements of A and B, those of C before the launch, if the task uses them, and those of C as they should be.
    pub fn numbers(&self, problem: &Problem) -> (Vec<f32>, Vec<f32>, Option<Vec<f32>>, Vec<f32>) {
        let (asked, kind) = (self.asked(problem), self.kind);
        let [m, n, k] = [problem.m, problem.n, problem.k].map(|edge| edge as usize);
        let batch = asked.batch as usize;
        let drawn = |side: u64, count: usize| -> Vec<i64> {
            (0..count as u64).map(|i| (mix(problem.seed ^ side << 60 ^ i) % 7) as i64 - 3).collect()
        };
        let (a, b) = (drawn(1, batch * m * k), drawn(2, if kind == Kind::Symmetric { 1 } else { batch * k * n }));
        let before = drawn(3, (asked.rows() * asked.columns()) as usize);
        let sum = |(index, before): (u64, &i64)| {
            let [row, col] = asked.needs(index);
            let of_a = |k: u64| a[asked.index(Side::A, (row, k)) as usize];
            let of_b = |k: u64| if kind == Kind::Symmetric { &a } else { &b }[asked.index(Side::B, (col, k)) as usize];
            let sum: i64 = (0..asked.depth(row)).map(|k| of_a(k) * of_b(k)).sum();
            if asked.is_scaled() { self.alpha * sum + self.beta * before } else { sum }
        };
        let expected = (0..).zip(&before).map(sum).collect();
        let floats = |whole: Vec<i64>| -> Vec<f32> { whole.into_iter().map(|element| element as f32).collect() };
        let mut stored = floats(a.clone());
        for (at, element) in stored.iter_mut().enumerate() {
            if kind == Kind::Lower && at % k > at / k {
                *element = f32::NAN;
            }
        }
        let before = asked.is_scaled().then(|| floats(before));
        (stored, floats(b), before, floats(expected))
    }
}

/// The start of a learner's file below its head.
const KERNEL: &str = include_str!("../../transfer.cu");
const KERNEL_IN_RUST: &str = include_str!("../../transfer.rs.txt");

fn verdict(problem: &Problem, words: &[u32], expected: &[f32], columns: usize) -> Verification {
    let wrong = |(at, (&word, &expected)): (usize, (&u32, &f32))| {
        let got = f32::from_bits(word);
        (got.partial_cmp(&expected) != Some(Ordering::Equal)).then(|| Mismatch {
            row: (at / columns) as u64,
            col: (at % columns) as u64,
            got: got.is_finite().then_some(f64::from(got)),
            expected: f64::from(expected),
            unwritten: word == problem.dtype.poison(),
        })
    };
    let mut mismatches: Vec<Mismatch> = words.iter().zip(expected).enumerate().filter_map(wrong).collect();
    let (ok, alike) = (mismatches.is_empty(), verify::factor(problem.k, &mismatches));
    let unclear = !ok && alike.is_none();
    let alike = alike.map_or_else(String::new, |alike| format!(": {alike}"));
    let words = || format!("{} of {} elements are wrong{alike}", mismatches.len(), expected.len());
    let diagnosis = (!ok).then(words);
    mismatches.truncate(10);
    Verification { ok, diagnosis, unclear, mismatches, ..Verification::failed(problem, String::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Lab;
    use plan::{Dtype, Fill};

    #[test]
    fn hidden_shapes_follow_their_seed_and_stay_within_bounds() {
        let random = Random { count: 3, most: [100, 7, 1], multiple: None };
        assert_eq!(hidden(&random, 5), hidden(&random, 5));
        assert_ne!(hidden(&random, 5), hidden(&random, 6));
        for seed in 0..200 {
            for shape in hidden(&random, seed) {
                assert!((0..3).all(|axis| (1..=random.most[axis]).contains(&shape[axis])), "{shape:?}");
            }
            for shape in hidden(&Random { multiple: Some(32), most: [100, 96, 32], ..random.clone() }, seed) {
                assert!(shape.iter().all(|edge| [32, 64, 96].contains(edge)) && shape[2] == 32, "{shape:?}");
            }
        }
    }

    /// The elements of a matrix, turned.
    fn turned(elements: &[f32], columns: usize) -> Vec<f32> {
        (0..columns).flat_map(|col| elements.iter().skip(col).step_by(columns)).copied().collect()
    }

    /// The sum of `row` and `col` of two matrices, M×K and K×N.
    fn product(a: &[f32], b: &[f32], k: usize) -> Vec<f32> {
        let (a, b) = (a.chunks(k), turned(b, b.len() / k));
        let sum = |one: &[f32], other: &[f32]| one.iter().zip(other).map(|(one, other)| one * other).sum();
        a.flat_map(|row| b.chunks(k).map(move |col| sum(row, col))).collect()
    }

    #[test]
    fn what_is_expected_is_what_is_asked_and_seeds_draw_all_of_it() {
        for number in 1..=6 {
            let lab = Lab::find(&number.to_string()).unwrap();
            let mut drawn = vec![];
            for seed in 0..60 {
                let lab = lab.drawn(seed).unwrap();
                let (start, _) = lab.begins_with().unwrap();
                assert_eq!(start, Lab::find(&lab.name).unwrap().begins_with().unwrap().0);
                let (in_rust, _) = Lab::find(&lab.name).unwrap().in_rust().unwrap().begins_with().unwrap();
                assert_eq!(start.lines().next(), in_rust.lines().next());
                assert!(start.lines().all(|line| line.chars().count() <= 100) && !start.contains("{a"), "{start}");
                let task = lab.transfer.unwrap();
                let [m, n, k] = task.shape([5, 4, 3]);
                let problem = Problem { m, n, k, dtype: Dtype::F32, fill: Fill::Integers, seed };
                let (a, b, c, expected) = task.numbers(&problem);
                let [m, n, k] = [m, n, k].map(|edge| edge as usize);
                let lower = |element: &f32| if element.is_nan() { 0.0 } else { *element };
                let scaled = |(sum, before): (f32, f32)| task.alpha as f32 * sum + task.beta as f32 * before;
                let right: Vec<f32> = match task.kind {
                    Kind::TransposedA => product(&turned(&a, m), &b, k),
                    Kind::TransposedB => product(&a, &turned(&b, k), k),
                    Kind::Symmetric => product(&a, &turned(&a, k), k),
                    Kind::Product => product(&a, &b, k),
                    Kind::RowSums => product(&a, &b, k).chunks(n).map(|row| row.iter().sum()).collect(),
                    Kind::Lower => product(&a.iter().map(lower).collect::<Vec<_>>(), &b, k),
                    Kind::Batch => a.chunks(m * k).zip(b.chunks(k * n)).flat_map(|(a, b)| product(a, b, k)).collect(),
                };
                let right = match c {
                    Some(c) => right.into_iter().zip(c).map(scaled).collect(),
                    None => right,
                };
                assert_eq!(expected, right, "{:?}", task.kind);
                drawn.push(task.template.kind);
            }
            let changed: Vec<usize> = lab.data.transfer.iter().map(|task| task.changed.unwrap()).collect();
            let [least, most] = [changed.iter().min(), changed.iter().max()].map(|changed| *changed.unwrap());
            assert!(most - least <= 2, "the tasks of lab {number} are not equally hard: {changed:?} lines");
            assert!(
                lab.data.transfer.iter().all(|task| task.hidden.is_some() && drawn.contains(&task.kind)),
                "lab {number}"
            );
        }
        assert!(Lab::find("tensor_cores-1").is_err() && Lab::find("4-x").is_err());
    }
}
