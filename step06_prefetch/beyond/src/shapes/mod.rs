//! `beyond shapes`: compares the kernel for every shape with cuBLAS at random shapes on a GPU, or fits the times from which its
//! rule chooses a tiling to this GPU.

mod draw;
mod race;
pub(crate) mod tables;
mod times;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use common::basics::{Operands, print};
use common::device::{self, Device, SimOptions};
use common::measure::GPU_SIZES;
use common::program::cli::parse_size;
use common::{DeviceInfo, Problem};

use crate::bench::{Bench, OneKernel};
use crate::cost::Choice;
use crate::every_shape::{self, IDEAS};
use crate::{record, tensor_cores};
use race::{Field, near};
use step06_prefetch::STEP;
use tables::{Measured, Shape, Timed};
use times::Times;

/// For a fit, plans that are expected to take up to this many times as long as the best are measured.
const NEAR_TO_FIT: f64 = 2.5;

/// Options of `beyond shapes`.
#[derive(clap::Args)]
pub struct Options {
    /// The folder for shapes.json, or for every_shape.json
    out: PathBuf,
    /// Fit the figures of the rule to this GPU: every tiling is measured, also with copies of 2 and of 1 element
    #[arg(long)]
    tune: bool,
    /// Fit the figures again to the times of this file, which --tune has written; needs no GPU
    #[arg(long, value_name = "FILE", conflicts_with = "tune")]
    times: Option<PathBuf>,
    /// How many shapes
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    count: u16,
    /// Products on tensor cores where they are expected to be faster, and beside them the plan for FP32 units
    #[arg(long, conflicts_with_all = ["times", "squares"])]
    tensor_cores: bool,
    /// Another seed draws other shapes
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// These shapes, MxNxK with commas between them, and not random ones
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_size)]
    sizes: Vec<[u64; 3]>,
    /// Squares from 1024 to 4096, so far apart, beside step 6, and no plan but the chosen one
    #[arg(long, value_name = "STEP", value_parser = clap::value_parser!(u16).range(1..), conflicts_with_all = ["tune", "times", "sizes"])]
    squares: Option<u16>,
    /// Minutes after which no more is begun
    #[arg(long, value_name = "M", default_value_t = 5.0)]
    minutes: f64,
    /// The commit for the record, if git cannot tell it
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
    /// Where to compute: cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: device::Choice,
}

impl Options {
    /// When no more is begun, if the work begins now.
    fn end(&self) -> Instant {
        Instant::now() + Duration::from_secs_f64(self.minutes.clamp(0.1, 600.0) * 60.0)
    }
}

/// Runs the command. Returns `false` if a product is wrong.
pub fn run(options: &Options) -> Result<bool> {
    if let Some(path) = &options.times {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let times: Times = serde_json::from_str(&text).with_context(|| {
            format!("{} holds no times; beyond shapes OUT --tune writes times.json", path.display())
        })?;
        times.fit(&options.out)?;
        return Ok(true);
    }
    let mut device = device::open(options.device, &SimOptions::default())?;
    let device = device.as_mut();
    let variant = if options.tensor_cores { tensor_cores::VARIANT } else { every_shape::VARIANT };
    let kernel = OneKernel::named(Some(variant.name))?;
    let sizes = match (options.squares, options.sizes.as_slice()) {
        (Some(step), _) => (1024..=4096).step_by(step.into()).map(|side| [side; 3]).collect(),
        (None, []) => draw::shapes(options.seed, options.count.into(), options.tune),
        (None, sizes) => sizes.to_vec(),
    };
    let measure = if options.tune { tune } else { race };
    measure(device, &kernel, options, &sizes)
}

/// Measures plans and cuBLAS at every shape, and writes shapes.json.
fn race(device: &mut dyn Device, kernel: &OneKernel, options: &Options, sizes: &[[u64; 3]]) -> Result<bool> {
    let end = options.end();
    let mut ideas: Vec<(&str, &str)> = IDEAS.iter().map(|idea| (idea.name, idea.title)).collect();
    let mut of: fn(&Problem, &DeviceInfo) -> Result<Field> = Field::of;
    if options.tensor_cores {
        (ideas, of) = (vec![("tensor_cores", "tensor cores")], Field::on_tensor_cores);
    }
    if options.squares.is_some() {
        (ideas, of) = (vec![(STEP.name, STEP.title)], Field::chosen);
    }
    let before = options.squares.map(|_| OneKernel::named(None)).transpose()?;
    let mut record = Measured {
        provenance: record::provenance(device.info(), options.commit.as_ref()),
        hash: kernel.source.hash.clone(),
        seed: options.seed,
        ideas: ideas.into_iter().map(|(name, title)| (name.to_owned(), title.to_owned())).collect(),
        shapes: Vec::new(),
    };
    for problem in sizes.iter().copied().map(Problem::uniform) {
        if Instant::now() > end {
            print("the minutes are over; what was measured is recorded\n")?;
            break;
        }
        let field = of(&problem, device.info())?;
        let shape = race::measure(device, kernel, &problem, &field, before.as_ref())?;
        let Shape { size: [m, n, k], chosen: Timed { name, slices, us, .. }, best, right, .. } = &shape;
        let (ratio, wrong) = (shape.ratio(), if *right { "" } else { "; WRONG" });
        print(&format!(
            "{m}×{n}×{k}: {name} in {slices} slices {us:.1} µs, {ratio:.3} of cuBLAS; best {} in {} {:.1} µs{wrong}\n",
            best.name, best.slices, best.us
        ))?;
        record.shapes.push(shape);
        record::write(&options.out, "shapes.json", &record)?;
    }
    print(&tables::of(&record))?;
    Ok(record.shapes.iter().all(|shape| shape.right))
}

/// Times every choice that is near the best at every shape, and fits the figures to the times.
fn tune(device: &mut dyn Device, kernel: &OneKernel, options: &Options, sizes: &[[u64; 3]]) -> Result<bool> {
    let end = options.end();
    let info = device.info().clone();
    ensure!(
        info.compiles,
        "NVRTC is not there, and not every specialisation is committed; install it (cargo course doctor says how)"
    );
    // The sizes of `course compare` come first, so that they are measured even if the time runs out.
    let mut shapes = Vec::new();
    for problem in GPU_SIZES.iter().chain(sizes).copied().map(Problem::uniform) {
        if Instant::now() > end {
            break;
        }
        let all = if options.tensor_cores {
            [tensor_cores::choices(&problem, &info), tensor_cores::choices_of_fp32_units(&problem, &info)].concat()
        } else {
            every_shape::choices(&problem, &info)
        };
        let mut bench = Bench::new(device, &problem, Operands::new(&problem)?)?;
        let time = |choice: &Choice| Ok((choice.figures.clone(), choice.work, bench.alone(kernel, &choice.plan)?));
        shapes.push(near(&all, NEAR_TO_FIT).into_iter().map(time).collect::<Result<_>>()?);
        bench.close()?;
    }
    let provenance = record::provenance(&info, options.commit.as_ref());
    let measured = format!("{provenance}; {} shapes", shapes.len());
    let random = shapes.split_off(GPU_SIZES.len().min(shapes.len()));
    let times = Times { gpu: info.name, sm_count: info.sm_count, measured, shapes: random, listed: shapes };
    record::write(&options.out, "times.json", &times)?;
    times.fit(&options.out)?;
    Ok(true)
}
