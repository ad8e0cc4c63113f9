//! Records of products on several GPUs: those that `step06_prefetch/beyond/several/record.sh` wrote, and how they compare.

use std::path::Path;

use anyhow::{Context, Result};
use common::basics::files::{below, read};
use common::basics::workspace;

use super::run::Outcome;

/// What was measured on one machine.
pub struct Records {
    /// Name of its folder in `docs/results/several`.
    pub machine: String,
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
