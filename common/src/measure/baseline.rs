//! The baseline of a kernel, in the same run and on the same data: cuBLAS.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::basics::{Operands, ms};
use crate::device::{CublasProduct, Device, Matrices, cublas};
use crate::measure::{Cache, Timing, timing};
use crate::verify::verify_on;
use plan::Kind;

/// What `--baseline` can name: the vendor's library.
pub const CUBLAS: &str = "cublas";

/// The baseline's part of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The library.
    pub name: String,
    /// Version of the library; `null` if it did not run.
    pub version: Option<String>,
    /// Whether its product is right; `null` if it did not run.
    pub ok: Option<bool>,
    /// Its times; absent if it did not run or its product is wrong.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timing: Option<Timing>,
    /// The step's speed as a share of the baseline's; absent if either has no time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<f64>,
    /// Why there is no comparison; absent if there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub missing: Option<String>,
}

impl Baseline {
    /// A baseline that did not run, for this reason.
    pub fn missing(reason: impl Into<String>) -> Self {
        let missing = Some(reason.into());
        Self { name: CUBLAS.into(), version: None, ok: None, timing: None, share: None, missing }
    }

    /// Computes the product with cuBLAS in the step's matrices, verifies it and times it. If that fails, the result says why.
    pub fn run(
        device: &mut dyn Device,
        matrices: &Matrices,
        operands: &Operands,
        samples: Option<usize>,
        cache: &mut Cache,
        step: Option<&Timing>,
    ) -> Self {
        if device.info().kind != Kind::Cuda {
            return Self::missing("cuBLAS runs on a CUDA device only; take --device cuda if the machine has one");
        }
        let mut run = || -> Result<Self> {
            let library = CublasProduct::new(device, matrices)?;
            let version = Some(cublas::find()?);
            let verification = verify_on(device, &library, &matrices.problem, operands)?;
            let (right, diagnosis) = (verification.ok, verification.diagnosis.unwrap_or_default());
            ensure!(right, "cuBLAS's own product fails the check ({diagnosis}); compare with another version");
            let timing = timing::time(device, &library, operands, samples, cache)?;
            let share = step.map(|step| timing.kernel_ms.median / step.kernel_ms.median);
            let name = CUBLAS.into();
            Ok(Self { name, version, ok: Some(true), timing: Some(timing), share, missing: None })
        };
        run().unwrap_or_else(|error| Self::missing(format!("{error:#}")))
    }

    /// A sentence for people.
    pub fn words(&self) -> String {
        let Some(timing) = &self.timing else {
            return format!("no comparison: {}", self.missing.as_deref().unwrap_or("it was not timed"));
        };
        let version = self.version.as_deref().unwrap_or("of unknown version");
        let [median, min, max] = [timing.kernel_ms.median, timing.kernel_ms.min, timing.kernel_ms.max].map(ms);
        let share = self.share.map(|share| format!("; this kernel runs at {:.1} % of it", share * 100.0));
        let (gflops, share) = (timing.gflops, share.unwrap_or_default());
        format!("{median} ({min} to {max}), {gflops:.1} GFLOP/s, version {version}, its product verified{share}")
    }
}
