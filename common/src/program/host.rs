//! The host's processor as the driver of step 1 uses it, in the place of a GPU.

use anyhow::{Context as _, Result};

use crate::basics::host;
use crate::code::{Source, folder_of};
use crate::measure::timing::gflops;
use crate::measure::{Baseline, Spread, Timing, capacity, multiply_on_host, samples_on_host};
use crate::program::asked::Asked;
use crate::program::closing::Times;
use crate::program::matrix::{Matrix, elements, operands};
use crate::program::report::Report;
use crate::verify::{Verification, host_bytes, host_rows, verify};
use plan::info::{DeviceInfo, Kind};
use plan::{HostProduct, Problem, Shape};

/// The host's processor, for one product.
pub struct Host<'a> {
    asked: &'a Asked<'a>,
    info: DeviceInfo,
    source: Source,
    problem: Problem,
    /// The loops that were run, and the milliseconds that they took.
    ran: Option<(HostProduct, f64)>,
}

impl<'a> Host<'a> {
    /// Reads the source of the loops. Fails if the problem does not fit the memory.
    pub fn open(asked: &'a Asked<'a>) -> Result<Self> {
        let simulated = DeviceInfo::simulated(host::total_bytes());
        let info = DeviceInfo { kind: Kind::Host, name: host::processor(), ..simulated };
        let problem = asked.problem(info.kind);
        capacity::ensure_fits_host(&problem, problem.device_bytes(0).saturating_add(host_bytes(&problem)))?;
        let source = Source::read(&folder_of(asked.options.step).join("src/lib.rs"))?;
        Ok(Self { asked, info, source, problem, ran: None })
    }

    /// The problem: M, N, K, the type of the elements, and the seed from which they are drawn.
    pub fn problem(&self) -> Problem {
        self.problem
    }

    /// Allocates memory for so many elements. It holds a pattern that no product leaves by accident.
    pub fn allocate(&self, elements: u64) -> Result<Matrix> {
        Matrix::poisoned(&self.problem, elements)
    }

    /// Runs the loops.
    pub fn multiply(&mut self, loops: HostProduct, a: &Matrix, b: &Matrix, c: &mut Matrix) -> Result<()> {
        elements(&self.problem, c)?;
        self.ran = Some((loops, multiply_on_host(&self.problem, loops, operands(a, b)?, c.words_mut())));
        Ok(())
    }

    /// Checks whether C is the product of A and B.
    pub fn verify(&self, a: &Matrix, b: &Matrix, c: &Matrix) -> Result<Verification> {
        let (operands, words) = (operands(a, b)?, elements(&self.problem, c)?);
        let shape = Shape::whole(&self.problem);
        let mut verification = verify(&self.problem, operands, shape, &mut host_rows(words, self.problem.n))?;
        if self.ran.is_none() && !verification.ok {
            verification.diagnosis = Some("nothing was multiplied; call multiply before verify".into());
        }
        Ok(verification)
    }

    /// Runs the loops again, as often as time allows. There are no times of a wrong product.
    pub fn time(&self, a: &Matrix, b: &Matrix, c: &mut Matrix, verification: &Verification) -> Result<Times> {
        let args = self.asked.options.args;
        let baseline = args.baseline.as_ref().map(|_| {
            Baseline::missing("this step runs on the host and cuBLAS on a CUDA device; compare a later step with it")
        });
        let Some((loops, first)) = self.ran.filter(|_| verification.ok) else {
            return Ok(Times { timing: None, baseline });
        };
        elements(&self.problem, c)?;
        let (operands, words) = (operands(a, b)?, c.words_mut());
        let again = || multiply_on_host(&self.problem, loops, operands, words);
        let samples = samples_on_host(first, args.samples, again);
        let spread = Spread::of(&samples).context("no sample was taken; choose --samples from 1 on")?;
        let timing = Timing {
            kernel_ms: spread,
            launch_ms: spread.median,
            end_to_end_ms: spread.median,
            first_launch_ms: None,
            gflops: gflops(&self.problem, spread.median),
            peak_share: None,
            samples: samples.len(),
            products_per_sample: 1,
            l2: None,
        };
        Ok(Times { timing: Some(timing), baseline })
    }

    /// What the run was, and what came out.
    pub fn report(&self, verification: Verification, times: Times) -> Result<Report> {
        let Times { timing, baseline } = times;
        let report = Report::new(self.asked.options.step, &self.info, self.problem, self.source.clone(), verification);
        Ok(Report { timing, baseline, ..report })
    }
}
