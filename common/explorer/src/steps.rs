//! The steps of the course, in order. A step of your own joins by a line here and one in this crate's `Cargo.toml`.

use plan::{Step, Variant};

/// The steps.
pub const STEPS: &[&Step] = &[
    &step01_cpu_naive::STEP,
    &step02_gpu_naive::STEP,
    &step03_single_block::STEP,
    &step04_tiled::STEP,
    &step05_thread_tile::STEP,
    &step06_prefetch::STEP,
];

/// The kernels beyond the course, as variants of the step of the same name.
pub const BEYOND: &Step = &beyond::STEP;

/// The step of this name with its variant, which may be one beyond the course. The error lists what exists.
pub fn find(name: &str, variant: Option<&str>) -> Result<(&'static Step, Option<&'static Variant>), String> {
    let step = STEPS.iter().copied().find(|step| step.name == name);
    let again = "build it again with cargo x explorer, and write the page again";
    let step = step.ok_or_else(|| format!("this page's engine knows no step {name}; {again}"))?;
    let Some(wanted) = variant else { return Ok((step, None)) };
    let beyond = BEYOND.variants.iter().find(|variant| step.name == BEYOND.name && variant.name == wanted);
    let known = beyond.map_or_else(|| step.variant(wanted), Ok);
    known.map(|variant| (step, Some(variant))).map_err(|error| format!("{error:#}"))
}
