//! The course's kernels as a page carries them: every step, rung and counter-example, with its committed PTX.

use anyhow::{Result, ensure};
use common::code::Source;
use explorer::planner::Planner;
use plan::{DeviceInfo, Dtype, Specialisation, Step};

use super::data::{Chapter, Kernel};
use super::forms::{self, specialisations};
use crate::steps::{self, Role};

/// The simulator as a device that compiles nothing: plans then choose among what is committed.
pub fn device() -> DeviceInfo {
    DeviceInfo::simulated(1 << 32)
}

/// Reads a step: the chapter, without its tour, and the kernels in the order of the path: rungs, the step's own, counter-examples, what
/// lies beyond.
pub fn of_step(step: &'static Step) -> Result<(Chapter, Vec<Kernel>)> {
    let number = steps::number(step).parse().unwrap_or(0);
    let kernels = steps::Kernel::of(step).filter(|kernel| kernel.role() != Role::Rust).map(of_course);
    let kernels = kernels.collect::<Result<Vec<_>>>()?;
    let ids = kernels.iter().map(|kernel| kernel.id.clone()).collect();
    let chapter =
        Chapter { id: step.name.into(), title: step.title.into(), number, kernels: ids, ..Chapter::default() };
    Ok((chapter, kernels))
}

/// A kernel with its forms.
fn of_course(kernel: steps::Kernel) -> Result<Kernel> {
    let source = Source::read(&kernel.file())?;
    let committed = kernel.committed();
    let variant = kernel.variant_name();
    let planner =
        Planner { step: Some(kernel.step.name.into()), variant: variant.map(str::to_owned), ..Planner::default() };
    let taken = [Dtype::F32, Dtype::I32].into_iter().flat_map(|dtype| specialisations(&planner, dtype, &source.text));
    let form = |one: Specialisation| {
        let code = source.code(&one, &device(), source.committed_folder().as_deref())?;
        Ok(forms::form(&planner, &one, code.ptx))
    };
    let all = taken.filter(|one| committed.contains(one)).map(form).collect::<Result<Vec<_>>>()?;
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
    Ok(Kernel::new(id, kernel.step.name.into(), name, role, &source, all))
}
