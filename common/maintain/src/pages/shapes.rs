//! Parts that show the kernel for every shape against the library at random shapes.

use anyhow::{Context, Result, bail};
use common::workspace;
use course::record::geometric_mean;

use crate::shapes::measured::{Measured, Shape, Timed};
use crate::table;

/// A record of `cargo x shapes` by its name.
fn read(words: &[&str]) -> Result<Measured> {
    let [name] = words else { bail!("a part about shapes takes the name of a record in docs/results/shapes") };
    let path = workspace::root().join("docs/results/shapes").join(name).with_extension("json");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("{} cannot be read; make it with cargo x shapes", workspace::display(&path)))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} is no record of cargo x shapes; make it again", workspace::display(&path)))
}

fn number(value: f64) -> String {
    format!("{value:.3}")
}

fn size([m, n, k]: [u64; 3]) -> String {
    format!("{m}×{n}×{k}")
}

/// Means and extremes of the ratios, for each kind of shape.
pub fn summary(words: &[&str]) -> Result<String> {
    let record = read(words)?;
    let (even, any): (Vec<&Shape>, Vec<&Shape>) = record.shapes.iter().partition(|shape| shape.is_even());
    let kinds = [("all sides multiples of 4", &even), ("no side a multiple of 4", &any)];
    let mut rows = Vec::new();
    for (kind, shapes) in kinds.iter().filter(|(_, shapes)| !shapes.is_empty()) {
        let ratios: Vec<f64> = shapes.iter().map(|shape| shape.ratio()).collect();
        let below = |limit: f64| ratios.iter().filter(|ratio| **ratio < limit).count().to_string();
        let expected: Vec<f64> =
            shapes.iter().filter_map(|shape| Some(shape.chosen.us / shape.chosen.expected_us?)).collect();
        let best: Vec<f64> = shapes.iter().map(|shape| shape.chosen.us / shape.best.us).collect();
        rows.push(vec![
            (*kind).to_owned(),
            shapes.len().to_string(),
            number(geometric_mean(&ratios)),
            number(ratios.iter().copied().fold(f64::INFINITY, f64::min)),
            below(0.9),
            below(1.0),
            number(geometric_mean(&expected)),
            number(geometric_mean(&best)),
        ]);
    }
    let head =
        ["shapes", "number", "mean", "least", "below 0.9", "below 1", "measured ÷ expected", "chosen ÷ best plan"];
    let undone = |what: &str, other: fn(&Shape) -> Option<&Timed>| {
        let all: Vec<&Shape> = record.shapes.iter().collect();
        let slower: Vec<f64> = all.iter().filter_map(|shape| Some(other(shape)?.us / shape.best.us)).collect();
        format!(
            "Without {what} the best plan takes {} × as long in the mean over {} shapes; at the other {} none was expected \
             to come within 1.3 × of the best.",
            number(geometric_mean(&slower)),
            slower.len(),
            all.len() - slower.len()
        )
    };
    Ok(format!(
        "{}\nTimes of cuBLAS over ours; means are geometric. {} {}\n\n*{}; both in turns, L2 warm, median of 9 samples.*\n",
        table::markdown(&head, &rows),
        undone("groups", |shape| shape.without_groups.as_ref()),
        undone("slices", |shape| shape.without_slices.as_ref()),
        record.provenance
    ))
}

/// Every shape, the worst first.
pub fn worst_first(words: &[&str]) -> Result<String> {
    let mut record = read(words)?;
    record.shapes.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    let us = |us: f64| format!("{us:.1}");
    let rows: Vec<Vec<String>> = record
        .shapes
        .iter()
        .map(|shape| {
            let Timed { name, slices, expected_us, us: measured } = &shape.chosen;
            let plan = if *slices > 1 { format!("{name}, {slices} slices") } else { name.clone() };
            let expected = expected_us.map_or_else(|| "–".to_owned(), us);
            vec![size(shape.size), plan, expected, us(*measured), us(shape.cublas_us), number(shape.ratio())]
        })
        .collect();
    Ok(table::markdown(&["M×N×K", "plan", "expected µs", "measured µs", "cuBLAS µs", "ratio"], &rows))
}
