//! Squares of consecutive sizes: step 6, the kernel for every shape and the library. Where the number of tiles passes a multiple of
//! the number of SMs, the speed falls: a saw-tooth.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use common::Problem;
use common::basics::files::write;
use common::basics::json;
use common::basics::matrix::Operands;
use common::basics::output::print;
use common::device::cublas::CublasProduct;
use common::device::product::{Matrices, Product};
use common::verify::on_device::verify_c;
use serde::{Deserialize, Serialize};

use super::race::{Bench, products_per_sample, rounded};
use crate::kept;
use crate::one_kernel::{OneKernel, provenance};

/// The name of the record that is drawn.
pub const RECORD: &str = "h100-squares";

/// Who is drawn.
type Contender = (&'static str, fn(&Square) -> f64);
/// All of them.
pub const CONTENDERS: [Contender; 3] = [
    ("every_shape", |square| square.after_us),
    ("step06_prefetch", |square| square.before_us),
    ("cuBLAS", |square| square.cublas_us),
];

/// The record of one run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Squares {
    /// The GPU, the versions of what took part, and the day.
    pub provenance: String,
    pub squares: Vec<Square>,
}

/// Times in µs at one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Square {
    /// M = N = K.
    pub size: u64,
    pub cublas_us: f64,
    /// Step 6.
    pub before_us: f64,
    /// The kernel for every shape.
    pub after_us: f64,
    pub right: bool,
}

impl Squares {
    /// A record by its name in `docs/results/shapes`.
    pub fn read(name: &str) -> Result<Self> {
        kept::read("shapes", name)
    }

    pub fn speeds(&self, us: fn(&Square) -> f64) -> Vec<(f64, f64)> {
        let speed = |square: &Square| 2.0 * (square.size as f64).powi(3) / us(square) / 1e6;
        self.squares.iter().map(|square| (square.size as f64, speed(square))).collect()
    }
}

/// The first and the last size.
const SIZES: [u64; 2] = [1024, 4096];

/// Measures all sizes that are `step` apart, as far as the time goes, and writes squares.json.
pub fn record(bench: &mut Bench, step: usize, out: &Path, commit: Option<&String>, end: Instant) -> Result<bool> {
    let [first, last] = SIZES;
    let mut before = OneKernel::named(None)?;
    let mut record = Squares { provenance: provenance(bench.device.info(), commit), squares: Vec::new() };
    for problem in (first..=last).step_by(step).map(|size| Problem::uniform([size; 3])) {
        if Instant::now() > end {
            print("the minutes are over; what was measured is recorded\n")?;
            break;
        }
        let square = measure(bench, &mut before, &problem)?;
        let Square { size, cublas_us, before_us, after_us, right, .. } = square;
        let wrong = if right { "" } else { "; WRONG" };
        print(&format!(
            "{size}³: cuBLAS {cublas_us:.1} µs, step 6 {before_us:.1} µs, every shape {after_us:.1} µs{wrong}\n"
        ))?;
        record.squares.push(square);
        write(&out.join("squares.json"), &json::lines(&record, 2)?)?;
    }
    Ok(record.squares.iter().all(|square| square.right))
}

fn measure(bench: &mut Bench, before: &mut OneKernel, problem: &Problem) -> Result<Square> {
    let (old, new) = ((before.plan)(problem, bench.device.info())?, (bench.kernel.plan)(problem, bench.device.info())?);
    let matrices = Matrices::allocate(bench.device, problem)?;
    let operands = Operands::new(problem)?;
    matrices.upload(bench.device, &operands)?;
    let library = CublasProduct::new(bench.device, &matrices)?;
    let products = products_per_sample(bench.least_of_two(&library, 1)?);
    let old = before.session(bench.device, &old, &matrices)?;
    let new = bench.session(&new, &matrices)?;
    let mut right = true;
    for session in [&old, &new] {
        session.run(bench.device)?;
        right &= verify_c(bench.device, session, problem, &operands)?.ok;
    }
    let runners: [Box<dyn Product>; 3] = [Box::new(library), Box::new(old), Box::new(new)];
    let medians = bench.in_turns(&runners, products)?;
    ensure!(medians.len() == runners.len(), "a product was not timed; run again");
    for product in runners {
        product.close(bench.device)?;
    }
    matrices.release(bench.device)?;
    let [cublas_us, before_us, after_us] = [0, 1, 2].map(|at| rounded(medians[at]));
    Ok(Square { size: problem.m, cublas_us, before_us, after_us, right })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_the_multiply_adds_over_the_time() {
        let square = Square { size: 1000, cublas_us: 100.0, before_us: 200.0, after_us: 50.0, right: true };
        let record = Squares { squares: vec![square], ..Squares::default() };
        assert_eq!(record.speeds(|square| square.before_us), [(1000.0, 10.0)]);
        assert!(Squares::read("no-such-record").is_err());
    }
}
