//! A race of plans on a GPU at a shape: the one that the rule chooses, others that are expected to be about as fast, and for each idea
//! that the chosen plan uses some plans without it. First each is timed alone, then the best few and cuBLAS in turns.

use anyhow::{Context, Result};
use common::basics::Operands;
use common::device::Device;
use common::{DeviceInfo, Plan, Problem};
use step06_prefetch::STEP;

use super::tables::{Shape, Timed};
use crate::bench::{Bench, OneKernel};
use crate::cost::Choice;
use crate::every_shape::{self, IDEAS};
use crate::tensor_cores;

/// Plans that are expected to take up to this many times as long as the best are measured too.
const NEAR: f64 = 1.3;
/// For plans without an idea: the same factor over the best of them, and how many are measured at most.
const NEAR_WITHOUT: (f64, usize) = (1.1, 3);

pub struct Field {
    pub chosen: Plan,
    /// All other plans that are measured, each once.
    pub others: Vec<Plan>,
    /// The time in µs that the model expects of a plan.
    pub expected: Vec<(Plan, f64)>,
    /// The ideas that the chosen plan uses, each with the plans that do without it.
    pub ideas: Vec<(&'static str, Vec<Plan>)>,
}

impl Field {
    /// The plans for a problem, with all ideas of the kernel and without each of them.
    pub fn of(problem: &Problem, device: &DeviceInfo) -> Result<Self> {
        let mut field = Self::around(every_shape::plan(problem, device)?, &every_shape::choices(problem, device));
        for idea in IDEAS {
            field.add(idea.name, &(idea.plan)(problem, device)?, &(idea.choices)(problem, device));
        }
        Ok(field)
    }

    /// The plans of the kernel on tensor cores, and the one for FP32 units.
    pub fn on_tensor_cores(problem: &Problem, device: &DeviceInfo) -> Result<Self> {
        let chosen = (tensor_cores::VARIANT.plan.context("tensor_cores has no plan")?)(problem, device)?;
        let mut field = Self::around(chosen, &tensor_cores::choices(problem, device));
        let without = tensor_cores::with_fp32_units(problem, device)?;
        let of_fp32_units = tensor_cores::choices_of_fp32_units(problem, device);
        field.take(of_fp32_units.iter().filter(|choice| choice.plan == without));
        field.add(tensor_cores::VARIANT.name, &without, &[]);
        Ok(field)
    }

    /// The plan that the rule chooses, and no other.
    pub fn chosen(problem: &Problem, device: &DeviceInfo) -> Result<Self> {
        Ok(Self::around(every_shape::plan(problem, device)?, &[]))
    }

    fn around(chosen: Plan, choices: &[Choice]) -> Self {
        let mut field = Self { chosen, others: Vec::new(), expected: Vec::new(), ideas: Vec::new() };
        field.take(near(choices, NEAR));
        field
    }

    fn take<'a>(&mut self, choices: impl IntoIterator<Item = &'a Choice>) {
        for choice in choices {
            self.expected.push((choice.plan.clone(), choice.expected_us));
            self.enter(&choice.plan);
        }
    }

    fn enter(&mut self, plan: &Plan) {
        if *plan != self.chosen && !self.others.contains(plan) {
            self.others.push(plan.clone());
        }
    }

    /// Enters plans without an idea, the one that would be chosen and others, if the chosen plan uses it.
    fn add(&mut self, idea: &'static str, chosen: &Plan, choices: &[Choice]) {
        let mut plans: Vec<Plan> = choices.iter().map(|choice| choice.plan.clone()).collect();
        plans.push(chosen.clone());
        if plans.contains(&self.chosen) {
            return;
        }
        let (factor, most) = NEAR_WITHOUT;
        let mut best = near(choices, factor);
        best.sort_by(|a, b| a.expected_us.total_cmp(&b.expected_us));
        self.take(best.into_iter().take(most));
        self.enter(chosen);
        self.ideas.push((idea, plans));
    }
}

/// The choices that are expected to take at most `factor` times as long as the best.
pub fn near(choices: &[Choice], factor: f64) -> Vec<&Choice> {
    let best = choices.iter().map(|choice| choice.expected_us).fold(f64::INFINITY, f64::min);
    choices.iter().filter(|choice| choice.expected_us <= factor * best).collect()
}

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
    let absent = field.ideas.iter().map(|(_, without)| alone.iter().find(|(plan, _)| without.contains(plan)));
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
    let without = |(idea, plans): &(&str, Vec<Plan>)| Some(((*idea).into(), fastest(&|plan| plans.contains(plan))?));
    let before = plan_before.zip(ours.last()).map(|(plan, &us)| (STEP.name.to_owned(), timed(&plan, us)));
    Ok(Shape {
        size: [problem.m, problem.n, problem.k],
        cublas_us,
        right,
        chosen: fastest(&|plan| *plan == field.chosen).context("the chosen plan was not timed; run again")?,
        best: fastest(&|_| true).context("no plan was timed; run again")?,
        without: field.ideas.iter().filter_map(without).chain(before).collect(),
    })
}

fn rounded(us: f64) -> f64 {
    (us * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_without_an_idea_are_there_however_slow_they_are_expected_to_be() {
        let device = DeviceInfo { compiles: true, ..DeviceInfo::simulated(1 << 30) };
        let problems = [[128, 128, 8192], [4096, 4096, 4096], [64, 4, 20_000], [255, 255, 255]].map(Problem::uniform);
        let fields = problems.map(|problem| Field::of(&problem, &device).unwrap());
        let used = |at: usize| fields[at].ideas.iter().map(|(idea, _)| *idea).collect::<Vec<_>>();
        for idea in ["tiles", "slices", "wide_copies"] {
            assert!(used(0).contains(&idea), "{:?}", used(0));
        }
        assert_eq!(used(1), ["wide_copies"]);
        assert_eq!(used(2), ["slices", "wide_copies", "few"]);
        assert!(!used(3).contains(&"wide_copies") && !used(3).contains(&"wide_stores"), "{:?}", used(3));
        for field in &fields {
            assert!(!field.others.contains(&field.chosen));
            for (idea, without) in &field.ideas {
                assert!(field.others.iter().any(|plan| without.contains(plan)), "{idea}");
            }
        }
    }
}
