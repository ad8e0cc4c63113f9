//! The kernels that take part, and all of them at one size on the same data: each is verified, then all are timed round by round, so that
//! a drift of the clocks affects all alike. A kernel that fails does not stop the others.

use std::ops::RangeInclusive;

use anyhow::{Result, anyhow, ensure};
use common::basics::{Operands, Progress};
use common::code::{Source, folder_of};
use common::device::{CublasProduct, Device, Matrices, Product, Session, observations};
use common::measure::{self, Cache, Gpu, Spread, capacity, time_on_host, timing};
use common::program::report::LaunchReport;
use common::verify;
use common::verify::verify_c;
use findings::Counters;
use plan::{HostProduct, Kind, Problem};

use crate::least::least_time;
use crate::record::{self, CUBLAS, Entry, Outcome, SizeRecord, StepRecord};
use crate::steps::{Kernel, Role, STEPS};

/// Multiply-adds that a step on the host is asked for at most, seconds of three plain loops, and its samples.
const HOST_LIMIT: u128 = 1 << 31;
const HOST_SAMPLES: usize = 3;
/// Milliseconds of one kernel in one round, about.
const ROUND_MS: f64 = 60.0;
const ROUND_SAMPLES: RangeInclusive<usize> = 2..=10;

pub struct Participant {
    pub kernel: Kernel,
    /// The step, or `STEP/VARIANT`.
    pub name: String,
    source: Result<Source, String>,
}

impl Participant {
    fn new(kernel: Kernel) -> Self {
        let file = if kernel.is_on_host() { folder_of(kernel.step).join("src/lib.rs") } else { kernel.file() };
        let source = Source::read(&file).map_err(|error| format!("{error:#}"));
        Self { kernel, name: kernel.name(), source }
    }

    /// The kernel's entry in a record's list of steps.
    pub fn record(&self) -> StepRecord {
        let Self { kernel, source, .. } = self;
        let read = source.as_ref().ok();
        let source = read.map_or_else(|| format!("{}/kernel.cu", kernel.step.name), |source| source.display.clone());
        let hash = read.map(|source| source.hash.clone()).unwrap_or_default();
        let idea = read.filter(|_| kernel.variant.is_some()).map(|source| first_sentence(&source.comment()));
        let title = idea.unwrap_or_else(|| kernel.step.title.to_owned());
        let rung = kernel.role() == Role::Rung;
        StepRecord { name: self.name.clone(), title, source, hash, host: kernel.is_on_host(), rung }
    }
}

/// A sentence as a title: up to its first pause, without a capital unless it begins with an abbreviation.
fn first_sentence(text: &str) -> String {
    let sentence = &text[..text.find([':', ';', '.']).unwrap_or(text.len())];
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) if !letters.clone().next().is_some_and(char::is_uppercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => sentence.to_owned(),
    }
}

/// The kernels of all steps whose names start with one of `names`, or of all steps if it is empty: with their rungs if
/// `rungs` is set, with those in Rust if `rust` is, and always with the kernels beyond the course.
pub fn participants(names: &[String], rungs: bool, rust: bool) -> Result<Vec<Participant>> {
    let chosen = |kernel: &Kernel| match kernel.role() {
        _ if names.contains(&kernel.name()) => true,
        _ if !names.is_empty() && !names.iter().any(|start| kernel.step.name.starts_with(start.as_str())) => false,
        Role::Step | Role::Beyond => true,
        Role::Rung => rungs,
        Role::Rust => rust,
        Role::CounterExample | Role::Own => false,
    };
    let kernels = STEPS.iter().flat_map(|step| Kernel::of(step));
    let all: Vec<Participant> = kernels.filter(chosen).map(Participant::new).collect();
    ensure!(!all.is_empty(), "no step's name starts with {}; leave --steps out to compare all", names.join(" or "));
    Ok(all)
}

/// A kernel, or the vendor's library, at the size at hand.
struct Contender {
    entry: Entry,
    /// Computes C; `None` if it cannot run here.
    product: Option<Box<dyn Product>>,
}

impl Contender {
    /// Its entry and product, unless it has failed.
    fn running(&mut self) -> Option<(&mut Entry, &dyn Product)> {
        let product = self.product.as_deref().filter(|_| self.entry.outcome == Outcome::Verified)?;
        Some((&mut self.entry, product))
    }
}

/// What stays the same from size to size.
pub struct Turns<'a> {
    pub device: &'a mut dyn Device,
    pub cache: Cache,
    pub rounds: u16,
    pub cublas: bool,
}

impl Turns<'_> {
    /// Prepares every kernel, checks it, and times it if the device is a GPU.
    pub fn at(&mut self, problem: &Problem, participants: &[Participant]) -> Result<SizeRecord> {
        let of_size = |entries| SizeRecord { m: problem.m, n: problem.n, k: problem.k, entries };
        let progress = Progress::new(of_size(vec![]).words(), participants.len() as u64);
        let fits = capacity::ensure_fits(problem, None, self.device, 0);
        let matrices = match fits.and_then(|()| Matrices::allocate(self.device, problem)) {
            Ok(matrices) => matrices,
            Err(error) => {
                let names = participants.iter().map(|one| one.name.as_str()).chain(self.cublas.then_some(CUBLAS));
                let skipped = |name| Entry::new(name, Outcome::Skipped, Some(format!("{error:#}")));
                return Ok(of_size(names.map(skipped).collect()));
            }
        };
        let ready = |name: &str, contender: Result<Contender>| {
            let failed = |error| Entry::new(name, Outcome::Failed, Some(format!("{error:#}")));
            contender.unwrap_or_else(|error: anyhow::Error| Contender { entry: failed(error), product: None })
        };
        let mut contenders = Vec::new();
        for participant in participants {
            let contender = contender(self.device, participant, &matrices);
            contenders.push(ready(&participant.name, contender));
            progress.add(1);
        }
        if self.cublas {
            let entry = Entry::new(CUBLAS, Outcome::Verified, None);
            let library = CublasProduct::new(self.device, &matrices);
            contenders.push(ready(CUBLAS, library.map(|it| Contender { entry, product: Some(Box::new(it)) })));
        }
        let on_gpu = self.device.info().kind == Kind::Cuda;
        self.verify(&mut contenders, &matrices, &progress)?;
        if on_gpu {
            self.time(&mut contenders, &progress)?;
        }
        let mut entries = Vec::new();
        for Contender { mut entry, product } in contenders {
            if let Some(product) = product {
                entry.resources = product.main_kernel().map(|kernel| self.device.resources(kernel));
                entry.first_launch_ms = product.first_run().get().filter(|_| on_gpu);
                product.close(self.device)?;
            }
            entries.push(entry);
        }
        matrices.release(self.device)?;
        Ok(of_size(entries))
    }

    /// Runs and checks every kernel: first on the integer twin if the check wants one, then on the problem itself, whose
    /// A and B stay on the device.
    fn verify(&mut self, contenders: &mut [Contender], matrices: &Matrices, progress: &Progress) -> Result<()> {
        let device = &mut *self.device;
        for problem in verify::twin(&matrices.problem).iter().chain([&matrices.problem]) {
            let operands = Operands::new(problem)?;
            matrices.upload(device, &operands)?;
            progress.expect(contenders.len() as u64);
            for contender in &mut *contenders {
                progress.add(1);
                let Some((entry, product)) = contender.running() else { continue };
                if let Err(error) = product.run(device) {
                    fail(device, entry, &error)?;
                    continue;
                }
                // The lines of a kernel are for a look at it alone.
                let observations = observations(device);
                entry.counters = observations.counters.map(|counters| Counters { lines: Vec::new(), ..counters });
                if let Some(works) = observations.works {
                    entry.least_time = Some(measure::least_time(product, &Gpu::default(), &works));
                }
                let found = verify_c(device, product, problem, &operands)?;
                entry.method = Some(found.method);
                entry.worst_bound_share = found.worst_bound_share;
                if !found.ok {
                    (entry.outcome, entry.note) = (Outcome::Wrong, found.diagnosis);
                }
            }
        }
        Ok(())
    }

    fn time(&mut self, contenders: &mut [Contender], progress: &Progress) -> Result<()> {
        let Self { device, cache, rounds, .. } = self;
        progress.expect(contenders.len() as u64 * u64::from(*rounds));
        let mut samples = vec![0; contenders.len()];
        for round in 0..*rounds {
            for (contender, samples) in contenders.iter_mut().zip(&mut samples) {
                progress.add(1);
                let Some((entry, product)) = contender.running() else { continue };
                let mut timed = || -> Result<Vec<f64>> {
                    // The kernel before has left its own traces in the caches.
                    let mut warm_up = timing::sample(*device, product, cache, 1)?;
                    if round == 0 {
                        warm_up = warm_up.min(timing::sample(*device, product, cache, 1)?);
                        entry.products_per_sample = cache.products_per_sample(warm_up);
                        let wanted = (ROUND_MS / (warm_up * entry.products_per_sample as f64)) as usize;
                        *samples = wanted.clamp(*ROUND_SAMPLES.start(), *ROUND_SAMPLES.end());
                    }
                    (0..*samples).map(|_| timing::sample(*device, product, cache, entry.products_per_sample)).collect()
                };
                match timed() {
                    Ok(samples) => entry.samples_ms.push(samples.into_iter().map(record::rounded).collect()),
                    Err(error) => fail(*device, entry, &error)?,
                }
            }
        }
        Ok(())
    }
}

/// A kernel at a size, ready to run; or its entry alone, if it is not run.
fn contender(device: &mut dyn Device, participant: &Participant, matrices: &Matrices) -> Result<Contender> {
    let problem = &matrices.problem;
    let name = participant.name.clone();
    let alone = |entry| Ok(Contender { entry, product: None });
    let without = |outcome, note| alone(Entry::new(&name, outcome, Some(format!("{note:#}"))));
    if let Some(product) = participant.kernel.step.host.filter(|_| participant.kernel.is_on_host()) {
        return alone(on_host(participant, product, problem)?);
    }
    let plan = match participant.kernel.plan(problem, device.info()) {
        Ok(plan) => plan,
        Err(limit) => return without(Outcome::Impossible, limit),
    };
    if let Err(error) = capacity::ensure_fits(problem, Some(&plan), device, 0) {
        return without(Outcome::Skipped, error);
    }
    let source = participant.source.as_ref().map_err(|error| anyhow!("{error}"))?;
    let code = source.code(&plan.specialisation, device.info())?;
    let gpu = device.figures().map(|figures| Gpu::of(device.info(), &figures));
    let mut entry = Entry {
        origin: Some(code.origin.clone()),
        defines: plan.specialisation.defines.clone(),
        launch: LaunchReport::of(&plan),
        // Counted on the simulator.
        least_time: gpu.and_then(|gpu| least_time(source, &plan, problem, &gpu).ok().flatten()),
        ..Entry::new(&name, Outcome::Verified, None)
    };
    let session = Session::sharing(device, plan, &code, matrices)?;
    entry.occupancy = session.occupancy(device);
    Ok(Contender { entry, product: Some(Box::new(session)) })
}

/// A step on the host. It draws the same data by the same generator.
fn on_host(participant: &Participant, product: HostProduct, problem: &Problem) -> Result<Entry> {
    let name = &participant.name;
    if problem.multiply_adds() > HOST_LIMIT {
        let note = "on the host it would take more than a few seconds".to_owned();
        return Ok(Entry::new(name, Outcome::Skipped, Some(note)));
    }
    let (verification, samples) = time_on_host(problem, product, Some(HOST_SAMPLES))?;
    let outcome = if verification.ok { Outcome::Verified } else { Outcome::Wrong };
    let spread = Spread::of(&samples).filter(|_| verification.ok);
    let samples = spread.map(|spread| [spread.min, spread.median, spread.max].map(record::rounded).to_vec());
    Ok(Entry {
        method: Some(verification.method),
        worst_bound_share: verification.worst_bound_share,
        origin: Some(participant.record().source),
        samples_ms: samples.into_iter().collect(),
        products_per_sample: 1,
        ..Entry::new(name, outcome, verification.diagnosis)
    })
}

/// Marks a kernel as failing. If its fault has broken the GPU's context, nothing more runs in this process.
fn fail(device: &mut dyn Device, entry: &mut Entry, error: &anyhow::Error) -> Result<()> {
    // An error of a launch alone is gone by now; a fault of a kernel stays for good.
    let name = &entry.name;
    ensure!(
        device.synchronize().is_ok(),
        "{name} has broken the GPU's context, so that nothing runs after it: {error:#}; correct it, or leave it out with --steps"
    );
    (entry.outcome, entry.note) = (Outcome::Failed, Some(format!("{error:#}")));
    entry.samples_ms.clear();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_sentence() {
        assert_eq!(first_sentence("Each thread computes: a tile. More."), "each thread computes");
        assert_eq!(first_sentence(""), "");
    }
}
