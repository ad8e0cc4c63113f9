//! A learner's file as a kernel of the explorer: its launch, its code, and a first run to see whether it ends.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use common::code::{Source, check_signature};
use common::program::own_launch::{OwnLaunch, without_own_constants};
use common::{DeviceInfo, Dtype, Plan, Problem, Specialisation};
use explorer::matrices;
use explorer::request::{self, RunRequest};
use explorer::run::Run;

use super::data::{Form, Kernel};
use super::{forms, kernels};
use crate::steps::{self, StepFolder};

/// The step whose launch a file takes: the one that is named, or the one that its path names.
fn step_of(file: &Path, named: Option<&str>) -> Result<Option<StepFolder>> {
    let steps = steps::find()?;
    if let Some(name) = named {
        return steps::expect(&steps, name).cloned().map(Some);
    }
    let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let step = parts.iter().rev().find_map(|part| {
        let digits: String = part.strip_prefix("step")?.chars().take_while(char::is_ascii_digit).collect();
        steps::named(&steps, &format!("step{digits}")).filter(|_| !digits.is_empty())
    });
    Ok(step.cloned())
}

/// Reads a learner's kernel. The error says what is wrong with it.
pub fn kernel(file: &Path, step: Option<&str>) -> Result<Kernel> {
    let step = step_of(file, step)?;
    let mut source = Source::read(file)?;
    if let Some(step) = &step {
        source = source.with_headers_of(&step.path);
    }
    let launch = OwnLaunch::of(&source)?;
    ensure!(
        step.is_some() || launch.block.is_some() || launch.tile.is_some(),
        "{} does not say how it is launched; name the step whose launch it takes with --step 4, or write a line // launch: block 32,32",
        source.display
    );
    if !source.is_ptx() {
        common::code::nvrtc::find()?.try_out()?;
    }
    // What is compiled here may have constants that are committed of no kernel.
    let device = DeviceInfo { compiles: !source.is_ptx(), ..kernels::device() };
    let plans = |problems: &[Problem]| {
        let of_step = match &step {
            Some(step) => kernels::plans(step, None, &device, problems)?,
            None => problems.iter().map(|_| Err("there is no step".to_owned())).collect(),
        };
        let own = |(problem, of_step): (&Problem, Result<Plan, String>)| {
            let mut plan = launch.plan(problem, of_step)?;
            plan.specialisation = without_own_constants(plan.specialisation, &source.text);
            Ok(plan)
        };
        Ok(problems.iter().zip(of_step).map(own).collect())
    };
    let mut all = vec![];
    for (specialisation, form) in forms::forms(&plans, Dtype::F32, &|_| true)? {
        all.push(Form { ptx: code(&source, &specialisation, &device)?, ..form });
    }
    let step = step.map_or_else(String::new, |step| step.name);
    let kernel = Kernel::new("own".into(), step, source.stem(), "own", &source, all);
    try_out(&kernel)?;
    Ok(kernel)
}

fn code(source: &Source, specialisation: &Specialisation, device: &DeviceInfo) -> Result<String> {
    let code = source.code(specialisation, device, None)?;
    check_signature(&code, "matmul", 3, 3)?;
    code.module()?.kernel("matmul").map_err(|error| anyhow!("{}: {error}", source.display))?;
    Ok(code.ptx)
}

/// Runs the kernel once on small matrices, and refuses one that cannot be explored.
fn try_out(kernel: &Kernel) -> Result<()> {
    let form = kernel.forms.first().with_context(|| {
        format!("{} has no launch for a product of up to 64×64×64; write a line // launch: block 32,32", kernel.file)
    })?;
    let fits = |size: &[u32; 3]| form.plan.work(*size).is_ok();
    let Some([m, n, k]) = [[32; 3], [16; 3], [64; 3], [8; 3]].into_iter().find(fits) else { return Ok(()) };
    let request = RunRequest {
        kernel: request::Kernel {
            ptx: form.ptx.clone(),
            source: kernel.source.clone(),
            file: kernel.file.clone(),
            plan: form.plan.clone(),
        },
        m,
        n,
        k,
        dtype: matrices::Dtype::F32,
        ..RunRequest::default()
    };
    let run = Run::new(&request).map_err(|error| anyhow!("{}: {error}", kernel.file))?;
    match run.stopped.filter(|_| run.endless) {
        Some(reason) => bail!("{} cannot be explored: {reason}", kernel.file),
        None => Ok(()),
    }
}
