//! The course's kernels as a page carries them: every step, rung and counter-example, with its committed PTX.

use anyhow::{Context, Result, anyhow};
use common::code::Source;
use common::program::describe::{Description, Request};
use common::{DeviceInfo, Dtype, Plan, Problem, Specialisation};

use super::data::{Chapter, Kernel};
use super::forms;
use crate::steps::StepFolder;

/// The kernels of a step, its chapter, and the specialisations of each form.
pub struct OfStep {
    /// The chapter, without questions.
    pub chapter: Chapter,
    /// The kernels, in the order of the path: rungs, the step's own, counter-examples, what lies beyond.
    pub kernels: Vec<Kernel>,
    /// The specialisation of each form of each kernel.
    pub specialisations: Vec<Vec<Specialisation>>,
}

/// The simulator as a device that compiles nothing: plans then choose among what is committed.
pub fn device() -> DeviceInfo {
    DeviceInfo::simulated(1 << 32)
}

/// What a step plans for a variant.
pub fn plans(
    step: &StepFolder,
    variant: Option<&str>,
    device: &DeviceInfo,
    problems: &[Problem],
) -> Result<Vec<Result<Plan, String>>> {
    let request =
        Request { device: Some(device.clone()), problems: problems.to_vec(), variant: variant.map(str::to_owned) };
    Ok(step.describe(&request)?.plans)
}

/// Reads a step.
pub fn of_step(step: &StepFolder) -> Result<OfStep> {
    let description = step.describe(&Request::default())?;
    let number = step.number().parse().unwrap_or(0);
    let Description { rungs, variants, .. } = &description;
    let role = |name: &str| match step.variant_beyond(name) {
        Some(variant) if !variant.is_counter_example() => "beyond",
        None if rungs.iter().any(|rung| rung == name) => "rung",
        _ => "counter-example",
    };
    let others = |wanted: &'static str| variants.iter().filter(move |variant| role(variant) == wanted);
    let mut found = OfStep {
        chapter: Chapter { id: step.name.clone(), title: description.title.clone(), number, ..Chapter::default() },
        kernels: vec![],
        specialisations: vec![],
    };
    let named = |variants: Vec<&String>| variants.into_iter().map(|name| Some(name.clone())).collect::<Vec<_>>();
    let order = [
        named(others("rung").collect()),
        vec![None],
        named(others("counter-example").collect()),
        named(others("beyond").collect()),
    ];
    for variant in order.into_iter().flatten() {
        let role = variant.as_deref().map_or("step", role);
        let (kernel, specialisations) = kernel(step, variant.as_deref(), role, &description)?;
        found.chapter.kernels.push(kernel.id.clone());
        found.kernels.push(kernel);
        found.specialisations.push(specialisations);
    }
    Ok(found)
}

fn kernel(
    step: &StepFolder,
    variant: Option<&str>,
    role: &str,
    description: &Description,
) -> Result<(Kernel, Vec<Specialisation>)> {
    let path = step.source(variant);
    let source = Source::read(&path)?;
    let committed = description.sources.iter().find(|(name, _)| step.path.join(name) == path);
    let committed = committed.map_or(&[][..], |(_, all)| all.as_slice());
    let device = device();
    let plans = |problems: &[Problem]| plans(step, variant, &device, problems);
    let (mut all, mut specialisations) = (vec![], vec![]);
    for dtype in [Dtype::F32, Dtype::I32] {
        for (specialisation, mut form) in forms::forms(&plans, dtype, &|known| committed.contains(known))? {
            let code = source.code(&specialisation, &device, source.committed_folder().as_deref())?;
            form.ptx = code.ptx;
            all.push(form);
            specialisations.push(specialisation);
        }
    }
    let id = variant.map_or_else(|| step.name.clone(), |variant| format!("{}/{variant}", step.name));
    if all.is_empty() {
        return Err(anyhow!("{id} has no plan for a product of up to 64×64×64; leave it out of the explorer"));
    }
    let name = variant.unwrap_or("kernel").to_owned();
    Ok((Kernel::new(id, step.name.clone(), name, role, &source, all), specialisations))
}

/// The kernel of that id.
pub fn find<'a>(kernels: &'a [Kernel], id: &str) -> Result<&'a Kernel> {
    kernels
        .iter()
        .find(|kernel| kernel.id == id)
        .with_context(|| format!("the explorer's page has no kernel {id}; run cargo x explorer"))
}
