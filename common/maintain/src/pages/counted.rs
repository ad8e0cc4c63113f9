//! Parts that show what the simulator counts: tables of kernels, the counters' names, and the counts beside a GPU's.

use anyhow::{Context, Result, bail};
use common::basics::{grouped, number, table};
use course::steps::Kernel;
use findings::Counters;
use serde_json::Value;
use simt::Counts;

use super::timed::Records;
use crate::counters::{self, Compared, File};
use crate::programs;

/// The rows of a table of counters: the name, and a term of the report's `counters`.
fn all_rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("rows.txt").lines().filter_map(|row| row.split_once(" = "))
}

/// A table of counters of some kernels at one size. `rows:` is followed by the beginnings of the wanted rows' names, with `_` for a
/// space; without it, only rows in which the kernels differ are shown.
pub fn table(_: &Records, words: &[&str]) -> Result<String> {
    let (words, wanted): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| !word.starts_with("rows:"));
    let wanted: Vec<String> =
        wanted.iter().flat_map(|list| list[5..].split(',')).map(|row| row.replace('_', " ")).collect();
    if let Some(unknown) = wanted.iter().find(|wanted| !all_rows().any(|(name, _)| name.starts_with(wanted.as_str()))) {
        let known: Vec<&str> = all_rows().map(|(name, _)| name).collect();
        bail!("no row begins with {unknown:?}; choose from: {}", known.join(", "));
    }
    let (size, kernels) = words.split_first().context("give a size and the kernels")?;
    let mut head = vec![format!("at {}", size.replace('x', "×"))];
    let mut columns = Vec::new();
    for word in kernels {
        let (name, idea) = word.split_once(':').map_or((*word, None), |(name, idea)| (name, Some(idea)));
        let mut arguments = vec!["--device", "sim", "--json", "--size", size];
        let kernel = Kernel::named(name)?;
        arguments.extend(kernel.variant_name().iter().flat_map(|variant| ["--variant", variant]));
        arguments.extend(idea.iter().flat_map(|idea| ["--without", idea]));
        let [report, complaint] = programs::output(kernel.package(), &arguments)?;
        let none = || format!("{word} prints no report: {}", complaint.trim());
        let mut report: Value = serde_json::from_str(&report).with_context(none)?;
        let counted: Option<Counters> = serde_json::from_value(report["counters"].take())?;
        columns.push(counted.with_context(|| format!("{name} reports no counters; name one that runs on a GPU"))?);
        let idea = idea.map_or_else(String::new, |idea| format!(" without {idea}"));
        let variant = kernel.variant_name().map(|variant| format!("`{variant}`{idea}"));
        head.push(variant.unwrap_or_else(|| name.to_owned()));
    }
    let mut rows = Vec::new();
    for (name, term) in all_rows() {
        let values: Vec<Option<f64>> = columns.iter().map(|counters| counters.term(term)).collect();
        let shown = if wanted.is_empty() {
            // A row is left out if all its values are 0, or if all kernels have the same value.
            values.iter().flatten().any(|value| *value != 0.0)
                && (values.len() == 1 || values.iter().any(|value| *value != values[0]))
        } else {
            wanted.iter().any(|wanted| name.starts_with(wanted.as_str()))
        };
        if shown {
            let cells = values.into_iter().map(|value| table::or_dash(value, number));
            rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
        }
    }
    Ok(table::markdown(&head, rows))
}

/// The counters' names with their documentation, as a table.
pub fn names() -> String {
    let row = |(name, words): &(&str, &str)| vec![format!("`{name}`"), words.trim().to_owned()];
    table::markdown(&["counter", "counts"], Counts::EXPLAINED.iter().map(row))
}

/// The source of the readings, and a table with a row for each launch.
pub fn readings(_: &Records, _: &[&str]) -> Result<String> {
    let (File { gpu, driver, tool, date, .. }, launches) = counters::read()?;
    let head = [
        "launch (M×N×K)",
        "FMA of threads",
        "global load requests",
        "global load sectors",
        "global store requests",
        "global store sectors",
        "shared wavefronts",
        "excess shared wavefronts",
        "instructions, at least / simulated / GPU",
        "shared loads, simulated / GPU",
    ];
    let mut rows = Vec::new();
    for reading in &launches {
        let mut row = vec![reading.launch.name.clone()];
        match reading.compare().as_deref() {
            Ok([equal @ .., bound, instructions, loads]) => {
                row.extend(equal.iter().map(cell));
                row.extend([format!("{} / {}", grouped(bound.simulated), both(instructions)), both(loads)]);
            }
            // The page is made nevertheless; `cargo x counters` fails.
            Err(error) => row.push(format!("**{error:#}**")),
            Ok(_) => {}
        }
        row.resize(head.len(), String::new());
        rows.push(row);
    }
    let table = table::markdown(&head, rows);
    Ok(format!("Read on an {gpu} (driver {driver}, {date}) under {tool}.\n\n{table}"))
}

/// One count if both are equal, otherwise both counts, in bold if they should be equal.
fn cell(count: &Compared) -> String {
    match (count.simulated == count.read, count.agrees()) {
        (true, _) => grouped(count.read),
        (false, true) => both(count),
        (false, false) => format!("**{}**", both(count)),
    }
}

fn both(count: &Compared) -> String {
    format!("{} / {}", grouped(count.simulated), grouped(count.read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_stands_out() {
        let count = |simulated, read| Compared { name: "FMA", simulated, read, slack: [0; 2] };
        assert_eq!(cell(&count(1000, 1000)), "1,000");
        assert_eq!(cell(&count(1000, 999)), "**1,000 / 999**");
        assert_eq!(both(&count(7, 7)), "7 / 7");
    }
}
