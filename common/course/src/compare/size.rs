//! All steps at one size, on the same data.

use anyhow::{Result, anyhow};
use common::basics::progress::Progress;
use common::device::Device;
use common::device::cublas::CublasProduct;
use common::device::product::Matrices;
use common::device::session::Session;
use common::measure::timing::{Cache, Spread};
use common::measure::{capacity, time_on_host};
use common::program::report::LaunchReport;
use plan::{HostProduct, Kind, Problem};

use crate::compare::participants::Participant;
use crate::compare::turns::{Contender, time_all, verify_all};
use crate::record::{self, CUBLAS, Entry, Outcome, Record, SizeRecord};

/// Multiply-adds that a step on the host is asked for at most: seconds of three plain loops.
const HOST_LIMIT: u128 = 1 << 31;

/// Prepares every kernel, checks it, and times it if the device is a GPU.
pub fn one_size(
    rounds: u16,
    device: &mut dyn Device,
    participants: &mut [Participant],
    record: &Record,
    problem: &Problem,
    cache: &mut Cache,
) -> Result<SizeRecord> {
    let size = [problem.m, problem.n, problem.k];
    let progress = Progress::new(record::size_words(size), participants.len() as u64);
    let of_size = |entries| SizeRecord { m: problem.m, n: problem.n, k: problem.k, entries };
    let fits = capacity::ensure_fits(problem, None, device);
    let matrices = match fits.and_then(|()| Matrices::allocate(device, problem)) {
        Ok(matrices) => matrices,
        Err(error) => {
            let skipped = |name: &str| Entry::new(name, Outcome::Skipped, Some(format!("{error:#}")));
            return Ok(of_size(record.names().into_iter().map(skipped).collect()));
        }
    };
    let failed = |name: &str, error| Contender::idle(name, Outcome::Failed, format!("{error:#}"));
    let mut contenders = Vec::new();
    for participant in &mut *participants {
        let name = participant.name.clone();
        let contender = contender(device, participant, &matrices);
        contenders.push(contender.unwrap_or_else(|error| failed(&name, error)));
        progress.add(1);
    }
    if record.cublas.is_some() {
        contenders.push(match CublasProduct::new(device, &matrices) {
            Ok(library) => {
                let entry = Entry::new(CUBLAS, Outcome::Verified, None);
                Contender { entry, product: Some(Box::new(library)) }
            }
            Err(error) => failed(CUBLAS, error),
        });
    }
    verify_all(device, &mut contenders, &matrices, &progress)?;
    if device.info().kind == Kind::Cuda {
        time_all(rounds, device, &mut contenders, cache, &progress)?;
    }
    let mut entries = Vec::new();
    for Contender { mut entry, product } in contenders {
        if let Some(product) = product {
            entry.resources = product.main_kernel().map(|kernel| device.resources(kernel));
            entry.first_launch_ms = product.first_run().get().filter(|_| device.info().kind == Kind::Cuda);
            product.close(device)?;
        }
        entries.push(entry);
    }
    matrices.release(device)?;
    Ok(of_size(entries))
}

/// A step at a size.
fn contender(device: &mut dyn Device, participant: &mut Participant, matrices: &Matrices) -> Result<Contender> {
    let problem = &matrices.problem;
    let name = participant.name.clone();
    let without = |outcome, note: String| Ok(Contender::idle(&name, outcome, note));
    if let Some(product) = participant.kernel.step.host.filter(|_| participant.kernel.is_on_host()) {
        return Ok(Contender { entry: on_host(participant, product, problem)?, product: None });
    }
    let plan = match participant.kernel.plan(problem, device.info()) {
        Ok(plan) => plan,
        Err(limit) => return without(Outcome::Impossible, format!("{limit:#}")),
    };
    if let Err(error) = capacity::ensure_fits(problem, Some(&plan), device) {
        return without(Outcome::Skipped, format!("{error:#}"));
    }
    let code = participant.code(&plan, device).map_err(|error| anyhow!("{error}"))?;
    let mut entry = Entry {
        origin: Some(code.origin.clone()),
        defines: plan.specialisation.defines.clone(),
        launch: LaunchReport::of(&plan),
        least_time: participant.least_time(&plan, problem, device),
        ..Entry::new(&name, Outcome::Verified, None)
    };
    let session = Session::sharing(device, plan, &code, matrices)?;
    entry.occupancy = session.occupancy(device);
    Ok(Contender { entry, product: Some(Box::new(session)) })
}

/// Samples of a step of the host.
const HOST_SAMPLES: usize = 3;

/// A step of the host, on the same data: the generator is the same.
fn on_host(participant: &Participant, product: HostProduct, problem: &Problem) -> Result<Entry> {
    let name = &participant.name;
    if problem.multiply_adds() > HOST_LIMIT {
        let note = "on the host it would take more than a few seconds".to_owned();
        return Ok(Entry::new(name, Outcome::Skipped, Some(note)));
    }
    let (verification, samples) = time_on_host(problem, product, Some(HOST_SAMPLES))?;
    let outcome = if verification.ok { Outcome::Verified } else { Outcome::Wrong };
    let spread = Spread::of(&samples).filter(|_| verification.ok);
    Ok(Entry {
        method: Some(verification.method),
        worst_bound_share: verification.worst_bound_share,
        origin: Some(participant.record().source),
        samples_ms: spread
            .map(|spread| [spread.min, spread.median, spread.max].map(record::rounded).to_vec())
            .into_iter()
            .collect(),
        products_per_sample: 1,
        ..Entry::new(name, outcome, verification.diagnosis)
    })
}
