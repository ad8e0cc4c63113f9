//! Counters of a run, in total and by source line, and the tables that show them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use simt::{Counts, Works};

use crate::places;
use system::{grouped, output};

/// Counters of a run, in total and by source line. The names are explained, each with the Nsight Compute metric it
/// equals, at [`simt::Counts`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// All counts by name, over all launches of the product.
    #[serde(flatten)]
    pub total: BTreeMap<String, u64>,
    /// Floating-point operations for each byte that threads load from global memory.
    pub flop_per_byte: f64,
    /// Floating-point operations for each load of a thread from global memory.
    pub flop_per_global_access: f64,
    /// Counts of each source line that is executed, in order.
    pub lines: Vec<LineCounters>,
}

/// Counters of one source line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineCounters {
    /// The file, relative to the workspace; `null` for instructions that belong to no line.
    pub file: Option<String>,
    /// Number of the line, from 1; 0 where there is none.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// The counts that are not zero, by name.
    #[serde(flatten)]
    pub counts: BTreeMap<String, u64>,
}

/// Collects the counters of the launches of one run.
#[derive(Debug, Default)]
pub struct CounterSum {
    total: Counts,
    lines: BTreeMap<(Option<String>, u32), Counts>,
    works: Vec<Option<Works>>,
}

impl CounterSum {
    /// Adds a launch of a kernel.
    pub fn add(&mut self, kernel: &simt::Kernel, counters: &simt::Counters) {
        self.total += &counters.total();
        self.works.push(counters.works());
        let files: BTreeMap<u32, &str> = kernel.module().source_files().collect();
        for ((file, line), counts) in counters.lines() {
            let file = files.get(&file).map(|&name| name.to_owned());
            *self.lines.entry((file, line)).or_default() += &counts;
        }
    }

    /// Adds a launch of which only the blocks' work may be known.
    pub fn add_works(&mut self, works: Option<Works>) {
        self.works.push(works);
    }

    /// The work of each launch's blocks, if it is known of all.
    pub fn works(&self) -> Option<Vec<Works>> {
        self.works.iter().cloned().collect()
    }

    /// The report, with the text of each line.
    pub fn report(&self) -> Counters {
        let named = |counts: &Counts, least: u64| {
            let counted = counts.entries().into_iter().filter(|&(_, count)| count >= least);
            counted.map(|(name, count)| (name.to_owned(), count)).collect()
        };
        let line = |((file, line), counts): (&(Option<String>, u32), &Counts)| {
            let text = file.as_ref().and_then(|file| places::line(file, *line)).unwrap_or_default();
            LineCounters { file: file.clone(), line: *line, text, counts: named(counts, 1) }
        };
        Counters {
            total: named(&self.total, 0),
            flop_per_byte: self.total.flop_per_byte(),
            flop_per_global_access: self.total.flop_per_global_access(),
            lines: self.lines.iter().map(line).collect(),
        }
    }
}

/// Columns of the table of lines: a heading and the counter under it.
const COLUMNS: [(&str, &str); 8] = [
    ("instr.", "instructions"),
    ("FMA", "fma_threads"),
    ("gl. req.", "global_load_requests"),
    ("gl. sect.", "global_load_sectors"),
    ("gs. sect.", "global_store_sectors"),
    ("sh. load", "shared_load_wavefronts"),
    ("sh. store", "shared_store_wavefronts"),
    ("conflicts", ""),
];

/// The columns that are left out first if a line has no room for all.
const FIRST_TO_GO: [&str; 5] =
    ["global_store_sectors", "fma_threads", "shared_store_wavefronts", "global_load_requests", ""];

/// Width of the source in the table of lines, at least and at most.
const SOURCE: [usize; 2] = [24, 40];

/// A line of source that fits the width: without the indentation of the function's body, and cut off if it is longer.
fn shortened(line: &str, width: usize) -> String {
    let line = line.strip_prefix("    ").unwrap_or(line).trim_end();
    match line.char_indices().nth(width) {
        None => line.to_owned(),
        Some(_) => line.chars().take(width - 1).chain(['…']).collect(),
    }
}

impl Counters {
    /// One count; 0 for a name that does not exist.
    pub fn get(&self, name: &str) -> u64 {
        self.total.get(name).copied().unwrap_or(0)
    }

    /// The totals, a line each, with what follows from them: those that are named first, and the others below them.
    pub fn text(&self, first: &[&str]) -> String {
        let counts = Counts::default().entries().into_iter().map(|(name, _)| (name, grouped(self.get(name))));
        let [per_byte, per_access] =
            [self.flop_per_byte, self.flop_per_global_access].map(|ratio| format!("{ratio:.4}"));
        let all: Vec<(&str, String)> =
            counts.chain([("flop_per_byte", per_byte), ("flop_per_global_access", per_access)]).collect();
        let line = |(name, value): &(&str, String)| format!("  {name:<34}{value:>18}\n");
        let named = |wanted: &&str| all.iter().find(|(name, _)| name == wanted).map(line);
        let shown: String = first.iter().filter_map(named).collect();
        let gap = if shown.is_empty() { "" } else { "\n" };
        let others = all.iter().filter(|(name, _)| !first.contains(name)).map(line);
        shown + gap + &others.collect::<String>()
    }

    /// A table of the source lines, with the columns in which anything is counted.
    pub fn line_table(&self) -> String {
        let count = |line: &LineCounters, name: &str| {
            let get = |name: &str| line.counts.get(name).copied().unwrap_or(0);
            match name {
                "" => get("shared_load_bank_conflicts") + get("shared_store_bank_conflicts"),
                name => get(name),
            }
        };
        let mut columns = COLUMNS.to_vec();
        columns.retain(|(_, name)| self.lines.iter().any(|line| count(line, name) > 0));
        let cell = |count: u64| if count == 0 { "·".to_owned() } else { grouped(count) };
        let width = |&(heading, name): &(&str, &str)| {
            let cells = self.lines.iter().map(|line| cell(count(line, name)).chars().count());
            2 + cells.max().unwrap_or(0).max(heading.len())
        };
        let widths: Vec<usize> = columns.iter().map(width).collect();
        let first_to_go = FIRST_TO_GO.iter().filter_map(|gone| columns.iter().position(|(_, name)| name == gone));
        let room = output::width().saturating_sub(9);
        let kept = output::fitting(&widths, &first_to_go.collect::<Vec<_>>(), room.saturating_sub(SOURCE[0]));
        let left_out: Vec<&str> =
            (0..columns.len()).filter(|column| !kept.contains(column)).map(|column| columns[column].0).collect();
        let (columns, widths): (Vec<_>, Vec<usize>) = kept.iter().map(|&at| (columns[at], widths[at])).unzip();
        let source = room.saturating_sub(widths.iter().sum()).clamp(SOURCE[0], SOURCE[1]);
        let mut text = format!("  {:>5}  {:<source$}", "line", "source");
        for ((heading, _), width) in columns.iter().zip(&widths) {
            let _ = write!(text, "{heading:>width$}");
        }
        text.push('\n');
        let mut file = None;
        for line in &self.lines {
            if file != Some(&line.file) {
                let name = line.file.as_deref().unwrap_or("(no line: the compiler's own instructions)");
                let _ = writeln!(text, "  {name}");
                file = Some(&line.file);
            }
            let _ = write!(text, "  {:>5}  {:<source$}", line.line, shortened(&line.text, source));
            for ((_, name), width) in columns.iter().zip(&widths) {
                let _ = write!(text, "{:>width$}", cell(count(line, name)));
            }
            text.push('\n');
        }
        text += "  gl., gs.: global loads and stores, in requests and 32-byte sectors\n  sh.: shared memory, in wavefronts\n";
        if !left_out.is_empty() {
            let _ = writeln!(text, "  a wider terminal also shows {}", left_out.join(", "));
        }
        text
    }
}
