//! A race of plans on a GPU: first each plan is timed alone, then the best few and cuBLAS in turns.

use anyhow::{Context, Result};
use common::basics::matrix::Operands;
use common::device::Device;
use common::{Plan, Problem};

use super::ideas::Field;
use super::measured::{Shape, Timed};
use crate::bench::{Bench, OneKernel};

/// Times the chosen plan, the fastest one, the fastest without each idea that the chosen one uses, and cuBLAS.
pub fn measure(device: &mut dyn Device, kernel: &OneKernel, problem: &Problem, field: &Field) -> Result<Shape> {
    let mut bench = Bench::new(device, problem, Operands::new(problem)?)?;
    bench.enter_cublas(false)?;
    bench.enter(kernel, &field.chosen)?;
    let right = bench.is_right(1)?;
    let alone = field.others.iter().map(|plan| Ok((plan, bench.alone(kernel, plan)?)));
    let mut alone: Vec<(&Plan, f64)> = alone.collect::<Result<_>>()?;
    alone.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut plans = vec![&field.chosen];
    let absent = field.ideas.iter().map(|idea| alone.iter().find(|(plan, _)| idea.is_absent(plan)));
    for (rival, _) in [alone.first()].into_iter().chain(absent).flatten() {
        if !plans.contains(rival) {
            bench.enter(kernel, rival)?;
            plans.push(rival);
        }
    }
    let medians: Vec<f64> = bench.in_turns()?.into_iter().map(|spread| rounded(spread.median)).collect();
    bench.close()?;
    let (&cublas_us, ours) = medians.split_first().context("nothing was timed; run again")?;
    let fastest = |keep: &dyn Fn(&Plan) -> bool| {
        let timed = plans.iter().zip(ours).filter(|(plan, _)| keep(plan));
        let (&plan, &us) = timed.min_by(|a, b| a.1.total_cmp(b.1))?;
        let expected_us = field.expected.iter().find(|(other, _)| other == plan).map(|(_, us)| rounded(*us));
        Some(Timed { name: plan.specialisation.name.clone(), slices: plan.slices(), expected_us, us })
    };
    let without = field.ideas.iter().filter_map(|idea| {
        let fastest = fastest(&|plan| idea.is_absent(plan))?;
        Some((idea.name.to_owned(), fastest))
    });
    Ok(Shape {
        size: [problem.m, problem.n, problem.k],
        cublas_us,
        right,
        chosen: fastest(&|plan| *plan == field.chosen).context("the chosen plan was not timed; run again")?,
        best: fastest(&|_| true).context("no plan was timed; run again")?,
        without: without.collect(),
    })
}

pub fn rounded(us: f64) -> f64 {
    (us * 1e3).round() / 1e3
}
