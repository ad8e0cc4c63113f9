//! Right kernels get no finding: those of the course, the answers of the labs, and some that are written in other ways.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use common::code::Source;
use common::device::{self, Choice, SimOptions};
use common::verify::{cause, multiply};
use course::steps::{Kernel, Role, STEPS};
use libtest_mimic::Trial;
use plan::{OwnLaunch, Problem};
use why::Asked;

use super::labs::{root, run_step, write};
use super::mistakes::{self, Mistake};
use super::support::trial;

const KERNELS: &str = include_str!("kernels.cu");

/// Sizes at which nothing is a multiple of anything, in one block of step 3 and in several, and at which everything is.
const SIZES: [[u64; 3]; 3] = [[13, 17, 45], [37, 50, 45], [64, 64, 32]];

/// The kernels that are written in other ways: the name of each, the lab whose step runs it, and its text.
fn others() -> impl Iterator<Item = [&'static str; 3]> {
    KERNELS.split("\n== ").skip(1).map(|part| {
        let (head, text) = part.split_once('\n').unwrap_or_default();
        let (name, lab) = head.split_once(' ').unwrap_or((head, "2"));
        [name, lab, text]
    })
}

pub fn kernel(name: &str) -> Option<&'static str> {
    others().find(|[known, ..]| *known == name).map(|[.., text]| text)
}

pub fn trials() -> Vec<Trial> {
    let other = |[name, lab, text]: [&'static str; 3]| {
        let check = move || check(&Kernel::named(lab)?, &write(&format!("right_{name}"), text)?);
        trial(format!("slow::right::{name}"), check)
    };
    let mut trials: Vec<Trial> = others().map(other).collect();
    let own = STEPS.iter().flat_map(|step| Kernel::of(step)).filter(|kernel| !kernel.is_on_host());
    for kernel in own.filter(|kernel| kernel.role() != Role::CounterExample) {
        trials.push(trial(format!("slow::right::{}", kernel.name()), move || no_cause(&kernel, &kernel.file(), None)));
    }
    let challenges = mistakes::answers().into_iter().filter(|answer| answer.kernel.contains("challenges"));
    trials.extend(challenges.map(|Mistake { lab, kernel, .. }| {
        trial(format!("slow::right::{kernel}"), move || check(&Kernel::named(&lab)?, &root().join(&kernel)))
    }));
    trials
}

/// A learner's kernel passes `--check`, and nothing is found in its values.
fn check(like: &Kernel, file: &Path) -> Result<()> {
    let source = Source::read(file)?;
    no_cause(like, file, Some(OwnLaunch::of(&source.display, &source.text)?))?;
    let file = file.display().to_string();
    for size in SIZES.iter().filter(|size| fits(like, **size)) {
        let size = size.map(|edge| edge.to_string()).join("x");
        let arguments = ["--kernel", &file, "--device", "sim", "--check", "--size", &size];
        let (text, status) = run_step(like.step.name, &arguments)?;
        ensure!(status == Some(0) && !text.contains("error: ") && !text.contains("warning: "), "{size}: {text}");
    }
    Ok(())
}

/// Whether a block can compute a product of this size, if one has to.
fn fits(like: &Kernel, [m, n, _]: [u64; 3]) -> bool {
    like.step.name != "step03_single_block" || m * n <= 1024
}

fn no_cause(like: &Kernel, file: &Path, launch: Option<OwnLaunch>) -> Result<()> {
    let device = device::open(Choice::Sim, &SimOptions::default())?.info().clone();
    let source = Source::read(file)?.with_headers_of(&like.file());
    for size in SIZES {
        let problem = Problem::uniform(size);
        let own = like.plan(&problem, &device);
        let plan = match &launch {
            Some(launch) => launch.plan(&source.text, &problem, own),
            None => own,
        };
        // One block cannot compute all sizes.
        let Ok(plan) = plan else { continue };
        let code = source.compiled(&plan.specialisation, &device).with_context(|| file.display().to_string())?;
        let found = cause(&Asked::product(&problem), false, |device| multiply(device, &problem, &plan, &code));
        ensure!(found.is_none(), "{size:?}: {}", found.map(|found| found.text()).unwrap_or_default());
    }
    Ok(())
}
