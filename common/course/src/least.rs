//! The least time of a kernel's product on a GPU, counted on the simulator: a few blocks of each launch stand for all.

use anyhow::Result;
use common::code::Source;
use common::device::product::Product as _;
use common::device::session::Session;
use common::device::{Device as _, SimDevice, SimOptions};
use common::measure::{self, Gpu, LeastTime};
use plan::{Plan, Problem};
use simt::Works;

use crate::record::{Entry, Record};
use crate::steps::Kernel;

/// The least time of the plan; none if its blocks' work is not known for certain.
pub fn least_time(source: &Source, plan: &Plan, problem: &Problem, gpu: &Gpu) -> Result<Option<LeastTime>> {
    let options = SimOptions { sample: true, ..SimOptions::default() };
    let (session, works) = count(source, plan, problem, options)?;
    Ok(works.map(|works| measure::least_time(&session, gpu, &works)))
}

/// The plan on the simulator, and the work of its launches.
fn count(
    source: &Source,
    plan: &Plan,
    problem: &Problem,
    options: SimOptions,
) -> Result<(Session, Option<Vec<Works>>)> {
    let mut device = SimDevice::new(options);
    let code = source.code(&plan.specialisation, device.info(), source.committed_folder().as_deref())?;
    let session = Session::new(&mut device, problem, plan.clone(), &code)?;
    session.launch(&mut device)?;
    Ok((session, device.observations().works))
}

/// Counts the least times of a record's kernels, where they were timed and `wanted` says so. A kernel that has changed since keeps the one
/// that it has; one that cannot be compiled here for that device has none.
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
            entry.least_time = least_time(&source, &plan, &problem, &gpu).ok().flatten();
        }
    }
}

#[cfg(test)]
mod tests {
    use common::basics::host;
    use common::basics::units::ms;
    use plan::DeviceInfo;
    use simt::Work;

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
                    let works = count(&source, &plan, &problem, options).unwrap().1.unwrap();
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

    /// What a record says of a kernel as it is now must be what would be counted now. (With `SNAPSHOTS=overwrite` all are counted,
    /// for three minutes, and the records are written.)
    #[test]
    fn records_have_the_least_times_of_today() {
        let overwrite = std::env::var("SNAPSHOTS").is_ok_and(|value| value == "overwrite");
        let mut compared = 0;
        for (name, record) in record::all().unwrap().into_iter().filter(|(_, record)| record.has_times()) {
            let small = |problem: &Problem| problem.m * problem.n * problem.k <= 512 * 512 * 512;
            let mut now = record.clone();
            fill(&mut now, |problem, _| {
                compared += usize::from(small(problem));
                overwrite || small(problem)
            });
            if overwrite {
                now.write(&record::folder().join(format!("{name}.json"))).unwrap();
                continue;
            }
            let words = |least: &LeastTime| (least.bound_by.clone(), ms(least.ms));
            for ((_, then), (_, now)) in record.entries().zip(now.entries()) {
                let [then_words, now] = [then, now].map(|entry| entry.least_time.as_ref().map(words));
                assert_eq!(then_words, now, "{name}: {}", then.name);
            }
        }
        assert!(compared > 20 || overwrite, "{compared} compared");
    }

    /// A bound that any kernel has beaten is none. (With `-- --nocapture` it says how far each kernel is from its bound.)
    #[test]
    fn no_measured_time_is_below_the_bound() {
        let mut compared = 0;
        for (name, mut record) in record::all().unwrap().into_iter().filter(|(_, record)| record.has_times()) {
            fill(&mut record, |_, entry| entry.least_time.is_none());
            for (size, entry) in record.entries() {
                let (Some(spread), Some(least)) = (entry.spread(), &entry.least_time) else { continue };
                let times = spread.median / least.ms;
                println!("{:>16} {:<32} {times:.3} × {} ({})", size.words(), entry.name, least.ms, least.bound_by);
                assert!(spread.min >= least.ms, "{name}: {} at {} takes {} ms", entry.name, size.words(), spread.min);
                compared += 1;
            }
        }
        assert!(compared > 50, "{compared} times compared");
    }
}
