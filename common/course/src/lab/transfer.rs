//! Transfer tasks: a product that differs from the course's, drawn from a seed. The course does not contain its answer: the task, the edge
//! of a tile and the factors follow from the seed.
//!
//! All elements are small integers, so that any order of summation gives the same sum and C is known exactly.

use std::cmp::Ordering;

use anyhow::Result;
use common::basics::mix;
use common::code::Code;
use common::device::{Device, Matrices, Product as _, Session};
use common::findings::HazardReport;
use common::findings::why::{Asked, Kind, Side};
use common::verify::{self, Mismatch, Verification};
use plan::{Arg, Plan, Problem};

use crate::lab::task::{Goal, Task, Template};

/// A task that is drawn.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub seed: u64,
    pub template: Template,
    tile: Option<u32>,
    /// In C = α·A·B + β·C.
    alpha: i64,
    beta: i64,
    /// Products in a batch.
    batch: u64,
}

impl Transfer {
    /// Draws a task from those of a lab; none if it has none.
    pub fn draw(templates: &[Template], seed: u64) -> Option<Self> {
        let drawn = |what: u64, count: usize| (mix(seed ^ what << 32) % count.max(1) as u64) as usize;
        let template = templates.get(drawn(1, templates.len()))?.clone();
        let tile = template.tiles.get(drawn(2, template.tiles.len())).copied();
        let (alpha, beta, batch) = (2 + drawn(3, 4) as i64, [-3, -2, 2, 3][drawn(4, 4)], 2 + drawn(5, 4) as u64);
        Some(Self { seed, template, tile, alpha, beta, batch })
    }

    /// The task as the lab's only one.
    pub fn task(&self) -> Task {
        let Template { shapes, hidden, goals, hints, .. } = self.template.clone();
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
            name: self.filled(&self.template.name),
            shapes: shapes.into_iter().map(|shape| self.shape(shape)).collect(),
            hidden: Some(hidden),
            goals: goals.into_iter().map(goal).collect(),
            hints,
            ..Task::default()
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
        for line in &self.template.about {
            text += &format!("// {line}\n");
        }
        text += "// Beside a right product at any shape and no hazard, this is asked for:\n";
        for goal in self.task().goals {
            text += &format!("// - {}\n", goal.words);
        }
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

    /// Rewrites a finding in terms of the task, whose matrices may be stored differently from those of A·B.
    pub fn told(&self, problem: &Problem, mut found: HazardReport) -> HazardReport {
        let asked = self.asked(problem);
        let each = if asked.batch > 1 { "in each product of the batch " } else { "" };
        let layout = |side| format!("{each}{}; read nothing beyond its edges", asked.layout(side));
        let array = found.diagnostic.laid_out.take();
        let help = match array.as_deref() {
            Some("A") => layout(Side::A),
            Some("B") if asked.array(Side::B) == "A" => "there is no B in this task: both factors are of A".into(),
            Some("B") => layout(Side::B),
            Some("C") if asked.kind == Kind::RowSums => "C has M elements, one for each row of A·B: C[row]".into(),
            Some("C") => {
                format!(
                    "{each}C has N columns, so its elements are C[row * N + col]; let one thread store each of them"
                )
            }
            _ => return found,
        };
        found.diagnostic.vague = array.as_deref() != Some("C");
        found.diagnostic.help = help;
        found
    }

    /// The shape that is meant by M, N and K where the task binds them together.
    pub fn shape(&self, [m, n, k]: [u64; 3]) -> [u64; 3] {
        match self.template.kind {
            Kind::Vector => [m, 1, k],
            Kind::Lower => [m, n, m],
            Kind::Symmetric => [m, m, k],
            _ => [m, n, k],
        }
    }

    /// The problem whose C the blocks cover.
    pub fn covered(&self, problem: Problem) -> Problem {
        if self.template.kind == Kind::RowSums { Problem { n: 1, ..problem } } else { problem }
    }

    /// The product of the task at a size.
    pub fn asked(&self, problem: &Problem) -> Asked {
        let kind = self.template.kind;
        let batch = if kind == Kind::Batch { self.batch } else { 1 };
        let weights = if kind == Kind::Scaled { [self.alpha as f32, self.beta as f32] } else { [1.0, 0.0] };
        Asked { kind, batch, weights, ..Asked::product(problem) }
    }

    /// The plan of the covered problem, with the sizes of the whole one.
    pub fn whole(&self, problem: &Problem, mut plan: Plan) -> Plan {
        for launch in &mut plan.launches {
            let sizes = launch.args.iter_mut().filter(|arg| matches!(arg, Arg::Int(_)));
            for (arg, size) in sizes.zip([problem.m, problem.n, problem.k]) {
                *arg = Arg::Int(size as i32);
            }
            if self.template.kind == Kind::Batch {
                launch.grid[2] = self.batch as u32;
            }
        }
        plan
    }

    /// Runs the kernel, and compares C with the right product.
    pub fn run(&self, device: &mut dyn Device, problem: &Problem, plan: Plan, code: &Code) -> Result<Verification> {
        let Data { a, b, c, expected } = self.data(problem);
        let mut buffer = |name: &str, elements: &[f32]| {
            let buffer = device.alloc(name, elements.len() as u64 * 4)?;
            device.write(buffer, 0, bytemuck::cast_slice(elements)).map(|()| buffer)
        };
        let (a, b, at) = (buffer("A", &a)?, buffer("B", &b)?, buffer("C", &c.clone().unwrap_or(expected.clone()))?);
        if c.is_none() {
            device.fill(at, problem.dtype.poison_byte())?;
        }
        let matrices = Matrices { problem: *problem, a, b, c: at };
        let session = Session::sharing(device, plan, code, &matrices)?;
        device.observations();
        session.launch(device)?;
        device.synchronize()?;
        let mut words = vec![0_u32; expected.len()];
        device.read(at, 0, bytemuck::cast_slice_mut(&mut words))?;
        Ok(verdict(problem, &words, &expected, self.asked(problem).columns() as usize))
    }

    /// A, B, C before and after.
    fn data(&self, problem: &Problem) -> Data {
        let (asked, kind) = (self.asked(problem), self.template.kind);
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
            if kind == Kind::Scaled { self.alpha * sum + self.beta * before } else { sum }
        };
        let expected = (0..).zip(&before).map(sum).collect();
        let floats = |whole: Vec<i64>| -> Vec<f32> { whole.into_iter().map(|element| element as f32).collect() };
        let mut stored = floats(a.clone());
        for (at, element) in stored.iter_mut().enumerate() {
            if kind == Kind::Lower && at % k > at / k {
                *element = f32::NAN;
            }
        }
        let before = (kind == Kind::Scaled).then(|| floats(before));
        Data { a: stored, b: floats(b), c: before, expected: floats(expected) }
    }
}

/// The start of a learner's file below its head.
const KERNEL: &str = include_str!("../../transfer.cu");
const KERNEL_IN_RUST: &str = include_str!("../../transfer.rs.txt");

struct Data {
    a: Vec<f32>,
    b: Vec<f32>,
    /// The elements of C before the launch, if the task uses them.
    c: Option<Vec<f32>>,
    expected: Vec<f32>,
}

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
    let alike = verify::factor(problem.k, &mismatches);
    let unclear = alike.is_none();
    let alike = alike.map_or_else(String::new, |alike| format!(": {alike}"));
    let diagnosis = format!("{} of {} elements are wrong{alike}", mismatches.len(), expected.len());
    let ok = mismatches.is_empty();
    mismatches.truncate(10);
    let diagnosis = (!ok).then_some(diagnosis);
    Verification { ok, diagnosis, unclear: !ok && unclear, mismatches, ..Verification::failed(problem, String::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::data::Lab;
    use plan::{Dtype, Fill};

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
                assert_eq!(start, Lab::find(lab.name()).unwrap().begins_with().unwrap().0);
                let (in_rust, _) = Lab::find(lab.name()).unwrap().in_rust().unwrap().begins_with().unwrap();
                assert_eq!(start.lines().next(), in_rust.lines().next());
                assert!(start.lines().all(|line| line.chars().count() <= 100) && !start.contains("{a"), "{start}");
                let task = lab.transfer.unwrap();
                let [m, n, k] = task.shape([5, 4, 3]);
                let Data { a, b, c, expected } =
                    task.data(&Problem { m, n, k, dtype: Dtype::F32, fill: Fill::Integers, seed });
                let [m, n, k] = [m, n, k].map(|edge| edge as usize);
                let lower = |element: &f32| if element.is_nan() { 0.0 } else { *element };
                let scaled = |(sum, before): (f32, f32)| task.alpha as f32 * sum + task.beta as f32 * before;
                let right: Vec<f32> = match task.template.kind {
                    Kind::TransposedA => product(&turned(&a, m), &b, k),
                    Kind::TransposedB => product(&a, &turned(&b, k), k),
                    Kind::Symmetric => product(&a, &turned(&a, k), k),
                    Kind::Vector | Kind::Product => product(&a, &b, k),
                    Kind::RowSums => product(&a, &b, k).chunks(n).map(|row| row.iter().sum()).collect(),
                    Kind::Scaled => product(&a, &b, k).into_iter().zip(c.unwrap()).map(scaled).collect(),
                    Kind::Lower => product(&a.iter().map(lower).collect::<Vec<_>>(), &b, k),
                    Kind::Batch => a.chunks(m * k).zip(b.chunks(k * n)).flat_map(|(a, b)| product(a, b, k)).collect(),
                };
                assert_eq!(expected, right, "{:?}", task.template.kind);
                drawn.push(task.template.kind);
            }
            assert!(lab.data.transfer.iter().all(|template| drawn.contains(&template.kind)), "lab {number}");
        }
        assert!(Lab::find("tensor_cores-1").is_err() && Lab::find("4-x").is_err());
    }
}
