//! Parts that show how fast and how accurate products on tensor cores are.

use anyhow::Result;
use common::basics::table;

use super::{AtK, Measured, Power};
use crate::record::read;

fn number(value: f64) -> String {
    if value == 0.0 { "0".into() } else { format!("{value:.1e}") }
}

fn source(record: &Measured) -> String {
    let Measured { provenance, elements, .. } = record;
    format!("\n*{provenance}; errors of {elements} elements against float64 with compensated sums.*\n")
}

/// A contender as a table names it.
fn named(name: &str) -> String {
    name.split_once('/').map_or_else(|| name.to_owned(), |(_, variant)| format!("`{variant}`"))
}

/// The first cells of a row: size, contender, and speed in TFLOP/s.
fn row(size: u64, name: &str, us: f64) -> [String; 3] {
    [format!("{size}³"), named(name), format!("{:.1}", 2.0 * (size as f64).powi(3) / us / 1e6)]
}

/// Time, speed and errors at each size.
pub fn speeds(words: &[&str]) -> Result<String> {
    let record: Measured = read("accuracy", words)?;
    let mut rows = Vec::new();
    for speed in &record.speeds {
        let library = speed.contenders.get("cuBLAS").map(|(times, _)| times[1]);
        let mut contenders: Vec<_> = speed.contenders.iter().collect();
        contenders.sort_by(|a, b| b.1.0[1].total_cmp(&a.1.0[1]));
        for (name, ([least, us, most], errors)) in contenders {
            let [size, name, tflops] = row(speed.size, name, *us);
            let time = format!("{us:.1} µs ({least:.1} to {most:.1})");
            let of_library = library.map_or_else(String::new, |library| format!("{:.2} ×", library / us));
            rows.push([size, name, time, tflops, of_library, number(errors.worst), number(errors.rms)].into());
        }
    }
    let head = ["M = N = K", "product", "time", "TFLOP/s", "of cuBLAS", "worst error", "root mean square"];
    Ok(table::markdown(&head, rows) + &source(&record))
}

/// The power that each contender draws, and its speed meanwhile.
pub fn power(words: &[&str]) -> Result<String> {
    let record: Measured = read("accuracy", words)?;
    let mut rows = Vec::new();
    for at in &record.power {
        let mut contenders: Vec<_> = at.contenders.iter().collect();
        contenders.sort_by(|a, b| b.1.us.total_cmp(&a.1.us));
        for (name, Power { watts, mhz, us }) in contenders {
            let measured = [format!("{watts:.0} W"), format!("{mhz:.0} MHz"), format!("{:.2} J", watts * us / 1e6)];
            rows.push([row(at.size, name, *us), measured].concat());
        }
    }
    let head = ["M = N = K", "product", "TFLOP/s", "power", "clock of the SMs", "energy of a product"];
    let table = table::markdown(&head, rows);
    Ok(format!("{table}\n*{}; medians while each product ran for two seconds.*\n", record.provenance))
}

/// The worst error and the root mean square of each contender, for each kind of values, each C and each K.
pub fn errors(words: &[&str]) -> Result<String> {
    let record: Measured = read("accuracy", words)?;
    let names = ["cuBLAS", "step06_prefetch", "step06_prefetch/tensor_cores", "cuBLAS TF32"];
    let row = |at: &AtK| {
        let errors = names.iter().map(|name| match at.contenders.get(*name) {
            Some(errors) if errors.lost > 0 => format!("{} lost", errors.lost),
            Some(errors) => format!("{} {}", number(errors.worst), number(errors.rms)),
            None => String::new(),
        });
        let size = format!("{}×{}×{}", at.edge, at.edge, at.k);
        [at.values.words().to_owned(), size].into_iter().chain(errors).collect()
    };
    let head = ["values", "M×N×K", "cuBLAS", "step06_prefetch", "`tensor_cores`", "cuBLAS TF32"];
    Ok(table::markdown(&head, record.errors.iter().map(row)) + &source(&record))
}
