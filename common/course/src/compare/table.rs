//! The table of a size, and what all sizes say together, for people.

use common::units::ms;
use common::{Kind, verify};

use crate::record::{CUBLAS, Entry, Outcome, Record, SizeRecord};

/// The table of a size, for people.
pub fn of_size(record: &Record, size: &SizeRecord) -> String {
    let peak = record.figures.map(|figures| figures.fp32_peak_gflops);
    let percent = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0));
    // Beside a simulated kernel, not even the host's own time is shown: they do not compare.
    let timed = record.device.kind == Kind::Cuda && size.entries.iter().any(|entry| entry.spread().is_some());
    let mut rows = vec![if timed {
        ["", "time", "GFLOP/s", "of FP32 peak", "of cuBLAS", "over previous", "spread"].map(ToOwned::to_owned).to_vec()
    } else {
        ["", "product"].map(ToOwned::to_owned).to_vec()
    }];
    for entry in &size.entries {
        let mut row = vec![entry.name.clone()];
        let host = record.steps.iter().any(|step| step.host && step.name == entry.name);
        match (entry.spread().filter(|_| timed), size.gflops(&entry.name)) {
            (Some(spread), Some(gflops)) => row.extend([
                ms(spread.median),
                format!("{gflops:.1}"),
                percent(peak.filter(|_| !host).map(|peak| gflops / peak)),
                percent(size.share_of_cublas(&entry.name)),
                size.over_previous(&entry.name)
                    .filter(|_| entry.name != CUBLAS)
                    .map_or_else(|| "-".to_owned(), |times| format!("{times:.2} ×")),
                format!("{} to {}", ms(spread.min), ms(spread.max)),
            ]),
            _ => row.push(words(entry)),
        }
        rows.push(row);
    }
    let columns = rows[0].len();
    let width = |column: usize| {
        rows.iter().filter(|row| row.len() == columns).map(|row| row[column].chars().count()).max().unwrap_or(0)
    };
    let first = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    let mut text = format!("\n{}\n", size.words());
    for row in &rows {
        text += &format!("  {:first$}", row[0]);
        for (column, cell) in row.iter().enumerate().skip(1) {
            // A sentence takes the rest of its row.
            if row.len() < columns || columns == 2 {
                text += &format!("  {cell}");
            } else {
                let width = width(column);
                text += &format!("  {cell:>width$}");
            }
        }
        text.push('\n');
    }
    text
}

fn words(entry: &Entry) -> String {
    let note = entry.note.clone().unwrap_or_default();
    let mut lines = note.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    // A compiler's words stand below the sentence that announces them.
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

/// What all sizes say together.
pub fn summary(record: &Record) -> String {
    let mut text = String::new();
    for step in &record.steps {
        if let Some((least, mean)) = record.shares_of_cublas(&step.name) {
            text += &format!("  {}: at least {least:.3} × cuBLAS, geometric mean {mean:.3} ×\n", step.name);
        }
    }
    if !text.is_empty() {
        text = format!("\nover all sizes but the saw-tooth's ({})\n{text}", record.l2.words());
    }
    let count = |outcome: Outcome| {
        record.sizes.iter().flat_map(|size| &size.entries).filter(|entry| entry.outcome == outcome).count()
    };
    let (right, wrong, failed) = (count(Outcome::Verified), count(Outcome::Wrong), count(Outcome::Failed));
    text += &format!(
        "\n{right} products right, {wrong} wrong, {failed} failed; every product was checked before it was timed\n"
    );
    if record.device.kind != Kind::Cuda {
        text += "the simulator has no times to compare; on a GPU the same command shows them\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::example;

    #[test]
    fn a_table_shows_times_and_says_what_failed() {
        let mut record = example();
        record.sizes[1].entries[0] = Entry::new("step02_one", Outcome::Wrong, Some("C equals its transpose".into()));
        let text = of_size(&record, &record.sizes[1]);
        assert!(text.contains("4096³") && text.contains("WRONG: C equals its transpose"), "{text}");
        let row = text.lines().find(|line| line.contains("step04_two")).unwrap();
        assert!(row.contains("25600.0") && row.contains("38.3 %") && row.contains("50.0 %"), "{row}");
        // There is no earlier step that has a time.
        assert!(!row.contains("4.00 ×"), "{row}");
        let text = of_size(&record, &record.sizes[0]);
        assert!(text.contains("3.00 ×"), "{text}");
    }
}
