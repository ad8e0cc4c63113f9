//! The part that shows the simulator's counters beside those that were read on a GPU.

use anyhow::Result;
use common::basics::table;
use common::basics::units::grouped;

use crate::counters::readings::{self, Compared, File};

/// Where the readings are from, and a row for each launch.
pub fn table() -> Result<String> {
    let (File { gpu, driver, tool, date, .. }, launches) = readings::read()?;
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
            // The page can be made all the same; `cargo x counters` fails.
            Err(error) => row.push(format!("**{error:#}**")),
            Ok(_) => {}
        }
        row.resize(head.len(), String::new());
        rows.push(row);
    }
    let table = table::markdown(&head, &rows);
    Ok(format!("Read on an {gpu} (driver {driver}, {date}) under {tool}.\n\n{table}"))
}

/// A count if both sides are equal, else both; in bold if they should be.
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
