//! A learner's file as a kernel of the explorer: its launch, its code, and a first run to see whether it ends.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use common::code::{Source, check_signature, file_of};
use explorer::planner::Planner;
use explorer::run::Run;
use plan::{DeviceInfo, Dtype, OwnLaunch, Specialisation, Step};

use super::data::Kernel;
use super::{contents, forms};
use crate::steps::{self, Role};

/// The step whose launch a file uses: the one given, or else the one in its path.
fn step_of(file: &Path, named: Option<&str>) -> Result<Option<&'static Step>> {
    if let Some(name) = named {
        return steps::expect(name).map(Some);
    }
    let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    Ok(parts.iter().rev().find_map(|part| {
        let digits: String = part.strip_prefix("step")?.chars().take_while(char::is_ascii_digit).collect();
        steps::named(&format!("step{digits}")).filter(|_| !digits.is_empty())
    }))
}

/// Reads a learner's kernel. The error says why it cannot be explored.
pub fn kernel(file: &Path, step: Option<&str>) -> Result<Kernel> {
    let step = step_of(file, step)?;
    let mut source = Source::read(file)?;
    if let Some(step) = &step {
        source = source.with_headers_of(&file_of(step, None));
    }
    let launch = OwnLaunch::of(&source.display, &source.text)?;
    ensure!(
        step.is_some() || launch.block.is_some() || launch.tile.is_some(),
        "{} does not say how it is launched; name the step whose launch it takes with --step 4, or write a line // launch: block 32,32",
        source.display
    );
    source.compiler()?;
    // A kernel that is compiled here may have constants for which no PTX is committed.
    let compiled = !source.is_ptx();
    let device = DeviceInfo { compiles: compiled, ..contents::device() };
    let planner =
        Planner { step: step.map(|step| step.name.into()), compiled, own: Some(launch), ..Planner::default() };
    let mut all = vec![];
    for one in forms::specialisations(&planner, Dtype::F32, &source.text) {
        all.push(forms::form(&planner, &one, code(&source, &one, &device)?));
    }
    let step = step.map_or_else(String::new, |step| step.name.into());
    let kernel = Kernel { id: "own".into(), step, name: source.stem(), role: Role::Own, ..Kernel::of(&source, all) };
    try_out(&kernel)?;
    Ok(kernel)
}

fn code(source: &Source, specialisation: &Specialisation, device: &DeviceInfo) -> Result<String> {
    let code = source.compiled(specialisation, device)?;
    check_signature(&code, "matmul", 3, 3)?;
    code.module()?.kernel("matmul").map_err(|error| anyhow!("{}: {error}", source.display))?;
    Ok(code.ptx)
}

/// Runs the kernel once on small matrices, and refuses one that cannot be explored.
fn try_out(kernel: &Kernel) -> Result<()> {
    let form = kernel.forms.first().with_context(|| {
        format!("{} has no launch for a product of up to 64×64×64; write a line // launch: block 32,32", kernel.file)
    })?;
    let fits = |size: &[u32; 3]| form.plan(*size, &kernel.source).is_some();
    let Some(size) = [[32; 3], [16; 3], [64; 3], [8; 3]].into_iter().find(fits) else { return Ok(()) };
    let run = Run::new(&kernel.request(form, size)).map_err(|error| anyhow!("{}: {error}", kernel.file))?;
    match run.stopped.filter(|_| run.endless) {
        Some(reason) => bail!("{} cannot be explored: {reason}", kernel.file),
        None => Ok(()),
    }
}
