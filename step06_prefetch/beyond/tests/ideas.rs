//! The kernel for every shape is right without each of its ideas, with the committed PTX and, if NVRTC is there, compiled.

use anyhow::{Context, Result, ensure};
use beyond::STEP;
use beyond::every_shape::{IDEAS, VARIANT};
use common::basics::Operands;
use common::code::{Source, file_of, find_nvrtc};
use common::device::{Device as _, Session, SimDevice, SimOptions};
use common::verify::verify_on;
use common::{DeviceInfo, Problem};

fn products(compiled: bool) -> Result<()> {
    let source = Source::read(&file_of(&STEP, Some(&VARIANT)))?;
    for (idea, size) in IDEAS.iter().flat_map(|idea| [(idea, [70, 140, 200]), (idea, [4, 140, 200])]) {
        let problem = Problem::uniform(size);
        let mut device = SimDevice::new(SimOptions::default());
        let info = DeviceInfo { compiles: compiled, ..device.info().clone() };
        let plan = (idea.plan)(&problem, &info)?;
        let code = source.code(&plan.specialisation, &info)?;
        let session = Session::new(&mut device, &problem, plan, &code)?;
        let found = verify_on(&mut device, &session, &problem, &Operands::new(&problem)?);
        let found = found.with_context(|| format!("without {} at {size:?}", idea.name))?;
        ensure!(found.ok, "without {} at {size:?}: {}", idea.name, found.diagnosis.unwrap_or_default());
    }
    Ok(())
}

#[test]
fn what_is_committed_is_right_without_each_idea() -> Result<()> {
    products(false)
}

#[test]
fn what_is_compiled_is_right_without_each_idea() -> Result<()> {
    // Without NVRTC the test passes, because such plans cannot run there.
    if find_nvrtc().is_err() { Ok(()) } else { products(true) }
}
