//! `cargo x accuracy`: how fast and how accurate FP32 products are on tensor cores, beside those of the FP32 units and of
//! cuBLAS.

mod errors;
pub mod measured;
pub mod values;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use common::cublas_product::CublasProduct;
use common::device::{self, Device, SimOptions};
use common::matrix::Operands;
use common::output::print;
use common::product::{Matrices, Product};
use common::timing::{self, Cache, Spread};
use common::{Dtype, Fill, Kind, Problem, json};
use course::files::write;

use crate::one_kernel::{OneKernel, provenance};
use errors::Expected;
use measured::{AtK, Measured, Speed};
use values::Values;

/// The kernels that take part, beside cuBLAS in FP32 and in TF32.
const KERNELS: [&str; 3] = ["step06_prefetch", "step06_prefetch/tensor_cores", "step06_prefetch/long_sums"];
/// Rows and columns of C where errors are looked at.
const EDGE: u64 = 2048;
/// Elements of C that are looked at.
const ELEMENTS: usize = 4096;
/// Lengths of the sums.
const LENGTHS: [u64; 14] = [1, 2, 4, 8, 16, 32, 64, 127, 128, 256, 1024, 4096, 16_384, 65_536];
/// Sizes whose speed is measured.
const SIZES: [u64; 4] = [1024, 2048, 4096, 8192];
/// Milliseconds of a sample, about, and samples.
const SAMPLE_MS: f64 = 4.0;
const SAMPLES: usize = 9;

#[derive(clap::Args)]
pub struct Options {
    /// The folder for accuracy.json
    out: PathBuf,
    /// The longest sums; on the simulator 256
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
    let mut kernels = KERNELS.map(OneKernel::named).into_iter().collect::<Result<Vec<_>>>()?;
    let mut record = Measured {
        provenance: provenance(device.info(), options.commit.as_ref()),
        hashes: KERNELS.iter().zip(&kernels).map(|(name, one)| ((*name).to_owned(), one.source.hash.clone())).collect(),
        elements: ELEMENTS,
        ..Measured::default()
    };
    let sim = device.info().kind == Kind::Sim;
    let edge = if sim { 64 } else { EDGE };
    for &values in Values::value_variants() {
        for k in LENGTHS.into_iter().filter(|&k| k <= if sim { options.longest.min(256) } else { options.longest }) {
            let problem = Problem { m: edge, n: edge, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: 1 };
            let mut bench = Bench::new(device, &mut kernels, problem, values)?;
            let contenders = bench.errors()?;
            bench.close()?;
            print(&line(&format!("{}, K = {k}", values.words()), &contenders))?;
            record.errors.push(AtK { values, k, contenders });
            write(&options.out.join("accuracy.json"), &json::lines(&record, 2)?)?;
        }
    }
    for size in SIZES.into_iter().filter(|_| !sim) {
        let problem = Problem { m: size, n: size, k: size, dtype: Dtype::F32, fill: Fill::Uniform, seed: 1 };
        let mut bench = Bench::new(device, &mut kernels, problem, Values::Both)?;
        let mut times = bench.times()?;
        let errors = bench.errors()?;
        bench.close()?;
        print(&line(&format!("{size}³"), &times))?;
        let contenders =
            errors.into_iter().filter_map(|(name, errors)| Some((name.clone(), (times.remove(&name)?, errors))));
        record.speeds.push(Speed { size, contenders: contenders.collect() });
        write(&options.out.join("accuracy.json"), &json::lines(&record, 2)?)?;
    }
    Ok(true)
}

fn line<T: std::fmt::Debug>(what: &str, contenders: &BTreeMap<String, T>) -> String {
    let of = |(name, value): (&String, &T)| format!("  {name}: {value:?}\n");
    format!("{what}\n{}", contenders.iter().map(of).collect::<String>())
}

/// The contenders and their matrices.
struct Bench<'a> {
    device: &'a mut dyn Device,
    matrices: Matrices,
    operands: Operands,
    products: Vec<(String, Box<dyn Product>)>,
}

impl<'a> Bench<'a> {
    fn new(device: &'a mut dyn Device, kernels: &mut [OneKernel], problem: Problem, values: Values) -> Result<Self> {
        let [a, b] = [(true, problem.a_elements()), (false, problem.b_elements())]
            .map(|(of_a, elements)| values.draw(of_a, elements, problem.k));
        let operands = Operands::F32 { a, b };
        let matrices = Matrices::allocate(device, &problem)?;
        matrices.upload(device, &operands)?;
        let mut products: Vec<(String, Box<dyn Product>)> = vec![];
        for (name, kernel) in KERNELS.iter().zip(kernels) {
            for (plan, _) in kernel.plans(device.info(), &[problem])? {
                products.push(((*name).to_owned(), Box::new(kernel.session(device, &plan, &matrices)?)));
            }
        }
        if device.info().kind == Kind::Cuda {
            products.push(("cuBLAS".into(), Box::new(CublasProduct::new(device, &matrices)?)));
            products.push(("cuBLAS TF32".into(), Box::new(CublasProduct::in_tf32(device, &matrices)?)));
        }
        Ok(Self { device, matrices, operands, products })
    }

    /// The errors of each contender.
    fn errors(&mut self) -> Result<BTreeMap<String, errors::Errors>> {
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
        let mut samples: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for round in 0..=SAMPLES {
            for (name, product) in &self.products {
                let once = timing::sample(self.device, product.as_ref(), &mut cache, 1)?;
                let products = (SAMPLE_MS / once.max(1e-3)).ceil().clamp(1.0, 200.0) as usize;
                // The first round warms up.
                if round > 0 {
                    let ms = timing::sample(self.device, product.as_ref(), &mut cache, products)?;
                    samples.entry(name.clone()).or_default().push(ms * 1e3);
                }
            }
        }
        let spread = |samples: &[f64]| Spread::of(samples).map(|all| [all.min, all.median, all.max]);
        Ok(samples.into_iter().filter_map(|(name, samples)| Some((name, spread(&samples)?))).collect())
    }

    fn close(self) -> Result<()> {
        for (_, product) in self.products {
            product.close(self.device)?;
        }
        self.matrices.release(self.device)
    }
}
