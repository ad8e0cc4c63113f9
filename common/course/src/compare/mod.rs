//! All steps in one run on the same data: verified first, then timed in turns. A step that fails is shown as failing and
//! stops no other. A table for each size, and a summary of all.

mod turns;

use std::path::PathBuf;

use anyhow::Result;
use common::basics::{ms, number, nvidia_smi, output, print, wrapped};
use common::code::find_nvrtc;
use common::device::{self, Choice, SimOptions, cublas};
use common::measure::{Cache, GPU_SIZES, L2, provenance};
use common::program::cli::parse_size;
use common::verify::Method;
use findings::RATIOS;
use plan::{Dtype, Fill, Kind};

use crate::files::{parse_file, parse_seed};
use crate::least;
use crate::record::{Entry, FORMAT, Outcome, Record, SizeRecord, times};
use turns::{Participant, Turns};

#[derive(clap::Args, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option that is given or not")]
pub struct Options {
    /// Where to run: auto (CUDA if there is any, else the simulator), cuda, cuda:N or sim
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = |text: &str| text.parse::<Choice>())]
    pub device: Choice,
    /// Sizes with commas between them, each N or MxNxK; by default cubes and oblong ones that suit the device
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_size, allow_hyphen_values = true)]
    pub size: Vec<[u64; 3]>,
    /// Rounds in which all kernels take turns
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: u16,
    /// Also the rungs on the way to each step's kernel
    #[arg(long)]
    pub rungs: bool,
    /// Also each step's kernel in Rust
    #[arg(long)]
    pub rust: bool,
    /// Only these steps (by the start of their names) and kernels (STEP/VARIANT), with commas between them
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    pub steps: Vec<String>,
    /// Seed of A and B
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    /// Empty the L2 cache before each product; without it the product before leaves what fits
    #[arg(long)]
    pub flush_l2: bool,
    /// Save the comparison with all its samples in this file
    #[arg(long, value_name = "FILE.json", value_parser = parse_file())]
    pub save: Option<PathBuf>,
    /// For records: the commit of the course, if git cannot tell it
    #[arg(long, value_name = "HASH", hide = true)]
    pub commit: Option<String>,
}

/// Sizes on the simulator: seconds in all. At the last one each step takes less time than the one before.
const SIM_SIZES: [[u64; 3]; 3] = [[32, 32, 128], [100, 77, 51], [512; 3]];

/// Runs the command; `false` if a product is wrong or a step fails.
pub fn run(options: &Options) -> Result<bool> {
    options.save.as_deref().map_or(Ok(()), Record::check_place)?;
    let mut device = device::open(options.device, &SimOptions { counters: true, ..SimOptions::default() })?;
    let device = device.as_mut();
    let on_gpu = device.info().kind == Kind::Cuda;
    let usual = if on_gpu { &GPU_SIZES[..] } else { &SIM_SIZES };
    let participants = turns::participants(&options.steps, options.rungs, options.rust)?;
    let driver = device::driver_version().filter(|_| on_gpu);
    let mut record = Record {
        format: FORMAT,
        date: provenance::now(),
        commit: options.commit.clone().or_else(provenance::commit),
        device: device.info().clone(),
        figures: device.figures(),
        driver: on_gpu.then(nvidia_smi::driver).flatten(),
        cuda: driver.map(|driver| format!("{}.{}", driver / 1000, driver % 1000 / 10)),
        nvrtc: find_nvrtc().ok().filter(|_| on_gpu).map(|nvrtc| format!("{}.{}", nvrtc.version.0, nvrtc.version.1)),
        cublas: None,
        dtype: Dtype::F32,
        fill: Fill::Uniform,
        seed: options.seed,
        l2: if options.flush_l2 { L2::Flushed } else { L2::Warm },
        rounds: options.rounds.into(),
        steps: participants.iter().map(Participant::record).collect(),
        sizes: Vec::new(),
        complete: false,
    };
    print(&format!("{}\n", record.provenance()))?;
    if on_gpu {
        match cublas::find() {
            Ok(version) => record.cublas = Some(version),
            Err(error) => print(&format!("no comparison with cuBLAS: {error:#}\n"))?,
        }
    }
    let save = |record: &Record| options.save.as_ref().map_or(Ok(()), |path| record.write(path));
    let cache = if options.flush_l2 && on_gpu { Cache::flushed(device)? } else { Cache::warm() };
    let mut turns = Turns { device, cache, rounds: options.rounds, cublas: record.cublas.is_some() };
    for &size in if options.size.is_empty() { usual } else { &options.size } {
        let size = turns.at(&record.problem(size), &participants)?;
        print(&table(&record, &size))?;
        record.sizes.push(size);
        save(&record)?;
    }
    record.complete = true;
    least::fill_traffic(&mut record);
    save(&record)?;
    print(&summary(&record))?;
    Ok(record.ok())
}

const LEGEND: &str = include_str!("legend.txt");

/// The columns that are left out first if a line has no room for all.
const FIRST_TO_GO: [&str; 6] = ["spread", "of least time", "over previous", "barriers", "warps", "bound by"];

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

/// The table of a size: times on a GPU, counters on the simulator.
fn table(record: &Record, size: &SizeRecord) -> String {
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
    let kept = kept(&head, &widths);
    let mut text = format!("\n{}\n", size.words());
    for row in &rows {
        for (column, cell) in row.iter().enumerate().filter(|(column, _)| row.len() == 2 || kept.contains(column)) {
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

/// What the columns of the tables mean.
fn legend(record: &Record) -> String {
    let tables: String = record.sizes.iter().map(|size| table(record, size)).collect();
    let is_shown = |line: &&str| {
        line.split("  ").map(str::trim).find(|word| !word.is_empty()).is_none_or(|head| tables.contains(head))
    };
    LEGEND.split_inclusive('\n').filter(is_shown).collect()
}

/// The columns that a line has room for.
fn kept(head: &[&str], widths: &[usize]) -> Vec<usize> {
    let gone = FIRST_TO_GO.iter().filter_map(|gone| head.iter().position(|name| name == gone));
    let taken: Vec<usize> = widths.iter().map(|width| 2 + width).collect();
    output::fitting(&taken, &gone.collect::<Vec<_>>(), output::width())
}

fn words(entry: &Entry) -> String {
    let note = entry.note.clone().unwrap_or_default();
    let mut lines = note.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    // A compiler's messages follow the sentence that announces them.
    let next = lines.find(|line| line.contains("error")).filter(|_| first.ends_with(':'));
    let note = next.map_or_else(|| first.to_owned(), |next| format!("{first} {}", next.trim()));
    match entry.outcome {
        Outcome::Verified => format!("right: {}", entry.method.map_or("checked", Method::words)),
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

fn summary(record: &Record) -> String {
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
    let timed = record.device.kind == Kind::Cuda;
    let checked = if timed { "every product was checked before it was timed" } else { "every product was checked" };
    text += &format!("\n{right} products right, {wrong} wrong, {failed} failed; {checked}\n");
    if !timed {
        text += &legend(record);
        text += "\nthe simulator has no times to compare; on a GPU the same command shows them\n";
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
        let text = table(&record, &record.sizes[1]);
        assert!(text.contains("4096³") && text.contains("WRONG: C equals its transpose"), "{text}");
        let row = text.lines().find(|line| line.contains("step04_two")).unwrap();
        assert!(row.contains("25600.0") && row.contains("38.3 %") && row.contains("50.0 %"), "{row}");
        // No earlier step has a time.
        assert!(!row.contains("4.00 ×"), "{row}");
        let text = table(&record, &record.sizes[0]);
        assert!(text.contains("3.00 ×"), "{text}");
    }
}
