//! The global traffic of each kernel, counted on the simulator: what the roofline of a record is drawn from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use common::Problem;
use common::code::Source;
use common::describe::Request;
use common::device::{self, Device as _, SimOptions};
use common::exec::Session;
use common::output::print;
use common::product::Product as _;

use crate::record::{Record, Traffic};
use crate::steps::{self, StepFolder};

/// Options of `cargo x traffic`.
#[derive(clap::Args)]
pub struct TrafficOptions {
    /// A record of cargo course compare
    record: PathBuf,
}

/// Runs `cargo x traffic`.
pub fn traffic(options: &TrafficOptions) -> Result<bool> {
    let mut record = Record::read(&options.record)?;
    add_traffic(&mut record)?;
    record.write(&options.record)?;
    let Some(size) = record.ladder_size() else {
        return print("the record has no times, so there is nothing to place in a roofline\n").map(|()| true);
    };
    let mut text = String::new();
    for entry in &size.entries {
        if let Some(traffic) = entry.traffic {
            text += &format!("{:<24}{:>10.2} flop per byte\n", entry.name, traffic.intensity());
        }
    }
    print(&text).map(|()| true)
}

/// Counts the global traffic of each kernel at the size of the ladder: one block of its grid, on the simulator.
pub fn add_traffic(record: &mut Record) -> Result<()> {
    let ladder = record.ladder_size().filter(|_| record.has_times());
    let Some(size) = ladder.map(|size| [size.m, size.n, size.k]) else { return Ok(()) };
    let problem = record.problem(size);
    let request = Request { device: Some(record.device.clone()), problems: vec![problem], variant: None };
    let mut found = BTreeMap::new();
    for folder in steps::find()?.into_iter().filter(|folder| record.steps.iter().any(|step| step.name == folder.name)) {
        match traffic_of(&folder, &request, &problem) {
            Ok(Some(traffic)) => {
                found.insert(folder.name, traffic);
            }
            Ok(None) => {}
            Err(error) => print(&format!("{} cannot be placed in the roofline: {error:#}\n", folder.name))?,
        }
    }
    let size = record.sizes.iter_mut().find(|record| [record.m, record.n, record.k] == size);
    for entry in size.into_iter().flat_map(|size| &mut size.entries) {
        entry.traffic = found.get(&entry.name).copied();
    }
    Ok(())
}

/// Operations and bytes of the first block of a step's first launch; blocks inside the matrices are all alike.
fn traffic_of(folder: &StepFolder, request: &Request, problem: &Problem) -> Result<Option<Traffic>> {
    let description = folder.describe(request)?;
    let Some(Ok(plan)) = description.plans.first() else { return Ok(None) };
    if description.host {
        return Ok(None);
    }
    let mut plan = plan.clone();
    plan.launches.truncate(1);
    plan.launches.iter_mut().for_each(|launch| launch.grid = [1, 1, 1]);
    let mut device = device::SimDevice::new(SimOptions { counters: true, ..SimOptions::default() });
    let source = Source::read(&folder.source(None))?;
    let code = source.code(&plan.specialisation, device.info(), Some(&folder.path.join("ptx")))?;
    let session = Session::new(&mut device, problem, plan, &code)?;
    session.matrices().buffers().into_iter().try_for_each(|buffer| device.fill(buffer, 0))?;
    session.launch(&mut device)?;
    let counters = device.observations().counters.context("the simulator counted nothing; report this as a defect")?;
    let count = |name: &str| {
        counters
            .total
            .get(name)
            .map(|&count| count as f64)
            .with_context(|| format!("the simulator does not count {name}"))
    };
    Ok(Some(Traffic {
        flop: 2.0 * count("fma_threads")?,
        global_bytes: 32.0 * (count("global_load_sectors")? + count("global_store_sectors")?),
    }))
}
