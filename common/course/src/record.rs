//! The results of a comparison: plain data in the format of `compare --save`, what follows from its samples (speeds, shares, and whether
//! everything is right), and the records that the course keeps as files, the only source of the figures in README and docs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use common::basics::{io_reason, json, ms, workspace};
use common::code::Source;
use common::device::{Figures, KernelResources};
use common::measure::provenance::provenance;
use common::measure::{L2, LeastTime, Spread, geometric_mean};
use common::program::report::LaunchReport;
use common::verify::Method;
use common::{DeviceInfo, Kind, Problem};
use findings::Counters;
use plan::occupancy::Occupancy;
use plan::{Dtype, Fill};
use serde::{Deserialize, Serialize};

use crate::files;

pub const FORMAT: u32 = 1;

/// The vendor's library in lists of steps.
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
    /// What the kernel needs of an SM.
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
    /// The simulator's counters of one product, by name, and ratios of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counters: Option<Counters>,
    /// How many blocks an SM holds at a time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub occupancy: Option<Occupancy>,
    /// The kernel's traffic as the simulator counted it, at a smaller size.
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

impl Entry {
    /// An entry without measurements.
    pub fn new(name: &str, outcome: Outcome, note: Option<String>) -> Self {
        Self { name: name.to_owned(), outcome, note, ..Self::default() }
    }

    /// Least, middle and greatest sample in milliseconds; none if the product is not right.
    pub fn spread(&self) -> Option<Spread> {
        let samples: Vec<f64> = self.samples_ms.iter().flatten().copied().collect();
        (self.outcome == Outcome::Verified).then(|| Spread::of(&samples)).flatten()
    }

    /// The middle sample over the least time, if both are known.
    pub fn over_least(&self) -> Option<f64> {
        Some(self.spread()?.median / self.least_time.as_ref()?.ms)
    }
}

impl Record {
    pub fn problem(&self, [m, n, k]: [u64; 3]) -> Problem {
        Problem { m, n, k, dtype: self.dtype, fill: self.fill, seed: self.seed }
    }

    /// Names of all contenders, cuBLAS last.
    pub fn names(&self) -> Vec<&str> {
        let library = self.cublas.as_ref().map(|_| CUBLAS);
        self.steps.iter().map(|step| step.name.as_str()).chain(library).collect()
    }

    /// Whether it has the rungs of the steps, too.
    pub fn has_rungs(&self) -> bool {
        self.steps.iter().any(|step| step.rung)
    }

    /// A copy without the rungs inside the steps.
    #[must_use]
    pub fn steps_only(&self) -> Self {
        let is_rung = |name: &str| self.steps.iter().any(|step| step.rung && step.name == name);
        let mut record = self.clone();
        record.steps.retain(|step| !step.rung);
        record.sizes.iter_mut().for_each(|size| size.entries.retain(|entry| !is_rung(&entry.name)));
        record
    }

    pub fn size(&self, size: [u64; 3]) -> Option<&SizeRecord> {
        self.sizes.iter().find(|record| record.shape() == size)
    }

    /// Every kernel at every size.
    pub fn entries(&self) -> impl Iterator<Item = (&SizeRecord, &Entry)> {
        self.sizes.iter().flat_map(|size| size.entries.iter().map(move |entry| (size, entry)))
    }

    /// Whether all that was tried is right.
    pub fn ok(&self) -> bool {
        self.complete && !self.entries().any(|(_, entry)| matches!(entry.outcome, Outcome::Wrong | Outcome::Failed))
    }

    /// Cells on a kernel's speed at a size: its time, its speed, its share of the device's FP32 peak and of cuBLAS's speed, and its speed
    /// over the nearest earlier step that has one. `none` fills a cell without a value, such as the share of the peak for a step on the
    /// host. `None` if the product is not right or was not timed.
    pub fn speed(&self, size: &SizeRecord, entry: &Entry, speed: fn(f64) -> String, none: &str) -> Option<[String; 5]> {
        let (spread, gflops) = (entry.spread()?, size.gflops(&entry.name)?);
        let host = self.steps.iter().any(|step| step.host && step.name == entry.name);
        let of_peak = self.figures.filter(|_| !host).map(|figures| gflops / figures.fp32_peak_gflops);
        let over_previous = size.over_previous(&entry.name).filter(|_| entry.name != CUBLAS);
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let [of_peak, of_cublas] = [of_peak, size.share_of_cublas(&entry.name)].map(|share| share.map(percent));
        let all = [Some(ms(spread.median)), Some(speed(gflops)), of_peak, of_cublas, over_previous.map(times)];
        Some(all.map(|cell| cell.unwrap_or_else(|| none.to_owned())))
    }

    /// The largest cube at which the ladder is shown: 4096³ if it is there.
    pub fn ladder_size(&self) -> Option<&SizeRecord> {
        let timed = |size: &&SizeRecord| size.is_cube() && size.entries.iter().any(|entry| entry.spread().is_some());
        self.size([4096; 3]).filter(timed).or_else(|| self.sizes.iter().filter(timed).max_by_key(|size| size.m))
    }

    /// Least share and geometric mean of a step's share of cuBLAS.
    pub fn shares_of_cublas(&self, name: &str) -> Option<(f64, f64)> {
        let shares: Vec<f64> = self.sizes.iter().filter_map(|size| size.share_of_cublas(name)).collect();
        let least = shares.iter().copied().reduce(f64::min)?;
        Some((least, geometric_mean(&shares)))
    }

    /// Whether it holds times of a GPU.
    pub fn has_times(&self) -> bool {
        self.device.kind == Kind::Cuda && self.entries().any(|(_, entry)| entry.spread().is_some())
    }

    pub fn read(path: &Path) -> Result<Self> {
        let name = workspace::display(path);
        let text = files::text(path).map_err(|error| {
            anyhow!("{name} cannot be read ({}); give a file that cargo course compare --save wrote", io_reason(&error))
        })?;
        let other = || format!("{name} is not a saved comparison; make one with cargo course compare --save FILE.json");
        let record: Self = serde_json::from_str(&text).with_context(other)?;
        let (format, again) = (record.format, "make it again with cargo course compare --save");
        ensure!(format == FORMAT, "{name} has format {format} and this program reads {FORMAT}; {again}");
        Ok(record)
    }

    /// Writes the record, over another one or where there is nothing.
    pub fn write(&self, path: &Path) -> Result<()> {
        // A kernel at a size takes a line.
        files::replace(path, &json::lines(self, 4)?, is_record, ELSEWHERE)
    }

    /// Fails if a record cannot be written there: said before anything is measured.
    pub fn check_place(path: &Path) -> Result<()> {
        files::check_replaceable(path, is_record, ELSEWHERE)
    }

    /// The record's provenance in a sentence: device, versions, day and commit.
    pub fn provenance(&self) -> String {
        let versions =
            [("driver", &self.driver), ("CUDA", &self.cuda), ("NVRTC", &self.nvrtc), ("cuBLAS", &self.cublas)];
        provenance(&self.device.name, &versions, &self.date, &self.commit)
    }

    /// Steps whose source has changed since the record was made, or is gone.
    pub fn outdated(&self) -> Vec<&str> {
        let changed = |step: &&StepRecord| {
            let now = Source::read(&workspace::root().join(&step.source));
            now.map_or(true, |source| source.hash != step.hash)
        };
        self.steps.iter().filter(changed).map(|step| step.name.as_str()).collect()
    }
}

/// A time as records keep it: to a tenth of a nanosecond, far below what an event resolves.
pub fn rounded(ms: f64) -> f64 {
    (ms * 1e7).round() / 1e7
}

/// One time as a multiple of another.
pub fn times(times: f64) -> String {
    format!("{times:.2} ×")
}

impl SizeRecord {
    /// M, N and K.
    pub fn shape(&self) -> [u64; 3] {
        [self.m, self.n, self.k]
    }

    /// The size as people write it: `4096³` or `1000×777×513`.
    pub fn words(&self) -> String {
        let Self { m, n, k, .. } = self;
        if self.is_cube() { format!("{m}³") } else { format!("{m}×{n}×{k}") }
    }

    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Speed of a kernel in GFLOP/s, by the median of its samples.
    pub fn gflops(&self, name: &str) -> Option<f64> {
        let median = self.entry(name)?.spread()?.median;
        Some(2.0 * self.m as f64 * self.n as f64 * self.k as f64 / (median * 1e6))
    }

    /// Speed of a kernel as a share of cuBLAS's at this size.
    pub fn share_of_cublas(&self, name: &str) -> Option<f64> {
        Some(self.gflops(name)? / self.gflops(CUBLAS)?)
    }

    /// Speed of the kernel over that of the nearest earlier step that has one.
    pub fn over_previous(&self, name: &str) -> Option<f64> {
        let at = self.entries.iter().position(|entry| entry.name == name)?;
        let previous = self.entries[..at].iter().rev().find_map(|entry| self.gflops(&entry.name))?;
        Some(self.gflops(name)? / previous)
    }

    pub fn is_cube(&self) -> bool {
        self.m == self.n && self.n == self.k
    }
}

const ELSEWHERE: &str = "name another file with --save";

fn is_record(text: &str) -> bool {
    serde_json::from_str::<Record>(text).is_ok()
}

/// Where the course keeps its records.
pub fn folder() -> PathBuf {
    workspace::root().join("docs/results")
}

/// The comparisons of a folder, each with the name of its file without the ending.
pub fn within(folder: &Path) -> Result<Vec<(String, Record)>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    files.sort();
    let names = files.iter().filter_map(|file| file.strip_suffix(".json"));
    let record = |name: &str| Ok((name.to_owned(), Record::read(&folder.join(format!("{name}.json")))?));
    names.map(record).collect()
}

/// A record with two steps and cuBLAS at two sizes.
#[cfg(test)]
pub(crate) fn example() -> Record {
    Record::read(&common::basics::workspace::root().join("common/course/tests/record.json")).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_from_the_medians() {
        let record = example();
        let size = record.size([4096; 3]).unwrap();
        assert!((size.share_of_cublas("step04_two").unwrap() - 0.5).abs() < 1e-6);
        assert!((size.over_previous("step04_two").unwrap() - 4.0).abs() < 1e-5);
        assert_eq!(size.over_previous("step02_one"), None);
        let (least, mean) = record.shares_of_cublas("step02_one").unwrap();
        assert!((least - 0.125).abs() < 1e-6 && (mean - (0.125_f64 / 6.0).sqrt()).abs() < 1e-6, "{least} {mean}");
    }

    #[test]
    fn a_wrong_product_has_no_time_and_the_record_is_not_ok() {
        let mut record = example();
        assert!(record.ok());
        record.sizes[0].entries[1].outcome = Outcome::Wrong;
        assert_eq!(record.sizes[0].gflops("step04_two"), None);
        assert!(!record.ok());
        record.sizes[0].entries[1].outcome = Outcome::Impossible;
        assert!(record.ok());
    }

    #[test]
    fn a_record_survives_its_file_and_one_of_other_sources_is_outdated() {
        let record = example();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        record.write(&path).unwrap();
        let read = Record::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(&record).unwrap());
        assert_eq!(read.outdated(), ["step02_one", "step04_two"]);
        assert!(Record::read(&path).unwrap_err().to_string().contains("cannot be read"));
    }
}
