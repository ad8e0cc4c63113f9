//! Parts that show products on several GPUs: tables of their times.

use anyhow::{Context, Result, bail};
use common::basics::table;
use common::basics::units::{grouped, ms};

use super::records::{self, Records};
use super::run::Outcome;

/// What is said where a record is missing.
const UNMEASURED: &str =
    "docs/results/several has no such products; step06_prefetch/beyond/several/record.sh measures them";

/// One of the tables, by its name.
pub fn table(words: &[&str]) -> Result<String> {
    let all = records::all()?;
    match words {
        ["strong"] => Ok(strong(&all)),
        ["weak"] => weak(&all),
        ["panels"] => Ok(panels(&all)),
        ["adding"] => Ok(adding(records::ways_to_add()?)),
        ["large"] => Ok(large(&all)),
        _ => bail!("a part about several GPUs is strong, weak, panels, adding or large"),
    }
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{share:.3}"))
}

fn time(outcome: &Outcome) -> String {
    outcome.median_ms().map_or_else(|| "–".to_owned(), ms)
}

fn tflops(outcome: &Outcome) -> String {
    outcome.gflops().map_or_else(|| "–".to_owned(), |gflops| format!("{:.1}", gflops / 1e3))
}

fn switch(outcome: &Outcome) -> String {
    match (outcome.gpus, outcome.overlap) {
        (1, _) => "–",
        (_, true) => "on",
        (_, false) => "off",
    }
    .to_owned()
}

fn with_sources(table: &str, all: &[Records]) -> String {
    let sources: Vec<String> = all.iter().map(Records::provenance).collect();
    format!("{table}\n*{}.*\n", sources.join("; "))
}

/// Products with overlap and without, with the machine of each.
fn usual(all: &[Records]) -> Vec<(&Records, &Outcome)> {
    all.iter().flat_map(|records| records.usual().into_iter().map(move |outcome| (records, outcome))).collect()
}

/// One problem on more and more GPUs.
fn strong(all: &[Records]) -> String {
    let mut rows = usual(all);
    rows.retain(|(records, outcome)| records.alone(outcome.size).is_some());
    rows.sort_by_key(|(records, o)| (o.size, records.machine.clone(), o.gpus, !o.overlap));
    let cells = rows.iter().map(|(records, outcome)| {
        vec![
            format!("{}³", outcome.size[0]),
            format!("{}, {}×{}", outcome.gpus, outcome.grid[0], outcome.grid[1]),
            switch(outcome),
            time(outcome),
            tflops(outcome),
            share(records.share(outcome)),
        ]
    });
    let head = ["M×N×K", "GPUs", "overlap", "time", "TFLOP/s", "of the sum alone"];
    with_sources(&table::markdown(&head, &cells.collect::<Vec<_>>()), all)
}

/// Problems that grow with the memory of all GPUs: 16384 on one.
fn weak(all: &[Records]) -> Result<String> {
    let mut rows = usual(all);
    rows.retain(|(_, outcome)| records::is_grown(outcome) && outcome.overlap);
    rows.sort_by_key(|(records, o)| (o.gpus, records.machine.clone()));
    rows.dedup_by_key(|(_, outcome)| outcome.gpus);
    let alone = rows.first().filter(|(_, o)| o.gpus == 1).and_then(|(_, o)| o.gflops()).context(UNMEASURED)?;
    let cells = rows.iter().map(|(_, outcome)| {
        let each = outcome.gflops().map(|gflops| gflops / outcome.gpus as f64);
        vec![
            format!("{}³", outcome.size[0]),
            outcome.gpus.to_string(),
            super::run::gb(outcome.bytes_per_gpu),
            time(outcome),
            tflops(outcome),
            share(each.map(|each| each / alone)),
        ]
    });
    let head = ["M×N×K", "GPUs", "memory of a GPU", "time", "TFLOP/s", "each GPU's speed over one alone"];
    Ok(with_sources(&table::markdown(&head, &cells.collect::<Vec<_>>()), all))
}

/// Panels of several depths.
fn panels(all: &[Records]) -> String {
    let mut rows: Vec<(&Records, &Outcome)> = all
        .iter()
        .flat_map(|records| records.outcomes.iter().map(move |outcome| (records, outcome)))
        .filter(|(records, o)| o.gpus > 1 && o.overlap && !o.ms.is_empty() && records.alone(o.size).is_some())
        .collect();
    rows.sort_by_key(|(records, o)| (o.size, o.gpus, records.machine.clone(), o.panel));
    rows.dedup_by_key(|(records, o)| (o.size, o.gpus, records.machine.clone(), o.panel));
    // Only where there is a choice.
    let same = |one: &Outcome, other: &Outcome| one.size == other.size && one.gpus == other.gpus;
    let choice: Vec<_> = rows
        .iter()
        .filter(|(of, o)| rows.iter().filter(|(on, p)| of.machine == on.machine && same(o, p)).count() > 1)
        .collect();
    let cells = choice.iter().map(|(records, outcome)| {
        vec![
            format!("{}³", outcome.size[0]),
            outcome.gpus.to_string(),
            grouped(outcome.panel),
            outcome.panels.to_string(),
            time(outcome),
            share(records.share(outcome)),
        ]
    });
    let head = ["M×N×K", "GPUs", "depth of a panel", "panels", "time", "of the sum alone"];
    with_sources(&table::markdown(&head, &cells.collect::<Vec<_>>()), all)
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
    let rows: Vec<(&Records, &Outcome)> = all
        .iter()
        .flat_map(|records| records.outcomes.iter().map(move |outcome| (records, outcome)))
        .filter(|(records, o)| o.gpus > 1 && !o.ms.is_empty() && records.alone(o.size).is_none() && o.size[0] > 65_536)
        .collect();
    let cells = rows.iter().map(|(_, outcome)| {
        let [m, n, k] = outcome.size;
        vec![
            format!("{m}³"),
            outcome.gpus.to_string(),
            super::run::gb(4 * (m * k + k * n + m * n)),
            super::run::gb(outcome.bytes_per_gpu),
            time(outcome),
            tflops(outcome),
            format!("{:.1} s", outcome.twin.seconds + outcome.verdict.seconds),
        ]
    });
    let head = ["M×N×K", "GPUs", "A, B and C", "memory of a GPU", "time", "TFLOP/s", "both checks"];
    with_sources(&table::markdown(&head, &cells.collect::<Vec<_>>()), all)
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
