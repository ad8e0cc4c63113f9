//! What a comparison found, as a file: the only source of the figures in README and docs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use common::code::Source;
use common::device::{Figures, KernelResources};
use common::problem::{Dtype, Fill};
use common::report::LaunchReport;
use common::timing::{L2, Spread};
use common::verify::Method;
use common::{DeviceInfo, Kind, Problem, json, workspace};
use serde::{Deserialize, Serialize};

/// Version of the records' format.
pub const FORMAT: u32 = 1;

/// The name under which the vendor's library stands among the steps.
pub const CUBLAS: &str = "cuBLAS";

/// A comparison of all steps in one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Version of the format.
    pub format: u32,
    /// Day and time at which the run began, UTC (ISO 8601).
    pub date: String,
    /// The commit of the course, with `+` where files had changed since; `null` where git knows of none.
    pub commit: Option<String>,
    /// The device.
    pub device: DeviceInfo,
    /// The device's peaks; `null` on the simulator.
    pub figures: Option<Figures>,
    /// Version of the NVIDIA driver.
    pub driver: Option<String>,
    /// Version of CUDA that the driver is for.
    pub cuda: Option<String>,
    /// Version of the NVRTC that compiled the kernels; `null` where committed PTX was loaded.
    pub nvrtc: Option<String>,
    /// Version of cuBLAS; `null` where it was not compared.
    pub cublas: Option<String>,
    /// Element type of all problems.
    pub dtype: Dtype,
    /// How A and B were filled.
    pub fill: Fill,
    /// Seed of A and B.
    pub seed: u64,
    /// State of the L2 cache before each product.
    pub l2: L2,
    /// Rounds in which all kernels took turns.
    pub rounds: usize,
    /// The GPU's clocks before the first size.
    pub clocks_before: Option<Clocks>,
    /// The GPU's clocks after the last size.
    pub clocks_after: Option<Clocks>,
    /// The steps, in order.
    pub steps: Vec<StepRecord>,
    /// Kernels that broke the GPU's context, and how: they are left out from there on.
    #[serde(default)]
    pub faulted: BTreeMap<String, String>,
    /// The sizes, in order.
    pub sizes: Vec<SizeRecord>,
    /// Whether all sizes that were asked for are there.
    pub complete: bool,
}

/// A step of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepRecord {
    /// Name of its folder.
    pub name: String,
    /// The step in one line.
    pub title: String,
    /// Its source, relative to the workspace.
    pub source: String,
    /// SHA-256 of the source and its headers.
    pub hash: String,
    /// Whether it runs on the host.
    pub host: bool,
}

/// All steps at one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SizeRecord {
    /// Rows of C.
    pub m: u64,
    /// Columns of C.
    pub n: u64,
    /// Inner size.
    pub k: u64,
    /// Steps in order, cuBLAS last.
    pub entries: Vec<Entry>,
    /// The GPU's clocks right after the last sample.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clocks: Option<Clocks>,
}

/// How a kernel fared at a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The product is right.
    Verified,
    /// The product is wrong.
    Wrong,
    /// The kernel does not compile, load or end.
    Failed,
    /// The step's algorithm cannot do this size.
    Impossible,
    /// Not tried, because it would take too long or there is no memory for it.
    Skipped,
}

/// One kernel at one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The step, or [`CUBLAS`].
    pub name: String,
    /// How it fared.
    pub outcome: Outcome,
    /// Why, where it is not verified.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// How the product was checked.
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
    /// Its first launch.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub launch: Option<LaunchReport>,
    /// What the kernel takes of an SM.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resources: Option<KernelResources>,
    /// Every sample in milliseconds, round by round; each is the mean of `products_per_sample` products.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub samples_ms: Vec<Vec<f64>>,
    /// Products of a sample.
    #[serde(default)]
    pub products_per_sample: usize,
    /// The very first launch on the host's clock, in milliseconds; it is in no sample.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_launch_ms: Option<f64>,
    /// What the simulator counted for this kernel at a size of its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub traffic: Option<Traffic>,
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
        Self {
            name: name.to_owned(),
            outcome,
            note,
            method: None,
            worst_bound_share: None,
            origin: None,
            defines: Vec::new(),
            launch: None,
            resources: None,
            samples_ms: Vec::new(),
            products_per_sample: 0,
            first_launch_ms: None,
            traffic: None,
        }
    }

    /// Least, middle and greatest sample in milliseconds; none where the product is not right.
    pub fn spread(&self) -> Option<Spread> {
        let samples: Vec<f64> = self.samples_ms.iter().flatten().copied().collect();
        (self.outcome == Outcome::Verified).then(|| Spread::of(&samples)).flatten()
    }
}

impl SizeRecord {
    /// The size as people write it: `4096³` or `1000×777×513`.
    pub fn words(&self) -> String {
        size_words([self.m, self.n, self.k])
    }

    /// Speed of a kernel in GFLOP/s, by the median of its samples.
    pub fn gflops(&self, name: &str) -> Option<f64> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        let ms = entry.spread()?.median;
        Some(2.0 * self.m as f64 * self.n as f64 * self.k as f64 / (ms * 1e6))
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

    /// Whether all three edges are equal.
    pub fn is_cube(&self) -> bool {
        self.m == self.n && self.n == self.k
    }

    /// Whether the size is there to be drawn in the saw-tooth, and not to be tabled.
    pub fn is_saw_tooth(&self) -> bool {
        only_in_saw_tooth([self.m, self.n, self.k])
    }
}

/// The sizes that show the tiles' steps.
pub fn saw_tooth() -> Vec<[u64; 3]> {
    (1000..=1100).step_by(4).map(|edge| [edge; 3]).collect()
}

/// Whether a size is there for the saw-tooth only: 1000³ and 1024³ stand for themselves as well.
pub fn only_in_saw_tooth(size: [u64; 3]) -> bool {
    saw_tooth().contains(&size) && size[0] != 1000 && size[0] != 1024
}

/// A time as records keep it: to a tenth of a nanosecond, far below what an event resolves.
pub fn rounded(ms: f64) -> f64 {
    (ms * 1e7).round() / 1e7
}

/// `4096³` or `1000×777×513`.
pub fn size_words([m, n, k]: [u64; 3]) -> String {
    if m == n && n == k { format!("{m}³") } else { format!("{m}×{n}×{k}") }
}

impl Record {
    /// Reads a record.
    pub fn read(path: &Path) -> Result<Self> {
        let name = workspace::display(path);
        let text = std::fs::read_to_string(path).map_err(|error| {
            anyhow::anyhow!(
                "{name} cannot be read ({}); give a record of cargo course compare",
                common::code::io_reason(&error)
            )
        })?;
        let record: Self = serde_json::from_str(&text)
            .with_context(|| format!("{name} is no record of cargo course compare; make one with --record"))?;
        ensure!(
            record.format == FORMAT,
            "{name} has format {} and this program reads {FORMAT}; record anew",
            record.format
        );
        Ok(record)
    }

    /// Writes the record, first beside its place: a file that is there is whole.
    pub fn write(&self, path: &Path) -> Result<()> {
        // The entries of a size, member by member: all samples of one kernel on a line.
        write_whole(path, &json::lines(self, 5)?)
    }

    /// The problem of a size.
    pub fn problem(&self, [m, n, k]: [u64; 3]) -> Problem {
        Problem { m, n, k, dtype: self.dtype, fill: self.fill, seed: self.seed }
    }

    /// Steps whose source has changed since, or is gone.
    pub fn outdated(&self) -> Vec<&str> {
        let changed = |step: &&StepRecord| {
            let now = Source::read(&workspace::root().join(&step.source));
            now.map_or(true, |source| source.hash != step.hash)
        };
        self.steps.iter().filter(changed).map(|step| step.name.as_str()).collect()
    }

    /// Whether all that was tried is right.
    pub fn ok(&self) -> bool {
        let entries = self.sizes.iter().flat_map(|size| &size.entries);
        self.complete && !entries.into_iter().any(|entry| matches!(entry.outcome, Outcome::Wrong | Outcome::Failed))
    }

    /// Names of all contenders, cuBLAS last.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.steps.iter().map(|step| step.name.as_str()).collect();
        if self.cublas.is_some() {
            names.push(CUBLAS);
        }
        names
    }

    /// The record of a size.
    pub fn size(&self, size: [u64; 3]) -> Option<&SizeRecord> {
        self.sizes.iter().find(|record| [record.m, record.n, record.k] == size)
    }

    /// The largest cube at which the ladder is shown: 4096³ where it is there.
    pub fn ladder_size(&self) -> Option<&SizeRecord> {
        let timed = |size: &&SizeRecord| size.is_cube() && size.entries.iter().any(|entry| entry.spread().is_some());
        self.size([4096; 3]).filter(timed).or_else(|| self.sizes.iter().filter(timed).max_by_key(|size| size.m))
    }

    /// Least share and geometric mean of a step's share of cuBLAS, over the sizes that are not drawn only.
    pub fn shares_of_cublas(&self, name: &str) -> Option<(f64, f64)> {
        let sizes = self.sizes.iter().filter(|size| !size.is_saw_tooth());
        let shares: Vec<f64> = sizes.filter_map(|size| size.share_of_cublas(name)).collect();
        let least = shares.iter().copied().reduce(f64::min)?;
        let mean = (shares.iter().map(|share| share.ln()).sum::<f64>() / shares.len() as f64).exp();
        Some((least, mean))
    }

    /// Where, when and with what the record was made, in a sentence.
    pub fn provenance(&self) -> String {
        let part = |name: &str, value: &Option<String>| {
            value.as_ref().map_or(String::new(), |value| format!(", {name} {value}"))
        };
        format!(
            "{}{}{}{}{}, {}{}",
            self.device.name,
            part("driver", &self.driver),
            part("CUDA", &self.cuda),
            part("NVRTC", &self.nvrtc),
            part("cuBLAS", &self.cublas),
            self.date.get(..10).unwrap_or(&self.date),
            part("commit", &self.commit.as_ref().map(|commit| commit.chars().take(10).collect())),
        )
    }

    /// Whether it holds times of a GPU.
    pub fn has_times(&self) -> bool {
        self.device.kind == Kind::Cuda
            && self.sizes.iter().flat_map(|size| &size.entries).any(|entry| entry.spread().is_some())
    }
}

/// Writes a text beside its place and moves it there.
pub fn write_whole(path: &Path, text: &str) -> Result<()> {
    let name = workspace::display(path);
    let write = || -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let beside = path.with_extension("part");
        std::fs::write(&beside, text)?;
        std::fs::rename(&beside, path)
    };
    write().map_err(|error| {
        anyhow::anyhow!("{name} cannot be written ({}); choose another place", common::code::io_reason(&error))
    })
}

/// Where records are kept.
pub fn folder() -> PathBuf {
    workspace::root().join("docs/results")
}

/// All comparisons that are kept, by name, and the name of each file without its ending.
pub fn all() -> Result<Vec<(String, Record)>> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder()).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let is_record = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.extension().is_some_and(|extension| extension == "json") && !name.starts_with("acceptance")
    };
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    paths.iter().filter(is_record).map(|path| Ok((name(path), Record::read(path)?))).collect()
}

/// A GPU's clocks and what limits them, as `nvidia-smi` tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// Clock of the SMs in MHz.
    pub sm_mhz: Option<f64>,
    /// Clock of the memory in MHz.
    pub memory_mhz: Option<f64>,
    /// Temperature in degrees Celsius.
    pub celsius: Option<f64>,
    /// Power in watts.
    pub watts: Option<f64>,
    /// What holds the clocks down, as NVIDIA's bit mask; 0 is nothing, 1 is an idle GPU.
    pub throttle_reasons: Option<String>,
}

/// The clocks of a device now; `None` where there is no `nvidia-smi`.
pub fn clocks(index: usize) -> Option<Clocks> {
    // Newer drivers call the reasons events; older ones know the first name only.
    let ask = |reasons: &str| {
        let query = format!("--query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw,{reasons}");
        nvidia_smi(&[&query, "--format=csv,noheader,nounits", "-i", &index.to_string()])
    };
    let line = ask("clocks_throttle_reasons.active").or_else(|| ask("clocks_event_reasons.active"))?;
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse().ok());
    Some(Clocks {
        sm_mhz: number(0),
        memory_mhz: number(1),
        celsius: number(2),
        watts: number(3),
        throttle_reasons: fields.get(4).map(|reasons| (*reasons).to_owned()),
    })
}

/// The driver's version; `None` where there is no `nvidia-smi`.
pub fn driver() -> Option<String> {
    nvidia_smi(&["--query-gpu=driver_version", "--format=csv,noheader"])
}

fn nvidia_smi(args: &[&str]) -> Option<String> {
    let output = Command::new("nvidia-smi").args(args).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// The commit of the course, with `+` where tracked files have changed since.
pub fn commit() -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(workspace::root()).output().ok();
        let output = output.filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "HEAD"]).filter(|commit| !commit.is_empty())?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|changes| !changes.is_empty());
    Some(commit + if changed { "+" } else { "" })
}

/// Now, UTC: `2026-11-21T01:38:12Z`.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    date_of(seconds)
}

/// Seconds since 1970 as a date of the Gregorian calendar (E. G. Richards, "Mapping Time", 1998, algorithm F).
fn date_of(seconds: u64) -> String {
    let (days, second) = ((seconds / 86_400) as i64, seconds % 86_400);
    let julian = days + 2_440_588;
    let f = julian + 1401 + (4 * julian + 274_277) / 146_097 * 3 / 4 - 38;
    let e = 4 * f + 3;
    let h = 5 * (e % 1461 / 4) + 2;
    let day = h % 153 / 5 + 1;
    let month = (h / 153 + 2) % 12 + 1;
    let year = e / 1461 - 4716 + (12 + 2 - month) / 12;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::example;

    #[test]
    fn dates() {
        assert_eq!(date_of(0), "1970-01-01T00:00:00Z");
        assert_eq!(date_of(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(date_of(1_795_224_492), "2026-11-21T01:28:12Z");
        assert_eq!(date_of(4_107_542_399), "2100-02-28T23:59:59Z");
    }

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
        let path = std::env::temp_dir().join(format!("course-record-{}.json", std::process::id()));
        record.write(&path).unwrap();
        let read = Record::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(&record).unwrap());
        assert_eq!(read.outdated(), ["step02_one", "step04_two"]);
        assert!(Record::read(&path).unwrap_err().to_string().contains("cannot be read"));
    }
}
