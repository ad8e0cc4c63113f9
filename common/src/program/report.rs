//! The report of a run, for people and for programs.

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::basics::{ms, wrapped};
use crate::code::Source;
use crate::measure::{Baseline, LeastTime, Timing};
use crate::program::cli::{Args, CounterDetail};
use crate::verify::Verification;
use findings::analysis::ThreadReport;
use findings::{Counters, HazardReport, diagnostic};
use plan::info::{DeviceInfo, Kind};
use plan::occupancy::Occupancy;
use plan::{Plan, Problem, Step};
use why::Finding;

/// The device of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// CUDA, simulated or host.
    pub kind: Kind,
    /// The name of the device.
    pub name: String,
}

/// The kernel of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelReport {
    /// Its file, relative to the workspace.
    pub source: String,
    /// SHA-256 of the source and its headers, in hexadecimal.
    pub hash: String,
    /// How the source became code.
    pub origin: String,
    /// The constants with which it was compiled.
    pub defines: Vec<(String, String)>,
}

/// The launch that multiplies in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchReport {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory per block in bytes.
    pub shared_bytes: u32,
    /// How many launches the product takes.
    pub launches: usize,
    /// Whether other launches come before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_later: bool,
}

/// The version of the JSON report: it grows when a field is renamed, removed, or gets another meaning.
const FORMAT: u32 = 1;

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this format: 1.
    #[serde(default)]
    pub format: u32,
    /// The step's name.
    pub step: String,
    /// The step in one line.
    #[serde(skip)]
    pub title: String,
    /// The rung or counter-example, if one was run.
    pub variant: Option<String>,
    /// Where it ran.
    pub device: DeviceReport,
    /// The problem that was computed.
    pub problem: Problem,
    /// The kernel that computed it.
    pub kernel: KernelReport,
    /// How it was launched; `null` on the host.
    pub launch: Option<LaunchReport>,
    /// How many blocks an SM holds, and what limits them; absent on the host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub occupancy: Option<Occupancy>,
    /// What the hardware's counters would show; absent on a GPU, and if they were not asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counters: Option<Counters>,
    /// Races and other hazards; absent if they were not looked for.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub hazards: Option<Vec<HazardReport>>,
    /// Each mistake once, with its lines and its repair; absent if hazards were not looked for.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub findings: Option<Vec<Finding>>,
    /// Whether the kernel is the user's own, so that each mistake is shown once and with nothing but what was tried.
    #[serde(skip)]
    pub is_own: bool,
    /// Accesses of the traced threads; absent if no trace was asked for.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub trace: Option<Vec<ThreadReport>>,
    /// What formed the elements of C that were asked for, in words.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub why: Vec<String>,
    /// The verdict on the product.
    pub verification: Verification,
    /// The times; absent on the simulator, and if the product is wrong.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timing: Option<Timing>,
    /// The baseline, if `--baseline` asked for one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub baseline: Option<Baseline>,
    /// The least time that the launches take on a GPU; absent without counters, and if the product is wrong.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub least_time: Option<LeastTime>,
}

impl Report {
    /// The report of a product whose source runs without being compiled for a device; other parts are filled in later.
    pub fn new(step: &Step, info: &DeviceInfo, problem: Problem, source: Source, verification: Verification) -> Self {
        let Source { display, hash, .. } = source;
        Self {
            format: FORMAT,
            step: step.name.into(),
            title: step.title.into(),
            variant: None,
            device: DeviceReport { kind: info.kind, name: info.name.clone() },
            problem,
            kernel: KernelReport { source: display.clone(), hash, origin: display, defines: Vec::new() },
            launch: None,
            occupancy: None,
            counters: None,
            hazards: None,
            findings: None,
            is_own: false,
            trace: None,
            why: Vec::new(),
            verification,
            timing: None,
            baseline: None,
            least_time: None,
        }
    }

    /// One JSON object and a line feed.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// How many hazards may be the cause of a wrong product; `None` if hazards were not looked for.
    fn causes(&self) -> Option<usize> {
        Some(self.hazards.as_ref()?.iter().filter(|hazard| hazard.is_hidden_cause()).count())
    }

    /// What people read first: the verdict, and what to try next; with `--verbose` the details. It has colours that
    /// [`crate::basics::output::print`] shows on terminals only.
    pub fn text(&self, args: &Args) -> String {
        let title = match &self.variant {
            Some(variant) => format!("{}, variant {variant}\n", self.step),
            None => format!("{}: {}\n", self.step, self.title),
        };
        let mut table = Table { text: title, verbose: args.verbose };
        table.line("problem", self.problem_words(args.verbose));
        if args.verbose {
            table.line("device", &self.device.name);
            let hash = &self.kernel.hash[..12.min(self.kernel.hash.len())];
            table.line("kernel", format!("{} (sha256 {hash}…)", self.kernel.origin));
        }
        if let Some(launch) = &self.launch {
            table.line("launch", launch.words());
        }
        if let Some(occupancy) = self.occupancy.as_ref().filter(|_| args.verbose) {
            table.line("occupancy", occupancy.words());
        }
        table.verification(&self.verification, self.causes());
        if let Some(timing) = &self.timing {
            table.timing(timing, self.device.kind);
        }
        if let Some(baseline) = &self.baseline {
            table.line("cuBLAS", baseline.words());
        }
        if let Some(hazards) = &self.hazards {
            let findings = self.findings.as_deref().filter(|_| self.is_own);
            table.hazards(hazards, findings);
        }
        if self.verification.ok && self.hazards.iter().all(Vec::is_empty) && !args.verbose {
            table.line("next", next(args));
        }
        let mut parts = self.why.clone();
        parts.extend(self.trace.iter().flatten().map(ThreadReport::text));
        if let (Some(counters), Some(detail)) = (&self.counters, args.counters) {
            parts.push(counters.text(self.first_counters()));
            let is_asked = args.verbose || args.gpu.is_some();
            parts.extend(self.least_time.as_ref().filter(|_| is_asked).map(LeastTime::text));
            parts.extend((detail == CounterDetail::Lines).then(|| counters.line_table()));
        }
        parts.iter().fold(table.text, |text, part| text + "\n" + part)
    }

    /// The counters that the step's chapter speaks of; they are shown first.
    fn first_counters(&self) -> &'static [&'static str] {
        FIRST_COUNTERS.iter().find(|(step, _)| *step == self.step).map_or(&[], |(_, names)| names)
    }

    /// The problem, with what is not as usual, and where it was solved.
    fn problem_words(&self, verbose: bool) -> String {
        let Problem { m, n, k, dtype, fill, seed } = self.problem;
        let usual = Problem::uniform([m, n, k]);
        let mut words = format!("C {m}×{n} = A {m}×{k} · B {k}×{n}");
        for (is_shown, word) in [
            (dtype != usual.dtype, dtype.to_string()),
            (fill != usual.fill, fill.to_string()),
            (seed != usual.seed, format!("seed {seed}")),
        ] {
            words += &if verbose || is_shown { format!(", {word}") } else { String::new() };
        }
        match self.device.kind {
            _ if verbose => words,
            Kind::Cuda => format!("{words}, on {}", self.device.name),
            Kind::Sim => format!("{words}, on the simulator"),
            Kind::Host => format!("{words}, on the host"),
        }
    }
}

/// By the step, the counters that its chapter speaks of.
const FIRST_COUNTERS: [(&str, &[&str]); 6] = [
    ("step01_cpu_naive", &["global_load_requests", "global_load_sectors", "flop_per_byte"]),
    ("step02_gpu_naive", &["instructions", "global_load_requests", "global_load_sectors", "flop_per_byte"]),
    (
        "step03_single_block",
        &["global_load_requests", "global_load_sectors", "flop_per_byte", "shared_load_requests", "barriers"],
    ),
    (
        "step04_tiled",
        &[
            "global_load_requests",
            "global_load_sectors",
            "flop_per_byte",
            "shared_load_wavefronts",
            "shared_load_bank_conflicts",
            "barriers",
        ],
    ),
    (
        "step05_thread_tile",
        &[
            "instructions",
            "flop_per_byte",
            "shared_load_requests",
            "shared_load_wavefronts",
            "shared_store_bank_conflicts",
        ],
    ),
    (
        "step06_prefetch",
        &["instructions", "shared_load_requests", "shared_load_wavefronts", "copy_requests", "barriers"],
    ),
];

/// What else a learner can ask of a right product.
fn next(args: &Args) -> String {
    let asks = [
        (args.check, "--check looks for races"),
        (args.counters.is_some(), "--counters counts"),
        (false, "--verbose says more"),
    ];
    let asks: Vec<&str> = asks.into_iter().filter_map(|(is_asked, words)| (!is_asked).then_some(words)).collect();
    asks.join(", ")
}

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// The column at which the values of rows begin.
const INDENT: usize = 13;

/// Mismatches that are shown without `--verbose`.
const FEW: usize = 3;

/// Rows with a name and a value.
struct Table {
    text: String,
    verbose: bool,
}

impl Table {
    fn hazards(&mut self, hazards: &[HazardReport], findings: Option<&[Finding]>) {
        let warnings = hazards.iter().filter(|hazard| hazard.diagnostic.warning).count();
        let found = hazards.len() - warnings;
        // One mistake is shown once, because what else is found mostly follows from it.
        if let Some(findings) = findings.filter(|findings| !findings.is_empty()) {
            if found > 1 {
                self.styled(BAD, "HAZARDS", format!("{found}; the one that explains most is shown"));
            } else {
                self.styled(BAD, "HAZARDS", found.to_string());
            }
            for finding in findings {
                self.text += &format!("\n{}", diagnostic::render(&finding.diagnostic));
            }
            return;
        }
        if found > 0 {
            self.styled(BAD, "HAZARDS", found.to_string());
        } else {
            self.line("hazards", "none: no race, no access out of bounds, no missing wait or barrier");
            if self.verbose {
                self.line("", "not tried: stores that other threads see late or in another order");
            }
        }
        if warnings > 0 {
            self.line("warnings", warnings.to_string());
        }
        for hazard in hazards {
            self.text += &format!("\n{}", diagnostic::render(&hazard.diagnostic));
        }
    }

    fn line(&mut self, name: &str, value: impl AsRef<str>) {
        self.styled(Style::new(), name, value);
    }

    fn styled(&mut self, style: Style, name: &str, value: impl AsRef<str>) {
        // Only the name counts, because escape sequences have no width.
        let space = " ".repeat(11_usize.saturating_sub(name.len()));
        self.text += &format!("  {style}{name}{style:#}{space}");
        self.text += &wrapped(value.as_ref(), INDENT);
        self.text.push('\n');
    }

    fn verification(&mut self, verification: &Verification, causes: Option<usize>) {
        if verification.ok {
            return self.styled(GOOD, "verified", verified(verification, self.verbose));
        }
        self.styled(BAD, "WRONG", verification.words(causes));
        let shown = if self.verbose { usize::MAX } else { FEW };
        for mismatch in verification.mismatches.iter().take(shown) {
            let name = format!("C[{}][{}]", mismatch.row, mismatch.col);
            self.line("", format!("{}, expected {}", mismatch.words(&name), mismatch.expected));
        }
        if let Some(map) = &verification.map {
            self.text += map;
        }
    }

    fn timing(&mut self, timing: &Timing, kind: Kind) {
        let (spread, samples) = (timing.kernel_ms, timing.samples);
        let s = if samples == 1 { "" } else { "s" };
        let of = match timing.products_per_sample {
            0 | 1 => String::new(),
            products => format!(" of {products} products each"),
        };
        let l2 = timing.l2.map_or_else(String::new, |l2| format!("; {}", l2.words()));
        let [median, min, max] = [spread.median, spread.min, spread.max].map(ms);
        self.line("time", format!("{median} ({min} to {max}, {samples} sample{s}{of}{l2})"));
        if kind == Kind::Cuda {
            let [launch, end_to_end] = [timing.launch_ms, timing.end_to_end_ms].map(ms);
            self.line("", format!("{launch} with launch and wait, {end_to_end} with the copies of A, B and C"));
        }
        if let Some(first) = timing.first_launch_ms.map(ms) {
            self.line("", format!("{first} for the very first launch, which also loads the kernel and is not counted"));
        }
        let share = timing.peak_share.map(|share| format!(", {:.1} % of the GPU's FP32 peak", share * 100.0));
        self.line("speed", format!("{:.1} GFLOP/s{}", timing.gflops, share.unwrap_or_default()));
    }
}

impl LaunchReport {
    /// The launch of a plan that multiplies.
    pub fn of(plan: &Plan) -> Option<Self> {
        plan.main().map(|launch| Self {
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            launches: plan.launches.len(),
            is_later: Some(launch) != plan.launches.first(),
        })
    }

    fn words(&self) -> String {
        let [x, y, z] = self.grid;
        let [block_x, block_y, block_z] = self.block;
        let depth = |z: u32| if z > 1 { format!("×{z}") } else { String::new() };
        let shared = match self.shared_bytes {
            0 => String::new(),
            bytes => format!(", {bytes} bytes of dynamic shared memory"),
        };
        let which = if self.is_later { "one" } else { "first" };
        let more = if self.launches > 1 { format!(", {which} of {} launches", self.launches) } else { String::new() };
        format!("{x}×{y}{} blocks of {block_x}×{block_y}{} threads{shared}{more}", depth(z), depth(block_z))
    }
}

fn verified(verification: &Verification, verbose: bool) -> String {
    let how = verification.method.words();
    match (verification.max_error, verification.worst_bound_share) {
        (Some(error), Some(share)) if verbose && error != 0.0 => {
            let percent = share * 100.0;
            format!(
                "{how}: largest error {error:.2e}; no element uses more than {percent:.2} % of the error that rounding may make"
            )
        }
        _ => how.to_owned(),
    }
}
