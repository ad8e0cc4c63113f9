//! What a comparison found, as plain data: the form of the files that `compare --save` writes.

use common::device::{Figures, KernelResources};
use common::findings::analysis::Counters;
use common::measure::LeastTime;
use common::measure::timing::L2;
use common::program::report::LaunchReport;
use common::verify::Method;
use common::{DeviceInfo, Problem};
use plan::occupancy::Occupancy;
use plan::{Dtype, Fill};
use serde::{Deserialize, Serialize};

/// Version of the records' format.
pub const FORMAT: u32 = 1;

/// The name under which the vendor's library stands among the steps.
pub const CUBLAS: &str = "cuBLAS";

/// A comparison of all steps in one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub format: u32,
    /// Day and time at which the run began, UTC (ISO 8601).
    pub date: String,
    /// The commit of the course, with `+` if files had changed since; `null` if git knows of none.
    pub commit: Option<String>,
    pub device: DeviceInfo,
    /// The device's peaks; `null` on the simulator.
    pub figures: Option<Figures>,
    pub driver: Option<String>,
    /// Version of CUDA that the driver is for.
    pub cuda: Option<String>,
    /// Version of the NVRTC that compiled the kernels; `null` if committed PTX was loaded.
    pub nvrtc: Option<String>,
    /// Version of cuBLAS; `null` if it was not compared.
    pub cublas: Option<String>,
    pub dtype: Dtype,
    pub fill: Fill,
    pub seed: u64,
    /// State of the L2 cache before each product.
    pub l2: L2,
    /// Rounds in which all kernels took turns.
    pub rounds: usize,
    pub steps: Vec<StepRecord>,
    pub sizes: Vec<SizeRecord>,
    /// Whether all sizes that were asked for are there.
    pub complete: bool,
}

/// A kernel of a record: a step's, a rung on the way to it, or one beyond it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepRecord {
    /// The step's name, or `STEP/VARIANT`.
    pub name: String,
    pub title: String,
    /// Its source, relative to the workspace.
    pub source: String,
    /// SHA-256 of the source and its headers.
    pub hash: String,
    pub host: bool,
    /// Whether it is a rung on the way to its step's kernel.
    #[serde(default)]
    pub rung: bool,
}

/// All steps at one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SizeRecord {
    pub m: u64,
    pub n: u64,
    pub k: u64,
    /// Steps in order, cuBLAS last.
    pub entries: Vec<Entry>,
}

/// How a kernel fared at a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Verified,
    Wrong,
    /// The kernel does not compile, load or end.
    Failed,
    /// The step's algorithm cannot do this size.
    Impossible,
    /// Not tried, because it would take too long or there is no memory for it.
    #[default]
    Skipped,
}

/// One kernel at one size.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Entry {
    /// The step, or [`CUBLAS`].
    pub name: String,
    pub outcome: Outcome,
    /// Why, if it is not verified.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub method: Option<Method>,
    /// Largest error as a share of its bound.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worst_bound_share: Option<f64>,
    /// How the source became code.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub origin: Option<String>,
    /// Constants it was compiled with.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub defines: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub launch: Option<LaunchReport>,
    /// What the kernel takes of an SM.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resources: Option<KernelResources>,
    /// Every sample in milliseconds, round by round; each is the mean of `products_per_sample` products.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub samples_ms: Vec<Vec<f64>>,
    #[serde(default)]
    pub products_per_sample: usize,
    /// The very first launch on the host's clock, in milliseconds; it is in no sample.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_launch_ms: Option<f64>,
    /// What the simulator counted of one product, by the counters' names, and what follows from it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counters: Option<Counters>,
    /// How many blocks an SM holds at a time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub occupancy: Option<Occupancy>,
    /// What the simulator counted for this kernel at a size of its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub traffic: Option<Traffic>,
    /// The least time on the device, or on the simulator the one on an H200.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub least_time: Option<LeastTime>,
}

/// Operations and bytes of a launch as the simulator counts them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Operations: two a multiply-add.
    pub flop: f64,
    /// Bytes of global memory in sectors of 32 that requests asked for, whatever the caches do.
    pub global_bytes: f64,
}

impl Traffic {
    /// Arithmetic intensity in flop per byte.
    pub fn intensity(&self) -> f64 {
        self.flop / self.global_bytes
    }
}

impl Entry {
    /// An entry without measurements.
    pub fn new(name: &str, outcome: Outcome, note: Option<String>) -> Self {
        Self { name: name.to_owned(), outcome, note, ..Self::default() }
    }
}

impl Record {
    /// The problem of a size.
    pub fn problem(&self, [m, n, k]: [u64; 3]) -> Problem {
        Problem { m, n, k, dtype: self.dtype, fill: self.fill, seed: self.seed }
    }

    /// Names of all contenders, cuBLAS last.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.steps.iter().map(|step| step.name.as_str()).collect();
        if self.cublas.is_some() {
            names.push(CUBLAS);
        }
        names
    }

    /// Whether it has the rungs of the steps, too.
    pub fn has_rungs(&self) -> bool {
        self.steps.iter().any(|step| step.rung)
    }

    /// A copy without the rungs inside the steps.
    #[must_use]
    pub fn steps_only(&self) -> Self {
        let mut record = self.clone();
        record.steps.retain(|step| !step.rung);
        let rungs: Vec<&StepRecord> = self.steps.iter().filter(|step| step.rung).collect();
        for size in &mut record.sizes {
            size.entries.retain(|entry| rungs.iter().all(|rung| rung.name != entry.name));
        }
        record
    }

    /// The last step of the course; what lies beyond it does not count.
    pub fn last_step(&self) -> Option<&StepRecord> {
        self.steps.iter().rev().find(|step| !step.name.contains('/'))
    }

    /// The record of a size.
    pub fn size(&self, size: [u64; 3]) -> Option<&SizeRecord> {
        self.sizes.iter().find(|record| record.shape() == size)
    }
}

/// A time as records keep it: to a tenth of a nanosecond, far below what an event resolves.
pub fn rounded(ms: f64) -> f64 {
    (ms * 1e7).round() / 1e7
}
