//! Plans in a race on a GPU: each alone at first, then the best few and the library in turns.

use anyhow::{Context, Result};
use common::basics::matrix::Operands;
use common::device::Device;
use common::device::cublas::CublasProduct;
use common::device::product::{Matrices, Product};
use common::device::session::Session;
use common::measure::timing::{self, Cache, Spread};
use common::verify::on_device::verify_c;
use common::{Plan, Problem};

use super::ideas::Field;
use super::measured::{Shape, Timed};
use crate::one_kernel::OneKernel;

/// Milliseconds of a sample, about.
const SAMPLE_MS: f64 = 0.6;
/// Samples of each plan that runs in turns with others.
const SAMPLES: usize = 9;

/// A GPU, and the kernel whose plans run on it.
pub struct Bench<'a> {
    pub device: &'a mut dyn Device,
    pub kernel: OneKernel,
}

impl Bench<'_> {
    /// The chosen plan, the fastest, the fastest without each idea that the chosen one uses, and the library.
    pub fn measure(&mut self, problem: &Problem, field: &Field) -> Result<Shape> {
        let matrices = Matrices::allocate(self.device, problem)?;
        let operands = Operands::new(problem)?;
        matrices.upload(self.device, &operands)?;
        let library = CublasProduct::new(self.device, &matrices)?;
        let own = self.session(&field.chosen, &matrices)?;
        own.run(self.device)?;
        let right = verify_c(self.device, &own, problem, &operands)?.ok;
        let products = products_per_sample(self.least_of_two(&library, 1)?);
        let mut runners: Vec<Box<dyn Product>> = vec![Box::new(library), Box::new(own)];
        let rivals = finalists(field, &self.alone(&field.others, &matrices, products)?);
        for plan in &rivals {
            runners.push(Box::new(self.session(plan, &matrices)?));
        }
        let medians = self.in_turns(&runners, products)?;
        let (library, ours) = medians.split_first().context("nothing was timed; run again")?;
        let plans: Vec<(&Plan, f64)> =
            std::iter::once(&field.chosen).chain(&rivals).zip(ours).map(|(plan, us)| (plan, *us)).collect();
        let shape = result(problem, field, right, *library, &plans)?;
        for product in runners {
            product.close(self.device)?;
        }
        matrices.release(self.device)?;
        Ok(shape)
    }

    pub fn session(&mut self, plan: &Plan, matrices: &Matrices) -> Result<Session> {
        self.kernel.session(self.device, plan, matrices)
    }

    /// One sample in µs.
    fn sample(&mut self, product: &dyn Product, products: usize) -> Result<f64> {
        Ok(timing::sample(self.device, product, &mut Cache::warm(), products)? * 1e3)
    }

    /// The shorter of two samples in µs.
    pub fn least_of_two(&mut self, product: &dyn Product, products: usize) -> Result<f64> {
        Ok(self.sample(product, products)?.min(self.sample(product, products)?))
    }

    /// Each plan by itself, the fastest first.
    fn alone(&mut self, plans: &[Plan], matrices: &Matrices, products: usize) -> Result<Vec<Plan>> {
        let mut timed = Vec::new();
        for plan in plans {
            let session = self.session(plan, matrices)?;
            self.sample(&session, 1)?;
            timed.push((plan.clone(), self.least_of_two(&session, products)?));
            session.close(self.device)?;
        }
        timed.sort_by(|a, b| a.1.total_cmp(&b.1));
        Ok(timed.into_iter().map(|(plan, _)| plan).collect())
    }

    /// The medians in µs of products that take turns.
    pub fn in_turns(&mut self, runners: &[Box<dyn Product>], products: usize) -> Result<Vec<f64>> {
        let mut samples = vec![Vec::new(); runners.len()];
        for _ in 0..SAMPLES {
            for (product, samples) in runners.iter().zip(&mut samples) {
                samples.push(self.sample(product.as_ref(), products)?);
            }
        }
        Ok(samples.iter().filter_map(|samples| Some(Spread::of(samples)?.median)).collect())
    }
}

/// Of plans, the fastest first: the fastest, and the fastest without each idea.
fn finalists(field: &Field, sorted: &[Plan]) -> Vec<Plan> {
    let mut finalists: Vec<Plan> = sorted.first().cloned().into_iter().collect();
    for idea in &field.ideas {
        let fastest = sorted.iter().find(|plan| idea.is_absent(plan));
        finalists.extend(fastest.filter(|plan| !finalists.contains(plan)).cloned());
    }
    finalists
}

/// What is kept of the medians.
fn result(problem: &Problem, field: &Field, right: bool, cublas_us: f64, plans: &[(&Plan, f64)]) -> Result<Shape> {
    let best_of = |keep: &dyn Fn(&Plan) -> bool| {
        let (plan, us) = plans.iter().filter(|(plan, _)| keep(plan)).min_by(|a, b| a.1.total_cmp(&b.1))?;
        let expected = field.expected.iter().find(|(other, _)| other == *plan);
        Some(Timed {
            name: plan.specialisation.name.clone(),
            slices: plan.slices(),
            expected_us: expected.map(|(_, us)| rounded(*us)),
            us: rounded(*us),
        })
    };
    let without = field.ideas.iter().filter_map(|idea| {
        let fastest = best_of(&|plan| idea.is_absent(plan))?;
        Some((idea.name.to_owned(), fastest))
    });
    Ok(Shape {
        size: [problem.m, problem.n, problem.k],
        cublas_us: rounded(cublas_us),
        right,
        chosen: best_of(&|plan| *plan == field.chosen).context("the chosen plan was not timed; run again")?,
        best: best_of(&|_| true).context("no plan was timed; run again")?,
        without: without.collect(),
    })
}

/// How many products of such a time make a sample.
pub fn products_per_sample(us: f64) -> usize {
    (SAMPLE_MS * 1e3 / us.max(1.0)).ceil().clamp(1.0, 40.0) as usize
}

pub fn rounded(us: f64) -> f64 {
    (us * 1e3).round() / 1e3
}
