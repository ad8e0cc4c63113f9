//! The command line.

use clap::builder::BoolishValueParser;
use clap::{Parser, value_parser};
use common::device::Choice;
use common::program::cli::parse_size;

use super::plan::Grid;

/// Multiplies two matrices on several GPUs, verifies the product, and times it.
#[derive(Clone, Debug, Parser)]
#[command(after_help = "Examples (after `cargo run --release -p beyond -- several`):
  --gpus 4 --size 32768                  on four GPUs of this machine
  --gpus 4 --device sim --size 96        on four simulated GPUs, no CUDA needed
  --gpus 4 --size 16384 --overlap on,off panels travel while others are multiplied, and only then

Exit status: 0 verified, 1 wrong product, 2 bad usage or environment, or a rank that has failed.")]
pub struct Args {
    /// How many GPUs; without it as many as there are, or two simulated ones
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=4096))]
    pub gpus: Option<u16>,

    /// Rows and columns of GPUs; by default as close to a square as can be
    #[arg(long, value_name = "PxQ")]
    pub grid: Option<Grid>,

    /// Where to run: auto (GPUs if there are any, else the simulator), cuda or sim
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = parse_device)]
    pub device: Choice,

    /// Size of the problem: N for N×N×N, or MxNxK; several with commas between them
    #[arg(long, value_name = "SIZE", value_parser = parse_size, value_delimiter = ',')]
    pub size: Vec<[u64; 3]>,

    /// Steps of K in a panel; several with commas between them
    #[arg(long, value_name = "D", value_parser = value_parser!(u64).range(1..=1_000_000), value_delimiter = ',')]
    pub panel: Vec<u64>,

    /// Whether the next panel travels while one is multiplied: on, off, or both with a comma between them
    #[arg(long, value_name = "on|off", value_parser = BoolishValueParser::new(), hide_possible_values = true, value_delimiter = ',', default_value = "on")]
    pub overlap: Vec<bool>,

    /// Seed of the elements of A and B
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,

    /// How often to time each product; more often if all of them together take less than 3 seconds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u16).range(1..=1000))]
    pub samples: u16,

    /// Let NCCL use NVLink multicast, which it does not by default
    #[arg(long)]
    pub multicast: bool,

    /// Print one JSON object for each product and nothing else on standard output
    #[arg(long)]
    pub json: bool,
}

fn parse_device(text: &str) -> Result<Choice, String> {
    match text.parse() {
        Ok(Choice::Cuda(1..)) | Err(_) => Err("no such devices; choose auto, cuda or sim".into()),
        Ok(choice) => Ok(choice),
    }
}
