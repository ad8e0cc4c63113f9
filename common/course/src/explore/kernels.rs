//! The course's kernels as a page carries them: every step, rung and counter-example, with its committed PTX.

use anyhow::{Result, ensure};
use common::code::Source;
use explorer::planner::Planner;
use plan::{DeviceInfo, Dtype, Specialisation, Step};

use super::data::{Chapter, Kernel};
use super::forms;
use crate::steps::{self, Role};

/// The kernels of a step, its chapter, and the specialisations of each form.
pub struct OfStep {
    /// The chapter, without its tour.
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

/// Reads a step.
pub fn of_step(step: &'static Step) -> Result<OfStep> {
    let number = steps::number(step).parse().unwrap_or(0);
    let (kernels, specialisations): (Vec<_>, Vec<_>) = steps::Kernel::of(step)
        .filter(|kernel| kernel.role() != Role::Rust)
        .map(of_course)
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .unzip();
    let ids = kernels.iter().map(|kernel| kernel.id.clone()).collect();
    let chapter =
        Chapter { id: step.name.into(), title: step.title.into(), number, kernels: ids, ..Chapter::default() };
    Ok(OfStep { chapter, kernels, specialisations })
}

/// A kernel with its forms, and the specialisation of each.
fn of_course(kernel: steps::Kernel) -> Result<(Kernel, Vec<Specialisation>)> {
    let source = Source::read(&kernel.file())?;
    let committed = kernel.committed();
    let variant = kernel.variant_name();
    let planner =
        Planner { step: Some(kernel.step.name.into()), variant: variant.map(str::to_owned), ..Planner::default() };
    let (mut all, mut specialisations) = (vec![], vec![]);
    let ptx = |one: &Specialisation| -> Result<String> {
        Ok(source.code(one, &device(), source.committed_folder().as_deref())?.ptx)
    };
    for dtype in [Dtype::F32, Dtype::I32] {
        for one in forms::specialisations(&planner, dtype, &source.text) {
            if committed.contains(&one) {
                all.push(forms::form(&planner, &one, ptx(&one)?));
                specialisations.push(one);
            }
        }
    }
    let id = kernel.name();
    ensure!(!all.is_empty(), "{id} has no plan for a product of up to 64×64×64; leave it out of the explorer");
    let role = match kernel.role() {
        Role::Step => "step",
        Role::Rung => "rung",
        Role::CounterExample => "counter-example",
        Role::Rust => "rust",
        Role::Beyond => "beyond",
    };
    let name = variant.unwrap_or("kernel").to_owned();
    Ok((Kernel::new(id, kernel.step.name.into(), name, role, &source, all), specialisations))
}
