//! Criterion benches of a step. All steps have the same groups and sizes, so that their figures appear side by side. An element of
//! criterion's throughput is one operation of the product: 1 Gelem/s is 1 GFLOP/s.
//!
//! On a GPU, events around the launches give the device's time. Without a GPU, step 1 and the simulator are benched under names
//! that say so, because their times are the host's and never a GPU's. For the simulator, the counters of each kernel are shown
//! instead of its speed.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use criterion::{BenchmarkId, Criterion, Throughput};

use crate::basics::{Operands, number};
use crate::code::{Code, Source, file_of};
use crate::device::{self, Choice, Device, Product as _, Session, SimDevice, SimOptions};
use crate::measure::{Cache, capacity, time_on_host, timing};
use crate::verify::{multiply, verify_on};
use findings::RATIOS;
use plan::{HostProduct, Kind, Plan, Problem, Role, Step, Variant};

/// M, N, K on a GPU. Step 3 can compute only the first, which the other steps therefore have too.
const GPU_SIZES: [[u64; 3]; 7] = [[32, 32, 128], [256; 3], [512; 3], [1024; 3], [1000, 777, 513], [2048; 3], [4096; 3]];
/// M, N, K on the simulator.
const SIM_SIZES: [[u64; 3]; 2] = [[32, 32, 128], [96; 3]];
/// M, N, K on the host.
const HOST_SIZES: [[u64; 3]; 2] = [[32, 32, 128], [256; 3]];

/// Benches a step, for `cargo bench` or, with each bench run once, for `cargo test --benches`.
///
/// A bench that fails is reported and left out. It does not make `cargo bench` fail, which would then skip all later steps, but it
/// makes the test fail.
pub fn run(step: &Step) -> ExitCode {
    let test = !std::env::args_os().any(|arg| arg == "--bench");
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(10)
        .configure_from_args();
    let failed = bench(step, &mut criterion).unwrap_or_else(|error| {
        eprintln!("{}: {error:#}", step.name);
        1
    });
    criterion.final_summary();
    ExitCode::from(u8::from(test && failed > 0))
}

/// Benches the step at all sizes and returns how many failed.
fn bench(step: &Step, criterion: &mut Criterion) -> Result<usize> {
    let mut device = device::open(Choice::Auto, &SimOptions::default())?;
    let kind = if step.host.is_some() { Kind::Host } else { device.info().kind };
    // No time of the host or the simulator must be taken for a GPU's.
    let (place, sizes): (&str, &[[u64; 3]]) = match kind {
        Kind::Cuda => ("on the GPU", &GPU_SIZES),
        Kind::Host => ("on the host", &HOST_SIZES),
        Kind::Sim => ("on the simulator, not a GPU time,", &SIM_SIZES),
    };
    let others =
        step.variants.iter().filter(|variant| kind != Kind::Host && variant.role != Role::CounterExample).map(Some);
    let mut failed = 0;
    for &[m, n, k] in sizes {
        for variant in others.clone().chain([None]) {
            let kernel = variant.map_or(step.name.to_owned(), |variant| format!("{}/{}", step.name, variant.name));
            let group = format!("f32 {place} {m}x{n}x{k}");
            let named = Named { kernel, group, kind, problem: Problem::uniform([m, n, k]) };
            eprintln!("{}: {}", named.group, named.kernel);
            let benched = match step.host {
                Some(host) => on_host(host, criterion, &named),
                None => on_device(step, variant, device.as_mut(), criterion, &named),
            };
            if let Err(error) = benched {
                failed += 1;
                eprintln!("{}: {} FAILS: {error:#}", named.group, named.kernel);
            }
        }
    }
    Ok(failed)
}

/// A bench: its kernel, its group, the kind of device and the problem.
struct Named {
    kernel: String,
    group: String,
    kind: Kind,
    problem: Problem,
}

impl Named {
    /// Lets criterion time the products. `time` computes the given number of products and returns how long they took.
    fn measure(&self, criterion: &mut Criterion, time: &mut dyn FnMut(u64) -> Result<Duration>) -> Result<()> {
        let mut result = Ok(());
        let mut group = criterion.benchmark_group(&self.group);
        if self.kind != Kind::Sim {
            group.throughput(Throughput::Elements(self.problem.flop() as u64));
        }
        group.bench_function(BenchmarkId::from_parameter(&self.kernel), |bencher| {
            bencher.iter_custom(|products| {
                time(products).unwrap_or_else(|found| {
                    result = Err(found);
                    // Criterion needs a time; the error is shown beside its result.
                    Duration::from_secs(1)
                })
            });
        });
        group.finish();
        result
    }
}

fn on_device(
    step: &Step,
    variant: Option<&Variant>,
    device: &mut dyn Device,
    criterion: &mut Criterion,
    named: &Named,
) -> Result<()> {
    let problem = named.problem;
    let plan = match step.plan_of(variant)(&problem, device.info()) {
        Ok(plan) => plan,
        Err(limit) => {
            eprintln!("{}: {} has none: {limit:#}", named.group, named.kernel);
            return Ok(());
        }
    };
    capacity::ensure_fits(&problem, Some(&plan), device, 0)?;
    let source = Source::read(&file_of(step, variant))?;
    let code = source.code(&plan.specialisation, device.info())?;
    if device.info().kind == Kind::Sim {
        eprintln!("{}", counted(&problem, &plan, &code)?);
    }
    let session = Session::new(device, &problem, plan, &code)?;
    let verified = Operands::new(&problem).and_then(|operands| verify_on(device, &session, &problem, &operands));
    let measured = verified.and_then(|verification| {
        ensure!(verification.ok, "the product is wrong: {}", verification.words(None));
        named.measure(criterion, &mut |products| time(device, &session, products))
    });
    session.close(device)?;
    measured
}

/// The simulator's counters for the kernel, which take the place of a GPU's time.
fn counted(problem: &Problem, plan: &Plan, code: &Code) -> Result<String> {
    let mut device = SimDevice::new(SimOptions { counters: true, ..SimOptions::default() });
    multiply(&mut device, problem, plan, code)?;
    let counters = device.observations().counters.unwrap_or_default();
    let ratios = RATIOS.iter().filter_map(|(name, term)| Some(format!("{name} {}", number(counters.term(term)?))));
    Ok(format!("  {}", ratios.collect::<Vec<_>>().join(", ")))
}

fn time(device: &mut dyn Device, session: &Session, products: u64) -> Result<Duration> {
    if device.info().kind == Kind::Cuda {
        // In parts that fit the stream's queue.
        let mut ms = 0.0;
        for first in (0..products).step_by(100) {
            let part = (products - first).min(100);
            ms += timing::sample(device, session, &mut Cache::warm(), part as usize)? * part as f64;
        }
        return Ok(Duration::from_secs_f64(ms / 1e3));
    }
    let begin = Instant::now();
    for _ in 0..products {
        session.launch(device)?;
    }
    Ok(begin.elapsed())
}

fn on_host(host: HostProduct, criterion: &mut Criterion, named: &Named) -> Result<()> {
    let (verification, _) = time_on_host(&named.problem, host, Some(1))?;
    ensure!(verification.ok, "the product is wrong: {}", verification.words(None));
    let Operands::F32 { a, b } = Operands::new(&named.problem)? else { return Ok(()) };
    let size = [named.problem.m, named.problem.n, named.problem.k].map(|size| size as usize);
    let mut c = vec![0.0; size[0] * size[1]];
    named.measure(criterion, &mut |products| {
        let begin = Instant::now();
        for _ in 0..products {
            (host.f32)(&a, &b, &mut c, size);
            std::hint::black_box(&mut c);
        }
        Ok(begin.elapsed())
    })
}
