//! Parts that show how accurate products on tensor cores are.

use anyhow::{Result, bail};
use common::basics::table;

use super::measured::{AtPower, Measured, Power};

fn read(words: &[&str]) -> Result<Measured> {
    let [name] = words else { bail!("a part about accuracy takes the name of a record in docs/results/accuracy") };
    Measured::read(name)
}

fn number(value: f64) -> String {
    if value == 0.0 { "0".into() } else { format!("{value:.1e}") }
}

fn source(record: &Measured) -> String {
    format!(
        "\n*{}; errors of {} elements against float64 with compensated sums.*\n",
        record.provenance, record.elements
    )
}

/// A contender as a table names it.
fn named(name: &str) -> String {
    name.split_once('/').map_or_else(|| name.to_owned(), |(_, variant)| format!("`{variant}`"))
}

/// Time, speed and errors at each size.
pub fn speeds(words: &[&str]) -> Result<String> {
    let record = read(words)?;
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
    Ok(table::markdown(&head, &rows) + &source(&record))
}

/// What each contender draws at the largest size; nothing if the record is from before this was measured.
pub fn power(words: &[&str]) -> Result<String> {
    let record = read(words)?;
    let Some(AtPower { size, contenders }) = &record.power else { return Ok(String::new()) };
    let mut contenders: Vec<_> = contenders.iter().collect();
    contenders.sort_by(|a, b| b.1.us.total_cmp(&a.1.us));
    let row = |(name, Power { watts, mhz, us }): (&String, &Power)| {
        let speed = 2.0 * (*size as f64).powi(3) / us / 1e6;
        let joules = watts * us / 1e6;
        let cells = [format!("{speed:.1}"), format!("{watts:.0} W"), format!("{mhz:.0} MHz"), format!("{joules:.2} J")];
        [named(name)].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = contenders.into_iter().map(row).collect();
    let size = format!("product of {size}³");
    let table = table::markdown(&[&size, "TFLOP/s", "power", "clock of the SMs", "energy of a product"], &rows);
    Ok(format!("{table}\n*{}; medians while each product ran for two seconds.*\n", record.provenance))
}

/// The worst error of each contender, for each kind of values and each K.
pub fn errors(words: &[&str]) -> Result<String> {
    let record = read(words)?;
    let names =
        ["cuBLAS", "step06_prefetch", "step06_prefetch/tensor_cores", "step06_prefetch/long_sums", "cuBLAS TF32"];
    let mut rows = Vec::new();
    for at in &record.errors {
        let worst = names.iter().map(|name| match at.contenders.get(*name) {
            Some(errors) if errors.lost > 0 => format!("{} lost", errors.lost),
            Some(errors) => number(errors.worst),
            None => String::new(),
        });
        rows.push([at.values.words().to_owned(), at.k.to_string()].into_iter().chain(worst).collect());
    }
    let head = ["values", "K", "cuBLAS", "step06_prefetch", "`tensor_cores`", "`long_sums`", "cuBLAS TF32"];
    Ok(table::markdown(&head, &rows) + &source(&record))
}
