//! One product of a step, run and verified.

use anyhow::Result;
use libtest_mimic::Failed;

use crate::check::verify_on;
use crate::code::Source;
use crate::device::Device;
use crate::exec::Session;
use crate::matrix::Operands;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::step::{Step, Variant};
use crate::verify::Verification;

/// An error as a trial tells it.
pub(super) fn failed(error: &anyhow::Error) -> Failed {
    format!("{error:#}").into()
}

/// Runs and verifies one product.
pub(super) fn product_on(
    device: &mut dyn Device,
    plan: Plan,
    step: &Step,
    variant: Option<&Variant>,
    problem: &Problem,
) -> Result<Verification> {
    let source = Source::read(&step.source_path(variant))?;
    let code = source.code(&plan.specialisation, device.info(), source.committed_folder().as_deref())?;
    let session = Session::new(device, problem, plan, &code)?;
    let operands = Operands::new(problem)?;
    verify_on(device, &session, problem, &operands)
}
