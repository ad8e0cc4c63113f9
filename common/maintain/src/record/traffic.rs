//! The global traffic of each kernel, counted on the simulator: what the roofline of a record is drawn from.

use std::path::Path;

use anyhow::{Context, Result};
use common::code::Source;
use common::device::product::Product as _;
use common::device::session::Session;
use common::device::{self, Device as _, SimOptions};
use course::record::{Record, SizeRecord, Traffic};
use course::steps::Kernel;
use plan::{DeviceInfo, Problem};

/// Adds the traffic of each kernel at the size of the ladder to a record; gives what was found in words.
pub fn add(file: &Path) -> Result<String> {
    let mut record = Record::read(file)?;
    let Some(size) = record.ladder_size().filter(|_| record.has_times()).map(SizeRecord::shape) else {
        return Ok("the record has no times, so there is nothing to place in a roofline\n".to_owned());
    };
    let problem = record.problem(size);
    let device = record.device.clone();
    let mut text = String::new();
    let entries = record.sizes.iter_mut().find(|record| record.shape() == size);
    let entries = entries.map(|size| &mut size.entries).context("the record has lost a size; record it again")?;
    for entry in entries {
        let Some(kernel) = Kernel::recorded(&entry.name) else { continue };
        entry.traffic = count(kernel, &device, &problem).unwrap_or_else(|error| {
            text += &format!("{} cannot be placed in the roofline: {error:#}\n", entry.name);
            None
        });
        if let Some(traffic) = entry.traffic {
            text += &format!("{:<24}{:>10.2} flop per byte\n", entry.name, traffic.intensity());
        }
    }
    record.write(file)?;
    Ok(text)
}

/// Operations and bytes of the first block of a step's first launch; blocks inside the matrices are all alike.
fn count(kernel: Kernel, device: &DeviceInfo, problem: &Problem) -> Result<Option<Traffic>> {
    let plan = kernel.plan(problem, device).ok().filter(|_| !kernel.is_on_host());
    let Some(mut plan) = plan else { return Ok(None) };
    plan.launches.truncate(1);
    plan.launches.iter_mut().for_each(|launch| launch.grid = [1, 1, 1]);
    let mut device = device::SimDevice::new(SimOptions { counters: true, ..SimOptions::default() });
    let source = Source::read(&kernel.file())?;
    let code = source.code(&plan.specialisation, device.info(), source.committed_folder().as_deref())?;
    let session = Session::new(&mut device, problem, plan, &code)?;
    session.matrices().buffers().into_iter().try_for_each(|buffer| device.fill(buffer, 0))?;
    session.launch(&mut device)?;
    let counters = device.observations().counters.context("the simulator counted nothing; report this as a defect")?;
    let count = |name: &str| {
        let count = counters.total.get(name).map(|&count| count as f64);
        count.with_context(|| format!("the simulator does not count {name}"))
    };
    Ok(Some(Traffic {
        flop: 2.0 * count("fma_threads")?,
        global_bytes: 32.0 * (count("global_load_sectors")? + count("global_store_sectors")?),
    }))
}
