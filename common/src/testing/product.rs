//! One product of a step, run and verified.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use libtest_mimic::Failed;

use crate::check::verify_on;
use crate::code::{Code, Source};
use crate::device::{Device, DeviceInfo};
use crate::exec::Session;
use crate::matrix::Operands;
use crate::plan::{Plan, Specialisation};
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
    let code = code(&source, &plan.specialisation, device.info())?;
    let session = Session::new(device, problem, plan, &code)?;
    let operands = Operands::new(problem)?;
    verify_on(device, &session, problem, &operands)
}

/// The code of a source; what is compiled is compiled once in a program of tests.
pub(super) fn code(source: &Source, specialisation: &Specialisation, device: &DeviceInfo) -> Result<Code> {
    static KNOWN: Mutex<Option<HashMap<String, Code>>> = Mutex::new(None);
    let key = format!("{} {specialisation:?} {:?} {}", source.hash, device.kind, device.compute_capability);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(code) = known().get_or_insert_default().get(&key) {
        return Ok(code.clone());
    }
    let code = source.code(specialisation, device, source.committed_folder().as_deref())?;
    known().get_or_insert_default().insert(key, code.clone());
    Ok(code)
}
