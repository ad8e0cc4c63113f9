//! The command line.

use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Parser;
use common::device::Choice;
use common::program::cli::parse_size;

use super::grid::Grid;
use super::run::Request;

/// Multiplies two matrices on several GPUs, verifies the product, and times it.
#[derive(Clone, Debug, Parser)]
#[command(after_help = "Examples (after `cargo run --release -p beyond -- several`):
  --gpus 4 --size 32768                  on four GPUs of this machine
  --gpus 4 --device sim --size 96        on four simulated GPUs, no CUDA needed
  --gpus 4 --size 16384 --overlap on,off panels travel while others are multiplied, and only then

Exit status: 0 verified, 1 wrong product, 2 bad usage or environment, or a rank that has failed.")]
pub struct Args {
    /// How many GPUs; without it as many as there are, or two simulated ones
    #[arg(long, value_name = "N", value_parser = parse_gpus)]
    pub gpus: Option<usize>,

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
    #[arg(long, value_name = "D", value_parser = parse_depth, value_delimiter = ',')]
    pub panel: Vec<u64>,

    /// Whether the next panel travels while one is multiplied: on, off, or both with a comma between them
    #[arg(long, value_name = "on|off", value_parser = parse_switch, value_delimiter = ',', default_value = "on")]
    pub overlap: Vec<bool>,

    /// Seed of the elements of A and B
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,

    /// How often to time each product; more often if all of them together take less than 3 seconds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = parse_samples)]
    pub samples: usize,

    /// Let NCCL use NVLink multicast, which it does not by default
    #[arg(long)]
    pub multicast: bool,

    /// Print one JSON object for each product and nothing else on standard output
    #[arg(long)]
    pub json: bool,
}

/// A number of this range; else what to say.
fn within<T: FromStr + PartialOrd>(text: &str, range: RangeInclusive<T>, otherwise: &str) -> Result<T, String> {
    text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| otherwise.to_owned())
}

fn parse_gpus(text: &str) -> Result<usize, String> {
    within(text, 1..=4096, "not a number of GPUs; choose 1 to 4096")
}

fn parse_samples(text: &str) -> Result<usize, String> {
    within(text, 1..=1000, "not a number from 1 to 1000; choose how often to time each product")
}

fn parse_depth(text: &str) -> Result<u64, String> {
    within(text, 1..=1_000_000, "not a depth; choose how many steps of K a panel has, from 1 to 1000000")
}

fn parse_switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("neither on nor off; choose one, or on,off".into()),
    }
}

fn parse_device(text: &str) -> Result<Choice, String> {
    match text.parse() {
        Ok(Choice::Cuda(1..)) | Err(_) => Err("no such devices; choose auto, cuda or sim".into()),
        Ok(choice) => Ok(choice),
    }
}

impl Args {
    /// The products that are asked for: every size with every panel and every overlap.
    pub fn requests(&self, default: u64) -> Vec<Request> {
        let sizes = if self.size.is_empty() { vec![[default; 3]] } else { self.size.clone() };
        let panels: Vec<Option<u64>> =
            if self.panel.is_empty() { vec![None] } else { self.panel.iter().copied().map(Some).collect() };
        let mut requests = Vec::new();
        for &size in &sizes {
            for &panel in &panels {
                for &overlap in &self.overlap {
                    requests.push(Request { size, seed: self.seed, panel, overlap, samples: self.samples });
                }
            }
        }
        requests
    }
}
