//! Parts that show products on several GPUs: those that `step06_prefetch/beyond/several/record.sh` has recorded, and tables of their
//! times.

use std::path::Path;

use anyhow::{Context, Result, bail};
use common::basics::files::{below, read};
use common::basics::units::{grouped, ms};
use common::basics::{table, workspace};

use super::run::{Outcome, gb};

/// What was measured on one machine.
struct Records {
    /// Name of its folder in `docs/results/several`.
    machine: String,
    outcomes: Vec<Outcome>,
}

/// All records, by machine; those with fewer GPUs first.
fn recorded() -> Result<Vec<Records>> {
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
fn ways_to_add() -> Result<[Vec<Outcome>; 2]> {
    let of = |name| outcomes(&workspace::root().join("docs/results/several").join(name));
    Ok([of("plus-equals.jsonl")?, of("atomic.jsonl")?])
}

/// The edge of a product that is a cube.
fn edge(outcome: &Outcome) -> Option<u64> {
    let [m, n, k] = outcome.size;
    (m == n && n == k).then_some(m)
}

/// Edge of the first problem of those that grow with the number of GPUs.
const FIRST: u64 = 16_384;

/// Whether a product is that of [`FIRST`] grown with the memory of its GPUs.
fn is_grown(outcome: &Outcome) -> bool {
    let grown = (FIRST as f64 * (outcome.gpus as f64).sqrt()) as u64;
    edge(outcome).is_some_and(|edge| edge.abs_diff(grown) <= 128)
}

impl Records {
    /// Products of one GPU, and those that were measured with overlap and without; each size, number of GPUs and overlap once.
    fn usual(&self) -> Vec<&Outcome> {
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
    fn alone(&self, size: [u64; 3]) -> Option<f64> {
        let alone = self.outcomes.iter().filter(|outcome| outcome.gpus == 1 && outcome.size == size);
        let speeds: Vec<f64> = alone.filter_map(Outcome::gflops).collect();
        (!speeds.is_empty()).then(|| speeds.iter().sum::<f64>() / speeds.len() as f64)
    }

    /// The speed of a product over that of as many GPUs that each work alone.
    fn share(&self, outcome: &Outcome) -> Option<f64> {
        Some(outcome.gflops()? / outcome.gpus as f64 / self.alone(outcome.size)?)
    }

    /// Where the numbers are from.
    fn provenance(&self) -> String {
        let Some(first) = self.outcomes.first() else { return String::new() };
        let day = first.date.split('T').next().unwrap_or_default();
        let driver = first.driver.as_ref().map_or_else(String::new, |driver| format!(", driver {driver}"));
        let link = self.outcomes.iter().find(|outcome| outcome.gpus > 1).map_or("", |outcome| outcome.link.as_str());
        let hash: String = first.kernel.1.chars().take(10).collect();
        format!("{} ({}){driver}, {link}, {} {hash}, {day}", first.device, self.machine, first.kernel.0)
    }
}

/// What is said where a record is missing.
const UNMEASURED: &str =
    "docs/results/several has no such products; step06_prefetch/beyond/several/record.sh measures them";

/// One of the tables, by its name.
pub fn table(words: &[&str]) -> Result<String> {
    let all = recorded()?;
    match words {
        ["strong"] => Ok(strong(&all)),
        ["weak"] => weak(&all),
        ["panels"] => Ok(panels(&all)),
        ["adding"] => Ok(adding(ways_to_add()?)),
        ["large"] => Ok(large(&all)),
        _ => bail!("a part about several GPUs is strong, weak, panels, adding or large"),
    }
}

/// A product on a machine.
type Row<'a> = (&'a Records, &'a Outcome);
/// A column: its head, and the cell of a row.
type Column<'a> = (&'a str, &'a dyn Fn(&Row) -> String);

const SIZE: Column = ("M×N×K", &|(_, outcome)| format!("{}³", outcome.size[0]));
const GPUS: Column = ("GPUs", &|(_, outcome)| outcome.gpus.to_string());
const MEMORY: Column = ("memory of a GPU", &|(_, outcome)| gb(outcome.bytes_per_gpu));
const TIME: Column = ("time", &|(_, outcome)| time(outcome));
const TFLOPS: Column = ("TFLOP/s", &|(_, outcome)| {
    outcome.gflops().map_or_else(|| "–".to_owned(), |gflops| format!("{:.1}", gflops / 1e3))
});
const SHARE: Column = ("of the sum alone", &|(records, outcome)| share(records.share(outcome)));

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{share:.3}"))
}

fn time(outcome: &Outcome) -> String {
    outcome.median_ms().map_or_else(|| "–".to_owned(), ms)
}

/// The rows in these columns, and where they are from.
fn shown(rows: &[Row], columns: &[Column], all: &[Records]) -> String {
    let cells: Vec<Vec<String>> = rows.iter().map(|row| columns.iter().map(|(_, cell)| cell(row)).collect()).collect();
    let head: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    with_sources(&table::markdown(&head, &cells), all)
}

fn with_sources(table: &str, all: &[Records]) -> String {
    let sources: Vec<String> = all.iter().map(Records::provenance).collect();
    format!("{table}\n*{}.*\n", sources.join("; "))
}

/// Products with overlap and without, with the machine of each.
fn usual(all: &[Records]) -> Vec<Row<'_>> {
    all.iter().flat_map(|records| records.usual().into_iter().map(move |outcome| (records, outcome))).collect()
}

/// Timed products on more than one GPU, with the machine of each.
fn timed(all: &[Records]) -> Vec<Row<'_>> {
    let rows = all.iter().flat_map(|records| records.outcomes.iter().map(move |outcome| (records, outcome)));
    rows.filter(|(_, outcome)| outcome.gpus > 1 && !outcome.ms.is_empty()).collect()
}

/// One problem on more and more GPUs.
fn strong(all: &[Records]) -> String {
    let mut rows = usual(all);
    rows.retain(|(records, outcome)| records.alone(outcome.size).is_some());
    rows.sort_by_key(|(records, o)| (o.size, records.machine.clone(), o.gpus, !o.overlap));
    let gpus: Column = ("GPUs", &|(_, o)| format!("{}, {}×{}", o.gpus, o.grid[0], o.grid[1]));
    let overlap: Column = ("overlap", &|(_, outcome)| match (outcome.gpus, outcome.overlap) {
        (1, _) => "–".to_owned(),
        (_, true) => "on".to_owned(),
        (_, false) => "off".to_owned(),
    });
    shown(&rows, &[SIZE, gpus, overlap, TIME, TFLOPS, SHARE], all)
}

/// Problems that grow with the memory of all GPUs: 16384 on one.
fn weak(all: &[Records]) -> Result<String> {
    let mut rows = usual(all);
    rows.retain(|(_, outcome)| is_grown(outcome) && outcome.overlap);
    rows.sort_by_key(|(records, o)| (o.gpus, records.machine.clone()));
    rows.dedup_by_key(|(_, outcome)| outcome.gpus);
    let alone = rows.first().filter(|(_, o)| o.gpus == 1).and_then(|(_, o)| o.gflops()).context(UNMEASURED)?;
    let each: Column = ("each GPU's speed over one alone", &|(_, outcome)| {
        share(outcome.gflops().map(|gflops| gflops / outcome.gpus as f64 / alone))
    });
    Ok(shown(&rows, &[SIZE, GPUS, MEMORY, TIME, TFLOPS, each], all))
}

/// Panels of several depths.
fn panels(all: &[Records]) -> String {
    let mut rows = timed(all);
    rows.retain(|(records, o)| o.overlap && records.alone(o.size).is_some());
    rows.sort_by_key(|(records, o)| (o.size, o.gpus, records.machine.clone(), o.panel));
    rows.dedup_by_key(|(records, o)| (o.size, o.gpus, records.machine.clone(), o.panel));
    // Only where there is a choice.
    let same = |(of, o): &Row, (on, p): &Row| of.machine == on.machine && o.size == p.size && o.gpus == p.gpus;
    let has_choice = |row: &&Row| rows.iter().filter(|other| same(row, other)).count() > 1;
    let choice: Vec<Row> = rows.iter().filter(has_choice).copied().collect();
    let depth: Column = ("depth of a panel", &|(_, outcome)| grouped(outcome.panel));
    let count: Column = ("panels", &|(_, outcome)| outcome.panels.to_string());
    shown(&choice, &[SIZE, GPUS, depth, count, TIME, SHARE], all)
}

/// Panels whose product is stored, added with `+=`, or added atomically.
fn adding([plus_equals, atomic]: [Vec<Outcome>; 2]) -> String {
    let named = plus_equals.iter().map(|o| ("`+=`", o)).chain(atomic.iter().map(|o| ("`atomicAdd`", o)));
    let rows: Vec<Vec<String>> = named
        .map(|(how, outcome)| {
            let took = |panels: fn(usize) -> bool| {
                let spans = outcome.timeline.iter().flatten();
                let spans = spans.filter(|span| span.multiplied && panels(span.panel));
                let mut times: Vec<f64> = spans.map(|span| span.to_ms - span.from_ms).collect();
                times.sort_by(f64::total_cmp);
                times.get(times.len() / 2).copied().map_or_else(|| "–".to_owned(), ms)
            };
            vec![how.to_owned(), took(|panel| panel == 0), took(|panel| panel > 0), time(outcome)]
        })
        .collect();
    let head = ["how it adds", "first panel, stored", "another, added", "whole product"];
    let machines = [plus_equals, atomic].map(|outcomes| Records { machine: "two GPUs".into(), outcomes });
    with_sources(&table::markdown(&head, &rows), &machines)
}

/// Products that no GPU alone could hold.
fn large(all: &[Records]) -> String {
    let mut rows = timed(all);
    rows.retain(|(records, o)| records.alone(o.size).is_none() && o.size[0] > 65_536);
    let matrices: Column = ("A, B and C", &|(_, outcome)| {
        let [m, n, k] = outcome.size;
        gb(4 * (m * k + k * n + m * n))
    });
    let checks: Column = ("both checks", &|(_, o)| format!("{:.1} s", o.twin.seconds + o.verdict.seconds));
    shown(&rows, &[SIZE, GPUS, matrices, MEMORY, TIME, TFLOPS, checks], all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_rows_and_says_where_it_is_from() {
        for name in ["strong", "weak", "panels", "adding", "large"] {
            let text = table(&[name]).unwrap();
            assert!(text.lines().count() > 4 && text.contains("NVIDIA H200 ("), "{name}: {text}");
        }
        assert!(weak(&[]).is_err() && table(&["cake"]).unwrap_err().to_string().contains("strong, weak"));
    }
}
