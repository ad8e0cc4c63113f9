//! All steps in one run on the same data: verified first, then timed in turns. A step that fails is shown as failing and
//! stops no other.

mod options;
mod participants;
mod size;
mod table;
mod turns;

use anyhow::Result;
use common::basics::nvidia_smi;
use common::basics::output::print;
use common::code::nvrtc;
use common::device::{self, Device, SimOptions, cublas};
use common::measure::timing::{Cache, L2};
use plan::{Dtype, Fill, Kind};

use crate::least;
use crate::record::{self, FORMAT, Record};
use participants::Participant;

pub use options::Options;

/// Runs the command; `false` if a product is wrong or a step fails.
pub fn run(options: &Options) -> Result<bool> {
    options.save.as_deref().map_or(Ok(()), Record::check_place)?;
    let mut device = device::open(options.device, &SimOptions { counters: true, ..SimOptions::default() })?;
    let device = device.as_mut();
    let sizes = options.sizes(device.info().kind);
    let mut record = new_record(options, device);
    let mut participants = participants::all(&options.steps, options.rungs, options.rust)?;
    record.steps = participants.iter().map(Participant::record).collect();
    print(&format!("{}\n", record.provenance()))?;
    if device.info().kind == Kind::Cuda {
        match cublas::find() {
            Ok(version) => record.cublas = Some(version),
            Err(error) => print(&format!("no comparison with cuBLAS: {error:#}\n"))?,
        }
    }
    let mut cache =
        if options.flush_l2 && device.info().kind == Kind::Cuda { Cache::flushed(device)? } else { Cache::warm() };
    for size in sizes {
        let problem = record.problem(size);
        let size = size::one_size(options.rounds, device, &mut participants, &record, &problem, &mut cache)?;
        print(&table::of_size(&record, &size))?;
        record.sizes.push(size);
        if let Some(path) = &options.save {
            record.write(path)?;
        }
    }
    record.complete = true;
    least::fill_traffic(&mut record);
    if let Some(path) = &options.save {
        record.write(path)?;
    }
    print(&table::summary(&record))?;
    Ok(record.ok())
}

/// A record without sizes: the machine, the course's commit, the problem.
fn new_record(options: &Options, device: &dyn Device) -> Record {
    let cuda = device.info().kind == Kind::Cuda;
    let version = |version: (u32, u32)| format!("{}.{}", version.0, version.1);
    let driver = device::driver_version().filter(|_| cuda);
    Record {
        format: FORMAT,
        date: record::now(),
        commit: options.commit.clone().or_else(record::commit),
        device: device.info().clone(),
        figures: device.figures(),
        driver: cuda.then(nvidia_smi::driver).flatten(),
        cuda: driver.map(|driver| format!("{}.{}", driver / 1000, driver % 1000 / 10)),
        nvrtc: nvrtc::find().ok().filter(|_| cuda).map(|nvrtc| version(nvrtc.version)),
        cublas: None,
        dtype: Dtype::F32,
        fill: Fill::Uniform,
        seed: options.seed,
        l2: if options.flush_l2 { L2::Flushed } else { L2::Warm },
        rounds: options.rounds.into(),
        steps: Vec::new(),
        sizes: Vec::new(),
        complete: false,
    }
}
