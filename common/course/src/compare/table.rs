//! The table of a size, and a summary of all sizes, for people: times on a GPU, counters on the simulator.

use common::basics::{ms, number, wrapped};
use common::findings::RATIOS;
use common::{Kind, verify};

use crate::record::{Entry, Outcome, Record, SizeRecord, times};

/// Explains the headings.
const LEGEND: &str = include_str!("legend.txt");

/// The headings of the columns; the first ones are those of the ratios.
const HEAD: [&str; RATIOS.len() + 3] =
    ["flop/B", "sectors", "shared", "banks", "barriers", "warps", "least", "bound by"];

/// A kernel's row of counters, with `-` for a missing value; `None` if the kernel was not counted.
fn cells(entry: &Entry) -> Option<Vec<String>> {
    let counters = entry.counters.as_ref()?;
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    let warps = entry.occupancy.as_ref().map(|occupancy| 64.0 * occupancy.occupancy);
    let least = entry.least_time.as_ref();
    let bound = [least.map(|least| ms(least.ms)), least.map(|least| least.bound_by.clone())];
    let bound = bound.map(|words| words.unwrap_or_else(|| "-".to_owned()));
    Some(RATIOS.iter().map(|(_, term)| counters.term(term)).chain([warps]).map(cell).chain(bound).collect())
}

/// The table of a size, for people.
pub fn of_size(record: &Record, size: &SizeRecord) -> String {
    // Beside a simulated kernel, not even the host's own time is shown: they do not compare.
    let timed = record.device.kind == Kind::Cuda && size.entries.iter().any(|entry| entry.spread().is_some());
    let counted = !timed && size.entries.iter().any(|entry| entry.counters.is_some());
    let ratios = |entry: &Entry| cells(entry).filter(|_| counted && entry.outcome == Outcome::Verified);
    let head: Vec<&str> = match (timed, counted) {
        (true, _) => {
            vec!["", "time", "GFLOP/s", "of FP32 peak", "of cuBLAS", "over previous", "of least time", "spread"]
        }
        (false, true) => std::iter::once("").chain(HEAD).collect(),
        (false, false) => vec!["", "product"],
    };
    let mut rows: Vec<Vec<String>> = vec![head.iter().map(|&cell| cell.to_owned()).collect()];
    for entry in &size.entries {
        let mut row = vec![short(&entry.name)];
        let speed = record.speed(size, entry, |gflops| format!("{gflops:.1}"), "-");
        if let (true, Some(speed), Some(spread)) = (timed, speed, entry.spread()) {
            row.extend(speed);
            row.push(entry.over_least().map_or_else(|| "-".to_owned(), times));
            row.push(format!("{} to {}", ms(spread.min), ms(spread.max)));
        } else {
            row.extend(ratios(entry).unwrap_or_else(|| vec![words(entry)]));
        }
        rows.push(row);
    }
    // A sentence takes the rest of its row.
    let is_sentence = |row: &[String], column: usize| column > 0 && row.len() == 2;
    let width = |column: usize| {
        let cells = rows.iter().filter(|row| !is_sentence(row, column)).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = format!("\n{}\n", size.words());
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            text += &match column {
                0 => format!("  {cell:width$}", width = widths[0]),
                _ if is_sentence(row, column) => format!("  {}", wrapped(cell, 4 + widths[0])),
                _ => format!("  {cell:>width$}", width = widths[column]),
            };
        }
        text.push('\n');
    }
    // A note on the ratios follows once, below the tables.
    let told = size.entries.iter().filter(|entry| ratios(entry).is_some());
    for way in told.map(words).collect::<std::collections::BTreeSet<String>>() {
        text += &format!("  {way}\n");
    }
    text
}

fn words(entry: &Entry) -> String {
    let note = entry.note.clone().unwrap_or_default();
    let mut lines = note.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    // A compiler's messages follow the sentence that announces them.
    let next = lines.find(|line| line.contains("error")).filter(|_| first.ends_with(':'));
    let note = next.map_or_else(|| first.to_owned(), |next| format!("{first} {}", next.trim()));
    match entry.outcome {
        Outcome::Verified => format!("right: {}", entry.method.map_or("checked", verify::Method::words)),
        Outcome::Wrong => format!("WRONG: {note}"),
        Outcome::Failed => format!("FAILS: {note}"),
        Outcome::Impossible => format!("cannot: {note}"),
        Outcome::Skipped => format!("not run: {note}"),
    }
}

/// A name that leaves room in a line: `step06/every_shape` for `step06_prefetch/every_shape`.
fn short(name: &str) -> String {
    let of_step = |(step, rest): (&str, &str)| Some(format!("{}/{rest}", step.split('_').next()?));
    name.split_once('/').and_then(of_step).unwrap_or_else(|| name.to_owned())
}

/// A summary of all sizes.
pub fn summary(record: &Record) -> String {
    let mut text = String::new();
    for step in &record.steps {
        if let Some((least, mean)) = record.shares_of_cublas(&step.name) {
            text += &format!("  {}: at least {least:.3} × cuBLAS, geometric mean {mean:.3} ×\n", step.name);
        }
    }
    if !text.is_empty() {
        text = format!("\nover all sizes ({})\n{text}", record.l2.words());
    }
    let count = |outcome: Outcome| record.entries().filter(|(_, entry)| entry.outcome == outcome).count();
    let (right, wrong, failed) = (count(Outcome::Verified), count(Outcome::Wrong), count(Outcome::Failed));
    text += &format!(
        "\n{right} products right, {wrong} wrong, {failed} failed; every product was checked before it was timed\n"
    );
    if record.device.kind != Kind::Cuda {
        text += &format!("{LEGEND}\nthe simulator has no times to compare; on a GPU the same command shows them\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::example;

    #[test]
    fn a_table_shows_times_and_says_what_failed() {
        let mut record = example();
        record.sizes[1].entries[0] = Entry::new("step02_one", Outcome::Wrong, Some("C equals its transpose".into()));
        let text = of_size(&record, &record.sizes[1]);
        assert!(text.contains("4096³") && text.contains("WRONG: C equals its transpose"), "{text}");
        let row = text.lines().find(|line| line.contains("step04_two")).unwrap();
        assert!(row.contains("25600.0") && row.contains("38.3 %") && row.contains("50.0 %"), "{row}");
        // No earlier step has a time.
        assert!(!row.contains("4.00 ×"), "{row}");
        let text = of_size(&record, &record.sizes[0]);
        assert!(text.contains("3.00 ×"), "{text}");
    }
}
