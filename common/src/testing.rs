//! The tests that every step has: the kernel and its variants over a grid of shapes, with both element types, on the simulator and
//! on a GPU if there is one; the simulator's search for hazards in each of them, also without each of their barriers; and the
//! memory that this search is said to take. Tests that lack a GPU or NVRTC are shown as ignored, with the reason.

mod driver;
mod hazards;
mod kernel;
mod memory;
mod shapes;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use libtest_mimic::{Arguments, Trial};

pub use kernel::trial;
use kernel::{Kernel, is_whole};
use shapes::{SHAPES, SMALL_SHAPES, TALL};

use crate::device::{self, Choice, SimOptions};
use crate::measure::time_on_host;
use crate::program::Driver;
use crate::verify::Verification;
use findings::KernelFault;
use plan::{Defect, DeviceInfo, Dtype, Fill, HostProduct, Problem, Step};

/// Runs the tests of a step and of its host driver.
pub fn run(step: &'static Step, driver: Driver) -> ExitCode {
    let mut trials = kernels(Kernel::all(step));
    trials.extend(driver::trials(step, driver));
    trials.extend(step.host.map(|host| trial("host::self_check", move || host_is_right(host))));
    trials.extend(memory::trials(step));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs the tests of a step's variants alone.
pub fn run_variants(step: &'static Step) -> ExitCode {
    let variants = Kernel::all(step).filter(|kernel| kernel.variant.is_some());
    libtest_mimic::run(&Arguments::from_args(), kernels(variants)).exit_code()
}

fn kernels(all: impl Iterator<Item = Kernel> + Clone) -> Vec<Trial> {
    // Only Linux finds a library again by the name that is written in it.
    let stands_in = cfg!(target_os = "linux").then(device::stand_in);
    if let Some(Err(reason)) = &stands_in {
        eprintln!("the stand-in for a GPU cannot be used: {reason:#}");
    }
    let gpu = device::cuda_devices().map(|all| all.into_iter().next());
    let mut trials = Vec::new();
    for kernel in all.clone() {
        let name = format!("{}::{}", kernel.name(), kernel.dtype);
        let sizes = SHAPES.iter().map(|&size| (size, 132));
        trials.extend(kernel.trials(&format!("sim::{name}"), sizes, |kernel| shapes(kernel, Choice::Sim)));
        let on_gpu = trial(format!("gpu::{name}"), move || shapes(kernel, Choice::Cuda(0)));
        let takes_a_shape = |info: &DeviceInfo| SHAPES.iter().chain(SMALL_SHAPES).any(|&size| kernel.runs(size, info));
        trials.push(match &gpu {
            Err(_) => on_gpu.with_kind("needs a GPU").with_ignored_flag(true),
            Ok(Some(info)) if !takes_a_shape(info) => {
                on_gpu.with_kind("not for this GPU, compiler and type").with_ignored_flag(true)
            }
            Ok(_) => on_gpu,
        });
    }
    trials.extend(hazards::trials(all));
    if let Err(reason) = &gpu {
        // To standard error, because a test runner reads the list of trials from standard output.
        eprintln!("tests on a GPU are skipped: {reason:#}");
    }
    trials
}

fn shapes(kernel: Kernel, choice: Choice) -> Result<()> {
    let Kernel { step, variant, dtype, .. } = kernel;
    let open = || device::open(choice, &SimOptions::default());
    let info = if choice == Choice::Sim { kernel.device() } else { open()?.info().clone() };
    let defect = kernel.defect();
    let can = |&size: &[u64; 3]| (step.plan)(&kernel.problem(size, 1), &info).is_ok();
    let all = SHAPES.iter().all(can);
    let mut sizes: Vec<[u64; 3]> = if all { SHAPES.to_vec() } else { SMALL_SHAPES.to_vec() };
    // A rung may have limits that its step does not have.
    sizes.retain(|&size| variant.is_none() || kernel.plan(&kernel.problem(size, 1), &info).is_ok());
    ensure!(!sizes.is_empty(), "the kernel takes none of the shapes; give it one in SHAPES");
    let is_divided = || kernel.plan(&kernel.problem(TALL, 1), &info).is_ok_and(|plan| plan.launches.len() > 1);
    if variant.is_none() && dtype == Dtype::F32 && is_divided() {
        sizes.push(TALL);
    }
    // The simulator would take seconds for each with a single thread.
    let one_thread = step.host.is_some() && choice == Choice::Sim;
    sizes.retain(|size| !one_thread || size.iter().product::<u64>() < 1_000_000);
    if defect == Defect::Edges && choice != Choice::Sim {
        // A GPU may ignore an access out of bounds, or become unusable for the process; neither shows anything.
        sizes.retain(|&size| is_whole(size));
    }
    let (mut wrong, mut ran) = (0, 0);
    for (seed, [m, n, k]) in (1..).zip(sizes) {
        for fill in [Fill::Uniform, Fill::Integers] {
            let problem = Problem { fill, ..kernel.problem([m, n, k], seed) };
            let plan = kernel.plan(&problem, &info)?;
            if !kernel.takes(&plan, &info)? {
                continue; // left to the other trial, or to a machine with NVRTC
            }
            ran += 1;
            match (defect, kernel.product_on(open()?.as_mut(), plan, &problem)) {
                (Defect::None, found) => {
                    let found = found?;
                    ensure!(found.ok, "{m}×{n}×{k} {fill}: {}", found.diagnosis.unwrap_or_default());
                }
                (Defect::Race, found) => {
                    let found = found?;
                    wrong += u32::from(!found.ok);
                    let told = found.diagnosis.is_some() && !found.mismatches.is_empty();
                    ensure!(found.ok != told, "{m}×{n}×{k} {fill}: a wrong product is told, and no other: {found:?}");
                }
                (Defect::Edges, found) => edges(&problem, found)?,
                (Defect::Rounding, found) => {
                    let (found, right) = (found?, fill == Fill::Integers);
                    ensure!(found.ok == right, "{m}×{n}×{k} {fill}: ok is {} and should be {right}", found.ok);
                }
            }
        }
    }
    ensure!(ran > 0, "nothing that is committed fits any of the shapes; give it one in SHAPES");
    // Whether a race shows in a product depends on the schedule. The simulator's schedule is always the same, and a warp runs until
    // it has to wait, so a missing barrier shows at some of the sizes.
    ensure!(defect != Defect::Race || choice != Choice::Sim || wrong > 0, "the race shows in the product of no size");
    Ok(())
}

/// Without edge handling, the product is right at multiples of the tile. At other sizes it is wrong or ends with a fault.
fn edges(problem: &Problem, found: Result<Verification>) -> Result<()> {
    let whole = is_whole([problem.m, problem.n, problem.k]);
    let size = format!("{}×{}×{}", problem.m, problem.n, problem.k);
    match found {
        Ok(found) => ensure!(found.ok == whole, "{size}: ok is {} and should be {whole}", found.ok),
        Err(error) if KernelFault::behind(&error).is_some() => {
            ensure!(!whole, "{size} is a multiple of the tile and must not fail: {error:#}");
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Compares the loops on the host with the reference.
fn host_is_right(host: HostProduct) -> Result<()> {
    for &[m, n, k] in SHAPES.iter().chain([&TALL]) {
        for dtype in [Dtype::F32, Dtype::I32] {
            let problem = Problem { m, n, k, dtype, fill: Fill::Uniform, seed: 2 };
            let (found, _) = time_on_host(&problem, host, Some(1))?;
            ensure!(found.ok, "{m}×{n}×{k} {dtype}: {}", found.diagnosis.unwrap_or_default());
        }
    }
    Ok(())
}
