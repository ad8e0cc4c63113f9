//! The kernels of one size take turns: each is checked, then all are timed round by round, so that a drift of the clocks
//! hits all alike. A kernel that fails stops no other.

use std::ops::RangeInclusive;

use anyhow::{Result, ensure};
use common::basics::matrix::Operands;
use common::basics::progress::Progress;
use common::device::Device;
use common::device::product::{Matrices, Product};
use common::findings::analysis::Counters;
use common::measure::timing::{self, Cache};
use common::measure::{self, Gpu};
use common::verify;
use common::verify::on_device::verify_c;

use crate::record::{self, Entry, Outcome};

/// Milliseconds of one kernel in one round, about.
const ROUND_MS: f64 = 60.0;
/// Samples of one kernel in one round.
const ROUND_SAMPLES: RangeInclusive<usize> = 2..=10;

/// A kernel, or the vendor's library, at the size at hand.
pub struct Contender {
    pub entry: Entry,
    /// What computes C, if it can be run here.
    pub product: Option<Box<dyn Product>>,
}

impl Contender {
    /// One that is not run.
    pub fn idle(name: &str, outcome: Outcome, note: String) -> Self {
        Self { entry: Entry::new(name, outcome, Some(note)), product: None }
    }

    /// What is run of it, as long as nothing is wrong with it.
    fn running(&mut self) -> Option<(&mut Entry, &dyn Product)> {
        let product = self.product.as_deref().filter(|_| self.entry.outcome == Outcome::Verified)?;
        Some((&mut self.entry, product))
    }
}

/// Runs and checks every kernel: first on the integer twin if the check wants one, then on the problem itself, whose
/// A and B stay on the device.
pub fn verify_all(
    device: &mut dyn Device,
    contenders: &mut [Contender],
    matrices: &Matrices,
    progress: &Progress,
) -> Result<()> {
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
            let observations = device.observations();
            entry.counters = observations.counters.map(|counters| Counters { lines: Vec::new(), ..counters });
            if let Some(works) = observations.works {
                entry.least_time = Some(measure::least_time(product, &Gpu::default(), &works));
            }
            let found = verify_c(device, product, problem, &operands)?;
            entry.method = Some(found.method);
            entry.worst_bound_share = found.worst_bound_share;
            if !found.ok {
                entry.outcome = Outcome::Wrong;
                entry.note = found.diagnosis;
            }
        }
    }
    Ok(())
}

pub fn time_all(
    rounds: u16,
    device: &mut dyn Device,
    contenders: &mut [Contender],
    cache: &mut Cache,
    progress: &Progress,
) -> Result<()> {
    progress.expect(contenders.len() as u64 * u64::from(rounds));
    let mut samples = vec![0; contenders.len()];
    for round in 0..rounds {
        for (contender, samples) in contenders.iter_mut().zip(&mut samples) {
            progress.add(1);
            let Some((entry, product)) = contender.running() else { continue };
            let mut timed = || -> Result<Vec<f64>> {
                // The kernel before has left its own traces in the caches.
                let mut warm_up = timing::sample(device, product, cache, 1)?;
                if round == 0 {
                    warm_up = warm_up.min(timing::sample(device, product, cache, 1)?);
                    entry.products_per_sample = cache.products_per_sample(warm_up);
                    let wanted = (ROUND_MS / (warm_up * entry.products_per_sample as f64)) as usize;
                    *samples = wanted.clamp(*ROUND_SAMPLES.start(), *ROUND_SAMPLES.end());
                }
                (0..*samples).map(|_| timing::sample(device, product, cache, entry.products_per_sample)).collect()
            };
            match timed() {
                Ok(samples) => entry.samples_ms.push(samples.into_iter().map(record::rounded).collect()),
                Err(error) => fail(device, entry, &error)?,
            }
        }
    }
    Ok(())
}

/// Marks a kernel as failing. If its fault has broken the GPU's context, nothing more runs in this process.
fn fail(device: &mut dyn Device, entry: &mut Entry, error: &anyhow::Error) -> Result<()> {
    // An error of a launch alone is gone by now; a fault of a kernel stays for good.
    let name = &entry.name;
    ensure!(
        device.synchronize().is_ok(),
        "{name} has broken the GPU's context, so that nothing runs after it: {error:#}; correct it, or leave it out with --steps"
    );
    entry.outcome = Outcome::Failed;
    entry.note = Some(format!("{error:#}"));
    entry.samples_ms.clear();
    Ok(())
}
