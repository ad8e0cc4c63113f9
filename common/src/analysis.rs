//! What the simulator saw of a run, in the course's terms: counters with the source beside them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use simt::Counts;

use crate::hazard_kind::{FaultClass, ReportKind};
use crate::workspace;

/// What the analyses that were asked for saw since they were asked last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations {
    /// Counters, where they were asked for.
    pub counters: Option<Counters>,
    /// Hazards, where they were asked for; none found is an empty list.
    pub hazards: Option<Vec<HazardReport>>,
    /// What the traced threads did, where any was to be traced.
    pub trace: Option<Vec<ThreadReport>>,
}

/// A hazard: what, where, which threads, which lines, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HazardReport {
    /// The kind; in JSON a few words, e.g. `data race`.
    pub kind: ReportKind,
    /// Array and element, e.g. `As[3][17]`; or a register, or a barrier.
    pub place: String,
    /// The threads: none, one or two.
    pub threads: Vec<HazardThread>,
    /// How often the same lines met in this way.
    pub count: u64,
    /// What to do, in a sentence.
    pub remedy: String,
}

/// One side of a hazard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HazardThread {
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in its block.
    pub thread: [u32; 3],
    /// What it did: `writes`, `reads`, ...
    pub action: String,
    /// The file, relative to the workspace; `null` where the PTX has no line information.
    pub file: Option<String>,
    /// The line in the file, or in the PTX where there is no file.
    pub line: u32,
    /// Text of the line, or the instruction.
    pub text: String,
}

/// What a traced thread read and wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadReport {
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in its block.
    pub thread: [u32; 3],
    /// Its accesses to global and shared memory, in order.
    pub accesses: Vec<AccessReport>,
}

/// One access of a traced thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccessReport {
    /// `load`, `store`, ...
    pub kind: String,
    /// `global` or `shared`.
    pub space: String,
    /// The array: A, B, C or a shared array's name.
    pub array: String,
    /// The element, counted from the array's start.
    pub index: u64,
    /// Size of the access in bytes.
    pub bytes: u32,
    /// The file, relative to the workspace; `null` where the PTX has no line information.
    pub file: Option<String>,
    /// The line in the file, or in the PTX where there is no file.
    pub line: u32,
}

fn index(at: simt::Dim3) -> [u32; 3] {
    [at.x, at.y, at.z]
}

/// Reads source files once each.
#[derive(Default)]
struct Texts(BTreeMap<String, Vec<String>>);

impl Texts {
    fn line(&mut self, file: &str, line: u32) -> Option<String> {
        let lines = self.0.entry(file.to_owned()).or_insert_with(|| source_lines(file));
        lines.get((line as usize).checked_sub(1)?).cloned()
    }

    /// File, line and text of a place; the PTX's line and the instruction where there is no line information.
    fn place(&mut self, location: &simt::Location) -> (Option<String>, u32, String) {
        match (&location.file, location.line) {
            (Some(file), Some(line)) => {
                let text = self.line(file, line).map(|text| text.trim().to_owned());
                (Some(file.clone()), line, text.unwrap_or_else(|| location.instruction.clone()))
            }
            _ => (None, location.ptx_line, location.instruction.clone()),
        }
    }
}

/// Hazards of one launch, in the course's terms: one for each pair of source lines that meet, with a representative.
pub fn hazards(found: Vec<simt::Hazard>) -> Vec<HazardReport> {
    let mut texts = Texts::default();
    let mut merged: Vec<HazardReport> = Vec::new();
    for hazard in found {
        let threads = hazard.parties.into_iter().map(|party| {
            let (file, line, text) = texts.place(&party.location);
            let (block, thread) = (index(party.block), index(party.thread));
            HazardThread { block, thread, action: party.action.to_owned(), file, line, text }
        });
        let report = HazardReport {
            kind: hazard.kind.into(),
            place: hazard.place,
            threads: threads.collect(),
            count: hazard.count,
            remedy: hazard.kind.remedy().to_owned(),
        };
        // An unrolled loop has many instructions for one line.
        match merged.iter_mut().find(|known| known.is_like(&report)) {
            Some(known) => known.count += report.count,
            None => merged.push(report),
        }
    }
    merged
}

/// A fault that ended a launch, in the form of a hazard.
pub fn fault(fault: &simt::Fault) -> HazardReport {
    use simt::FaultKind;
    let (kind, remedy) = match &fault.kind {
        FaultKind::OutOfBounds { .. } => (
            FaultClass::OutOfBounds,
            "compare the index with the sizes before the access, and take 0 for what lies beyond the edge",
        ),
        FaultKind::Misaligned { .. } => (
            FaultClass::Misaligned,
            "a wide access needs an address that is a multiple of its width; use narrower ones where rows are not",
        ),
        FaultKind::DivergentBarrier { .. } => (
            FaultClass::DivergentBarrier,
            "move the barrier out of the condition, so that all threads of the block reach it",
        ),
        FaultKind::Deadlock { .. } => {
            (FaultClass::Deadlock, "let every warp of the block reach the same barriers in the same order")
        }
        FaultKind::MissingLanes { .. } => {
            (FaultClass::MissingLanes, "name only lanes that reach the instruction together")
        }
        FaultKind::Trap => (FaultClass::Trap, "the kernel stopped itself; look at the condition that leads here"),
        _ => (FaultClass::Other, "look at the line below"),
    };
    let (file, line, text) = Texts::default().place(&fault.location);
    let at = HazardThread {
        block: index(fault.block),
        thread: fault.thread.map_or([0; 3], index),
        action: if fault.thread.is_some() { "stands".into() } else { "and all others stand".into() },
        file,
        line,
        text,
    };
    let place = fault.kind.to_string().trim_end_matches(',').to_owned();
    HazardReport { kind: kind.into(), place, threads: vec![at], count: 1, remedy: remedy.into() }
}

/// Adds the accesses of one launch to those of the launches before it.
pub fn add_trace(sum: &mut Vec<ThreadReport>, found: Vec<simt::ThreadTrace>) {
    for thread in found {
        let (block, at) = (index(thread.block), index(thread.thread));
        let accesses = thread.steps.into_iter().map(|step| AccessReport {
            kind: step.kind.to_string(),
            space: step.space.to_string(),
            array: step.array,
            index: step.index,
            bytes: step.bytes,
            line: step.location.line.unwrap_or(step.location.ptx_line),
            file: step.location.file,
        });
        match sum.iter_mut().find(|known| known.block == block && known.thread == at) {
            Some(known) => known.accesses.extend(accesses),
            None => sum.push(ThreadReport { block, thread: at, accesses: accesses.collect() }),
        }
    }
}

/// A line of a file, or of the PTX where there is no file.
fn place(file: Option<&str>, line: u32) -> String {
    file.map_or_else(|| format!("PTX line {line}"), |file| format!("{file}:{line}"))
}

fn triple([x, y, z]: [u32; 3]) -> String {
    if z == 0 { format!("({x},{y})") } else { format!("({x},{y},{z})") }
}

impl HazardReport {
    /// Whether another hazard is the same but for threads and element.
    fn is_like(&self, other: &Self) -> bool {
        let array = |place: &str| place.split(['[', '+', ' ']).next().unwrap_or_default().to_owned();
        let side = |thread: &HazardThread| (thread.action.clone(), thread.file.clone(), thread.line);
        self.kind == other.kind
            && array(&self.place) == array(&other.place)
            && self.threads.iter().map(side).eq(other.threads.iter().map(side))
            // Without lines all one can tell instructions by is their text.
            && self.threads.iter().zip(&other.threads).all(|(a, b)| a.file.is_some() || a.text == b.text)
    }

    /// Several lines for people.
    pub fn text(&self) -> String {
        let mut text = format!("  {}: {}\n", self.kind, self.place);
        for side in &self.threads {
            let (block, thread) = (triple(side.block), triple(side.thread));
            let place = place(side.file.as_deref(), side.line);
            let _ = writeln!(text, "    thread {thread} of block {block} {} at {place}", side.action);
            let _ = writeln!(text, "        {}", side.text);
        }
        if self.count > 1 {
            let _ = writeln!(text, "    {} times", grouped(self.count));
        }
        let _ = writeln!(text, "    {}", self.remedy);
        text
    }
}

impl ThreadReport {
    /// Several lines for people.
    pub fn text(&self) -> String {
        let mut text = format!("  block {} thread {}\n", triple(self.block), triple(self.thread));
        if self.accesses.is_empty() {
            text.push_str("    accesses nothing, or is not in the grid\n");
        }
        for access in &self.accesses {
            let place = place(access.file.as_deref(), access.line);
            let width = if access.bytes == 4 { String::new() } else { format!(", {} bytes", access.bytes) };
            let element = format!("{}[{}]", access.array, access.index);
            let _ =
                writeln!(text, "    {:<24} {element:<20} {place}{width}", format!("{} {}", access.space, access.kind));
        }
        text
    }
}

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
}

impl CounterSum {
    /// Adds a launch of a kernel.
    pub fn add(&mut self, kernel: &simt::Kernel, counters: &simt::Counters) {
        self.total += &counters.total();
        let files: BTreeMap<u32, &str> = kernel.module().source_files().collect();
        for ((file, line), counts) in counters.lines() {
            let file = files.get(&file).map(|&name| name.to_owned());
            *self.lines.entry((file, line)).or_default() += &counts;
        }
    }

    /// The report, with the text of each line.
    pub fn report(&self) -> Counters {
        let mut texts = Texts::default();
        let lines = self.lines.iter().map(|((file, line), counts)| {
            let text = file.as_ref().and_then(|file| texts.line(file, *line));
            let counts = counts.entries().into_iter().filter(|&(_, count)| count > 0);
            LineCounters {
                file: file.clone(),
                line: *line,
                text: text.unwrap_or_default(),
                counts: counts.map(|(name, count)| (name.to_owned(), count)).collect(),
            }
        });
        let lines = lines.collect();
        Counters {
            total: self.total.entries().into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
            flop_per_byte: self.total.flop_per_byte(),
            flop_per_global_access: self.total.flop_per_global_access(),
            lines,
        }
    }
}

/// The lines of a source file as it is on the disk now; none where it cannot be read.
pub fn source_lines(file: &str) -> Vec<String> {
    let inside = workspace::root().join(file);
    let path = if inside.is_file() { inside } else { Path::new(file).to_owned() };
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// A number with a thin mark between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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

impl Counters {
    /// One count; 0 for a name that does not exist.
    pub fn get(&self, name: &str) -> u64 {
        self.total.get(name).copied().unwrap_or(0)
    }

    /// The totals, a line each, with what follows from them.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "  {name:<34}{value:>18}");
        };
        for (name, _) in Counts::default().entries() {
            line(name, grouped(self.get(name)));
        }
        line("flop_per_byte", format!("{:.4}", self.flop_per_byte));
        line("flop_per_global_access", format!("{:.4}", self.flop_per_global_access));
        text
    }

    /// A table of the source lines with the text beside.
    pub fn line_table(&self) -> String {
        let mut text = format!("  {:>5}", "line");
        for (heading, _) in COLUMNS {
            let _ = write!(text, "{heading:>13}");
        }
        text.push_str("  source\n");
        let mut file = None;
        for line in &self.lines {
            if file != Some(&line.file) {
                let name = line.file.as_deref().unwrap_or("(no line: the compiler's own instructions)");
                let _ = writeln!(text, "  {name}");
                file = Some(&line.file);
            }
            let _ = write!(text, "  {:>5}", line.line);
            for (_, name) in COLUMNS {
                let get = |name: &str| line.counts.get(name).copied().unwrap_or(0);
                let count = match name {
                    "" => get("shared_load_bank_conflicts") + get("shared_store_bank_conflicts"),
                    name => get(name),
                };
                let count = if count == 0 { "·".to_owned() } else { grouped(count) };
                let _ = write!(text, "{count:>13}");
            }
            let _ = writeln!(text, "  {}", line.text.trim_end());
        }
        text.push_str(
            "  gl., gs.: global loads and stores, in requests and 32-byte sectors; sh.: shared memory, in wavefronts\n",
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 12, 999, 1000, 1_234_567].map(grouped), ["0", "12", "999", "1,000", "1,234,567"]);
    }
}
