//! One rank's work: checks that the problem fits, draws, multiplies, verifies, and only then times.

use anyhow::{Result, bail};
use common::basics::nvidia_smi;
use common::basics::units::grouped;
use common::device::Device;
use common::measure::provenance;
use common::measure::timing::Spread;
use common::{Dtype, Fill, Kind, Problem};
use serde::{Deserialize, Serialize};

use super::grid::Grid;
use super::kernels::Kernels;
use super::link::{Link, Span};
use super::multiply::{self, Bytes, Memory, Share};
use super::plan::{Panels, usual_depth};
use super::post::Member;
use super::verify::{self, Verdict};

/// How long products are computed before any is timed, in milliseconds. A GPU that comes from rest first runs fast, then slows
/// down to stay within its power, and then finds its pace.
const WARM_MS: f64 = 3000.0;
/// How long they are timed at least. The pace goes up and down within a second, on each GPU at another time.
const TIMED_MS: f64 = 3000.0;
/// But no more often than this, unless more samples are asked for.
const TIMES: usize = 100;
/// Bytes of a GPU's memory that are left to the driver, NCCL and the check.
const MARGIN: u64 = 1 << 30;

/// One product that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// M, N, K.
    pub size: [u64; 3],
    /// Seed of the elements.
    pub seed: u64,
    /// Steps of K in a panel, if it is asked for.
    pub panel: Option<u64>,
    /// Whether the next panel travels while one is multiplied.
    pub overlap: bool,
    /// How often to time the product after the one that is verified.
    pub samples: usize,
}

/// What a product took and whether it is right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// When, in UTC.
    pub date: String,
    /// The GPU driver's version.
    pub driver: Option<String>,
    /// M, N, K.
    pub size: [u64; 3],
    /// Seed of the elements.
    pub seed: u64,
    /// GPUs.
    pub gpus: usize,
    /// P and Q.
    pub grid: [usize; 2],
    /// Steps of K in a panel.
    pub panel: u64,
    /// Panels of each operand.
    pub panels: usize,
    /// Whether the next panel travels while one is multiplied.
    pub overlap: bool,
    /// Bytes of the largest share, on one GPU.
    pub bytes_per_gpu: u64,
    /// Name of the devices.
    pub device: String,
    /// What moved the panels.
    pub link: String,
    /// The kernel's file and hash.
    pub kernel: (String, String),
    /// The check of the integer twin.
    pub twin: Verdict,
    /// The check of the problem itself.
    pub verdict: Verdict,
    /// Milliseconds of each timed product, from its begin to the end on the last GPU; empty on the simulator.
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

    /// 10⁹ operations a second of all GPUs together, by the median time.
    pub fn gflops(&self) -> Option<f64> {
        let [m, n, k] = self.size.map(|size| size as f64);
        self.median_ms().map(|ms| 2.0 * m * n * k / ms / 1e6)
    }
}

/// Computes one product together with the other ranks; all return the same.
pub fn run(
    device: &mut dyn Device,
    member: &mut Member,
    link: &mut dyn Link,
    loaded: &mut Option<Kernels>,
    grid: Grid,
    request: &Request,
) -> Result<Outcome> {
    let [m, n, k] = request.size;
    let problem = Problem { m, n, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: request.seed };
    let depth = request.panel.unwrap_or_else(|| usual_depth(k, grid.gpus())).min(k);
    let share = Share::new(&problem, Panels::new(grid, k, depth), member.rank)?;
    let bytes_per_gpu = fits(device, member, &share)?;
    let kernels = Kernels::of(loaded, device, share.m(), share.n())?;
    let memory = Memory::allocate(device, &share)?;

    let twin_share = Share::new(&Problem { fill: Fill::Integers, ..problem }, share.panels.clone(), member.rank)?;
    multiply::draw(device, kernels, &twin_share, &memory)?;
    member.barrier()?;
    multiply::multiply(device, link, kernels, &twin_share, &memory, request.overlap)?;
    link.end(device)?;
    let twin = verify::freivalds(device, member, kernels, &twin_share, &memory)?;

    multiply::draw(device, kernels, &share, &memory)?;
    member.barrier()?;
    multiply::multiply(device, link, kernels, &share, &memory, request.overlap)?;
    let mut ended = link.end(device)?;
    let verdict = verify::sampled(device, member, kernels, &share, &memory)?;
    let mut ms = Vec::new();
    let right = twin.wrong.is_none() && verdict.wrong.is_none();
    // A product that is wrong is never timed; and what takes minutes is not done again only to be timed.
    let long = ended.as_ref().is_some_and(|(ms, _)| *ms > 10_000.0);
    let samples = if right && !long && ended.is_some() { request.samples } else { 0 };
    let mut spent_ms = 0.0;
    let enough = |timed: usize, spent_ms| timed >= samples && (timed >= TIMES || spent_ms >= WARM_MS + TIMED_MS);
    while samples > 0 && !enough(ms.len(), spent_ms) {
        member.barrier()?;
        multiply::multiply(device, link, kernels, &share, &memory, request.overlap)?;
        ended = link.end(device)?;
        let took = slowest(member, ended.as_ref().map_or(0.0, |(ms, _)| *ms))?;
        if spent_ms >= WARM_MS {
            ms.push(took);
        }
        spent_ms += took.max(1.0); // a barrier takes time, too
    }
    if right && long {
        ms.push(slowest(member, ended.as_ref().map_or(0.0, |(ms, _)| *ms))?);
    }
    let spans = ended.map(|(_, spans)| spans).unwrap_or_default();
    let all = member.exchange(&serde_json::to_vec(&spans)?)?;
    let timeline = all.iter().map(|spans| Ok(serde_json::from_slice(spans)?)).collect::<Result<_>>()?;
    memory.release(device)?;
    Ok(Outcome {
        date: provenance::now(),
        driver: nvidia_smi::driver(),
        size: request.size,
        seed: request.seed,
        gpus: grid.gpus(),
        grid: [grid.rows, grid.cols],
        panel: depth,
        panels: share.panels.panels.len(),
        overlap: request.overlap,
        bytes_per_gpu,
        device: device.info().name.clone(),
        link: link.name(),
        kernel: kernels.source.clone(),
        twin,
        verdict,
        ms,
        timeline,
    })
}

/// The largest of all ranks' milliseconds.
fn slowest(member: &mut Member, ms: f64) -> Result<f64> {
    Ok(member.exchange(&[ms])?.concat().into_iter().fold(0.0, f64::max))
}

/// Bytes of the largest share, if each fits its GPU. The error names every GPU where it does not, on all ranks.
fn fits(device: &dyn Device, member: &mut Member, share: &Share) -> Result<u64> {
    let bytes = share.bytes();
    // Simulated GPUs share the memory of the host; at worst all of them are on this one.
    let sharing = if device.info().kind == Kind::Sim { member.world as u64 } else { 1 };
    let all = member.exchange(&[bytes.total(), device.free_bytes()? / sharing])?;
    let short: Vec<String> = all
        .iter()
        .enumerate()
        .filter(|(_, all)| all[0].saturating_add(MARGIN.min(all[1] / 8)) > all[1])
        .map(|(rank, all)| format!("rank {rank} needs {} and has {} free", gb(all[0]), gb(all[1])))
        .collect();
    if let [first, others @ ..] = short.as_slice() {
        let Bytes { a, b, c, buffers } = bytes;
        let more = if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) };
        bail!(
            "the problem does not fit: {first}{more} (a share like this rank's is {} of C, {} of A, {} of B and {} of panels on their way); use more GPUs or a smaller --size",
            gb(c),
            gb(a),
            gb(b),
            gb(2 * (buffers[0] + buffers[1]))
        );
    }
    Ok(all.iter().map(|all| all[0]).max().unwrap_or(0))
}

/// Bytes in 10⁹, or as they are if they are few.
pub fn gb(bytes: u64) -> String {
    if bytes < 100_000_000 { format!("{} bytes", grouped(bytes)) } else { format!("{:.1} GB", bytes as f64 / 1e9) }
}
