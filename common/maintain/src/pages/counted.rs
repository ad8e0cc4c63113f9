//! Parts that show what the simulator counts: tables of kernels, and the counters' names.

use anyhow::{Context, Result, bail};
use common::basics::units::number;
use course::steps::Kernel;
use serde_json::Value;
use simt::Counts;

use common::basics::table;

use crate::programs;

/// A row of a table of counters: its name, and its value from the report's `counters`.
type Row = (&'static str, fn(&Value) -> Option<f64>);

fn get(counters: &Value, name: &str) -> Option<f64> {
    counters.get(name)?.as_f64()
}

fn ratio(counters: &Value, above: &str, below: &str, factor: f64) -> Option<f64> {
    let below = get(counters, below)?;
    (below > 0.0).then_some(get(counters, above)? / below * factor)
}

const ROWS: &[Row] = &[
    ("multiply-adds by threads", |c| get(c, "fma_threads")),
    ("warp instructions", |c| get(c, "instructions")),
    ("global load requests", |c| get(c, "global_load_requests")),
    ("global load sectors", |c| get(c, "global_load_sectors")),
    ("sectors per load request", |c| ratio(c, "global_load_sectors", "global_load_requests", 1.0)),
    ("sectors per store request", |c| ratio(c, "global_store_sectors", "global_store_requests", 1.0)),
    ("flop per byte", |c| get(c, "flop_per_byte")),
    ("flop per global access", |c| get(c, "flop_per_global_access")),
    ("shared load requests", |c| get(c, "shared_load_requests")),
    ("shared loads for each multiply-add, as assembled", |c| ratio(c, "shared_load_requests", "fma_threads", 32.0)),
    ("wavefronts of shared loads", |c| get(c, "shared_load_wavefronts")),
    ("bank conflicts of loads", |c| get(c, "shared_load_bank_conflicts")),
    ("bank conflicts of stores", |c| get(c, "shared_store_bank_conflicts")),
    ("barrier arrivals", |c| get(c, "barriers")),
];

/// Without `rows:` only those rows are shown in which the kernels differ. After it stand the beginnings of the wanted rows'
/// names, with `_` for a space.
pub fn table(words: &[&str]) -> Result<String> {
    let (words, wanted): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| !word.starts_with("rows:"));
    let wanted: Vec<String> =
        wanted.iter().flat_map(|list| list[5..].split(',')).map(|row| row.replace('_', " ")).collect();
    if let Some(unknown) = wanted.iter().find(|wanted| !ROWS.iter().any(|(name, _)| name.starts_with(wanted.as_str())))
    {
        let known: Vec<&str> = ROWS.iter().map(|(name, _)| *name).collect();
        bail!("no row begins with {unknown:?}; choose from: {}", known.join(", "));
    }
    let (size, kernels) = words.split_first().context("give a size and the kernels")?;
    let mut head = vec![format!("at {}", size.replace('x', "×"))];
    let mut columns = Vec::new();
    for word in kernels {
        let (name, idea) = word.split_once(':').map_or((*word, None), |(name, idea)| (name, Some(idea)));
        let mut arguments = vec!["--size", size];
        let kernel = Kernel::named(name)?;
        arguments.extend(kernel.variant_name().iter().flat_map(|variant| ["--variant", variant]));
        arguments.extend(idea.iter().flat_map(|idea| ["--without", idea]));
        let report = programs::json(kernel.package(), &arguments)?;
        let counted = report.get("counters").cloned();
        columns.push(counted.with_context(|| format!("{name} reports no counters; name one that runs on a GPU"))?);
        let idea = idea.map_or_else(String::new, |idea| format!(" without {idea}"));
        let variant = kernel.variant_name().map(|variant| format!("`{variant}`{idea}"));
        head.push(variant.unwrap_or_else(|| name.to_owned()));
    }
    let mut rows = Vec::new();
    for (name, value) in ROWS {
        let values: Vec<Option<f64>> = columns.iter().map(value).collect();
        let shown = if wanted.is_empty() {
            // What no kernel does needs no row, and neither does what all do alike.
            values.iter().flatten().any(|value| *value != 0.0)
                && (values.len() == 1 || values.iter().any(|value| *value != values[0]))
        } else {
            wanted.iter().any(|wanted| name.starts_with(wanted.as_str()))
        };
        if shown {
            let cells = values.into_iter().map(|value| value.map_or("–".into(), number));
            rows.push(std::iter::once((*name).to_owned()).chain(cells).collect());
        }
    }
    Ok(table::markdown(&head, &rows))
}

/// The counters' names with their documentation, as a table.
pub fn names() -> String {
    let row = |(name, words): &(&str, &str)| vec![format!("`{name}`"), words.trim().to_owned()];
    table::markdown(&["counter", "counts"], &Counts::EXPLAINED.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_column_for_each_kernel_and_only_the_rows_that_differ_or_are_wanted() {
        let kernels = ["32x32x32", "step02_gpu_naive", "step02_gpu_naive/uncoalesced"];
        let text = table(&kernels).unwrap();
        assert!(text.starts_with("| at 32×32×32 | step02_gpu_naive | `uncoalesced` |\n|---|--:|--:|\n"), "{text}");
        assert!(text.contains("| sectors per load request | 2.50 | 16.5 |"), "{text}");
        assert!(!text.contains("bank conflicts") && !text.contains("multiply-adds"), "{text}");
        let text = table(&[&kernels[..], &["rows:multiply-adds,flop_per_byte"]].concat()).unwrap();
        assert!(text.contains("| multiply-adds by threads | 32,768 | 32,768 |"), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(table(&["32", "step02_gpu_naive", "rows:cake"]).unwrap_err().to_string().contains("flop per byte"));
        assert!(table(&["32", "step01_nothing"]).is_err());
    }

    #[test]
    fn every_counter_is_explained() {
        let text = names();
        assert!(text.contains("| `global_load_sectors` | "), "{text}");
        assert!(!text.contains("|  |"), "{text}");
    }
}
