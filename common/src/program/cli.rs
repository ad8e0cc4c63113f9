//! The command line, which is the same in every step.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::basics::line;
use crate::device::Choice;
use crate::measure::Gpu;
use crate::measure::baseline::CUBLAS;
use plan::{Dtype, Fill, Problem};

/// Largest M, N or K: an `int` of the kernel must hold it rounded up to a tile.
pub const MAX_SIZE: u64 = i32::MAX as u64 - 4095;

/// What the learner asks of a step.
#[derive(Clone, Debug, Parser)]
#[command(
    version,
    disable_help_subcommand = true,
    after_help = "Examples (after `cargo run --release -p STEP --`):
  --size 1000x777x513              a ragged problem: C is 1000×777, K is 513
  --device sim --size 64           on the simulator, without a GPU
  --fill integers --dtype i32      checked exactly
  --variant NAME                   a rung, a counter-example or rust; --list-variants names them
  --baseline cublas                next to NVIDIA's library, on a GPU
  --kernel mine/kernel.cu --block 16,16 --tile 64,64
                                   your own kernel with the step's signature
  --json                           one JSON object on standard output

Exit status: 0 verified, 1 wrong product or a fault of the kernel, 2 bad usage or environment."
)]
// Each is a switch of the command line, and can be combined with any other.
#[allow(clippy::struct_excessive_bools)]
pub struct Args {
    /// Where to run: auto (a GPU if there is one, else the simulator), cuda, cuda:N or sim
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: Choice,

    /// Size of the problem: N for N×N×N, or MxNxK (C is M×N, K the inner size)
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_hyphen_values = true)]
    pub size: Option<[u64; 3]>,

    /// Element type
    #[arg(long, value_name = "TYPE", default_value = "f32", hide_possible_values = true)]
    pub dtype: Dtype,

    /// Values of the elements of A and B; sums of integers are exact and checked exactly
    #[arg(long, value_name = "FILL", default_value = "uniform", hide_possible_values = true)]
    pub fill: Fill,

    /// Seed of the elements of A and B
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,

    /// How often to time the product; by default for a few seconds
    #[arg(long, value_name = "N", value_parser = parse_samples)]
    pub samples: Option<usize>,

    /// Compare with NVIDIA's library in the same run: cublas
    #[arg(long, value_name = "cublas", value_parser = [CUBLAS], hide_possible_values = true)]
    pub baseline: Option<String>,

    /// Empty the L2 cache before each timed product; without it the product before leaves what fits
    #[arg(long)]
    pub flush_l2: bool,

    /// Show what the hardware's counters would show, in total or by source line; uses the simulator
    #[arg(long, value_name = "total|lines", num_args = 0..=1, default_missing_value = "total", hide_possible_values = true)]
    pub counters: Option<CounterDetail>,

    /// With --counters: also the least time on this GPU; with --verbose on the one in this machine, else on an H200
    #[arg(long, value_name = "GPU")]
    pub gpu: Option<Gpu>,

    /// Look for races, accesses out of bounds, missing waits and the like, and for the reason of a wrong product; uses the simulator
    #[arg(long)]
    pub check: bool,

    /// With --check: do not look for an edit that makes a wrong kernel right, which takes seconds
    #[arg(long)]
    pub no_trial: bool,

    /// Show every access of a thread, by block and thread index; uses the simulator; can be repeated
    #[arg(long, value_name = "BX,BY:TX,TY", value_parser = parse_thread)]
    pub trace: Vec<([u32; 3], [u32; 3])>,

    /// Show what formed an element of C: which products, by which lines and thread; uses the simulator; can be repeated
    #[arg(long, value_name = "ROW,COL", value_parser = parse_element)]
    pub why: Vec<[u64; 2]>,

    /// Run another kernel of the step, such as a rung or a counter-example; with --kernel, launch the file like it
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,

    /// List the other kernels of the step and exit
    #[arg(long)]
    pub list_variants: bool,

    /// Show the device, the compiled kernel, the occupancy, the errors and, with --counters, the least time, too
    #[arg(long, short)]
    pub verbose: bool,

    /// Print one JSON object and nothing else on standard output
    #[arg(long)]
    pub json: bool,

    /// Run this kernel (CUDA C, Rust or PTX) instead of the step's; same name and parameters
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,

    /// Threads per block of --kernel; without it as the file's line // launch: says, else like the step's
    #[arg(long, value_name = "X,Y", value_parser = parse_pair, requires = "kernel")]
    pub block: Option<[u32; 2]>,

    /// Columns and rows of C that a block of --kernel computes
    #[arg(long, value_name = "X,Y", value_parser = parse_pair, requires = "kernel")]
    pub tile: Option<[u32; 2]>,

    /// Dynamic shared memory of a block of --kernel
    #[arg(long, value_name = "BYTES", requires = "kernel")]
    pub shared: Option<u32>,

    /// Warp instructions a simulated launch may execute before it is stopped
    #[arg(long, value_name = "N")]
    pub instruction_limit: Option<u64>,

    /// Print what would be launched as one JSON object and exit: device, problem, constants, launches and their arguments
    #[arg(long)]
    pub plan: bool,
}

/// How much `--counters` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CounterDetail {
    /// The totals.
    Total,
    /// The totals, and a table of the source lines.
    Lines,
}

/// Reads `BX,BY:TX,TY`, in which the third coordinates may be given too.
fn parse_thread(text: &str) -> Result<([u32; 3], [u32; 3]), String> {
    let index = |text: &str| numbers(text).or_else(|| numbers(text).map(|[x, y]| [x, y, 0]));
    let thread = text.split_once(':').and_then(|(block, thread)| Some((index(block)?, index(thread)?)));
    thread.ok_or_else(|| "not a thread; give block and thread index, e.g. 0,0:3,1".into())
}

/// Reads `N` numbers with commas between them.
fn numbers<T: std::str::FromStr, const N: usize>(text: &str) -> Option<[T; N]> {
    let numbers: Option<Vec<T>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    numbers?.try_into().ok()
}

fn parse_element(text: &str) -> Result<[u64; 2], String> {
    numbers(text).ok_or_else(|| "not an element; give its row and column, e.g. 3,5".into())
}

fn parse_samples(text: &str) -> Result<usize, String> {
    let samples = text.parse().ok().filter(|samples| (1..=1_000_000).contains(samples));
    samples.ok_or_else(|| "not a number from 1 to 1000000; choose how often to time the kernel".into())
}

/// Reads `N` or `MxNxK` as [M, N, K].
pub fn parse_size(text: &str) -> Result<[u64; 3], String> {
    let edges: Vec<&str> = text.split(['x', 'X', '×']).collect();
    let edge = |text: &str| -> Result<u64, String> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(0) => Err("a matrix has at least one row and one column; choose sizes from 1 on".into()),
            Ok(size) if digits && size <= MAX_SIZE => Ok(size),
            _ if digits => Err(format!(
                "{text} is more than {MAX_SIZE}, which is as much as an int of the kernel can hold with its tile; choose less"
            )),
            _ => Err("not a size; give one number (512) or three with x between them (1000x777x513)".into()),
        }
    };
    match edges.as_slice() {
        [n] => edge(n).map(|n| [n; 3]),
        [m, n, k] => Ok([edge(m)?, edge(n)?, edge(k)?]),
        edges if edges.iter().any(|text| text.is_empty()) => edge("").map(|n| [n; 3]),
        _ => Err(format!("{} numbers; give one (512) or three, M x N x K (1000x777x513)", edges.len())),
    }
}

fn parse_pair(text: &str) -> Result<[u32; 2], String> {
    match numbers(text) {
        Some([0, _] | [_, 0]) => Err("both numbers must be at least 1; e.g. 16,16".into()),
        pair => pair.ok_or_else(|| "not a pair; give columns and rows with a comma between them, e.g. 16,16".into()),
    }
}

impl Args {
    /// Whether the user asks for something that only the simulator can show.
    pub fn analyses(&self) -> bool {
        self.counters.is_some() || self.check || !self.trace.is_empty() || !self.why.is_empty()
    }

    /// The problem that the user asks for; `default` is M, N, K if no size is given.
    pub fn problem(&self, default: [u64; 3]) -> Problem {
        let [m, n, k] = self.size.unwrap_or(default);
        Problem { m, n, k, dtype: self.dtype, fill: self.fill, seed: self.seed }
    }

    /// Reads the process's arguments.
    pub fn read(step: &'static str, about: String) -> Result<Self, clap::Error> {
        let command = <Self as clap::CommandFactory>::command().name(step).about(about);
        line::read_as(command, std::env::args_os())
    }
}
