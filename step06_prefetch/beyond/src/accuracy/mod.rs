//! `beyond accuracy`: how fast and how accurate FP32 products on tensor cores are, compared with the FP32 units and cuBLAS.

mod errors;
mod power;
pub(crate) mod tables;
mod values;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use common::Problem;
use common::basics::{Operands, print};
use common::device::{self, Device, SimOptions};
use common::measure::{Cache, Spread, timing};
use serde::{Deserialize, Serialize};

use crate::bench::{Bench, OneKernel};
use crate::record;
use errors::{Errors, Expected};
use values::Values;

/// The kernels that take part, with their names in the record. cuBLAS in FP32 and in TF32 takes part too.
const KERNELS: [(&str, Option<&str>); 2] =
    [("step06_prefetch", None), ("step06_prefetch/tensor_cores", Some("tensor_cores"))];
const LIBRARY: [&str; 2] = ["cuBLAS", "cuBLAS TF32"];
/// How many elements of C are compared with their right values.
const ELEMENTS: usize = 4096;
/// For errors: rows (and columns) of C, and the lengths of its sums. If C is small, cuBLAS divides K.
const LENGTHS: [(u64, &[u64]); 2] =
    [(2048, &[128, 256, 512, 1023, 1024, 4096, 16_384, 65_536]), (512, &[4096, 16_384, 65_536])];
/// Sizes whose speed is measured.
const SIZES: [u64; 4] = [1024, 2048, 4096, 8192];
/// Length of a sample, in milliseconds, while power is measured.
const POWER_SAMPLE_MS: f64 = 50.0;

/// The record of one run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Measured {
    /// The GPU, the versions of what took part, and the day.
    provenance: String,
    hashes: BTreeMap<String, String>,
    /// How many elements of C were compared in each product.
    elements: usize,
    /// For each contender, times in µs (least, median, most) measured in turns, and errors with values of both signs.
    speeds: Vec<AtSize<([f64; 3], Errors)>>,
    /// Errors for each kind of values and each K.
    errors: Vec<AtK>,
    /// Power at each size, while each contender runs for two seconds.
    power: Vec<AtSize<Power>>,
}

/// What was measured of all contenders at one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct AtSize<T> {
    /// M = N = K.
    size: u64,
    contenders: BTreeMap<String, T>,
}

/// The power drawn while a product is computed again and again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Power {
    /// The power of the board in watts (median).
    watts: f64,
    /// The clock of its SMs in MHz (median).
    mhz: f64,
    /// The time of a product in µs (median).
    us: f64,
}

/// All contenders with one kind of values and one K.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct AtK {
    /// What A and B hold.
    values: Values,
    /// Rows and columns of C.
    edge: u64,
    k: u64,
    contenders: BTreeMap<String, Errors>,
}

/// Options of `beyond accuracy`.
#[derive(clap::Args)]
pub struct Options {
    /// The folder for accuracy.json
    out: PathBuf,
    /// The commit for the record, if git cannot tell it
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
    /// Where to compute: cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: device::Choice,
}

/// Runs the command.
pub fn run(options: &Options) -> Result<bool> {
    let mut device = device::open(options.device, &SimOptions::default())?;
    let device = device.as_mut();
    let kernels = KERNELS.iter().map(|(_, variant)| OneKernel::named(*variant)).collect::<Result<Vec<_>>>()?;
    let mut record = Measured {
        provenance: record::provenance(device.info(), options.commit.as_ref()),
        hashes: named(kernels.iter().map(|kernel| kernel.source.hash.clone())),
        elements: ELEMENTS,
        ..Measured::default()
    };
    // `nvidia-smi` numbers the GPUs in the same way, unless an environment variable hides some.
    let gpu = if let device::Choice::Cuda(number) = options.device { number } else { 0 };
    for problem in SIZES.map(|size| Problem::uniform([size; 3])) {
        let mut bench = bench(device, &kernels, &problem, Values::Both)?;
        let times = bench.in_turns()?.into_iter().map(|all| [all.min, all.median, all.max]);
        let (times, errors) = (named(times), errors(&mut bench)?);
        let power = power(&mut bench, gpu)?;
        bench.close()?;
        print(&line("power", &power))?;
        print(&line(&format!("{}³", problem.k), &times))?;
        let both = times.into_iter().filter_map(|(name, us)| Some((name.clone(), (us, *errors.get(&name)?))));
        record.power.push(AtSize { size: problem.k, contenders: power });
        record.speeds.push(AtSize { size: problem.k, contenders: both.collect() });
        record::write(&options.out, "accuracy.json", &record)?;
    }
    for &values in Values::value_variants() {
        let lengths = LENGTHS.into_iter().flat_map(|(edge, all)| all.iter().map(move |&k| [edge, edge, k]));
        for problem in lengths.map(Problem::uniform) {
            let mut bench = bench(device, &kernels, &problem, values)?;
            let contenders = errors(&mut bench)?;
            bench.close()?;
            print(&line(&format!("{}, {}²×{}", values.words(), problem.m, problem.k), &contenders))?;
            record.errors.push(AtK { values, edge: problem.m, k: problem.k, contenders });
            record::write(&options.out, "accuracy.json", &record)?;
        }
    }
    Ok(true)
}

fn line<T: std::fmt::Debug>(what: &str, contenders: &BTreeMap<String, T>) -> String {
    let of = |(name, value): (&String, &T)| format!("  {name}: {value:?}\n");
    format!("{what}\n{}", contenders.iter().map(of).collect::<String>())
}

/// Gives each value the name of its contender; kernels come first, then cuBLAS.
fn named<T>(all: impl IntoIterator<Item = T>) -> BTreeMap<String, T> {
    let names = KERNELS.map(|(name, _)| name).into_iter().chain(LIBRARY).map(str::to_owned);
    names.zip(all).collect()
}

/// A bench with all contenders and the matrices that they multiply.
fn bench<'a>(
    device: &'a mut dyn Device,
    kernels: &[OneKernel],
    problem: &Problem,
    values: Values,
) -> Result<Bench<'a>> {
    let a = values.draw(true, problem.a_elements(), problem.k);
    let b = values.draw(false, problem.b_elements(), problem.k);
    let mut bench = Bench::new(device, problem, Operands::F32 { a, b })?;
    for kernel in kernels {
        let plan = (kernel.plan)(problem, bench.device.info())?;
        bench.enter(kernel, &plan)?;
    }
    bench.enter_cublas(false)?;
    bench.enter_cublas(true)?;
    Ok(bench)
}

fn errors(bench: &mut Bench) -> Result<BTreeMap<String, Errors>> {
    let Problem { m, n, k, .. } = bench.matrices.problem;
    let Operands::F32 { a, b } = &bench.operands else { return Ok(BTreeMap::new()) };
    let expected = Expected::of(a, b, [m, n, k].map(|side| side as usize), ELEMENTS);
    let mut c = vec![0.0_f32; (m * n) as usize];
    let errors = bench.products.iter().map(|product| {
        product.run(bench.device)?;
        bench.device.read(bench.matrices.c, 0, bytemuck::cast_slice_mut(&mut c))?;
        Ok(expected.errors(&c, n as usize))
    });
    Ok(named(errors.collect::<Result<Vec<_>>>()?))
}

/// The power that each contender draws, without those for which `nvidia-smi` reports none.
fn power(bench: &mut Bench, gpu: usize) -> Result<BTreeMap<String, Power>> {
    let mut cache = Cache::warm();
    let power = bench.products.iter().map(|product| {
        let once = timing::sample(bench.device, product.as_ref(), &mut cache, 1)?;
        // Enough products that the GPU is never idle for long, but few enough that the last ones end soon after the time is up.
        let count = ((POWER_SAMPLE_MS / once.max(1e-3)) as usize).clamp(1, 1000);
        let mut times = vec![];
        let medians = power::during(gpu, || {
            times.push(timing::sample(bench.device, product.as_ref(), &mut cache, count)? * 1e3);
            Ok(())
        })?;
        let (Some([watts, mhz]), Some(spread)) = (medians, Spread::of(&times)) else { return Ok(None) };
        Ok(Some(Power { watts, mhz, us: spread.median }))
    });
    let power = named(power.collect::<Result<Vec<_>>>()?);
    Ok(power.into_iter().filter_map(|(name, power)| Some((name, power?))).collect())
}
