//! `cargo x shapes`: the kernel for every shape against cuBLAS at random shapes, on a GPU; and the times from which its rule
//! chooses a tiling, fitted to the GPU at hand.

mod draw;
pub mod measured;
mod times;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use common::check::verify_c;
use common::cli::parse_size;
use common::cost::Choice;
use common::cublas_product::CublasProduct;
use common::device::{self, Device, SimOptions};
use common::exec::Session;
use common::matrix::Operands;
use common::output::print;
use common::product::{Matrices, Product};
use common::timing::{self, Cache, Spread};
use common::{Dtype, Fill, Plan, Problem, json};
use course::files::write;

use crate::one_kernel::{OneKernel, provenance};
use measured::{Measured, Shape, Timed};
use times::Times;

const KERNEL: &str = "step06_prefetch/every_shape";
/// Plans that are expected to take up to so many times as long as the best are measured, too.
const NEAR: f64 = 1.3;
/// The same where the figures are fitted.
const NEAR_TO_FIT: f64 = 2.5;
/// Milliseconds of a sample, about.
const SAMPLE_MS: f64 = 0.6;
/// Samples of the plans that are compared, and of each of the others.
const SAMPLES: usize = 9;

#[derive(clap::Args)]
pub struct Options {
    /// The folder for shapes.json, or for every_shape.json
    out: PathBuf,
    /// Fit the figures of the rule to this GPU: every tiling is measured, also with copies of 2 and of 1 element
    #[arg(long)]
    tune: bool,
    /// Fit the figures again to the times of this file, which --tune has written; needs no GPU
    #[arg(long, value_name = "FILE", conflicts_with = "tune")]
    times: Option<PathBuf>,
    /// How many shapes
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    count: u16,
    /// Another seed draws other shapes
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// These shapes, MxNxK with commas between them, and not random ones
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_size)]
    sizes: Vec<[u64; 3]>,
    /// Minutes after which no more is begun
    #[arg(long, value_name = "M", default_value_t = 5.0)]
    minutes: f64,
    /// The commit for the record, if git cannot tell it
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
    /// Where to compute: cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: device::Choice,
}

/// Runs the command; `false` if a product is wrong.
pub fn run(options: &Options) -> Result<bool> {
    if let Some(path) = &options.times {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let times: Times = serde_json::from_str(&text).with_context(|| {
            format!("{} holds no times; cargo x shapes OUT --tune writes times.json", path.display())
        })?;
        times.fit(&options.out)?;
        return Ok(true);
    }
    let mut device = device::open(options.device, &SimOptions::default())?;
    let device = device.as_mut();
    let kernel = OneKernel::named(KERNEL)?;
    let sizes = match options.sizes.as_slice() {
        [] => draw::shapes(options.seed, options.count.into()),
        sizes => sizes.to_vec(),
    };
    let end = Instant::now() + Duration::from_secs_f64(options.minutes.clamp(0.1, 600.0) * 60.0);
    let mut bench = Bench { device, kernel };
    if options.tune { bench.tune(options, &sizes, end) } else { bench.record(options, &sizes, end) }
}

struct Bench<'a> {
    device: &'a mut dyn Device,
    kernel: OneKernel,
}

impl Bench<'_> {
    fn session(&mut self, plan: &Plan, matrices: &Matrices) -> Result<Session> {
        self.kernel.session(self.device, plan, matrices)
    }

    /// One sample in µs.
    fn sample(&mut self, product: &dyn Product, products: usize) -> Result<f64> {
        Ok(timing::sample(self.device, product, &mut Cache::warm(), products)? * 1e3)
    }

    /// The shorter of two samples in µs.
    fn least_of_two(&mut self, product: &dyn Product, products: usize) -> Result<f64> {
        Ok(self.sample(product, products)?.min(self.sample(product, products)?))
    }

    /// Each of the plans once or twice, then the best few and the library in turns: their medians in µs.
    fn measure(&mut self, problem: &Problem, chosen: &Plan, plans: &[Choice]) -> Result<Shape> {
        let matrices = Matrices::allocate(self.device, problem)?;
        let operands = Operands::new(problem)?;
        matrices.upload(self.device, &operands)?;
        let library = CublasProduct::new(self.device, &matrices)?;
        let own = self.session(chosen, &matrices)?;
        own.run(self.device)?;
        let right = verify_c(self.device, &own, problem, &operands)?.ok;
        let expected = |plan: &Plan| plans.iter().find(|one| one.plan == *plan).map(|one| one.expected_us);
        let products = products_per_sample(self.least_of_two(&library, 1)?);
        let mut timed = Vec::new();
        for choice in plans.iter().filter(|one| one.plan != *chosen) {
            let session = self.session(&choice.plan, &matrices)?;
            self.sample(&session, 1)?;
            let us = self.least_of_two(&session, products)?;
            timed.push((choice.plan.clone(), us));
            session.close(self.device)?;
        }
        timed.sort_by(|a, b| a.1.total_cmp(&b.1));
        // In turns with the library: what was chosen, and the fastest of each kind.
        let groups =
            |plan: &Plan| plan.specialisation.defines.iter().any(|(name, value)| name == "GROUPS" && value != "1");
        let first =
            |keep: &dyn Fn(&Plan) -> bool| timed.iter().find(|(plan, _)| keep(plan)).map(|(plan, _)| plan.clone());
        let rivals = [first(&|_| true), first(&|plan| !groups(plan)), first(&|plan| plan.launches.len() == 1)];
        let mut runners: Vec<(Option<Plan>, Box<dyn Product>)> = vec![(None, Box::new(library))];
        runners.push((Some(chosen.clone()), Box::new(own)));
        for plan in rivals.into_iter().flatten() {
            if !runners.iter().any(|(other, _)| other.as_ref() == Some(&plan)) {
                runners.push((Some(plan.clone()), Box::new(self.session(&plan, &matrices)?)));
            }
        }
        let mut samples = vec![Vec::new(); runners.len()];
        for _ in 0..SAMPLES {
            for ((_, product), samples) in runners.iter().zip(&mut samples) {
                samples.push(self.sample(product.as_ref(), products)?);
            }
        }
        let medians: Vec<f64> = samples.iter().filter_map(|samples| Some(Spread::of(samples)?.median)).collect();
        let best_of = |keep: &dyn Fn(&Plan) -> bool| {
            let of = runners.iter().zip(&medians).filter_map(|((plan, _), us)| Some((plan.as_ref()?, *us)));
            let best = of.filter(|(plan, _)| keep(plan)).min_by(|a, b| a.1.total_cmp(&b.1));
            best.map(|(plan, us)| Timed {
                name: plan.specialisation.name.clone(),
                slices: plan.launches[0].grid[2],
                expected_us: expected(plan).map(rounded),
                us: rounded(us),
            })
        };
        let shape = Shape {
            size: [problem.m, problem.n, problem.k],
            cublas_us: rounded(medians[0]),
            right,
            chosen: best_of(&|plan| plan == chosen).context("the chosen plan was not timed; run again")?,
            best: best_of(&|_| true).context("no plan was timed; run again")?,
            without_groups: best_of(&|plan| !groups(plan)),
            without_slices: best_of(&|plan| plan.launches.len() == 1),
        };
        for (_, product) in runners {
            product.close(self.device)?;
        }
        matrices.release(self.device)?;
        Ok(shape)
    }

    fn record(&mut self, options: &Options, sizes: &[[u64; 3]], end: Instant) -> Result<bool> {
        let mut record = Measured {
            provenance: provenance(self.device.info(), options.commit.as_ref()),
            hash: self.kernel.source.hash.clone(),
            seed: options.seed,
            shapes: Vec::new(),
        };
        let problems: Vec<Problem> = sizes.iter().map(|&size| problem(size)).collect();
        for (problem, (chosen, choices)) in problems.iter().zip(self.kernel.plans(self.device.info(), &problems)?) {
            if Instant::now() > end {
                print("the minutes are over; what was measured is recorded\n")?;
                break;
            }
            let shape = self.measure(problem, &chosen, &near(choices, NEAR))?;
            let Shape { size: [m, n, k], chosen, best, .. } = &shape;
            print(&format!(
                "{m}×{n}×{k}: {} in {} slices {:.1} µs, {:.3} of cuBLAS; best {} in {} {:.1} µs{}\n",
                chosen.name,
                chosen.slices,
                chosen.us,
                shape.ratio(),
                best.name,
                best.slices,
                best.us,
                if shape.right { "" } else { "; WRONG" }
            ))?;
            record.shapes.push(shape);
            write(&options.out.join("shapes.json"), &json::lines(&record, 2)?)?;
        }
        let (even, odd): (Vec<&Shape>, Vec<&Shape>) = record.shapes.iter().partition(|shape| shape.is_even());
        print(&format!("multiples of 4, {}\n", measured::summary(&even)))?;
        print(&format!("any sides, {}\n", measured::summary(&odd)))?;
        Ok(record.shapes.iter().all(|shape| shape.right))
    }

    /// Times every choice that is not far off at every shape, and fits the figures to the times.
    fn tune(&mut self, options: &Options, sizes: &[[u64; 3]], end: Instant) -> Result<bool> {
        let info = self.device.info().clone();
        if !info.compiles {
            bail!(
                "NVRTC is not there, and not every specialisation is committed; install it (cargo course doctor says how)"
            );
        }
        let problems: Vec<Problem> = sizes.iter().map(|&size| problem(size)).collect();
        let mut shapes = Vec::new();
        for (problem, (_, choices)) in problems.iter().zip(self.kernel.plans(self.device.info(), &problems)?) {
            if Instant::now() > end {
                break;
            }
            let matrices = Matrices::allocate(self.device, problem)?;
            matrices.upload(self.device, &Operands::new(problem)?)?;
            let mut times = Vec::new();
            for choice in near(choices, NEAR_TO_FIT) {
                let session = self.session(&choice.plan, &matrices)?;
                let products = products_per_sample(self.least_of_two(&session, 1)?);
                let us = self.least_of_two(&session, products)?;
                times.push((choice.plan.specialisation.name.clone(), choice.work, us));
                session.close(self.device)?;
            }
            matrices.release(self.device)?;
            shapes.push(times);
        }
        let measured = format!("{}; {} shapes", provenance(&info, options.commit.as_ref()), shapes.len());
        let times = Times { gpu: info.name, sm_count: info.sm_count, measured, shapes };
        write(&options.out.join("times.json"), &json::lines(&times, 2)?)?;
        times.fit(&options.out)?;
        Ok(true)
    }
}

/// The choices that are expected to take at most so many times as long as the best.
fn near(choices: Vec<Choice>, factor: f64) -> Vec<Choice> {
    let best = choices.iter().map(|choice| choice.expected_us).fold(f64::INFINITY, f64::min);
    choices.into_iter().filter(|choice| choice.expected_us <= factor * best).collect()
}

fn problem([m, n, k]: [u64; 3]) -> Problem {
    Problem { m, n, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: 1 }
}

/// How many products of such a time make a sample.
fn products_per_sample(us: f64) -> usize {
    (SAMPLE_MS * 1e3 / us.max(1.0)).ceil().clamp(1.0, 40.0) as usize
}

fn rounded(us: f64) -> f64 {
    (us * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_three_sides() {
        assert_eq!(parse_size("1x20x300").unwrap(), [1, 20, 300]);
        for wrong in ["", "1x2", "1x2x3x4", "0x1x1", "axbxc", "1x2x-3"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
