//! What a run found, for people and for programs.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::analysis::{Counters, HazardReport, ThreadReport};
use crate::baseline::Baseline;
use crate::cli::CounterDetail;
use crate::diagnostic;
use crate::info::{DeviceInfo, Kind};
use crate::occupancy::Occupancy;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::timing::Timing;
use crate::units::ms;
use crate::verify::Verification;

/// The device of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// CUDA, simulated or host.
    pub kind: Kind,
    /// The device's own name.
    pub name: String,
}

impl From<&DeviceInfo> for DeviceReport {
    fn from(info: &DeviceInfo) -> Self {
        Self { kind: info.kind, name: info.name.clone() }
    }
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
    /// Constants it was compiled with.
    pub defines: Vec<(String, String)>,
}

/// The first launch of a run.
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
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The step's name.
    pub step: String,
    /// The step in one line.
    #[serde(skip)]
    pub title: String,
    /// The counter-example, where one was run.
    pub variant: Option<String>,
    /// Where it ran.
    pub device: DeviceReport,
    /// What was computed.
    pub problem: Problem,
    /// By what.
    pub kernel: KernelReport,
    /// How it was launched; `null` on the host.
    pub launch: Option<LaunchReport>,
    /// How many blocks an SM holds, and what limits them; absent on the host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub occupancy: Option<Occupancy>,
    /// What the hardware's counters would show; absent on a GPU and where they were not asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counters: Option<Counters>,
    /// Races and the like; absent where they were not looked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hazards: Option<Vec<HazardReport>>,
    /// Accesses of the threads that were to be traced; absent where none was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace: Option<Vec<ThreadReport>>,
    /// Whether the product is right.
    pub verification: Verification,
    /// How long it took; absent on the simulator and where the product is wrong.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timing: Option<Timing>,
    /// What `--baseline` asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub baseline: Option<Baseline>,
}

impl Report {
    /// One JSON object and a line feed.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// A table for people, with colours that [`print`] leaves to terminals.
    pub fn text(&self, detail: Option<CounterDetail>) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: String| row(&mut text, Style::new(), name, &value);
        line("device", self.device.name.clone());
        let Problem { m, n, k, dtype, fill, seed } = self.problem;
        line("problem", format!("C {m}×{n} = A {m}×{k} · B {k}×{n}, {dtype}, {fill}, seed {seed}"));
        line(
            "kernel",
            format!("{} (sha256 {}…)", self.kernel.origin, &self.kernel.hash[..12.min(self.kernel.hash.len())]),
        );
        if let Some(launch) = &self.launch {
            line("launch", launch.words());
        }
        if let Some(occupancy) = &self.occupancy {
            line("occupancy", occupancy.words());
        }
        let verification = &self.verification;
        if verification.ok {
            row(&mut text, GOOD, "verified", &verified(verification));
        } else {
            row(&mut text, BAD, "WRONG", verification.diagnosis.as_deref().unwrap_or_default());
            let mut line = |name: &str, value: String| row(&mut text, Style::new(), name, &value);
            for mismatch in &verification.mismatches {
                let got = match (mismatch.unwritten, mismatch.got) {
                    (true, _) => "never written".to_owned(),
                    (false, Some(got)) => got.to_string(),
                    (false, None) => "NaN or infinite".to_owned(),
                };
                line("", format!("C[{}][{}] is {got}, expected {}", mismatch.row, mismatch.col, mismatch.expected));
            }
            if let Some(map) = &verification.map {
                let _ = writeln!(text, "{map}");
            }
        }
        let mut line = |name: &str, value: String| row(&mut text, Style::new(), name, &value);
        match (&self.timing, self.device.kind) {
            (Some(timing), kind) => {
                let spread = timing.kernel_ms;
                let samples = timing.samples;
                let s = if samples == 1 { "" } else { "s" };
                let of = match timing.products_per_sample {
                    0 | 1 => String::new(),
                    products => format!(" of {products} products each"),
                };
                let l2 = timing.l2.map_or_else(String::new, |l2| format!("; {}", l2.words()));
                line(
                    "time",
                    format!(
                        "{} ({} to {}, {samples} sample{s}{of}{l2})",
                        ms(spread.median),
                        ms(spread.min),
                        ms(spread.max)
                    ),
                );
                if kind == Kind::Cuda {
                    line(
                        "",
                        format!(
                            "{} with launch and wait, {} with the copies of A, B and C",
                            ms(timing.launch_ms),
                            ms(timing.end_to_end_ms)
                        ),
                    );
                }
                if let Some(first) = timing.first_launch_ms {
                    line(
                        "",
                        format!(
                            "{} for the very first launch, which loads the kernel and counts nowhere else",
                            ms(first)
                        ),
                    );
                }
                let peak = timing
                    .peak_share
                    .map_or_else(String::new, |share| format!(", {:.1} % of the GPU's FP32 peak", share * 100.0));
                line("speed", format!("{:.1} GFLOP/s{peak}", timing.gflops));
            }
            (None, Kind::Sim) if verification.ok => {
                line("time", "none: the simulator shows what a kernel does, not how fast a GPU would do it".to_owned());
            }
            (None, _) => {}
        }
        if let Some(baseline) = &self.baseline {
            line("cuBLAS", baseline.words());
        }
        match self.hazards.as_deref() {
            Some([]) => {
                let none = "none: no race, no access out of bounds, no missing wait or barrier";
                row(&mut text, Style::new(), "hazards", none);
            }
            Some(hazards) => {
                row(&mut text, BAD, "HAZARDS", &hazards.len().to_string());
                for hazard in hazards {
                    text.push('\n');
                    text += &diagnostic::render(&hazard.diagnostic);
                }
            }
            None => {}
        }
        for thread in self.trace.iter().flatten() {
            let _ = write!(text, "\n{}", thread.text());
        }
        if let (Some(counters), Some(detail)) = (&self.counters, detail) {
            let _ = write!(text, "\n{}", counters.text());
            if detail == CounterDetail::Lines {
                let _ = write!(text, "\n{}", counters.line_table());
            }
        }
        let variant = self.variant.as_ref().map_or_else(String::new, |variant| format!(", variant {variant}"));
        format!("{}{variant}: {}\n{text}", self.step, self.title)
    }
}

/// The colour of what is as it should be.
const GOOD: Style = AnsiColor::Green.on_default().bold();
/// The colour of what is not.
const BAD: Style = AnsiColor::Red.on_default().bold();

/// A row of the table: a name, and what there is to say of it.
fn row(text: &mut String, style: Style, name: &str, value: &str) {
    // The width is that of the name alone: escape sequences have none.
    let space = " ".repeat(11_usize.saturating_sub(name.len()));
    let _ = writeln!(text, "  {style}{name}{style:#}{space}{value}");
}

impl LaunchReport {
    /// The first launch of a plan.
    pub fn of(plan: &Plan) -> Option<Self> {
        plan.launches.first().map(|launch| Self {
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            launches: plan.launches.len(),
        })
    }

    fn words(&self) -> String {
        let [x, y, z] = self.grid;
        let [block_x, block_y, block_z] = self.block;
        let depth = |z: u32| if z > 1 { format!("×{z}") } else { String::new() };
        let shared = if self.shared_bytes > 0 {
            format!(", {} bytes of dynamic shared memory", self.shared_bytes)
        } else {
            String::new()
        };
        let more = if self.launches > 1 { format!(", first of {} launches", self.launches) } else { String::new() };
        format!("{x}×{y}{} blocks of {block_x}×{block_y}{} threads{shared}{more}", depth(z), depth(block_z))
    }
}

fn verified(verification: &Verification) -> String {
    let how = verification.method.words();
    match (verification.max_error, verification.worst_bound_share) {
        (Some(0.0), _) => how.to_owned(),
        (Some(error), Some(share)) => {
            format!("{how}: largest error {error:.2e}, at most {:.2} % of its bound", share * 100.0)
        }
        _ => how.to_owned(),
    }
}
