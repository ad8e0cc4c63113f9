//! The global traffic of each kernel, counted on the simulator: what the roofline of a record is drawn from.

use std::path::Path;

use anyhow::{Context, Result};
use common::Problem;
use common::code::Source;
use common::device::product::Product as _;
use common::device::session::Session;
use common::device::{self, Device as _, SimOptions};
use common::program::describe::Request;
use course::record::{Record, Traffic};
use course::steps::{self, StepFolder};

/// Adds the traffic of each kernel at the size of the ladder to a record; gives what was found in words.
pub fn add(file: &Path) -> Result<String> {
    let mut record = Record::read(file)?;
    let Some(size) = record.ladder_size().filter(|_| record.has_times()).map(|size| [size.m, size.n, size.k]) else {
        return Ok("the record has no times, so there is nothing to place in a roofline\n".to_owned());
    };
    let problem = record.problem(size);
    let device = Some(record.device.clone());
    let mut text = String::new();
    let entries = record.sizes.iter_mut().find(|record| [record.m, record.n, record.k] == size);
    let entries = entries.map(|size| &mut size.entries).context("the record has lost a size; record it again")?;
    let folders = steps::find()?;
    for entry in entries {
        let (step, variant) = steps::split(&entry.name);
        let Some(folder) = folders.iter().find(|folder| folder.name == step) else { continue };
        let variant = variant.map(str::to_owned);
        let request = Request { device: device.clone(), problems: vec![problem], variant };
        entry.traffic = count(folder, &request, &problem).unwrap_or_else(|error| {
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
fn count(folder: &StepFolder, request: &Request, problem: &Problem) -> Result<Option<Traffic>> {
    let description = folder.describe(request)?;
    let Some(Ok(plan)) = description.plans.first().filter(|_| !description.host) else { return Ok(None) };
    let mut plan = plan.clone();
    plan.launches.truncate(1);
    plan.launches.iter_mut().for_each(|launch| launch.grid = [1, 1, 1]);
    let mut device = device::SimDevice::new(SimOptions { counters: true, ..SimOptions::default() });
    let source = Source::read(&folder.source(request.variant.as_deref()))?;
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
