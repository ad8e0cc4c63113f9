//! What `cargo course compare` is asked for.

use std::path::PathBuf;

use common::Kind;
use common::device::Choice;
use common::measure::GPU_SIZES;
use common::program::cli::parse_size;

use crate::arguments::{parse_file, parse_seed};

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
    /// Only these steps (by the start of their names), with commas between them
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
    /// For `cargo x record`: the commit of the course, if git cannot tell it
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
