//! The outcome of a run, as a record and as text for people.

use common::basics::{grouped, ms};
use common::measure::Spread;
use serde::{Deserialize, Serialize};

use super::{Span, Verdict};

/// How long a product took, and whether it is right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// When it was computed, in UTC.
    pub date: String,
    pub driver: Option<String>,
    /// M, N, K.
    pub size: [u64; 3],
    pub seed: u64,
    pub gpus: usize,
    /// P and Q, the rows and columns of the grid of GPUs.
    pub grid: [usize; 2],
    /// Steps of K in a panel.
    pub panel: u64,
    /// How many panels each operand has.
    pub panels: usize,
    /// Whether the next panel travels while one is multiplied.
    pub overlap: bool,
    /// Bytes of the largest share, on one GPU.
    pub bytes_per_gpu: u64,
    pub device: String,
    /// How the panels were moved.
    pub link: String,
    /// The kernel's file and hash.
    pub kernel: (String, String),
    /// The check of the integer twin.
    pub twin: Verdict,
    /// The check of the problem itself.
    pub verdict: Verdict,
    /// Milliseconds of each timed product, from its start to its end on the last GPU; empty on the simulator.
    pub ms: Vec<f64>,
    /// What each rank did when, in the last timed product.
    pub timeline: Vec<Vec<Span>>,
}

impl Outcome {
    pub fn right(&self) -> bool {
        self.twin.wrong.is_none() && self.verdict.wrong.is_none()
    }

    /// The median of the times, in milliseconds.
    pub fn median_ms(&self) -> Option<f64> {
        Spread::of(&self.ms).map(|spread| spread.median)
    }

    /// 10⁹ operations per second of all GPUs together, by the median time.
    pub fn gflops(&self) -> Option<f64> {
        let [m, n, k] = self.size.map(|size| size as f64);
        self.median_ms().map(|ms| 2.0 * m * n * k / ms / 1e6)
    }

    pub fn text(&self) -> String {
        let Self { gpus, size: [m, n, k], grid: [rows, cols], panels, device, link, twin, verdict, .. } = self;
        let overlap = match (*gpus, self.overlap) {
            (1, _) => String::new(),
            (_, true) => ", which travel while others are multiplied".into(),
            (_, false) => ", which travel while nothing is multiplied".into(),
        };
        let (depth, memory) = (grouped(self.panel), gb(self.bytes_per_gpu));
        let mut text = format!(
            "C (M×N = {m}×{n}, K = {k}, f32) on {gpus} × {device}, a grid of {rows}×{cols}\n  \
             panels    {panels} of {depth} steps of K{overlap}; {link}\n  memory    {memory} on each GPU at most\n"
        );
        let (rows, samples, worst) = (grouped(twin.rows), verdict.sampled_rows, verdict.worst_bound_share);
        text += &match twin.wrong.as_ref().or(verdict.wrong.as_ref()) {
            Some(wrong) => format!("  WRONG     {wrong}\n"),
            None => format!(
                "  verified  an integer twin by Freivalds' check, all {rows} rows; {samples} sampled rows, at most {worst:.2} of the \
                 error bound\n"
            ),
        };
        if let (Some(median), Some(gflops)) = (self.median_ms().map(ms), self.gflops()) {
            let (times, all, each) = (self.ms.len(), gflops / 1e3, gflops / 1e3 / *gpus as f64);
            text += &format!("  time      {median} (median of {times}), {all:.1} TFLOP/s, {each:.1} on each GPU\n");
        }
        text
    }
}

/// Bytes in units of 10⁹, or as a plain number if they are few.
pub fn gb(bytes: u64) -> String {
    if bytes < 100_000_000 { format!("{} bytes", grouped(bytes)) } else { format!("{:.1} GB", bytes as f64 / 1e9) }
}
