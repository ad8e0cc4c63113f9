//! Tables of the products on several GPUs that `step06_prefetch/beyond/several/record.sh` has recorded.

use std::ops::Deref;

use anyhow::{Context, Result, bail, ensure};
use common::basics::files::{below, read};
use common::basics::table::{self, or_dash};
use common::basics::{grouped, ms, workspace};

use super::{Outcome, gb};

/// A product, and where it was measured.
struct Row {
    /// The machine's folder in `docs/results/several`.
    machine: String,
    /// The record's name.
    file: String,
    outcome: Outcome,
    /// 10⁹ operations per second of a single GPU of the machine at this size: the mean over the GPUs that were measured.
    alone: Option<f64>,
    /// 10⁹ operations per second of the machine's first GPU alone at [`FIRST`].
    first_alone: Option<f64>,
}

/// All timed products, in order of their machines and files.
fn recorded() -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for path in below(&workspace::root().join("docs/results/several"), "jsonl") {
        let name = |path: Option<&std::ffi::OsStr>| path.unwrap_or_default().to_string_lossy().into_owned();
        for line in read(&path)?.lines() {
            let outcome = serde_json::from_str(line).with_context(|| workspace::display(&path))?;
            let machine = name(path.parent().and_then(|folder| folder.file_name()));
            rows.push(Row { machine, file: name(path.file_stem()), outcome, alone: None, first_alone: None });
        }
    }
    rows.retain(|row| !row.ms.is_empty());
    for at in 0..rows.len() {
        let speeds = |size: [u64; 3]| -> Vec<f64> {
            let same = |row: &&Row| row.machine == rows[at].machine && row.size == size && row.gpus == 1;
            rows.iter().filter(same).filter_map(|row| row.gflops()).collect()
        };
        let (alone, first) = (speeds(rows[at].size), speeds([FIRST; 3]).first().copied());
        rows[at].alone = (!alone.is_empty()).then(|| alone.iter().sum::<f64>() / alone.len() as f64);
        rows[at].first_alone = first;
    }
    Ok(rows)
}

/// Two files beside the machines' folders, which hold one product computed with two kernels.
const ADDING: [(&str, &str); 2] = [("plus-equals", "`+=`"), ("atomic", "`atomicAdd`")];

/// Edge of the smallest problem in the table of problems that grow with the number of GPUs.
const FIRST: u64 = 16_384;

impl Deref for Row {
    type Target = Outcome;

    fn deref(&self) -> &Outcome {
        &self.outcome
    }
}

impl Row {
    /// Whether the problem is that of [`FIRST`], grown with the memory of its GPUs.
    fn is_grown(&self) -> bool {
        let grown = (FIRST as f64 * (self.gpus as f64).sqrt()) as u64;
        self.size == [self.size[0]; 3] && self.size[0].abs_diff(grown) <= 128
    }

    /// Whether the product has the usual panels, which `record.sh` shows by the file's name.
    fn is_usual(&self) -> bool {
        self.file == "alone-0" || self.file.starts_with("gpus")
    }

    /// The speed of each GPU, divided by that of a GPU that works alone.
    fn of_alone(&self, alone: Option<f64>) -> String {
        let share = || Some(self.gflops()? / self.gpus as f64 / alone?);
        or_dash(share(), |share| format!("{share:.3}"))
    }

    /// The median time of the multiplications of the panels that `panels` selects.
    fn panels_took(&self, panels: fn(usize) -> bool) -> String {
        let spans = self.timeline.iter().flatten().filter(|span| span.multiplied && panels(span.panel));
        let mut times: Vec<f64> = spans.map(|span| span.to_ms - span.from_ms).collect();
        times.sort_by(f64::total_cmp);
        or_dash(times.get(times.len() / 2).copied(), ms)
    }
}

/// The device, driver, link, kernel and day of each machine's numbers.
fn sources(rows: &[&Row], all: &[Row]) -> String {
    let mut machines: Vec<&str> = rows.iter().map(|row| row.machine.as_str()).collect();
    machines.dedup();
    let source = |machine: &&str| {
        let mut of = all.iter().filter(|row| row.machine == *machine).map(|row| &row.outcome);
        let first = of.clone().next()?;
        let day = first.date.split('T').next().unwrap_or_default();
        let driver = first.driver.as_ref().map_or_else(String::new, |driver| format!(", driver {driver}"));
        let link = of.find(|outcome| outcome.gpus > 1).map_or("", |outcome| outcome.link.as_str());
        let hash: String = first.kernel.1.chars().take(10).collect();
        let machine = if *machine == "several" { "two GPUs" } else { machine };
        Some(format!("{} ({machine}){driver}, {link}, {} {hash}, {day}", first.device, first.kernel.0))
    };
    machines.iter().filter_map(source).collect::<Vec<_>>().join("; ") + "."
}

/// The first row of each key, in the order of the keys.
fn sorted<'a, K: Ord>(rows: impl Iterator<Item = &'a Row>, key: impl Fn(&Row) -> K) -> Vec<&'a Row> {
    let mut rows: Vec<&Row> = rows.collect();
    rows.sort_by_key(|row| key(row));
    rows.dedup_by_key(|row| key(row));
    rows
}

/// A column: its head, and the function that makes the cell of a row.
type Column = (&'static str, fn(&Row) -> String);

const SIZE: Column = ("M×N×K", |row| format!("{}³", row.size[0]));
const GPUS: Column = ("GPUs", |row| row.gpus.to_string());
const MEMORY: Column = ("memory of a GPU", |row| gb(row.bytes_per_gpu));
const TIME: Column = ("time", |row| or_dash(row.median_ms(), ms));
const TFLOPS: Column = ("TFLOP/s", |row| or_dash(row.gflops(), |gflops| format!("{:.1}", gflops / 1e3)));
const OF_ALONE: Column = ("of the sum alone", |row| row.of_alone(row.alone));

/// A table: its name, the function that selects its rows, and its columns.
type Table = (&'static str, fn(&[Row]) -> Vec<&Row>, &'static [Column]);

const TABLES: [Table; 5] = [
    (
        "strong",
        // One problem on more and more GPUs.
        |all| {
            let rows = all.iter().filter(|row| row.alone.is_some() && row.is_usual());
            sorted(rows, |row| (row.size, row.machine.clone(), row.gpus, !row.overlap))
        },
        &[
            SIZE,
            ("GPUs", |row| format!("{}, {}×{}", row.gpus, row.grid[0], row.grid[1])),
            ("overlap", |row| or_dash((row.gpus > 1).then(|| ["off", "on"][usize::from(row.overlap)]), str::to_owned)),
            TIME,
            TFLOPS,
            OF_ALONE,
        ],
    ),
    (
        "weak",
        // Problems that grow with the memory of all GPUs.
        |all| {
            let rows = all.iter().filter(|row| row.is_grown() && row.overlap && row.is_usual());
            sorted(rows, |row| row.gpus)
        },
        &[SIZE, GPUS, MEMORY, TIME, TFLOPS, ("each GPU's speed over one alone", |row| row.of_alone(row.first_alone))],
    ),
    (
        "panels",
        // Products that were measured with panels of several depths.
        |all| {
            let key = |row: &Row| (row.size, row.gpus, row.machine.clone());
            let rows = all.iter().filter(|row| row.gpus > 1 && row.overlap && row.alone.is_some());
            let rows = sorted(rows, |row| (key(row), row.panel));
            let has_choice = |row: &&Row| rows.iter().filter(|other| key(other) == key(row)).count() > 1;
            rows.iter().copied().filter(has_choice).collect()
        },
        &[
            SIZE,
            GPUS,
            ("depth of a panel", |row| grouped(row.panel)),
            ("panels", |row| row.panels.to_string()),
            TIME,
            OF_ALONE,
        ],
    ),
    (
        "adding",
        // Panels whose product is stored, added with `+=`, or added atomically.
        |all| ADDING.iter().flat_map(|(file, _)| all.iter().filter(move |row| row.file == *file)).collect(),
        &[
            ("how it adds", |row| ADDING.iter().filter(|(file, _)| row.file == *file).map(|(_, how)| *how).collect()),
            ("first panel, stored", |row| row.panels_took(|panel| panel == 0)),
            ("another, added", |row| row.panels_took(|panel| panel > 0)),
            ("whole product", TIME.1),
        ],
    ),
    (
        "large",
        // Products that no GPU alone could hold.
        |all| all.iter().filter(|row| row.gpus > 1 && row.alone.is_none() && row.size[0] > 65_536).collect(),
        &[
            SIZE,
            GPUS,
            ("A, B and C", |row| {
                let [m, n, k] = row.size;
                gb(4 * (m * k + k * n + m * n))
            }),
            MEMORY,
            TIME,
            TFLOPS,
            ("both checks", |row| format!("{:.1} s", row.twin.seconds + row.verdict.seconds)),
        ],
    ),
];

pub fn table(words: &[&str]) -> Result<String> {
    let all = recorded()?;
    let wanted = |(name, _, _): &&Table| [*name] == words;
    let Some((_, rows, columns)) = TABLES.iter().find(wanted) else {
        bail!("a part about several GPUs is strong, weak, panels, adding or large")
    };
    let rows = rows(&all);
    ensure!(
        !rows.is_empty(),
        "docs/results/several has no such products; step06_prefetch/beyond/several/record.sh measures them"
    );
    let head: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let cells = |row: &&Row| columns.iter().map(|(_, cell)| cell(row)).collect();
    Ok(format!("{}\n*{}*\n", table::markdown(&head, rows.iter().map(cells)), sources(&rows, &all)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_rows_and_says_where_it_is_from() {
        for (name, _, _) in TABLES {
            let text = table(&[name]).unwrap();
            assert!(text.lines().count() > 4 && text.contains("NVIDIA H200 ("), "{name}: {text}");
        }
        assert!(table(&["cake"]).unwrap_err().to_string().contains("strong, weak"));
    }
}
