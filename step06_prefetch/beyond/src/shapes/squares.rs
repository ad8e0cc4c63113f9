//! Square products of consecutive sizes with step 6, the kernel for every shape and cuBLAS. When the number of tiles passes a
//! multiple of the number of SMs, the speed falls, which draws a saw-tooth.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use common::Problem;
use common::basics::matrix::Operands;
use common::basics::output::print;
use common::device::Device;
use serde::{Deserialize, Serialize};

use super::race::rounded;
use crate::bench::{Bench, OneKernel};
use crate::{every_shape, record};

/// The name of the record that is drawn.
pub const RECORD: &str = "h100-squares";

/// A line of the chart: its name, and its time in µs at a size.
type Contender = (&'static str, fn(&Square) -> f64);
/// All lines of the chart.
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
    /// Step 6's kernel.
    pub before_us: f64,
    /// The kernel for every shape.
    pub after_us: f64,
    pub right: bool,
}

impl Squares {
    pub fn speeds(&self, us: fn(&Square) -> f64) -> Vec<(f64, f64)> {
        let speed = |square: &Square| 2.0 * (square.size as f64).powi(3) / us(square) / 1e6;
        self.squares.iter().map(|square| (square.size as f64, speed(square))).collect()
    }
}

/// The first and the last size.
const SIZES: [u64; 2] = [1024, 4096];

/// Measures sizes that are `step` apart until `end`, and writes squares.json.
pub fn record(device: &mut dyn Device, step: usize, out: &Path, commit: Option<&String>, end: Instant) -> Result<bool> {
    let [first, last] = SIZES;
    let kernels = [OneKernel::named(None)?, OneKernel::named(Some(every_shape::VARIANT.name))?];
    let provenance = record::provenance(device.info(), commit);
    let mut record = Squares { provenance, squares: Vec::new() };
    for size in (first..=last).step_by(step) {
        if !record::in_time(end)? {
            break;
        }
        let problem = Problem::uniform([size; 3]);
        let mut bench = Bench::new(device, &problem, Operands::new(&problem)?)?;
        bench.enter_cublas(false)?;
        for kernel in &kernels {
            let plan = (kernel.plan)(&problem, bench.device.info())?;
            bench.enter(kernel, &plan)?;
        }
        let right = bench.is_right(1)? & bench.is_right(2)?;
        let times = bench.in_turns()?;
        bench.close()?;
        let times: Vec<f64> = times.iter().map(|spread| rounded(spread.median)).collect();
        let [cublas_us, before_us, after_us] = times[..] else { bail!("a product was not timed; run again") };
        let wrong = if right { "" } else { "; WRONG" };
        print(&format!(
            "{size}³: cuBLAS {cublas_us:.1} µs, step 6 {before_us:.1} µs, every shape {after_us:.1} µs{wrong}\n"
        ))?;
        record.squares.push(Square { size, cublas_us, before_us, after_us, right });
        record::write(out, "squares.json", &record)?;
    }
    Ok(record.squares.iter().all(|square| square.right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_the_multiply_adds_over_the_time() {
        let square = Square { size: 1000, cublas_us: 100.0, before_us: 200.0, after_us: 50.0, right: true };
        let record = Squares { squares: vec![square], ..Squares::default() };
        assert_eq!(record.speeds(|square| square.before_us), [(1000.0, 10.0)]);
        assert!(record::read::<Squares>("shapes", &["no-such-record"]).is_err());
    }
}
