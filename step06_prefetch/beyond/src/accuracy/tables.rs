//! Parts that show how fast and how accurate products on tensor cores are.

use anyhow::{Result, bail};
use common::basics::table;
use common::basics::workspace;

use super::measured::{Measured, Power};
use crate::kept;

/// A part made from a record; where a kernel is newer than its record, the word that there is none.
fn part(words: &[&str], make: fn(&Measured) -> String) -> Result<String> {
    let [name] = words else { bail!("a part about accuracy takes the name of a record in docs/results/accuracy") };
    let path = workspace::root().join("docs/results/accuracy").join(name).with_extension("json");
    if !path.is_file() {
        return Ok("*Not measured yet; `beyond accuracy OUT` does it on a GPU.*\n".to_owned());
    }
    Ok(make(&kept::read("accuracy", name)?))
}

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

/// Time, speed and errors at each size.
pub fn speeds(words: &[&str]) -> Result<String> {
    part(words, |record| {
        let mut rows = Vec::new();
        for speed in &record.speeds {
            let library = speed.contenders.get("cuBLAS").map(|(times, _)| times[1]);
            let mut contenders: Vec<_> = speed.contenders.iter().collect();
            contenders.sort_by(|a, b| b.1.0[1].total_cmp(&a.1.0[1]));
            for (name, ([least, us, most], errors)) in contenders {
                rows.push(vec![
                    format!("{}³", speed.size),
                    named(name),
                    format!("{us:.1} µs ({least:.1} to {most:.1})"),
                    format!("{:.1}", 2.0 * (speed.size as f64).powi(3) / us / 1e6),
                    library.map_or_else(String::new, |library| format!("{:.2} ×", library / us)),
                    number(errors.worst),
                    number(errors.rms),
                ]);
            }
        }
        let head = ["M = N = K", "product", "time", "TFLOP/s", "of cuBLAS", "worst error", "root mean square"];
        table::markdown(&head, &rows) + &source(record)
    })
}

/// What each contender draws, and how fast it is then.
pub fn power(words: &[&str]) -> Result<String> {
    part(words, |record| {
        let mut rows = Vec::new();
        for at in &record.power {
            let mut contenders: Vec<_> = at.contenders.iter().collect();
            contenders.sort_by(|a, b| b.1.us.total_cmp(&a.1.us));
            for (name, Power { watts, mhz, us }) in contenders {
                rows.push(vec![
                    format!("{}³", at.size),
                    named(name),
                    format!("{:.1}", 2.0 * (at.size as f64).powi(3) / us / 1e6),
                    format!("{watts:.0} W"),
                    format!("{mhz:.0} MHz"),
                    format!("{:.2} J", watts * us / 1e6),
                ]);
            }
        }
        let head = ["M = N = K", "product", "TFLOP/s", "power", "clock of the SMs", "energy of a product"];
        let table = table::markdown(&head, &rows);
        format!("{table}\n*{}; medians while each product ran for two seconds.*\n", record.provenance)
    })
}

/// The worst error and the root mean square of each contender, for each kind of values, each C and each K.
pub fn errors(words: &[&str]) -> Result<String> {
    part(words, |record| {
        let names = ["cuBLAS", "step06_prefetch", "step06_prefetch/tensor_cores", "cuBLAS TF32"];
        let row = |at: &super::measured::AtK| {
            let errors = names.iter().map(|name| match at.contenders.get(*name) {
                Some(errors) if errors.lost > 0 => format!("{} lost", errors.lost),
                Some(errors) => format!("{} {}", number(errors.worst), number(errors.rms)),
                None => String::new(),
            });
            let size = format!("{}×{}×{}", at.edge, at.edge, at.k);
            [at.values.words().to_owned(), size].into_iter().chain(errors).collect()
        };
        let rows: Vec<Vec<String>> = record.errors.iter().map(row).collect();
        let head = ["values", "M×N×K", "cuBLAS", "step06_prefetch", "`tensor_cores`", "cuBLAS TF32"];
        table::markdown(&head, &rows) + &source(record)
    })
}
