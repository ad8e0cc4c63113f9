//! Records of products on several GPUs: those that `step06_prefetch/beyond/several/record.sh` wrote, and what the model takes from them.

use std::path::Path;

use anyhow::{Context, Result};
use common::basics::files::{below, read};
use common::basics::workspace;
use common::measure::Gpu;
use common::measure::timing::Spread;

use super::grid::{Grid, Line};
use super::model::Machine;
use super::plan::Panels;
use super::run::Outcome;

/// What was measured on one machine.
pub struct Records {
    /// Name of its folder in `docs/results/several`.
    pub machine: String,
    /// Each product.
    pub outcomes: Vec<Outcome>,
}

/// All records, by machine; those with fewer GPUs first.
pub fn all() -> Result<Vec<Records>> {
    let folder = workspace::root().join("docs/results/several");
    let mut all: Vec<Records> = Vec::new();
    let mut files = below(&folder, "jsonl");
    files.retain(|path| path.parent() != Some(&folder));
    files.sort();
    for path in files {
        let machine = path.parent().and_then(|folder| folder.file_name()).unwrap_or_default().to_string_lossy();
        let outcomes = outcomes(&path)?;
        match all.iter_mut().find(|records| records.machine == machine) {
            Some(records) => records.outcomes.extend(outcomes),
            None => all.push(Records { machine: machine.into_owned(), outcomes }),
        }
    }
    Ok(all)
}

fn outcomes(path: &Path) -> Result<Vec<Outcome>> {
    let parse = |line: &str| serde_json::from_str(line).with_context(|| workspace::display(path));
    read(path)?.lines().map(parse).collect()
}

/// One product with two kernels: one adds to C with `+=`, the other atomically.
pub fn ways_to_add() -> Result<[Vec<Outcome>; 2]> {
    let of = |name| outcomes(&workspace::root().join("docs/results/several").join(name));
    Ok([of("plus-equals.jsonl")?, of("atomic.jsonl")?])
}

/// The edge of a product that is a cube.
pub fn edge(outcome: &Outcome) -> Option<u64> {
    let [m, n, k] = outcome.size;
    (m == n && n == k).then_some(m)
}

/// The grid of a product.
pub fn grid(outcome: &Outcome) -> Grid {
    Grid { rows: outcome.grid[0], cols: outcome.grid[1] }
}

/// Edge of the first problem of those that grow with the number of GPUs.
pub const FIRST: u64 = 16_384;

/// Whether a product is that of [`FIRST`] grown with the memory of its GPUs.
pub fn is_grown(outcome: &Outcome) -> bool {
    let grown = (FIRST as f64 * (outcome.gpus as f64).sqrt()) as u64;
    edge(outcome).is_some_and(|edge| edge.abs_diff(grown) <= 128)
}

impl Records {
    /// Products of one GPU, and those that were measured with overlap and without; each size, number of GPUs and overlap once.
    pub fn usual(&self) -> Vec<&Outcome> {
        let is_usual = |outcome: &&Outcome| {
            let same = |o: &Outcome| (o.size, o.gpus, o.panel) == (outcome.size, outcome.gpus, outcome.panel);
            let is_other = |o: &Outcome| same(o) && o.overlap != outcome.overlap;
            !outcome.ms.is_empty() && (outcome.gpus == 1 || self.outcomes.iter().any(is_other))
        };
        let mut found: Vec<&Outcome> = Vec::new();
        for outcome in self.outcomes.iter().filter(is_usual) {
            let key = |o: &Outcome| (o.size, o.gpus, o.overlap);
            if !found.iter().any(|known| key(known) == key(outcome)) {
                found.push(outcome);
            }
        }
        found
    }

    /// 10⁹ operations a second of one GPU alone at this size: the mean of those that were measured.
    pub fn alone(&self, size: [u64; 3]) -> Option<f64> {
        let alone = self.outcomes.iter().filter(|outcome| outcome.gpus == 1 && outcome.size == size);
        let speeds: Vec<f64> = alone.filter_map(Outcome::gflops).collect();
        (!speeds.is_empty()).then(|| speeds.iter().sum::<f64>() / speeds.len() as f64)
    }

    /// The speed of a product over that of as many GPUs that each work alone.
    pub fn share(&self, outcome: &Outcome) -> Option<f64> {
        Some(outcome.gflops()? / outcome.gpus as f64 / self.alone(outcome.size)?)
    }

    /// Where the numbers are from.
    pub fn provenance(&self) -> String {
        let Some(first) = self.outcomes.first() else { return String::new() };
        let day = first.date.split('T').next().unwrap_or_default();
        let driver = first.driver.as_ref().map_or_else(String::new, |driver| format!(", driver {driver}"));
        let link = self.outcomes.iter().find(|outcome| outcome.gpus > 1).map_or("", |outcome| outcome.link.as_str());
        let hash: String = first.kernel.1.chars().take(10).collect();
        format!("{} ({}){driver}, {link}, {} {hash}, {day}", first.device, self.machine, first.kernel.0)
    }
}

/// Rate of a GPU's network adapter in 10⁹ bytes a second: 400 Gbit/s, as in NVIDIA's DGX H200 ("DGX H100/H200 User Guide").
const NETWORK_GB_PER_S: f64 = 50.0;
/// GPUs of one such machine.
const GPUS_PER_MACHINE: usize = 8;

/// The model's figures, from the times of panels in the runs without overlap; none if there is too little to take them from.
pub fn machine(all: &[Records]) -> Option<Machine> {
    let outcomes = || all.iter().flat_map(|records| &records.outcomes);
    let alone = outcomes().filter(|outcome| outcome.gpus == 1 && edge(outcome).is_some()).min_by_key(|o| o.size)?;
    let sms = alone.device.trim_start_matches("NVIDIA ").parse::<Gpu>().ok()?.sms.into();
    let unit = Machine {
        sms,
        gflops_per_sm: 1.0,
        link_gb_per_s: 1.0,
        delay_us: 0.0,
        add_gb_per_s: f64::INFINITY,
        gpus_per_machine: GPUS_PER_MACHINE,
        network_gb_per_s: NETWORK_GB_PER_S,
    };
    let n = edge(alone)?;
    let mut machine = Machine { gflops_per_sm: unit.multiply_ms(n, n, n) / alone.median_ms()?, ..unit };
    let mut adds = Vec::new();
    let mut journeys = Vec::new();
    // The model knows panels as they are cut now.
    let cut = |o: &&Outcome| Panels::new(grid(o), o.size[2], o.panel).panels.len() == o.panels;
    for outcome in outcomes().filter(|outcome| outcome.gpus > 1 && !outcome.overlap).filter(cut) {
        let [m, n, k] = outcome.size;
        let grid = grid(outcome);
        let panels = Panels::new(grid, k, outcome.panel);
        let [rows, cols] = [m.div_ceil(grid.rows as u64), n.div_ceil(grid.cols as u64)];
        for (p, panel) in panels.panels.iter().enumerate().skip(1) {
            // What all ranks took; the last one to come to a journey waits for nobody.
            let took = |multiplied| -> Vec<f64> {
                let spans = outcome.timeline.iter().flatten();
                let these = spans.filter(|span| span.panel == p && span.multiplied == multiplied);
                these.map(|span| span.to_ms - span.from_ms).collect()
            };
            let depth = panel.depth();
            let bytes = (rows * cols * 4) as f64;
            adds.extend(took(true).iter().map(|ms| (ms - machine.multiply_ms(rows, cols, depth)) * 1e6 / bytes));
            let lines = [(Line::Row, grid.cols, rows), (Line::Column, grid.rows, cols)];
            let lines = lines.iter().filter(|(_, members, _)| *members > 1);
            let (bytes, steps) = lines
                .fold((0, 0), |(bytes, steps), (_, members, side)| (bytes + side * depth * 4, steps + members - 1));
            let least = took(false).into_iter().fold(f64::INFINITY, f64::min);
            journeys.push((bytes as f64 / 1e6, steps as f64, least));
        }
    }
    // A panel that is added takes longer, by so many milliseconds for 10⁶ bytes of C; never less.
    machine.add_gb_per_s = 1.0 / Spread::of(&adds)?.median.max(1e-6);
    let (ms_per_mb, delay_ms) = least_squares(&journeys)?;
    machine.link_gb_per_s = 1.0 / ms_per_mb;
    machine.delay_us = delay_ms * 1e3;
    Some(machine)
}

/// The a and b for which a·x + b·y is closest to z; b is 0 if it would be less.
fn least_squares(points: &[(f64, f64, f64)]) -> Option<(f64, f64)> {
    let sum = |of: fn(&(f64, f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let [xx, xy, yy] = [sum(|p| p.0 * p.0), sum(|p| p.0 * p.1), sum(|p| p.1 * p.1)];
    let [xz, yz] = [sum(|p| p.0 * p.2), sum(|p| p.1 * p.2)];
    let determinant = xx * yy - xy * xy;
    let b = if determinant > 1e-9 * xx * yy { (xx * yz - xy * xz) / determinant } else { 0.0 };
    let b = b.max(0.0);
    Some(((xz - b * xy) / xx, b)).filter(|(a, _)| a.is_finite() && *a > 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::link::Span;
    use super::super::plan::usual_depth;
    use super::super::verify::Verdict;
    use super::*;

    /// A product whose times are those of a machine.
    pub fn outcome(machine: &Machine, gpus: usize, n: u64, overlap: bool) -> Outcome {
        let grid = Grid::of(gpus);
        let panel = usual_depth(n, gpus);
        let [rows, cols] = [n / grid.rows as u64, n / grid.cols as u64];
        let mut spans = Vec::new();
        let panels = Panels::new(grid, n, panel).panels;
        for (p, panel) in panels.iter().enumerate() {
            let travel = machine.travel_ms(grid, Line::Row, rows * panel.depth() * 4)
                + machine.travel_ms(grid, Line::Column, cols * panel.depth() * 4);
            spans.push(Span { panel: p, multiplied: false, from_ms: 1.0, to_ms: 1.0 + travel });
            let add = if p == 0 { 0.0 } else { machine.add_ms(rows, cols) };
            let multiply = machine.multiply_ms(rows, cols, panel.depth()) + add;
            spans.push(Span { panel: p, multiplied: true, from_ms: 2.0, to_ms: 2.0 + multiply });
        }
        Outcome {
            date: "2026-11-22T11:00:00Z".into(),
            driver: Some("580".into()),
            size: [n; 3],
            seed: 1,
            gpus,
            grid: [grid.rows, grid.cols],
            panel,
            panels: panels.len(),
            overlap,
            bytes_per_gpu: 1,
            device: "NVIDIA H200".into(),
            link: "NCCL 2.28.0".into(),
            kernel: ("step06_prefetch/kernel.cu".into(), "0123456789abcdef".into()),
            twin: Verdict::default(),
            verdict: Verdict::default(),
            ms: vec![machine.product_ms(grid, n, None, overlap)],
            timeline: vec![spans; gpus],
        }
    }

    #[test]
    fn the_models_figures_are_found_again_in_times_that_follow_from_them() {
        let given = Machine {
            sms: 132,
            gflops_per_sm: 395.0,
            link_gb_per_s: 310.0,
            delay_us: 25.0,
            add_gb_per_s: 1900.0,
            gpus_per_machine: 8,
            network_gb_per_s: 50.0,
        };
        let mut outcomes = vec![outcome(&given, 1, 32_768, true)];
        for (gpus, n) in [(2, 16_384), (2, 32_768), (4, 16_384), (4, 32_768)] {
            outcomes.push(outcome(&given, gpus, n, false));
        }
        let records = [Records { machine: "x".into(), outcomes }];
        let found = machine(&records).unwrap();
        for (found, given) in [
            (found.gflops_per_sm, given.gflops_per_sm),
            (found.link_gb_per_s, given.link_gb_per_s),
            (found.delay_us, given.delay_us),
            (found.add_gb_per_s, given.add_gb_per_s),
        ] {
            assert!((found / given - 1.0).abs() < 1e-6, "{found} and {given}");
        }
        let outcome = &records[0].outcomes[4];
        let expected = given.strong(Grid::of(4), 32_768, false);
        assert!((records[0].share(outcome).unwrap() - expected).abs() < 1e-9);
        assert!(machine(&[]).is_none());
    }
}
