//! The command line, and a run: opens the GPUs, then computes, verifies and times one product after another.

use anyhow::{Result, bail, ensure};
use clap::builder::BoolishValueParser;
use clap::{Parser, value_parser};
use common::basics::{nvidia_smi, print, print_whole};
use common::device::{Choice, SimDevice, SimOptions, cuda_devices};
use common::measure::provenance;
use common::program::cli::parse_size;
use common::{Fill, Kind};

use super::{Gpu, Grid, Nccl, Outcome, Plan, Product, Sources, Span, Streams, freivalds, gb, sampled, usual_depth};

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

/// Edge of the problem if no size is given, on GPUs and on the simulator.
const DEFAULT: [u64; 2] = [16_384, 96];
/// How long products are computed before any is timed, in milliseconds. An idle GPU first runs fast, then slows down to stay within
/// its power limit, and then finds its pace.
const WARM_MS: f64 = 3000.0;
/// How long products are timed at least, because the pace goes up and down within a second, at a different time on each GPU.
const TIMED_MS: f64 = 3000.0;
/// How many products are timed at most, unless the user asks for more samples.
const TIMES: usize = 100;
/// Bytes of a GPU's memory that are left free for the driver, NCCL and the check.
const MARGIN: u64 = 1 << 30;

/// Runs all products that were asked for and returns whether all are right.
pub fn main(args: &Args) -> Result<bool> {
    let found = match (args.device, cuda_devices()) {
        (Choice::Sim, _) | (Choice::Auto, Err(_)) => None,
        (_, devices) => Some(devices?.len()),
    };
    let world = args.gpus.map(usize::from).or(args.grid.map(|grid| grid.gpus())).or(found).unwrap_or(2);
    if let Some(found) = found {
        let plural = if found == 1 { "" } else { "s" };
        ensure!(
            world <= found,
            "--gpus {world} asks for more than there are, because this machine has {found} GPU{plural}; choose at most {found}"
        );
    }
    let grid = args.grid.unwrap_or_else(|| Grid::of(world));
    let gpus = grid.gpus();
    ensure!(gpus == world, "a grid of {grid} has {gpus} GPUs and not {world}; make --grid and --gpus agree");
    let open = |rank| match found {
        Some(_) => Ok(Gpu::Real(Box::new(Streams::open(rank)?))),
        None => Ok(Gpu::Simulated(Box::new(SimDevice::new(SimOptions::default())))),
    };
    let mut gpus = (0..world).map(open).collect::<Result<Vec<_>>>()?;
    let nccl = found.map(|_| Nccl::connect(grid)).transpose()?;
    let mut sources = Sources::read()?;
    let mut right = true;
    let default = [DEFAULT[usize::from(found.is_none())]; 3];
    for size in or_usual(&args.size, default) {
        for depth in or_usual(&args.panel, usual_depth(size[2], world)) {
            for &overlap in &args.overlap {
                let plan = Plan::new(grid, size, depth)?;
                let outcome = run(&mut gpus, nccl.as_ref(), &mut sources, plan, overlap, args)?;
                right &= outcome.right();
                if args.json {
                    print_whole(&(serde_json::to_string(&outcome)? + "\n"))?;
                } else {
                    print(&outcome.text())?;
                }
            }
        }
    }
    Ok(right)
}

/// The values that were given, or the usual one if there are none.
fn or_usual<T: Copy>(given: &[T], usual: T) -> Vec<T> {
    if given.is_empty() { vec![usual] } else { given.to_vec() }
}

/// Computes one product: checks that it fits, draws, multiplies, verifies, and only then times.
fn run(
    gpus: &mut [Gpu],
    nccl: Option<&Nccl>,
    sources: &mut Sources,
    plan: Plan,
    overlap: bool,
    args: &Args,
) -> Result<Outcome> {
    let bytes_per_gpu = fits(gpus, &plan)?;
    let device = gpus[0].device()?.info().name.clone();
    let mut product = Product::allocate(gpus, nccl, sources, plan, args.seed)?;

    product.draw(Fill::Integers)?;
    product.multiply(overlap)?;
    let twin = freivalds(&mut product)?;

    product.draw(Fill::Uniform)?;
    let mut timeline = product.multiply(overlap)?;
    let verdict = sampled(&mut product)?;
    let took = |timeline: &[Vec<Span>]| timeline.iter().flatten().map(|span| span.to_ms).fold(0.0, f64::max);
    let mut ms = Vec::new();
    // A wrong product is never timed, and a long product is not repeated only for its time.
    let right = twin.wrong.is_none() && verdict.wrong.is_none();
    if right && took(&timeline) > 10_000.0 {
        ms.push(took(&timeline));
    } else if right && nccl.is_some() {
        let mut spent_ms = 0.0;
        while ms.len() < args.samples.into() || (ms.len() < TIMES && spent_ms < WARM_MS + TIMED_MS) {
            timeline = product.multiply(overlap)?;
            let took = took(&timeline);
            if spent_ms >= WARM_MS {
                ms.push(took);
            }
            spent_ms += took.max(1.0); // launching takes time, too
        }
    }
    let Plan { grid, size, depth, panels } = product.release()?;
    Ok(Outcome {
        date: provenance::now(),
        driver: nvidia_smi::driver(),
        size,
        seed: args.seed,
        gpus: grid.gpus(),
        grid: [grid.rows, grid.cols],
        panel: depth,
        panels: panels.len(),
        overlap,
        bytes_per_gpu,
        device,
        link: nccl.map_or_else(|| "messages between simulated GPUs".into(), Nccl::name),
        kernel: (sources.step.display.clone(), sources.step.hash.clone()),
        twin,
        verdict,
        ms,
        timeline,
    })
}

/// Bytes of the largest share. Fails if a share does not fit its GPU, and says which.
fn fits(gpus: &mut [Gpu], plan: &Plan) -> Result<u64> {
    let world = gpus.len() as u64;
    let needs: Vec<u64> = (0..gpus.len()).map(|rank| plan.bytes(rank).iter().sum()).collect();
    let mut short = Vec::new();
    for (rank, (gpu, &needs)) in gpus.iter_mut().zip(&needs).enumerate() {
        let device = gpu.device()?;
        // Simulated GPUs share the memory of the host.
        let free = device.free_bytes()? / if device.info().kind == Kind::Sim { world } else { 1 };
        if needs.saturating_add(MARGIN.min(free / 8)) > free {
            short.push(format!("rank {rank} needs {} and has {} free", gb(needs), gb(free)));
        }
    }
    if let [first, others @ ..] = short.as_slice() {
        let more = if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) };
        let [c, a, b, buffers] = plan.bytes(0).map(gb);
        bail!(
            "the problem does not fit: {first}{more} (a share like this rank's is {c} of C, {a} of A, {b} of B and {buffers} of panels on their way); use more GPUs or a smaller --size"
        );
    }
    Ok(needs.into_iter().max().unwrap_or(0))
}
