//! What a record says before its first size: the machine, the course's commit, the problem.

use std::collections::BTreeMap;

use common::basics::nvidia_smi;
use common::code::nvrtc;
use common::device::{self, Choice, Device};
use common::measure::timing::L2;
use common::{Dtype, Fill, Kind};

use crate::compare::options::Options;
use crate::record::{self, FORMAT, Record};

/// A record without sizes.
pub fn new_record(options: &Options, device: &dyn Device) -> Record {
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
        clocks_before: None,
        clocks_after: None,
        steps: Vec::new(),
        faulted: BTreeMap::new(),
        sizes: Vec::new(),
        complete: false,
    }
}

/// The clocks of the GPU now, if it is one and tells them.
pub fn clocks(options: &Options, device: &dyn Device) -> Option<record::Clocks> {
    let index = if let Choice::Cuda(index) = options.device { index } else { 0 };
    (device.info().kind == Kind::Cuda).then(|| record::clocks(index)).flatten()
}
