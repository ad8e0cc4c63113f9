//! One product of a step, computed and verified as its program does it.

use anyhow::Result;
use libtest_mimic::Failed;

use crate::check::verify_on;
use crate::code::Source;
use crate::device::{self, Choice, Device, SimOptions};
use crate::exec::Session;
use crate::matrix::Operands;
use crate::problem::Problem;
use crate::step::{Step, Variant};
use crate::verify::Verification;

/// An error as a failed trial shows it.
pub fn failed(error: &anyhow::Error) -> Failed {
    format!("{error:#}").into()
}

/// Runs and verifies one product.
pub fn product(step: &Step, variant: Option<&Variant>, problem: &Problem, choice: Choice) -> Result<Verification> {
    product_on(device::open(choice, &SimOptions::default())?.as_mut(), step, variant, problem)
}

/// The same on a device that is open already.
pub fn product_on(
    device: &mut dyn Device,
    step: &Step,
    variant: Option<&Variant>,
    problem: &Problem,
) -> Result<Verification> {
    let source = Source::read(&step.source_path(variant))?;
    let plan = step.plan_of(variant)(problem, device.info())?;
    let code = source.code(&plan.specialisation, device.info(), source.committed_folder().as_deref())?;
    let session = Session::new(device, problem, plan, &code)?;
    let operands = Operands::new(problem)?;
    verify_on(device, &session, problem, &operands)
}
