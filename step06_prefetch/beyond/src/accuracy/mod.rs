//! `beyond accuracy`: how fast and how accurate FP32 products are on tensor cores, beside those of the FP32 units and of
//! cuBLAS.

mod errors;
mod power;
pub(crate) mod tables;
mod values;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use common::basics::files::write;
use common::basics::json;
use common::basics::matrix::Operands;
use common::basics::output::print;
use common::device::cublas::CublasProduct;
use common::device::product::{Matrices, Product};
use common::device::{self, Device, SimOptions};
use common::measure::timing::{self, Cache, Spread};
use common::{Kind, Problem};
use serde::{Deserialize, Serialize};

use crate::one_kernel::{OneKernel, provenance};
use errors::{Errors, Expected};
use values::Values;

/// The kernels that take part, as the record names them, beside cuBLAS in FP32 and in TF32.
const KERNELS: [(&str, Option<&str>); 2] =
    [("step06_prefetch", None), ("step06_prefetch/tensor_cores", Some("tensor_cores"))];
/// Elements of C that are looked at.
const ELEMENTS: usize = 4096;
/// Rows and columns of C where errors are looked at, and lengths of the sums. Where C is small, cuBLAS divides K.
const LENGTHS: [(u64, &[u64]); 2] =
    [(2048, &[128, 256, 512, 1023, 1024, 4096, 16_384, 65_536]), (512, &[4096, 16_384, 65_536])];
/// Sizes whose speed is measured.
const SIZES: [u64; 4] = [1024, 2048, 4096, 8192];
/// Samples of a time.
const SAMPLES: usize = 9;
/// Milliseconds of a sample while power is looked at.
const POWER_SAMPLE_MS: f64 = 50.0;
/// The longest sums on the simulator, and rows and columns of C there.
const LONGEST_SIMULATED: u64 = 1024;
const EDGE_SIMULATED: u64 = 64;

/// The record of one run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Measured {
    /// The GPU, the versions of what took part, and the day.
    provenance: String,
    hashes: BTreeMap<String, String>,
    /// Elements of C that were looked at in each product.
    elements: usize,
    speeds: Vec<Speed>,
    /// Errors over K, for each kind of values.
    errors: Vec<AtK>,
    /// Power at these sizes, each contender for two seconds.
    power: Vec<AtPower>,
}

/// All contenders at one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct AtPower {
    /// M = N = K.
    size: u64,
    contenders: BTreeMap<String, Power>,
}

/// What a product draws when it is computed again and again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Power {
    /// The power of the board in watts (median).
    watts: f64,
    /// The clock of its SMs in MHz (median).
    mhz: f64,
    /// The time of a product in µs (median).
    us: f64,
}

/// All contenders at one size, in turns.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Speed {
    /// M = N = K.
    size: u64,
    /// For each contender µs (least, median, most) and its errors with values of both signs.
    contenders: BTreeMap<String, ([f64; 3], Errors)>,
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
    /// The longest sums; on the simulator 1024 at most
    #[arg(long, value_name = "K", default_value_t = 65_536)]
    longest: u64,
    /// The commit for the record, if git cannot tell it
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
    /// Where to compute: cuda, cuda:N or sim
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: device::Choice,
}

/// Runs the command.
pub fn run(options: &Options) -> Result<bool> {
    let mut device = device::open(options.device, &SimOptions::default())?;
    let device = device.as_mut();
    let sim = device.info().kind == Kind::Sim;
    let longest = if sim { options.longest.min(LONGEST_SIMULATED) } else { options.longest };
    let lengths = LENGTHS.into_iter().flat_map(|(edge, all)| {
        let edge = if sim { EDGE_SIMULATED } else { edge };
        all.iter().filter(|&&k| k <= longest).map(move |&k| [edge, edge, k])
    });
    let cubes = SIZES.into_iter().filter(|_| !sim).map(|size| [size; 3]);
    let [lengths, cubes] =
        [lengths.collect(), cubes.collect()].map(|sizes: Vec<[u64; 3]>| sizes.into_iter().map(Problem::uniform));
    let named = KERNELS.into_iter().map(|(name, variant)| Ok((name, OneKernel::named(variant)?)));
    let mut kernels: Vec<Contender> = named.collect::<Result<_>>()?;
    let hashes = kernels.iter().map(|(name, kernel)| ((*name).to_owned(), kernel.source.hash.clone()));
    let mut record = Measured {
        provenance: provenance(device.info(), options.commit.as_ref()),
        hashes: hashes.collect(),
        elements: ELEMENTS,
        ..Measured::default()
    };
    for problem in cubes {
        let mut bench = Bench::new(device, &mut kernels, problem, Values::Both)?;
        let mut times = bench.times()?;
        let errors = bench.errors()?;
        let contenders = bench.power(gpu(options.device))?;
        print(&line("power", &contenders))?;
        record.power.push(AtPower { size: problem.k, contenders });
        bench.close()?;
        print(&line(&format!("{}³", problem.k), &times))?;
        let contenders =
            errors.into_iter().filter_map(|(name, errors)| Some((name.clone(), (times.remove(&name)?, errors))));
        record.speeds.push(Speed { size: problem.k, contenders: contenders.collect() });
        write(&options.out.join("accuracy.json"), &json::lines(&record, 2)?)?;
    }
    for &values in Values::value_variants() {
        for problem in lengths.clone() {
            let mut bench = Bench::new(device, &mut kernels, problem, values)?;
            let contenders = bench.errors()?;
            bench.close()?;
            print(&line(&format!("{}, {}²×{}", values.words(), problem.m, problem.k), &contenders))?;
            record.errors.push(AtK { values, edge: problem.m, k: problem.k, contenders });
            write(&options.out.join("accuracy.json"), &json::lines(&record, 2)?)?;
        }
    }
    Ok(true)
}

/// The number that `nvidia-smi` knows a GPU by, if no environment variable hides some.
fn gpu(device: device::Choice) -> usize {
    if let device::Choice::Cuda(number) = device { number } else { 0 }
}

fn line<T: std::fmt::Debug>(what: &str, contenders: &BTreeMap<String, T>) -> String {
    let of = |(name, value): (&String, &T)| format!("  {name}: {value:?}\n");
    format!("{what}\n{}", contenders.iter().map(of).collect::<String>())
}

/// A kernel, and what the record calls it.
type Contender = (&'static str, OneKernel);

/// The contenders and their matrices.
struct Bench<'a> {
    device: &'a mut dyn Device,
    matrices: Matrices,
    operands: Operands,
    products: Vec<(String, Box<dyn Product>)>,
}

impl<'a> Bench<'a> {
    fn new(device: &'a mut dyn Device, kernels: &mut [Contender], problem: Problem, values: Values) -> Result<Self> {
        let [a, b] = [(true, problem.a_elements()), (false, problem.b_elements())]
            .map(|(of_a, elements)| values.draw(of_a, elements, problem.k));
        let operands = Operands::F32 { a, b };
        let matrices = Matrices::allocate(device, &problem)?;
        matrices.upload(device, &operands)?;
        let mut products: Vec<(String, Box<dyn Product>)> = vec![];
        for (name, kernel) in kernels {
            let plan = (kernel.plan)(&problem, device.info())?;
            products.push(((*name).to_owned(), Box::new(kernel.session(device, &plan, &matrices)?)));
        }
        if device.info().kind == Kind::Cuda {
            products.push(("cuBLAS".into(), Box::new(CublasProduct::new(device, &matrices)?)));
            products.push(("cuBLAS TF32".into(), Box::new(CublasProduct::in_tf32(device, &matrices)?)));
        }
        Ok(Self { device, matrices, operands, products })
    }

    /// The errors of each contender.
    fn errors(&mut self) -> Result<BTreeMap<String, Errors>> {
        let Problem { m, n, k, .. } = self.matrices.problem;
        let Operands::F32 { a, b } = &self.operands else { return Ok(BTreeMap::new()) };
        let expected = Expected::of(a, b, [m, n, k].map(|side| side as usize), ELEMENTS);
        let mut all = BTreeMap::new();
        let mut c = vec![0.0_f32; (m * n) as usize];
        for (name, product) in &self.products {
            product.run(self.device)?;
            self.device.read(self.matrices.c, 0, bytemuck::cast_slice_mut(&mut c))?;
            all.insert(name.clone(), expected.errors(&c, n as usize));
        }
        Ok(all)
    }

    /// The least, the median and the most µs of each contender.
    fn times(&mut self) -> Result<BTreeMap<String, [f64; 3]>> {
        let mut cache = Cache::warm();
        let mut counts = vec![];
        for (_, product) in &self.products {
            let once = timing::sample(self.device, product.as_ref(), &mut cache, 1)?;
            counts.push(cache.products_per_sample(once));
        }
        let mut samples: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for _ in 0..SAMPLES {
            for ((name, product), &count) in self.products.iter().zip(&counts) {
                let ms = timing::sample(self.device, product.as_ref(), &mut cache, count)?;
                samples.entry(name.clone()).or_default().push(ms * 1e3);
            }
        }
        let spread = |samples: &[f64]| Spread::of(samples).map(|all| [all.min, all.median, all.max]);
        Ok(samples.into_iter().filter_map(|(name, samples)| Some((name, spread(&samples)?))).collect())
    }

    /// The power that each contender draws, as far as `nvidia-smi` tells.
    fn power(&mut self, gpu: usize) -> Result<BTreeMap<String, Power>> {
        let mut cache = Cache::warm();
        let mut all = BTreeMap::new();
        for (name, product) in &self.products {
            let once = timing::sample(self.device, product.as_ref(), &mut cache, 1)?;
            // So many that the GPU is never idle for long, and that the last ones end soon after the time is over.
            let count = ((POWER_SAMPLE_MS / once.max(1e-3)) as usize).clamp(1, 1000);
            let mut times = vec![];
            let medians = power::during(gpu, || {
                times.push(timing::sample(self.device, product.as_ref(), &mut cache, count)? * 1e3);
                Ok(())
            })?;
            if let (Some([watts, mhz]), Some(spread)) = (medians, Spread::of(&times)) {
                all.insert(name.clone(), Power { watts, mhz, us: spread.median });
            }
        }
        Ok(all)
    }

    fn close(self) -> Result<()> {
        for (_, product) in self.products {
            product.close(self.device)?;
        }
        self.matrices.release(self.device)
    }
}
