//! What the simulator's search for hazards must find in every kernel: nothing if nothing is wrong, the defect if there is one, and
//! a data race if one barrier is taken out of a kernel that needs all of its barriers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use simt::HazardKind;

use super::kernel::{Kernel, is_whole};
use crate::code::Code;
use crate::device::{SimDevice, SimOptions};
use crate::verify::{Verification, multiply};
use findings::hazard_kind::ReportKind;
use findings::{HazardReport, KernelFault};
use plan::{Defect, DeviceInfo, Dtype, Plan, Problem};

/// M, N, K: several tiles in each direction and a partial one; deep enough for slices of K; multiples of every tile.
const RAGGED: [[u64; 3]; 5] = [[70, 67, 45], [129, 67, 45], [200, 264, 136], [64, 256, 600], [64, 96, 128]];
/// Sizes for a step that computes C with one block or one thread.
const RAGGED_SMALL: [[u64; 3]; 3] = [[25, 33, 17], [32, 32, 100], [13, 17, 200]];

/// M, N, K, several tiles deep, and the SMs of the device for which plans are made. With few SMs, large tiles are the best choice
/// even for small problems. Each specialisation that a plan chooses here is tried once for each kind of tile.
fn problems() -> impl Iterator<Item = ([u64; 3], u32)> {
    let number = |text: &str| text.parse().ok();
    include_str!("problems.txt").lines().filter(|line| !line.starts_with('#')).map(move |line| {
        let all: Vec<u64> = line.split(' ').filter_map(number).collect();
        ([all[0], all[1], all[2]], all[3] as u32)
    })
}

/// The trials of some kernels: `check::NAME::DTYPE` and `slow::barriers::NAME`.
pub(super) fn trials(all: impl Iterator<Item = Kernel>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for kernel in all {
        let name = format!("check::{}::{}", kernel.name(), kernel.dtype);
        trials.extend(kernel.trials(&name, RAGGED.map(|size| (size, 132)), check));
        // A source that cannot be read fails in the trial, which says why.
        let waits = kernel.source().map_or(true, |source| !lines_that_wait(&source.text).is_empty());
        if waits && kernel.dtype == Dtype::F32 && kernel.defect() == Defect::None {
            let name = format!("slow::barriers::{}", kernel.name());
            trials.extend(kernel.trials(&name, problems(), barriers));
        }
    }
    trials
}

fn simulator() -> SimDevice {
    SimDevice::new(SimOptions { check: true, ..SimOptions::default() })
}

/// Searches the unchanged kernel: nothing must be found, or the defect that its variant is there to show.
fn check(kernel: Kernel) -> Result<()> {
    let info = kernel.device();
    // On a device, a step of the host computes everything with one thread.
    let takes = |size: &[u64; 3]| kernel.plan(&kernel.problem(*size, 3), &info).is_ok();
    let large = kernel.step.host.is_none() && RAGGED.iter().any(takes);
    let sizes = if large { &RAGGED[..] } else { &RAGGED_SMALL[..] };
    ensure!(sizes.iter().any(takes), "the kernel takes none of the sizes; give it one in RAGGED");
    let mut tried = vec![];
    for &size in sizes.iter().filter(|&size| takes(size)) {
        let problem = kernel.problem(size, 3);
        let plan = kernel.plan(&problem, &info)?;
        // The larger sizes are for kernels that are planned in more than one way, and for the step itself.
        let way = (plan.specialisation.clone(), plan.launches.len());
        if kernel.variant.is_some() && size.iter().product::<u64>() > 1_000_000 && tried.contains(&way) {
            continue;
        }
        tried.push(way);
        if !kernel.takes(&plan, &info)? {
            continue; // left to the other trial
        }
        let mut device = simulator();
        let found = kernel.product_on(&mut device, plan, &problem);
        let hazards = device.observations().hazards.unwrap_or_default();
        // A kernel without edge handling is right at multiples of its tile.
        let right = kernel.defect() == Defect::Edges && is_whole(size);
        judge(if right { Defect::None } else { kernel.defect() }, found, &hazards)
            .with_context(|| size.map(|edge| edge.to_string()).join("×"))?;
    }
    Ok(())
}

fn judge(defect: Defect, found: Result<Verification>, hazards: &[HazardReport]) -> Result<()> {
    match defect {
        Defect::None | Defect::Rounding => {
            let found = found?;
            ensure!(hazards.is_empty(), "a kernel without a race has hazards:\n{}", texts(hazards));
            // Rounding makes the product wrong, but is not a hazard.
            ensure!(found.ok || defect == Defect::Rounding, "{}", found.diagnosis.unwrap_or_default());
        }
        Defect::Race => {
            // The product may be right by luck.
            found?;
            ensure!(races(hazards), "of {} hazards none is a data race\n{}", hazards.len(), texts(hazards));
        }
        Defect::Edges => {
            let Err(error) = found else { bail!("the kernel reads nothing beyond the edges of its matrices") };
            let error = error.downcast::<KernelFault>()?;
            let outside = |hazard: &HazardReport| hazard.kind == ReportKind::Fault("access out of bounds");
            ensure!(error.hazard.as_ref().is_some_and(outside), "the fault is no access out of bounds: {error}");
        }
    }
    Ok(())
}

fn races(hazards: &[HazardReport]) -> bool {
    hazards.iter().any(|hazard| hazard.kind == HazardKind::Race)
}

fn texts(hazards: &[HazardReport]) -> String {
    hazards.iter().map(HazardReport::text).collect()
}

/// Takes each `__syncthreads()` out of the kernel, one at a time, and looks for the race that it prevented. If the kernel is
/// compiled and differs for older devices, it is tried for them too.
fn barriers(kernel: Kernel) -> Result<()> {
    let (source, info) = (kernel.source()?, kernel.device());
    let mut untried = lines_that_wait(&source.text);
    // A barrier may be needed for only some problems of a specialisation. Once it has been needed, it is not tried again.
    let mut races_without: BTreeMap<String, bool> = BTreeMap::new();
    let mut needed = BTreeSet::new();
    for (size, sm_count) in problems() {
        let problem = kernel.problem(size, 3);
        // The problem may exceed a step's limits.
        let planned = kernel.plan(&problem, &DeviceInfo { sm_count, ..info.clone() });
        let Some(plan) = planned.ok().filter(|plan| !needed.contains(&plan.specialisation.name)) else { continue };
        let mut capabilities = if kernel.takes(&plan, &info)? { vec![info.compute_capability] } else { vec![] };
        capabilities.extend((plan.specialisation.target > 75 && kernel.compiled).then_some(75));
        let mut all_needed = true;
        for compute_capability in capabilities {
            let info = DeviceInfo { compute_capability, ..info.clone() };
            let code = source.code(&plan.specialisation, &info)?;
            let barriers = barriers_of(&code)?;
            ensure!(!barriers.is_empty(), "{} has no barrier, and its source has", code.origin);
            let whole = hazards_of(&problem, &plan, &code)?;
            ensure!(whole.is_empty(), "with all its barriers {} has hazards:\n{}", code.origin, texts(&whole));
            for ((file, line), instructions) in barriers {
                if file == source.display {
                    untried.remove(&line);
                } else if Path::new(&file).extension().is_some_and(|extension| extension == "cu") {
                    continue; // another kernel, which this one includes, has its own trial
                }
                let origin = code.committed.as_deref().unwrap_or(&code.origin);
                let races_here = races_without.entry(format!("{file}:{line} in {origin}")).or_insert(false);
                if !*races_here {
                    let code = code.with_ptx(without(&code.ptx, &instructions));
                    *races_here = races(&hazards_of(&problem, &plan, &code)?);
                }
                all_needed &= *races_here;
            }
        }
        if all_needed {
            needed.insert(plan.specialisation.name);
        }
    }
    let needless: Vec<String> =
        races_without.into_iter().filter_map(|(place, races)| (!races).then_some(place)).collect();
    ensure!(needless.is_empty(), "without these barriers nothing races: {}", needless.join(", "));
    // Some lines are compiled in few specialisations only, which a trial of compiled kernels may lack.
    let all = kernel.compiled || untried.is_empty();
    ensure!(all, "{} has barriers on lines {untried:?} that no problem here compiles", source.display);
    Ok(())
}

/// The hazards of one product, right or wrong.
fn hazards_of(problem: &Problem, plan: &Plan, code: &Code) -> Result<Vec<HazardReport>> {
    let mut device = simulator();
    multiply(&mut device, problem, plan, code)?;
    Ok(device.observations().hazards.unwrap_or_default())
}

/// The lines of a CUDA source that have a barrier, counted from 1.
fn lines_that_wait(source: &str) -> BTreeSet<u32> {
    // `__syncthreads_or(...)` also returns a value, so it cannot be taken out.
    let waits = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        code.contains("__syncthreads()") || code.contains("sync_threads()")
    };
    (1..).zip(source.lines()).filter(|(_, line)| waits(line)).map(|(line, _)| line).collect()
}

/// By file and line of the source, the lines of the PTX with its barrier; there are several if a loop is unrolled.
fn barriers_of(code: &Code) -> Result<BTreeMap<(String, u32), Vec<u32>>> {
    let module = code.module()?;
    let mut found: BTreeMap<(String, u32), Vec<u32>> = BTreeMap::new();
    let waits = |word: &str| word.starts_with("bar.sync") || word.starts_with("barrier.sync");
    for name in module.kernel_names() {
        let kernel = module.kernel(name)?;
        let places = (0..kernel.instruction_count()).map(|at| kernel.location(at));
        for place in places.filter(|place| place.instruction.split_whitespace().any(waits)) {
            let line = place.file.zip(place.line).context("a barrier in PTX has no line; compile it with -lineinfo")?;
            found.entry(line).or_default().push(place.ptx_line);
        }
    }
    Ok(found)
}

/// The PTX with some lines emptied, so that the others keep their numbers.
fn without(ptx: &str, lines: &[u32]) -> String {
    let kept = |(number, line)| if lines.contains(&number) { "\n".into() } else { format!("{line}\n") };
    (1..).zip(ptx.lines()).map(kept).collect()
}
