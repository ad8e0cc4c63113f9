//! All steps in one run on the same data: verified first, then timed in turns. A step that fails is shown as failing and
//! stops no other.

mod table;
mod turns;

use std::path::PathBuf;

use anyhow::Result;
use common::basics::{nvidia_smi, print};
use common::code::nvrtc;
use common::device::{self, Choice, Device, SimOptions, cublas};
use common::measure::{Cache, GPU_SIZES, L2};
use common::program::cli::parse_size;
use plan::{Dtype, Fill, Kind};

use crate::files::{parse_file, parse_seed};
use crate::least;
use crate::record::{self, FORMAT, Record};
use turns::{Participant, Turns};

/// Options of `cargo course compare`.
#[derive(clap::Args, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option that is given or not")]
pub struct Options {
    /// Where to run: auto (CUDA if there is any, else the simulator), cuda, cuda:N or sim
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = |text: &str| text.parse::<Choice>())]
    pub device: Choice,
    /// Sizes with commas between them, each N or MxNxK; by default cubes and oblong ones that suit the device
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_size, allow_hyphen_values = true)]
    pub size: Vec<[u64; 3]>,
    /// Rounds in which all kernels take turns
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: u16,
    /// Also the rungs on the way to each step's kernel
    #[arg(long)]
    pub rungs: bool,
    /// Also each step's kernel in Rust
    #[arg(long)]
    pub rust: bool,
    /// Only these steps (by the start of their names) and kernels (STEP/VARIANT), with commas between them
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    pub steps: Vec<String>,
    /// Seed of A and B
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    /// Empty the L2 cache before each product; without it the product before leaves what fits
    #[arg(long)]
    pub flush_l2: bool,
    /// Save the comparison with all its samples in this file
    #[arg(long, value_name = "FILE.json", value_parser = parse_file())]
    pub save: Option<PathBuf>,
    /// For records: the commit of the course, if git cannot tell it
    #[arg(long, value_name = "HASH", hide = true)]
    pub commit: Option<String>,
}

/// Sizes on the simulator: seconds in all. At the last one each step takes less time than the one before.
const SIM_SIZES: [[u64; 3]; 3] = [[32, 32, 128], [100, 77, 51], [512; 3]];

impl Options {
    /// The sizes: those that are asked for, or some that suit the device.
    pub fn sizes(&self, kind: Kind) -> Vec<[u64; 3]> {
        match (self.size.as_slice(), kind) {
            ([], Kind::Cuda) => GPU_SIZES.to_vec(),
            ([], _) => SIM_SIZES.to_vec(),
            (given, _) => given.to_vec(),
        }
    }
}

/// Runs the command; `false` if a product is wrong or a step fails.
pub fn run(options: &Options) -> Result<bool> {
    options.save.as_deref().map_or(Ok(()), Record::check_place)?;
    let mut device = device::open(options.device, &SimOptions { counters: true, ..SimOptions::default() })?;
    let device = device.as_mut();
    let (on_gpu, sizes) = (device.info().kind == Kind::Cuda, options.sizes(device.info().kind));
    let mut record = new_record(options, device);
    let mut participants = turns::participants(&options.steps, options.rungs, options.rust)?;
    record.steps = participants.iter().map(Participant::record).collect();
    print(&format!("{}\n", record.provenance()))?;
    if on_gpu {
        match cublas::find() {
            Ok(version) => record.cublas = Some(version),
            Err(error) => print(&format!("no comparison with cuBLAS: {error:#}\n"))?,
        }
    }
    let cache = if options.flush_l2 && on_gpu { Cache::flushed(device)? } else { Cache::warm() };
    let mut turns = Turns { device, cache, rounds: options.rounds, cublas: record.cublas.is_some() };
    for size in sizes {
        let size = turns.at(&record.problem(size), &mut participants)?;
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
