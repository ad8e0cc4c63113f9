//! The least time of a kernel's product on a GPU, counted on the simulator: a few blocks of each launch stand for all.

use std::collections::BTreeMap;

use anyhow::Result;
use common::code::Source;
use common::device::product::Product as _;
use common::device::session::Session;
use common::device::{Device as _, SimDevice, SimOptions};
use common::measure::{self, Gpu, LeastTime};
use plan::{Plan, Problem};
use simt::Works;

use crate::record::Record;
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

/// Least times by the size's and the entry's place in a record.
pub type LeastTimes = BTreeMap<(usize, usize), LeastTime>;

/// What each kernel of a record takes at least at each size at which it was timed. A kernel that has changed since, or that
/// cannot be compiled here for that device, is left out.
pub fn of_record(record: &Record) -> Result<LeastTimes> {
    choose(record, |_, stored, count| stored.cloned().or_else(count))
}

/// For each kernel of a record as it is now, by its problem, the record's least time and a way to count it, that which is wanted.
fn choose(
    record: &Record,
    wanted: impl Fn(&Problem, Option<&LeastTime>, &dyn Fn() -> Option<LeastTime>) -> Option<LeastTime>,
) -> Result<LeastTimes> {
    let Some(figures) = &record.figures else { return Ok(BTreeMap::new()) };
    let gpu = Gpu::of(&record.device, figures);
    let problems: Vec<Problem> = record.sizes.iter().map(|size| record.problem([size.m, size.n, size.k])).collect();
    let mut found = BTreeMap::new();
    for step in record.steps.iter().filter(|step| !step.host) {
        let Some(kernel) = Kernel::recorded(&step.name) else { continue };
        let source = Source::read(&kernel.file());
        let Some(source) = source.ok().filter(|source| source.hash == step.hash) else { continue };
        for (at, problem) in problems.iter().enumerate() {
            let plan = kernel.plan(problem, &record.device);
            let place = record.sizes[at].entries.iter().position(|entry| entry.name == step.name);
            let (Some(place), Ok(plan)) = (place, plan) else { continue };
            let entry = &record.sizes[at].entries[place];
            if entry.spread().is_none() {
                continue;
            }
            let count = || least_time(&source, &plan, problem, &gpu).ok().flatten();
            if let Some(least) = wanted(problem, entry.least_time.as_ref(), &count) {
                found.insert((at, place), least);
            }
        }
    }
    Ok(found)
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
        for (name, mut record) in record::all().unwrap().into_iter().filter(|(_, record)| record.has_times()) {
            let small = |problem: &Problem| problem.m * problem.n * problem.k <= 512 * 512 * 512;
            let now = choose(&record, |problem, _, count| (overwrite || small(problem)).then(count).flatten()).unwrap();
            for ((at, place), least) in now {
                let entry = &mut record.sizes[at].entries[place];
                if overwrite {
                    entry.least_time = Some(least);
                    continue;
                }
                let words = |least: &LeastTime| (least.bound_by.clone(), ms(least.ms));
                assert_eq!(entry.least_time.as_ref().map(words), Some(words(&least)), "{name}: {}", entry.name);
                compared += 1;
            }
            if overwrite {
                record.write(&record::folder().join(format!("{name}.json"))).unwrap();
            }
        }
        assert!(compared > 20 || overwrite, "{compared} compared");
    }

    /// A bound that any kernel has beaten is none. (With `-- --nocapture` it says how far each kernel is from its bound.)
    #[test]
    fn no_measured_time_is_below_the_bound() {
        let records = record::all().unwrap();
        let mut compared = 0;
        for (name, record) in records.iter().filter(|(_, record)| record.has_times()) {
            for ((at, place), least) in of_record(record).unwrap() {
                let (size, entry) = (&record.sizes[at], &record.sizes[at].entries[place]);
                let spread = entry.spread().unwrap();
                let times = spread.median / least.ms;
                println!("{:>16} {:<32} {times:.3} × {} ({})", size.words(), entry.name, least.ms, least.bound_by);
                assert!(spread.min >= least.ms, "{name}: {} at {} takes {} ms", entry.name, size.words(), spread.min);
                compared += 1;
            }
        }
        assert!(compared > 50 || records.is_empty(), "{compared} times compared");
    }
}
