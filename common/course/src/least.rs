//! The least time of a kernel's product on a GPU, counted on the simulator from a few blocks of each launch.

use anyhow::{Context as _, Result};
use common::code::Source;
use common::device::{Device as _, Product as _, Session, SimDevice, SimOptions};
use common::measure::{self, Gpu, LeastTime};
use findings::Observations;
use plan::{DeviceInfo, Plan, Problem};

use crate::record::{Entry, Record, SizeRecord, Traffic};
use crate::steps::Kernel;

/// The least time of the plan; none if its blocks' work is not known for certain.
pub fn least_time(source: &Source, plan: &Plan, problem: &Problem, gpu: &Gpu) -> Result<Option<LeastTime>> {
    let options = SimOptions { sample: true, ..SimOptions::default() };
    let (session, seen) = count(source, plan, problem, options)?;
    Ok(seen.works.map(|works| measure::least_time(&session, gpu, &works)))
}

/// The plan on the simulator, and the observations of its launches.
fn count(source: &Source, plan: &Plan, problem: &Problem, options: SimOptions) -> Result<(Session, Observations)> {
    let mut device = SimDevice::new(options);
    let code = source.code(&plan.specialisation, device.info())?;
    let session = Session::new(&mut device, problem, plan.clone(), &code)?;
    session.launch(&mut device)?;
    Ok((session, device.observations()))
}

/// Counts each kernel's traffic to global memory at the size of the ladder; the roofline is drawn from it.
pub fn fill_traffic(record: &mut Record) {
    let Some(shape) = record.ladder_size().filter(|_| record.has_times()).map(SizeRecord::shape) else { return };
    let (problem, device) = (record.problem(shape), record.device.clone());
    for entry in record.sizes.iter_mut().filter(|size| size.shape() == shape).flat_map(|size| &mut size.entries) {
        let kernel = Kernel::recorded(&entry.name).filter(|kernel| !kernel.is_on_host());
        entry.traffic = kernel.and_then(|kernel| traffic(kernel, &device, &problem).ok());
    }
}

/// Operations and bytes of the first block of a kernel's first launch; blocks inside the matrices are all alike.
fn traffic(kernel: Kernel, device: &DeviceInfo, problem: &Problem) -> Result<Traffic> {
    let mut plan = kernel.plan(problem, device)?;
    plan.launches.truncate(1);
    plan.launches.iter_mut().for_each(|launch| launch.grid = [1, 1, 1]);
    let options = SimOptions { counters: true, ..SimOptions::default() };
    let (_, seen) = count(&Source::read(&kernel.file())?, &plan, problem, options)?;
    let counters = seen.counters.context("the simulator counted nothing; report this as a defect")?;
    let count = |name: &str| counters.total.get(name).map_or(0.0, |&count| count as f64);
    let sectors = count("global_load_sectors") + count("global_store_sectors");
    Ok(Traffic { flop: 2.0 * count("fma_threads"), global_bytes: 32.0 * sectors })
}

/// Counts the least times of a record's kernels, where they were timed and `wanted` says so. A kernel that has changed since, or
/// that cannot be compiled here for that device, keeps the one that it has.
pub fn fill(record: &mut Record, mut wanted: impl FnMut(&Problem, &Entry) -> bool) {
    let Some(figures) = &record.figures else { return };
    let gpu = Gpu::of(&record.device, figures);
    for step in record.steps.clone().into_iter().filter(|step| !step.host) {
        let Some(kernel) = Kernel::recorded(&step.name) else { continue };
        let source = Source::read(&kernel.file());
        let Some(source) = source.ok().filter(|source| source.hash == step.hash) else { continue };
        for at in 0..record.sizes.len() {
            let problem = record.problem(record.sizes[at].shape());
            let entry = record.sizes[at].entries.iter_mut().find(|entry| entry.name == step.name);
            let entry = entry.filter(|entry| entry.spread().is_some() && wanted(&problem, entry));
            let (Some(entry), Ok(plan)) = (entry, kernel.plan(&problem, &record.device)) else { continue };
            if let Ok(least) = least_time(&source, &plan, &problem, &gpu) {
                entry.least_time = least;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use common::basics::{host, ms};
    use simt::{Work, Works};

    use super::*;
    use crate::record;
    use crate::steps::STEPS;

    /// What a few blocks stand for is what all of them do, or a little less if the matrices' rows start anywhere.
    #[test]
    fn a_sample_counts_no_more_than_all_blocks() {
        let mut equal = 0;
        for &step in STEPS.iter().filter(|step| step.host.is_none()) {
            let kernel = Kernel { step, variant: None };
            let source = Source::read(&kernel.file()).unwrap();
            for problem in [[256, 256, 64], [129, 520, 48], [200, 133, 67]].map(Problem::uniform) {
                let Ok(plan) = kernel.plan(&problem, &DeviceInfo::simulated(host::total_bytes())) else { continue };
                let total = |options| {
                    let works = count(&source, &plan, &problem, options).unwrap().1.works.unwrap();
                    let kinds = works.iter().flat_map(Works::kinds);
                    kinds.fold([0; 4], |[blocks, fma, issued, passes], (work, count)| {
                        let Work { fma: f, issued: i, passes: p } = work;
                        [blocks + count, fma + f * count, issued + i * count, passes + p * count]
                    })
                };
                let sampled = total(SimOptions { sample: true, ..SimOptions::default() });
                let all = total(SimOptions { counters: true, ..SimOptions::default() });
                equal += usize::from(sampled == all);
                for (sampled, all) in sampled.into_iter().zip(all) {
                    let share = sampled as f64 / all as f64;
                    assert!((0.95..=1.0).contains(&share), "{} {problem:?}: {sampled} of {all}", step.name);
                }
            }
        }
        assert!(equal > 5, "{equal} samples are exact");
    }

    /// What a record says of a kernel as it is now must be what would be counted now, and a bound that any kernel has beaten is none.
    /// (With `SNAPSHOTS=overwrite` all are counted, for three minutes, and the records are written.)
    #[test]
    fn records_have_the_least_times_of_today_and_no_measured_time_is_below_them() {
        let overwrite = std::env::var("SNAPSHOTS").is_ok_and(|value| value == "overwrite");
        let (mut compared, mut bounded) = (0, 0);
        for (name, record) in
            record::within(&record::folder()).unwrap().into_iter().filter(|(_, record)| record.has_times())
        {
            let mut now = record.clone();
            let small = |size: [u64; 3]| size.iter().product::<u64>() <= 512 * 512 * 512;
            fill(&mut now, |problem, entry| {
                let small = small([problem.m, problem.n, problem.k]);
                compared += usize::from(small);
                overwrite || small || entry.least_time.is_none()
            });
            if overwrite {
                now.write(&record::folder().join(format!("{name}.json"))).unwrap();
            }
            let words = |least: &LeastTime| (least.bound_by.clone(), ms(least.ms));
            for ((size, then), (_, now)) in record.entries().zip(now.entries()) {
                let (known, counted) = (then.least_time.as_ref(), now.least_time.as_ref());
                let same = known.map(words) == counted.map(words) || known.is_none() && !small(size.shape());
                assert!(overwrite || same, "{name}: {}", then.name);
                let (Some(spread), Some(least)) = (now.spread(), counted) else { continue };
                assert!(spread.min >= least.ms, "{name}: {} at {} takes {} ms", now.name, size.words(), spread.min);
                bounded += 1;
            }
        }
        assert!(compared > 20 && bounded > 50, "{compared} compared, {bounded} bounded");
    }
}
