//! A race of plans on a GPU: first each plan is timed alone, then the best few and cuBLAS in turns.

use anyhow::{Context, Result};
use common::basics::Operands;
use common::device::Device;
use common::{Plan, Problem};

use super::ideas::Field;
use super::measured::{Shape, Timed};
use crate::bench::{Bench, OneKernel};
use step06_prefetch::STEP;

/// Times the chosen plan, the fastest one, the fastest without each idea that the chosen one uses, cuBLAS and, if it is given,
/// step 6's kernel.
pub fn measure(
    device: &mut dyn Device,
    kernel: &OneKernel,
    problem: &Problem,
    field: &Field,
    before: Option<&OneKernel>,
) -> Result<Shape> {
    let mut bench = Bench::new(device, problem, Operands::new(problem)?)?;
    bench.enter_cublas(false)?;
    bench.enter(kernel, &field.chosen)?;
    let mut right = bench.is_right(1)?;
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
    let mut plan_before = None;
    if let Some(step) = before {
        let plan = plan_before.insert((step.plan)(problem, bench.device.info())?);
        bench.enter(step, plan)?;
        right &= bench.is_right(plans.len() + 1)?;
    }
    let medians: Vec<f64> = bench.in_turns()?.into_iter().map(|spread| rounded(spread.median)).collect();
    bench.close()?;
    let (&cublas_us, ours) = medians.split_first().context("nothing was timed; run again")?;
    let timed = |plan: &Plan, us| {
        let expected_us = field.expected.iter().find(|(other, _)| other == plan).map(|(_, us)| rounded(*us));
        Timed { name: plan.specialisation.name.clone(), slices: plan.slices(), expected_us, us }
    };
    let fastest = |keep: &dyn Fn(&Plan) -> bool| {
        let kept = plans.iter().zip(ours).filter(|(plan, _)| keep(plan));
        kept.min_by(|a, b| a.1.total_cmp(b.1)).map(|(plan, &us)| timed(plan, us))
    };
    let without = field.ideas.iter().filter_map(|idea| {
        let fastest = fastest(&|plan| idea.is_absent(plan))?;
        Some((idea.name.to_owned(), fastest))
    });
    let before = plan_before.zip(ours.last()).map(|(plan, &us)| (STEP.name.to_owned(), timed(&plan, us)));
    Ok(Shape {
        size: [problem.m, problem.n, problem.k],
        cublas_us,
        right,
        chosen: fastest(&|plan| *plan == field.chosen).context("the chosen plan was not timed; run again")?,
        best: fastest(&|_| true).context("no plan was timed; run again")?,
        without: without.chain(before).collect(),
    })
}

fn rounded(us: f64) -> f64 {
    (us * 1e3).round() / 1e3
}
